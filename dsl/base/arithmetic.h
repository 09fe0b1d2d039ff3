/* Parts of integers, exactly: products of two int64 do not fit one. */
#ifndef CZ_DSL_BASE_ARITHMETIC_H
#define CZ_DSL_BASE_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 cz_wide;

/* Later than any time that is known exactly, in ps. */
#define CZ_SOLVE_NEVER (((int64_t)1 << 62) - 1)

/* floor(total * numerator / n), 0 <= numerator <= n.  Over ranges [a, b) the
 * differences of b and a add up to the total. */
static inline int64_t cz_solve_fraction(int64_t total, int64_t numerator,
                                        int64_t n)
{
    return n == 0 ? 0 : (int64_t)((cz_wide)total * numerator / n);
}

/* a/b < c/d for positive b and d. */
static inline bool cz_solve_ratio_less(int64_t a, int64_t b, int64_t c,
                                       int64_t d)
{
    return (cz_wide)a * d < (cz_wide)c * b;
}

static inline int64_t cz_solve_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t cz_solve_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The end of what takes `ps`, at most 2^62, from `start` on: at most
 * CZ_SOLVE_NEVER, so that two such times can be added. */
static inline int64_t cz_solve_end(int64_t start, int64_t ps)
{
    return start < CZ_SOLVE_NEVER - ps ? start + ps : CZ_SOLVE_NEVER;
}

#endif
