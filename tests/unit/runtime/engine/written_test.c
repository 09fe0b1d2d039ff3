/* A parameter that the trainer writes between steps, under a master that does
 * not know: lost without a word, unless the runtime looks (CZR_DEBUG). */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/unit.h"

#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

enum { RANKS = 2, BIAS = 2 };

/* What happens between the second step and the third. */
typedef enum kind {
    NOTHING,
    WRITES_IN_PLACE,
    WRITES_ITS_OWN,
    RENEWS,
    WRITES_MASTERS,
    KINDS
} kind;

typedef struct trial {
    toy plan;
    kind kind;
    bool one_writes; /* rank 1 alone */
    czr_status seen[RANKS];
    char said[RANKS][CZR_ERROR_BYTES];
    float lost[RANKS]; /* how far the parameter is from what was written */
} trial;

static czr_bf16 *bias_of(czr_engine *engine, czr_bf16 *own)
{
    czr_layout_info layout;

    czr_layout(engine, names[BIAS], &layout);
    return own ? own : layout.param;
}

static czr_status open(trial *t, czr_world *world, czr_bf16 *own,
                       czr_engine **engine)
{
    static const int64_t shape[] = {5};
    const czr_tensor tensor = {own, CZR_BF16, 1, shape, NULL};
    czr_status status = czr_open(&t->plan.program, world, &quick, engine);

    for (int i = 0; i < TOY_PARAMS && status == CZR_OK; i++)
        status = czr_bind(*engine, names[i], i == BIAS && own ? &tensor : NULL,
                          NULL);
    return status == CZR_OK ? czr_seal(*engine) : status;
}

static czr_status meddle(const trial *t, czr_engine *engine, czr_bf16 *own)
{
    czr_bf16 *bias = bias_of(engine, own);
    czr_state master;

    if (t->kind == NOTHING || (t->one_writes && engine->rank != 1))
        return CZR_OK;
    if (t->kind == WRITES_MASTERS) {
        czr_master_get(engine, BIAS, &master);
        for (int64_t i = 0; i < master.n; i++)
            ((float *)master.data)[i] = 8;
        return CZR_OK;
    }
    for (int i = 0; i < 5; i++)
        bias[i] = czr_f32_to_bf16(8);
    return t->kind == RENEWS ? czr_masters_renew(engine) : CZR_OK;
}

static czr_status body(czr_world *world, void *user)
{
    trial *t = user;
    const int rank = czr_world_rank(world);
    czr_bf16 memory[5] = {0}, *own = t->kind == WRITES_ITS_OWN ? memory : NULL;
    czr_engine *engine = NULL;
    czr_status status = open(t, world, own, &engine);

    for (int step = 0; step < 2 && status == CZR_OK; step++)
        status = czr_step(engine, &hyper, NULL, NULL);
    if (status == CZR_OK)
        status = meddle(t, engine, own);
    if (status == CZR_OK)
        status = t->seen[rank] = czr_step(engine, &hyper, NULL, NULL);
    /* Gradients are zero: a step shrinks by 5 % and no more. */
    t->lost[rank] = 8 - czr_bf16_to_f32(bias_of(engine, own)[0]);
    snprintf(t->said[rank], CZR_ERROR_BYTES, "%s", czr_error(engine));
    czr_close(engine);
    return status;
}

static trial run(kind k, czr_dtype dtype, bool one_writes)
{
    const toy_options options = {RANKS, 1, dtype, CZR_F32, 1, 1};
    trial *t = calloc(1, sizeof *t);
    trial result;

    toy_init(&t->plan, &options);
    t->kind = k;
    t->one_writes = one_writes;
    czr_world_threads_run(RANKS, body, t);
    result = *t;
    free(t);
    return result;
}

static void expect_named(const trial *t)
{
    for (int rank = 0; rank < RANKS; rank++) {
        assert_true(t->seen[rank] == CZR_ERR_WRITTEN ||
                    t->seen[rank] == CZR_ERR_ABORTED);
        assert_non_null(
            strstr(t->said[rank], "bias was written since the last step"));
    }
    assert_int_equal(t->seen[1], t->one_writes ? CZR_ERR_WRITTEN : t->seen[1]);
}

static void weights_written_under_a_master_are_noticed(void **state)
{
    trial t;

    t = run(WRITES_IN_PLACE, CZR_BF16, false);
    expect_named(&t);
    t = run(WRITES_ITS_OWN, CZR_BF16, false);
    expect_named(&t);
    t = run(WRITES_IN_PLACE, CZR_BF16, true);
    expect_named(&t);
}

static void what_is_said_or_has_no_master_is_no_mistake(void **state)
{
    static const struct {
        kind kind;
        czr_dtype dtype;
        bool is_kept;
    } cases[] = {{NOTHING, CZR_BF16, false},
                 {RENEWS, CZR_BF16, true},
                 {WRITES_MASTERS, CZR_BF16, true},
                 {NOTHING, CZR_F32, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const trial t = run(cases[i].kind, cases[i].dtype, false);
        for (int rank = 0; rank < RANKS; rank++) {
            assert_int_equal(t.seen[rank], CZR_OK);
            if (cases[i].dtype == CZR_BF16)
                assert_int_equal(t.lost[rank] < 1, cases[i].is_kept);
        }
    }
}

static int setup(void **state)
{
    return setenv("CZR_DEBUG", "1", 1);
}

static int teardown(void **state)
{
    return unsetenv("CZR_DEBUG");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weights_written_under_a_master_are_noticed),
        TEST(what_is_said_or_has_no_master_is_no_mistake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
