/* A stage while it is printed, as a function in C or as a table of steps for a
 * GPU.  Private to the printers of stages. */
#ifndef CZ_CODEGEN_COMMON_STAGE_H
#define CZ_CODEGEN_COMMON_STAGE_H

#include "codegen/common/internal.h"

/* What a value lies in, as `within` says, and from which byte on; -1: it is a
 * scalar. */
typedef struct cz_place {
    int64_t within, offset;
} cz_place;

typedef struct cz_stage_printer {
    cz_emitter *emitter;
    const cz_view_stage *stage;
    int n_values;
    const char **names; /* [n_values]: what every value is in C */
    cz_dtype *dtypes;
    cz_place *places;
    int *loops; /* [n_steps]: number of the step's loop; -1: it has none */
} cz_stage_printer;

/* The printer of a stage in one phase, whose loops stand in emitter->out. */
cz_stage_printer cz_stage_begin(cz_emitter *emitter, int number, int variant);
const char *cz_stage_slot(cz_arena *arena, const cz_view_slot *slot);
/* The number of its first result: scalars are behind what comes in. */
int cz_stage_first_result(const cz_view_stage *stage);
/* Of a shared stage, the steps of its own segment; of others, all. */
bool cz_stage_is_own(const cz_view_stage *stage, int s);
/* Whether a result takes an operand's place: a slot that has both, or the same
 * bytes. */
bool cz_stage_is_replaced(const cz_stage_printer *p, int in, int result);
/* Operands of step `s` and which of them its outputs overwrite. */
cz_loop cz_stage_loop(const cz_stage_printer *p, int s, int first_result);
/* Whether a product ends in alpha * c + beta * s, which it does itself. */
bool cz_stage_is_affine(const cz_view_step *step);
/* Whether the results of a product go to a buffer of f32, on its way. */
bool cz_stage_has_accumulator(const cz_view_step *step);
/* How many elements of an operand, or of a result, are the rank's part, where
 * ranks divide the rows of a step; 0: it belongs to all rows. */
int64_t cz_stage_rank_offset(const cz_view_step *step, cz_access access);

/* What a comment says of it: the optimizer, the shape, the first tensor and
 * what of the update, as "muon" of 512 x 128, as "h.0.up": on the whole matrix.
 */
const char *cz_stage_title(const cz_emitter *emitter,
                           const cz_view_stage *stage);

#endif
