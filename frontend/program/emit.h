/* What the front end found out about a program, and its way into the IR. */
#ifndef CZ_FRONTEND_PROGRAM_EMIT_H
#define CZ_FRONTEND_PROGRAM_EMIT_H

#include "dsl/ir/ir.h"
#include "frontend/program/choose.h"
#include "frontend/program/compile.h"
#include "frontend/program/machine.h"
#include "frontend/program/policy.h"

typedef struct cz_unit {
    const cz_compile_options *options;
    cz_scope *scope;
    const cz_source *config; /* the model's, or NULL */
    cz_mesh mesh;
    cz_policy policy;
    cz_uses uses;
    cz_machine_said machine;
    cz_model model;
    cz_choices choices;
} cz_unit;

/* Add program, mesh, policy, uses, rules (each shape once) and families, in
 * the order of dsl/IR.md.  False after reporting. */
bool cz_emit(cz_ir *ir, const cz_unit *unit, cz_arena *arena, cz_diags *diags);

#endif
