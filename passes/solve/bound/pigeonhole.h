/* Of more whole items than there are slots, some slot has several. */
#ifndef CZ_PASSES_SOLVE_BOUND_PIGEONHOLE_H
#define CZ_PASSES_SOLVE_BOUND_PIGEONHOLE_H

#include <stdint.h>

/* n items of equal time, not negative. */
typedef struct cz_bin {
    int64_t time_ps, n;
    int of; /* the caller's name for them */
} cz_bin;

/* Of the k S + 1 longest items on S slots, some slot has k + 1, which take at
 * least as long as the k + 1 shortest of those: time_ps, for the least k for
 * which that is most. */
typedef struct cz_pigeons {
    int64_t time_ps; /* 0: no more items than slots */
    int64_t k;       /* 0 likewise */
    int of;          /* the shortest of the k S + 1; -1 likewise */
} cz_pigeons;

/* Sorts the bins: longest first, then by `of`.  O(n log n + items / S). */
cz_pigeons cz_pigeonhole_find(cz_bin *bins, int n, int64_t n_slots);

#endif
