/* The IR's builder and reader, its print and its parser. */
#include "dsl/ir.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cz_arena_init(&f->arena);
    cz_diags_init(&f->diags, &f->arena);
    f->ir = cz_ir_open(&f->diags);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    cz_ir_close(f->ir);
    cz_arena_fini(&f->arena);
    free(f);
    return 0;
}

static const char *messages(fixture *f)
{
    cz_text text;
    cz_text_init(&text);
    cz_diags_print(&f->diags, &text, false);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

static const char *print(fixture *f, const cz_ir *ir)
{
    cz_text text;
    cz_text_init(&text);
    cz_ir_print(ir, &text);
    const char *copy = cz_arena_copy(&f->arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

/* u = bf16(grad) ; x = u @ u' ; param' = param - s0 * x */
static void build_math(fixture *f)
{
    const int64_t shape[] = {4, 4};
    const cz_ir_type t = cz_ir_tensor_type(CZ_F32, 2, shape);
    const cz_ir_type s = cz_ir_scalar_type(CZ_F32);
    const cz_source source = {"a.cz", "", 0};
    cz_ir_builder b =
        cz_ir_function(f->ir,
                       &(cz_ir_signature){.name = "R.update",
                                          .n_in = 3,
                                          .in = (cz_ir_type[]){t, t, s},
                                          .n_out = 1,
                                          .out = &t},
                       (cz_span){.source = &source, .line = 3, .column = 5});
    const cz_ir_value grad = cz_ir_function_in(b.function, 0);
    const cz_ir_value param = cz_ir_function_in(b.function, 1);
    const cz_ir_value u = cz_ir_convert(&b, grad, CZ_BF16);
    const cz_ir_value x = cz_ir_matmul(&b, u, cz_ir_transpose(&b, u));
    const cz_ir_value x2 = cz_ir_matmul(&b, grad, cz_ir_transpose(&b, u));
    const cz_ir_value wide = cz_ir_convert(&b, x, CZ_F64);
    const cz_ir_value sum = cz_ir_reduce(&b, wide, (int64_t[]){0, 1}, 2);
    const cz_ir_value norm =
        cz_ir_convert(&b, cz_ir_unary(&b, CZ_OP_SQRT, sum), CZ_F32);
    const cz_ir_value norms =
        cz_ir_broadcast(&b, norm, 2, shape, (int64_t[]){0, 1}, 2);
    const cz_ir_value lr =
        cz_ir_splat(&b, cz_ir_function_in(b.function, 2), 2, shape);
    cz_ir_value y =
        cz_ir_binary(&b, CZ_OP_MUL, lr, cz_ir_binary(&b, CZ_OP_DIV, x2, norms));
    const cz_ir_value big =
        cz_ir_compare(&b, "ogt", y, cz_ir_constant(&b, t, 0.1));
    y = cz_ir_select(&b, big, cz_ir_constant(&b, t, 0.1), y);
    const cz_ir_value out = cz_ir_binary(&b, CZ_OP_SUB, param, y);
    cz_ir_return(&b, &out, 1);
}

static void math_form_is_built_and_verified(void **state)
{
    fixture *f = *state;
    build_math(f);
    const bool ok = cz_ir_verify(f->ir);
    printf("%s\n%s", print(f, f->ir), messages(f));
    assert_true(ok);
    assert_string_equal(messages(f), "");
}

static void print_survives_the_parser(void **state)
{
    fixture *f = *state;
    build_math(f);
    const char *once = print(f, f->ir);
    cz_ir *again = cz_ir_parse(once, strlen(once), &f->diags);
    assert_string_equal(messages(f), "");
    assert_non_null(again);
    assert_string_equal(print(f, again), once);
    cz_ir_close(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(math_form_is_built_and_verified, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(print_survives_the_parser, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
