/* Pass: nothing is computed twice, or for nobody.
 *
 * requires: functions in math form
 * provides: the same, simplified by MLIR's canonicalisation and CSE, which
 *           know arith, math, tensor and linalg, and by ours for the pure
 *           operations of our own, which MLIR takes to have side effects
 * breaks:   nothing; every identity that is used is exact, so no bit of any
 *           result depends on this pass */
#include "dsl/ir/mlir.h"
#include "passes/passes.h"

#include <mlir-c/Pass.h>
#include <mlir-c/Transforms.h>
#include <string.h>

static bool simplify_upstream(cz_ir *ir)
{
    MlirPassManager manager = mlirPassManagerCreate(cz_ir_context(ir));
    MlirLogicalResult result;

    mlirPassManagerAddOwnedPass(manager, mlirCreateTransformsCanonicalizer());
    mlirPassManagerAddOwnedPass(manager, mlirCreateTransformsCSE());
    result = mlirPassManagerRunOnOp(manager,
                                    mlirModuleGetOperation(cz_ir_module(ir)));
    mlirPassManagerDestroy(manager);
    return mlirLogicalResultIsSuccess(result);
}

/* ---- our operations ---- */

static bool is_ours(cz_ir_op op)
{
    cz_ir_kind kind = cz_ir_op_kind(op);

    if (kind == CZ_IR_ELEMENT)
        return cz_ir_op_opcode(op) == CZ_OP_HASH;
    return kind == CZ_IR_TRANSPOSE || kind == CZ_IR_INDEX ||
           kind == CZ_IR_REDUCE || kind == CZ_IR_BROADCAST ||
           kind == CZ_IR_FACTOR;
}

static bool same_dims(cz_ir_op a, cz_ir_op b, cz_arena *arena)
{
    cz_ints left, right;

    if (!cz_ir_op_has(a, "dims"))
        return true;
    left = cz_ir_op_ints(a, "dims", arena);
    right = cz_ir_op_ints(b, "dims", arena);
    for (int i = 0; i < left.n && i < right.n; i++)
        if (left.v[i] != right.v[i])
            return false;
    return left.n == right.n;
}

static bool same_factor(cz_ir_op a, cz_ir_op b, cz_arena *arena)
{
    const cz_reals left = cz_ir_op_reals(a, "parameters", arena);
    const cz_reals right = cz_ir_op_reals(b, "parameters", arena);

    for (int i = 0; i < left.n && i < right.n; i++)
        if (left.v[i] != right.v[i])
            return false;
    return left.n == right.n &&
           strcmp(cz_ir_op_string(a, "factor"), cz_ir_op_string(b, "factor")) ==
               0 &&
           cz_ir_op_int(a, "result") == cz_ir_op_int(b, "result");
}

static bool same_operands(cz_ir_op a, cz_ir_op b)
{
    const int n = cz_ir_op_n_operands(a);

    for (int i = 0; i < n && n == cz_ir_op_n_operands(b); i++)
        if (cz_ir_op_operand(a, i).p != cz_ir_op_operand(b, i).p)
            return false;
    return n == cz_ir_op_n_operands(b);
}

static bool are_equal(cz_ir_op a, cz_ir_op b, cz_arena *arena)
{
    /* Of a reduction. */
    if (cz_ir_op_kind(a) != cz_ir_op_kind(b) || !same_operands(a, b) ||
        !cz_ir_type_equal(cz_ir_value_type(cz_ir_op_result(a, 0)),
                          cz_ir_value_type(cz_ir_op_result(b, 0))))
        return false;
    if (cz_ir_op_has(a, "kind") &&
        strcmp(cz_ir_op_string(a, "kind"), cz_ir_op_string(b, "kind")) != 0)
        return false;
    return (cz_ir_op_kind(a) == CZ_IR_FACTOR ? same_factor(a, b, arena)
                                             : same_dims(a, b, arena));
}

/* The operations of ours in a function, in order. */
static int collect(cz_ir_op function, cz_arena *arena, cz_ir_op **ops)
{
    int n = 0;

    *ops = NULL;
    for (cz_ir_op op = cz_ir_first_op(function); op.p; op = cz_ir_next_op(op))
        if (is_ours(op))
            *CZ_PUSH(arena, *ops, n) = op;
    return n;
}

/* True when anything changed. */
static bool simplify_ours(cz_ir_op function, cz_arena *arena)
{
    cz_ir_op *ops;
    int n = collect(function, arena, &ops);
    bool changed = false;

    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (are_equal(ops[k], ops[i], arena)) {
                cz_ir_value_replace(cz_ir_op_result(ops[i], 0),
                                    cz_ir_op_result(ops[k], 0));
                break;
            }
    for (int i = n - 1; i >= 0; i--)
        if (cz_ir_value_n_uses(cz_ir_op_result(ops[i], 0)) == 0) {
            cz_ir_op_erase(ops[i]);
            changed = true;
        }
    return changed;
}

static bool simplify_functions(cz_ir *ir)
{
    cz_arena arena;
    bool changed = false;

    cz_arena_init(&arena);
    for (cz_ir_op f = cz_ir_first_function(ir); f.p; f = cz_ir_next_function(f))
        changed = simplify_ours(f, &arena) || changed;
    cz_arena_fini(&arena);
    return changed;
}

/* MLIR's passes and ours open ways for each other; each round that changes
 * anything erases an operation, so this ends. */
bool cz_simplify_pass(cz_ir *ir, cz_diags *diags)
{
    do
        if (!simplify_upstream(ir)) {
            cz_diag_error(diags, CZ_BAD_IR, (cz_span){0},
                          "MLIR could not simplify the module");
            return false;
        }
    while (simplify_functions(ir));
    return true;
}
