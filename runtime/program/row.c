/* Rows of tables against the memory of their rank. */
#include "runtime/program/internal.h"
#include "runtime/base/memory.h"
#include "runtime/program/program.h"

/* Elements of a bucket that are this rank's. */
static bool is_owned(const czr_check *c, int param, int64_t offset,
                     int64_t count)
{
    const int bucket = c->program->places[param].bucket;
    const czr_range slice = czr_program_slice(c->program, bucket, c->rank);

    return czr_is_inside(offset - slice.first, count, slice.n);
}

/* Elements of a bucket that are the parameter's. */
static bool is_of(const czr_check *c, int param, int64_t offset, int64_t count)
{
    return czr_is_inside(offset - c->program->places[param].offset, count,
                         czr_program_shard(c->program, param, c->rank).n);
}

/* A slot that does not lie in scratch: states exist, whole ones at their owner;
 * the others are elements of the slice. */
static bool check_kept(const czr_check *c, const czr_kernel_entry *row,
                       czr_slot slot)
{
    const czr_states *states =
        &c->program->states[c->program->places[row->param].rule];

    if (slot.kind == CZR_SLOT_STATE) {
        if (slot.index >= states->n)
            return false;
        if (states->of[slot.index].rows > 0)
            return czr_program_is_owner(c->program, row->param, c->rank);
        if (!is_of(c, row->param, row->offset, row->count))
            return false;
    }
    return is_owned(c, row->param, row->offset, row->count);
}

/* The slots of a stage against the row's places: scratch slots have a start. */
static bool check_slots(const czr_check *c, const czr_kernel_entry *row,
                        const czr_slot *slots, int n)
{
    const int64_t starts[] = {row->gather, row->scatter, row->temp};
    int64_t ends[] = {row->gather, row->scatter, row->temp};

    for (int i = 0; i < n; i++) {
        const unsigned kind = slots[i].kind;
        if (kind < CZR_SLOT_GATHER) {
            if (!check_kept(c, row, slots[i]))
                return false;
            continue;
        }
        const size_t bytes = czr_round_up(
            (size_t)row->count * czr_dtype_bytes((czr_dtype)slots[i].dtype));
        ends[kind - CZR_SLOT_GATHER] += (int64_t)bytes;
        if (starts[kind - CZR_SLOT_GATHER] < 0 ||
            ends[kind - CZR_SLOT_GATHER] > c->arena)
            return false;
    }
    return true;
}

/* A stage with bodies for phases has those of its parameter's rule. */
static bool has_phases_of(const czr_program *p, const czr_kernel_entry *row)
{
    const czr_phases *phases =
        p->variants ? p->variants[row->stage].phases : NULL;

    return !phases ||
           (p->phases && p->phases[p->places[row->param].rule] == phases);
}

static bool check_kernel_row(const czr_check *c, const czr_kernel_entry *row)
{
    const czr_program *p = c->program;

    if (!czr_is_below(row->stage, p->n_stages) ||
        !czr_is_below(row->param, p->n_params) ||
        !czr_is_inside(row->count, 0, INT64_MAX / 16) || row->work > c->arena ||
        !has_phases_of(p, row) ||
        !czr_program_has_param(p, row->param, c->rank))
        return false;
    const czr_stage *stage = &p->stages[row->stage];
    return check_slots(c, row, stage->in, stage->n_in) &&
           check_slots(c, row, stage->out, stage->n_out);
}

/* None, or one of a square matrix. */
static bool has_band(const czr_sum_entry *row)
{
    if (row->band == 0)
        return row->side == 0;
    return row->how != CZR_EXCHANGE_SUM && row->band > 0 && row->side > 0 &&
           row->side % row->band == 0 && row->count % row->side == 0 &&
           row->count / row->side == row->side;
}

static bool check_sum_row(const czr_check *c, const czr_sum_entry *row)
{
    if (!czr_is_below(row->how, CZR_N_EXCHANGES) || !has_band(row) ||
        row->dtype >= CZR_N_DTYPES ||
        (row->dtype == CZR_F16 && row->how != CZR_EXCHANGE_GATHER))
        return false;
    const int64_t element = (int64_t)czr_dtype_bytes(row->dtype);
    return czr_is_below(row->param, c->program->n_params) &&
           czr_program_has_param(c->program, row->param, c->rank) &&
           row->offset % element == 0 && row->count <= c->arena / element &&
           czr_is_inside(row->offset, row->count * element, c->arena);
}

static bool check_span_row(const czr_check *c, const czr_span_entry *row)
{
    return czr_is_below(row->param, c->program->n_params) &&
           czr_program_has_param(c->program, row->param, c->rank) &&
           is_owned(c, row->param, row->offset, row->count);
}

bool czr_check_row(const czr_check *c, const czr_table *table, int64_t i)
{
    switch (table->kind) {
    case CZR_ENTRY_KERNEL:
        return check_kernel_row(c, (const czr_kernel_entry *)table->rows + i);
    case CZR_ENTRY_SUM:
        return check_sum_row(c, (const czr_sum_entry *)table->rows + i);
    case CZR_ENTRY_SPAN:
        return check_span_row(c, (const czr_span_entry *)table->rows + i);
    case CZR_ENTRY_TRANSFER: /* by their operation */
    case CZR_ENTRY_EXCHANGE:
        return true;
    }
    return false;
}
