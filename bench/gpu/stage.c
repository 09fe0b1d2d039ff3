/* A stage beside a copy. */
#include "bench/gpu/plan.h"

#include "runtime/cuda/products/stage.h"
#include "runtime/program/program.h"

enum { MAX_SLOTS = 32, MAX_SCALARS = 64, MAX_HYPERS = 16, MAX_MEMORY = 48 };

typedef struct setting {
    const gpu_machine *machine;
    const czr_program *program;
    czr_cuda_stages stages;
    const czr_kernel_entry *row;
    czr_slot slots[MAX_SLOTS];
    czr_address places[MAX_SLOTS];
    int n_slots;
    czr_address work, workspace, flags, scalars;
    czr_address from, to; /* of the copy */
    size_t copy_bytes;
    czr_address memory[MAX_MEMORY]; /* all of the above */
    int n_memory;
} setting;

/* ---- memory ------------------------------------------------------------- */

/* Zeros. */
static czr_status take(setting *s, size_t bytes, czr_address *out)
{
    const gpu_machine *m = s->machine;

    if (s->n_memory == MAX_MEMORY)
        return CZR_ERR_UNSUPPORTED;
    const czr_status status = czr_context_alloc(m->context, bytes, out);
    if (status != CZR_OK)
        return status;
    s->memory[s->n_memory++] = *out;
    return czr_context_fill(m->context, *out, 0, bytes, m->stream);
}

/* The slot's number, or how many there are. */
static int find_slot(const setting *s, czr_slot slot)
{
    int i = 0;

    while (i < s->n_slots &&
           (s->slots[i].kind != slot.kind || s->slots[i].index != slot.index))
        i++;
    return i;
}

/* Gradients are random, and all else is 0 before the first call. */
static czr_status take_slot(setting *s, czr_slot slot, size_t times_moved)
{
    const czr_dtype dtype = (czr_dtype)slot.dtype;
    const size_t bytes = (size_t)s->row->count * czr_dtype_bytes(dtype);
    const int i = find_slot(s, slot);

    if (i < s->n_slots)
        return CZR_OK;
    if (i == MAX_SLOTS)
        return CZR_ERR_UNSUPPORTED;
    s->slots[s->n_slots++] = slot;
    s->copy_bytes += times_moved * bytes / 2;
    const czr_status status = take(s, bytes, &s->places[i]);
    return status == CZR_OK && slot.kind == CZR_SLOT_GRAD
               ? gpu_fill(s->machine, s->places[i], dtype, s->row->count, 0)
               : status;
}

static czr_status take_slots(setting *s)
{
    const czr_stage *stage = &s->program->stages[s->row->stage];
    czr_status status = CZR_OK;

    for (int i = 0; i < stage->n_out && status == CZR_OK; i++)
        status = take_slot(s, stage->out[i], 2);
    for (int i = 0; i < stage->n_in && status == CZR_OK; i++)
        status = take_slot(s, stage->in[i], 1);
    return status;
}

/* Those of the first step. */
static czr_status take_scalars(setting *s)
{
    const gpu_machine *m = s->machine;
    float scalars[MAX_SCALARS] = {0};
    double hypers[MAX_HYPERS] = {0};

    if (s->program->n_scalars > MAX_SCALARS ||
        s->program->n_hypers > MAX_HYPERS)
        return CZR_ERR_UNSUPPORTED;
    for (int i = 0; i < s->program->n_hypers; i++)
        hypers[i] = s->program->hypers[i].value;
    s->program->prologue(1, 1, hypers, scalars);
    czr_status status = take(s, sizeof scalars, &s->scalars);
    if (status == CZR_OK)
        status =
            czr_context_copy(m->context, s->scalars, czr_address_of(scalars),
                             sizeof scalars, m->stream);
    return status == CZR_OK ? czr_context_synchronize(m->context, m->stream, 0)
                            : status;
}

static czr_status take_all(setting *s)
{
    enum { FLAG_BYTES = 256 };
    czr_status status = take_slots(s);

    if (status == CZR_OK)
        status = take_scalars(s);
    if (status == CZR_OK)
        status = take(s, (size_t)s->program->arena_bytes[0] + 1, &s->work);
    if (status == CZR_OK)
        status =
            take(s, czr_cuda_stages_workspace(&s->stages) + 1, &s->workspace);
    if (status == CZR_OK)
        status = take(s, FLAG_BYTES, &s->flags);
    if (status == CZR_OK)
        status = take(s, s->copy_bytes, &s->from);
    return status == CZR_OK ? take(s, s->copy_bytes, &s->to) : status;
}

/* ---- turns -------------------------------------------------------------- */

static czr_status put_stage(setting *s)
{
    const int number = s->row->stage;
    const czr_stage *stage = &s->program->stages[number];
    const float *scalars[MAX_SCALARS] = {0};
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];

    for (int i = 0; i < stage->n_in; i++)
        in[i] = czr_pointer_of(s->places[find_slot(s, stage->in[i])]);
    for (int i = 0; i < stage->n_out; i++)
        out[i] = czr_pointer_of(s->places[find_slot(s, stage->out[i])]);
    for (int i = 0; i < stage->n_scalars; i++) {
        if (i == MAX_SCALARS || stage->scalars[i] >= MAX_SCALARS)
            return CZR_ERR_UNSUPPORTED;
        scalars[i] =
            czr_pointer_of(s->scalars + stage->scalars[i] * sizeof **scalars);
    }
    czr_cuda_call call = {.stages = &s->stages,
                          .next = s->stages.program->stages[number],
                          .in = in,
                          .out = out,
                          .scalars = scalars,
                          .count = (size_t)s->row->count,
                          .equal_part = (size_t)s->row->offset,
                          .work = czr_pointer_of(s->work),
                          .workspace = czr_pointer_of(s->workspace),
                          .status = czr_pointer_of(s->flags),
                          .stream = s->machine->stream};
    return czr_cuda_stages_put(&call, 1);
}

/* Of one of n in a row; negative: a failure. */
static double turn(setting *s, bool is_ours, int n)
{
    const gpu_machine *m = s->machine;
    const double start = gpu_now_us();
    czr_status status = CZR_OK;

    for (int i = 0; i < n && status == CZR_OK; i++)
        status = is_ours ? put_stage(s)
                         : czr_context_copy(m->context, s->to, s->from,
                                            s->copy_bytes, m->stream);
    if (status == CZR_OK)
        status = czr_context_synchronize(m->context, m->stream, 0);
    return status == CZR_OK ? (gpu_now_us() - start) / n : -1;
}

static bool time_both(setting *s, int pairs, gpu_stage_times *out)
{
    double ours[GPU_MAX_PAIRS], copies[GPU_MAX_PAIRS];
    const int n = pairs < GPU_MAX_PAIRS ? pairs : GPU_MAX_PAIRS;

    if (n < 1 || turn(s, true, 1) < 0 || turn(s, false, 1) < 0)
        return false;
    const double once = turn(s, false, 1);
    const int row =
        once > GPU_TURN_US ? 1 : 1 + (int)(GPU_TURN_US / (once + 1));
    for (int i = 0; i < n; i++) {
        ours[i] = turn(s, true, row);
        copies[i] = turn(s, false, row);
        if (ours[i] < 0 || copies[i] < 0)
            return false;
    }
    *out = (gpu_stage_times){gpu_median(ours, n), gpu_median(copies, n),
                             s->copy_bytes};
    return true;
}

/* No stage has said that something failed. */
static bool is_well(const setting *s)
{
    const gpu_machine *m = s->machine;
    int32_t flag = CZR_ERR_STATE;

    if (czr_context_copy(m->context, czr_address_of(&flag), s->flags,
                         sizeof flag, m->stream) != CZR_OK ||
        czr_context_synchronize(m->context, m->stream, 0) != CZR_OK)
        return false;
    if (flag != CZR_OK)
        fprintf(stderr, "%s: %s\n", s->program->name,
                czr_status_name((czr_status)flag));
    return flag == CZR_OK;
}

/* ---- a program ---------------------------------------------------------- */

/* Of rank 0. */
static const czr_kernel_entry *find_longest(const czr_program *program)
{
    const czr_kernel_entry *longest = NULL;

    for (int t = 0; t < program->n_tables; t++) {
        const czr_range range = czr_program_rows(program, t, 0);
        const czr_kernel_entry *rows = program->tables[t].rows;
        for (int64_t i = 0;
             program->tables[t].kind == CZR_ENTRY_KERNEL && i < range.n; i++)
            if (!longest || rows[range.first + i].count > longest->count)
                longest = &rows[range.first + i];
    }
    return longest;
}

bool gpu_stage_time(const gpu_machine *machine, const czr_cuda_program *program,
                    int pairs, gpu_stage_times *out)
{
    setting s = {.machine = machine,
                 .program = program->program,
                 .row = find_longest(program->program)};

    if (!s.row || !gpu_is_ok(machine, czr_cuda_stages_open(machine->context,
                                                           NULL, machine->nvrtc,
                                                           program, &s.stages)))
        return false;
    const czr_status status = take_all(&s);
    const bool is_ok =
        gpu_is_ok(machine, status) && time_both(&s, pairs, out) && is_well(&s);
    if (status == CZR_OK && !is_ok)
        gpu_is_ok(machine, machine->context->status);
    czr_context_synchronize(machine->context, machine->stream, 0);
    for (int i = 0; i < s.n_memory; i++)
        czr_context_free(machine->context, s.memory[i]);
    czr_cuda_stages_close(&s.stages);
    return is_ok;
}
