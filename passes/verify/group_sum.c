/* V3, of sums in groups: all ranks of a block add up as many numbers of the
 * same matrices in the same order, and they are the ranks that share them. */
#include "passes/verify/internal.h"

static const cz_view_sum_entry *sums_of(const verifier *v, const cz_view_op *op)
{
    return v->view->tables[op->table].rows.sum;
}

static void check_sharers(verifier *v, int number, int64_t rank,
                          const cz_view_sum_entry *row)
{
    const cz_view_op *op = &v->view->ops[number];
    const cz_view_param *param = &v->view->params[row->param];
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_shard_axes(v->view, param->pattern, storage);
    const int64_t member = member_of(v, row->param, rank);

    if (!same_axes(&op->fact->comm, &axes) ||
        op->fact->block_size != param->subgroup_size ||
        op->fact->stride != param->stride || member < 0)
        reject(v, (place){number, rank, row->param},
               "adds up over other ranks than those that share the matrix");
}

static bool is_alike(const cz_view_sum_entry *a, const cz_view_sum_entry *b)
{
    return a->param == b->param && a->count == b->count &&
           a->width == b->width && a->how == b->how && a->side == b->side &&
           a->band == b->band;
}

/* Against the first rank of the block, which is checked against itself too. */
static void check_rank(verifier *v, int number, int64_t rank)
{
    const cz_view_op *op = &v->view->ops[number];
    const int64_t first = first_of_block(v, op, rank);
    const row_range own = rows_of(v, op, rank);
    const row_range others = rows_of(v, op, first);
    const int64_t n = own.end - own.first;

    for (int64_t i = 0; i < n && v->n_errors == 0; i++) {
        const cz_view_sum_entry *row = &sums_of(v, op)[own.first + i];
        check_sharers(v, number, rank, row);
        if (v->n_errors == 0 &&
            (i >= others.end - others.first ||
             !is_alike(row, &sums_of(v, op)[others.first + i])))
            reject(v, (place){number, rank, row->param},
                   "rank %lld does not add up the same with it",
                   (long long)first);
    }
    if (v->n_errors == 0 && n < others.end - others.first)
        reject(v,
               (place){number, first, sums_of(v, op)[others.first + n].param},
               "rank %lld does not add up the same with it", (long long)rank);
}

void check_group_sums(verifier *v)
{
    for (int op = 0; op < v->view->n_ops; op++)
        for (int64_t rank = 0; v->view->ops[op].kind == CZ_STEP_GROUP_SUM &&
                               rank < v->view->n_ranks && v->n_errors == 0;
             rank++)
            check_rank(v, op, rank);
}
