/* What the verifier says of a bad plan, held against the plan. */
#ifndef CZ_TESTS_VERIFY_SENTENCE_H
#define CZ_TESTS_VERIFY_SENTENCE_H

#include "dsl/plan/plan.h"

/* NULL if the sentence begins "operation 3 (kernel) on rank 1, h.0.w: ", where
 * the plan has such an operation of such a kind, such a rank and such a tensor,
 * the operation deals with the tensor, and the rank has a part in that: rows
 * of it in the operation, or elements of it to own.  Else what is not so. */
const char *sentence_fault(const cz_plan_view *view, const char *sentence);

/* Whether all of them are so.  Prints those that are not, and with `verbose`
 * all, behind what was done to the plan. */
bool sentences_are_right(const cz_plan_view *view, const char *done,
                         const cz_diags *diags, bool verbose);

#endif
