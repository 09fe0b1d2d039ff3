/* Reproducible choices from a printed seed. */
#ifndef CZ_TESTS_VERIFY_RANDOM_H
#define CZ_TESTS_VERIFY_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct randoms {
    uint64_t state;
} randoms;

/* Knuth's MMIX constants; the high bits are the good ones. */
static inline int64_t draw(randoms *r, int64_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((r->state >> 33) % (uint64_t)n);
}

/* In [low, high]. */
static inline int64_t draw_in(randoms *r, int64_t low, int64_t high)
{
    return low + draw(r, high - low + 1);
}

static inline bool chance(randoms *r, int64_t one_in)
{
    return draw(r, one_in) == 0;
}

#endif
