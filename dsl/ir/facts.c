/* Writing and reading facts.  One writer and one reader walk the tables of
 * dsl/vocab/schema.h; the functions of dsl/ir/ir.h are thin wrappers over them.
 */
#include "dsl/vocab/schema.h"
#include "dsl/ir/internal.h"

#include <assert.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

enum { MAX_FIELDS = 20, MAX_CHOICES = 16 };

/* ---- writing ---- */

static MlirAttribute write_field(MlirContext context, const cz_field *field,
                                 const void *at)
{
    switch (field->type) {
    case CZ_FIELD_SYM:
    case CZ_FIELD_STRING:
        return cz_ir_string_attr(context, *(const char *const *)at);
    case CZ_FIELD_REF:
        return cz_ir_ref_attr(context, *(const char *const *)at);
    case CZ_FIELD_STRINGS:
        return cz_ir_strings_attr(context, *(const cz_strings *)at);
    case CZ_FIELD_CHOICE:
        return cz_ir_string_attr(
            context, cz_word_of(field->vocabulary, *(const int *)at));
    case CZ_FIELD_CHOICES: {
        const cz_ints *choices = at;
        const char *words[MAX_CHOICES];
        assert(choices->n <= MAX_CHOICES);
        for (int i = 0; i < choices->n; i++)
            words[i] = cz_word_of(field->vocabulary, (int)choices->v[i]);
        return cz_ir_strings_attr(context, (cz_strings){words, choices->n});
    }
    case CZ_FIELD_INT:
        return cz_ir_int_attr(context, *(const int64_t *)at);
    case CZ_FIELD_INTS:
        return cz_ir_ints_attr(context, *(const cz_ints *)at);
    case CZ_FIELD_REAL:
        return cz_ir_real_attr(context, *(const double *)at);
    case CZ_FIELD_REALS:
        return cz_ir_reals_attr(context, *(const cz_reals *)at);
    case CZ_N_FIELD_TYPES:
        break;
    }
    assert(!"a type of field");
    return mlirAttributeGetNull();
}

static MlirOperation make_fact(const cz_ir *ir, cz_fact_kind kind,
                               const void *value)
{
    const cz_fact_schema *fact = &cz_fact_schemas[kind];
    MlirNamedAttribute attributes[MAX_FIELDS];

    assert(fact->n_fields <= MAX_FIELDS);
    for (int i = 0; i < fact->n_fields; i++) {
        const cz_field *field = &fact->fields[i];
        const void *at = (const char *)value + field->offset;
        attributes[i] = cz_ir_named(ir->context, field->name,
                                    write_field(ir->context, field, at));
    }
    MlirOperationState state = mlirOperationStateGet(
        cz_ir_str(fact->op), mlirLocationUnknownGet(ir->context));
    mlirOperationStateAddAttributes(&state, fact->n_fields, attributes);
    return mlirOperationCreate(&state);
}

/* ---- walking ---- */

/* The first operation of the kind at `op` or behind it; null when none. */
static MlirOperation find_fact(MlirOperation op, cz_fact_kind kind)
{
    while (!mlirOperationIsNull(op) &&
           !cz_ir_op_is(op, cz_fact_schemas[kind].op))
        op = mlirOperationGetNextInBlock(op);
    return op;
}

static MlirOperation first_fact(const cz_ir *ir, cz_fact_kind kind)
{
    return find_fact(mlirBlockGetFirstOperation(mlirModuleGetBody(ir->module)),
                     kind);
}

static MlirOperation next_fact(MlirOperation op, cz_fact_kind kind)
{
    return find_fact(mlirOperationGetNextInBlock(op), kind);
}

int cz_ir_count(const cz_ir *ir, cz_fact_kind kind)
{
    int n = 0;
    for (MlirOperation op = first_fact(ir, kind); !mlirOperationIsNull(op);
         op = next_fact(op, kind))
        n++;
    return n;
}

void cz_ir_remove(cz_ir *ir, cz_fact_kind kind)
{
    MlirOperation op = first_fact(ir, kind);
    while (!mlirOperationIsNull(op)) {
        const MlirOperation next = next_fact(op, kind);
        mlirOperationDestroy(op);
        op = next;
    }
}

static void replace_fact(cz_ir *ir, cz_fact_kind kind, int i, const void *value)
{
    MlirOperation old = first_fact(ir, kind);
    while (i-- > 0)
        old = next_fact(old, kind);
    assert(!mlirOperationIsNull(old));
    mlirBlockInsertOwnedOperationBefore(mlirModuleGetBody(ir->module), old,
                                        make_fact(ir, kind, value));
    mlirOperationDestroy(old);
}

/* ---- reading ---- */

static int choice_of(const cz_field *field, const char *word)
{
    int choice = 0;
    const bool is_word = cz_word_find(field->vocabulary, word, &choice);
    assert(is_word); /* schema.c has checked it */
    (void)is_word;
    return choice;
}

static void read_field(MlirAttribute attribute, const cz_field *field,
                       cz_arena *arena, void *at)
{
    assert(!mlirAttributeIsNull(attribute));
    switch (field->type) {
    case CZ_FIELD_SYM:
    case CZ_FIELD_STRING:
    case CZ_FIELD_REF: {
        const char *string = cz_ir_attr_string(attribute);
        *(const char **)at = cz_arena_copy(arena, string, strlen(string));
        break;
    }
    case CZ_FIELD_STRINGS:
        *(cz_strings *)at = cz_ir_attr_strings(attribute, arena);
        break;
    case CZ_FIELD_CHOICE:
        *(int *)at = choice_of(field, cz_ir_attr_string(attribute));
        break;
    case CZ_FIELD_CHOICES: {
        const cz_strings words = cz_ir_attr_strings(attribute, arena);
        int64_t *choices = CZ_NEW(arena, int64_t, words.n);
        for (int i = 0; i < words.n; i++)
            choices[i] = choice_of(field, words.v[i]);
        *(cz_ints *)at = (cz_ints){choices, words.n};
        break;
    }
    case CZ_FIELD_INT:
        *(int64_t *)at = mlirIntegerAttrGetValueInt(attribute);
        break;
    case CZ_FIELD_INTS:
        *(cz_ints *)at = cz_ir_attr_ints(attribute, arena);
        break;
    case CZ_FIELD_REAL:
        *(double *)at = mlirFloatAttrGetValueDouble(attribute);
        break;
    case CZ_FIELD_REALS:
        *(cz_reals *)at = cz_ir_attr_reals(attribute, arena);
        break;
    case CZ_N_FIELD_TYPES:
        assert(!"a type of field");
    }
}

static void *read_facts(const cz_ir *ir, cz_fact_kind kind, cz_arena *arena,
                        int *n)
{
    const cz_fact_schema *fact = &cz_fact_schemas[kind];
    *n = cz_ir_count(ir, kind);
    char *list = cz_arena_alloc(arena, (size_t)*n + 1, fact->size);
    char *value = list;
    for (MlirOperation op = first_fact(ir, kind); !mlirOperationIsNull(op);
         op = next_fact(op, kind), value += fact->size)
        for (int i = 0; i < fact->n_fields; i++) {
            const cz_field *field = &fact->fields[i];
            read_field(cz_ir_get_attr(op, field->name), field, arena,
                       value + field->offset);
        }
    return list;
}

/* ---- the functions of dsl/ir/ir.h ---- */

#define CZ_FACT(fact)                                                          \
    void cz_ir_add_##fact(cz_ir *ir, const cz_fact_##fact *value)              \
    {                                                                          \
        mlirBlockAppendOwnedOperation(mlirModuleGetBody(ir->module),           \
                                      make_fact(ir, CZ_FACT_##fact, value));   \
    }                                                                          \
                                                                               \
    const cz_fact_##fact *cz_ir_read_##fact(const cz_ir *ir, cz_arena *arena,  \
                                            int *n)                            \
    {                                                                          \
        return read_facts(ir, CZ_FACT_##fact, arena, n);                       \
    }                                                                          \
                                                                               \
    void cz_ir_replace_##fact(cz_ir *ir, int i, const cz_fact_##fact *value)   \
    {                                                                          \
        replace_fact(ir, CZ_FACT_##fact, i, value);                            \
    }
#include "dsl/vocab/facts.def"
