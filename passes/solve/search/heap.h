/* A binary heap of slots by a key of two numbers.  Private to the solvers. */
#ifndef CZ_PASSES_SOLVE_SEARCH_HEAP_H
#define CZ_PASSES_SOLVE_SEARCH_HEAP_H

#include <stdint.h>

typedef struct cz_heap_key {
    int64_t first, second; /* compared in this order, then */
    int slot;
} cz_heap_key;

/* Whether a comes before b. */
int cz_heap_is_before(const cz_heap_key *a, const cz_heap_key *b);
/* Order n keys so that the least comes first, and each before its two
 * children at 2 i + 1 and 2 i + 2. */
void cz_heap_build(cz_heap_key *keys, int n);
/* The same after the key at `at` has grown. */
void cz_heap_sink(cz_heap_key *keys, int n, int at);

#endif
