/* The functions of cuBLASLt that the runtime calls, on the double of the
 * driver: a product is a launch of "product_plain", so that its bits are known.
 * What is not as promised is refused.  Opened by its path; a test finds the two
 * variables below by name. */
#include "runtime/cuda/products/plain.h"
#include "tests/gpu/double/library_kernel.h"

#include <stdbool.h>
#include <stdio.h>

/* The call from now on that fails, 0: none; and how many products came, and of
 * them with results of bf16 or f16. */
extern int double_cublaslt_fails, double_cublaslt_products,
    double_cublaslt_narrow;
int double_cublaslt_fails, double_cublaslt_products, double_cublaslt_narrow;

enum { FAILED = 14, F32 = 0, F16 = 2, BF16 = 14, WORKSPACE = 512, OP_T = 1 };
/* Sums of parts of k in f32, not in the type of results. */
enum { REDUCTIONS = 3, COMPUTE_TYPE = 2 };
static const uint64_t chosen = 0x5eed;

/* Of a product, of a matrix, of a preference: what was said of it. */
typedef struct said {
    int transposes[2], type;
    uint64_t rows, columns, workspace;
    uint32_t alignment[4], reductions;
} said;

typedef struct heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
} heuristic;

size_t cublasLtGetVersion(void);
int cublasLtCreate(handle **out);
int cublasLtDestroy(handle *h);
int cublasLtMatmulDescCreate(said **out, int compute, int scale_type);
int cublasLtMatmulDescDestroy(said *s);
int cublasLtMatmulDescSetAttribute(said *s, int attribute, const void *from,
                                   size_t bytes);
int cublasLtMatrixLayoutCreate(said **out, int type, uint64_t rows,
                               uint64_t columns, int64_t stride);
int cublasLtMatrixLayoutDestroy(said *s);
int cublasLtMatmulPreferenceCreate(said **out);
int cublasLtMatmulPreferenceDestroy(said *s);
int cublasLtMatmulPreferenceSetAttribute(said *s, int attribute,
                                         const void *from, size_t bytes);
int cublasLtMatmulAlgoGetHeuristic(handle *h, said *desc, said *a, said *b,
                                   said *c, said *d, said *preference, int n,
                                   heuristic *results, int *n_results);
int cublasLtMatmul(handle *h, said *desc, const float *alpha, const void *a,
                   said *of_a, const void *b, said *of_b, const float *beta,
                   const void *c, said *of_c, void *d, said *of_d,
                   const uint64_t *algorithm, void *workspace, size_t bytes,
                   void *stream);

static bool fails(void)
{
    return double_cublaslt_fails > 0 && --double_cublaslt_fails == 0;
}

static int make(said **out)
{
    *out = fails() ? NULL : calloc(1, sizeof **out);
    return *out ? 0 : FAILED;
}

static int drop(said *s)
{
    free(s);
    return 0;
}

size_t cublasLtGetVersion(void)
{
    return 120304;
}

int cublasLtCreate(handle **out)
{
    char code[64];

    snprintf(code, sizeof code, "FAKE sm_90\nproduct_plain 8704 %zu 8\n",
             sizeof(czr_plain_product));
    *out = fails() ? NULL : open_handle(code, "product_plain");
    return *out ? 0 : FAILED;
}

int cublasLtDestroy(handle *h)
{
    close_handle(h);
    return 0;
}

int cublasLtMatmulDescCreate(said **out, int compute, int scale_type)
{
    return compute == 68 && scale_type == 0 ? make(out) : FAILED;
}

int cublasLtMatmulDescDestroy(said *s)
{
    return drop(s);
}

int cublasLtMatmulDescSetAttribute(said *s, int attribute, const void *from,
                                   size_t bytes)
{
    const int first = 3; /* of the first operand; then of the second */

    if (fails() || bytes != sizeof(int) || attribute < first ||
        attribute > first + 1)
        return FAILED;
    s->transposes[attribute - first] = *(const int *)from;
    return 0;
}

int cublasLtMatrixLayoutCreate(said **out, int type, uint64_t rows,
                               uint64_t columns, int64_t stride)
{
    if ((uint64_t)stride != rows || make(out) != 0)
        return FAILED;
    (*out)->type = type;
    (*out)->rows = rows;
    (*out)->columns = columns;
    return 0;
}

int cublasLtMatrixLayoutDestroy(said *s)
{
    return drop(s);
}

int cublasLtMatmulPreferenceCreate(said **out)
{
    return make(out);
}

int cublasLtMatmulPreferenceDestroy(said *s)
{
    return drop(s);
}

int cublasLtMatmulPreferenceSetAttribute(said *s, int attribute,
                                         const void *from, size_t bytes)
{
    const int first = 5, last = 8; /* alignments */

    if (fails())
        return FAILED;
    if (attribute == 1 && bytes == sizeof s->workspace)
        s->workspace = *(const uint64_t *)from;
    else if (attribute == REDUCTIONS && bytes == sizeof s->reductions)
        s->reductions = *(const uint32_t *)from;
    else if (attribute >= first && attribute <= last &&
             bytes == sizeof *s->alignment)
        s->alignment[attribute - first] = *(const uint32_t *)from;
    else
        return FAILED;
    return 0;
}

/* Extents of op(a), op(b) and c are those of one product. */
static bool do_fit(const said *desc, const said *a, const said *b,
                   const said *c)
{
    const bool of_a = desc->transposes[0] == OP_T;
    const bool of_b = desc->transposes[1] == OP_T;

    return (of_a ? a->columns : a->rows) == c->rows &&
           (of_b ? b->rows : b->columns) == c->columns &&
           (of_a ? a->rows : a->columns) == (of_b ? b->columns : b->rows) &&
           a->type == b->type && (c->type == F32 || c->type == a->type);
}

int cublasLtMatmulAlgoGetHeuristic(handle *h, said *desc, said *a, said *b,
                                   said *c, said *d, said *preference, int n,
                                   heuristic *results, int *n_results)
{
    if (fails() || !h || c != d || n != 1 || !do_fit(desc, a, b, c) ||
        preference->workspace < WORKSPACE ||
        preference->reductions != COMPUTE_TYPE)
        return FAILED;
    for (int i = 0; i < 4; i++)
        if (preference->alignment[i] != 16)
            return FAILED;
    *results =
        (heuristic){.algorithm = {chosen}, .workspace = WORKSPACE, .waves = 1};
    *n_results = 1;
    return 0;
}

static bool is_aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

static czr_dtype dtype_of(const said *matrix)
{
    return matrix->type == BF16  ? CZR_BF16
           : matrix->type == F16 ? CZR_F16
                                 : CZR_F32;
}

/* Its a is the second operand by rows. */
int cublasLtMatmul(handle *h, said *desc, const float *alpha, const void *a,
                   said *of_a, const void *b, said *of_b, const float *beta,
                   const void *c, said *of_c, void *d, said *of_d,
                   const uint64_t *algorithm, void *workspace, size_t bytes,
                   void *stream)
{
    const bool is_transposed = desc->transposes[0] == OP_T;
    czr_plain_product p = {.m = of_c->columns,
                           .n = of_c->rows,
                           .k = is_transposed ? of_a->rows : of_a->columns,
                           .a = b,
                           .b = a,
                           .addend = *beta != 0.F ? c : NULL,
                           .out = d,
                           .alpha = *alpha,
                           .beta = *beta,
                           .a_dtype = dtype_of(of_b),
                           .b_dtype = dtype_of(of_a),
                           .addend_dtype = dtype_of(of_c),
                           .out_dtype = dtype_of(of_d),
                           .transpose_a = desc->transposes[1] == OP_T,
                           .transpose_b = is_transposed,
                           .blocks = 1};
    const void *skip = NULL;
    void *arguments[] = {&p, &skip};

    if (fails() || of_c != of_d || algorithm[0] != chosen ||
        bytes != WORKSPACE || !is_aligned(a) || !is_aligned(b) ||
        !is_aligned(c) || !is_aligned(d) || (uintptr_t)workspace % 256 != 0 ||
        !workspace || !do_fit(desc, of_a, of_b, of_c))
        return FAILED;
    double_cublaslt_products++;
    double_cublaslt_narrow += of_d->type != F32;
    return launch_kernel(h, 256, arguments, stream);
}
