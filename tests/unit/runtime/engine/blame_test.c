/* Ranks that hang, end or fail in the middle of a training: every other rank
 * names the right one.  Thirty are drawn, with plans, ranks and moments of
 * their own, and run side by side, as most of their time is the deadline. */
#define _POSIX_C_SOURCE 200809L
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/engine/engine.h"
#include "runtime/world/threads.h"
#include "tests/unit/runtime/engine/toy.h"

enum { N_SCENARIOS = 30, STEPS = 4, MAX_RANKS = 6, DEADLINE_MS = 3000 };

typedef enum kind {
    SLEEPS_BEFORE_A_STEP,
    SLEEPS_IN_A_KERNEL,
    SLEEPS_IN_BACKWARD,
    SLEEPS_BEHIND_ALL,
    EXITS_BEFORE_A_STEP,
    EXITS_BEHIND_ALL,
    RETURNS_EARLY,
    FAILS,
    N_KINDS
} kind;

typedef struct scenario {
    toy plan;
    kind kind;
    int size, victim, step;
    bool has_struck, was_in_kernel;
    czr_status returned, seen[MAX_RANKS];
    char said[MAX_RANKS][CZR_ERROR_BYTES];
    pthread_t thread;
} scenario;

static scenario scenarios[N_SCENARIOS];
static _Thread_local scenario
    *in_kernel; /* of the rank that will sleep there */
static _Thread_local czr_world *my_world;

static void sleep_until_all_is_lost(void)
{
    czr_threads_world *threads = my_world->common;
    bool is_lost = false;

    while (!is_lost) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        pthread_mutex_lock(&threads->lock);
        is_lost = threads->is_aborted;
        pthread_mutex_unlock(&threads->lock);
    }
}

static void strike_in_kernel(void)
{
    if (!in_kernel)
        return;
    in_kernel->has_struck = in_kernel->was_in_kernel = true;
    in_kernel = NULL;
    sleep_until_all_is_lost();
}

static void kernel(const czr_call *call)
{
    strike_in_kernel();
    toy_kernel(call);
}

static void kernel_stored(const czr_call *call)
{
    strike_in_kernel();
    toy_kernel_stored(call);
}

/* What the victim does; it may not return. */
static czr_status strike(scenario *self, czr_engine *engine)
{
    self->has_struck = true;
    switch (self->kind) {
    case SLEEPS_BEFORE_A_STEP:
    case SLEEPS_IN_BACKWARD:
    case SLEEPS_BEHIND_ALL:
    case SLEEPS_IN_A_KERNEL:
        if (self->kind == SLEEPS_IN_BACKWARD)
            czr_grad_ready(engine, self->step % TOY_PARAMS, NULL);
        sleep_until_all_is_lost();
        return CZR_OK;
    case EXITS_BEFORE_A_STEP:
    case EXITS_BEHIND_ALL:
        pthread_exit(NULL);
    case RETURNS_EARLY:
    case N_KINDS:
        return CZR_OK;
    case FAILS:
        return CZR_ERR_HYPER;
    }
    return CZR_OK;
}

static czr_status train(scenario *self, czr_world *world, czr_engine *engine)
{
    const bool is_victim = world->rank == self->victim;
    const bool is_late =
        self->kind == SLEEPS_BEHIND_ALL || self->kind == EXITS_BEHIND_ALL;
    czr_status status = CZR_OK;

    for (int step = 0; step < STEPS && status == CZR_OK; step++) {
        const bool is_now = is_victim && step == self->step;
        in_kernel = is_now && self->kind == SLEEPS_IN_A_KERNEL ? self : NULL;
        if (is_now && !in_kernel && !is_late)
            return strike(self, engine);
        status = czr_step(engine, &hyper, NULL, NULL);
    }
    if (is_victim && !self->has_struck)
        return strike(self, engine);
    return status == CZR_OK ? czr_world_barrier(world) : status;
}

static void close_engine(void *engine)
{
    czr_close(engine);
}

/* Closes the engine also where the thread ends. */
static czr_status train_and_close(scenario *self, czr_world *world,
                                  czr_engine *engine)
{
    pthread_cleanup_push(close_engine, engine);
    self->seen[world->rank] = train(self, world, engine);
    snprintf(self->said[world->rank], CZR_ERROR_BYTES, "%s%s",
             czr_error(engine), czr_world_error(world));
    pthread_cleanup_pop(1);
    return self->seen[world->rank];
}

static czr_status live(czr_world *world, void *user)
{
    const czr_options options = {.deadline_ms = DEADLINE_MS};
    scenario *self = user;
    czr_engine *engine;
    const czr_status status = toy_open(&self->plan, world, &options, &engine);

    my_world = world;
    if (status == CZR_OK)
        return train_and_close(self, world, engine);
    snprintf(self->said[world->rank], CZR_ERROR_BYTES, "%s", czr_error(engine));
    czr_close(engine);
    return self->seen[world->rank] = status;
}

static void *run(void *user)
{
    scenario *self = user;

    self->returned = czr_world_threads_run(self->size, live, self);
    return NULL;
}

static void init(scenario *self, uint32_t seed)
{
    static czr_stage stages[2];
    const uint32_t draw = toy_mix(seed, 1, 2, 3);
    const toy_options options = {.dp = (int)(draw % 3) + 1,
                                 .tp = draw % 3 == 0 ? 2
                                                     : 1 + (int)(draw / 3 % 2),
                                 .dtype = draw / 7 % 2 ? CZR_BF16 : CZR_F32,
                                 .grad_dtype = CZR_F32,
                                 .clip = draw / 11 % 2,
                                 .skip = (int)(draw / 13 % 2)};

    memcpy(stages, toy_stages, sizeof stages);
    stages[0].run = kernel;
    stages[1].run = kernel_stored;
    toy_init(&self->plan, &options);
    self->plan.program.stages = stages;
    self->size = options.dp * options.tp;
    self->kind = (kind)(seed % N_KINDS);
    self->victim = (int)(draw / 17 % (uint32_t)self->size);
    self->step = (int)(draw / 101 % STEPS);
    self->returned = CZR_N_STATUSES;
}

static void check(const scenario *self)
{
    const bool is_asleep = self->kind <= SLEEPS_BEHIND_ALL;
    char expected[64];

    snprintf(expected, sizeof expected,
             is_asleep             ? "for rank %d, which did not come"
             : self->kind == FAILS ? "rank %d failed"
                                   : "rank %d has ended",
             self->victim);
    for (int rank = 0; rank < self->size; rank++) {
        if (rank == self->victim)
            continue;
        if (!strstr(self->said[rank], expected))
            print_message("scenario %d, %d ranks: \"%s\" lacks \"%s\"\n",
                          (int)(self - scenarios), self->size, self->said[rank],
                          expected);
        assert_int_not_equal(self->seen[rank], CZR_OK);
        assert_non_null(strstr(self->said[rank], expected));
        assert_true(!self->was_in_kernel ||
                    strstr(self->said[rank], ", kernel of adamw"));
    }
    const bool exits =
        self->kind == EXITS_BEFORE_A_STEP || self->kind == EXITS_BEHIND_ALL;
    const czr_status expected_of_all = is_asleep             ? CZR_ERR_TIMEOUT
                                       : self->kind == FAILS ? CZR_ERR_HYPER
                                                             : CZR_ERR_ENDED;
    /* Where the calling thread ends, the call does not return. */
    assert_int_equal(self->returned, exits && self->victim == 0
                                         ? CZR_N_STATUSES
                                         : expected_of_all);
}

static void thirty_ranks_that_hang_or_end_are_named(void **state)
{
    int n_in_kernels = 0;

    for (uint32_t i = 0; i < N_SCENARIOS; i++)
        init(&scenarios[i], i);
    for (int i = 0; i < N_SCENARIOS; i++)
        assert_int_equal(
            pthread_create(&scenarios[i].thread, NULL, run, &scenarios[i]), 0);
    for (int i = 0; i < N_SCENARIOS; i++)
        pthread_join(scenarios[i].thread, NULL);
    for (int i = 0; i < N_SCENARIOS; i++) {
        check(&scenarios[i]);
        n_in_kernels += scenarios[i].was_in_kernel;
    }
    assert_true(n_in_kernels > 0);
}

/* A rank hangs in a kernel: what ranks did last, of a kernel with its stage and
 * flops, of what travels with its bytes. */
static void a_trace_says_what_operations_compute_and_move(void **state)
{
    static char text[1 << 22];
    char folder[] = "/tmp/czr_blame_XXXXXX", path[64];
    scenario *self = &scenarios[0];

    memset(self, 0, sizeof *self);
    init(self, SLEEPS_IN_A_KERNEL);
    assert_int_equal(self->kind, SLEEPS_IN_A_KERNEL);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/canzona.trace.json", folder);
    assert_int_equal(setenv("CZR_TRACE_FOLDER", folder, 1), 0);
    assert_int_equal(pthread_create(&self->thread, NULL, run, self), 0);
    pthread_join(self->thread, NULL);
    assert_int_equal(unsetenv("CZR_TRACE_FOLDER"), 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_int_equal(remove(path), 0);
    assert_int_equal(rmdir(folder), 0);
    const char *kernel = strstr(text, "{\"name\":\"kernel of adamw");
    assert_non_null(kernel);
    const char *flops = strstr(kernel, "\"flops\":");
    assert_non_null(flops);
    assert_true(flops < strchr(kernel, '\n'));
    assert_true(atoll(flops + strlen("\"flops\":")) > 0);
    const char *reduce = strstr(text, "{\"name\":\"reduce_scatter of bucket 0");
    assert_non_null(reduce);
    assert_true(strstr(reduce, "\"bytes\":") < strchr(reduce, '\n'));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thirty_ranks_that_hang_or_end_are_named),
        cmocka_unit_test(a_trace_says_what_operations_compute_and_move),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
