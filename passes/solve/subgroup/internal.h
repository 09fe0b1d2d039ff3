/* Between the files of the sub-group planner. */
#ifndef CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H
#define CZ_PASSES_SOLVE_SUBGROUP_INTERNAL_H

#include "dsl/base/arithmetic.h"
#include "passes/solve/subgroup/bound.h"

/* Plans of one row of which none is both faster and lighter on the wire than
 * another: by rising time, falling bytes. */
typedef struct cz_subgroup_front {
    int n;
    cz_subgroup_row *rows;
} cz_subgroup_front;

/* A plan of a row that is being changed. */
typedef struct cz_subgroup_draft {
    const cz_subgroup_problem *problem;
    int n;
    cz_subgroup_job *jobs; /* room for as many as there are matrices */
    struct cz_subgroup_ranked *ranked; /* likewise; cz_subgroup_place()'s own */
    uint64_t random;
} cz_subgroup_draft;

/* Of at most n jobs, and none yet. */
cz_subgroup_draft cz_subgroup_draft_make(cz_arena *arena,
                                         const cz_subgroup_problem *problem,
                                         int n);

/* A random change; every matrix stays planned once. */
void cz_subgroup_move(cz_subgroup_draft *draft);
/* Ways anew for matrices that are planned one by one, some in batches. */
void cz_subgroup_redraw(cz_subgroup_draft *draft);
/* Jobs more for so many matrices of a class, all in this way as far as its
 * batches go. */
void cz_subgroup_put_alike(cz_subgroup_draft *draft, int of, int count,
                           int way);
/* Jobs anew, for each class in one way. */
void cz_subgroup_redraw_alike(cz_subgroup_draft *draft, const int *counts);
/* A random change of ways alone. */
void cz_subgroup_move_way(cz_subgroup_draft *draft);
/* A number below n > 0. */
uint64_t cz_subgroup_draw(cz_subgroup_draft *draft, int n);

typedef enum cz_subgroup_order {
    CZ_SUBGROUP_BY_SIZE,   /* largest g first, then most work */
    CZ_SUBGROUP_BY_LENGTH, /* what takes longest alone first */
    CZ_SUBGROUP_SHUFFLED,
    CZ_SUBGROUP_N_ORDERS
} cz_subgroup_order;

/* Order the jobs and give each, one after the other, the block that is least
 * loaded. */
void cz_subgroup_place(cz_subgroup_draft *draft, cz_subgroup_order order);

const cz_subgroup_way *cz_subgroup_way_of(const cz_subgroup_problem *problem,
                                          const cz_subgroup_job *job);

/* The search for plans of one kind of row. */
typedef struct cz_subgroup_search cz_subgroup_search;

/* A row with counts[class] matrices; first plans by thresholds. */
cz_subgroup_search *cz_subgroup_search_make(cz_arena *arena,
                                            const cz_subgroup_problem *problem,
                                            int64_t price, const int *counts);
/* All that was found so far; every plan keeps the caps of staging and state.
 * Empty where none was found.  Owned by the search. */
const cz_subgroup_front *
cz_subgroup_search_front(const cz_subgroup_search *search);
/* Try n_tries more plans: light ones that take target_ps or less. */
void cz_subgroup_search_on(cz_subgroup_search *search, int64_t target_ps,
                           int n_tries);
/* Memory for cz_subgroup_run_within() with at most max_jobs jobs. */
typedef struct cz_subgroup_room cz_subgroup_room;
cz_subgroup_room *cz_subgroup_room_make(cz_arena *arena, int width,
                                        int max_jobs);
/* cz_subgroup_run() without a list, given up (false) as soon as it cannot end
 * by limit_ps. */
bool cz_subgroup_run_within(cz_subgroup_room *room,
                            const cz_subgroup_problem *problem,
                            const cz_subgroup_job *jobs, int n_jobs,
                            int64_t limit_ps, cz_subgroup_cost *cost);

/* Which row gets how many of each class: counts [row][class].  Evens out the
 * least rank-seconds, then the state bytes. */
void cz_subgroup_deal(cz_arena *arena, const cz_subgroup_problem *problem,
                      int *counts);

/* Of a row's fullest rank. */
int64_t cz_subgroup_state_bytes(const cz_subgroup_problem *problem,
                                const cz_subgroup_job *jobs, int n);

/* Rank-seconds of a matrix of the class at the very least. */
int64_t cz_subgroup_least_work_ps(const cz_subgroup_class *of);

static inline int cz_subgroup_effort(const cz_subgroup_problem *problem)
{
    return problem->effort > 0 ? problem->effort : CZ_SUBGROUP_EFFORT;
}

enum { CZ_SUBGROUP_PRICE_BITS = 20 }; /* of prices of a byte */

/* The bound by fit, which is at least low_ps. */
cz_subgroup_bound cz_subgroup_bound_fit(cz_arena *scratch,
                                        const cz_subgroup_problem *problem,
                                        int64_t low_ps);

#endif
