/* What generated NAME_cuda.c is made of: stages that put their work on a stream
 * of a GPU.  Trainers include NAME.h, which declares NAME_cuda, and give it to
 * runtime/cuda/world/loopback.h or runtime/cuda/world/process.h.
 *
 * Pointers to data are the device's.  The host never follows them. */
#ifndef CZR_CUDA_H
#define CZR_CUDA_H

#include "czr.h"

/* The code of one program, loaded on a device: runtime/cuda/products/stage.h.
 */
typedef struct czr_cuda_stages czr_cuda_stages;
/* Deferred launches of a batch: runtime/cuda/products/deferred.h. */
typedef struct czr_cuda_deferred czr_cuda_deferred;

/* One call of a stage, as czr_call.  The struct is gone when the call returns.
 * The memory that it names stays until the stream has done the work. */
typedef struct czr_cuda_call {
    const void *const *in;
    void *const *out;
    /* [n_scalars] of the stage: where each lies when the stream gets there. */
    const float *const *scalars;
    size_t count, part;
    unsigned char *work;
    /* Memory of this stage alone until the stream has done it: as many bytes as
     * czr_cuda_stages_workspace says, aligned to 256. */
    unsigned char *room;
    /* The rank's scratch, [scratch_bytes].  A skipped step may leave anything
     * there.  NULL: none. */
    unsigned char *scratch;
    size_t scratch_bytes;
    int32_t *status;     /* keeps the first failure; 0 is CZR_OK */
    const int32_t *skip; /* not 0: kernels write nothing; NULL: they do */
    void *stream;
    czr_cuda_stages *stages;
    czr_cuda_deferred
        *notes; /* launches are deferred to it; NULL: put at once */
} czr_cuda_call;

/* Puts all work of a stage on call->stream.
 *
 * - A failure to put it ends the call, and the context has its sentence.
 * - A failure on the device goes to call->status.  The work behind it runs
 *   nevertheless, and outputs then mean nothing. */
typedef czr_status (*czr_cuda_stage)(const czr_cuda_call *call);

/* ---- loops as kernels --------------------------------------------------- */

/* Which threads have what, as in codegen/cuda/internal.h. */
typedef enum czr_cuda_form {
    CZR_CUDA_RUN,     /* neighbours, reached by one index */
    CZR_CUDA_ROWS,    /* a warp or a block for each row */
    CZR_CUDA_SQUARES, /* a block for each square */
    CZR_CUDA_COLUMNS  /* a thread for each column of a strip of rows */
} czr_cuda_form;

/* One of the `arguments` of a kernel:
 *
 * - i below these numbers: pointer i of the loop;
 * - CZR_CUDA_SUM + i: partial sums of result i;
 * - CZR_CUDA_LARGEST + i: partial largest values of result i;
 * - CZR_CUDA_STATUS: two parameters, by which it reports what is not finite. */
enum {
    CZR_CUDA_SUM = 0x4000,
    CZR_CUDA_LARGEST = 0x8000,
    CZR_CUDA_STATUS = 0xffff
};

/* A kernel of NAME.cu.  Its parameters are the extents, then `arguments`, then
 * the skip pointer.  Extents: n of a flat loop, else rows and columns. */
typedef struct czr_cuda_kernel {
    const char *name;
    const uint16_t *arguments; /* [n_arguments] */
    uint8_t n_arguments, form, is_flat;
    uint8_t width;        /* neighbours that a thread takes at once */
    uint8_t row_parts;    /* equal parts of the rows, each with its own sums */
    uint8_t column_parts; /* the same of columns; 1: all are one part */
} czr_cuda_kernel;

/* The kernels of a loop of NAME.c, in order of launch: [first, first + n). */
typedef struct czr_cuda_loop_kernels {
    uint16_t first, n;
} czr_cuda_loop_kernels;

/* Puts loop `number` of NAME.c over [rows, columns]; a flat loop takes all
 * elements.  `pointers` are those of its parameters in C, in order, scalars
 * included.  Without elements it writes its sums alone, which are 0. */
czr_status czr_cuda_loop(const czr_cuda_call *call, int number, size_t rows,
                         size_t columns, const void *const *pointers);
/* Puts a copy of `bytes`.  The two memories do not overlap. */
czr_status czr_cuda_copy(const czr_cuda_call *call, void *to, const void *from,
                         size_t bytes);
/* As czr_multiply and czr_factorise, with pointers of the device.  A
 * factorisation that cannot be is a failure on the device. */
czr_status czr_cuda_multiply(const czr_cuda_call *call,
                             const czr_product *product);
czr_status czr_cuda_factorise(const czr_cuda_call *call,
                              const czr_factor *factor);

/* As czr_in_bytes and czr_out_bytes. */
static inline void *czr_cuda_in_bytes(const czr_cuda_call *call, size_t slot,
                                      size_t offset)
{
    return czr_slot_bytes(call->in[slot], offset);
}

static inline void *czr_cuda_out_bytes(const czr_cuda_call *call, size_t slot,
                                       size_t offset)
{
    return czr_slot_bytes(call->out[slot], offset);
}

/* ---- products ----------------------------------------------------------- */

/* The tiles of one product of bf16 on sm_90a: out [m, n], k long, `batch` of
 * them at once. */
typedef struct czr_cuda_tiling {
    int64_t m, n, k, batch;
    /* symmetric: one triangle of tiles is computed.  N-major: the second
     * operand is [k, n], not [n, k]. */
    uint8_t is_symmetric, is_n_major, has_addend;
    int16_t rows, cols; /* of a tile */
    /* stages: of the pipeline that loads operands.  parts: of k, for tiles that
     * fill no wave of the GPU; 1: these are whole, too. */
    uint8_t stages, parts;
    /* 1: measured to be faster by cuBLASLt.  It computes the product if it is
     * found and the product is not symmetric. */
    uint8_t is_library;
} czr_cuda_tiling;

/* ---- batches ------------------------------------------------------------ */

/* Equal matrices that a GPU computes as one (dsl/SCHEDULE.md, "Batches").
 *
 * A unit is n_rows neighbouring entries of a kernel table, all of one
 * parameter.  Units run the same stages, in any order.  The bytes [scratch,
 * scratch + bytes) of scratch are what they would use one after the other.
 * Each unit has them for itself, behind the plan's scratch. */
typedef struct czr_cuda_batch {
    int64_t first; /* entry that the first unit begins with */
    int32_t n_rows, n_units;
    int64_t scratch, bytes;
} czr_cuda_batch;

/* The batches of a kernel table. */
typedef struct czr_cuda_batches {
    const czr_cuda_batch *list; /* NULL: none */
    const int32_t *of_row;      /* of each entry: its batch, from 1; 0: none */
} czr_cuda_batches;

/* ---- the program -------------------------------------------------------- */

/* NAME_cuda.  The slots and scalars of a call are in the order of
 * program->stages. */
typedef struct czr_cuda_program {
    const czr_program *program;
    const char *const *text;      /* of NAME.cu, in pieces; NULL ends */
    const czr_cuda_stage *stages; /* [n_stages] */
    /* [n_stages][n_phases], NULL of a stage that all phases share.  NULL: they
     * share all. */
    const czr_cuda_stage *const *variants;
    int n_kernels, n_loops;
    const czr_cuda_kernel *kernels;
    const czr_cuda_loop_kernels *loops; /* by number */
    int tiled_sms; /* multiprocessors of the GPU that tilings are for */
    int n_tilings;
    const czr_cuda_tiling *tilings;  /* the runtime chooses all others */
    const czr_cuda_batches *batches; /* [n_tables]; NULL: there are none */
} czr_cuda_program;

#endif
