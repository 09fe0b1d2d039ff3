/* Units of a batch, step by step: what each asks for is noted while its stages
 * are called, and put when all have been, products of the same shape as one. */
#ifndef CZR_CUDA_PRODUCTS_DEFERRED_H
#define CZR_CUDA_PRODUCTS_DEFERRED_H

#include "runtime/cuda/products/stage.h"

/* Where operands of the next product of a batch lie behind those of the one
 * before, in bytes. */
typedef struct czr_cuda_apart {
    int64_t a, b, addend, out;
} czr_cuda_apart;

/* Room for so many units, each of which asks for so much. */
czr_status czr_cuda_deferred_open(czr_context *context, size_t n_units,
                                  size_t n_deferred, size_t n_pointers,
                                  czr_cuda_deferred **out);
/* NULL is allowed. */
void czr_cuda_deferred_close(czr_cuda_deferred *notes);

/* Calls that have `notes` are of a new unit from now on. */
void czr_cuda_deferred_begin(czr_cuda_deferred *notes);
/* Puts the first step of all units, then the second, and so on; nothing is
 * noted any more. */
czr_status czr_cuda_deferred_put(czr_cuda_deferred *notes);

/* What a call asks for, into call->notes: `pointers` are [n_pointers].  While
 * stages are opened it is counted instead. */
czr_status czr_cuda_defer_loop(const czr_cuda_call *call, int number,
                               size_t rows, size_t columns,
                               const void *const *pointers, size_t n_pointers);
czr_status czr_cuda_defer_copy(const czr_cuda_call *call, void *to,
                               const void *from, size_t bytes);
czr_status czr_cuda_defer_product(const czr_cuda_call *call,
                                  const czr_product *product);
czr_status czr_cuda_defer_factor(const czr_cuda_call *call,
                                 const czr_factor *factor);

#endif
