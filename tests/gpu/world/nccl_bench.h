/* A world over the double of NCCL, its sums done by functions of the host. */
#ifndef TESTS_CUDA_NCCL_BENCH_H
#define TESTS_CUDA_NCCL_BENCH_H

#include "runtime/cuda/world/nccl_world.h"
#include "runtime/world/sum.h"
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/plan/host_move.h"
#include "tests/gpu/driver/ranks.h"

#define SUMS_CODE "FAKE sm_90\nleaves 0 72\nslice 0 48\npack 0 4040\n"

/* What stands for a czr_collect. */
typedef struct sums_bench {
    czr_context *context;
    czr_module module;
    void *n_grads, *slice, *pack;
} sums_bench;

typedef struct sums_moves {
    czr_move_table table;
    int64_t n;
} sums_moves;

typedef struct sums_slice {
    czr_collect_members members;
    int64_t type;
    size_t first, n;
} sums_slice;

/* A table of the device's and what it points at, of so many bytes each; false:
 * out of bounds. */
static inline bool sums_find(const void *table, int n, size_t bytes, void **out)
{
    const uint64_t *at = fake_at(czr_address_of(table), (size_t)n * sizeof *at);

    for (int i = 0; at && i < n; i++)
        if (!(out[i] = fake_at(at[i], bytes)))
            return false;
    return at != NULL;
}

static inline void sums_run_leaves(void **arguments)
{
    czr_collect_grads sum;
    void *grads[RANKS_MOST];
    czr_collective units[RANKS_MOST];
    const czr_collective *members[RANKS_MOST];

    memcpy(&sum, arguments[0], sizeof sum);
    const size_t n =
        (size_t)((sum.n_grads - 1) * sum.grad_stride + sum.first + sum.n);
    float *out = fake_at(czr_address_of(sum.out), (size_t)sum.n * sizeof *out);
    int32_t *largest = fake_at(czr_address_of(sum.largest), sizeof *largest);
    if (!out || !largest ||
        !sums_find(sum.grads, sum.n_members, n * czr_dtype_bytes(sum.dtype),
                   grads))
        return;
    for (int i = 0; i < sum.n_members; i++) {
        units[i].of.reduce_scatter =
            (czr_reduce_scatter){.grad = grads[i],
                                 .dtype = sum.dtype,
                                 .n_grads = sum.n_grads,
                                 .grad_stride = sum.grad_stride,
                                 .first = sum.first,
                                 .n = sum.n,
                                 .out = out,
                                 .scale = sum.scale,
                                 .largest = largest};
        members[i] = &units[i];
    }
    czr_sum_grads(&units[0].of.reduce_scatter, members, sum.n_members, false);
}

/* As czr_sum_slice, but for those who get nothing. */
static inline void sums_run_slice(void **arguments)
{
    sums_slice s;
    void *data[RANKS_MOST], *copies[RANKS_MOST];
    czr_collective units[RANKS_MOST];
    const czr_collective *members[RANKS_MOST];

    memcpy(&s, arguments[0], sizeof s);
    const size_t bytes = (s.first + s.n) * czr_sum_bytes((czr_sum)s.type);
    if (!sums_find(s.members.data, s.members.n_members, bytes, data))
        return;
    for (int i = 0; i < s.members.n_members; i++) {
        copies[i] = malloc(bytes);
        RANK_CHECK(copies[i]);
        memcpy(copies[i], data[i], bytes);
        units[i].of.all_reduce = (czr_all_reduce){
            .data = copies[i], .count = s.n, .type = (czr_sum)s.type};
        members[i] = &units[i];
    }
    czr_sum_slice(members, s.members.n_members, s.first, s.n);
    for (int i = 0; i < s.members.n_members; i++) {
        if (i >= s.members.to && i < s.members.to_end)
            memcpy(data[i], copies[i], bytes);
        free(copies[i]);
    }
}

static inline void sums_run_pack(void **arguments)
{
    const sums_moves *moves = arguments[0];

    for (int64_t i = 0; i < moves->n; i++)
        move_on_host(&moves->table.of[i]);
}

static inline czr_status sums_put(const sums_bench *bench, void *kernel,
                                  void *argument, void *stream)
{
    static const czr_launch once = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
    void *arguments[] = {argument};

    return czr_module_launch(bench->context, kernel, &once, arguments, stream);
}

static inline czr_status sums_put_leaves(czr_collect *collect,
                                         const czr_collect_grads *sum,
                                         void *stream)
{
    const sums_bench *bench = (const void *)collect;
    czr_collect_grads copy = *sum;

    return sums_put(bench, bench->n_grads, &copy, stream);
}

static inline czr_status sums_put_slice(czr_collect *collect,
                                        const czr_collect_members *members,
                                        czr_sum type, size_t first, size_t n,
                                        const int32_t *skip, void *stream)
{
    const sums_bench *bench = (const void *)collect;
    sums_slice s = {*members, type, first, n};

    RANK_CHECK(!skip);
    return sums_put(bench, bench->slice, &s, stream);
}

static inline czr_status
sums_put_pack(czr_collect *collect, czr_move_table *moves, int n, void *stream)
{
    const sums_bench *bench = (const void *)collect;
    sums_moves copy = {*moves, n};

    return sums_put(bench, bench->pack, &copy, stream);
}

static inline czr_status sums_open(czr_context *context, sums_bench *out)
{
    *out = (sums_bench){.context = context};
    czr_status status =
        czr_module_open(context, SUMS_CODE, "sums", &out->module);
    if (status == CZR_OK)
        status = czr_module_find(&out->module, "leaves", 0, &out->n_grads);
    if (status == CZR_OK)
        status = czr_module_find(&out->module, "slice", 0, &out->slice);
    if (status == CZR_OK)
        status = czr_module_find(&out->module, "pack", 0, &out->pack);
    return status;
}

/* ---- a world ------------------------------------------------------------ */

/* Before ranks begin; the id is for all. */
typedef struct nccl_bench {
    czr_driver *driver;
    czr_nccl *nccl;
    czr_nccl_id id;
    test_rank ranks[RANKS_MOST];
} nccl_bench;

static inline void nccl_bench_open(nccl_bench *bench, int size, uint64_t order)
{
    char message[CZR_NCCL_MESSAGE];

    *bench = (nccl_bench){0};
    fake_reset(order, 0);
    fake_register("leaves", sums_run_leaves);
    fake_register("slice", sums_run_slice);
    fake_register("pack", sums_run_pack);
    assert_int_equal(czr_driver_open(FAKE_PATH, &bench->driver, message),
                     CZR_OK);
    ranks_draw_order(order);
    assert_int_equal(czr_nccl_open(FAKE_PATH, &bench->nccl, message), CZR_OK);
    ranks_init(bench->ranks, size, order, bench->driver, bench->nccl);
    fake_set_memory((size_t)1 << 30);
    fake_register("leaves", sums_run_leaves);
    fake_register("slice", sums_run_slice);
    fake_register("pack", sums_run_pack);
    assert_int_equal(bench->driver->init(0), 0);
    assert_int_equal(czr_nccl_make_id(bench->nccl, &bench->id, message),
                     CZR_OK);
}

/* All was given back, and nothing was called that should not be. */
static inline void nccl_bench_close(nccl_bench *bench)
{
    assert_int_equal(fake_nccl_comms(), 0);
    if (fake_nccl_fault())
        fail_msg("NCCL was misused: %s", fake_nccl_fault());
    assert_int_equal(bench_leftovers(), 0);
    czr_nccl_close(bench->nccl);
    czr_driver_close(bench->driver);
}

/* A rank's world with its sums; the defaults are of tests. */
static inline czr_status nccl_bench_world(const nccl_bench *bench,
                                          test_rank *self, sums_bench *sums,
                                          czr_world_nccl_options options,
                                          czr_world **out)
{
    *out = NULL;
    const czr_status status = sums_open(self->context, sums);
    if (status != CZR_OK)
        return status;
    options.nccl = bench->nccl;
    options.id = options.broadcast ? NULL : &bench->id;
    options.rank = self->rank;
    options.size = self->size;
    options.sums = (czr_nccl_sums){(czr_collect *)(void *)sums, sums_put_leaves,
                                   sums_put_slice, sums_put_pack};
    return czr_world_nccl_open(self->context, &options, out, self->message);
}

#endif
