/* NCCL's library: not there, too old, without one of its functions; and
 * communicators: opened, split, borrowed, closed, with ranks that do not come,
 * share a GPU, or fail in any call.
 *
 * nccl_test [SEED]; nccl_test library PATH: what the machine's own says,
 * without a GPU.  Exit status 77 where it is not there: skipped. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/driver/ranks.h"
#include "tests/gpu/driver/spoil.h"

enum { SKIPPED = 77, DEADLINE_MS = 20000, SHORT_MS = 100 };

static uint64_t seed = 20261123;

static const char *const symbols[] = {
#define CZR_CALL(symbol, name, result, arguments) #symbol,
#include "runtime/cuda/world/nccl_calls.def"
#undef CZR_CALL
};

/* ---- the library -------------------------------------------------------- */

static void expect_open(const char *path, const char *sentence)
{
    char message[CZR_NCCL_MESSAGE];
    czr_nccl *nccl;

    assert_int_equal(czr_nccl_open(path, &nccl, message), CZR_ERR_NO_NCCL);
    if (!strstr(message, sentence))
        fail_msg("\"%s\" does not say \"%s\"", message, sentence);
    assert_null(nccl);
}

static void says_that_there_is_none(void **state)
{
    (void)state;
    expect_open("libno_such_nccl.so.2",
                "NCCL is not there: libno_such_nccl.so.2");
}

static void says_that_it_is_too_old(void **state)
{
    char message[CZR_NCCL_MESSAGE];
    czr_nccl *nccl;

    (void)state;
    fake_reset(seed, 0);
    fake_nccl_set_version(21903);
    expect_open(FAKE_PATH, "code 21903: 2.20 (22000) or later is needed");
    fake_nccl_set_version(2408); /* 2.4.8, as old ones count */
    expect_open(FAKE_PATH, "code 2408: 2.20");
    fake_reset(seed, 0);
    fake_fail("ncclGetVersion", 1, 2);
    expect_open(FAKE_PATH, "does not tell its version");
    fake_reset(seed, 0);
    fake_nccl_set_version(22005);
    assert_int_equal(czr_nccl_open(FAKE_PATH, &nccl, message), CZR_OK);
    assert_int_equal(nccl->version, 22005);
    czr_nccl_close(nccl);
}

static void names_the_function_that_is_missing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        char place[SPOILED_BYTES], sentence[80];
        spoil_library(FAKE_PATH, symbols[i], place);
        snprintf(sentence, sizeof sentence, "NCCL lacks %s", symbols[i]);
        expect_open(place, sentence);
        unlink(place);
    }
}

/* Whether kernels are in the order of the calls, and what the environment says
 * then. */
static void expect_order(const char *path, const char *asked, bool is_ordered,
                         const char *said)
{
    char message[CZR_NCCL_MESSAGE];
    czr_nccl *nccl;

    if (asked)
        setenv(CZR_NCCL_ORDER, asked, 1);
    else
        unsetenv(CZR_NCCL_ORDER);
    assert_int_equal(czr_nccl_open(path, &nccl, message), CZR_OK);
    assert_int_equal(nccl->is_ordered, is_ordered);
    const char *value = getenv(CZR_NCCL_ORDER);
    assert_true(said ? value && !strcmp(value, said) : !value);
    czr_nccl_close(nccl);
    unsetenv(CZR_NCCL_ORDER);
}

static void asks_for_an_order(void **state)
{
    char place[SPOILED_BYTES];

    (void)state;
    fake_reset(seed, 0);
    spoil_library(FAKE_PATH, NULL, place);
    expect_order(place, NULL, true, "1");
    expect_order(place, NULL, false, NULL); /* it has stayed mapped */
    unlink(place);
    /* The double is there from the beginning. */
    expect_order(FAKE_PATH, NULL, false, NULL);
    expect_order(FAKE_PATH, "1", true, "1");
    expect_order(FAKE_PATH, "0", false, "0");
    expect_order(FAKE_PATH, "", false, "");
    fake_nccl_set_version(CZR_NCCL_ORDER_VERSION - 1);
    expect_order(FAKE_PATH, "1", false, "1");
}

/* ---- communicators ------------------------------------------------------ */

typedef struct parts {
    ranks_bench bench;
    int64_t deadline_ms;
} parts;

static void open_parts(parts *p, int size, uint64_t order)
{
    p->deadline_ms = DEADLINE_MS;
    ranks_open(&p->bench, size, order, false);
}

/* One for all, from which one for odd and one for even ranks, ordered
 * backwards, and from the same parent another. */
static void open_and_split(test_rank *self, void *user)
{
    const parts *p = user;
    czr_nccl_comm all = {0}, part = {0}, again = {0};
    const int n = (self->size + 1 - self->rank % 2) / 2;
    const int key = n - 1 - self->rank / 2;

    self->status =
        czr_nccl_comm_open(self->nccl, &p->bench.id, self->size, self->rank,
                           p->deadline_ms, &all, self->message);
    if (self->status == CZR_OK)
        self->status = czr_nccl_comm_split(
            &all, self->rank % 2, n, key, p->deadline_ms, &part, self->message);
    if (self->status == CZR_OK) {
        int size = 0, rank = -1;
        RANK_CHECK(self->nccl->count(part.handle, &size) || size == n);
        RANK_CHECK(self->nccl->user_rank(part.handle, &rank) || rank == key);
        self->status =
            czr_nccl_comm_split(&all, 0, self->size, self->rank, p->deadline_ms,
                                &again, self->message);
    }
    czr_nccl_comm_close(&again, p->deadline_ms);
    czr_nccl_comm_close(&part, p->deadline_ms);
    czr_nccl_comm_close(&all, p->deadline_ms);
}

static void opens_and_splits(void **state)
{
    (void)state;
    for (int size = 1; size <= 8; size++) {
        parts p;
        open_parts(&p, size, seed + (uint64_t)size);
        ranks_run(p.bench.of, size, open_and_split, &p);
        for (int i = 0; i < size; i++)
            assert_int_equal(p.bench.of[i].status, CZR_OK);
        assert_int_equal(fake_nccl_aborted(), 0);
        ranks_close(&p.bench);
    }
}

/* Two communicators of all ranks, on a stream each: rank 0 calls the first
 * first, others as is_same says. */
typedef struct crossing {
    parts p;
    bool is_same;
} crossing;

static void *abort_one(void *comm)
{
    czr_nccl_comm_abort(comm);
    return NULL;
}

/* At once, for one may wait for a kernel of the other's. */
static void abort_both(czr_nccl_comm comms[2])
{
    pthread_t thread;

    RANK_CHECK(pthread_create(&thread, NULL, abort_one, &comms[0]) == 0);
    czr_nccl_comm_abort(&comms[1]);
    pthread_join(thread, NULL);
}

static void cross(test_rank *self, void *user)
{
    const crossing *c = user;
    const parts *p = &c->p;
    const bool is_back = self->rank && !c->is_same;
    czr_nccl_comm comms[2];
    void *streams[2];
    czr_address data;

    RANK_CHECK(czr_nccl_comm_open(self->nccl, &p->bench.id, self->size,
                                  self->rank, DEADLINE_MS, &comms[0],
                                  self->message) == CZR_OK);
    RANK_CHECK(czr_nccl_comm_split(&comms[0], 0, self->size, self->rank,
                                   DEADLINE_MS, &comms[1],
                                   self->message) == CZR_OK);
    RANK_CHECK(czr_context_alloc(self->context, sizeof(int64_t), &data) ==
               CZR_OK);
    for (int i = 0; i < 2; i++)
        RANK_CHECK(czr_context_open_stream(self->context, &streams[i]) ==
                   CZR_OK);
    for (int i = 0; i < 2; i++) {
        const int k = is_back ? 1 - i : i;
        void *at = czr_pointer_of(data);
        const int code =
            self->nccl->all_reduce(at, at, 1, CZR_NCCL_INT64, CZR_NCCL_SUM,
                                   comms[k].handle, streams[k]);
        RANK_CHECK(czr_nccl_settle(&comms[k], code, DEADLINE_MS, "a sum",
                                   self->message) == CZR_OK);
    }
    self->status = CZR_OK;
    for (int i = 0; i < 2; i++) {
        const czr_status status =
            czr_context_synchronize(self->context, streams[i], p->deadline_ms);
        if (status != CZR_OK)
            self->status = status;
    }
    if (self->status != CZR_OK)
        abort_both(comms);
    for (int i = 1; i >= 0; i--)
        czr_nccl_comm_close(&comms[i], DEADLINE_MS);
    for (int i = 0; i < 2; i++)
        czr_context_close_stream(self->context, streams[i]);
    czr_context_free(self->context, data);
}

/* Of so many orders, those that hang. */
static int count_hangs(const char *asked, bool is_same)
{
    enum { ORDERS = 12 };
    int n = 0;

    for (int i = 0; i < ORDERS; i++) {
        crossing c = {.is_same = is_same};
        open_parts(&c.p, 2, seed + (uint64_t)i);
        c.p.deadline_ms = SHORT_MS;
        fake_nccl_set_room(0); /* nobody aborts what a call waits for */
        setenv(CZR_NCCL_ORDER, asked, 1);
        ranks_run(c.p.bench.of, 2, cross, &c);
        unsetenv(CZR_NCCL_ORDER);
        n += c.p.bench.of[0].status != CZR_OK ||
             c.p.bench.of[1].status != CZR_OK;
        czr_nccl_close(c.p.bench.nccl);
        czr_driver_close(c.p.bench.driver);
    }
    return n;
}

/* Of the double: kernels of two communicators end where ranks launch them in
 * one order and NCCL keeps to that. */
static void hangs_by_two_orders(void **state)
{
    (void)state;
    assert_int_equal(count_hangs("1", true), 0);
    assert_true(count_hangs("1", false) > 0);
    assert_true(count_hangs("0", true) > 0);
}

/* Each call of the double in turn: no rank hangs, none says that all is well
 * that is not, and nothing is left. */
static void leaves_nothing_where_a_call_fails(void **state)
{
    const char *failing[] = {"ncclCommInitRankConfig", "ncclCommSplit",
                             "ncclCommFinalize", "ncclCommDestroy"};

    (void)state;
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++)
        for (int nth = 1; nth <= 2; nth++) {
            parts p;
            int failures = 0;
            open_parts(&p, 2, seed + i);
            p.deadline_ms = SHORT_MS;
            fake_fail(failing[i], nth, CZR_NCCL_SYSTEM_ERROR);
            ranks_run(p.bench.of, 2, open_and_split, &p);
            assert_true(fake_has_failed());
            for (int k = 0; k < 2; k++) {
                failures += p.bench.of[k].status == CZR_ERR_NCCL;
                assert_true(p.bench.of[k].status == CZR_OK ||
                            p.bench.of[k].status == CZR_ERR_NCCL ||
                            p.bench.of[k].status == CZR_ERR_TIMEOUT);
            }
            assert_int_equal(failures, i < 2);
            ranks_close(&p.bench);
        }
}

/* Split from the caller's, which is still there. */
static void borrow(test_rank *self, void *user)
{
    const parts *p = user;
    czr_nccl_comm callers, borrowed, part;

    self->status =
        czr_nccl_comm_open(self->nccl, &p->bench.id, self->size, self->rank,
                           p->deadline_ms, &callers, self->message);
    RANK_CHECK(self->status == CZR_OK);
    RANK_CHECK(czr_nccl_comm_borrow(self->nccl, callers.handle, self->size + 1,
                                    self->rank, &borrowed,
                                    self->message) == CZR_ERR_MISMATCH);
    RANK_CHECK(czr_nccl_comm_borrow(self->nccl, callers.handle, self->size,
                                    self->rank, &borrowed,
                                    self->message) == CZR_OK);
    RANK_CHECK(czr_nccl_comm_split(&borrowed, 0, self->size, self->rank,
                                   p->deadline_ms, &part,
                                   self->message) == CZR_OK);
    czr_nccl_comm_close(&part, p->deadline_ms);
    czr_nccl_comm_abort(&borrowed);
    RANK_CHECK(czr_nccl_comm_borrow(self->nccl, callers.handle, self->size,
                                    self->rank, &borrowed,
                                    self->message) == CZR_OK);
    czr_nccl_comm_close(&borrowed, p->deadline_ms);
    int size = 0;
    RANK_CHECK(self->nccl->count(callers.handle, &size) == 0);
    czr_nccl_comm_close(&callers, p->deadline_ms);
}

static void borrows_and_gives_back(void **state)
{
    parts p;

    (void)state;
    open_parts(&p, 3, seed);
    ranks_run(p.bench.of, 3, borrow, &p);
    assert_int_equal(fake_nccl_aborted(), 0);
    ranks_close(&p.bench);
}

/* ---- the machine's own -------------------------------------------------- */

static int look_at_library(const char *path)
{
    char message[CZR_NCCL_MESSAGE];
    czr_nccl_id id = {{0}}, none = {{0}};
    czr_nccl *nccl;

    if (czr_nccl_open(path, &nccl, message) != CZR_OK) {
        printf("skipped: %s\n", message);
        return SKIPPED;
    }
    printf("NCCL %d, \"%s\"\n", nccl->version,
           nccl->error_string(CZR_NCCL_INVALID_USAGE));
    const int failed =
        czr_nccl_make_id(nccl, &id, message) != CZR_OK ||
        memcmp(&id, &none, sizeof id) == 0 ||
        !strstr(nccl->error_string(CZR_NCCL_INVALID_USAGE), "usage") ||
        nccl->group_start() != 0 || nccl->group_end() != 0;
    czr_nccl_close(nccl);
    return failed;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_that_there_is_none),
        cmocka_unit_test(says_that_it_is_too_old),
        cmocka_unit_test(names_the_function_that_is_missing),
        cmocka_unit_test(asks_for_an_order),
        cmocka_unit_test(hangs_by_two_orders),
        cmocka_unit_test(opens_and_splits),
        cmocka_unit_test(leaves_nothing_where_a_call_fails),
        cmocka_unit_test(borrows_and_gives_back),
    };

    if (argc > 2 && !strcmp(argv[1], "library"))
        return look_at_library(argv[2]);
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
