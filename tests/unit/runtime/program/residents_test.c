/* Buckets that only some ranks have: layers on the first stage of a pipeline,
 * vectors on the second, two ranks of data parallelism each. */
#include "tests/unit/unit.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

enum { DP = 2, STAGES = 2, STEPS = 3, STAGE_AXES = 1 << 1 };

static const int32_t homes[] = {0, 1};

typedef struct job {
    toy toy;
    czr_options options;
    int with_hooks;
    char why[CZR_ERROR_BYTES];
} job;

/* Rows of each dp coordinate, as those of its rank on the bucket's stage. */
static void spread_starts(toy *self, int table, int stage)
{
    int32_t old[DP + 1], *starts = self->starts[table];

    memcpy(old, starts, sizeof old);
    for (int rank = 0; rank < DP * STAGES; rank++)
        starts[rank] = old[rank / STAGES + (rank % STAGES > stage)];
    starts[DP * STAGES] = old[DP];
    self->tables[table].selector = 3;
}

static void make_program(toy *self)
{
    const toy_options options = {.dp = DP,
                                 .tp = 1,
                                 .dtype = CZR_BF16,
                                 .grad_dtype = CZR_F32,
                                 .clip = 1,
                                 .skip = 1};

    toy_init(self, &options);
    self->sizes[1] = STAGES;
    self->patterns[0].shard[0] = 0;
    self->ops[5].n_waits = self->ops[4].n_waits; /* which a stage skips */
    self->ops[5].waits = self->ops[4].waits;
    for (int b = 0; b < 2; b++) {
        self->buckets[b].resident_axes = STAGE_AXES;
        self->buckets[b].n_residents = 1;
        self->buckets[b].residents = &homes[b];
        spread_starts(self, b, b);
        spread_starts(self, 2 + b, b);
    }
}

static bool is_here(const czr_world *world, int param)
{
    return world->rank % STAGES == (toy_is_matrix(param) ? 0 : 1);
}

/* What is elsewhere has a name, and no place. */
static czr_status bind_all(czr_engine *engine, const czr_world *world,
                           czr_layout_info *layouts)
{
    for (int param = 0; param < TOY_PARAMS; param++) {
        const czr_status expected =
            is_here(world, param) ? CZR_OK : CZR_ERR_ELSEWHERE;
        char name[32];
        assert_int_equal(czr_param_name(engine, param, name, sizeof name),
                         CZR_OK);
        assert_string_equal(name, names[param]);
        if (param == 1 + 2 * (world->rank % STAGES))
            assert_int_equal(czr_seal(engine), CZR_ERR_UNBOUND);
        assert_int_equal(czr_layout(engine, name, &layouts[param]), expected);
        assert_int_equal(czr_bind(engine, name, NULL, NULL), expected);
        for (int64_t i = 0; expected == CZR_OK && i < layouts[param].n; i++)
            ((czr_bf16 *)layouts[param].param)[i] =
                czr_f32_to_bf16(toy_param(param, i));
    }
    return czr_seal(engine);
}

static void fill_grads(const czr_world *world, const czr_layout_info *layout,
                       int param, int step)
{
    const int first = world->rank / STAGES * (int)layout->n_grads;
    float *grad = layout->grad;

    for (int leaf = 0; leaf < layout->n_grads; leaf++)
        for (int64_t i = 0; i < layout->n; i++)
            grad[leaf * layout->grad_stride + i] =
                toy_grad(param, i, first + leaf, step);
}

static czr_status one_step(czr_engine *engine, const job *run,
                           const czr_world *world,
                           const czr_layout_info *layouts, int step,
                           toy_reference *reference)
{
    czr_result result;

    for (int param = 0; param < TOY_PARAMS; param++) {
        if (is_here(world, param))
            fill_grads(world, &layouts[param], param, step);
        if (run->with_hooks)
            assert_int_equal(czr_grad_ready(engine, param, NULL),
                             is_here(world, param) ? CZR_OK
                                                   : CZR_ERR_ELSEWHERE);
    }
    const czr_status status = czr_step(engine, &hyper, NULL, &result);
    if (status != CZR_OK)
        return status;
    toy_reference_step(reference, step, 1, rates[0]);
    if (fabs(result.grad_norm - reference->norm) > 1e-6 * reference->norm)
        return CZR_ERR_MISMATCH;
    for (int param = 0; param < TOY_PARAMS; param++)
        for (int64_t i = 0; is_here(world, param) && i < layouts[param].n; i++)
            if (((czr_bf16 *)layouts[param].param)[i] !=
                czr_f32_to_bf16(reference->master[param][i]))
                return CZR_ERR_MISMATCH;
    return CZR_OK;
}

static czr_status check_counters(const czr_engine *engine,
                                 const czr_world *world)
{
    czr_counters counters;

    if (czr_counters_get(engine, &counters) != CZR_OK)
        return CZR_ERR_STATE;
    for (int param = 0; param < TOY_PARAMS; param++)
        if (counters.updates[param] && !is_here(world, param))
            return CZR_ERR_STATE;
    for (int b = 0; b < 2; b++) {
        const bool has_bucket = world->rank % STAGES == b;
        const czr_spaces *spaces = &engine->spaces[b];
        if ((spaces->param != NULL) != has_bucket ||
            (spaces->master != NULL) != has_bucket ||
            (counters.bytes_received[b] > 0) !=
                (has_bucket && spaces->slice.n > 0))
            return CZR_ERR_STATE;
    }
    return CZR_OK;
}

static czr_status body(czr_world *world, void *user)
{
    const job *run = user;
    czr_layout_info layouts[TOY_PARAMS];
    toy_reference reference;
    czr_engine *engine;

    toy_reference_init(&reference);
    for (int param = 0; param < TOY_PARAMS; param++)
        for (int64_t i = 0; i < toy_elements(param); i++)
            reference.master[param][i] =
                czr_bf16_to_f32(czr_f32_to_bf16(reference.master[param][i]));
    czr_status status =
        czr_open(&run->toy.program, world, &run->options, &engine);
    if (status == CZR_OK)
        status = bind_all(engine, world, layouts);
    for (int step = 0; step < STEPS && status == CZR_OK; step++)
        status = one_step(engine, run, world, layouts, step, &reference);
    if (status == CZR_OK)
        status = check_counters(engine, world);
    czr_close(engine);
    return status;
}

static void stages_update_what_they_have(void **state)
{
    for (int variant = 0; variant < 4; variant++) {
        job run = {
            .options = {.late_device = variant & 1, .deadline_ms = 20000},
            .with_hooks = variant >> 1};
        make_program(&run.toy);
        assert_int_equal(czr_world_threads_run(DP * STAGES, body, &run),
                         CZR_OK);
    }
}

/* ---- programs that cannot be ---- */

static czr_status open_body(czr_world *world, void *user)
{
    job *run = user;
    czr_engine *engine;
    const czr_status status =
        czr_open(&run->toy.program, world, &run->options, &engine);

    if (world->rank == 0)
        snprintf(run->why, sizeof run->why, "%s", czr_error(engine));
    czr_close(engine);
    return status;
}

static void expect_form(job *run, const char *what)
{
    assert_int_equal(czr_world_threads_run(DP * STAGES, open_body, run),
                     CZR_ERR_VERSION);
    assert_non_null(strstr(run->why, what));
    make_program(&run->toy);
}

static void homes_that_cannot_be_are_refused(void **state)
{
    static const int32_t descending[] = {1, 0}, beyond[] = {2};
    job run = {.options = {.deadline_ms = 20000}};
    czr_bucket *bucket = &run.toy.buckets[0];

    make_program(&run.toy);
    bucket->resident_axes = 4;
    expect_form(&run, "residents of bucket (0)");
    bucket->resident_axes = 1; /* it is split over this axis */
    expect_form(&run, "residents of bucket (0)");
    bucket->n_residents = 0;
    expect_form(&run, "residents of bucket (0)");
    bucket->resident_axes = 0;
    expect_form(&run, "residents of bucket (0)");
    bucket->residents = descending;
    bucket->n_residents = 2;
    expect_form(&run, "residents of bucket (0)");
    bucket->residents = beyond;
    expect_form(&run, "residents of bucket (0)");
    run.toy.ops[0].comm = 3;
    expect_form(&run, "communicator of operation (0)");
    run.toy.buckets[1].residents =
        &homes[0]; /* its rows are on the other stage */
    run.toy.buckets[0].residents = &homes[1];
    expect_form(&run, "row of table (0)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_update_what_they_have),
        cmocka_unit_test(homes_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
