/* Kernel bodies as text, inside the library, and what NVRTC is given: a header
 * of definitions, the files that a body stands behind, the body. */
#ifndef CZR_CUDA_DRIVER_SOURCE_H
#define CZR_CUDA_DRIVER_SOURCE_H

#include <stddef.h>

typedef struct czr_source_file {
    const char *path; /* "cuda/kernels/product_sm90.cu"; NULL ends */
    const char *text; /* ends with zero */
    size_t n;         /* bytes without that */
} czr_source_file;

/* Every .cu and .cuh of runtime/cuda/kernels, in no order. */
extern const czr_source_file czr_source_files[];

/* Bodies, with all they stand behind. */
typedef enum czr_source_body {
    CZR_SOURCE_PRODUCT_SM80,
    CZR_SOURCE_PRODUCT_SM90,
    CZR_SOURCE_PRODUCT_PLAIN, /* compile with -fmad=false */
    CZR_SOURCE_ELEMENTWISE,   /* no body: generated text follows */
    CZR_SOURCE_FACTOR,        /* what stands beside cuSOLVER */
    CZR_SOURCE_COLLECT,       /* the engine's own kernels */
    CZR_N_SOURCE_BODIES
} czr_source_body;

/* `header`, the body's files, `end`; the caller's to free.  NULL without
 * memory. */
char *czr_source_make(czr_source_body body, const char *header,
                      const char *end);

/* To stand in front of a header: the line that makes waits of products on
 * sm_90a a failed assertion after 2 s, in debug builds and where CZR_CUDA_DEBUG
 * is set in the environment and not 0; else "". */
const char *czr_source_watchdog(void);

#endif
