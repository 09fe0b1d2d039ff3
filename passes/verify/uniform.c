/* V3 and the ordering half of V9: each collective is there once, over the
 * right ranks, alike empty on all of them, and the decision comes first. */
#include "passes/verify/verify_internal.h"

static bool same_axes(const cz_ints *a, const cz_ints *b)
{
    uint64_t x = 0, y = 0;

    for (int i = 0; i < a->n; i++)
        x |= (uint64_t)1 << a->v[i];
    for (int i = 0; i < b->n; i++)
        y |= (uint64_t)1 << b->v[i];
    return x == y;
}

/* Whether an operation has rows must agree over its communicator. */
static void check_alike_empty(verifier *v, int number)
{
    const cz_view_op *op = &v->view->ops[number];

    for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
        const int64_t first =
            cz_view_rank_at(v->view, &op->fact->comm, 0, rank);
        if (is_skipped(v, op, rank) != is_skipped(v, op, first)) {
            reject(v, number, rank, -1,
                   "is empty here or on rank %lld, but not on both",
                   (long long)first);
            return;
        }
    }
}

static void check_bucket_op(verifier *v, int number, int *n_seen)
{
    const cz_view_op *op = &v->view->ops[number];
    const cz_ints *axes = op->kind == CZ_STEP_REDUCE_SCATTER
                              ? &v->view->policy->reduce_axes
                              : &v->view->policy->split_axes;
    const int64_t bucket = op->fact->bucket;

    if (bucket < 0 || bucket >= v->view->n_buckets)
        reject(v, number, -1, -1, "bucket %lld does not exist",
               (long long)bucket);
    else if (!same_axes(&op->fact->comm, axes))
        reject(v, number, -1, -1,
               "runs over other axes than the gradients are summed and the "
               "state is split over");
    else if (n_seen[bucket]++)
        reject(v, number, -1, -1, "bucket %lld comes a second time",
               (long long)bucket);
}

static void check_all_there(verifier *v, const int *reduced,
                            const int *gathered)
{
    const bool is_split =
        cz_view_extent(v->view, &v->view->policy->split_axes) > 1;

    for (int b = 0; b < v->view->n_buckets; b++) {
        if (!reduced[b])
            reject(v, -1, -1, v->view->buckets[b].fact->params.v[0],
                   "gradients of bucket %d are never reduced", b);
        if (is_split && !gathered[b])
            reject(v, -1, -1, v->view->buckets[b].fact->params.v[0],
                   "parameters of bucket %d are never gathered", b);
    }
}

static void check_all_axes(verifier *v, int number)
{
    const cz_ints *comm = &v->view->ops[number].fact->comm;

    if (cz_view_extent(v->view, comm) != v->view->n_ranks)
        reject(v, number, -1, -1, "leaves ranks out of the norm");
}

/* The kinds that prepare an update appear once and in order; everything that
 * updates stands behind the decision. */
static void check_sections(verifier *v)
{
    const bool decides = v->view->policy->clip > 0 || v->view->policy->skip;
    int n_reduced = 0, n_decided = 0, n_prologues = 0;

    for (int i = 0; i < v->view->n_ops; i++) {
        const cz_view_op *op = &v->view->ops[i];
        n_reduced += op->kind == CZ_STEP_ALL_REDUCE;
        n_prologues += op->kind == CZ_STEP_PROLOGUE;
        if (op->kind == CZ_STEP_ALL_REDUCE)
            check_all_axes(v, i);
        if (op->kind == CZ_STEP_SQUARE_SUM && n_reduced)
            reject(v, i, -1, -1, "counts after the norm was summed");
        if (op->kind == CZ_STEP_DECIDE && (!n_reduced || n_decided++))
            reject(v, i, -1, -1, "decides before the norm is there, or twice");
        if (op->kind == CZ_STEP_KERNEL &&
            (!n_prologues || (decides && !n_decided)))
            reject(v, i, -1, -1, "updates before %s",
                   decides && !n_decided ? "the clip-and-skip decision"
                                         : "the step's scalars are there");
        if ((op->kind == CZ_STEP_KERNEL || op->kind == CZ_STEP_TRANSFER ||
             op->kind == CZ_STEP_ALL_GATHER || op->kind == CZ_STEP_PROLOGUE) !=
            (op->section == CZ_SECTION_UPDATE))
            reject(v, i, -1, -1, "stands in the wrong section");
    }
    if (n_prologues != 1 || n_reduced > 1 || (decides && n_decided != 1))
        reject(v, -1, -1, -1,
               "the norm, the decision or the scalars are "
               "missing or there twice");
}

void check_uniform(verifier *v)
{
    int *reduced = CZ_NEW(v->arena, int, v->view->n_buckets + 1);
    int *gathered = CZ_NEW(v->arena, int, v->view->n_buckets + 1);

    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        const cz_view_op *op = &v->view->ops[i];
        if (op->kind == CZ_STEP_TRANSFER)
            check_alike_empty(v, i);
        if (op->kind == CZ_STEP_REDUCE_SCATTER)
            check_bucket_op(v, i, reduced);
        if (op->kind == CZ_STEP_ALL_GATHER)
            check_bucket_op(v, i, gathered);
    }
    check_all_there(v, reduced, gathered);
    check_sections(v);
}
