/* What stages of generated C compute with: bf16, f16, products, factorisations
 * and the call of a stage.  czr.h alone includes it. */
#ifndef CZR_MATH_H
#define CZR_MATH_H

/* The upper 16 bits of an f32. */
typedef uint16_t czr_bf16;

static inline float czr_bf16_to_f32(czr_bf16 x)
{
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounds to nearest even.  NaN stays NaN. */
static inline czr_bf16 czr_f32_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (czr_bf16)((bits >> 16) | 0x40u);
    return (czr_bf16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* IEEE 754's binary16. */
typedef uint16_t czr_f16;

static inline float czr_f16_to_f32(czr_f16 x)
{
    /* Its exponent and fraction at an f32's places are 2^-112 times as much,
     * below f16's normal numbers, too. */
    const uint32_t shifted = (x & 0x7fffu) << 13;
    uint32_t bits;
    float f;
    memcpy(&f, &shifted, sizeof f);
    f *= 0x1p112f;
    memcpy(&bits, &f, sizeof bits);
    bits |= (x & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0;
    bits |= (x & 0x8000u) << 16;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* Rounds to nearest even; 65520 and more become infinity.  NaN stays NaN. */
static inline czr_f16 czr_f32_to_f16(float f)
{
    uint32_t bits, small;
    memcpy(&bits, &f, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    const uint32_t normal =
        (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;
    /* The last bit of a number near 0.5 is that of f16's least numbers. */
    memcpy(&f, &size, sizeof f);
    f += 0.5f;
    memcpy(&small, &f, sizeof small);
    if (size > 0x7f800000u)
        return (czr_f16)(sign | 0x7e00u | (size >> 13 & 0x3ffu));
    if (size >= 0x477ff000u)
        return (czr_f16)(sign | 0x7c00u);
    return (czr_f16)(sign |
                     (size < 0x38800000u ? small - 0x3f000000u : normal));
}

/* Not 0 if x is infinite or NaN: the bits of x - x, which is +0 for any other
 * x.  A vector takes two instructions so, and three to test the exponent. */
static inline uint32_t czr_nonfinite_f32(float x)
{
    const float nothing = x - x;
    uint32_t bits;
    memcpy(&bits, &nothing, sizeof bits);
    return bits;
}

static inline uint32_t czr_nonfinite_bf16(czr_bf16 x)
{
    return czr_nonfinite_f32(czr_bf16_to_f32(x));
}

static inline uint32_t czr_nonfinite_f16(czr_f16 x)
{
    return czr_nonfinite_f32(czr_f16_to_f32(x));
}

/* One product, c = op(a) @ op(b).  For instance c = x @ x' of x [m, n]:
 *
 *     {.m = m, .n = m, .k = n, .a = x, .b = x, .c = c, .a_dtype = CZR_F32,
 *      .b_dtype = CZR_F32, .transpose_b = 1, .symmetric = 1}
 *
 * - Matrices are row-major and contiguous.  Sums are f32.
 * - With `out` the result is out = alpha * op(a) @ op(b) + beta * addend.  It
 *   is computed in f32 and rounded once to the type of `out`.
 * - A czr_math computes one product at a time.  A product does not fail. */
typedef struct czr_product {
    size_t m, n, k;
    const void *a, *b; /* [m, k] and [k, n]; transposed [k, m] and [n, k] */
    float *c;          /* [m, n]; with `out` it is workspace */
    czr_dtype a_dtype, b_dtype;
    int transpose_a, transpose_b;
    /* 1: c equals its transpose, and so does the addend.  c is x @ x', x' @ x,
     * x @ x of a symmetric x, or another such product of unequal operands. */
    int symmetric;
    /* The fixed order sums over k in so many equal parts, a power of two.  It
     * adds the parts as a tree, neighbours first.  0 and 1: k upwards. */
    int blocks;
    /* 1, with blocks: the sum of each part is rounded to bf16, and so is every
     * sum of two of them (dsl/IR.md, "Sharing"). */
    int narrow;
    size_t held_rows;   /* rows of n elements that c holds with `out`; 0: m */
    void *out;          /* [m, n], apart from a and b; NULL: c is the result */
    const void *addend; /* [m, n]; NULL: none; may be `out` itself */
    czr_dtype out_dtype, addend_dtype;
    float alpha, beta;
} czr_product;

enum { CZR_MAX_BLOCKS = 8 };

/* The sum of sums[n_blocks * n_lanes], which it overwrites.  It adds the lanes
 * of each block in order, then the blocks as a tree, neighbours first.
 * n_blocks is a power of two. */
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

/* Factorisations of one matrix in f32 (dsl/vocab/factor.def).  a is [n, n], of
 * QR [m, n]; b is [n, k].  They are row-major, contiguous, and apart from
 * results.
 *
 * - CZR_ERR_NOT_FINITE: a or b has an infinity or NaN.
 * - CZR_ERR_NOT_POSITIVE: Cholesky or a root of a matrix that is not positive.
 * - CZR_ERR_SINGULAR: a zero on the diagonal of a triangle to solve with.
 * - CZR_ERR_NO_CONVERGENCE: eigenvalues or Newton's iteration, in f64 neither.
 * - CZR_ERR_NO_LIBRARY: there is no LAPACK.
 * - CZR_ERR_ARGUMENT: too little workspace. */
typedef enum czr_factor_kind {
    /* a = q diag(w) q'.  out[0] [n]: w, ascending; out[1] [n, n]: q,
     * eigenvectors in columns.  If f32 does not converge, or gives what is not
     * finite, f64 computes it once more. */
    CZR_FACTOR_EIGH,
    /* a = q r.  out[0] [m, s]: q, orthonormal columns; out[1] [s, n]: r, an
     * upper triangle without negative diagonal.  s = min(m, n). */
    CZR_FACTOR_QR,
    /* a = l l'.  out[0] [n, n]: l, a lower triangle, zero above it. */
    CZR_FACTOR_CHOLESKY,
    /* out[0] [n, k] = op(a)^-1 b.  a is a lower or upper triangle; _T: op
     * transposes it. */
    CZR_FACTOR_SOLVE_LOWER,
    CZR_FACTOR_SOLVE_LOWER_T,
    CZR_FACTOR_SOLVE_UPPER,
    CZR_FACTOR_SOLVE_UPPER_T,
    /* out[0] [n, n] = (a + d I)^parameters[0], by eigenvalues.  With w the
     * least of them, d = parameters[1] - min(w, 0). */
    CZR_FACTOR_ROOT,
    /* out[0] [n, n] = (a + parameters[1] I)^parameters[0], by the coupled
     * inverse Newton iteration (Guo and Higham 2006, SIAM J. Matrix Anal. Appl.
     * 28(3), 788-804).  It ends when no element of its second matrix is further
     * than parameters[2] from the identity, after at most parameters[3] steps.
     * If f32 does not get there, f64 iterates once more. */
    CZR_FACTOR_NEWTON_ROOT,
    CZR_N_FACTORS
} czr_factor_kind;

typedef struct czr_factor {
    czr_factor_kind kind;
    size_t m, n, k;     /* m: of QR; k: of solving */
    const float *a, *b; /* b: of solving */
    float *out[2];
    double parameters[4];
    unsigned char *work; /* aligned to 64, as many bytes as factor.def says */
    size_t work_bytes;
} czr_factor;

/* Who computes products and factorisations.  `math` is the struct itself. */
typedef struct czr_math {
    void (*product)(const struct czr_math *math, const czr_product *product);
    czr_status (*factor)(const struct czr_math *math, const czr_factor *factor);
} czr_math;

/* One call of a stage.  Slots come in the order of the stage's tables. */
typedef struct czr_call {
    const void *const *in;
    void *const *out;
    const float *scalars; /* [n_scalars] of the stage */
    size_t count;         /* elements; full-matrix stages know their shape */
    size_t
        equal_part; /* of a subgroup: number of this rank's part; else unused */
    unsigned char *work; /* workspace in scratch; NULL: none */
    const czr_math *math;
    czr_status *status; /* a failure sets it; success leaves it alone */
} czr_call;

typedef void (*czr_kernel)(const czr_call *call);

/* Byte `offset` of a slot and what lies behind.  A stage keeps results there
 * while the slot holds nothing: in an input after its last reader. */
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

/* Computes a product by the call's czr_math. */
static inline void czr_multiply(const czr_call *call,
                                const czr_product *product)
{
    call->math->product(call->math, product);
}

/* Factorises by the call's czr_math.  False: it failed, and *call->status says
 * how.  The call then ends, and its outputs mean nothing. */
static inline int czr_factorise(const czr_call *call, const czr_factor *factor)
{
    const czr_status status = call->math->factor(call->math, factor);

    if (status != CZR_OK)
        *call->status = status;
    return status == CZR_OK;
}

#endif
