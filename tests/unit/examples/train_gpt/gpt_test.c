/* The model in float64: every gradient against central differences, and
 * properties that hold whatever the weights are. */
#include "examples/train_gpt/gpt.h"
#include "tests/unit/unit.h"
#include "examples/train_gpt/layers.h"

enum { VOCAB = 11, WIDTH = 8, LAYERS = 2, HEADS = 2, CONTEXT = 5, BATCH = 3 };

static const gpt_shape SHAPE = {VOCAB, WIDTH, LAYERS, HEADS, CONTEXT};

static void fill_windows(uint8_t *windows, int batch)
{
    for (int i = 0; i < batch * (CONTEXT + 1); i++)
        windows[i] = (uint8_t)((i * i + 3 * i) % VOCAB);
}

static gpt *open_model(uint64_t seed)
{
    gpt *model = gpt_open(&SHAPE, BATCH);
    assert_non_null(model);
    gpt_init(model, seed);
    return model;
}

/* (f(x + h) - f(x - h)) / 2h of the loss in one parameter element. */
static double difference(gpt *model, size_t at, const uint8_t *windows)
{
    const double h = 1e-5, kept = gpt_values(model)[at];

    gpt_values(model)[at] = kept + h;
    const double above = gpt_forward(model, windows, BATCH);
    gpt_values(model)[at] = kept - h;
    const double below = gpt_forward(model, windows, BATCH);
    gpt_values(model)[at] = kept;
    return (above - below) / (2 * h);
}

static void test_every_gradient_is_the_difference_quotient(void **state)
{
    uint8_t windows[BATCH * (CONTEXT + 1)];
    gpt *model = open_model(1);

    fill_windows(windows, BATCH);
    gpt_forward(model, windows, BATCH);
    gpt_backward(model);
    for (int i = 0; i < gpt_tensor_count(model); i++) {
        const gpt_tensor *tensor = gpt_tensor_get(model, i);
        double largest = 0;
        for (size_t j = 0; j < gpt_tensor_size(tensor); j++) {
            const size_t at = tensor->offset + j;
            const double grad = gpt_grads(model)[at];
            const double error = grad - difference(model, at, windows);
            if (fabs(error) > 1e-8 + 1e-6 * fabs(grad))
                fail_msg("%s[%zu]: %g is off by %g", tensor->name, j, grad,
                         error);
            largest = fmax(largest, fabs(grad));
        }
        if (largest < 1e-4)
            fail_msg("%s has no gradient to speak of", tensor->name);
    }
    gpt_close(model);
}

/* What a rank computes on its part of a batch averages to the whole. */
static void test_loss_is_the_mean_over_sequences(void **state)
{
    uint8_t windows[BATCH * (CONTEXT + 1)];
    gpt *model = open_model(2);
    double sum = 0;

    fill_windows(windows, BATCH);
    for (int i = 0; i < BATCH; i++)
        sum += gpt_forward(model, windows + i * (CONTEXT + 1), 1);
    const double whole = gpt_forward(model, windows, BATCH);
    assert_true(fabs(sum / BATCH - whole) < 1e-12);
    gpt_close(model);
}

static void test_zero_head_predicts_uniformly(void **state)
{
    uint8_t windows[BATCH * (CONTEXT + 1)];
    gpt *model = open_model(3);
    const gpt_tensor *head = gpt_tensor_get(model, gpt_tensor_count(model) - 1);

    assert_string_equal(head->name, "lm_head");
    fill_windows(windows, BATCH);
    memset(gpt_values(model) + head->offset, 0,
           gpt_tensor_size(head) * sizeof(gpt_real));
    const double loss = gpt_forward(model, windows, BATCH);
    assert_true(fabs(loss - log(VOCAB)) < 1e-12);
    gpt_close(model);
}

static void test_attention_does_not_see_the_future(void **state)
{
    const attention_shape shape = {1, CONTEXT, WIDTH, HEADS};
    gpt_real x[CONTEXT * WIDTH], before[CONTEXT * WIDTH];
    gpt_real after[CONTEXT * WIDTH], probs[HEADS * CONTEXT * CONTEXT];
    const size_t past = (CONTEXT - 1) * WIDTH;

    for (int i = 0; i < CONTEXT * WIDTH; i++)
        x[i] = sin(i + 1.0);
    attention_forward(before, probs, x, x, x, shape);
    for (size_t i = past; i < past + WIDTH; i++)
        x[i] += 1;
    attention_forward(after, probs, x, x, x, shape);
    assert_memory_equal(before, after, past * sizeof *x);
    assert_memory_not_equal(before + past, after + past, WIDTH * sizeof *x);
}

static void test_init_depends_on_the_seed_alone(void **state)
{
    gpt *a = open_model(7), *b = open_model(7), *c = open_model(8);
    const size_t bytes = gpt_value_count(a) * sizeof(gpt_real);

    assert_memory_equal(gpt_values(a), gpt_values(b), bytes);
    assert_memory_not_equal(gpt_values(a), gpt_values(c), bytes);
    gpt_close(a);
    gpt_close(b);
    gpt_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_gradient_is_the_difference_quotient),
        cmocka_unit_test(test_loss_is_the_mean_over_sequences),
        cmocka_unit_test(test_zero_head_predicts_uniformly),
        cmocka_unit_test(test_attention_does_not_see_the_future),
        cmocka_unit_test(test_init_depends_on_the_seed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
