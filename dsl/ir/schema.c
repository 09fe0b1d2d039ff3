/* The schema of a module: what MLIR's verifier does not know.  Only our
 * operations, with exactly their attributes; references resolve to the kind
 * of operation they are meant for; strings are short.  Functions hold
 * operations of ours alone, of types and shapes that go together. */
#include "dsl/vocab/schema.h"
#include "dsl/ir/internal.h"

#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdarg.h>
#include <string.h>

typedef struct checker {
    cz_diags *diags;
    bool ok;
    MlirSymbolTable symbols;
} checker;

/* Report one E0601 that starts with the operation's name. */
__attribute__((format(printf, 3, 4))) static void
complain(checker *check, MlirOperation op, const char *format, ...)
{
    cz_text text;
    va_list args;

    check->ok = false;
    cz_text_init(&text);
    cz_text_printf(&text, "%s: ", cz_ir_op_name(op));
    va_start(args, format);
    cz_text_vprintf(&text, format, args);
    va_end(args);
    cz_ir_put_place(&text, mlirOperationGetLocation(op));
    cz_diag_error(check->diags, CZ_BAD_IR, (cz_span){0}, "%s",
                  cz_text_string(&text));
    cz_text_fini(&text);
}

/* ---- strings ---- */

static bool is_short(MlirStringRef string)
{
    return string.length <= CZ_IR_MAX_STRING &&
           (string.length == 0 || !memchr(string.data, 0, string.length));
}

static bool is_short_string(MlirAttribute attribute)
{
    return mlirAttributeIsAString(attribute) &&
           is_short(mlirStringAttrGetValue(attribute));
}

static bool is_symbol(MlirAttribute attribute)
{
    return is_short_string(attribute) &&
           mlirStringAttrGetValue(attribute).length > 0;
}

static bool are_short_strings(MlirAttribute attribute)
{
    if (!mlirAttributeIsAArray(attribute))
        return false;
    const intptr_t n = mlirArrayAttrGetNumElements(attribute);
    for (intptr_t i = 0; i < n; i++)
        if (!is_short_string(mlirArrayAttrGetElement(attribute, i)))
            return false;
    return true;
}

static bool is_empty_string(MlirAttribute attribute)
{
    return mlirAttributeIsAString(attribute) &&
           mlirStringAttrGetValue(attribute).length == 0;
}

static bool is_reference(MlirAttribute attribute)
{
    if (mlirAttributeIsAFlatSymbolRef(attribute))
        return is_short(mlirFlatSymbolRefAttrGetValue(attribute));
    return is_empty_string(attribute);
}

static bool resolves(const checker *check, MlirAttribute reference,
                     const char *op_name)
{
    if (is_empty_string(reference))
        return true;
    if (!is_reference(reference))
        return false;
    const MlirOperation target = mlirSymbolTableLookup(
        check->symbols, mlirFlatSymbolRefAttrGetValue(reference));
    return !mlirOperationIsNull(target) && cz_ir_op_is(target, op_name);
}

/* ---- facts ---- */

static const struct {
    bool (*is)(MlirAttribute);
    const char *what;
} field_rules[CZ_N_FIELD_TYPES] = {
    [CZ_FIELD_SYM] = {is_symbol, "a string of 1 to 256 bytes"},
    [CZ_FIELD_REF] = {is_reference, "a symbol reference or \"\""},
    [CZ_FIELD_STRING] = {is_short_string, "a string of at most 256 bytes"},
    [CZ_FIELD_STRINGS] = {are_short_strings,
                          "an array of strings of at most 256 bytes"},
    [CZ_FIELD_CHOICE] = {is_short_string, "a word"},
    [CZ_FIELD_CHOICES] = {are_short_strings, "an array of words"},
    [CZ_FIELD_INT] = {cz_ir_is_int, "an i64"},
    [CZ_FIELD_INTS] = {mlirAttributeIsADenseI64Array, "an array<i64>"},
    [CZ_FIELD_REAL] = {cz_ir_is_real, "an f64"},
    [CZ_FIELD_REALS] = {mlirAttributeIsADenseF64Array, "an array<f64>"},
};

/* A reference is named after the fact it refers to; any other name refers to
 * a function. */
static const char *target_of(const char *field)
{
    for (int i = 0; i < CZ_N_FACTS; i++)
        if (strcmp(cz_fact_schemas[i].name, field) == 0)
            return cz_fact_schemas[i].op;
    return "func.func";
}

static void check_word(checker *check, MlirOperation op, const cz_field *field,
                       MlirAttribute attribute)
{
    int choice;
    if (!cz_word_find(field->vocabulary, cz_ir_attr_string(attribute), &choice))
        complain(check, op, "attribute '%s': '%s' is not a word we know",
                 field->name, cz_ir_attr_string(attribute));
}

static void check_words(checker *check, MlirOperation op, const cz_field *field,
                        MlirAttribute attribute)
{
    const intptr_t n = mlirArrayAttrGetNumElements(attribute);
    int n_words;
    cz_words(field->vocabulary, &n_words);
    if (n > n_words)
        complain(check, op, "attribute '%s' has a word twice", field->name);
    for (intptr_t i = 0; i < n; i++)
        check_word(check, op, field, mlirArrayAttrGetElement(attribute, i));
}

static void check_field(checker *check, MlirOperation op, const cz_field *field)
{
    const MlirAttribute attribute = cz_ir_get_attr(op, field->name);
    if (mlirAttributeIsNull(attribute) ||
        !field_rules[field->type].is(attribute))
        complain(check, op, "attribute '%s' must be %s", field->name,
                 field_rules[field->type].what);
    else if (field->type == CZ_FIELD_CHOICE)
        check_word(check, op, field, attribute);
    else if (field->type == CZ_FIELD_CHOICES)
        check_words(check, op, field, attribute);
    else if (field->type == CZ_FIELD_REF &&
             !resolves(check, attribute, target_of(field->name)))
        complain(check, op, "attribute '%s' names no %s: '%s'", field->name,
                 target_of(field->name), cz_ir_attr_string(attribute));
}

static bool has_field(const cz_fact_schema *schema, const char *name)
{
    for (int i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return true;
    return false;
}

static void check_fact(checker *check, MlirOperation op,
                       const cz_fact_schema *schema)
{
    if (mlirOperationGetNumOperands(op) || mlirOperationGetNumResults(op) ||
        mlirOperationGetNumRegions(op) || mlirOperationGetNumSuccessors(op))
        complain(check, op, "a fact consists of attributes alone");
    for (int i = 0; i < schema->n_fields; i++)
        check_field(check, op, &schema->fields[i]);
    for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
        const char *name = cz_ir_cstr(
            mlirIdentifierStr(mlirOperationGetAttribute(op, i).name));
        if (!has_field(schema, name))
            complain(check, op, "unknown attribute '%s'", name);
    }
}

static const cz_fact_schema *find_schema(MlirOperation op)
{
    for (int i = 0; i < CZ_N_FACTS; i++)
        if (cz_ir_op_is(op, cz_fact_schemas[i].op))
            return &cz_fact_schemas[i];
    return NULL;
}

/* ---- attributes of operations in functions ---- */

static bool equals_text(MlirAttribute attribute, const char *text)
{
    const MlirContext context = mlirAttributeGetContext(attribute);
    return mlirAttributeEqual(attribute,
                              mlirAttributeParseGet(context, cz_ir_str(text)));
}

static bool is_no_fastmath(MlirAttribute attribute)
{
    return equals_text(attribute, "#arith.fastmath<none>");
}

static bool is_plain_matmul(MlirAttribute attribute)
{
    return equals_text(attribute, "[affine_map<(i, j, k) -> (i, k)>,"
                                  " affine_map<(i, j, k) -> (k, j)>,"
                                  " affine_map<(i, j, k) -> (i, j)>]");
}

static bool is_segments(MlirAttribute attribute)
{
    return equals_text(attribute, "array<i32: 2, 1>");
}

/* A finite or infinite number of ours, or a tensor full of one. */
static bool is_constant(MlirAttribute attribute)
{
    if (mlirAttributeIsADenseElements(attribute))
        return mlirDenseElementsAttrIsSplat(attribute) &&
               is_constant(mlirDenseElementsAttrGetSplatValue(attribute));
    return mlirAttributeIsAFloat(attribute);
}

static bool is_private(MlirAttribute attribute)
{
    return equals_text(attribute, "\"private\"");
}

static bool is_name(MlirAttribute attribute)
{
    return mlirAttributeIsAString(attribute) &&
           mlirStringAttrGetValue(attribute).length <= CZ_IR_MAX_STRING;
}

static const struct attribute_rule {
    const char *op; /* NULL: any element-wise one */
    const char *name;
    bool (*is)(MlirAttribute);
} attribute_rules[] = {
    {NULL, "fastmath", is_no_fastmath},
    {"arith.constant", "value", is_constant},
    {"arith.cmpf", "predicate", cz_ir_is_int},
    {"linalg.matmul", "indexing_maps", is_plain_matmul},
    {"linalg.matmul", "operandSegmentSizes", is_segments},
    {"canzona.reduce", "kind", mlirAttributeIsAString},
    {"canzona.reduce", "dims", mlirAttributeIsADenseI64Array},
    {"canzona.broadcast", "dims", mlirAttributeIsADenseI64Array},
    {"kernel.map", "body", mlirAttributeIsAFlatSymbolRef},
    {"kernel.map", "access", mlirAttributeIsADenseI64Array},
    {"kernel.map", "out_access", mlirAttributeIsADenseI64Array},
    {"kernel.map", "space", mlirAttributeIsADenseI64Array},
    {"kernel.map", "offsets", mlirAttributeIsADenseI64Array},
    {"kernel.map", "within", mlirAttributeIsADenseI64Array},
    {"kernel.map", "blocks", mlirAttributeIsADenseI64Array},
    {"kernel.map", "generated", mlirAttributeIsADenseI64Array},
    {"kernel.map", "segment", cz_ir_is_int},
    {"kernel.map", "partial", cz_ir_is_int},
    {"kernel.map", "deal", cz_ir_is_int},
    {"kernel.map", "band", cz_ir_is_int},
    {"kernel.product", "body", NULL},
    {"kernel.product", "access", mlirAttributeIsADenseI64Array},
    {"kernel.product", "transpose_a", cz_ir_is_int},
    {"kernel.product", "transpose_b", cz_ir_is_int},
    {"kernel.product", "symmetric", cz_ir_is_int},
    {"kernel.product", "alpha", cz_ir_is_real},
    {"kernel.product", "beta", cz_ir_is_real},
    {"kernel.product", "offsets", mlirAttributeIsADenseI64Array},
    {"kernel.product", "within", mlirAttributeIsADenseI64Array},
    {"kernel.product", "blocks", mlirAttributeIsADenseI64Array},
    {"kernel.product", "generated", mlirAttributeIsADenseI64Array},
    {"kernel.product", "segment", cz_ir_is_int},
    {"kernel.product", "partial", cz_ir_is_int},
    {"kernel.product", "scatter", cz_ir_is_int},
    {"kernel.product", "deal", cz_ir_is_int},
    {"kernel.product", "narrow", cz_ir_is_int},
    {"kernel.product", "band", cz_ir_is_int},
    {"func.func", "sym_name", is_name},
    {"func.func", "function_type", mlirAttributeIsAType},
    {"canzona.factor", "factor", mlirAttributeIsAString},
    {"canzona.factor", "parameters", mlirAttributeIsADenseF64Array},
    {"canzona.factor", "result", cz_ir_is_int},
    {"kernel.call", "factor", mlirAttributeIsAString},
    {"kernel.call", "parameters", mlirAttributeIsADenseF64Array},
    {"kernel.call", "offsets", mlirAttributeIsADenseI64Array},
    {"kernel.call", "within", mlirAttributeIsADenseI64Array},
    {"func.func", "sym_visibility", is_private},
};

static const struct attribute_rule *find_rule(MlirOperation op,
                                              const char *name)
{
    const bool is_element = cz_ir_op_kind(cz_ir_op_of(op)) == CZ_IR_ELEMENT;
    const size_t n = sizeof attribute_rules / sizeof *attribute_rules;
    for (size_t i = 0; i < n; i++) {
        const struct attribute_rule *rule = &attribute_rules[i];
        const bool fits = rule->op ? cz_ir_op_is(op, rule->op) : is_element;
        if (fits && strcmp(rule->name, name) == 0)
            return rule;
    }
    return NULL;
}

static void check_attributes(checker *check, MlirOperation op)
{
    for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
        const MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
        const char *name = cz_ir_cstr(mlirIdentifierStr(named.name));
        const struct attribute_rule *rule = find_rule(op, name);
        if (!rule)
            complain(check, op, "unknown attribute '%s'", name);
        else if (rule->is && !rule->is(named.attribute))
            complain(check, op,
                     "attribute '%s' has a value that we "
                     "do not use",
                     name);
    }
}

/* What most maps and products do without. */
static bool may_be_absent(const char *name)
{
    static const char *const names[] = {"blocks",  "generated", "segment",
                                        "partial", "scatter",   "deal",
                                        "band",    "narrow",    "within"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* MLIR and IRDL see to the attributes of the operations they know. */
static void check_presence(checker *check, MlirOperation op)
{
    const size_t n = sizeof attribute_rules / sizeof *attribute_rules;
    if (strncmp(cz_ir_op_name(op), "kernel.", 7) != 0)
        return;
    for (size_t i = 0; i < n; i++) {
        const struct attribute_rule *rule = &attribute_rules[i];
        if (rule->op && cz_ir_op_is(op, rule->op) &&
            !may_be_absent(rule->name) &&
            mlirAttributeIsNull(cz_ir_get_attr(op, rule->name)))
            complain(check, op, "attribute '%s' is missing", rule->name);
    }
}

/* ---- types ---- */

static bool is_our_value(MlirValue value)
{
    cz_ir_type type;
    return cz_ir_type_of(mlirValueGetType(value), &type);
}

static bool has_our_types(MlirOperation op)
{
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
        if (!is_our_value(mlirOperationGetOperand(op, i)))
            return false;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
        if (!is_our_value(mlirOperationGetResult(op, i)))
            return false;
    return true;
}

static bool is_dim_in(cz_ints dims, int64_t dim)
{
    for (int i = 0; i < dims.n; i++)
        if (dims.v[i] == dim)
            return true;
    return false;
}

/* Whether `small` is `big` without the dimensions `dims`, which ascend. */
static bool drops(cz_ir_type big, cz_ir_type small, cz_ints dims)
{
    int n = 0;
    for (int i = 0; i < dims.n; i++)
        if (dims.v[i] < 0 || dims.v[i] >= big.rank ||
            (i > 0 && dims.v[i] <= dims.v[i - 1]))
            return false;
    if (small.rank != big.rank - dims.n || small.dtype != big.dtype ||
        small.is_bool || big.is_bool)
        return false;
    for (int i = 0; i < big.rank; i++)
        if (!is_dim_in(dims, i) && big.shape[i] != small.shape[n++])
            return false;
    return true;
}

static bool is_transpose(cz_ir_type in, cz_ir_type out)
{
    return in.rank == 2 && out.rank == 2 && in.dtype == out.dtype &&
           !in.is_bool && !out.is_bool && in.shape[0] == out.shape[1] &&
           in.shape[1] == out.shape[0];
}

static bool is_zero(cz_ir_value value)
{
    const cz_ir_op op = cz_ir_value_op(value);
    double number = 1.0;
    return op.p && cz_ir_op_constant(op, &number) && number == 0.0;
}

static bool is_matmul(cz_ir_op op)
{
    const cz_ir_type a = cz_ir_value_type(cz_ir_op_operand(op, 0));
    const cz_ir_type b = cz_ir_value_type(cz_ir_op_operand(op, 1));
    const cz_ir_type c = cz_ir_value_type(cz_ir_op_result(op, 0));
    return a.dtype != CZ_F64 && b.dtype != CZ_F64 && c.dtype == CZ_F32 &&
           a.rank == 2 && b.rank == 2 && !a.is_bool && !b.is_bool &&
           !c.is_bool && is_zero(cz_ir_op_operand(op, 2));
}

/* Whether operands, parameters and the types of results are those that a
 * factorisation has; in math form it has one of its results. */
static bool is_factor(cz_ir_op op, cz_arena *arena)
{
    const cz_factor factor = cz_factor_find(cz_ir_op_string(op, "factor"));
    const cz_reals given = cz_ir_op_reals(op, "parameters", arena);
    const bool is_call = cz_ir_op_kind(op) == CZ_IR_CALL;
    cz_ir_type in[CZ_FACTOR_OPERANDS] = {{0}};

    if (factor == CZ_FACTOR_NONE || given.n != cz_factor_n_parameters(factor) ||
        !cz_factor_takes(factor, given.v) ||
        cz_ir_op_n_operands(op) != cz_factor_n_operands(factor) ||
        cz_ir_op_n_results(op) != (is_call ? cz_factor_n_results(factor) : 1))
        return false;
    for (int i = 0; i < cz_factor_n_operands(factor); i++) {
        in[i] = cz_ir_value_type(cz_ir_op_operand(op, i));
        if (in[i].rank != 2 || in[i].is_bool || in[i].dtype != CZ_F32)
            return false;
    }
    const cz_factor_size size =
        cz_ir_factor_size(in, cz_factor_n_operands(factor));
    const int64_t first = is_call ? 0 : cz_ir_op_int(op, "result");
    bool ok = cz_factor_admits(factor, &size) &&
              (cz_factor_n_operands(factor) < 2 || in[1].shape[0] == size.n) &&
              first >= 0 && first < cz_factor_n_results(factor);
    for (int i = 0; ok && i < cz_ir_op_n_results(op); i++)
        ok = cz_ir_type_equal(cz_ir_value_type(cz_ir_op_result(op, i)),
                              cz_ir_factor_type(factor, (int)first + i, &size));
    return ok;
}

/* MLIR lets a scalar condition choose between tensors; we do not. */
static bool is_element(cz_ir_op op)
{
    const cz_ir_type out = cz_ir_value_type(cz_ir_op_result(op, 0));
    const cz_opcode opcode = cz_ir_op_opcode(op);
    if (out.is_bool)
        return opcode == CZ_OP_COMPARE;
    if (opcode == CZ_OP_HASH)
        return out.dtype == CZ_F64;
    return opcode != CZ_OP_SELECT ||
           cz_ir_value_type(cz_ir_op_operand(op, 0)).rank == out.rank;
}

static bool is_index(cz_ir_op op)
{
    const cz_ir_type type = cz_ir_value_type(cz_ir_op_result(op, 0));
    return type.rank == 1 && type.dtype == CZ_F32 && !type.is_bool &&
           type.shape[0] >= 1 && type.shape[0] <= CZ_IR_MAX_INDEX;
}

static bool has_right_shape(cz_ir_op op, cz_arena *arena)
{
    const cz_ir_kind kind = cz_ir_op_kind(op);
    if (kind == CZ_IR_ELEMENT)
        return is_element(op);
    if (kind == CZ_IR_MATMUL)
        return is_matmul(op);
    if (kind == CZ_IR_INDEX)
        return is_index(op);
    if (kind == CZ_IR_FACTOR || kind == CZ_IR_CALL)
        return is_factor(op, arena);
    if (kind != CZ_IR_TRANSPOSE && kind != CZ_IR_REDUCE &&
        kind != CZ_IR_BROADCAST)
        return true;
    const cz_ir_type in = cz_ir_value_type(cz_ir_op_operand(op, 0));
    const cz_ir_type out = cz_ir_value_type(cz_ir_op_result(op, 0));
    if (kind == CZ_IR_TRANSPOSE)
        return is_transpose(in, out);
    const cz_ints dims = cz_ir_op_ints(op, "dims", arena);
    return kind == CZ_IR_REDUCE ? drops(in, out, dims) && in.dtype == CZ_F64
                                : drops(out, in, dims);
}

/* ---- operations and functions ---- */

static void check_body_reference(checker *check, MlirOperation op)
{
    const MlirAttribute body = cz_ir_get_attr(op, "body");
    if (!mlirAttributeIsNull(body) && !resolves(check, body, "func.func"))
        complain(check, op, "attribute 'body' names no function");
}

static bool has_inner_blocks(MlirOperation op)
{
    const bool is_matmul = cz_ir_op_is(op, "linalg.matmul");
    return mlirOperationGetNumSuccessors(op) > 0 ||
           mlirOperationGetNumRegions(op) != (is_matmul ? 1 : 0);
}

static void check_op(checker *check, MlirOperation op)
{
    const bool was_ok = check->ok;
    cz_arena arena;

    if (cz_ir_op_kind(cz_ir_op_of(op)) == CZ_IR_OTHER) {
        complain(check, op, "an operation that no function of ours has");
        return;
    }
    if (has_inner_blocks(op)) {
        complain(check, op, "an operation with blocks of its own");
        return;
    }
    check->ok = true;
    check_attributes(check, op);
    check_presence(check, op);
    check_body_reference(check, op);
    if (!has_our_types(op))
        complain(check, op,
                 "a type other than f64, f32, bf16, f16 and "
                 "static tensors of them up to rank 2");
    cz_arena_init(&arena);
    if (check->ok && !has_right_shape(cz_ir_op_of(op), &arena))
        complain(check, op, "types that do not go together");
    cz_arena_fini(&arena);
    check->ok &= was_ok;
}

static bool has_our_arguments(MlirBlock block)
{
    cz_ir_type type;
    for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
        if (!cz_ir_type_of(mlirValueGetType(mlirBlockGetArgument(block, i)),
                           &type) ||
            type.is_bool)
            return false;
    return true;
}

static bool ends_with_return(MlirBlock block)
{
    const MlirOperation end = mlirBlockGetTerminator(block);
    return !mlirOperationIsNull(end) && cz_ir_op_is(end, "func.return");
}

static void check_function(checker *check, MlirOperation function)
{
    const MlirBlock block =
        mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));

    check_attributes(check, function);
    if (mlirBlockIsNull(block)) {
        complain(check, function, "a function without a body");
        return;
    }
    if (!mlirBlockIsNull(mlirBlockGetNextInRegion(block)))
        complain(check, function, "a function of more than one block");
    if (!has_our_arguments(block)) {
        complain(check, function,
                 "an argument of a type that is not "
                 "f64, f32, bf16, f16 or a static tensor "
                 "of them up to rank 2");
        return;
    }
    if (!ends_with_return(block))
        complain(check, function, "a function that does not return");
    for (MlirOperation op = mlirBlockGetFirstOperation(block);
         !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
        check_op(check, op);
}

/* ---- the module ---- */

static void check_top(checker *check, MlirOperation op)
{
    const cz_fact_schema *schema = find_schema(op);
    if (schema)
        check_fact(check, op, schema);
    else if (cz_ir_op_is(op, "func.func"))
        check_function(check, op);
    else
        complain(check, op, "an operation that no module of ours has");
}

bool cz_ir_check_schema(const cz_ir *ir, cz_diags *diags)
{
    const MlirOperation module = mlirModuleGetOperation(ir->module);
    checker check = {
        .diags = diags, .ok = true, .symbols = mlirSymbolTableCreate(module)};

    if (mlirOperationGetNumAttributes(module) > 0)
        complain(&check, module, "the module must have no attributes");
    for (MlirOperation op =
             mlirBlockGetFirstOperation(mlirModuleGetBody(ir->module));
         !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
        check_top(&check, op);
    mlirSymbolTableDestroy(check.symbols);
    return check.ok;
}
