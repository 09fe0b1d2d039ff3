/* The IR's builder and reader, its print and its parser. */
#include "tests/unit/dsl/module.h"

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
    const cz_ir_value sum = cz_ir_reduce(&b, "sum", wide, (int64_t[]){0, 1}, 2);
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

/* ---- what is rejected, and with which words ---- */

static const struct bad {
    const char *text, *message;
} bad[] = {
    {"func.func @f(", "expected"},
    {"func.func private @f(f32)", "a function without a body"},
    {"func.func @f(%a: i32) { return }", "an argument of a type"},
    {"func.func @f(%a: tensor<?xf32>) { return }", "an argument of a type"},
    {"func.func @f(%a: tensor<2x2x2xf32>) { return }", "an argument of a"},
    {"func.func @f() { %a = tensor.empty() : tensor<2xf32> return }",
     "tensor.empty: an operation that no function of ours has"},
    {"func.func @f() attributes {x = 1 : i64} { return }",
     "func.func: unknown attribute 'x'"},
    {"func.func @f(%a: f32 {x.y = 1 : i64}) { return }", "arg_attrs"},
    {"func.func @f(%a: f32) { %b = arith.addf %a, %a fastmath<fast> : f32 "
     "return }",
     "attribute 'fastmath' has a value"},
    {"func.func @f() { %a = arith.constant dense<[1.0, 2.0]> : tensor<2xf32> "
     "return }",
     "attribute 'value' has a value"},
    {"func.func @f() { %a = arith.constant 1 : i64 return }",
     "attribute 'value' has a value"},
    {"func.func @f(%a: tensor<2x3xf32>) { %b = \"canzona.transpose\"(%a) : "
     "(tensor<2x3xf32>) -> tensor<2x3xf32> return }",
     "canzona.transpose: types that do not go together"},
    {"func.func @f(%a: tensor<2x3xf64>) { %b = \"canzona.reduce\"(%a) {kind = "
     "\"sum\", dims = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<f64> "
     "return }",
     "canzona.reduce: types that do not go together"},
    {"func.func @f(%a: tensor<2x3xf64>) { %b = \"canzona.reduce\"(%a) {kind = "
     "\"product\", dims = array<i64: 0, 1>} : (tensor<2x3xf64>) -> tensor<f64> "
     "return }",
     "'\"product\"' does not satisfy"},
    {"func.func @f() { %b = \"canzona.index\"() : () -> tensor<16777217xf32> "
     "return }",
     "canzona.index: types that do not go together"},
    {"func.func @f() { %b = \"canzona.index\"() : () -> tensor<4xf64> return }",
     "canzona.index: types that do not go together"},
    {"func.func @f(%a: tensor<f32>) { %b = \"canzona.broadcast\"(%a) {dims = "
     "array<i64: 1>} : (tensor<f32>) -> tensor<2x3xf32> return }",
     "canzona.broadcast: types that do not go together"},
    {"func.func @f(%a: tensor<2x2xf32>) { %b = linalg.matmul ins(%a, %a : "
     "tensor<2x2xf32>, tensor<2x2xf32>) outs(%a : tensor<2x2xf32>) -> "
     "tensor<2x2xf32> return }",
     "linalg.matmul: types that do not go together"},
    {"func.func @f(%a: f32) { \"canzona.nope\"(%a) : (f32) -> () return }",
     "canzona.nope"},
    {"module attributes {x = 1 : i64} {}", "dialect-prefixed"},
    {"module attributes {canzona.x = 1 : i64} {}", "no attributes"},
    {"module { module {} }", "an operation that no module of ours has"},
    {"\"canzona.arena\"() {selector = array<i64>} : () -> ()", "bytes"},
    {"\"canzona.arena\"() {selector = array<i64>, bytes = array<i32: 1>} : () "
     "-> ()",
     "attribute 'bytes' must be an array<i64>"},
    {"\"canzona.arena\"() {selector = array<i64>, bytes = array<i64>, x = 1 : "
     "i64} : () -> ()",
     "unknown attribute 'x'"},
    {"\"canzona.assign\"() {pattern = @nobody, split_owner = array<i64>, "
     "shard_owner = array<i64>, subgroup_size = array<i64>, stride = "
     "array<i64>} : "
     "() -> ()",
     "attribute 'pattern' names no canzona.pattern: 'nobody'"},
    {"func.func @f() { return } \"canzona.assign\"() {pattern = @f, "
     "split_owner "
     "= array<i64>, shard_owner = array<i64>, subgroup_size = array<i64>, "
     "stride = "
     "array<i64>} : () -> ()",
     "attribute 'pattern' names no canzona.pattern: 'f'"},
    {"func.func @f() { return } func.func @f() { return }", "redefinition"},
    {"\"canzona.mesh\"() {axes = [\"a\\00b\"], sizes = array<i64>, "
     "names = [], sets = array<i64>} : () -> ()",
     "attribute 'axes' must be an array of strings"},
    {"\"canzona.mesh\"() {axes = [1 : i64], sizes = array<i64>, "
     "names = [], sets = array<i64>} : () -> ()",
     "attribute 'axes' must be an array of strings"},
};

static void bad_text_is_rejected_with_a_sentence(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cz_diags_init(&f->diags, &f->arena);
        assert_null(cz_ir_parse(bad[i].text, strlen(bad[i].text), &f->diags));
        assert_int_equal(f->diags.list[0].code, CZ_BAD_IR);
        if (!strstr(messages(f), bad[i].message))
            fail_msg("%s\ngave %s", bad[i].text, messages(f));
    }
}

static void strings_are_short(void **state)
{
    fixture *f = *state;
    char name[CZ_IR_MAX_STRING + 2] = {0};
    memset(name, 'x', CZ_IR_MAX_STRING);
    cz_ir_add_use(f->ir, &(cz_fact_use){.sym_name = "a", .optimizer = name});
    assert_true(cz_ir_verify(f->ir));
    name[CZ_IR_MAX_STRING] = 'x';
    cz_ir_add_use(f->ir, &(cz_fact_use){.sym_name = "b", .optimizer = name});
    assert_false(cz_ir_verify(f->ir));
    assert_non_null(strstr(messages(f), "at most 256 bytes"));
}

/* ---- reading ---- */

static void a_reader_sees_what_was_built(void **state)
{
    fixture *f = *state;
    build_math(f);
    const cz_ir_op function = cz_ir_find_function(f->ir, "R.update");
    assert_non_null(function.p);
    assert_null(cz_ir_find_function(f->ir, "nobody").p);
    assert_int_equal(cz_ir_function_n_in(function), 3);
    assert_int_equal(cz_ir_function_n_out(function), 1);
    const cz_ir_value scalar = cz_ir_function_in(function, 2);
    assert_int_equal(cz_ir_value_type(scalar).rank, CZ_IR_SCALAR);
    assert_int_equal(cz_ir_value_n_uses(scalar), 1);
    int n_matmul = 0, n_ops = 0;
    for (cz_ir_op op = cz_ir_first_op(function); op.p; op = cz_ir_next_op(op)) {
        n_ops++;
        n_matmul += cz_ir_op_kind(op) == CZ_IR_MATMUL;
        if (cz_ir_op_kind(op) == CZ_IR_REDUCE)
            assert_int_equal(cz_ir_op_ints(op, "dims", &f->arena).n, 2);
    }
    assert_int_equal(n_matmul, 2);
    assert_int_equal(n_ops, 21);
    const cz_ir_op last = cz_ir_value_op(cz_ir_function_out(function, 0));
    assert_int_equal(cz_ir_op_opcode(last), CZ_OP_SUB);
    const cz_ir_op choice = cz_ir_value_op(cz_ir_op_operand(last, 1));
    const cz_ir_op big = cz_ir_value_op(cz_ir_op_operand(choice, 0));
    assert_string_equal(cz_ir_op_predicate(big), "ogt");
    double value = 0.0;
    assert_true(
        cz_ir_op_constant(cz_ir_value_op(cz_ir_op_operand(choice, 1)), &value));
    assert_true(value == (double)0.1f);
}

/* ---- kernel form and rewriting ---- */

/* A private body: (f32, f32) -> f32, their sum. */
static void build_body(fixture *f)
{
    const cz_ir_type s = cz_ir_scalar_type(CZ_F32);
    cz_ir_builder b =
        cz_ir_function(f->ir,
                       &(cz_ir_signature){.name = "B",
                                          .is_private = true,
                                          .n_in = 2,
                                          .in = (cz_ir_type[]){s, s},
                                          .n_out = 1,
                                          .out = &s},
                       (cz_span){0});
    const cz_ir_value sum =
        cz_ir_binary(&b, CZ_OP_ADD, cz_ir_function_in(b.function, 0),
                     cz_ir_function_in(b.function, 1));
    cz_ir_return(&b, &sum, 1);
}

static cz_ir_value build_steps(cz_ir_builder *b, const int64_t *shape)
{
    const cz_ir_type t = cz_ir_tensor_type(CZ_F32, 2, shape);
    const cz_ir_value x = cz_ir_function_in(b->function, 0);
    const cz_ir_value s = cz_ir_function_in(b->function, 1);
    cz_ir_value y;
    cz_ir_build_map(b,
                    &(cz_ir_map){.body = "B",
                                 .n_in = 2,
                                 .in = (cz_ir_value[]){x, s},
                                 .access = (cz_access[]){CZ_ACCESS_ELEMENT,
                                                         CZ_ACCESS_SCALAR},
                                 .n_out = 1,
                                 .out = &t,
                                 .out_access = (cz_access[]){CZ_ACCESS_ELEMENT},
                                 .rows = shape[0],
                                 .columns = shape[1],
                                 .offsets = (int64_t[]){64}},
                    &y);
    return cz_ir_build_product(
        b, &(cz_ir_product){.n_in = 3,
                            .in = (cz_ir_value[]){x, y, x},
                            .access = (cz_access[]){CZ_ACCESS_ELEMENT,
                                                    CZ_ACCESS_ELEMENT,
                                                    CZ_ACCESS_ELEMENT},
                            .transpose_b = true,
                            .alpha = 0.1,
                            .beta = -0.0,
                            .out = t,
                            .result_offset = -1,
                            .accumulator_offset = 128});
}

static void build_kernel(fixture *f)
{
    const int64_t shape[] = {4, 4};
    const cz_ir_type t = cz_ir_tensor_type(CZ_F32, 2, shape);
    build_body(f);
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){.name = "S",
                           .n_in = 2,
                           .in = (cz_ir_type[]){t, cz_ir_scalar_type(CZ_F32)},
                           .n_out = 1,
                           .out = &t},
        (cz_span){0});
    const cz_ir_value z = build_steps(&b, shape);
    cz_ir_return(&b, &z, 1);
}

static void kernel_form_is_built_and_read(void **state)
{
    fixture *f = *state;
    build_kernel(f);
    assert_true(cz_ir_verify(f->ir));
    const char *once = print(f, f->ir);
    cz_ir *again = cz_ir_parse(once, strlen(once), &f->diags);
    assert_string_equal(messages(f), "");
    assert_string_equal(print(f, again), once);

    const cz_ir_op map = cz_ir_first_op(cz_ir_find_function(again, "S"));
    assert_int_equal(cz_ir_op_kind(map), CZ_IR_MAP);
    assert_string_equal(cz_ir_op_string(map, "body"), "B");
    assert_int_equal(cz_ir_op_ints(map, "access", &f->arena).v[1],
                     CZ_ACCESS_SCALAR);
    assert_int_equal(cz_ir_op_ints(map, "offsets", &f->arena).v[0], 64);
    const cz_ir_op product = cz_ir_next_op(map);
    assert_int_equal(cz_ir_op_kind(product), CZ_IR_PRODUCT);
    assert_string_equal(cz_ir_op_string(product, "body"), "");
    assert_int_equal(cz_ir_op_int(product, "transpose_b"), 1);
    assert_true(cz_ir_op_real(product, "alpha") == 0.1);
    assert_int_equal(cz_ir_op_kind(cz_ir_next_op(product)), CZ_IR_RETURN);
    assert_null(cz_ir_next_op(cz_ir_next_op(product)).p);
    cz_ir_close(again);
}

static void attributes_are_changed_in_place(void **state)
{
    fixture *f = *state;
    build_kernel(f);
    const cz_ir_op map = cz_ir_first_op(cz_ir_find_function(f->ir, "S"));
    const int64_t offset = 192;
    cz_ir_op_set_ints(map, "offsets", (cz_ints){&offset, 1});
    cz_ir_op_set_int(cz_ir_next_op(map), "symmetric", 1);
    assert_true(cz_ir_verify(f->ir));
    assert_int_equal(cz_ir_op_ints(map, "offsets", &f->arena).v[0], 192);
    assert_int_equal(cz_ir_op_int(cz_ir_next_op(map), "symmetric"), 1);
    cz_ir_op_set_int(map, "speed", 1);
    assert_false(cz_ir_verify(f->ir));
    assert_non_null(
        strstr(messages(f), "kernel.map: unknown attribute 'speed'"));
}

/* sub(param, y) becomes sub(param, neg(y)), then the function goes. */
static void a_pass_rewires_and_erases(void **state)
{
    fixture *f = *state;
    build_math(f);
    const cz_ir_op function = cz_ir_find_function(f->ir, "R.update");
    const cz_ir_op sub = cz_ir_value_op(cz_ir_function_out(function, 0));
    const cz_ir_value y = cz_ir_op_operand(sub, 1);
    cz_ir_builder b = cz_ir_builder_before(f->ir, sub);
    const cz_ir_value negative = cz_ir_unary(&b, CZ_OP_NEG, y);
    cz_ir_op_set_operand(sub, 1, negative);
    assert_true(cz_ir_verify(f->ir));
    assert_int_equal(cz_ir_op_opcode(cz_ir_value_op(negative)), CZ_OP_NEG);
    assert_ptr_equal(cz_ir_next_op(cz_ir_value_op(negative)).p, sub.p);

    cz_ir_value_replace(negative, y);
    assert_int_equal(cz_ir_value_n_uses(negative), 0);
    cz_ir_op_erase(cz_ir_value_op(negative));
    assert_ptr_equal(cz_ir_op_operand(sub, 1).p, y.p);
    assert_true(cz_ir_verify(f->ir));
    cz_ir_function_erase(function);
    assert_null(cz_ir_first_function(f->ir).p);
}

static void assert_refused(fixture *f, const struct bad *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cz_diags_init(&f->diags, &f->arena);
        assert_null(
            cz_ir_parse(texts[i].text, strlen(texts[i].text), &f->diags));
        if (!strstr(messages(f), texts[i].message))
            fail_msg("%s\ngave %s", texts[i].text, messages(f));
    }
}

/* Text that MLIR would take, and we do not. */
static void kernel_text_needs_all_of_its_attributes(void **state)
{
    static const struct bad texts[] = {
        {"func.func @f() { \"kernel.map\"() : () -> () return }",
         "attribute 'space' is missing"},
        {"func.func @f() { \"kernel.map\"() : () -> () }",
         "a function that does not return"},
        {"func.func @f() { \"kernel.map\"() ({ }) : () -> () return }",
         "blocks of its own"},
        {"func.func @f() { \"foo.bar\"() : () -> () return }",
         "foo.bar: an operation that no function of ours has"},
        {"\"foo.bar\"() : () -> ()", "an operation that no module of ours"},
        {"func.func @f(%a: f32, %b: f32) { \"kernel.product\"(%a, %b) {body = "
         "@nobody} : (f32, f32) -> () return }",
         "attribute 'body' names no function"},
    };
    fixture *f = *state;
    assert_refused(f, texts, sizeof texts / sizeof *texts);
}

#define CALL(arguments, attributes, types)                                     \
    "func.func @f(%a: tensor<2x2xf32>, %b: tensor<2x3xf32>, %c: "              \
    "tensor<2x2xbf16>) { %r = \"kernel.call\"(" arguments ") {" attributes     \
    "} : " types " return }"
#define PART(attributes)                                                       \
    "func.func @f(%a: tensor<2x2xf32>) { %r = \"canzona.factor\"(%a) "         \
    "{" attributes "} : (tensor<2x2xf32>) -> tensor<2x2xf32> return }"
#define CHOLESKY "factor = \"cholesky\", parameters = array<f64>"
#define PLACED ", offsets = array<i64: -1, -1>"

static void factorisations_are_those_of_the_table(void **state)
{
    static const char right[] =
        CALL("%a", CHOLESKY PLACED, "(tensor<2x2xf32>) -> tensor<2x2xf32>");
    static const struct bad texts[] = {
        {CALL("%a", "factor = \"svd\", parameters = array<f64>" PLACED,
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "do not go together"},
        {CALL("%a", CHOLESKY, "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "attribute 'offsets' is missing"},
        {CALL("%a", "parameters = array<f64>" PLACED,
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "attribute 'factor' is missing"},
        {CALL("%a", CHOLESKY PLACED ", deal = 2 : i64",
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "unknown attribute 'deal'"},
        {CALL("%b", CHOLESKY PLACED, "(tensor<2x3xf32>) -> tensor<2x3xf32>"),
         "do not go together"},
        {CALL("%c", CHOLESKY PLACED, "(tensor<2x2xbf16>) -> tensor<2x2xf32>"),
         "do not go together"},
        {CALL("%a, %a", CHOLESKY PLACED,
              "(tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "do not go together"},
        {CALL("%a",
              "factor = \"root\", parameters = array<f64: 0.5, 1.0>" PLACED,
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "do not go together"},
        {CALL("%a", "factor = \"root\", parameters = array<f64: -0.5>" PLACED,
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "do not go together"},
        {CALL("%a", "factor = \"eigh\", parameters = array<f64>" PLACED,
              "(tensor<2x2xf32>) -> tensor<2x2xf32>"),
         "do not go together"},
        {PART(CHOLESKY ", result = 1 : i64"), "do not go together"},
        {PART(CHOLESKY ", result = -1 : i64"), "do not go together"},
        {PART("factor = \"eigh\", parameters = array<f64>, result = 0 : i64"),
         "do not go together"},
    };
    fixture *f = *state;
    cz_ir *ir = cz_ir_parse(right, strlen(right), &f->diags);

    assert_non_null(ir);
    cz_ir_close(ir);
    assert_refused(f, texts, sizeof texts / sizeof *texts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(math_form_is_built_and_verified),
        TEST(print_survives_the_parser),
        TEST(bad_text_is_rejected_with_a_sentence),
        TEST(strings_are_short),
        TEST(a_reader_sees_what_was_built),
        TEST(kernel_form_is_built_and_read),
        TEST(attributes_are_changed_in_place),
        TEST(factorisations_are_those_of_the_table),
        TEST(a_pass_rewires_and_erases),
        TEST(kernel_text_needs_all_of_its_attributes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
