/* What came of the steps of a rank_group, as far as the device has reported. */
#ifndef CZR_CUDA_EXEC_OUTCOME_H
#define CZR_CUDA_EXEC_OUTCOME_H

#include "runtime/cuda/exec/rank_group.h"

/* All members learn what the last decision was, where it has come to all.
 * `waits`: until it has come; `is_step`: until the step is over.  Returns what
 * that step says, once, and a failure for good. */
czr_status czr_cuda_outcome_learn(czr_cuda_rank_group *rank_group, bool waits,
                                  bool is_step);
/* The failure of a rule that the device has reported all members of, which they
 * say from now on, whatever else has failed since; else CZR_OK. */
czr_status czr_cuda_outcome_fault(const czr_cuda_rank_group *rank_group);
/* What engine->set_steps does. */
czr_status czr_cuda_outcome_set_steps(czr_engine *engine, int64_t steps);
/* Of the last step that was learned, results[n]. */
void czr_cuda_outcome_give(const czr_cuda_rank_group *rank_group,
                           czr_result *results);

#endif
