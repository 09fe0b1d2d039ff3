/* The linear program behind the bound by fit: the fewest loads of ranks that
 * together hold each class as often as it is there and send no more than the
 * cap.  Columns are added one by one, priced at the last basis.  Fixed point:
 * what comes out are good prices, which prove nothing by themselves. */
#ifndef CZ_PASSES_SOLVE_BOUND_COVER_H
#define CZ_PASSES_SOLVE_BOUND_COVER_H

#include "dsl/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_COVER_BITS = 32 }; /* all numbers here are in 2^-32 */
#define CZ_COVER_ONE ((int64_t)1 << CZ_COVER_BITS)

/* The sum of columns, each as often as its weight says, is at least 1 in each
 * row but the last, and at most 1 in that, or a little more at a high price.
 * The sum of weights is least. */
typedef struct cz_cover cz_cover;

/* first[row][n_rows]: for each row but the last a column that is above 0 in it
 * and 0 in all others but the last. */
cz_cover *cz_cover_make(cz_arena *arena, int n_rows, int64_t *const *first);
/* What each row is worth, at least 0; the last: what it costs. */
const int64_t *cz_cover_prices(const cz_cover *cover);
/* The sum of weights. */
int64_t cz_cover_value(const cz_cover *cover);
/* A column worth more than 1 at these prices.  False: in fixed point nothing
 * comes of it. */
bool cz_cover_add(cz_cover *cover, const int64_t *column);

#endif
