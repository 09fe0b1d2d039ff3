/* What the printers of CUDA kernels share.  Private to codegen/cuda. */
#ifndef CZ_CODEGEN_CUDA_INTERNAL_H
#define CZ_CODEGEN_CUDA_INTERNAL_H

#include "codegen/common/internal.h"

/* Which threads have what of a space. */
typedef enum cz_cuda_form {
    CZ_CUDA_RUN,     /* neighbours, reached by one index, blocks apart */
    CZ_CUDA_ROWS,    /* a rank_group for each row */
    CZ_CUDA_SQUARES, /* a block of threads for each square, by way of shared
                      * memory: what is transposed is read along its rows */
    CZ_CUDA_COLUMNS  /* a thread for each column of a strip of rows */
} cz_cuda_form;

/* A kernel of a loop while it is printed.  A loop has one for what is reduced
 * down columns, and one for all else. */
typedef struct cz_cuda_kernel {
    cz_text *out;
    const cz_loop *loop;
    int number;       /* of the loop */
    bool is_epilogue; /* `acc` stands for operands a and b */
    bool by_columns;  /* the one that reduces down columns */
    cz_cuda_form form;
    int blocks; /* blocks that sums are made in */
    int width;  /* neighbours that a thread of a run or row takes */
    int depth;  /* of the lines that come next */
} cz_cuda_kernel;

/* What parameters of a kernel are, behind its extents. */
typedef enum cz_cuda_role {
    CZ_CUDA_ACCUMULATOR,
    CZ_CUDA_SCALAR, /* operand `i`, as the others; by its address */
    CZ_CUDA_OPERAND,
    CZ_CUDA_PARTIAL, /* partial sums of result `i` */
    CZ_CUDA_RESULT,
    CZ_CUDA_KEPT /* result that overwrites an operand, and is only read */
} cz_cuda_role;

typedef void cz_cuda_parameter(const cz_cuda_kernel *k, cz_cuda_role role,
                               int i);
/* Calls `put` for each of them, in order. */
void cz_cuda_parameters(const cz_cuda_kernel *k, cz_cuda_parameter *put);
/* Most entries of kernel tables that a launch of it has, as one parameter, an
 * entry_table of elementwise.cuh; 0: a launch has one, each array a parameter.
 */
int cz_cuda_most_entries(const cz_cuda_kernel *k);
/* Whether the kernel tells what is not finite: two more parameters. */
bool cz_cuda_is_checked(const cz_cuda_kernel *k);
/* Calls `put` for each kernel of a loop, in the order of their launches. */
void cz_cuda_kernels(cz_text *out, const cz_loop *loop, int number,
                     bool is_epilogue,
                     void (*put)(cz_cuda_kernel *k, void *user), void *user);

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

static inline const cz_view_step *cz_cuda_step(const cz_cuda_kernel *k)
{
    return k->loop->step;
}

/* Whether the kernel makes result i, by adding up or as the largest. */
bool cz_cuda_is_sum(const cz_cuda_kernel *k, int i);
bool cz_cuda_is_largest(const cz_cuda_kernel *k, int i);
/* Declares what reductions begin with. */
void cz_cuda_sums_begin(const cz_cuda_kernel *k);
/* Declares is_wide: whether `length`, if any, is a multiple of the width, and
 * all arrays are aligned. */
void cz_cuda_alignment(const cz_cuda_kernel *k, const char *length);
/* What is done with neighbours, of which the last thread may have fewer: `left`
 * is how many elements there are from the first of them on. */
void cz_cuda_neighbours(cz_cuda_kernel *k, const char *left);

/* The body of a kernel of each form. */
void cz_cuda_rows(cz_cuda_kernel *k);
void cz_cuda_squares(cz_cuda_kernel *k);
void cz_cuda_columns(cz_cuda_kernel *k);

#endif
