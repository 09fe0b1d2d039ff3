/* The verifier: the checks in order, and what they share. */
#include "passes/verify/verify.h"

#include "passes/verify/internal.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_SENTENCE = 512 };

row_range rows_of(const verifier *v, const cz_view_op *op, int64_t rank)
{
    const int64_t *starts;
    int coordinate;

    if (op->table < 0)
        return (row_range){0, 0};
    starts = v->view->tables[op->table].starts;
    coordinate = v->maps.of_table[op->table][rank];
    return (row_range){starts[coordinate], starts[coordinate + 1]};
}

int64_t position_of(const verifier *v, const cz_view_op *op, int64_t rank)
{
    return op->kind == CZ_STEP_TRANSFER
               ? cz_view_coordinate(v->view, &op->fact->comm, rank)
               : -1;
}

bool is_skipped(const verifier *v, const cz_view_op *op, int64_t rank)
{
    const row_range rows = rows_of(v, op, rank);
    const bool of_bucket =
        op->kind == CZ_STEP_REDUCE_SCATTER || op->kind == CZ_STEP_ALL_GATHER;

    if (of_bucket)
        return !has_bucket(v, (int)op->fact->bucket, rank);
    if (op->kind == CZ_STEP_TRANSFER)
        return !v->moves[op - v->view->ops][rank];
    return op->table >= 0 && rows.first == rows.end;
}

void find_moves(verifier *v)
{
    for (int i = 0; i < v->view->n_ops; i++) {
        const cz_view_op *op = &v->view->ops[i];
        if (op->kind != CZ_STEP_TRANSFER)
            continue;
        v->moves[i] = CZ_NEW(v->kept, bool, v->view->n_ranks);
        for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
            const row_range rows = rows_of(v, op, rank);
            const int64_t position = position_of(v, op, rank);
            for (int64_t k = rows.first; k < rows.end && !v->moves[i][rank];
                 k++)
                v->moves[i][rank] =
                    has_row(&v->view->tables[op->table], k, position);
        }
    }
}

static bool has_pattern(const verifier *v, int pattern, int64_t rank)
{
    const bool *is_resident = v->maps.of_pattern[pattern];

    return !is_resident || is_resident[rank];
}

bool has_bucket(const verifier *v, int bucket, int64_t rank)
{
    const int pattern = v->view->buckets[bucket].pattern;

    return pattern < 0 || has_pattern(v, pattern, rank);
}

bool is_resident(const verifier *v, int64_t param, int64_t rank)
{
    return has_pattern(v, v->view->params[param].pattern, rank);
}

int64_t first_of_block(const verifier *v, const cz_view_op *op, int64_t rank)
{
    const cz_ints *comm = &op->fact->comm;
    const int64_t position = cz_view_coordinate(v->view, comm, rank);
    const cz_block block = cz_view_op_block(v->view, op);

    return cz_view_rank_at(v->view, comm, cz_block_first(block, position),
                           rank);
}

int64_t member_of(const verifier *v, int64_t param, int64_t rank)
{
    const cz_view_param *p = &v->view->params[param];
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(v->view, p->pattern, storage);

    return cz_view_member_at(p, cz_view_coordinate(v->view, &axes, rank));
}

int64_t first_resident(const verifier *v, int bucket)
{
    const int pattern = v->view->buckets[bucket].pattern;

    return pattern < 0 ? 0 : cz_view_resident_rank(v->view, pattern, 0, 0);
}

void reject(verifier *v, place at, const char *format, ...)
{
    char sentence[MAX_SENTENCE];
    cz_text where = {0};
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    /* "operation 3 (kernel) on rank 1, h.0.w" */
    if (at.op >= 0)
        cz_text_printf(&where, "operation %d (%s)", at.op,
                       cz_step_kind_word(v->view->ops[at.op].kind));
    else
        cz_text_puts(&where, "no operation");
    cz_text_printf(&where, " on rank %lld, %s", (long long)at.rank,
                   at.param >= 0
                       ? cz_view_name_at(v->view, (int)at.param, at.rank)
                       : "no tensor");
    cz_diag_error(v->diags, CZ_BAD_PLAN, (cz_span){0}, "%s: %s",
                  cz_text_string(&where), sentence);
    cz_text_fini(&where);
    v->n_errors++;
}

void slice_of(const verifier *v, int bucket, int64_t rank, int64_t *lo,
              int64_t *hi)
{
    const cz_ints *slices = &v->view->buckets[bucket].fact->slices;
    const int c = v->maps.of_split[v->view->buckets[bucket].reduction][rank];

    *lo = slices->v[c];
    *hi = slices->v[c + 1];
}

int last_op_of(const verifier *v, int64_t bucket)
{
    int last = -1;

    for (int op = 0; op < v->view->n_ops; op++)
        if (v->view->ops[op].fact->bucket == bucket)
            last = op;
    return last;
}

int rule_of_param(const verifier *v, int64_t param)
{
    return v->view->patterns[v->view->params[param].pattern].rule;
}

int64_t elements_on(const verifier *v, int64_t param, int64_t rank)
{
    const int pattern = v->view->params[param].pattern;

    if (!is_resident(v, param, rank))
        return 0;
    return cz_view_shard_elements(v->view, &v->view->patterns[pattern], rank);
}

void slot_extent(const cz_view_stage *stage, const cz_view_slot *slot,
                 int64_t count, int64_t *offset, int64_t *bytes)
{
    int64_t start = 0;

    /* a stage names each slot of a kind in in or in out, by index */
    for (int k = 0; k < slot->index; k++) {
        for (int i = 0; i < stage->n_in + stage->n_out; i++) {
            const cz_view_slot *other =
                i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
            if (other->kind != slot->kind || other->index != k)
                continue;
            start +=
                (count * cz_dtype_bytes(other->dtype) + CZ_ALIGN_BYTES - 1) /
                CZ_ALIGN_BYTES * CZ_ALIGN_BYTES;
            break;
        }
    }
    *offset = start;
    *bytes = count * cz_dtype_bytes(slot->dtype);
}

int64_t scratch_of(const cz_view_kernel_entry *row, cz_slot_kind kind)
{
    switch (kind) {
    case CZ_SLOT_GATHER:
        return row->gather;
    case CZ_SLOT_SCATTER:
        return row->scatter;
    case CZ_SLOT_TEMP:
        return row->temp;
    case CZ_SLOT_GRAD:
    case CZ_SLOT_PARAM:
    case CZ_SLOT_STATE:
    case CZ_SLOT_STORED:
    case CZ_N_SLOTS:
        break;
    }
    return -1;
}

void for_each_rank(verifier *v, int op, void (*check)(verifier *, int, int64_t))
{
    cz_arena *const outer = v->arena;
    cz_arena arena;

    cz_arena_init(&arena);
    v->arena = &arena;
    for (int64_t rank = 0; rank < v->view->n_ranks && v->n_errors == 0;
         rank++) {
        check(v, op, rank);
        cz_arena_clear(&arena);
    }
    cz_arena_fini(&arena);
    v->arena = outer;
}

bool cz_verify(const cz_plan_view *view, cz_diags *diags)
{
    static void (*const checks[])(verifier *) = {
        check_form,     find_moves,       check_meaning,   check_uniform,
        check_once,     check_owned,      check_norm,      check_group_sums,
        check_deadlock, check_matched,    check_exchanges, check_races,
        check_batches,  check_provenance, check_values,    check_tilings};
    cz_arena all;
    verifier v = {.view = view, .diags = diags};

    cz_arena_init(&all);
    v.maps = rank_maps_build(&all, view);
    v.kept = &all;
    v.pairs = CZ_NEW(&all, op_pairs, view->n_ops + 1);
    v.moves = CZ_NEW(&all, bool *, view->n_ops + 1);
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        cz_arena arena;
        cz_arena_init(&arena);
        v.arena = &arena;
        if (v.n_errors == 0)
            checks[i](&v);
        cz_arena_fini(&arena);
    }
    cz_arena_fini(&all);
    return v.n_errors == 0;
}
