/* A stage while it is printed, in C or as what launches kernels.  Private to
 * the printers of stages. */
#ifndef CZ_CODEGEN_COMMON_STAGE_H
#define CZ_CODEGEN_COMMON_STAGE_H

#include "codegen/common/internal.h"

struct cz_stage_printer;

/* What a stage is written as: functions of the host, or such that put work on a
 * GPU.  Texts stand where the two differ. */
typedef struct cz_dialect {
    const char *call;     /* type of a call */
    const char *function; /* "static void " and the like */
    const char *begin;    /* behind the declarations */
    const char *address; /* of bytes of a slot: what its function begins with */
    const char *product; /* the call, up to its first brace */
    const char *factor, *factor_end;
    const char *copy, *end;
    /* The call of loop `number`; of an epilogue `acc` is its accumulator. */
    void (*put_loop)(struct cz_stage_printer *p, const cz_loop *loop,
                     int number, const char *acc, int first_result);
} cz_dialect;

extern const cz_dialect cz_dialect_c, cz_dialect_cuda;

/* What a value lies in, as `within` says, and from which byte on; -1: it is a
 * scalar. */
typedef struct cz_place {
    int64_t within, offset;
} cz_place;

typedef struct cz_stage_printer {
    cz_emitter *emitter;
    const cz_dialect *dialect;
    cz_text *out;
    const cz_view_stage *stage;
    int n_values;
    const char **names; /* [n_values]: what every value is in C */
    cz_dtype *dtypes;
    cz_place *places;
} cz_stage_printer;

/* Names of all values of p->stage. */
void cz_stage_name_values(cz_stage_printer *p);
const char *cz_stage_slot(cz_arena *arena, const cz_view_slot *slot);
/* Of a shared stage, the steps of its own segment; of others, all. */
bool cz_stage_is_own(const cz_view_stage *stage, int s);
/* Pointers to slots, and to what lies in the workspace. */
void cz_stage_declare(cz_stage_printer *p);
/* Where entry `entry` of a step lies, in C. */
const char *cz_stage_address(const cz_stage_printer *p,
                             const cz_view_step *step, int entry);
/* Operands of step `s` and which of them its outputs overwrite. */
cz_loop cz_stage_loop(cz_stage_printer *p, int s, int first_result);
/* How far from its start the rank's part of an operand, or of a result, lies
 * that belongs to all rows of a step which deals them out. */
int64_t cz_stage_rank_offset(const cz_view_step *step, cz_access access);
/* `name` so many elements on for each part. */
const char *cz_stage_at_rank(const cz_stage_printer *p, const char *name,
                             int64_t elements);
/* Pointers and scalars of a loop's parameters in order, each between the two
 * texts; the accumulator is not among them. */
void cz_stage_arguments(cz_stage_printer *p, const cz_loop *loop,
                        int first_result, const char *before,
                        const char *after);

#endif
