/* What generated NAME_cuda.c is made of: the stages of a program as tables of
 * steps, the kernels that these launch, and the text of NAME.cu.  Trainers
 * include NAME.h, which declares NAME_cuda, and give it to
 * runtime/cuda/world/loopback.h or runtime/cuda/world/process.h.
 *
 * No table has an address.  runtime/cuda/products reads the tables when a
 * program is opened, to prepare what they need, and puts them on a stream in
 * each step of the engine, with what the call has where they say. */
#ifndef CZR_CUDA_H
#define CZR_CUDA_H

#include "czr.h"

/* ---- stages ------------------------------------------------------------- */

/* What an operand lies in. */
typedef enum czr_cuda_place {
    CZR_CUDA_ABSENT, /* the step has no such operand */
    CZR_CUDA_IN,     /* slot `number` of those that the stage reads */
    CZR_CUDA_OUT,    /* the same of those that it writes */
    CZR_CUDA_WORK,   /* the workspace */
    CZR_CUDA_SCALAR  /* scalar `number` of the stage */
} czr_cuda_place;

typedef struct czr_cuda_operand {
    czr_cuda_place place;
    int number;     /* of the slot or scalar, else 0 */
    int64_t offset; /* bytes from where the slot or the workspace begins */
    /* Bytes of one rank's part, of which those of the ranks before lie in
     * front.  0: the ranks of a subgroup do not divide it. */
    int64_t equal_part_bytes;
} czr_cuda_operand;

/* A loop of NAME.c, by kernels of NAME.cu. */
typedef struct czr_cuda_loop_step {
    int loop; /* its number */
    /* Of its space; a flat loop takes all elements.  0 rows: one row, of as
     * many elements as the call has. */
    size_t rows, columns;
    const czr_cuda_operand *operands; /* its parameters in C, in order */
} czr_cuda_loop_step;

/* As many elements as the call has, to where they do not lie already. */
typedef struct czr_cuda_copy_step {
    czr_cuda_operand to, from;
    size_t element_bytes;
} czr_cuda_copy_step;

/* out = alpha * op(a) @ op(b) + beta * addend. */
typedef struct czr_cuda_product_step {
    /* As czr_product says, without pointers.  The result always goes to `out`:
     * `c` and held_rows are not used. */
    czr_product shape;
    czr_cuda_operand a, b, out;
    czr_cuda_operand addend; /* absent where beta is 0 */
} czr_cuda_product_step;

typedef struct czr_cuda_factor_step {
    czr_factor shape; /* as czr_factor says, without pointers */
    czr_cuda_operand a, b, out[2];
} czr_cuda_factor_step;

typedef enum czr_cuda_stage_step_kind {
    CZR_CUDA_END, /* behind the last step of a stage */
    CZR_CUDA_LOOP_STEP,
    CZR_CUDA_COPY_STEP,
    CZR_CUDA_PRODUCT_STEP,
    CZR_CUDA_FACTOR_STEP
} czr_cuda_stage_step_kind;

/* What a stage does next. */
typedef struct czr_cuda_stage_step {
    czr_cuda_stage_step_kind kind;
    union {
        czr_cuda_loop_step loop;
        czr_cuda_copy_step copy;
        czr_cuda_product_step product;
        czr_cuda_factor_step factor;
    } of;
} czr_cuda_stage_step;

/* The steps of a stage in one phase, in order, and CZR_CUDA_END. */
typedef const czr_cuda_stage_step *czr_cuda_stage;

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
 * - i below these numbers: operand i of the loop;
 * - CZR_CUDA_ENTRY + i: the same, of a kernel whose launch has several entries;
 * - CZR_CUDA_SUM + i: partial sums of result i;
 * - CZR_CUDA_LARGEST + i: partial largest values of result i;
 * - CZR_CUDA_STATUS: two parameters, by which it reports what is not finite. */
enum {
    CZR_CUDA_ENTRY = 0x2000,
    CZR_CUDA_SUM = 0x4000,
    CZR_CUDA_LARGEST = 0x8000,
    CZR_CUDA_STATUS = 0xffff
};

/* A kernel of NAME.cu.  Its parameters are the extents, then `arguments`, then
 * the skip pointer.  Extents: n of a flat loop, else rows and columns.
 *
 * With `entries`, calls of the same loop share a launch, so many at most.  In
 * the place of extents there is one parameter, of multiples of 8 bytes but for
 * u32:
 *
 *     u64 n[entries]            elements of each
 *     u64 of[entries][]         its ENTRY arguments, then its status
 *     u32 ends[entries]         blocks of it and of those before
 *     u32 n_entries
 *
 * The other arguments, which all share, are parameters behind it. */
typedef struct czr_cuda_kernel {
    const char *name;
    const uint16_t *arguments; /* [n_arguments] */
    uint8_t n_arguments;
    czr_cuda_form form;
    uint8_t is_flat;
    uint8_t width;         /* neighbours that a thread takes at once */
    uint8_t row_blocks;    /* equal parts of the rows, each with its own sums */
    uint8_t column_blocks; /* the same of columns; 1: all are one part */
    uint8_t entries;       /* calls that a launch has at most; 0: one */
} czr_cuda_kernel;

/* The kernels of a loop of NAME.c, in order of launch: [first, first + n). */
typedef struct czr_cuda_loop_kernels {
    uint16_t first, n;
} czr_cuda_loop_kernels;

/* ---- products ----------------------------------------------------------- */

/* The tiles of one product of bf16 on sm_90a: out [m, n], k long, `batch` of
 * them at once. */
typedef struct czr_cuda_tiling {
    int64_t m, n, k, batch;
    /* symmetric: one triangle of tiles is computed. */
    uint8_t is_symmetric, has_addend;
    int16_t rows, cols; /* of a tile */
    /* stages: of the pipeline that loads operands.  splits: of k, for tiles
     * that fill no wave of the GPU; 1: these are whole, too. */
    uint8_t stages, splits;
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
    int32_t n_rows, n_calls;
    int64_t scratch, bytes;
} czr_cuda_batch;

/* The batches of a kernel table. */
typedef struct czr_cuda_batches {
    const czr_cuda_batch *list; /* NULL: none */
    const int32_t *of_row;      /* of each entry: its batch, from 1; 0: none */
} czr_cuda_batches;

/* ---- the program -------------------------------------------------------- */

/* NAME_cuda.  Slots and scalars have their numbers in program->stages. */
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
