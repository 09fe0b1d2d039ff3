/* What the operations of a plan touch on one rank, as cells of 64 bits: one for
 * the norm of each operation, the decision, the scalars, four for each
 * parameter (reduced gradient, master, what is stored, states), and one for
 * every two bytes of scratch.  An operation folds all that it reads into a
 * number, and makes what it writes from that: two that meet in another order
 * leave other bits. dsl/SCHEDULE.md says what each kind reads and writes. */
#ifndef TESTS_CUDA_FOOTPRINT_H
#define TESTS_CUDA_FOOTPRINT_H

#include "runtime/base/memory.h"
#include "runtime/program/program.h"

typedef enum footprint_cell { REDUCED, MASTER, STORED, STATES } footprint_cell;

enum { FOOTPRINT_CELLS = 4, FOOTPRINT_GRANULE = 2 };

typedef struct footprint {
    const czr_program *program;
    int rank;
    uint64_t *cells;
    uint64_t folded;
} footprint;

static inline size_t footprint_decision(const czr_program *program)
{
    return (size_t)program->n_ops;
}

static inline size_t footprint_scalars(const czr_program *program)
{
    return (size_t)program->n_ops + 1;
}

static inline size_t footprint_param(const czr_program *program, int param,
                                     footprint_cell cell)
{
    return (size_t)program->n_ops + 2 + (size_t)param * FOOTPRINT_CELLS +
           (size_t)cell;
}

static inline int64_t footprint_arena(const czr_program *program, int rank)
{
    const int at =
        czr_program_coordinate(program, program->arena_selector, rank);

    return program->arena_bytes ? program->arena_bytes[at] : 0;
}

static inline size_t footprint_size(const czr_program *program, int rank)
{
    return footprint_param(program, program->n_params, REDUCED) +
           (size_t)footprint_arena(program, rank) / FOOTPRINT_GRANULE + 1;
}

static inline uint64_t footprint_mix(uint64_t a, uint64_t b)
{
    const uint64_t x = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);

    return x ^ x >> 31;
}

/* ---- reading and writing ------------------------------------------------ */

static inline void footprint_read(footprint *f, size_t cell)
{
    f->folded = footprint_mix(f->folded, f->cells[cell]);
}

static inline void footprint_write(footprint *f, size_t cell)
{
    f->cells[cell] = footprint_mix(f->folded, cell);
}

static inline void footprint_touch(footprint *f, size_t cell, bool writes)
{
    if (writes)
        footprint_write(f, cell);
    else
        footprint_read(f, cell);
}

static inline void footprint_scratch(footprint *f, int64_t offset,
                                     int64_t bytes, bool writes)
{
    const size_t base =
        footprint_param(f->program, f->program->n_params, REDUCED);

    for (int64_t at = offset / FOOTPRINT_GRANULE;
         at < (offset + bytes + FOOTPRINT_GRANULE - 1) / FOOTPRINT_GRANULE;
         at++)
        footprint_touch(f, base + (size_t)at, writes);
}

static inline void footprint_bucket(footprint *f, int bucket,
                                    footprint_cell cell, bool writes)
{
    for (int param = 0; param < f->program->n_params; param++)
        if (f->program->places[param].bucket == bucket)
            footprint_touch(f, footprint_param(f->program, param, cell),
                            writes);
}

/* ---- kernels ------------------------------------------------------------ */

/* Bytes of an element of the slot with this kind and number; 0: there is none.
 */
static inline int64_t footprint_element(const czr_stage *stage, unsigned kind,
                                        unsigned index)
{
    for (int i = 0; i < stage->n_in + stage->n_out; i++) {
        const czr_slot slot =
            i < stage->n_in ? stage->in[i] : stage->out[i - stage->n_in];
        if (slot.kind == kind && slot.index == index)
            return (int64_t)czr_dtype_bytes((czr_dtype)slot.dtype);
    }
    return 0;
}

static inline int64_t footprint_slot_start(const czr_kernel_row *row,
                                           unsigned kind)
{
    return kind == CZR_SLOT_GATHER    ? row->gather
           : kind == CZR_SLOT_SCATTER ? row->scatter
                                      : row->temp;
}

static inline void footprint_slot(footprint *f, const czr_kernel_row *row,
                                  czr_slot slot, bool writes)
{
    static const footprint_cell cells[] = {[CZR_SLOT_GRAD] = REDUCED,
                                           [CZR_SLOT_PARAM] = MASTER,
                                           [CZR_SLOT_STATE] = STATES,
                                           [CZR_SLOT_STORED] = STORED};
    const czr_program *program = f->program;
    const czr_stage *stage = &program->stages[row->stage];
    const int bucket = program->places[row->param].bucket;

    if (slot.kind < CZR_SLOT_GATHER) {
        footprint_cell cell = cells[slot.kind];
        if (cell == MASTER && !program->buckets[bucket].has_master)
            cell = STORED;
        footprint_touch(f, footprint_param(program, row->param, cell), writes);
        return;
    }
    int64_t at = footprint_slot_start(row, slot.kind);
    for (unsigned i = 0; i < slot.index; i++)
        at += (int64_t)czr_round_up(
            (size_t)(row->count * footprint_element(stage, slot.kind, i)));
    footprint_scratch(
        f, at, row->count * footprint_element(stage, slot.kind, slot.index),
        writes);
}

static inline void footprint_kernel_row(footprint *f, const czr_kernel_row *row)
{
    const czr_stage *stage = &f->program->stages[row->stage];

    footprint_read(f, footprint_scalars(f->program));
    for (int i = 0; i < stage->n_in; i++)
        footprint_slot(f, row, stage->in[i], false);
    for (int i = 0; i < stage->n_out; i++)
        footprint_slot(f, row, stage->out[i], true);
}

/* ---- rows of other kinds ------------------------------------------------ */

static inline void
footprint_transfer_row(footprint *f, const czr_transfer_row *row, bool is_recv)
{
    for (int64_t i = 0; i < row->n_rows && row->is_recv == is_recv; i++)
        footprint_scratch(f, row->offset + i * row->stride_bytes,
                          row->row_bytes, is_recv);
}

static inline void footprint_sum_row(footprint *f, const czr_sum_row *row,
                                     bool writes)
{
    footprint_scratch(f, row->offset,
                      row->count * (int64_t)czr_dtype_bytes(row->dtype),
                      writes);
}

static inline void footprint_rows(footprint *f, const czr_op *op, bool writes)
{
    const czr_table *table = &f->program->tables[op->table];
    const czr_range range = czr_program_rows(f->program, op->table, f->rank);

    for (int64_t i = range.first; i < range.first + range.n; i++)
        switch (table->kind) {
        case CZR_ROW_KERNEL:
            if (writes)
                footprint_kernel_row(f,
                                     (const czr_kernel_row *)table->rows + i);
            break;
        case CZR_ROW_TRANSFER:
            footprint_transfer_row(f, (const czr_transfer_row *)table->rows + i,
                                   writes);
            break;
        case CZR_ROW_SUM:
            footprint_sum_row(f, (const czr_sum_row *)table->rows + i, writes);
            break;
        case CZR_ROW_EXCHANGE: /* of buckets, as a whole */
            break;
        case CZR_ROW_SPAN:
            if (!writes)
                footprint_read(f,
                               footprint_param(
                                   f->program,
                                   ((const czr_span_row *)table->rows)[i].param,
                                   REDUCED));
            break;
        }
}

/* ---- operations --------------------------------------------------------- */

static inline void footprint_norms(footprint *f, bool writes)
{
    for (int op = 0; op < f->program->n_ops; op++)
        footprint_touch(f, (size_t)op, writes);
}

static inline void footprint_buckets(footprint *f, footprint_cell cell,
                                     bool writes)
{
    for (int b = 0; b < f->program->n_buckets; b++)
        footprint_bucket(f, b, cell, writes);
}

/* The guard looks at all gradients; undo puts all parameters back, with what
 * was kept of them. */
static inline void footprint_recover(footprint *f, const czr_op *op)
{
    if (op->kind == CZR_GUARD) {
        footprint_buckets(f, REDUCED, false);
        footprint_write(f, footprint_decision(f->program));
    }
    if (op->kind == CZR_KEEP || op->kind == CZR_UNDO)
        footprint_buckets(f, STORED, false);
    if (op->kind == CZR_UNDO)
        footprint_buckets(f, STORED, true);
}

/* All that operation `number` does on this rank. */
static inline void footprint_run(footprint *f, int number)
{
    const czr_op *op = &f->program->ops[number];

    f->folded = (uint64_t)number + 1;
    if (op->section == CZR_SECTION_UPDATE)
        footprint_read(f, footprint_decision(f->program));
    if (op->kind == CZR_REDUCE_SCATTER)
        footprint_bucket(f, op->bucket, REDUCED, true);
    if (op->kind == CZR_ALL_GATHER) {
        footprint_bucket(f, op->bucket, STORED, false);
        footprint_bucket(f, op->bucket, STORED, true);
    }
    if (op->kind == CZR_ALL_REDUCE || op->kind == CZR_DECIDE)
        footprint_norms(f, false);
    if (op->kind == CZR_ALL_REDUCE)
        footprint_norms(f, true);
    if (op->kind == CZR_DECIDE)
        footprint_write(f, footprint_decision(f->program));
    if (op->kind == CZR_PROLOGUE)
        footprint_write(f, footprint_scalars(f->program));
    footprint_recover(f, op);
    if (op->table >= 0) {
        footprint_rows(f, op, false);
        footprint_rows(f, op, true);
    }
    if (op->kind == CZR_SQUARE_SUM)
        footprint_write(f, (size_t)number);
}

#endif
