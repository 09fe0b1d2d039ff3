/* Source to facts: mesh, policy, program, uses, options. */
#include "tests/unit/frontend/program/compiled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MODEL                                                                  \
    "model tiny(width = 64, layers = 4) {\n"                                   \
    "    params f32 {\n"                                                       \
    "        wte : [256/tp, width]\n"                                          \
    "        h[i < layers] { w : [width, width/tp]\n norm : [width] }\n"       \
    "    }\n"                                                                  \
    "}\n"
#define USES                                                                   \
    "use muon(lr, momentum = 0.9) as matrices on h.*.w\n"                      \
    "use adamw(lr = 1e-3, decay = 0) as rest on **\n"

static void assert_compiles(compiled *c)
{
    if (!c->ir) {
        cz_text text;
        cz_text_init(&text);
        cz_diags_print(&c->diags, &text, false);
        print_message("%s", cz_text_string(&text));
        cz_text_fini(&text);
    }
    assert_non_null(c->ir);
}

static void assert_ints(cz_ints found, int n, const int64_t *expected)
{
    assert_int_equal(found.n, n);
    for (int i = 0; i < n; i++)
        assert_int_equal(found.v[i], expected[i]);
}

/* ---- mesh ---- */

static const cz_fact_mesh *read_mesh(compiled *c)
{
    int n;
    assert_compiles(c);
    const cz_fact_mesh *mesh = cz_ir_read_mesh(c->ir, &c->arena, &n);
    assert_int_equal(n, 1);
    return mesh;
}

static void assert_mesh(const char *statement, const char *const *defines,
                        const char *axes, const int64_t *sizes)
{
    static const char *const none[] = {NULL};
    compiled c;
    char source[2048], found[64] = "";
    snprintf(source, sizeof source, "%s\n%s%s", statement, MODEL, USES);
    compile_defined(&c, source, defines ? defines : none);
    const cz_fact_mesh *mesh = read_mesh(&c);
    for (int i = 0; i < mesh->axes.n; i++) {
        strcat(found, i == 0 ? "" : " ");
        strcat(found, mesh->axes.v[i]);
    }
    assert_string_equal(found, axes);
    assert_ints(mesh->sizes, mesh->axes.n, sizes);
    compiled_close(&c);
}

static void the_mesh_is_as_written_and_has_dp(void **state)
{
    (void)state;
    static const char *const both[] = {"mesh.dp=4", "tp=2", NULL};
    assert_mesh("mesh dp = 2, tp = 2", NULL, "dp tp", (int64_t[]){2, 2});
    assert_mesh("mesh tp = 2, dp = 3", NULL, "tp dp", (int64_t[]){2, 3});
    assert_mesh("mesh tp = 2", NULL, "dp tp", (int64_t[]){1, 2});
    assert_mesh("mesh pp = 1, tp = 2", NULL, "pp dp tp", (int64_t[]){1, 1, 2});
    assert_mesh("", NULL, "dp", (int64_t[]){1});
    assert_mesh("mesh dp = 32", both, "dp tp", (int64_t[]){4, 2});
    assert_mesh("let n = 4\nmesh dp = n / 2", NULL, "dp", (int64_t[]){2});
}

/* ---- policy ---- */

static void no_schedule_means_the_defaults(void **state)
{
    (void)state;
    int n;
    compiled c;
    compile_text(&c, "mesh dp = 2, tp = 2\n" MODEL USES);
    assert_compiles(&c);
    const cz_fact_policy *p = cz_ir_read_policy(c.ir, &c.arena, &n);
    assert_int_equal(p->master_dtype, CZ_F32);
    const cz_fact_reduction *r = cz_ir_read_reduction(c.ir, &c.arena, &n);
    assert_int_equal(n, 1);
    assert_ints(r->reduce_axes, 1, (int64_t[]){0});
    assert_ints(r->split_axes, 1, (int64_t[]){0});
    assert_int_equal(r->dtype, CZ_F32);
    assert_int_equal(r->n_grads, 1);
    assert_int_equal(r->divisor, 2);
    assert_true(p->clip == 0);
    assert_int_equal(p->skip, 0);
    assert_int_equal(p->bucket_elements, 400000000);
    assert_int_equal(p->micro_group_bytes, 0);
    compiled_close(&c);
}

static void clauses_arrive_in_the_policy(void **state)
{
    (void)state;
    int n;
    compiled c;
    compile_text(&c, "mesh tp = 2, dp = 2\n" MODEL USES "schedule {\n"
                     "    grads bf16 partial over dp sum\n"
                     "    clip norm 1/2, skip nonfinite\n"
                     "    bucket 4MiB\n"
                     "    tp auto, group 256KiB\n"
                     "}\n");
    assert_compiles(&c);
    const cz_fact_policy *p = cz_ir_read_policy(c.ir, &c.arena, &n);
    const cz_fact_reduction *r = cz_ir_read_reduction(c.ir, &c.arena, &n);
    assert_ints(r->reduce_axes, 1, (int64_t[]){1});
    assert_int_equal(r->dtype, CZ_BF16);
    assert_int_equal(r->divisor, 1);
    assert_true(p->clip == 0.5);
    assert_int_equal(p->skip, 1);
    assert_int_equal(p->bucket_elements, 1 << 20);
    assert_int_equal(p->micro_group_bytes, 256 << 10);
    compiled_close(&c);
}

/* ---- program ---- */

static cz_fact_program program_of(compiled *c)
{
    int n;
    assert_compiles(c);
    return *cz_ir_read_program(c->ir, &c->arena, &n);
}

static cz_fact_reduction reduction_of(compiled *c)
{
    int n;
    assert_compiles(c);
    return *cz_ir_read_reduction(c->ir, &c->arena, &n);
}

static void strict_counts_leaves(void **state)
{
    (void)state;
    compiled c;
    cz_compile_options options = {.strict = true, .microbatches = 12};
    compile_with(&c, "mesh dp = 3, tp = 2\n" MODEL USES, options);
    assert_int_equal(reduction_of(&c).n_grads, 4);
    assert_int_equal(reduction_of(&c).divisor, 12);
    assert_int_equal(program_of(&c).strict, 1);
    assert_string_equal(program_of(&c).name, "program");
    compiled_close(&c);
    compile_with(&c, "mesh dp = 5\n" MODEL USES, options);
    assert_null(c.ir);
    assert_true(says(&c, CZ_NOT_DIVISIBLE, "12 microbatches"));
    compiled_close(&c);
    options.strict = false;
    compile_with(&c, "mesh dp = 5\n" MODEL USES, options);
    assert_int_equal(reduction_of(&c).n_grads, 1);
    compiled_close(&c);
    compile_text(&c, "mesh dp = 3\n" MODEL USES "schedule { strict }\n");
    assert_int_equal(program_of(&c).strict, 1);
    compiled_close(&c);
}

static void hash_of(const char *source, const char *const *defines, char *out)
{
    static const char *const none[] = {NULL};
    compiled c;
    compile_defined(&c, source, defines ? defines : none);
    strcpy(out, program_of(&c).source_hash);
    assert_int_equal(strlen(out), 64);
    compiled_close(&c);
}

static void the_hash_is_of_sources_and_options(void **state)
{
    (void)state;
    static const char *const one[] = {"mesh.dp=2", NULL};
    static const char *const two[] = {"mesh.dp=2", "tiny.width=32", NULL};
    static const char *const joined[] = {"tiny.width=32", "mesh.dp=2", NULL};
    char a[65], b[65], c[65], d[65], e[65], f[65];
    hash_of("mesh dp = 2\n" MODEL USES, NULL, a);
    hash_of("mesh dp = 2\n" MODEL USES, NULL, b);
    hash_of("mesh dp = 2 # x\n" MODEL USES, NULL, c);
    hash_of("mesh dp = 2\n" MODEL USES, one, d);
    hash_of("mesh dp = 2\n" MODEL USES, two, e);
    hash_of("mesh dp = 2\n" MODEL USES, joined, f);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    assert_string_not_equal(a, d);
    assert_string_not_equal(d, e);
    assert_string_not_equal(e, f);
}

/* ---- uses and options ---- */

static double default_of(compiled *c, const char *use, const char *hyper)
{
    int n;
    assert_compiles(c);
    const cz_fact_use *uses = cz_ir_read_use(c->ir, &c->arena, &n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < uses[i].hypers.n; k++)
            if (strcmp(uses[i].sym_name, use) == 0 &&
                strcmp(uses[i].hypers.v[k], hyper) == 0)
                return uses[i].has_default.v[k] ? uses[i].defaults.v[k] : -1;
    return -2;
}

static void options_set_values(void **state)
{
    (void)state;
    static const char *const defines[] = {"matrices.lr=1/4", "momentum=0.5",
                                          "rest.lr=3e-3",    "layers=2",
                                          "tiny.width=2*16", NULL};
    int n;
    compiled c;
    compile_text(&c, "mesh dp = 2\n" MODEL USES);
    assert_true(default_of(&c, "matrices", "lr") == -1);
    assert_true(default_of(&c, "matrices", "momentum") == 0.9);
    compiled_close(&c);
    compile_defined(&c, "mesh dp = 2\n" MODEL USES, defines);
    assert_true(default_of(&c, "matrices", "lr") == 0.25);
    assert_true(default_of(&c, "matrices", "momentum") == 0.5);
    assert_true(default_of(&c, "rest", "lr") == 3e-3);
    const cz_fact_pattern *patterns = cz_ir_read_pattern(c.ir, &c.arena, &n);
    assert_int_equal(n, 3);
    assert_ints(patterns[0].shape, 2, (int64_t[]){256, 32});
    assert_ints(patterns[1].extents, 1, (int64_t[]){2});
    compiled_close(&c);
}

static void wrong_options_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *define, *words;
        cz_code code;
    } cases[] = {
        {"lr=1", "could mean matrices.lr or rest.lr", CZ_BAD_OPTION},
        {"decay=1", "could mean", CZ_BAD_OPTION},
        {"mesh.dq=1", "sets nothing", CZ_BAD_OPTION},
        {"widht=1", "sets nothing", CZ_BAD_OPTION},
        {"width", "NAME=VALUE", CZ_BAD_OPTION},
        {"=3", "NAME=VALUE", CZ_BAD_OPTION},
        {"a.b.c=3", "NAME=VALUE", CZ_BAD_OPTION},
        {"width=3\nmesh dp = 2", "NAME=VALUE", CZ_BAD_OPTION},
        {"width=3, x = 2", "NAME=VALUE", CZ_BAD_OPTION},
        {"width=", "has no value behind", CZ_BAD_OPTION},
        {"width=*", "", CZ_SYNTAX},
        {"mesh.dp=0", "axis dp is 0", CZ_BAD_DIMENSION},
        {"mesh.tp=3", "cannot be cut by tp = 3", CZ_NOT_DIVISIBLE},
        {"width=nothing", "nothing", CZ_UNKNOWN_NAME},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const defines[] = {cases[i].define, NULL};
        compiled c;
        compile_defined(&c, "mesh dp = 2\n" MODEL USES, defines);
        if (c.ir || !says(&c, cases[i].code, cases[i].words))
            fail_msg("-D %s", cases[i].define);
        compiled_close(&c);
    }
}

static void the_last_option_counts(void **state)
{
    (void)state;
    static const char *const defines[] = {"width=32", "tiny.width=16", NULL};
    int n;
    compiled c;
    compile_defined(&c, "mesh dp = 2\n" MODEL USES, defines);
    assert_compiles(&c);
    assert_int_equal(cz_ir_read_pattern(c.ir, &c.arena, &n)[0].shape.v[1], 16);
    compiled_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mesh_is_as_written_and_has_dp),
        cmocka_unit_test(no_schedule_means_the_defaults),
        cmocka_unit_test(clauses_arrive_in_the_policy),
        cmocka_unit_test(strict_counts_leaves),
        cmocka_unit_test(the_hash_is_of_sources_and_options),
        cmocka_unit_test(options_set_values),
        cmocka_unit_test(wrong_options_are_named),
        cmocka_unit_test(the_last_option_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
