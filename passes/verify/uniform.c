/* V3 and the ordering half of V9: each collective is there once, over the
 * right ranks; guard and decision come before the update, undo behind it. */
#include "passes/verify/internal.h"

bool same_axes(const cz_ints *a, const cz_ints *b)
{
    uint64_t x = 0, y = 0;

    for (int i = 0; i < a->n; i++)
        x |= (uint64_t)1 << a->v[i];
    for (int i = 0; i < b->n; i++)
        y |= (uint64_t)1 << b->v[i];
    return x == y;
}

/* Do members of a communicator differ in whether they have the bucket? */
static bool spans_home(const verifier *v, int bucket, const cz_ints *comm)
{
    const int pattern = v->view->buckets[bucket].pattern;
    return pattern >= 0 && (cz_view_set_of(comm) &
                            v->view->patterns[pattern].fact->resident_axes);
}

/* seen[b]: one more than the operation that served bucket b; 0: none yet. */
static void check_bucket_op(verifier *v, int number, int *seen)
{
    const cz_view_op *op = &v->view->ops[number];
    const int64_t bucket = op->fact->bucket;
    const cz_fact_reduction *reduction =
        cz_view_bucket_reduction(v->view, (int)bucket);
    const cz_ints *axes = op->kind == CZ_STEP_REDUCE_SCATTER
                              ? &reduction->reduce_axes
                              : &reduction->split_axes;

    if (spans_home(v, (int)bucket, &op->fact->comm))
        reject(v, place_of(v, number),
               "runs over an axis of the bucket's home: some of its members "
               "have no part in it");
    else if (!same_axes(&op->fact->comm, axes))
        reject(v, place_of(v, number),
               "runs over other axes than the gradients are summed and the "
               "state is split over");
    else if (seen[bucket])
        reject(v, place_of(v, number),
               "bucket %lld comes a second time, after operation %d",
               (long long)bucket, seen[bucket] - 1);
    else
        seen[bucket] = number + 1;
}

/* Named is the first operation that would need the reduced gradients, and the
 * last one whose results would have to be sent on. */
static void check_all_there(verifier *v, const int *reduced,
                            const int *gathered)
{
    const int last = v->view->n_ops - 1;

    for (int b = 0; b < v->view->n_buckets; b++) {
        const cz_ints *split =
            &cz_view_bucket_reduction(v->view, b)->split_axes;
        place at = place_in_bucket(v, b, -1);
        if (!reduced[b]) {
            find_row(v, (row_filter){0, last, -1, -1, b, -1}, &at);
            reject(v, at,
                   "no reduce_scatter before it sums the gradients of bucket "
                   "%d",
                   b);
        } else if (cz_view_extent(v->view, split) > 1 && !gathered[b]) {
            find_row(v, (row_filter){last, 0, CZ_STEP_KERNEL, -1, b, -1}, &at);
            reject(v, at,
                   "no all_gather behind it sends on the parameters of bucket "
                   "%d",
                   b);
        }
    }
}

/* Rank 0's sum stands for all of them. */
static void check_all_axes(verifier *v, int number, const char *what)
{
    const cz_ints *comm = &v->view->ops[number].fact->comm;
    int64_t rank = 0;

    if (cz_view_extent(v->view, comm) == v->view->n_ranks)
        return;
    while (rank < v->view->n_ranks && cz_view_rank_at(v->view, comm, 0, rank) ==
                                          cz_view_rank_at(v->view, comm, 0, 0))
        rank++;
    reject(v, place_on(v, number, rank),
           "%s that leaves out rank 0, as rank 0's leaves out this rank", what);
}

/* Where a kind of operation stands in the list. */
typedef enum stand { REDUCES, PRECEDES, DECIDES, UPDATES, ENDS } stand;

static stand stand_of(cz_step_kind kind)
{
    switch (kind) {
    case CZ_STEP_REDUCE_SCATTER:
        return REDUCES;
    case CZ_STEP_GUARD:
    case CZ_STEP_KEEP:
        return PRECEDES;
    case CZ_STEP_SQUARE_SUM:
    case CZ_STEP_ALL_REDUCE:
    case CZ_STEP_DECIDE:
        return DECIDES;
    case CZ_STEP_PROLOGUE:
    case CZ_STEP_KERNEL:
    case CZ_STEP_TRANSFER:
    case CZ_STEP_GROUP_SUM:
    case CZ_STEP_ALL_GATHER:
        return UPDATES;
    case CZ_STEP_UNDO:
    case CZ_N_STEPS:
        break;
    }
    return ENDS;
}

static const cz_section section_of[] = {[REDUCES] = CZ_SECTION_REDUCE,
                                        [PRECEDES] = CZ_SECTION_RECOVER,
                                        [DECIDES] = CZ_SECTION_DECIDE,
                                        [UPDATES] = CZ_SECTION_UPDATE,
                                        [ENDS] = CZ_SECTION_RECOVER};

/* What was seen of the kinds that prepare an update: one more than the
 * operation's number; 0: nothing yet. */
typedef struct prepared {
    int guard, keep, norm, decision, prologue, undo;
    stand stand;
} prepared;

static void check_section(verifier *v, int number, prepared *seen)
{
    const cz_view_op *op = &v->view->ops[number];
    const stand own = stand_of(op->kind);

    if (own < seen->stand)
        reject(v, place_of(v, number),
               "stands behind operation %d, which is of a later section",
               number - 1);
    if (op->section != section_of[own])
        reject(v, place_of(v, number), "stands in the wrong section");
    seen->stand = own;
}

static void check_first(verifier *v, int number, int *seen, const char *what)
{
    if (*seen)
        reject(v, place_of(v, number), "%s a second time, after operation %d",
               what, *seen - 1);
    *seen = number + 1;
}

static void check_recover(verifier *v, int number, prepared *seen)
{
    const cz_step_kind kind = v->view->ops[number].kind;

    if (kind == CZ_STEP_GUARD) {
        check_all_axes(v, number, "guards gradients with an agreement");
        check_first(v, number, &seen->guard, "guards the gradients");
    }
    if (kind == CZ_STEP_KEEP)
        check_first(v, number, &seen->keep, "keeps what the update writes");
    if (kind == CZ_STEP_UNDO) {
        check_all_axes(v, number, "undoes steps by an agreement");
        check_first(v, number, &seen->undo, "undoes the step");
    }
}

/* The kinds that prepare an update appear once and in order; everything that
 * updates stands behind them. */
static void check_prepared(verifier *v, int number, prepared *seen)
{
    const cz_step_kind kind = v->view->ops[number].kind;

    if (kind == CZ_STEP_ALL_REDUCE) {
        check_all_axes(v, number, "sums a norm");
        check_first(v, number, &seen->norm, "sums the norm");
    }
    if (kind == CZ_STEP_SQUARE_SUM && seen->norm)
        reject(v, place_of(v, number),
               "counts after operation %d summed the norm", seen->norm - 1);
    if (kind == CZ_STEP_DECIDE && !seen->norm)
        reject(v, place_of(v, number), "decides before the norm is there");
    if (kind == CZ_STEP_DECIDE)
        check_first(v, number, &seen->decision, "decides");
    if (kind == CZ_STEP_KERNEL && !seen->prologue)
        reject(v, place_of(v, number),
               "updates before the step's scalars are there");
    if (kind == CZ_STEP_PROLOGUE)
        check_first(v, number, &seen->prologue, "computes the scalars");
}

/* The first operation that a decision would have to stand before. */
static int first_update(const verifier *v)
{
    int op = 0;

    while (op + 1 < v->view->n_ops &&
           v->view->ops[op].section != CZ_SECTION_UPDATE)
        op++;
    return op;
}

/* Where something clips, the norm tells of gradients that are not finite. */
static void check_recovers(verifier *v, const prepared *seen)
{
    const bool guards = v->view->policy->clip == 0;

    if (guards && !seen->guard)
        reject(v, place_of(v, first_update(v)),
               "begins the update, and nothing before it guards the gradients");
    else if (!guards && seen->guard)
        reject(v, place_of(v, seen->guard - 1),
               "guards gradients that the norm decides about");
    else if (!seen->keep)
        reject(v, place_of(v, first_update(v)),
               "begins the update, and nothing before it keeps what that "
               "writes");
    else if (!seen->undo)
        reject(v, place_of(v, v->view->n_ops - 1),
               "is the last, and nothing behind it undoes a step whose rules "
               "fail");
}

static void check_sections(verifier *v)
{
    const bool decides = v->view->policy->clip > 0 || v->view->policy->skip;
    prepared seen = {.stand = REDUCES};

    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        check_section(v, i, &seen);
        check_prepared(v, i, &seen);
        check_recover(v, i, &seen);
    }
    if (v->n_errors)
        return;
    if (seen.prologue == 0)
        reject(v, place_of(v, v->view->n_ops - 1),
               "is the last, and nothing has computed the step's scalars");
    else if (decides && !seen.decision)
        reject(v, place_of(v, first_update(v)),
               "begins the update, and nothing before it takes the "
               "clip-and-skip decision");
    else if (!decides && seen.decision)
        reject(v, place_of(v, seen.decision - 1),
               "takes a decision that nobody asked for");
    else
        check_recovers(v, &seen);
}

void check_uniform(verifier *v)
{
    int *reduced = CZ_NEW(v->arena, int, v->view->n_buckets + 1);
    int *gathered = CZ_NEW(v->arena, int, v->view->n_buckets + 1);

    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        const cz_view_op *op = &v->view->ops[i];
        if (op->kind == CZ_STEP_REDUCE_SCATTER)
            check_bucket_op(v, i, reduced);
        if (op->kind == CZ_STEP_ALL_GATHER)
            check_bucket_op(v, i, gathered);
    }
    if (v->n_errors == 0)
        check_all_there(v, reduced, gathered);
    if (v->n_errors == 0)
        check_sections(v);
}
