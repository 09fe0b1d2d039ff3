/* The interpreter: against C's own arithmetic, against sums written out by
 * hand, and one form of a rule against the other. */
#include "dsl/reference/reference.h"
#include "tests/unit/dsl/module.h"
#include "tests/unit/dsl/reference/reals.h"

static const cz_plan_view *view;

/* The sample in place of the empty module. */
static int setup_sample(void **state)
{
    if (setup(state))
        return 1;
    fixture *f = *state;
    cz_ir_close(f->ir);
    f->ir = cz_ir_parse(f->sample.bytes, f->sample.n, &f->diags);
    view = f->ir ? cz_plan_view_build(&f->arena, f->ir, &f->diags) : NULL;
    return !view;
}

/* ---- rounding ---- */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The textbook rounding on the bits of a float. */
static float bf16_of(uint32_t bits)
{
    return float_of((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
}

static void rounding_is_to_nearest_even(void **state)
{
    for (int i = 0; i < 200000; i++) {
        const uint32_t bits = (uint32_t)random_bits();
        const double x = (double)float_of(bits);
        if (!isfinite(x))
            continue;
        assert_true(cz_reference_round(CZ_F32, x) == x);
        assert_true(cz_reference_round(CZ_BF16, x) == (double)bf16_of(bits));
        const double y = ldexp(random_real(), (int)(random_bits() % 320) - 170);
        assert_true(cz_reference_round(CZ_F32, y) == (double)(float)y);
    }
    assert_true(cz_reference_round(CZ_BF16, 1.0 + 0x1p-8) == 1.0);
    assert_true(cz_reference_round(CZ_BF16, 1.0 + 0x1p-7 + 0x1p-8) ==
                1.0 + 0x1p-6);
    assert_true(cz_reference_round(CZ_BF16, 1.0 + 0x1p-8 + 0x1p-50) ==
                1.0 + 0x1p-7);
    assert_true(isinf(cz_reference_round(CZ_F32, 1e39)));
    assert_true(isnan(cz_reference_round(CZ_F32, NAN)));
    assert_true(signbit(cz_reference_round(CZ_BF16, -0.0)));
}

/* ---- a whole rule ---- */

enum { ROWS = 4, COLUMNS = 6, N = ROWS * COLUMNS };

/* mat.update of the sample, written out. */
static void mat_by_hand(const double *grad, const double *param,
                        const double *mom, double lr, double *param_out,
                        double *mom_out)
{
    double gram[ROWS][ROWS] = {{0}}, norm = 0.0;
    for (int i = 0; i < N; i++)
        mom_out[i] = mom[i] + grad[i];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++) {
            for (int k = 0; k < COLUMNS; k++)
                gram[i][j] +=
                    mom_out[i * COLUMNS + k] * mom_out[j * COLUMNS + k];
            norm += gram[i][j] * gram[i][j];
        }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            double y = 0.0;
            for (int k = 0; k < ROWS; k++)
                y += gram[i][k] * mom_out[k * COLUMNS + j];
            param_out[i * COLUMNS + j] =
                param[i * COLUMNS + j] - lr * y / sqrt(norm);
        }
}

typedef struct tensors {
    double grad[N], param[N], mom[N], param_out[N], mom_out[N];
} tensors;

static void run_mat(fixture *f, tensors *x, cz_reference_form form, bool round)
{
    const double *states[] = {x->mom};
    double *states_out[] = {x->mom_out};
    const double lr = 0.25;
    cz_reference_rule(f->ir, view,
                      &(cz_reference_call){.form = form,
                                           .round = round,
                                           .count = N,
                                           .t = 1.0,
                                           .clip = 0.5,
                                           .hypers = &lr,
                                           .grad = x->grad,
                                           .param = x->param,
                                           .states = states,
                                           .param_out = x->param_out,
                                           .states_out = states_out});
}

static void a_matrix_rule_equals_its_formula(void **state)
{
    fixture *f = *state;
    tensors x;
    double param[N], mom[N];
    fill(&x.grad[0], N);
    fill(&x.param[0], N);
    fill(&x.mom[0], N);
    mat_by_hand(x.grad, x.param, x.mom, 0.125, param, mom);
    for (int form = CZ_REFERENCE_MATH; form <= CZ_REFERENCE_STAGES; form++) {
        run_mat(f, &x, (cz_reference_form)form, false);
        assert_close(x.param_out, param, N);
        assert_close(x.mom_out, mom, N);
    }
}

static void both_forms_round_alike(void **state)
{
    fixture *f = *state;
    tensors math, stages;
    fill(&math.grad[0], N);
    fill(&math.param[0], N);
    fill(&math.mom[0], N);
    stages = math;
    run_mat(f, &math, CZ_REFERENCE_MATH, true);
    run_mat(f, &stages, CZ_REFERENCE_STAGES, true);
    assert_close(math.param_out, stages.param_out, N);
    assert_close(math.mom_out, stages.mom_out, N);
    tensors exact = math;
    run_mat(f, &exact, CZ_REFERENCE_MATH, false);
    double most = 0.0;
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs(exact.param_out[i] - math.param_out[i]));
    assert_true(most > 1e-6 && most < 1e-2);
}

static void outputs_may_be_inputs(void **state)
{
    fixture *f = *state;
    tensors x, y;
    fill(&x.grad[0], N);
    fill(&x.param[0], N);
    fill(&x.mom[0], N);
    y = x;
    run_mat(f, &x, CZ_REFERENCE_MATH, true);
    for (int form = CZ_REFERENCE_MATH; form <= CZ_REFERENCE_STAGES; form++) {
        tensors z = y;
        const double *states[] = {z.mom};
        double *states_out[] = {z.mom};
        const double lr = 0.25;
        cz_reference_rule(f->ir, view,
                          &(cz_reference_call){.form = (cz_reference_form)form,
                                               .round = true,
                                               .count = N,
                                               .t = 1.0,
                                               .clip = 0.5,
                                               .hypers = &lr,
                                               .grad = z.grad,
                                               .param = z.param,
                                               .states = states,
                                               .param_out = z.param,
                                               .states_out = states_out});
        assert_close(z.param, x.param_out, N);
        assert_close(z.mom, x.mom_out, N);
    }
}

static void an_element_wise_rule_takes_any_count(void **state)
{
    enum { COUNT = 37 };
    fixture *f = *state;
    double grad[COUNT], param[COUNT], out[COUNT];
    const double lr = 0.5;
    fill(grad, COUNT);
    fill(param, COUNT);
    for (int form = CZ_REFERENCE_MATH; form <= CZ_REFERENCE_STAGES; form++) {
        cz_reference_rule(f->ir, view,
                          &(cz_reference_call){.rule = 1,
                                               .form = (cz_reference_form)form,
                                               .count = COUNT,
                                               .t = 3.0,
                                               .clip = 1.0,
                                               .hypers = &lr,
                                               .grad = grad,
                                               .param = param,
                                               .param_out = out});
        for (int i = 0; i < COUNT; i++)
            assert_true(
                out[i] ==
                (fabs(grad[i]) < 0.125 ? param[i] : param[i] - 0.5 * grad[i]));
    }
}

static void a_prologue_is_rounded_once(void **state)
{
    double out[2];
    const double lr = 0.1;
    cz_reference_prologue(view, 1, true, 3.0, 1.0, &lr, out);
    assert_true(out[0] == (double)0.1f);
    assert_true(out[1] == (double)(float)pow(0.9, 3.0));
    cz_reference_prologue(view, 1, false, 3.0, 1.0, &lr, out);
    assert_true(out[0] == 0.1);
}

/* ---- tensors of math form ---- */

static void sums_and_broadcasts_follow_dims(void **state)
{
    fixture *f = *state;
    const int64_t shape[] = {2, 3}, row[] = {0}, column[] = {1};
    const cz_ir_type in = cz_ir_tensor_type(CZ_F64, 2, shape);
    const cz_ir_type rows = cz_ir_tensor_type(CZ_F64, 1, &shape[0]);
    const cz_ir_type columns = cz_ir_tensor_type(CZ_F64, 1, &shape[1]);
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){.name = "sums",
                           .n_in = 1,
                           .in = &in,
                           .n_out = 4,
                           .out = (cz_ir_type[]){rows, columns, in, in}},
        (cz_span){0});
    const cz_ir_value x = cz_ir_function_in(b.function, 0);
    const cz_ir_value by_row = cz_ir_reduce(&b, "sum", x, column, 1);
    const cz_ir_value by_column = cz_ir_reduce(&b, "sum", x, row, 1);
    const cz_ir_value out[] = {
        by_row, by_column, cz_ir_broadcast(&b, by_row, 2, shape, column, 1),
        cz_ir_broadcast(&b, by_column, 2, shape, row, 1)};
    cz_ir_return(&b, out, 4);
    assert_true(cz_ir_verify(f->ir));

    const double data[] = {1, 2, 3, 10, 20, 30};
    const double *inputs[] = {data};
    double r[2], c[3], rr[6], cc[6];
    double *outputs[] = {r, c, rr, cc};
    cz_reference_function(b.function, false, 0, inputs, outputs);
    assert_close(r, (const double[]){6, 60}, 2);
    assert_close(c, (const double[]){11, 22, 33}, 3);
    assert_close(rr, (const double[]){6, 6, 6, 60, 60, 60}, 6);
    assert_close(cc, (const double[]){11, 22, 33, 11, 22, 33}, 6);
}

/* c = 0.99 + 1.36 of constants, c by way of a choice, c * x, and x back from
 * f64: what simplification folds, in f32, has the same value unfolded. */
static void what_may_be_folded_has_the_value_of_folding(void **state)
{
    fixture *f = *state;
    const cz_ir_type type = cz_ir_scalar_type(CZ_F32);
    const cz_ir_type types[] = {type, type, type, type};
    cz_ir_builder b = cz_ir_function(
        f->ir,
        &(cz_ir_signature){
            .name = "folds", .n_in = 1, .in = types, .n_out = 4, .out = types},
        (cz_span){0});
    const cz_ir_value x = cz_ir_function_in(b.function, 0);
    const cz_ir_value c =
        cz_ir_binary(&b, CZ_OP_ADD, cz_ir_constant(&b, type, 0.99),
                     cz_ir_constant(&b, type, 1.36));
    const cz_ir_value out[] = {
        c, cz_ir_select(&b, cz_ir_compare(&b, "olt", x, c), c, c),
        cz_ir_binary(&b, CZ_OP_MUL, c, x),
        cz_ir_convert(&b, cz_ir_convert(&b, x, CZ_F64), CZ_F32)};
    cz_ir_return(&b, out, 4);

    const double data = 1.0 + 0x1p-40, *inputs[] = {&data};
    const double folded = (double)(0.99f + 1.36f);
    double r[4], *outputs[] = {&r[0], &r[1], &r[2], &r[3]};
    for (int round = 0; round < 2; round++) {
        cz_reference_function(b.function, round, 0, inputs, outputs);
        assert_true(r[0] == folded && r[1] == folded);
        assert_true(r[2] == folded * data && r[3] == data);
    }
}

/* NaN wins over numbers, 0 over -0; comparisons with NaN are false but une. */
static void corners_of_arithmetic(void **state)
{
    const struct corner {
        cz_opcode op;
        const char *predicate;
        double a, b, result;
    } corners[] = {
        {CZ_OP_MAX, NULL, -0.0, 0.0, 0.0},
        {CZ_OP_MAX, NULL, 0.0, -0.0, 0.0},
        {CZ_OP_MIN, NULL, 0.0, -0.0, -0.0},
        {CZ_OP_MIN, NULL, -0.0, 0.0, -0.0},
        {CZ_OP_MAX, NULL, NAN, 1.0, NAN},
        {CZ_OP_MIN, NULL, 1.0, NAN, NAN},
        {CZ_OP_MAX, NULL, 1.0, 2.0, 2.0},
        {CZ_OP_MIN, NULL, 1.0, 2.0, 1.0},
        {CZ_OP_COMPARE, "oeq", NAN, NAN, 0},
        {CZ_OP_COMPARE, "une", NAN, 1, 1},
        {CZ_OP_COMPARE, "une", 1, 1, 0},
        {CZ_OP_COMPARE, "oge", 1, 1, 1},
        {CZ_OP_COMPARE, "ogt", 1, 1, 0},
        {CZ_OP_COMPARE, "ole", 1, 1, 1},
        {CZ_OP_COMPARE, "olt", 1, 1, 0},
        {CZ_OP_COMPARE, "olt", NAN, 1, 0},
        {CZ_OP_COPYSIGN, NULL, 3, -0.0, -3},
        {CZ_OP_FLOOR, NULL, -0.5, 0, -1},
        {CZ_OP_POW, NULL, 2, 10, 1024},
        {CZ_OP_NEG, NULL, 0.0, 0, -0.0},
        {CZ_OP_HASH, NULL, 0, 0, 7956156453446585.0}, /* SplitMix64's first */
        {CZ_OP_HASH, NULL, 3, 1, 1277899132787245.0},
        {CZ_OP_HASH, NULL, 1, 3, 5788399681581690.0},
    };
    for (size_t i = 0; i < sizeof corners / sizeof *corners; i++) {
        const struct corner *c = &corners[i];
        const cz_view_expr expr = {.op = c->op,
                                   .dtype = CZ_F64,
                                   .args = {0, 1, 0},
                                   .predicate = c->predicate};
        const int out = 2;
        const cz_view_body body = {
            .n_in = 2, .n_exprs = 1, .exprs = &expr, .n_out = 1, .out = &out};
        double result;
        cz_reference_body(&body, false, (const double[]){c->a, c->b}, &result);
        const bool same = isnan(c->result)
                              ? isnan(result)
                              : result == c->result &&
                                    !signbit(result) == !signbit(c->result);
        if (!same)
            fail_msg("corner %zu gave %g", i, result);
    }
}

int main(void)
{
#define SAMPLED(name)                                                          \
    cmocka_unit_test_setup_teardown(name, setup_sample, teardown)
    const struct CMUnitTest tests[] = {
        SAMPLED(rounding_is_to_nearest_even),
        SAMPLED(a_matrix_rule_equals_its_formula),
        SAMPLED(both_forms_round_alike),
        SAMPLED(outputs_may_be_inputs),
        SAMPLED(an_element_wise_rule_takes_any_count),
        SAMPLED(a_prologue_is_rounded_once),
        SAMPLED(sums_and_broadcasts_follow_dims),
        SAMPLED(what_may_be_folded_has_the_value_of_folding),
        SAMPLED(corners_of_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
