/* The bound by fit of matrices in all admitted forms: items do not come in
 * halves (passes/solve/bound/packing.h).  Of kernels alone, as metrics.time_ps
 * is: no item gathers, scatters or waits. */
#ifndef CZ_PASSES_BOUND_PACKING_BOUND_H
#define CZ_PASSES_BOUND_PACKING_BOUND_H

#include "passes/bound/forms.h"

/* What some ranks have to compute. */
typedef struct cz_packing_work {
    const int64_t *counts;              /* [classes of the forms] matrices */
    const cz_stage_time *const *owners; /* [classes] of those with an owner */
    int64_t elements_ps; /* of all elements in element-wise stages */
    int64_t n_ranks;
} cz_packing_work;

typedef struct cz_packing_bound {
    int64_t value_ps;      /* 0: low_ps was not refuted */
    int class;             /* whose matrices are worth most; -1: none are */
    const int64_t *prices; /* [classes of the forms] of a matrix; arena's */
    int64_t elements;      /* price of them all */
} cz_packing_bound;

/* No plan ends by low_ps, or before value_ps: its prices refute value_ps - 1.
 *
 * Pieces are what plans are timed by: batches of matrices with an owner, and
 * the first of time_ps of one that ranks share.  Where matrices of other
 * classes may be in the batch, its pieces are single matrices, each of the
 * least share of a batch. */
cz_packing_bound cz_packing_bound_find(cz_arena *arena, const cz_forms *forms,
                                       const cz_packing_work *work,
                                       int64_t low_ps);

#endif
