/* Ranks as threads of one process, each with a GPU of the double's. */
#ifndef TESTS_CUDA_RANKS_H
#define TESTS_CUDA_RANKS_H

#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/world/nccl.h"
#include "tests/gpu/double/fake_nccl.h"
#include "tests/gpu/driver/bench.h"

#include <pthread.h>

enum { RANKS_MOST = 16 }; /* as many GPUs as the double has */

typedef struct test_rank {
    int rank, size, device;
    const czr_driver *driver;
    const czr_nccl *nccl;
    czr_context *context; /* entered; NULL: none could be opened */
    void (*body)(struct test_rank *self, void *user);
    void *user;
    czr_status status; /* what the body leaves here */
    char message[CZR_DRIVER_MESSAGE];
} test_rank;

/* cmocka's assertions cannot leave a thread. */
#define RANK_CHECK(condition)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

static inline void *ranks_start(void *argument)
{
    test_rank *self = argument;

    fake_begin_turn();
    self->status = czr_context_open(self->driver, self->device, &self->context,
                                    self->message);
    if (self->status == CZR_OK)
        self->body(self, self->user);
    czr_context_close(self->context);
    self->context = NULL;
    fake_end_turn();
    return NULL;
}

/* All of `size` ranks to their ends; ranks[i].device and the libraries are set.
 */
static inline void ranks_run(test_rank *ranks, int size,
                             void (*body)(test_rank *, void *), void *user)
{
    pthread_t threads[RANKS_MOST];

    for (int i = 0; i < size; i++) {
        ranks[i].rank = i;
        ranks[i].size = size;
        ranks[i].body = body;
        ranks[i].user = user;
        RANK_CHECK(pthread_create(&threads[i], NULL, ranks_start, &ranks[i]) ==
                   0);
    }
    for (int i = 0; i < size; i++)
        pthread_join(threads[i], NULL);
}

/* Before NCCL is opened: who orders kernels of several communicators.  An NCCL
 * that cannot, or one that others may have used before, or one that was told
 * to. */
static inline void ranks_draw_order(uint64_t seed)
{
    const uint64_t drawn = seed / 3 % 3;

    unsetenv(CZR_NCCL_ORDER);
    if (drawn == 0)
        fake_nccl_set_version(CZR_NCCL_ORDER_VERSION - 95);
    if (drawn == 2)
        setenv(CZR_NCCL_ORDER, "1", 1);
}

/* Libraries that all ranks have; the id is for all. */
typedef struct ranks_bench {
    czr_driver *driver;
    czr_nccl *nccl;
    czr_nccl_id id;
    uint64_t seed;
    test_rank of[RANKS_MOST];
} ranks_bench;

/* The double as new, with a GPU for each rank. */
static inline void ranks_open(ranks_bench *bench, int size, uint64_t seed,
                              bool draws_order)
{
    char message[CZR_NCCL_MESSAGE];

    *bench = (ranks_bench){.seed = seed};
    fake_reset(seed, 0);
    RANK_CHECK(czr_driver_open(FAKE_PATH, &bench->driver, message) == CZR_OK);
    if (draws_order)
        ranks_draw_order(seed);
    RANK_CHECK(czr_nccl_open(FAKE_PATH, &bench->nccl, message) == CZR_OK);
    fake_reset(seed, (int)(seed % 3) * 40);
    fake_set_devices(size);
    fake_set_memory((size_t)1 << 32);
    for (int i = 0; i < size; i++)
        bench->of[i] = (test_rank){
            .device = i, .driver = bench->driver, .nccl = bench->nccl};
    RANK_CHECK(bench->driver->init(0) == 0);
    RANK_CHECK(czr_nccl_make_id(bench->nccl, &bench->id, message) == CZR_OK);
}

/* All was given back, and nothing was called that should not be. */
static inline void ranks_close(ranks_bench *bench)
{
    const int64_t n_comms = fake_nccl_comms(), n_left = bench_leftovers();

    if (n_comms || n_left || fake_nccl_fault()) {
        printf("seed %llu: %lld communicators and %lld things left, \"%s\"\n",
               (unsigned long long)bench->seed, (long long)n_comms,
               (long long)n_left, fake_nccl_fault() ? fake_nccl_fault() : "");
        exit(1);
    }
    czr_nccl_close(bench->nccl);
    czr_driver_close(bench->driver);
}

#endif
