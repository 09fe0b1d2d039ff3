/* Facts: what is written is what is read, also through text. */
#include "dsl/vocab/schema.h"

#include <float.h>

#include "tests/unit/dsl/module.h"

/* The module through its text; replaces f->ir. */
static void reparse(fixture *f)
{
    cz_text once, twice;
    cz_text_init(&once);
    cz_text_init(&twice);
    cz_ir_print(f->ir, &once);
    cz_ir *again = cz_ir_parse(once.bytes, once.n, &f->diags);
    assert_string_equal(messages(f), "");
    assert_non_null(again);
    cz_ir_print(again, &twice);
    assert_string_equal(once.bytes, twice.bytes);
    cz_text_fini(&once);
    cz_text_fini(&twice);
    cz_ir_close(f->ir);
    f->ir = again;
}

/* ---- every kind of fact, filled with distinct values ---- */

static const double odd_reals[] = {
    0.1,    -0.0,   DBL_MIN / 8,   DBL_MAX,          1.0 / 3.0,
    3.4445, 1e-300, 0x1.fffffep-3, (double)INFINITY, -(double)INFINITY};
static const int64_t odd_ints[] = {0, -1, INT64_MAX, INT64_MIN, 42};
static const int64_t choices[] = {1, 0};
static const char *const odd_strings[] = {"",      "a b",      "\"quoted\\\"",
                                          "tab\t", "\xc3\xa4", "%0 // {"};

static void fill(const cz_field *field, void *at, int salt)
{
    switch (field->type) {
    case CZ_FIELD_SYM:
        *(const char **)at = salt ? "second symbol" : "first.symbol";
        break;
    case CZ_FIELD_REF:
        *(const char **)at = "";
        break;
    case CZ_FIELD_STRING:
        *(const char **)at = odd_strings[salt % 6];
        break;
    case CZ_FIELD_STRINGS:
        *(cz_strings *)at = (cz_strings){odd_strings, salt % 7};
        break;
    case CZ_FIELD_CHOICE:
        *(int *)at = salt % 2;
        break;
    case CZ_FIELD_CHOICES:
        *(cz_ints *)at = (cz_ints){choices, salt % 3};
        break;
    case CZ_FIELD_INT:
        *(int64_t *)at = odd_ints[salt % 5];
        break;
    case CZ_FIELD_INTS:
        *(cz_ints *)at = (cz_ints){odd_ints, salt % 6};
        break;
    case CZ_FIELD_REAL:
        *(double *)at = odd_reals[salt % 8];
        break;
    case CZ_FIELD_REALS:
        *(cz_reals *)at = (cz_reals){odd_reals, salt % 11};
        break;
    case CZ_N_FIELD_TYPES:
        fail();
    }
}

static void same_strings(const cz_strings *a, const cz_strings *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        assert_string_equal(a->v[i], b->v[i]);
}

static void same(const cz_field *field, const void *a, const void *b)
{
    switch (field->type) {
    case CZ_FIELD_SYM:
    case CZ_FIELD_REF:
    case CZ_FIELD_STRING:
        assert_string_equal(*(const char *const *)a, *(const char *const *)b);
        break;
    case CZ_FIELD_STRINGS:
        same_strings(a, b);
        break;
    case CZ_FIELD_CHOICE:
        assert_int_equal(*(const int *)a, *(const int *)b);
        break;
    case CZ_FIELD_INT:
    case CZ_FIELD_REAL:
        assert_memory_equal(a, b, 8);
        break;
    case CZ_FIELD_CHOICES:
    case CZ_FIELD_INTS: {
        const cz_ints *x = a, *y = b;
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->v, y->v, (size_t)x->n * 8);
        break;
    }
    case CZ_FIELD_REALS: {
        const cz_reals *x = a, *y = b;
        assert_int_equal(x->n, y->n);
        assert_memory_equal(x->v, y->v, (size_t)x->n * 8);
        break;
    }
    case CZ_N_FIELD_TYPES:
        fail();
    }
}

static void fill_all(const cz_fact_schema *schema, void *value, int salt)
{
    for (int i = 0; i < schema->n_fields; i++) {
        const cz_field *field = &schema->fields[i];
        fill(field, (char *)value + field->offset, salt + i);
    }
}

static void same_all(const cz_fact_schema *schema, const void *a, const void *b)
{
    for (int i = 0; i < schema->n_fields; i++) {
        const cz_field *field = &schema->fields[i];
        same(field, (const char *)a + field->offset,
             (const char *)b + field->offset);
    }
}

static bool has_symbol(const cz_fact_schema *schema)
{
    return schema->fields[0].type == CZ_FIELD_SYM;
}

#define CZ_FACT(fact)                                                          \
    static void fact##_survives(fixture *f)                                    \
    {                                                                          \
        const cz_fact_schema *schema = &cz_fact_schemas[CZ_FACT_##fact];       \
        cz_fact_##fact values[2];                                              \
        int n;                                                                 \
        fill_all(schema, &values[0], 0);                                       \
        fill_all(schema, &values[1], 7);                                       \
        cz_ir_add_##fact(f->ir, &values[0]);                                   \
        if (has_symbol(schema))                                                \
            cz_ir_add_##fact(f->ir, &values[1]);                               \
        reparse(f);                                                            \
        const cz_fact_##fact *read = cz_ir_read_##fact(f->ir, &f->arena, &n);  \
        assert_int_equal(n, has_symbol(schema) ? 2 : 1);                       \
        assert_int_equal(cz_ir_count(f->ir, CZ_FACT_##fact), n);               \
        for (int i = 0; i < n; i++)                                            \
            same_all(schema, &values[i], &read[i]);                            \
        cz_ir_replace_##fact(f->ir, 0, &values[1]);                            \
        read = cz_ir_read_##fact(f->ir, &f->arena, &n);                        \
        same_all(schema, &values[1], &read[0]);                                \
        cz_ir_remove(f->ir, CZ_FACT_##fact);                                   \
        assert_int_equal(cz_ir_count(f->ir, CZ_FACT_##fact), 0);               \
    }
#include "dsl/vocab/facts.def"

static void every_fact_survives_text(void **state)
{
    fixture *f = *state;
#define CZ_FACT(fact) fact##_survives(f);
#include "dsl/vocab/facts.def"
}

static void order_is_that_of_adding(void **state)
{
    fixture *f = *state;
    int n;
    for (int i = 0; i < 3; i++)
        cz_ir_add_use(f->ir, &(cz_fact_use){.sym_name = (const char *[]){
                                                "c", "a", "b"}[i]});
    cz_ir_replace_use(f->ir, 1, &(cz_fact_use){.sym_name = "x"});
    const cz_fact_use *uses = cz_ir_read_use(f->ir, &f->arena, &n);
    assert_int_equal(n, 3);
    assert_string_equal(uses[0].sym_name, "c");
    assert_string_equal(uses[1].sym_name, "x");
    assert_string_equal(uses[2].sym_name, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_fact_survives_text, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(order_is_that_of_adding, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
