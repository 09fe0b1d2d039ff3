/* The element-wise operations, one table row each. */
#ifndef CZ_DSL_VOCAB_OPCODE_H
#define CZ_DSL_VOCAB_OPCODE_H

typedef enum cz_opcode {
#define CZ_OPCODE(tag, mlir_name, arity) CZ_OP_##tag,
#include "dsl/vocab/opcode.def"
#undef CZ_OPCODE
    CZ_N_OPCODES
} cz_opcode;

#endif
