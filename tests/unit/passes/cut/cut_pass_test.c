/* Modules that the cut turns down: one error, no crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "passes/passes.h"

/* A rule on 2 x 2 matrices with one state; %s: type of grad, body, results. */
static const char format[] =
    "module {\n"
    "\"canzona.program\"() {name = \"p\", source_hash = \"\", compiler = \"\", "
    "format = 2,"
    " strict = 0 : i64} : () -> ()\n"
    "\"canzona.mesh\"() {axes = [], sizes = array<i64>,"
    " names = [], sets = array<i64>} : () -> ()\n"
    "\"canzona.policy\"() {master_dtype = \"f32\", geometry = \"uneven\", "
    "layout = \"engine\", form = \"auto\", memory_bytes = 0 : i64,"
    " tolerance = 0.0 : f64, wire = 0.5 : f64, wire_is_free = 0 : i64, tokens "
    "= 1048576 : i64, active = 1000000 : i64,"
    " clip = 0.0 : f64, skip = 0 : i64, bucket_elements = 100 : i64, "
    "bucket_is_free = 0 : i64,"
    " joins_updates = 0 : i64, layout_is_free = 0 : i64, micro_group_bytes = 0 "
    ": i64, tp_strategy = "
    "\"auto\","
    " tp_subgroup = 0 : i64} : () -> ()\n"
    "\"canzona.use\"() {sym_name = \"u\", optimizer = \"o\", hypers = [],"
    " defaults = array<f64>, has_default = array<i64>} : () -> ()\n"
    "func.func @R.prologue(%%t: f64, %%c: f64) { return }\n"
    "func.func @R.update(%s) -> (%s) {\n%s}\n"
    "\"canzona.rule\"() {sym_name = \"R\", use = @u, shape = array<i64: 2, 2>,"
    " transposed = 0 : i64, states = [\"m\"], state_dtypes = [\"f32\"],"
    " state_init = array<f64: 0.0>, state_diagonal = array<i64: 0>,"
    " state_symmetric = array<i64: 0>,"
    " state_shapes = array<i64: 0, 0>, state_extern = array<i64: 0>,"
    " update = @R.update,"
    " prologue = @R.prologue} : () -> ()\n"
    "}\n";

#define M "tensor<2x2xf32>"

static const struct {
    const char *arguments, *results, *body;
    bool ok;
} cases[] = {
    /* as it should be */
    {"%g: " M ", %p: " M ", %m: " M, M ", " M, "return %g, %m : " M ", " M "\n",
     true},
    /* a state too few, a result too few */
    {"%g: " M ", %p: " M, M ", " M, "return %g, %p : " M ", " M "\n", false},
    {"%g: " M ", %p: " M ", %m: " M, M, "return %g : " M "\n", false},
    /* another shape */
    {"%g: tensor<2x3xf32>, %p: " M ", %m: " M, M ", " M,
     "return %p, %m : " M ", " M "\n", false},
    /* scalars of the wrong type, or before tensors */
    {"%g: " M ", %p: " M ", %m: " M ", %s: f64", M ", " M,
     "return %g, %m : " M ", " M "\n", false},
    {"%s: f32, %g: " M ", %p: " M ", %m: " M, M ", " M,
     "return %g, %m : " M ", " M "\n", false},
    /* kernel form */
    {"%g: " M ", %p: " M ", %m: " M, M ", " M,
     "%a = \"kernel.product\"(%g, %p) {body = \"\", access = array<i64: 0, 0>,"
     " transpose_a = 0 : i64, transpose_b = 0 : i64, symmetric = 0 : i64,"
     " alpha = 1.0 : f64, beta = 0.0 : f64, offsets = array<i64: -1, -1>} :"
     " (" M ", " M ") -> " M "\nreturn %a, %m : " M ", " M "\n",
     false},
    /* more elements than any machine has */
    {"%g: " M ", %p: " M ", %m: " M, M ", " M,
     "%c = arith.constant dense<1.0> : tensor<f64>\n"
     "%b = \"canzona.broadcast\"(%c) {dims = array<i64: 0, 1>} :"
     " (tensor<f64>) -> tensor<2000000x2000000xf64>\n"
     "%s = \"canzona.reduce\"(%b) {dims = array<i64: 0, 1>, kind = \"sum\"} :"
     " (tensor<2000000x2000000xf64>) -> tensor<f64>\n"
     "%t = arith.truncf %s : tensor<f64> to tensor<f32>\n"
     "%u = \"canzona.broadcast\"(%t) {dims = array<i64: 0, 1>} :"
     " (tensor<f32>) -> " M "\nreturn %u, %m : " M ", " M "\n",
     false},
};

static void check_case(size_t i)
{
    char source[4096];
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir;

    snprintf(source, sizeof source, format, cases[i].arguments,
             cases[i].results, cases[i].body);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    ir = cz_ir_parse(source, strlen(source), &diags);
    assert_non_null(ir);
    assert_int_equal(cz_cut_pass(ir, &diags), cases[i].ok);
    assert_int_equal(diags.n_errors, cases[i].ok ? 0 : 1);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
}

static void test_modules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_case(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modules)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
