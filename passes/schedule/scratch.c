/* Scratch bytes of every buffer.  Buffers of shards are equal on all ranks of
 * a row and lie below those of owners, so that tables of shards do not depend
 * on the column.  A buffer lives over the operations between its first and
 * last use in the list, stretched to the compute operation that follows, so
 * that no stream waits for another merely to reuse bytes. */
#include "passes/schedule/internal.h"

#include "dsl/base/checked.h"
#include "passes/kernel/liveness.h"

/* Where the operations of one group stand in the list: of a role with several,
 * the first and the last. */
typedef struct group_ops {
    int first[CZ_N_ROLES], last[CZ_N_ROLES];
} group_ops;

/* Buffers of one rank or row while they are placed. */
typedef struct buffers {
    cz_arena *arena;
    const int *since; /* as the scheduler has it */
    cz_live *list;
    int n;
} buffers;

static group_ops *find_group_ops(cz_scheduler *s)
{
    group_ops *ops = CZ_NEW(s->arena, group_ops, s->sharded.n_micro_groups);
    for (int i = s->n_ops - 1; i >= 0; i--)
        if (s->ops[i].micro_group >= 0)
            ops[s->ops[i].micro_group].first[s->ops[i].role] = i;
    for (int i = 0; i < s->n_ops; i++)
        if (s->ops[i].micro_group >= 0)
            ops[s->ops[i].micro_group].last[s->ops[i].role] = i;
    return ops;
}

/* Returns the buffer's number; its offset is known after placing.  It does not
 * take bytes of what still runs. */
static int add(buffers *b, int64_t bytes, int first, int last)
{
    const int since = b->since ? b->since[first] : first;
    *CZ_PUSH(b->arena, b->list, b->n) =
        (cz_live){.bytes = bytes, .first = since, .last = last};
    return b->n - 1;
}

static int64_t slot_bytes(const cz_view_stage *stage, cz_slot_kind kind,
                          int64_t count)
{
    return stage ? cz_view_slot_bytes(stage, kind, count, NULL) : 0;
}

static int64_t work_bytes(const cz_view_stage *stage)
{
    return stage ? cz_round_up(stage->fact->work_bytes, CZ_ALIGN_BYTES) : 0;
}

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- the shards of one row ---- */

/* Starts of a group's buffers inside its three blocks, and their sizes. */
typedef struct blocks {
    int64_t gather, scatter, temp;
} blocks;

static blocks stack_shards(cz_matrix *list, int n)
{
    blocks size = {0, 0, 0};
    for (int i = 0; i < n; i++) {
        cz_matrix *m = &list[i];
        const int64_t local = m->pattern->local_elements;
        m->gather = size.gather;
        m->scatter = size.scatter;
        m->temp = size.temp;
        size.gather += slot_bytes(m->before, CZ_SLOT_GATHER, local);
        size.scatter += slot_bytes(m->after, CZ_SLOT_SCATTER, local);
        size.temp += slot_bytes(m->before, CZ_SLOT_TEMP, local);
    }
    return size;
}

static void move_shards(cz_matrix *list, int n, blocks by)
{
    for (int i = 0; i < n; i++) {
        list[i].gather += by.gather;
        list[i].scatter += by.scatter;
        list[i].temp += by.temp;
    }
}

/* Numbers of the three blocks of one group among the row's buffers. */
typedef struct block_numbers {
    int gather, scatter, temp;
} block_numbers;

/* Those who compute what does not move do it where the shards are. */
static block_numbers add_shards(buffers *b, blocks size, const group_ops *ops,
                                bool moves)
{
    const int *first = ops->first, *last = ops->last;
    return (block_numbers){
        add(b, size.gather, first[CZ_ROLE_PRE_GATHER],
            (moves ? first : last)[CZ_ROLE_FULL_MATRIX]),
        add(b, size.scatter,
            first[moves ? CZ_ROLE_SCATTER : CZ_ROLE_FULL_MATRIX],
            last[CZ_ROLE_POST_SCATTER]),
        add(b, size.temp, first[CZ_ROLE_PRE_GATHER],
            last[CZ_ROLE_POST_SCATTER])};
}

/* Bytes that live during one operation alone, on every rank of a row. */
static int64_t alone_bytes(const cz_matrix *m)
{
    const int64_t n = m->elements;
    const int64_t work =
        largest(work_bytes(m->full_matrix),
                largest(work_bytes(m->before), work_bytes(m->after)));
    return slot_bytes(m->full_matrix, CZ_SLOT_GATHER, n) +
           slot_bytes(m->full_matrix, CZ_SLOT_SCATTER, n) +
           slot_bytes(m->before, CZ_SLOT_TEMP, n) + work;
}

static int64_t local_bytes(const cz_scheduler *s, int bucket, int row)
{
    const cz_ints params = s->view->buckets[bucket].fact->params;
    const cz_param_range range = cz_schedule_params(s, bucket, row);
    int64_t bytes = 0;
    for (int i = range.first; i < range.end; i++) {
        int64_t n;
        const int pattern = s->view->params[params.v[i]].pattern;
        cz_schedule_slice_of(
            s, params.v[i], s->view->patterns[pattern].local_elements, row, &n);
        if (n > 0)
            bytes = largest(bytes, work_bytes(cz_schedule_element_wise(
                                       s->view, params.v[i])));
    }
    return bytes;
}

static int64_t before_bytes(const cz_matrix *m)
{
    return work_bytes(m->before);
}

static int64_t after_bytes(const cz_matrix *m)
{
    return work_bytes(m->after);
}

/* The most that any matrix of a row and group needs. */
static int64_t most(const cz_matrix_set *set, int row, int micro_group,
                    int64_t (*bytes_of)(const cz_matrix *))
{
    int n;
    int64_t bytes = 0;
    const cz_matrix *list = cz_schedule_matrices(set, row, micro_group, &n);
    for (int i = 0; i < n; i++)
        bytes = largest(bytes, bytes_of(&list[i]));
    return bytes;
}

static int64_t op_bytes(const cz_scheduler *s, const cz_planned_op *op, int row)
{
    int64_t bytes = 0;
    for (int k = 0; op->role == CZ_ROLE_ALONE && k < op->n_buckets; k++)
        bytes =
            largest(bytes, most(&s->alone, row, op->bucket + k, alone_bytes));
    for (int k = 0; op->role == CZ_ROLE_ELEMENT_WISE && k < op->n_buckets; k++)
        bytes = largest(bytes, local_bytes(s, op->bucket + k, row));
    if (op->role == CZ_ROLE_PRE_GATHER)
        return most(&s->sharded, row, op->micro_group, before_bytes);
    if (op->role == CZ_ROLE_POST_SCATTER)
        return most(&s->sharded, row, op->micro_group, after_bytes);
    return bytes;
}

/* Places everything that all ranks of a row have alike; returns its bytes. */
static int64_t place_row(cz_scheduler *s, int row, const group_ops *group_at)
{
    const int n_micro_groups =
        s->sharded.n == 0 ? 0 : s->sharded.n_micro_groups;
    buffers b = {s->arena, s->since, NULL, 0};
    int *op_buffer = CZ_NEW(s->arena, int, s->n_ops);
    block_numbers *blocks_of = CZ_NEW(s->arena, block_numbers, n_micro_groups);

    for (int i = 0; i < s->n_ops; i++)
        op_buffer[i] = add(&b, op_bytes(s, &s->ops[i], row), i, i);
    for (int g = 0; g < n_micro_groups; g++) {
        int n;
        cz_matrix *list = cz_schedule_matrices(&s->sharded, row, g, &n);
        blocks_of[g] = add_shards(&b, stack_shards(list, n), &group_at[g],
                                  s->sharded.moves[g]);
    }
    const int64_t bytes =
        cz_liveness_place(s->arena, b.list, b.n, CZ_ALIGN_BYTES);
    for (int i = 0; i < s->n_ops; i++)
        s->ops[i].work[row] = b.list[op_buffer[i]].offset;
    for (int g = 0; g < n_micro_groups; g++) {
        int n;
        cz_matrix *list = cz_schedule_matrices(&s->sharded, row, g, &n);
        move_shards(list, n,
                    (blocks){b.list[blocks_of[g].gather].offset,
                             b.list[blocks_of[g].scatter].offset,
                             b.list[blocks_of[g].temp].offset});
    }
    return bytes;
}

/* ---- the whole matrices, or parts, of one rank ---- */

/* One matrix behind what is stacked.  One workspace serves matrices in turn;
 * where they are shared, all go on together, segment by segment, and each has
 * its own. */
static void stack_one(cz_matrix *m, int column, bool moves,
                      cz_matrix_scratch *size)
{
    const int64_t work = work_bytes(m->full_matrix);
    const bool in_turn = m->n_owners == 1;

    m->scratch_at[column] = (cz_matrix_scratch){size->gather, size->scatter,
                                                in_turn ? 0 : size->work};
    if (moves) {
        size->gather += slot_bytes(m->full_matrix, CZ_SLOT_GATHER, m->elements);
        size->scatter +=
            slot_bytes(m->full_matrix, CZ_SLOT_SCATTER, m->elements);
    }
    size->work = in_turn ? largest(size->work, work) : size->work + work;
}

static bool is_equal(const cz_matrix *a, const cz_matrix *b)
{
    return a->full_matrix == b->full_matrix && a->elements == b->elements;
}

/* Starts of a group's buffers inside its three blocks, or their sizes.  Those
 * of equal matrices are neighbours, and equally far apart: a GPU computes a
 * batch of such by one launch a product. */
static cz_matrix_scratch stack_whole(cz_matrix *list, int n, int column,
                                     bool moves)
{
    cz_matrix_scratch size = {0, 0, 0};

    for (int i = 0; i < n; i++)
        if (cz_schedule_owns(&list[i], column))
            list[i].scratch_at[column].gather = -1;
    for (int i = 0; i < n; i++) {
        const bool is_next = cz_schedule_owns(&list[i], column) &&
                             list[i].scratch_at[column].gather < 0;
        for (int k = i; is_next && k < n; k++)
            if (cz_schedule_owns(&list[k], column) &&
                is_equal(&list[i], &list[k]))
                stack_one(&list[k], column, moves, &size);
    }
    return size;
}

enum { OWNED_BLOCKS = 3 }; /* buffers that add_whole adds for each group */

static void add_whole(buffers *b, cz_matrix_scratch size, const group_ops *ops)
{
    const int *first = ops->first, *last = ops->last;
    add(b, size.gather, first[CZ_ROLE_GATHER], last[CZ_ROLE_FULL_MATRIX]);
    add(b, size.scatter, first[CZ_ROLE_FULL_MATRIX],
        last[CZ_ROLE_POST_SCATTER]);
    add(b, size.work, first[CZ_ROLE_FULL_MATRIX], last[CZ_ROLE_FULL_MATRIX]);
}

static void move_whole(cz_matrix *list, int n, int column, bool moves,
                       cz_matrix_scratch by)
{
    for (int i = 0; i < n; i++) {
        cz_matrix_scratch *at = cz_schedule_owns(&list[i], column)
                                    ? &list[i].scratch_at[column]
                                    : NULL;
        if (!at)
            continue;
        at->gather = moves ? at->gather + by.gather : list[i].gather;
        at->scatter = moves ? at->scatter + by.scatter : list[i].scatter;
        at->work += by.work;
    }
}

/* Places an owner's whole matrices from byte `base` on. */
static void place_owner(cz_scheduler *s, int row, int column,
                        const group_ops *group_at, int64_t base)
{
    buffers b = {s->arena, s->since, NULL, 0};
    int n;
    for (int g = 0; g < s->sharded.n_micro_groups; g++) {
        cz_matrix *list = cz_schedule_matrices(&s->sharded, row, g, &n);
        add_whole(&b, stack_whole(list, n, column, s->sharded.moves[g]),
                  &group_at[g]);
    }
    cz_liveness_place(s->arena, b.list, b.n, CZ_ALIGN_BYTES);
    for (int g = 0; g < s->sharded.n_micro_groups; g++) {
        cz_matrix *list = cz_schedule_matrices(&s->sharded, row, g, &n);
        const cz_live *block = b.list + (size_t)g * OWNED_BLOCKS;
        move_whole(list, n, column, s->sharded.moves[g],
                   (cz_matrix_scratch){base + block[0].offset,
                                       base + block[1].offset,
                                       base + block[2].offset});
    }
}

void cz_schedule_scratch(cz_scheduler *s)
{
    const int n_columns = s->grid.n_shard;
    const group_ops *group_at = find_group_ops(s);
    for (int i = 0; i < s->n_ops; i++)
        s->ops[i].work = CZ_NEW(s->arena, int64_t, s->grid.n_rows);
    for (int row = 0; row < s->grid.n_rows; row++) {
        const int64_t base = place_row(s, row, group_at);
        for (int column = 0; s->sharded.n > 0 && column < n_columns; column++)
            place_owner(s, row, column, group_at, base);
    }
}
