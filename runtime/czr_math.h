/* The part of czr.h that stages of generated C compute with: bf16, products,
 * factorisations, and the call of a stage.  Included by czr.h alone. */
#ifndef CZR_MATH_H
#define CZR_MATH_H

typedef uint16_t czr_bf16;

static inline float czr_bf16_to_f32(czr_bf16 x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* To nearest even; NaN stays NaN. */
static inline czr_bf16 czr_f32_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (czr_bf16)((bits >> 16) | 0x40u);
    return (czr_bf16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Not 0 where x is infinite or NaN: the bits of x - x, which is +0 else.  Two
 * instructions of a vector, to test the exponent takes three. */
static inline uint32_t czr_wild_f32(float x)
{
    const float nothing = x - x;
    uint32_t bits;
    memcpy(&bits, &nothing, sizeof bits);
    return bits;
}

static inline uint32_t czr_wild_bf16(czr_bf16 x)
{
    return czr_wild_f32(czr_bf16_to_f32(x));
}

/* c[m, n] = op(a) @ op(b), accumulated in f32, row-major, contiguous.
 * a is [m, k], or [k, m] when transpose_a; b is [k, n], or [n, k]. */
typedef struct czr_product {
    size_t m, n, k;
    const void *a, *b;
    float *c;
    czr_dtype a_dtype, b_dtype;
    int transpose_a, transpose_b;
    int symmetric; /* c = x @ x' or x' @ x, or x @ x of an x = x', or another
                    * c that equals its transpose where a is not b; so does the
                    * addend */
    int blocks;    /* the fixed order sums over k in so many equal parts, a
                    * power of two, and adds these up as a tree, neighbours
                    * first; 0 and 1: all in turn */
    int narrow;    /* with blocks: the sum of each is rounded to bf16, and so is
                    * every sum of two of these */
    /* With `out` the result is not c but alpha * op(a) @ op(b) + beta * addend,
     * in f32 and rounded once to the type of `out`, which lies apart from a and
     * b; c is room for so many rows of n elements, 0: for all, that a product
     * may use.  The addend, [m, n] like out, may be NULL, or out itself. */
    size_t room_rows;
    void *out;
    const void *addend;
    czr_dtype out_dtype, addend_dtype;
    float alpha, beta;
} czr_product;

enum { CZR_MAX_BLOCKS = 8 };

/* The sum of n_blocks * n_lanes numbers, which are used up: those of a block in
 * turn, then the blocks, a power of two of them, as a tree, neighbours first.
 */
static inline double czr_sum_blocks(double *sums, int n_blocks, int n_lanes)
{
    for (int b = 0; b < n_blocks; b++) {
        double sum = 0;
        for (int lane = 0; lane < n_lanes; lane++)
            sum += sums[b * n_lanes + lane];
        sums[b] = sum;
    }
    for (size_t n = (size_t)n_blocks / 2; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            sums[i] = sums[2 * i] + sums[2 * i + 1];
    return sums[0];
}

/* Factorisations of whole matrices, in f32; dsl/vocab/factor.def of the
 * compiler says which.  a is [m, n], square but for QR; b is [n, k]; row-major,
 * contiguous, apart from the results. */
typedef enum czr_factor_kind {
    /* out[0] [n] eigenvalues, ascending; out[1] [n, n] eigenvectors, one in
     * each column.  Where LAPACK's f32 routine does not converge, or gives what
     * is not finite, once more in f64. */
    CZR_FACTOR_EIGH,
    /* out[0] [m, s] with orthonormal columns, out[1] [s, n] upper triangular
     * without negative diagonal; s = min(m, n). */
    CZR_FACTOR_QR,
    /* out[0] [n, n] lower triangular, zero above. */
    CZR_FACTOR_CHOLESKY,
    /* out[0] [n, k] = op(a)^-1 b, a lower or upper triangular. */
    CZR_FACTOR_SOLVE_LOWER,
    CZR_FACTOR_SOLVE_LOWER_T,
    CZR_FACTOR_SOLVE_UPPER,
    CZR_FACTOR_SOLVE_UPPER_T,
    /* out[0] [n, n] = (a + d I)^parameters[0]; d = parameters[1], and where the
     * least eigenvalue w is below 0, parameters[1] - w. */
    CZR_FACTOR_ROOT,
    /* out[0] [n, n] = (a + parameters[1] I)^parameters[0], iterated until no
     * element is off by more than parameters[2], at most parameters[3] times;
     * where f32 does not get there, once more in f64. */
    CZR_FACTOR_NEWTON_ROOT,
    CZR_N_FACTORS
} czr_factor_kind;

typedef struct czr_factor {
    czr_factor_kind kind;
    size_t m, n, k;
    const float *a, *b;
    float *out[2];
    double parameters[4];
    unsigned char *work; /* aligned to 64 */
    size_t work_bytes;
} czr_factor;

typedef struct czr_math {
    void (*product)(const struct czr_math *math, const czr_product *product);
    czr_status (*factor)(const struct czr_math *math, const czr_factor *factor);
} czr_math;

/* One call of a stage: slots in the order of the stage's tables. */
typedef struct czr_call {
    const void *const *in;
    void *const *out;
    const float *scalars; /* [n_scalars] of the stage */
    size_t count;         /* elements; whole stages know their own shape */
    size_t part; /* of a shared matrix: which of its parts; else not used */
    unsigned char *work;
    const czr_math *math;
    czr_status *status; /* set by what fails in the call; else left alone */
} czr_call;

typedef void (*czr_kernel)(const czr_call *call);

/* Bytes of a slot from one on, where the stage keeps results while the slot
 * holds nothing: of an input after its last reader. */
static inline void *czr_slot_bytes(const void *slot, size_t offset)
{
    union {
        const void *given;
        unsigned char *taken;
    } bytes = {.given = slot};

    return bytes.taken + offset;
}

static inline void *czr_in_bytes(const czr_call *call, size_t slot,
                                 size_t offset)
{
    return czr_slot_bytes(call->in[slot], offset);
}

static inline void *czr_out_bytes(const czr_call *call, size_t slot,
                                  size_t offset)
{
    return czr_slot_bytes(call->out[slot], offset);
}

static inline void czr_multiply(const czr_call *call,
                                const czr_product *product)
{
    call->math->product(call->math, product);
}

/* False when it failed: the call then ends, and its outputs mean nothing. */
static inline int czr_factorise(const czr_call *call, const czr_factor *factor)
{
    const czr_status status = call->math->factor(call->math, factor);

    if (status != CZR_OK)
        *call->status = status;
    return status == CZR_OK;
}

#endif
