/* What the printers of CUDA kernels share.  Private to codegen/cuda_*.c. */
#ifndef CZ_CODEGEN_CUDA_INTERNAL_H
#define CZ_CODEGEN_CUDA_INTERNAL_H

#include "codegen/codegen_internal.h"

/* A kernel of a loop while it is printed.  A loop has one for what is reduced
 * down columns, and one for all else. */
typedef struct cz_cuda_kernel {
    cz_text *out;
    const cz_loop *loop;
    bool is_epilogue; /* `acc` stands for operands a and b */
    bool by_columns;  /* the one that reduces down columns */
    bool is_run;      /* one index reaches everything, blocks apart */
    int parts;        /* blocks that sums are made in */
    int width;        /* of a run: neighbours that a thread takes at once */
    int depth;        /* of the lines that come next */
} cz_cuda_kernel;

/* One line, indented. */
void cz_cuda_line(const cz_cuda_kernel *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The first operand that is one of the body: not a and b of a product. */
int cz_cuda_first_in(const cz_cuda_kernel *k);
/* Whether the kernel makes result i. */
bool cz_cuda_makes(const cz_cuda_kernel *k, int i);
bool cz_cuda_reduces(const cz_cuda_kernel *k);
/* Whether the kernel reads and writes several neighbours at once. */
bool cz_cuda_is_wide(const cz_cuda_kernel *k);
/* What is done with one element: the body, and a term to each reduction. */
void cz_cuda_element(const cz_cuda_kernel *k);

#endif
