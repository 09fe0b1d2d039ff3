/* One factorisation between looks of the host's, by kernels of factor.cu and
 * newton.cu and whatever else computes: private to this folder. */
#ifndef CZR_CUDA_FACTOR_INTERNAL_H
#define CZR_CUDA_FACTOR_INTERNAL_H

#include "runtime/cuda/products/internal.h"

/* Of what lies in a call's room, and so do the first words that the device has
 * to say. */
enum { CZR_CUDA_WORK_ALIGN = 256 };

/* What the device says of a call: of factor_check, and a library's info. */
enum { CZR_REPORT_NOT_FINITE, CZR_REPORT_ZERO, CZR_REPORT_INFO, CZR_N_REPORTS };

/* Pinned: what was reported, a flag and a status; numbers are behind it. */
typedef struct czr_cuda_seen {
    int32_t reported[CZR_N_REPORTS], skip, word;
} czr_cuda_seen;

typedef struct czr_cuda_work {
    const czr_cuda_call *call;
    int32_t *reported; /* where the call's room begins */
    czr_cuda_seen *seen;
    int32_t *word;     /* pinned, for work_tell */
    void *numbers;     /* pinned, aligned as doubles are */
    czr_status status; /* the first failure; nothing is put behind it */
} czr_cuda_work;

/* While stages are opened: kernels, and pinned memory for so many bytes of
 * numbers. */
czr_status czr_cuda_work_prepare(czr_cuda_stages *stages, size_t n_bytes);
/* Room of the call: n bytes behind *bytes, aligned; base NULL: for the bytes
 * alone. */
void *czr_cuda_work_take(unsigned char *base, size_t *bytes, size_t n);

czr_cuda_work czr_cuda_work_of(const czr_cuda_call *call);
/* Those that return bool put something behind what the stream has, or wait for
 * it; false, with work->status: they could not, or one before could not. */
bool czr_cuda_work_note(czr_cuda_work *work, czr_status status);
/* Blocks of a kernel that goes over n numbers. */
unsigned czr_cuda_work_blocks(const czr_cuda_stages *stages, size_t n);
bool czr_cuda_work_put(czr_cuda_work *work, czr_cuda_factor_kernel kernel,
                       size_t n, void **arguments);
bool czr_cuda_work_copy(czr_cuda_work *work, void *to, const void *from,
                        size_t bytes);
bool czr_cuda_work_wait(czr_cuda_work *work);
/* What the device has to say becomes nothing. */
bool czr_cuda_work_clear(czr_cuda_work *work);
/* Waits for what the device has to say. */
bool czr_cuda_work_read(czr_cuda_work *work);
/* As read, and asks whether the step is skipped: false then, too. */
bool czr_cuda_work_begin(czr_cuda_work *work);
/* What the factorisation failed of: the device hears of it, unless it knows of
 * a failure already. */
bool czr_cuda_work_tell(czr_cuda_work *work, czr_status failure);

#endif
