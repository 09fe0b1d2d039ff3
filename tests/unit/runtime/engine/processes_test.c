/* Ranks that are processes and are killed, stand still, leave or err in the
 * middle of a training: all others name the right one, within the deadline.
 * Plans, ranks and operations are drawn; PROCESSES says how many (8), and
 * PROCESSES_SEED from which number on. */
#define _GNU_SOURCE
#include "tests/unit/unit.h"

#include "runtime/engine/engine.h"
#include "tests/unit/runtime/engine/toy.h"
#include "tests/unit/runtime/world/processes.h"

enum { STEPS = 4, MAX_RANKS = 6, DEADLINE_MS = 900, SLACK_MS = 2000 };

typedef enum kind { IS_KILLED, STANDS, LEAVES, ERRS, N_KINDS } kind;

typedef struct scenario {
    toy_options options;
    kind kind;
    int size, victim;
    int64_t exchange; /* of the plan's, before which it strikes */
    volatile bool has_struck;
    czr_status seen[MAX_RANKS];
    int64_t ms[MAX_RANKS]; /* from the last exchange that began */
    char said[MAX_RANKS][CZR_ERROR_BYTES];
} scenario;

static scenario *of; /* shared by processes */
static int64_t began_ms;

static czr_status strike(process *self, int channel, char *why)
{
    began_ms = channel == CZR_CHANNELS - 1 ? began_ms : process_now_ms();
    if (self->rank != of->victim || channel != CZR_CHANNEL_PLAN ||
        self->n_exchanges[channel] != of->exchange)
        return CZR_OK;
    of->has_struck = true;
    switch (of->kind) {
    case IS_KILLED:
        raise(SIGKILL);
        break;
    case STANDS:
        raise(SIGSTOP);
        break;
    case LEAVES:
        _exit(0);
    case ERRS:
        snprintf(why, CZR_WHY_BYTES, "the cable is gone");
        return CZR_ERR_MPI;
    case N_KINDS:
        break;
    }
    return CZR_OK;
}

static int train(process *self, void *user)
{
    const czr_options options = {.deadline_ms = DEADLINE_MS};
    czr_transport transport = process_transport(self);
    czr_engine *engine = NULL;
    czr_world *world;
    toy plan;

    alarm(60);
    self->strike = strike;
    toy_init(&plan, &of->options);
    if (czr_world_open(&transport, &world) != CZR_OK)
        return 1;
    czr_status status = toy_open(&plan, world, &options, &engine);
    for (int step = 0; step < STEPS && status == CZR_OK; step++)
        status = czr_step(engine, &hyper, NULL, NULL);
    of->seen[self->rank] = status;
    of->ms[self->rank] = process_now_ms() - began_ms;
    snprintf(of->said[self->rank], CZR_ERROR_BYTES, "%s", czr_error(engine));
    czr_close(engine);
    czr_world_close(world);
    return 0;
}

static void init(uint32_t seed)
{
    const uint32_t draw = toy_mix(seed, 5, 6, 7);

    memset(of, 0, sizeof *of);
    of->options =
        (toy_options){.dp = (int)(draw % 3) + 1,
                      .tp = draw % 3 == 0 ? 2 : 1 + (int)(draw / 3 % 2),
                      .dtype = draw / 7 % 2 ? CZR_BF16 : CZR_F32,
                      .grad_dtype = CZR_F32,
                      .clip = draw / 11 % 2,
                      .skip = (int)(draw / 13 % 2)};
    of->size = of->options.dp * of->options.tp;
    of->kind = (kind)(seed % N_KINDS);
    of->victim = (int)(draw / 17 % (uint32_t)of->size);
    of->exchange = draw / 101 % 14;
}

static void check(uint32_t seed, const int how[PROCESSES_MOST])
{
    char expected[64];

    snprintf(expected, sizeof expected,
             of->kind == STANDS ? "for rank %d, which did not come"
             : of->kind == ERRS ? "rank %d: "
                                : "rank %d has ended",
             of->victim);
    for (int rank = 0; rank < of->size; rank++) {
        const czr_status seen = of->seen[rank];
        if (rank == of->victim && of->kind != ERRS)
            continue;
        if (!strstr(of->said[rank], expected))
            print_message("seed %u, kind %d, %d ranks, exchange %lld: rank %d "
                          "says \"%s\", not \"%s\"\n",
                          seed, of->kind, of->size, (long long)of->exchange,
                          rank, of->said[rank], expected);
        assert_non_null(strstr(of->said[rank], expected));
        assert_true(seen == CZR_ERR_ABORTED ||
                    seen == (of->kind == STANDS ? CZR_ERR_TIMEOUT
                             : of->kind == ERRS ? CZR_ERR_MPI
                                                : CZR_ERR_ENDED));
        assert_true(of->ms[rank] < DEADLINE_MS + SLACK_MS);
        assert_int_equal(how[rank], 0);
    }
}

static void ranks_that_fail_are_named(void **state)
{
    const char *n = getenv("PROCESSES"), *seed = getenv("PROCESSES_SEED");
    const uint32_t first = seed ? (uint32_t)atoi(seed) : 0;
    const uint32_t end = first + (n ? (uint32_t)atoi(n) : 8);
    int n_struck = 0;

    of = process_memory(sizeof *of);
    assert_non_null(of);
    for (uint32_t i = first; i < end; i++) {
        int how[PROCESSES_MOST];
        init(i);
        assert_true(process_run(of->size, train, NULL, how));
        if (of->has_struck)
            check(i, how);
        for (int rank = 0; rank < of->size && !of->has_struck; rank++)
            assert_int_equal(of->seen[rank], CZR_OK);
        n_struck += of->has_struck;
    }
    print_message("seeds %u to %u: %d ranks failed\n", first, end, n_struck);
    assert_true(n_struck > (int)(end - first) / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_fail_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
