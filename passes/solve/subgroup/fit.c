/* The bound by fit of plans of sub-groups: what their ways ask of a rank. */
#include "passes/solve/bound/fit.h"
#include "passes/solve/subgroup/internal.h"

typedef struct lister {
    cz_arena *scratch;
    const cz_subgroup_problem *problem;
    cz_fit_problem out;
} lister;

static int64_t with_latency(const cz_subgroup_problem *problem, int64_t ps)
{
    return ps > 0 ? ps + problem->latency_ps : 0;
}

static cz_subgroup_piece piece_of(const cz_subgroup_problem *problem, int of,
                                  const cz_subgroup_way *way)
{
    return (cz_subgroup_piece){
        .of = of,
        .g = way->g,
        .batch = cz_subgroup_batch(way),
        .compute_ps = cz_subgroup_work_ps(way) / way->g,
        .gather_ps = with_latency(problem, way->gather_ps),
        .scatter_ps = with_latency(problem, way->scatter_ps),
        .alone_ps = cz_subgroup_alone_ps(way, problem->latency_ps),
        .wire_bytes = way->wire_bytes};
}

/* Those of a class whose buffers keep the cap.  False: some take no time, and
 * so the class needs none. */
static bool list_pieces(lister *l, int of)
{
    const cz_subgroup_class *class = &l->problem->classes[of];
    for (int w = 0; w < class->n_ways + class->n_others; w++) {
        const cz_subgroup_way *way = w < class->n_ways
                                         ? &class->ways[w]
                                         : &class->others[w - class->n_ways];
        if (way->staging_bytes > l->problem->staging_cap_bytes)
            continue;
        if (cz_subgroup_work_ps(way) == 0)
            return false;
        *CZ_PUSH(l->scratch, l->out.pieces, l->out.n_pieces) =
            piece_of(l->problem, of, way);
    }
    return true;
}

static void list_classes(lister *l)
{
    int64_t *counts = CZ_NEW(l->scratch, int64_t, l->problem->n_classes);
    l->out.counts = counts;
    for (int c = 0; c < l->problem->n_classes; c++) {
        const int n = l->out.n_pieces;
        if (l->problem->classes[c].count == 0)
            continue;
        if (list_pieces(l, c))
            counts[c] = l->problem->classes[c].count;
        else
            l->out.n_pieces = n;
    }
}

cz_subgroup_bound cz_subgroup_bound_fit(cz_arena *scratch,
                                        const cz_subgroup_problem *problem,
                                        int64_t low_ps)
{
    lister l = {scratch,
                problem,
                {.n_ranks = (int64_t)problem->n_rows * problem->width,
                 .n_classes = problem->n_classes,
                 .wire_cap_bytes = problem->wire_cap_bytes,
                 .low_ps = low_ps}};
    list_classes(&l);
    const cz_fit fit = cz_fit_find(scratch, &l.out);
    return (cz_subgroup_bound){
        .time_ps = fit.time_ps,
        .of = fit.most,
        .price = (int64_t)((cz_wide)fit.prices.byte * fit.time_ps >>
                           (CZ_FIT_RANK_BITS + fit.prices.byte_bits -
                            CZ_SUBGROUP_PRICE_BITS))};
}
