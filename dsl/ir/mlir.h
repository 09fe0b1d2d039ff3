/* MLIR's handles behind those of dsl/ir/ir.h, for passes (*_pass.c) and
 * for this folder.  Nobody else includes it. */
#ifndef CZ_DSL_IR_MLIR_H
#define CZ_DSL_IR_MLIR_H

#include "dsl/ir/ir.h"

#include <mlir-c/IR.h>

MlirContext cz_ir_context(const cz_ir *ir);
/* Owned by the IR. */
MlirModule cz_ir_module(const cz_ir *ir);

static inline MlirOperation cz_ir_op_mlir(cz_ir_op op)
{
    return (MlirOperation){op.p};
}

static inline MlirValue cz_ir_value_mlir(cz_ir_value value)
{
    return (MlirValue){value.p};
}

static inline cz_ir_op cz_ir_op_of(MlirOperation op)
{
    return (cz_ir_op){op.ptr};
}

static inline cz_ir_value cz_ir_value_of(MlirValue value)
{
    return (cz_ir_value){value.ptr};
}

#endif
