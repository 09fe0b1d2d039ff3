/* The schema of a module: what MLIR's verifier does not know.  Only our
 * operations, with exactly their attributes; references resolve to the kind
 * of operation they are meant for; strings are short. */
#include "dsl/vocab/schema.h"
#include "dsl/ir/schema.h"

#include <mlir-c/BuiltinAttributes.h>
#include <stdarg.h>
#include <string.h>

void cz_ir_complain(cz_ir_check *check, MlirOperation op, const char *format,
                    ...)
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

bool cz_ir_resolves(const cz_ir_check *check, MlirAttribute reference,
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

static void check_word(cz_ir_check *check, MlirOperation op,
                       const cz_field *field, MlirAttribute attribute)
{
    int choice;
    if (!cz_word_find(field->vocabulary, cz_ir_attr_string(attribute), &choice))
        cz_ir_complain(check, op, "attribute '%s': '%s' is not a word we know",
                       field->name, cz_ir_attr_string(attribute));
}

static void check_words(cz_ir_check *check, MlirOperation op,
                        const cz_field *field, MlirAttribute attribute)
{
    const intptr_t n = mlirArrayAttrGetNumElements(attribute);
    int n_words;
    cz_words(field->vocabulary, &n_words);
    if (n > n_words)
        cz_ir_complain(check, op, "attribute '%s' has a word twice",
                       field->name);
    for (intptr_t i = 0; i < n; i++)
        check_word(check, op, field, mlirArrayAttrGetElement(attribute, i));
}

static void check_field(cz_ir_check *check, MlirOperation op,
                        const cz_field *field)
{
    const MlirAttribute attribute = cz_ir_get_attr(op, field->name);
    if (mlirAttributeIsNull(attribute) ||
        !field_rules[field->type].is(attribute))
        cz_ir_complain(check, op, "attribute '%s' must be %s", field->name,
                       field_rules[field->type].what);
    else if (field->type == CZ_FIELD_CHOICE)
        check_word(check, op, field, attribute);
    else if (field->type == CZ_FIELD_CHOICES)
        check_words(check, op, field, attribute);
    else if (field->type == CZ_FIELD_REF &&
             !cz_ir_resolves(check, attribute, target_of(field->name)))
        cz_ir_complain(check, op, "attribute '%s' names no %s: '%s'",
                       field->name, target_of(field->name),
                       cz_ir_attr_string(attribute));
}

static bool has_field(const cz_fact_schema *schema, const char *name)
{
    for (int i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return true;
    return false;
}

static void check_fact(cz_ir_check *check, MlirOperation op,
                       const cz_fact_schema *schema)
{
    if (mlirOperationGetNumOperands(op) || mlirOperationGetNumResults(op) ||
        mlirOperationGetNumRegions(op) || mlirOperationGetNumSuccessors(op))
        cz_ir_complain(check, op, "a fact consists of attributes alone");
    for (int i = 0; i < schema->n_fields; i++)
        check_field(check, op, &schema->fields[i]);
    for (intptr_t i = 0; i < mlirOperationGetNumAttributes(op); i++) {
        const char *name = cz_ir_cstr(
            mlirIdentifierStr(mlirOperationGetAttribute(op, i).name));
        if (!has_field(schema, name))
            cz_ir_complain(check, op, "unknown attribute '%s'", name);
    }
}

static const cz_fact_schema *find_schema(MlirOperation op)
{
    for (int i = 0; i < CZ_N_FACTS; i++)
        if (cz_ir_op_is(op, cz_fact_schemas[i].op))
            return &cz_fact_schemas[i];
    return NULL;
}

/* ---- the module ---- */

static void check_top(cz_ir_check *check, MlirOperation op)
{
    const cz_fact_schema *schema = find_schema(op);
    if (schema)
        check_fact(check, op, schema);
    else if (cz_ir_op_is(op, "func.func"))
        cz_ir_check_function(check, op);
    else
        cz_ir_complain(check, op, "an operation that no module of ours has");
}

bool cz_ir_check_schema(const cz_ir *ir, cz_diags *diags)
{
    const MlirOperation module = mlirModuleGetOperation(ir->module);
    cz_ir_check check = {
        .diags = diags, .ok = true, .symbols = mlirSymbolTableCreate(module)};

    if (mlirOperationGetNumAttributes(module) > 0)
        cz_ir_complain(&check, module, "the module must have no attributes");
    for (MlirOperation op =
             mlirBlockGetFirstOperation(mlirModuleGetBody(ir->module));
         !mlirOperationIsNull(op); op = mlirOperationGetNextInBlock(op))
        check_top(&check, op);
    mlirSymbolTableDestroy(check.symbols);
    return check.ok;
}
