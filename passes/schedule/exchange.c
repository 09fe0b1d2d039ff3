/* The rows of an equal bucket's reduce_scatter and all_gather: what of it lies
 * in the part of one rank and in the slice of another travels between the two
 * (dsl/SCHEDULE.md, equal buckets). */
#include "passes/schedule/internal.h"

#include "dsl/plan/metrics.h"

typedef struct span {
    int64_t lo, hi;
} span;

bool cz_schedule_exchanges(const cz_scheduler *s, const cz_planned_op *op)
{
    const cz_ints comm = cz_schedule_comm(s, op);
    return (op->role == CZ_ROLE_REDUCE || op->role == CZ_ROLE_ALL_GATHER) &&
           cz_metrics_exchanges(s->view, op->bucket, &comm);
}

static span part_of(const cz_view_bucket *bucket, int64_t coordinate)
{
    return (span){cz_metrics_equal_start(bucket, coordinate),
                  cz_metrics_equal_start(bucket, coordinate + 1)};
}

static span slice_of(const cz_view_bucket *bucket, int64_t coordinate)
{
    const int64_t *slices = bucket->fact->slices.v + coordinate;
    return (span){slices[0], slices[1]};
}

static void put_row(cz_rows *rows, bool is_recv, int64_t peer, span a, span b)
{
    const int64_t lo = a.lo > b.lo ? a.lo : b.lo;
    const int64_t hi = a.hi < b.hi ? a.hi : b.hi;
    if (lo < hi)
        cz_rows_put(rows, (cz_entry){.exchange = {is_recv, peer, lo, hi - lo}});
}

/* A reduction leaves sums of parts apart from the slice: a rank's own travel,
 * too, to itself.  Parameters of both lie in one place. */
void cz_schedule_fill_exchange(const cz_scheduler *s, const cz_planned_op *op,
                               const cz_row_place *at, cz_rows *rows)
{
    const cz_plan_view *view = s->view;
    const bool to_owners = op->role == CZ_ROLE_REDUCE;
    const cz_ints comm = cz_schedule_comm(s, op);
    const cz_view_bucket *bucket = &view->buckets[op->bucket];
    const cz_ints *split =
        &cz_view_bucket_reduction(view, op->bucket)->split_axes;
    const int64_t own = cz_view_coordinate(view, split, at->rank);
    for (int64_t c = 0; c < cz_view_extent(view, split); c++) {
        const int64_t rank = cz_view_rank_at(view, split, c, at->rank);
        const int64_t peer = cz_view_coordinate(view, &comm, rank);
        if (c == own && !to_owners)
            continue;
        put_row(rows, !to_owners, peer, part_of(bucket, own),
                slice_of(bucket, c));
        put_row(rows, to_owners, peer, slice_of(bucket, own),
                part_of(bucket, c));
    }
}
