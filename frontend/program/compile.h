/* The front end: source text to IR.  The one function that the driver and
 * the tests call. */
#ifndef CZ_FRONTEND_PROGRAM_COMPILE_H
#define CZ_FRONTEND_PROGRAM_COMPILE_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/ir/ir.h"
#include "frontend/model/model.h"
#include "frontend/names/below.h"
#include "frontend/program/machine.h"
#include "frontend/rule/rule.h"

typedef struct cz_compile_options {
    const char *path;           /* of the main file; "-": standard input */
    const cz_text *text;        /* what it holds; NULL: read it */
    const char *const *defines; /* of -D, in order */
    int n_defines;
    cz_allowed allowed;   /* files that it may name besides its folder's */
    bool one_rank;        /* every axis of the mesh is 1 */
    bool strict;          /* as the clause `strict` */
    int64_t microbatches; /* of a step, over all ranks; 0: one per rank */
    const char *compiler; /* version for the program fact */
    /* NULL: every file must be a program.  Else one that has nothing but
     * optimizers, defs, tables and lets is checked by itself, what was looked
     * at is left here, and there is no IR. */
    cz_rules_checked *alone;
} cz_compile_options;

/* Compile: the facts program, mesh, policy, use, rule and pattern, and the
 * rules' functions, verified.  NULL after reporting errors, or when rules were
 * checked alone; warnings may be reported either way.  `arena` and `diags` must
 * outlive the IR, which the caller closes. */
cz_ir *cz_compile(cz_arena *arena, const cz_compile_options *options,
                  cz_diags *diags);

/* What a program says before any rule is lowered. */
typedef struct cz_compiled_model {
    cz_mesh mesh;
    cz_model model;
    cz_machine_given machine;
    int64_t grad_bytes;    /* of an element, as the first clause has it */
    bool sums_dp, sums_cp; /* gradients over dp, and over cp */
    int64_t memory_bytes;  /* of the clause; 0: none */
    int64_t tokens;        /* of an iteration */
    int64_t active;        /* millionths of experts that work on a token */
} cz_compiled_model;

/* False after reporting. */
bool cz_compile_model(cz_arena *arena, const cz_compile_options *options,
                      cz_diags *diags, cz_compiled_model *out);

#endif
