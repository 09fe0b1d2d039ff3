/* Our dialect `canzona`, as IRDL text made from facts.def and the few tensor
 * operations below.  IRDL states names and kinds; what it cannot say is in
 * schema.c.
 *
 * The operations of kernel form take operands of unequal types, and in
 * IRDL all operands of a variadic group are alike.  So they are of a dialect
 * `kernel` that MLIR does not know: the schema alone checks them, as it alone
 * rejects every other unknown operation. */
#include "dsl/vocab/schema.h"
#include "dsl/ir/internal.h"

#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/IRDL.h>
#include <mlir-c/Dialect/Linalg.h>
#include <mlir-c/Dialect/Math.h>
#include <mlir-c/Dialect/Tensor.h>

/* The comment in front of each is its row of dsl/IR.md
 * (tests/golden/ir_page.py). */
static const char tensor_ops[] =
    /* of a matrix */
    "irdl.operation @transpose {\n"
    "  %in = irdl.base \"!builtin.tensor\"\n"
    "  %out = irdl.base \"!builtin.tensor\"\n"
    "  irdl.operands(in: %in)\n"
    "  irdl.results(out: %out)\n"
    "}\n"
    /* element by element, of f64: mixes the bits of both */
    "irdl.operation @hash {\n"
    "  %type = irdl.any\n"
    "  irdl.operands(a: %type, b: %type)\n"
    "  irdl.results(out: %type)\n"
    "}\n"
    /* the vector 0, 1, 2, ... in f32, of at most 2^24 elements, so that all
     * are exact */
    "irdl.operation @index {\n"
    "  %out = irdl.base \"!builtin.tensor\"\n"
    "  irdl.results(out: %out)\n"
    "}\n"
    /* an f64 tensor without the dimensions dims, which ascend: the sum over
     * them (kind "sum") or the largest ("max") */
    "irdl.operation @reduce {\n"
    "  %in = irdl.base \"!builtin.tensor\"\n"
    "  %out = irdl.base \"!builtin.tensor\"\n"
    "  %sum = irdl.is \"sum\"\n"
    "  %max = irdl.is \"max\"\n"
    "  %kind = irdl.any_of(%sum, %max)\n"
    "  %dims = irdl.base \"#builtin.dense_array\"\n"
    "  irdl.operands(in: %in)\n"
    "  irdl.results(out: %out)\n"
    "  irdl.attributes {\"kind\" = %kind, \"dims\" = %dims}\n"
    "}\n"
    /* a tensor repeated along dims, which ascend: the dimensions of the result
     * that are new */
    "irdl.operation @broadcast {\n"
    "  %in = irdl.base \"!builtin.tensor\"\n"
    "  %out = irdl.base \"!builtin.tensor\"\n"
    "  %dims = irdl.base \"#builtin.dense_array\"\n"
    "  irdl.operands(in: %in)\n"
    "  irdl.results(out: %out)\n"
    "  irdl.attributes {\"dims\" = %dims}\n"
    "}\n"
    /* result number `result` of a factorisation of f32 matrices; those of one
     * call differ in nothing else */
    "irdl.operation @factor {\n"
    "  %in = irdl.base \"!builtin.tensor\"\n"
    "  %second = irdl.base \"!builtin.tensor\"\n"
    "  %out = irdl.base \"!builtin.tensor\"\n"
    "  %factor = irdl.base \"#builtin.string\"\n"
    "  %parameters = irdl.base \"#builtin.dense_array\"\n"
    "  %result = irdl.base \"#builtin.integer\"\n"
    "  irdl.operands(in: %in, second: optional %second)\n"
    "  irdl.results(out: %out)\n"
    "  irdl.attributes {\"factor\" = %factor, \"parameters\" = %parameters,"
    " \"result\" = %result}\n"
    "}\n";

/* What IRDL can say of a field.  Every field has a constraint of its own: in
 * IRDL, naming one constraint twice demands equal attributes. */
static const char *const constraints[CZ_N_FIELD_TYPES] = {
    [CZ_FIELD_SYM] = "irdl.base \"#builtin.string\"",
    [CZ_FIELD_REF] = "irdl.any",
    [CZ_FIELD_STRING] = "irdl.base \"#builtin.string\"",
    [CZ_FIELD_STRINGS] = "irdl.base \"#builtin.array\"",
    [CZ_FIELD_CHOICE] = "irdl.base \"#builtin.string\"",
    [CZ_FIELD_CHOICES] = "irdl.base \"#builtin.array\"",
    [CZ_FIELD_INT] = "irdl.base \"#builtin.integer\"",
    [CZ_FIELD_INTS] = "irdl.base \"#builtin.dense_array\"",
    [CZ_FIELD_REAL] = "irdl.base \"#builtin.float\"",
    [CZ_FIELD_REALS] = "irdl.base \"#builtin.dense_array\"",
};

static void put_fact(cz_text *out, const cz_fact_schema *fact)
{
    cz_text_printf(out, "irdl.operation @%s {\n", fact->name);
    for (int i = 0; i < fact->n_fields; i++)
        cz_text_printf(out, "  %%%s = %s\n", fact->fields[i].name,
                       constraints[fact->fields[i].type]);
    cz_text_puts(out, "  irdl.attributes {");
    for (int i = 0; i < fact->n_fields; i++)
        cz_text_printf(out, "%s\"%s\" = %%%s", i ? ", " : "",
                       fact->fields[i].name, fact->fields[i].name);
    cz_text_puts(out, "}\n}\n");
}

/* The IRDL text of our own dialect. */
static void dialect_text(cz_text *out)
{
    cz_text_puts(out, "irdl.dialect @canzona {\n");
    for (int i = 0; i < CZ_N_FACTS; i++)
        put_fact(out, &cz_fact_schemas[i]);
    cz_text_puts(out, tensor_ops);
    cz_text_puts(out, "}\n");
}

static bool load_ours(MlirContext context)
{
    cz_text text;
    cz_text_init(&text);
    dialect_text(&text);
    MlirModule irdl =
        mlirModuleCreateParse(context, mlirStringRefCreate(text.bytes, text.n));
    cz_text_fini(&text);
    if (mlirModuleIsNull(irdl))
        return false;
    const bool loaded = mlirLogicalResultIsSuccess(mlirLoadIRDLDialects(irdl));
    mlirModuleDestroy(irdl);
    return loaded;
}

bool cz_ir_load_dialects(MlirContext context)
{
    const MlirDialectHandle upstream[] = {
        mlirGetDialectHandle__func__(),   mlirGetDialectHandle__arith__(),
        mlirGetDialectHandle__math__(),   mlirGetDialectHandle__tensor__(),
        mlirGetDialectHandle__linalg__(), mlirGetDialectHandle__irdl__(),
    };
    for (size_t i = 0; i < sizeof upstream / sizeof *upstream; i++)
        mlirDialectHandleLoadDialect(upstream[i], context);
    mlirContextSetAllowUnregisteredDialects(context, true);
    return load_ours(context);
}
