/* A plan by the host's engines on threads: what those of a device are compared
 * with. */
#ifndef TESTS_CUDA_HOST_PLAN_H
#define TESTS_CUDA_HOST_PLAN_H

#include "tests/gpu/plan/loopback_rank.h"

/* All ranks of rank_program, so many steps; ends the test where they fail. */
void host_plan_run(int n_ranks, int steps, rank_variety kind, outcome *out);
/* The first rank that differs, or -1; of `a` without results of as many single
 * steps. */
int host_plan_difference(const outcome *a, const outcome *b, int n_ranks,
                         int steps);

#endif
