/* A whole stage as the program of one of the ranks that share its matrix:
 * every length that is cut is divided by their number, products that all would
 * compute alike are dealt out by rows, and so is what becomes of sums; where a
 * sum is left partial, or rows are with others, the program is interrupted,
 * until the ranks have added them up, or gathered them.  Plain C on the plan
 * view. */
#ifndef CZ_PASSES_KERNEL_OUTLINE_H
#define CZ_PASSES_KERNEL_OUTLINE_H

#include "passes/cost/step_cut.h"
#include "passes/kernel/kernel.h"

/* Why a stage cannot be shared by so many ranks. */
typedef enum cz_outline_status {
    CZ_OUTLINE_OK,
    CZ_OUTLINE_NO_CUT, /* some step needs elements of other ranks */
    CZ_OUTLINE_PHASES, /* its updates are not all alike */
    CZ_OUTLINE_STATES, /* it has states that are whole */
    CZ_OUTLINE_LENGTH, /* the dimension has no such equal parts */
    CZ_OUTLINE_BLOCKS, /* strict: parts would cut the blocks of its sums */
} cz_outline_status;

typedef struct cz_outline {
    cz_cut_of cut;     /* of the inputs and outputs; NONE: there is no way */
    int64_t length;    /* of the dimension that it cuts */
    int64_t blocks;    /* of the sums along it; 1: they have none */
    cz_kernel *kernel; /* steps with segments and partial sums */
} cz_outline;

/* Whether the stage of a matrix that is stored in that shape, in shards cut
 * along `sharded`, can be shared; all of *out but the kernel. */
cz_outline_status cz_outline_check(cz_arena *scratch, const cz_plan_view *view,
                                   const cz_view_stage *stage,
                                   const int64_t shape[2], cz_cut_of sharded,
                                   int64_t subgroup_size, cz_outline *out);

/* `stage` is in kernel form, types[] those of its values.  A product whose
 * sums are partial gives them as they are, in f32 or, where it is narrow, in
 * bf16, and a map behind it makes of them what the product did, on its rank's
 * rows where there are such parts.  Sums that were made in blocks keep those
 * blocks: then a tree of sums over the ranks adds the same numbers in the same
 * order as one rank, and rounds the same.  On any status but
 * OK there is no kernel. */
cz_outline_status cz_outline_build(cz_arena *arena, const cz_plan_view *view,
                                   const cz_view_stage *stage,
                                   const cz_ir_type *types, cz_cut_of sharded,
                                   int64_t subgroup_size, cz_outline *out);

#endif
