#include "runtime/cuda/products/plain.h"

#include <limits.h>
#include <stdbool.h>

czr_plain_product czr_plain_product_of(const czr_product *p)
{
    const bool is_in_parts = p->blocks > 1;

    return (czr_plain_product){
        .m = p->m,
        .n = p->n,
        .k = p->k,
        .a = p->a,
        .b = p->b,
        .addend = p->addend,
        .out = p->out,
        .alpha = p->alpha,
        .beta = p->beta,
        .a_dtype = p->a_dtype,
        .b_dtype = p->b_dtype,
        .addend_dtype = p->addend_dtype,
        .out_dtype = p->out_dtype,
        .transpose_a = p->transpose_a != 0,
        .transpose_b = p->transpose_b != 0,
        .symmetric = p->symmetric != 0,
        .blocks = is_in_parts ? (uint32_t)p->blocks : 1,
        .narrow = is_in_parts && p->narrow,
    };
}

static uint64_t tiles_of(size_t extent)
{
    return extent / CZR_PLAIN_TILE + (extent % CZR_PLAIN_TILE > 0);
}

unsigned czr_plain_blocks(const czr_product *p)
{
    const uint64_t rows = tiles_of(p->m), columns = tiles_of(p->n);

    /* Either is below 2^58: a quotient says whether their product is. */
    if (rows && columns > INT_MAX / rows)
        return INT_MAX;
    return (unsigned)(rows * columns);
}
