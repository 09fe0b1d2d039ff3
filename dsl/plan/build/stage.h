/* Between the files that build stages of a plan view, and dsl/plan/within.c. */
#ifndef CZ_DSL_PLAN_BUILD_STAGE_H
#define CZ_DSL_PLAN_BUILD_STAGE_H

#include "dsl/plan/build/internal.h"

/* The steps of a stage whose slots and scalars are known. */
bool cz_view_read_steps(cz_view_builder *builder, cz_view_stage *stage,
                        cz_ir_op function);

/* The bytes of slots that results may lie in. */
void cz_view_read_rooms(cz_view_builder *builder, cz_view_stage *stage,
                        cz_ir_op function);
/* Where a step's results and accumulator, or workspace, lie: `within`, and that
 * `offsets` are inside.  NULL, or what is wrong. */
const char *cz_view_read_places(cz_view_builder *builder,
                                const cz_view_stage *stage, cz_ir_op op,
                                cz_view_step *step);

/* The attribute `generated` of a map or product whose space is known. */
bool cz_view_read_generated(cz_view_builder *builder,
                            const cz_view_stage *stage, cz_ir_op op,
                            cz_view_step *step);
/* One of them that calls a factorisation, all but the numbers of its operands.
 * NULL, or what is wrong. */
const char *cz_view_read_call(cz_view_builder *builder,
                              const cz_view_stage *stage, cz_ir_op op,
                              cz_view_step *step);

/* Outputs that take the place of an input do so where nothing reads it any
 * more. */
bool cz_view_check_renewed(cz_view_builder *builder,
                           const cz_view_stage *stage);
/* The function behind a stage whose slots and scalars are known. */
bool cz_view_read_body_of_stage(cz_view_builder *builder, cz_view_stage *stage);
/* Who shares the shared ones, and in which segments. */
bool cz_view_read_shared(cz_view_builder *builder, cz_view_stage *stages,
                         int n);
/* The variants of all stages. */
bool cz_view_read_variants(cz_view_builder *builder, cz_view_stage *stages,
                           int n);

#endif
