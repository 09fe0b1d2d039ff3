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

    if (!same_axes(&op->fact->comm, axes))
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
            reject(v, last_op_of(v, b), -1,
                   v->view->buckets[b].fact->params.v[0],
                   "gradients of bucket %d are never reduced", b);
        if (is_split && !gathered[b])
            reject(v, last_op_of(v, b), -1,
                   v->view->buckets[b].fact->params.v[0],
                   "parameters of bucket %d are never gathered", b);
    }
}

static void check_all_axes(verifier *v, int number)
{
    const cz_ints *comm = &v->view->ops[number].fact->comm;

    if (cz_view_extent(v->view, comm) != v->view->n_ranks)
        reject(v, number, -1, -1, "leaves ranks out of the norm");
}

static bool is_update(cz_step_kind kind)
{
    return kind == CZ_STEP_KERNEL || kind == CZ_STEP_TRANSFER ||
           kind == CZ_STEP_ALL_GATHER || kind == CZ_STEP_PROLOGUE;
}

/* What was seen of the kinds that prepare an update. */
typedef struct prepared {
    int norms, decisions, prologues;
    cz_section section;
} prepared;

static void check_section(verifier *v, int number, prepared *seen)
{
    const cz_view_op *op = &v->view->ops[number];

    if (op->section < seen->section)
        reject(v, number, -1, -1, "stands behind the section after its own");
    if (is_update(op->kind) != (op->section == CZ_SECTION_UPDATE))
        reject(v, number, -1, -1, "stands in the wrong section");
    seen->section = op->section;
}

/* The kinds that prepare an update appear once and in order; everything that
 * updates stands behind them. */
static void check_prepared(verifier *v, int number, prepared *seen)
{
    const cz_view_op *op = &v->view->ops[number];

    if (op->kind == CZ_STEP_ALL_REDUCE)
        check_all_axes(v, number);
    if (op->kind == CZ_STEP_ALL_REDUCE && seen->norms++)
        reject(v, number, -1, -1, "sums the norm a second time");
    if (op->kind == CZ_STEP_SQUARE_SUM && seen->norms)
        reject(v, number, -1, -1, "counts after the norm was summed");
    if (op->kind == CZ_STEP_DECIDE && !seen->norms)
        reject(v, number, -1, -1, "decides before the norm is there");
    if (op->kind == CZ_STEP_DECIDE && seen->decisions++)
        reject(v, number, -1, -1, "decides a second time");
    if (op->kind == CZ_STEP_KERNEL && !seen->prologues)
        reject(v, number, -1, -1,
               "updates before the step's scalars are there");
    if (op->kind == CZ_STEP_PROLOGUE && seen->prologues++)
        reject(v, number, -1, -1, "computes the scalars a second time");
}

static void check_sections(verifier *v)
{
    const bool decides = v->view->policy->clip > 0 || v->view->policy->skip;
    prepared seen = {0, 0, 0, CZ_SECTION_REDUCE};

    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        check_section(v, i, &seen);
        check_prepared(v, i, &seen);
    }
    if (v->n_errors)
        return;
    if (seen.prologues == 0)
        reject(v, -1, -1, -1, "nothing computes the step's scalars");
    if (decides != (seen.decisions == 1))
        reject(v, -1, -1, -1,
               decides ? "nothing takes the clip-and-skip decision"
                       : "a decision that nobody asked for");
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
