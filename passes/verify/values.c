/* V5 inside stages: a body reads what it wrote, or what its slots hold, where
 * nothing else was put since; its results share their step's bytes with nothing
 * but an operand that they replace, element by element. */
#include "dsl/plan/within.h"
#include "passes/verify/internal.h"

/* Bytes [lo, hi) of the workspace, or of a slot. */
typedef struct bytes {
    int64_t within, lo, hi;
    bool is_lost; /* overwritten, or not written yet */
} bytes;

/* A body while its steps are followed. */
typedef struct body_walk {
    const cz_view_stage *stage;
    int n_values;
    bytes *values;
    int first_result; /* of the step */
    const char *wrong;
    int at; /* step */
} body_walk;

static void complain(body_walk *w, int step, const char *wrong)
{
    if (!w->wrong) {
        w->wrong = wrong;
        w->at = step;
    }
}

static bool overlap(const bytes *a, const bytes *b)
{
    return a->within == b->within && a->lo < b->hi && b->lo < a->hi;
}

static bool is_same(const bytes *a, const bytes *b)
{
    return a->within == b->within && a->lo == b->lo && a->hi == b->hi;
}

/* ---- where values lie ---- */

static bytes slot_at(const cz_view_stage *stage, int slot)
{
    return (bytes){slot + 1, 0, cz_view_capacity(stage, slot + 1), false};
}

static bytes entry_at(const cz_view_step *step, int i)
{
    const int64_t lo = step->offsets[i];

    if (lo < 0)
        return (bytes){-1, 0, 0, true};
    return (bytes){cz_view_within(step, i), lo,
                   lo + cz_view_place_bytes(step, i), true};
}

static void find_places(body_walk *w, cz_arena *arena)
{
    const cz_view_stage *stage = w->stage;
    int value = stage->n_in + stage->fact->scalars.n;

    w->n_values = w->first_result = value;
    for (int s = 0; s < stage->n_steps; s++)
        w->n_values += stage->steps[s].n_out;
    w->values = CZ_NEW(arena, bytes, w->n_values + 1);
    for (int i = 0; i < stage->n_in; i++)
        w->values[i] = slot_at(stage, i);
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_out; i++)
            w->values[value++] = entry_at(&stage->steps[s], i);
    for (int i = 0; i < stage->n_out; i++) {
        w->values[stage->out_value[i]] = slot_at(stage, stage->n_in + i);
        w->values[stage->out_value[i]].is_lost = true;
    }
}

/* ---- step by step ---- */

/* Whether a value is an operand, and none but element by element. */
static bool is_read_in_place(const cz_view_step *step, int value)
{
    int n = 0;

    for (int i = 0; i < step->n_in; i++) {
        if (step->in[i] != value)
            continue;
        if (step->access[i] != CZ_ACCESS_ELEMENT)
            return false;
        n++;
    }
    return n == 1 && !step->is_product && step->factor == CZ_FACTOR_NONE;
}

static bool goes_astray(const cz_view_step *step)
{
    for (int i = 0; i < step->n_out; i++)
        if (step->out_access[i] == CZ_ACCESS_TRANSPOSED)
            return true;
    return false;
}

/* Bytes that the step writes: of a result, `result`, or its own. */
static void write_bytes(body_walk *w, int s, const bytes *at, int result)
{
    const cz_view_step *step = &w->stage->steps[s];

    for (int v = 0; v < w->first_result; v++) {
        if (w->values[v].is_lost || !overlap(&w->values[v], at))
            continue;
        const bool is_replaced =
            result >= 0 && step->out_access[result] == CZ_ACCESS_ELEMENT &&
            is_read_in_place(step, v) && !goes_astray(step) &&
            is_same(&w->values[v], at);
        for (int i = 0; i < step->n_in && !is_replaced; i++)
            if (step->in[i] == v)
                complain(w, s, "writes over what it reads");
        w->values[v].is_lost = true;
    }
}

static void run_step(body_walk *w, int s)
{
    const cz_view_step *step = &w->stage->steps[s];
    bytes *results = w->values + w->first_result;
    const bool has_own = cz_view_n_places(step) > step->n_out;
    const bytes own =
        has_own ? entry_at(step, step->n_out) : (bytes){-1, 0, 0, 0};

    for (int i = 0; i < step->n_in; i++)
        if (w->values[step->in[i]].is_lost)
            complain(w, s, "reads a value that another has overwritten");
    for (int i = 0; i < step->n_out; i++) {
        for (int k = 0; k < i; k++)
            if (overlap(&results[i], &results[k]))
                complain(w, s, "writes two results to the same bytes");
        if (overlap(&results[i], &own))
            complain(w, s, "works where its result lies");
        write_bytes(w, s, &results[i], i);
    }
    write_bytes(w, s, &own, -1);
    for (int i = 0; i < step->n_out; i++)
        results[i].is_lost = false;
    w->first_result += step->n_out;
}

/* ---- all stages ---- */

/* The first row of a stage, if any. */
static bool find_call(verifier *v, int stage, place *found)
{
    for (int op = 0; op < v->view->n_ops; op++) {
        if (v->view->ops[op].kind != CZ_STEP_KERNEL)
            continue;
        const cz_view_table *table = &v->view->tables[v->view->ops[op].table];
        for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
            const row_range rows = rows_of(v, &v->view->ops[op], rank);
            for (int64_t i = rows.first; i < rows.end; i++)
                if (table->rows.kernel[i].stage == stage) {
                    *found = (place){op, rank, table->rows.kernel[i].param};
                    return true;
                }
        }
    }
    return false;
}

const char *find_lost_value(cz_arena *arena, const cz_view_stage *body,
                            int *step)
{
    body_walk w = {.stage = body};

    find_places(&w, arena);
    for (int s = 0; s < w.stage->n_steps; s++)
        run_step(&w, s);
    for (int i = 0; i < w.stage->n_out; i++)
        if (w.values[w.stage->out_value[i]].is_lost)
            complain(&w, w.stage->n_steps - 1,
                     "leaves an output that another value has overwritten");
    *step = w.at;
    return w.wrong;
}

static void check_stage(verifier *v, int number)
{
    const cz_view_stage *stage = &v->view->stages[number];

    for (int i = 0; i < cz_view_n_bodies(stage) && v->n_errors == 0; i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        int step;
        place at;
        const char *wrong = find_lost_value(v->arena, body, &step);
        if (wrong && find_call(v, number, &at))
            reject(v, at, "step %d of '%s' %s", step, body->fact->sym_name,
                   wrong);
    }
}

void check_values(verifier *v)
{
    for (int i = 0; i < v->view->n_stages && v->n_errors == 0; i++)
        check_stage(v, i);
}

void forget_reused(const cz_view_stage *stage, const cz_view_kernel_entry *row,
                   region_list *scratch)
{
    if (stage->fact->work_bytes > 0)
        region_forget(scratch, row->work, row->work + stage->fact->work_bytes);
    for (int i = 0; i < stage->n_in; i++) {
        int64_t offset, length;
        if (!cz_view_reuses(stage, i))
            continue;
        slot_extent(stage, &stage->in[i], row->count, &offset, &length);
        offset += scratch_of(row, stage->in[i].kind);
        region_forget(scratch, offset, offset + length);
    }
}
