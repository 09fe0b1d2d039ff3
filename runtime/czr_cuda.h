/* The part of the runtime that generated NAME_cuda.c is made of: stages that
 * put their work on a stream of a GPU.  Pointers are the device's, and the host
 * never follows them.  Trainers include NAME.h. */
#ifndef CZR_CUDA_H
#define CZR_CUDA_H

#include "czr.h"

/* What is loaded on a device for one program; runtime/cuda/exec/stage.h. */
typedef struct czr_cuda_stages czr_cuda_stages;
/* What calls of several matrices ask for; runtime/cuda/exec/notes.h. */
typedef struct czr_cuda_notes czr_cuda_notes;

/* One call of a stage, as czr_call; it is gone when the call returns, but the
 * memory that it names stays until the stream has done the work. */
typedef struct czr_cuda_call {
    const void *const *in;
    void *const *out;
    const float *const *scalars; /* [n_scalars] of the stage: where each lies
                                  * when the stream gets there */
    size_t count, part;
    unsigned char *work;
    unsigned char *room; /* what czr_cuda_stages_room says, aligned to 256, and
                          * of no other stage until the stream has done this
                          * one */
    unsigned char *scratch; /* the rank's, [scratch_bytes]: nobody asks what a
                             * skipped step leaves there; NULL: none */
    size_t scratch_bytes;
    int32_t *status;     /* the first failure stays; 0 is CZR_OK */
    const int32_t *skip; /* not 0: kernels write nothing; NULL: they do */
    void *stream;
    czr_cuda_stages *stages;
    czr_cuda_notes *notes; /* work is noted there, to be put later; NULL: it is
                            * put at once */
} czr_cuda_call;

/* Puts all work of a stage on call->stream.  What fails at that is said by the
 * context, and ends the call.  What fails on the device goes to call->status,
 * and what is behind it runs nevertheless: outputs mean nothing then. */
typedef czr_status (*czr_cuda_stage)(const czr_cuda_call *call);

/* ---- loops as kernels --------------------------------------------------- */

/* Which threads have what; as in codegen/cuda/internal.h. */
typedef enum czr_cuda_form {
    CZR_CUDA_RUN,     /* neighbours, reached by one index */
    CZR_CUDA_ROWS,    /* a warp or a block for each row */
    CZR_CUDA_SQUARES, /* a block for each square */
    CZR_CUDA_COLUMNS  /* a thread for each column of a strip of rows */
} czr_cuda_form;

/* What a parameter of a kernel is: a number below these, which is one of the
 * loop's pointers, or partial sums of the result that CZR_CUDA_SUM or
 * CZR_CUDA_LARGEST is added to, or two parameters that say what is not finite.
 */
enum {
    CZR_CUDA_SUM = 0x4000,
    CZR_CUDA_LARGEST = 0x8000,
    CZR_CUDA_STATUS = 0xffff
};

/* A kernel of NAME.cu.  Its parameters are the extents (n, or rows and
 * columns), `arguments`, and the skip pointer. */
typedef struct czr_cuda_kernel {
    const char *name;
    const uint16_t *arguments; /* [n_arguments] */
    uint8_t n_arguments, form, is_flat;
    uint8_t width;        /* neighbours of a thread */
    uint8_t row_parts;    /* equal parts of rows that sums are made in, */
    uint8_t column_parts; /* or of columns; 1: none */
} czr_cuda_kernel;

/* The kernels of a loop of NAME.c, in order: [first, first + n). */
typedef struct czr_cuda_loop_kernels {
    uint16_t first, n;
} czr_cuda_loop_kernels;

/* Loop `number` of NAME.c over [rows, columns]; where the loop is flat, over
 * all elements.  `pointers` are those of its parameters in C, in order; to
 * scalars, too.  Nothing is launched for no elements, but sums are 0. */
czr_status czr_cuda_loop(const czr_cuda_call *call, int number, size_t rows,
                         size_t columns, const void *const *pointers);
/* `bytes` from one memory to another that does not overlap it. */
czr_status czr_cuda_copy(const czr_cuda_call *call, void *to, const void *from,
                         size_t bytes);
/* As czr_multiply and czr_factorise, pointers of the device. */
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

/* In which tiles so many products of bf16 at once are computed on sm_90a: out
 * [m, n], k long; half of it where it is symmetric; N-major: of the second
 * operand's rows.  parts: of k, for tiles that fill no wave of the GPU; 1: they
 * are whole. */
typedef struct czr_cuda_tiling {
    int64_t m, n, k, batch;
    uint8_t is_symmetric, is_n_major, has_addend;
    int16_t rows, cols; /* of a tile */
    uint8_t stages, cluster, parts;
    uint8_t is_library; /* measured to be faster by cuBLASLt, which computes
                         * it where there is one and it is not symmetric */
} czr_cuda_tiling;

/* ---- batches ------------------------------------------------------------ */

/* Equal matrices that are computed as one.  A unit is n_rows neighbours of a
 * kernel table that are of one parameter; the units have the same stages, and
 * may run in any order.  Scratch bytes [scratch, scratch + bytes), which all of
 * them use in turn, each has for itself, behind the plan's scratch. */
typedef struct czr_cuda_batch {
    int64_t first; /* row that the first unit begins with */
    int32_t n_rows, n_units;
    int64_t scratch, bytes;
} czr_cuda_batch;

/* Of a kernel table: rows of batch b have b + 1 in of_row, others 0; list NULL:
 * there is none. */
typedef struct czr_cuda_batches {
    const czr_cuda_batch *list;
    const int32_t *of_row; /* as many as the table has rows */
} czr_cuda_batches;

/* ---- the program -------------------------------------------------------- */

/* NAME_cuda.  A stage finds pointers of a call by the tables of
 * program->stages. */
typedef struct czr_cuda_program {
    const czr_program *program;
    const char *const *text;      /* of NAME.cu, in pieces; NULL ends */
    const czr_cuda_stage *stages; /* [n_stages] */
    /* [n_stages][n_phases], NULL of a stage that is the same in all; NULL: all
     * are */
    const czr_cuda_stage *const *variants;
    int n_kernels, n_loops;
    const czr_cuda_kernel *kernels;
    const czr_cuda_loop_kernels *loops; /* by number */
    int tiled_sms; /* processors of the GPU that tilings are for */
    int n_tilings;
    const czr_cuda_tiling *tilings;  /* others are chosen by the runtime */
    const czr_cuda_batches *batches; /* [n_tables]; NULL: rows run one by one */
} czr_cuda_program;

#endif
