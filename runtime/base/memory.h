/* The one place where the runtime takes memory, so that a test can count it,
 * and conversions between element types. */
#ifndef CZR_BASE_MEMORY_H
#define CZR_BASE_MEMORY_H

#include "runtime/czr.h"

enum { CZR_ALIGN = 64 }; /* bytes: of every space and of every slot */

/* n * size zeroed bytes, aligned to CZR_ALIGN and never NULL for n = 0; NULL
 * without memory or when the product overflows.  czr_free accepts NULL. */
void *czr_alloc(size_t n, size_t size);
void czr_free(void *memory);
/* Calls of czr_alloc by the calling thread so far. */
int64_t czr_allocations(void);

/* Asks the system for large pages where these bytes lie, whoever took them: for
 * what each step reads and writes from end to end, which waits less for the
 * addresses of pages then.  What is there stays.  Systems may decline. */
void czr_prefer_large_pages(void *memory, size_t bytes);

/* Bytes rounded up to CZR_ALIGN. */
size_t czr_round_up(size_t bytes);

/* n elements from one type to another; same types copy.  No overlap. */
void czr_convert(void *to, czr_dtype to_dtype, const void *from,
                 czr_dtype from_dtype, size_t n);
/* n elements set to `value`, rounded to the type. */
void czr_fill(void *to, czr_dtype dtype, double value, size_t n);
/* Of the bits of n elements of 2, 4 or 8 bytes and of their places: the sum of
 * (bits + 1) times an odd number of each place, in any order. */
uint64_t czr_hash(const void *data, size_t element_bytes, size_t n);

#endif
