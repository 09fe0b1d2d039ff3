/* What a step made of states, beside what the interpreter makes of the same
 * ones.  Pure: matrices in float64, row-major. */
#ifndef CZ_FRONTEND_RUN_STATES_H
#define CZ_FRONTEND_RUN_STATES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cz_run_state {
    int64_t rows, columns;
    const double *got;  /* [rows, columns]: the run's */
    const double *want; /* the interpreter's */
    double spread;      /* norm of what rounding may add to that;
                         * infinite: it may leave nothing of it */
} cz_run_state;

/* Whether state k of n is what it ought to be, all relative to `bound`:
 *
 *   no further from the interpreter's than that and, where this is no basis,
 *   its spread; or
 *   if it is symmetric and its spread a tenth of it, as of a root of a singular
 *   matrix: instead, S^-4 no further from the interpreter's than that; or
 *   a basis: columns orthonormal in both, and what is beside the diagonal of
 *   Q' S Q as large for the run's Q as for the interpreter's, for each state S
 *   that is symmetric and of that size.  Signs, and what stands for a null
 *   space, are anybody's; or
 *   of the interpreter's norm, or the same but for signs if it is symmetric,
 *   where some state is such a basis and no nearer: moments that were turned to
 *   bases of their own. */
bool cz_run_state_agrees(const cz_run_state *states, int n, int k,
                         double bound);

#endif
