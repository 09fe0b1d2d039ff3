/* Names that are no parameters of the engine's: those of ties mean one that
 * is, frozen ones are refused as such. */
#include "runtime/engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/runtime/engine/toy.h"

static toy program;
static int n_wrong;

static const czr_family frozen = {
    .pattern = "still.bias", .n_dims = 1, .shape = {4}};
static czr_family tie = {.pattern = "again.w", .first_param = 1};

static void prepare(void)
{
    const toy_options options = {1, 1, CZR_F32, CZR_F32, 1, 1};

    toy_init(&program, &options);
    program.program.n_frozen = program.program.n_ties = 1;
    program.program.frozen = &frozen;
    program.program.ties = &tie;
    n_wrong = 0;
}

static czr_status open_body(czr_world *world, void *user)
{
    czr_engine *engine;
    const czr_status status = czr_open(&program.program, world, NULL, &engine);

    (void)user;
    czr_close(engine);
    return status;
}

static czr_status names_body(czr_world *world, void *user)
{
    czr_layout_info mine, again;
    czr_engine *e;
    czr_status status = czr_open(&program.program, world, NULL, &e);

    (void)user;
    if (status == CZR_OK) {
        n_wrong += czr_layout(e, "layers.1.w", &mine) != CZR_OK;
        n_wrong += czr_layout(e, "again.w", &again) != CZR_OK;
        n_wrong += mine.param != again.param || mine.grad != again.grad;
        n_wrong += czr_bind(e, "still.bias", NULL, NULL) != CZR_ERR_FROZEN;
        n_wrong += strstr(czr_error(e), "still.bias is frozen") == NULL;
        n_wrong += czr_layout(e, "still.bias", &again) != CZR_ERR_FROZEN;
        n_wrong += czr_layout(e, "moving.bias", &again) != CZR_ERR_NOT_FOUND;
        n_wrong += czr_bind(e, "layers.0.w", NULL, NULL) != CZR_OK;
        n_wrong += czr_bind(e, "bias", NULL, NULL) != CZR_OK;
        n_wrong += czr_bind(e, "scale", NULL, NULL) != CZR_OK;
        n_wrong += czr_seal(e) != CZR_ERR_UNBOUND;
        n_wrong += czr_bind(e, "again.w", NULL, NULL) != CZR_OK;
        status = czr_seal(e);
    }
    czr_close(e);
    return status;
}

static void a_tied_name_means_its_parameter(void **state)
{
    (void)state;
    prepare();
    assert_int_equal(czr_world_threads_run(1, names_body, NULL), CZR_OK);
    assert_int_equal(n_wrong, 0);
}

static void malformed_families_are_refused(void **state)
{
    czr_family bad = frozen;

    (void)state;
    prepare();
    tie.first_param = TOY_PARAMS;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                     CZR_ERR_VERSION);
    tie.first_param = 1;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL), CZR_OK);
    bad.pattern = "still.{0}";
    program.program.frozen = &bad;
    assert_int_equal(czr_world_threads_run(1, open_body, NULL),
                     CZR_ERR_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tied_name_means_its_parameter),
        cmocka_unit_test(malformed_families_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
