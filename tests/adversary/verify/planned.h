/* From a program's text to a verified view, and from a view to a run. */
#ifndef CZ_TESTS_VERIFY_PLANNED_H
#define CZ_TESTS_VERIFY_PLANNED_H

#include "dsl/plan/plan.h"
#include "frontend/run/run.h"

typedef struct planned {
    cz_arena arena;
    cz_diags diags;
    const cz_plan_view *view; /* NULL: see diags */
} planned;

/* Compile, plan and view; not verified.  Strict, with that many gradients in
 * a step (0: one per rank).  `defines` as -D, ended by NULL.  With `uneven`
 * not 0, some shards get unequal lengths, some of them none, as drawn from it.
 * With an axis "cp" of several ranks, most patterns get a home on some of its
 * coordinates.  Close in any case. */
void planned_open(planned *p, const char *text, const char *const *defines,
                  int64_t microbatches, uint64_t uneven);
/* Opens the plan where ranks share matrices, `in_pairs` far apart; false: none
 * do, and nothing is open. */
bool planned_can_share(planned *p, const char *text, int64_t microbatches,
                       uint64_t uneven, bool in_pairs);
/* The same with matrices that ranks share, where that can be; else without.
 * With `in_pairs` two of four or more do, far apart, if that can be. */
void planned_open_shared(planned *p, const char *text, int64_t microbatches,
                         uint64_t uneven, bool in_pairs);
/* For a GPU, not strict, with shards as the source has them. */
void planned_open_gpu(planned *p, const char *text);
/* Whether those who share some matrix are not neighbours. */
bool planned_has_strides(const cz_plan_view *view);
bool planned_is_shared(const cz_plan_view *view);
/* Whether some of their sums are in bf16. */
bool planned_is_narrow(const cz_plan_view *view);
/* Whether some parameter has a state that its owner alone has. */
bool planned_has_whole_states(const cz_plan_view *view);
void planned_close(planned *p);
/* Text and diagnostics, to stdout. */
void planned_print(const planned *p, const char *text);

/* Some steps on the ranks of a threads world; results live in the arena. */
czr_status planned_run(const cz_plan_view *view, const czr_program *program,
                       int64_t microbatches, bool late_device, cz_arena *arena,
                       cz_run_result *result);
/* Parameters, states and norms have the same bits, and so do all replicas. */
bool planned_same_bits(const cz_run_result *a, const cz_run_result *b);
/* Whether they differ by what an operation rounds, which no proof sees: all
 * elements within 2^-18 of each other, those of bf16 within 2^-7. */
bool planned_is_near(const cz_plan_view *view, const cz_run_result *a,
                     const cz_run_result *b);

#endif
