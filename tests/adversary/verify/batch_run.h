/* What batches make of a plan, without a GPU: every byte of scratch has a mark
 * of who wrote it and of what that had read. */
#ifndef CZ_TESTS_VERIFY_BATCH_RUN_H
#define CZ_TESTS_VERIFY_BATCH_RUN_H

#include "dsl/plan/plan.h"

/* Whether on every rank all rows read the same where batches run as one, in
 * two orders of what they have to do, as where all rows run in order; and no
 * byte outside a rank's scratch, and what batches have behind it. */
bool batch_run_is_same(const cz_plan_view *view);
/* Whether the runtime finds kernels for all tilings, with these tiles. */
bool batch_run_has_kernels(const cz_plan_view *view);

#endif
