/* Shared by the two halves of the schema check alone. */
#ifndef CZ_DSL_IR_SCHEMA_H
#define CZ_DSL_IR_SCHEMA_H

#include "dsl/ir/internal.h"

typedef struct cz_ir_check {
    cz_diags *diags;
    bool ok;
    MlirSymbolTable symbols;
} cz_ir_check;

/* Report one E0601 that starts with the operation's name. */
void cz_ir_complain(cz_ir_check *check, MlirOperation op, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* Whether a reference is "" or names an operation called `op_name`. */
bool cz_ir_resolves(const cz_ir_check *check, MlirAttribute reference,
                    const char *op_name);
/* A function and what it holds (schema_function.c). */
void cz_ir_check_function(cz_ir_check *check, MlirOperation function);

#endif
