/* Layers, not patterns, come one after the other: a bucket is complete when
 * few layers have passed the backward pass. */
#include "passes/grid/gradient_order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(const char *const *names, const int *order, int n)
{
    cz_arena arena;
    cz_view_param params[16] = {0};
    cz_plan_view view = {.n_params = n, .params = params};
    for (int p = 0; p < n; p++)
        params[p].name = names[p];
    cz_arena_init(&arena);
    const int *place = cz_gradient_order(&arena, &view);
    for (int i = 0; i < n; i++)
        assert_int_equal(place[order[i]], i);
    cz_arena_fini(&arena);
}

static void
test_patterns_count_layers_but_gradients_come_by_layer(void **unused)
{
    static const char *const names[] = {
        "embed.weight",        "layers.0.q.weight",  "layers.1.q.weight",
        "layers.10.q.weight",  "layers.0.up.weight", "layers.1.up.weight",
        "layers.10.up.weight", "norm.weight",        "head.weight"};
    static const int order[] = {8, 7, 6, 3, 5, 2, 4, 1, 0};
    (void)unused;
    expect(names, order, 9);
}

static void test_experts_are_in_their_layer_as_they_are_defined(void **unused)
{
    static const char *const names[] = {
        "layers.0.experts.0.up", "layers.0.experts.1.up",
        "layers.1.experts.0.up", "layers.1.experts.1.up", "layers.0.norm"};
    static const int order[] = {3, 2, 4, 1, 0};
    (void)unused;
    expect(names, order, 5);
}

static void test_other_prefixes_are_other_layers(void **unused)
{
    static const char *const names[] = {"encoder.0.w", "encoder.1.w",
                                        "decoder.0.w", "decoder.1.w",
                                        "encoder.1.v", "w2.x"};
    static const int order[] = {5, 3, 2, 4, 1, 0};
    (void)unused;
    expect(names, order, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            test_patterns_count_layers_but_gradients_come_by_layer),
        cmocka_unit_test(test_experts_are_in_their_layer_as_they_are_defined),
        cmocka_unit_test(test_other_prefixes_are_other_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
