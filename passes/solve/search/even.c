/* Swaps of equal items between buckets. */
#include "passes/solve/search/place.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

typedef struct evener {
    const cz_solve_problem *problem;
    int *slot_of;
    const int *bucket_of; /* [n_items] */
    int64_t *elements;    /* [n_buckets * n_ranks] of whole items */
    int64_t *least;       /* [n_buckets] no rank needs to have less */
    int64_t work;
} evener;

static int64_t *elements_at(const evener *e, int bucket, int rank)
{
    return &e->elements[(size_t)bucket * (size_t)e->problem->n_ranks +
                        (size_t)rank];
}

static int rank_of(const evener *e, int item)
{
    return e->slot_of[item] / e->problem->n_hosts;
}

static int64_t aligned(const evener *e, int item)
{
    return cz_round_up(e->problem->classes[e->problem->class_of[item]].elements,
                       e->problem->align);
}

/* What the fullest rank has of a bucket, and which that is. */
static int64_t fullest(const evener *e, int bucket, int *rank)
{
    int64_t most = -1;
    for (int r = 0; r < e->problem->n_ranks; r++)
        if (*elements_at(e, bucket, r) > most) {
            most = *elements_at(e, bucket, r);
            *rank = r;
        }
    return cz_solve_max(most, e->least[bucket]);
}

static void swap(evener *e, int item, int other)
{
    const int slot = e->slot_of[item], n = rank_of(e, item);
    const int m = rank_of(e, other);
    const int64_t length = aligned(e, item);
    *elements_at(e, e->bucket_of[item], n) -= length;
    *elements_at(e, e->bucket_of[item], m) += length;
    *elements_at(e, e->bucket_of[other], m) -= length;
    *elements_at(e, e->bucket_of[other], n) += length;
    e->slot_of[item] = e->slot_of[other];
    e->slot_of[other] = slot;
}

/* Whether giving `item` for `other` makes the two buckets' padding less. */
static bool try_swap(evener *e, int item, int other)
{
    const int b = e->bucket_of[item], c = e->bucket_of[other];
    int rank;
    if (b == c || rank_of(e, item) == rank_of(e, other) ||
        e->problem->class_of[item] != e->problem->class_of[other])
        return false;
    /* Cheaper than the maxima: the receiver must not become as full. */
    if (*elements_at(e, b, rank_of(e, other)) + aligned(e, item) >=
        *elements_at(e, b, rank_of(e, item)))
        return false;
    e->work -= e->problem->n_ranks;
    const int64_t before = fullest(e, b, &rank) + fullest(e, c, &rank);
    swap(e, item, other);
    if (fullest(e, b, &rank) + fullest(e, c, &rank) < before)
        return true;
    swap(e, item, other);
    return false;
}

/* One swap that relieves the bucket's fullest rank. */
static bool relieve(evener *e, int bucket)
{
    const cz_solve_problem *problem = e->problem;
    int rank = 0;
    if (fullest(e, bucket, &rank) == e->least[bucket])
        return false;
    for (int i = problem->bucket_start[bucket];
         i < problem->bucket_start[bucket + 1]; i++) {
        if (e->slot_of[i] < 0 || rank_of(e, i) != rank)
            continue;
        for (int j = 0; j < problem->n_items && e->work > 0; j++, e->work--)
            if (e->slot_of[j] >= 0 && try_swap(e, i, j))
                return true;
    }
    return false;
}

static void add_items(evener *e, int *bucket_of)
{
    const cz_solve_problem *problem = e->problem;
    for (int b = 0; b < problem->n_buckets; b++) {
        e->least[b] = cz_solve_least_share(problem, b);
        for (int i = problem->bucket_start[b]; i < problem->bucket_start[b + 1];
             i++) {
            bucket_of[i] = b;
            if (e->slot_of[i] >= 0)
                *elements_at(e, b, rank_of(e, i)) += aligned(e, i);
        }
    }
}

void cz_place_evenly(cz_arena *scratch, const cz_solve_problem *problem,
                     int *slot_of, int64_t work)
{
    int *bucket_of = CZ_NEW(scratch, int, problem->n_items + 1);
    evener e = {.problem = problem,
                .slot_of = slot_of,
                .bucket_of = bucket_of,
                .elements = CZ_NEW(
                    scratch, int64_t,
                    (size_t)problem->n_buckets * (size_t)problem->n_ranks + 1),
                .least = CZ_NEW(scratch, int64_t, problem->n_buckets + 1),
                .work = work};
    add_items(&e, bucket_of);
    for (bool helped = true; helped && e.work > 0;) {
        helped = false;
        for (int b = 0; b < problem->n_buckets; b++)
            while (e.work > 0 && relieve(&e, b))
                helped = true;
    }
}
