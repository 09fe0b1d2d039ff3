/* Ranks that are not in the same step: in another engine of their world, at
 * another update, with another rate.  All learn who differs and in what, and
 * nobody writes anything. */
#include "tests/unit/unit.h"
#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"

enum { RANKS = 3, RANKS_MOST = 6, N_ENGINES = 2 };

/* What the rank that differs does. */
typedef enum difference {
    CROSSES_ENGINES,
    SKIPS_UPDATES,
    HAS_ANOTHER_RATE,
    HAS_DRIFTED /* a bit of a copy has */
} difference;

typedef struct job {
    toy plan;
    czr_options options;
    difference difference;
    int rank; /* that differs; -1: none */
    czr_status seen[RANKS_MOST];
    char said[RANKS_MOST][CZR_ERROR_BYTES];
    bool was_written[RANKS_MOST];
} job;

static float first_param_of(czr_engine *engine)
{
    czr_layout_info info;

    if (czr_layout(engine, "bias", &info) != CZR_OK)
        return NAN;
    return *(const float *)info.param;
}

/* A bit of this rank's copy of a parameter is another than on other ranks. */
static czr_status drift(czr_engine *engine, const char *name)
{
    czr_layout_info info;
    const czr_status status = czr_layout(engine, name, &info);

    if (status == CZR_OK)
        *(unsigned char *)info.param ^= 1;
    return status;
}

static void draw(czr_engine *engine)
{
    czr_layout_info info;

    for (int param = 0; param < TOY_PARAMS; param++) {
        if (czr_layout(engine, names[param], &info) != CZR_OK)
            return;
        for (int64_t i = 0; i < info.n; i++)
            ((float *)info.param)[i] = toy_param(param, i);
        for (int64_t leaf = 0; leaf < info.n_grads; leaf++)
            for (int64_t i = 0; i < info.n; i++)
                ((float *)info.grad)[leaf * info.grad_stride + i] =
                    toy_grad(param, i, (int)leaf, 0);
    }
}

/* Two steps of each engine; the second is where one differs. */
static czr_status train(job *self, int rank, czr_engine *engines[])
{
    const bool differs = rank == self->rank;
    const double other_rate[] = {rates[0] * 1.000001};
    const czr_hyper other = {other_rate, 1};
    const bool is_crossed = differs && self->difference == CROSSES_ENGINES;
    const bool has_rate = differs && self->difference == HAS_ANOTHER_RATE;
    czr_status status = CZR_OK;

    for (int k = 0; k < N_ENGINES && status == CZR_OK; k++)
        status = czr_step(engines[k], &hyper, NULL, NULL);
    if (status == CZR_OK && differs && self->difference == SKIPS_UPDATES)
        status = czr_step_set(engines[0], 7);
    if (status == CZR_OK && differs && self->difference == HAS_DRIFTED)
        status = drift(engines[0], "layers.1.w");
    const float before[] = {first_param_of(engines[0]),
                            first_param_of(engines[1])};
    for (int k = 0; k < N_ENGINES && status == CZR_OK; k++) {
        czr_engine *engine = engines[is_crossed ? 1 - k : k];
        status = czr_step(engine, has_rate ? &other : &hyper, NULL, NULL);
        snprintf(self->said[rank], CZR_ERROR_BYTES, "%s", czr_error(engine));
    }
    self->was_written[rank] = before[0] != first_param_of(engines[0]) ||
                              before[1] != first_param_of(engines[1]);
    return status;
}

static czr_status body(czr_world *world, void *user)
{
    job *self = user;
    czr_engine *engines[N_ENGINES] = {NULL};
    czr_status status = CZR_OK;

    for (int k = 0; k < N_ENGINES && status == CZR_OK; k++) {
        status = toy_open(&self->plan, world, &self->options, &engines[k]);
        if (status == CZR_OK)
            draw(engines[k]);
    }
    if (status == CZR_OK)
        status = train(self, world->rank, engines);
    for (int k = 0; k < N_ENGINES; k++)
        czr_close(engines[k]);
    return self->seen[world->rank] = status;
}

static void run(job *self, toy_options options, bool has_guard,
                czr_status expected)
{
    const int ranks = options.dp * options.tp;

    self->options.deadline_ms = quick.deadline_ms;
    toy_init(&self->plan, &options);
    if (!has_guard) /* the norm's sum decides alone; nothing is kept */
        self->plan.ops[2] = self->plan.ops[3];
    assert_int_equal(czr_world_threads_run(ranks, body, self), expected);
    for (int rank = 0; rank < ranks; rank++) {
        assert_int_equal(self->seen[rank], expected);
        assert_int_equal(self->was_written[rank],
                         expected == CZR_OK || self->options.replica_check);
    }
}

/* Of any rank, by the guard or by the norm, among three or two. */
static void all_say(difference kind, const char *what)
{
    for (int i = 0; i < 4; i++) {
        const int ranks = i < 3 ? RANKS : 2;
        job self = {.difference = kind, .rank = i % ranks};
        char who[16];
        run(&self, toy_usual(ranks), i % 2, CZR_ERR_MISMATCH);
        snprintf(who, sizeof who, ": rank %d ", ranks == 2 ? 1 : self.rank);
        for (int rank = 0; rank < ranks; rank++) {
            assert_non_null(strstr(self.said[rank], who));
            assert_non_null(strstr(self.said[rank], what));
        }
    }
}

static void engines_that_are_crossed_stop_all_ranks(void **state)
{
    all_say(CROSSES_ENGINES, " engine 2 of its world");
}

static void a_rank_at_another_update_stops_all_ranks(void **state)
{
    all_say(SKIPS_UPDATES, "update 8");
}

static void a_rank_with_another_rate_stops_all_ranks(void **state)
{
    all_say(HAS_ANOTHER_RATE, "other run-time values");
}

/* The second parameter, which is compared in the second step: its copies are
 * those of ranks that differ over dp alone. */
static void a_copy_that_has_drifted_stops_all_ranks(void **state)
{
    for (int tp = 1; tp < 3; tp++) {
        job self = {.difference = HAS_DRIFTED,
                    .rank = 1,
                    .options = {.replica_check = 1}};
        toy_options options = toy_usual(3);
        options.tp = tp;
        run(&self, options, true, CZR_ERR_MISMATCH);
        for (int rank = 0; rank < 3 * tp; rank++)
            assert_non_null(strstr(
                self.said[rank],
                tp > 1 ? "layers.1.w: before this step the copy of rank 1 was "
                         "not that of rank 5"
                       : "layers.1.w: before this step the copy of rank 1 was "
                         "not that of rank 2"));
    }
}

static void copies_are_compared_so_often_as_asked(void **state)
{
    job self = {
        .difference = HAS_DRIFTED, .rank = 1, .options = {.replica_check = 3}};

    run(&self, toy_usual(RANKS), true, CZR_OK);
}

static void ranks_that_are_alike_go_on(void **state)
{
    for (int has_guard = 0; has_guard < 2; has_guard++) {
        job self = {.rank = -1, .options = {.replica_check = has_guard}};
        run(&self, toy_usual(RANKS), has_guard, CZR_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_that_are_crossed_stop_all_ranks),
        cmocka_unit_test(a_rank_at_another_update_stops_all_ranks),
        cmocka_unit_test(a_rank_with_another_rate_stops_all_ranks),
        cmocka_unit_test(a_copy_that_has_drifted_stops_all_ranks),
        cmocka_unit_test(copies_are_compared_so_often_as_asked),
        cmocka_unit_test(ranks_that_are_alike_go_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
