/* Workspace: intermediate results live from the step that writes them to the
 * last one that reads them, accumulators during their step. */
#include "passes/workspace.h"

#include "passes/liveness.h"

typedef struct workspace {
    cz_arena *arena;
    const cz_view_stage *stage;
    int first_result; /* value number of the first step's first result */
    int n;            /* buffers */
    cz_live *buffers;
    int64_t ***offsets; /* of steps; until placed: buffer number, or -1 */
} workspace;

static bool is_output(const cz_view_stage *stage, int value)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] == value)
            return true;
    return false;
}

static int last_use(const cz_view_stage *stage, int value, int step)
{
    int last = step;

    for (int s = step + 1; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_in; i++)
            if (stage->steps[s].in[i] == value)
                last = s;
    return last;
}

static bool needs_accumulator(const cz_view_step *step)
{
    return step->is_product &&
           (step->body >= 0 || step->alpha != 1 || step->beta != 0 ||
            step->out_dtype[0] != CZ_F32);
}

/* What a step needs for itself: a product its accumulator, a factorisation the
 * workspace of its routine. */
static int64_t own_bytes(const cz_view_step *step)
{
    if (step->factor)
        return cz_factor_work_bytes(step->factor, &step->size);
    return needs_accumulator(step) ? cz_view_accumulator_rows(step) *
                                         step->columns * cz_dtype_bytes(CZ_F32)
                                   : 0;
}

static int64_t add_buffer(workspace *w, int64_t bytes, int first, int last)
{
    *CZ_PUSH(w->arena, w->buffers, w->n) =
        (cz_live){.bytes = bytes, .first = first, .last = last};
    return w->n - 1;
}

static void add_step(workspace *w, int number, int value)
{
    const cz_view_step *step = &w->stage->steps[number];
    int64_t *entries = CZ_NEW(w->arena, int64_t, step->n_out + 1);

    for (int i = 0; i < step->n_out; i++)
        entries[i] =
            is_output(w->stage, value + i)
                ? -1
                : add_buffer(w,
                             cz_view_result_elements(step, i) *
                                 cz_dtype_bytes(step->out_dtype[i]),
                             number, last_use(w->stage, value + i, number));
    const int64_t own = own_bytes(step);
    entries[step->n_out] = own ? add_buffer(w, own, number, number) : -1;
    (*w->offsets)[number] = entries;
}

static void place(workspace *w, int number)
{
    int64_t *entries = (*w->offsets)[number];

    for (int i = 0; i <= w->stage->steps[number].n_out; i++)
        if (entries[i] >= 0)
            entries[i] = w->buffers[entries[i]].offset;
}

int64_t cz_workspace_solve(cz_arena *arena, const cz_view_stage *stage,
                           int64_t ***offsets)
{
    workspace w = {.arena = arena, .stage = stage, .offsets = offsets};
    int value = stage->n_in + stage->fact->scalars.n;
    int64_t bytes;

    *offsets = CZ_NEW(arena, int64_t *, stage->n_steps);
    for (int s = 0; s < stage->n_steps; s++) {
        add_step(&w, s, value);
        value += stage->steps[s].n_out;
    }
    bytes = cz_liveness_place(arena, w.buffers, w.n, CZ_ALIGN_BYTES);
    for (int s = 0; s < stage->n_steps; s++)
        place(&w, s);
    return bytes;
}
