/* Plans of products: legal tiles, numbers by hand, bad input, and chosen tiles
 * of random shapes. */
#define _POSIX_C_SOURCE 200809L
#include "passes/gpu/tile_model.h"
#include "runtime/cuda/products/host.h"
#include "runtime/cuda/driver/source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const czr_cuda_product_device h100 = {90, 132}, a100 = {80, 108};
static const czr_cuda_product good = {
    .m = 200,
    .n = 328,
    .k = 136,
    .batch = 2,
    .x = {1 << 20, 136, 200 * 136},
    .y = {2 << 20, 144, 328 * 144},
    .s = {3 << 20, 328, 200 * 328},
    .c = {4 << 20, 336, 200 * 336},
    .alpha = 1.f,
    .beta = 1.f,
};
static char message[CZR_CUDA_PRODUCT_MESSAGE];
static czr_cuda_product_plan plan;

/* With as many tiles as a general product of `good` has, or fewer. */
static bool make(const czr_cuda_product *p)
{
    const bool is_less = p->batch == 1 || p->is_symmetric;
    const czr_cuda_product_tiles tiles = {128, 256, 4, is_less ? 3 : 8};

    return czr_cuda_product_plan_make(p, &h100, &tiles, &plan, message);
}

/* The compiler's shapes are the kernels', and fill shared memory. */
static void shapes_of_the_model_are_legal(void **state)
{
    czr_cuda_product_split split;
    (void)state;

    for (int i = 0; i < CZ_TILE_SHAPES; i++) {
        czr_cuda_product_tiles t = {cz_tile_shapes[i].rows,
                                    cz_tile_shapes[i].cols,
                                    cz_tile_shapes[i].stages, 2};
        assert_true(czr_cuda_product_is_legal(&t, &split));
        assert_true(czr_cuda_product_shared_memory(&t) <= 232448);
        const int consumers = t.rows / 64;
        assert_true(split.producer + split.consumer * consumers <=
                    split.entry * (consumers + 1));
        assert_true(split.entry * 128 * (consumers + 1) <= 65536);
        assert_true(split.entry % 8 == 0 && split.producer % 8 == 0 &&
                    split.consumer % 8 == 0 && split.producer >= 24);
        t.stages += 2;
        assert_false(czr_cuda_product_is_legal(&t, &split));
    }
}

static void other_shapes_are_not(void **state)
{
    static const czr_cuda_product_tiles bad[] = {
        {64, 256, 2, 1},         {320, 64, 2, 1},  {128, 320, 2, 1},
        {192, 256, 2, 1},        {256, 192, 2, 1}, {128, 100, 2, 1},
        {100, 128, 2, 1},        {128, 128, 1, 1}, {128, 128, 0, 1},
        {128, 0, 3, 1},          {0, 128, 3, 1},   {-128, 128, 3, 1},
        {128, 64, 1000000000, 1}};
    czr_cuda_product_split split;
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(czr_cuda_product_is_legal(&bad[i], &split));
}

static void assert_map(const czr_cuda_product_map *map, uint64_t address,
                       const uint64_t dims[3], const uint64_t strides[2])
{
    assert_true(map->address == address);
    for (int i = 0; i < 3; i++) {
        assert_true(map->dims[i] == dims[i]);
        assert_int_equal(map->box[i], i < 2 ? 64 : 1);
    }
    assert_true(map->stride_bytes[0] == strides[0]);
    assert_true(map->stride_bytes[1] == strides[1]);
}

static void a_plan_is_by_hand(void **state)
{
    (void)state;
    assert_true(make(&good));
    assert_string_equal(message, "");
    assert_true(plan.is_sm90);
    assert_string_equal(plan.kernel, "product_nt_128x256x4");
    assert_string_equal(plan.header,
                        "#define KERNEL product_nt_128x256x4\n"
                        "#define BM 128\n#define BN 256\n#define STAGES 4\n"
                        "#define BUFFERS 2\n#define SYMMETRIC 0\n"
                        "#define M_MAJOR 0\n#define N_MAJOR 0\n"
                        "#define FP16 0\n");
    assert_int_equal(plan.n_blocks, 8);
    assert_int_equal(plan.n_threads, 384);
    assert_int_equal(plan.shared_memory_bytes,
                     4 * 49152 + 4 * 16 + 32768 + 1024);
    assert_int_equal(plan.rows, 200);
    assert_int_equal(plan.cols, 328);
    assert_int_equal(plan.depth, 3);
    assert_int_equal(plan.n_tiles, 8);
    assert_int_equal(plan.split.consumer, 232);
    assert_map(&plan.x, 1 << 20, (const uint64_t[]){136, 200, 2},
               (const uint64_t[]){272, 54400});
    assert_map(&plan.y, 2 << 20, (const uint64_t[]){136, 328, 2},
               (const uint64_t[]){288, 94464});
    assert_map(&plan.s, 3 << 20, (const uint64_t[]){328, 200, 2},
               (const uint64_t[]){656, 131200});
    assert_map(&plan.c, 4 << 20, (const uint64_t[]){328, 200, 2},
               (const uint64_t[]){672, 134400});
}

/* 8 tiles for 5 blocks: 5 whole, 3 in 3 parts of its 3 steps. */
static void last_waves_are_split(void **state)
{
    const czr_cuda_product_device five = {90, 5}, all = {90, 9};
    const czr_cuda_product_tiles tiles = {128, 256, 4, 8};
    (void)state;

    assert_true(
        czr_cuda_product_plan_make(&good, &five, &tiles, &plan, message));
    assert_int_equal(plan.n_full, 8);
    assert_int_equal(plan.splits, 1);
    assert_true(plan.sums_bytes == 0);
    assert_false(czr_cuda_product_plan_split(&good, &five, &tiles, 1, &plan));
    assert_false(czr_cuda_product_plan_split(&good, &five, &tiles, 4, &plan));
    assert_true(czr_cuda_product_plan_split(&good, &five, &tiles, 3, &plan));
    assert_int_equal(plan.n_full, 5);
    assert_int_equal(plan.splits, 3);
    assert_int_equal(plan.n_blocks, 5);
    assert_true(plan.sums_bytes == 3 * 3 * 128 * 256 * 4);
    /* All at once have no last wave but themselves. */
    assert_true(
        czr_cuda_product_plan_make(&good, &all, &tiles, &plan, message));
    assert_int_equal(plan.n_blocks, 8);
    assert_true(czr_cuda_product_plan_split(&good, &all, &tiles, 2, &plan));
    assert_int_equal(plan.n_full, 0);
    assert_int_equal(plan.n_blocks, 9);
}

static void what_is_not_read_has_the_map_of_c(void **state)
{
    czr_cuda_product p = good;
    (void)state;

    p.beta = 0.f;
    p.s.address = 0;
    assert_true(make(&p));
    assert_memory_equal(&plan.s, &plan.c, sizeof plan.c);
}

static void a_second_buffer_goes_where_there_is_room(void **state)
{
    const czr_cuda_product_tiles tiles[] = {{128, 128, 5, 3}, {128, 256, 4, 3}};
    const int n_bytes[] = {5 * (32768 + 16) + 65536 + 1024,
                           4 * (49152 + 16) + 32768 + 1024};
    const char *const definitions[] = {"BUFFERS 2\n", "BUFFERS 1\n"};
    czr_cuda_product p = good;
    (void)state;

    p.is_symmetric = true;
    p.n = p.m;
    for (int i = 0; i < 2; i++) {
        assert_true(
            czr_cuda_product_plan_make(&p, &h100, &tiles[i], &plan, message));
        assert_non_null(strstr(plan.header, definitions[i]));
        assert_int_equal(plan.shared_memory_bytes, n_bytes[i]);
    }
}

static void forms_have_their_own_names(void **state)
{
    const czr_cuda_product_tiles tiles = {128, 128, 3, 6};
    czr_cuda_product p = good;
    (void)state;

    p.is_n_major = true;
    p.y.stride = 328;
    p.y.batch_stride = 136 * 328;
    assert_true(make(&p));
    assert_string_equal(plan.kernel, "product_nn_128x256x4");
    assert_map(&plan.y, 2 << 20, (const uint64_t[]){328, 136, 2},
               (const uint64_t[]){656, 89216});
    assert_true(czr_cuda_product_plan_make(&p, &a100, &tiles, &plan, message));
    assert_string_equal(plan.header, "#define KERNEL product_nn\n"
                                     "#define SYMMETRIC 0\n"
                                     "#define M_MAJOR 0\n"
                                     "#define N_MAJOR 1\n"
                                     "#define FP16 0\n");
    assert_false(plan.is_sm90);
    assert_int_equal(plan.depth, 136);
    assert_int_equal(plan.n_threads, 256);
    assert_int_equal(plan.shared_memory_bytes, 98304);
    p = good;
    p.is_m_major = true;
    p.x.stride = 200;
    p.x.batch_stride = 136 * 200;
    assert_true(make(&p));
    assert_string_equal(plan.kernel, "product_tt_128x256x4");
    assert_map(&plan.x, 1 << 20, (const uint64_t[]){200, 136, 2},
               (const uint64_t[]){400, 54400});
    p = good;
    p.is_symmetric = true;
    p.n = p.m;
    assert_true(make(&p));
    assert_string_equal(plan.kernel, "product_symmetric_nt_128x256x4");
    p.is_f16 = true;
    assert_true(make(&p));
    assert_string_equal(plan.kernel, "product_symmetric_nt_128x256x4_f16");
    assert_non_null(strstr(plan.header, "#define FP16 1\n"));
    assert_true(czr_cuda_product_plan_make(&p, &a100, &tiles, &plan, message));
    assert_string_equal(plan.kernel, "product_symmetric_nt_f16");
    assert_non_null(strstr(plan.header, "#define FP16 1\n"));
}

/* One change to what is right each; "": it is right, too. */
static void assert_refused(czr_cuda_product p, const char *why)
{
    assert_int_equal(make(&p), !*why);
    if (!*why != !*message || !strstr(message, why))
        fail_msg("%s", message);
}

#define CHANGED(change, why)                                                   \
    do {                                                                       \
        czr_cuda_product p = good;                                             \
        change;                                                                \
        assert_refused(p, why);                                                \
    } while (0)

static void sizes_are_checked(void **state)
{
    (void)state;
    CHANGED(p.m = 0, "no element");
    CHANGED(p.n = 0, "no element");
    CHANGED(p.batch = 0, "no element");
    CHANGED(p.k = 0, "element-wise");
    CHANGED(p.m = -1, "negative");
    CHANGED(p.is_symmetric = true, "200 x 328");
    CHANGED(p.m = INT_MAX, "count");
    CHANGED(p.k = INT64_MAX, "count");
}

static void operands_are_checked(void **state)
{
    (void)state;
    CHANGED(p.x.address = 0, "x is nowhere");
    CHANGED(p.y.stride = 128, "rows of y");
    CHANGED(p.y.stride = -144, "rows of y");
    CHANGED(p.c.batch_stride = 200 * 336 - 16, "matrices of c");
    CHANGED(p.x.stride = 137, "x is no multiple of 8: pack");
    CHANGED(p.s.stride = 332, "pack first");
    CHANGED(p.c.batch_stride += 4, "pack first");
    CHANGED(p.c.address += 8, "16 bytes: pack first");
    CHANGED(p.s.address += 2, "16 bytes: pack first");
    /* What is not looked at may be anything. */
    CHANGED((p.beta = 0.f, p.s.address = 1), "");
    CHANGED((p.batch = 1, p.x.batch_stride = 1), "");
}

static void c_lies_apart(void **state)
{
    (void)state;
    CHANGED(p.c.address = p.s.address, "where s");
    CHANGED(p.c.address = p.x.address + 2 * (200 * 136 * 2 - 8), "where x");
    CHANGED(p.c.address = p.x.address + 2 * (200 * 136 * 2), "");
    CHANGED(p.y.address = p.c.address + 16, "where y");
    CHANGED((p.beta = 0.f, p.c.address = p.s.address), "");
    /* Rows of s are as long as its stride, the last one too. */
    CHANGED((p.s.stride = 336, p.s.batch_stride = 200 * 336,
             p.c.address = p.s.address + 2 * (399 * 336 + 328)),
            "where s");
    /* x may be y. */
    CHANGED((p.is_symmetric = true, p.n = p.m, p.y = p.x), "");
}

/* More than 2^31 elements are planned; more than 64 bits hold are refused. */
static void large_sizes_are_counted_in_full(void **state)
{
    const czr_cuda_product_tiles tiles = {128, 256, 4, 512 * 256};
    czr_cuda_product p = {.m = 65536,
                          .n = 65536,
                          .k = 65536,
                          .batch = 1,
                          .x = {(uint64_t)1 << 40, 65536, 0},
                          .y = {(uint64_t)2 << 40, 65536, 0},
                          .c = {(uint64_t)3 << 40, 65536, 0}};
    (void)state;

    assert_true(czr_cuda_product_plan_make(&p, &h100, &tiles, &plan, message));
    assert_true(plan.c.stride_bytes[1] == (uint64_t)1 << 33);
    assert_int_equal(plan.n_blocks, 132);
    p.c.address = p.x.address + ((uint64_t)1 << 33) - 16;
    assert_refused(p, "where x");
    p.c.address = UINT64_MAX - 15;
    assert_refused(p, "c ends beyond");
    p.c.address = (uint64_t)3 << 40;
    p.c.stride = (int64_t)1 << 60;
    assert_refused(p, "matrices of c");
    p.c.stride = (int64_t)1 << 45;
    assert_refused(p, "40 bits");
    p.c.stride = 65536;
    p.batch = INT64_MAX;
    p.c.batch_stride = p.x.batch_stride = p.y.batch_stride = (int64_t)1 << 32;
    assert_refused(p, "c ends beyond");
}

static void devices_and_tiles_are_checked(void **state)
{
    static const struct {
        czr_cuda_product_device device;
        czr_cuda_product_tiles tiles;
        const char *why; /* "": it is right */
    } cases[] = {{{75, 40}, {128, 128, 3, 6}, "need compute capability 8.0"},
                 {{90, 0}, {128, 256, 4, 8}, "need compute capability 8.0"},
                 {{90, 132}, {192, 256, 3, 8}, "no kernel has tiles"},
                 {{80, 108}, {128, 256, 3, 8}, "no kernel has tiles"},
                 {{80, 108}, {128, 128, 4, 8}, "no kernel has tiles"},
                 {{100, 148}, {128, 128, 3, 12}, ""},
                 {{90, 132}, {128, 256, 4, 0}, "is not this product's"},
                 {{90, 132}, {128, 256, 4, 9}, "is not this product's"},
                 {{90, 3}, {128, 256, 4, 8}, ""}};
    (void)state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(czr_cuda_product_plan_make(&good, &cases[i].device,
                                                    &cases[i].tiles, &plan,
                                                    message),
                         !*cases[i].why);
        assert_non_null(strstr(message, cases[i].why));
    }
    assert_int_equal(plan.n_blocks, 3);
}

/* What the model chooses is planned, whatever the shape; the maps hold it all,
 * and the grid has work for every block. */
static void chosen_tiles_are_planned(void **state)
{
    static uint64_t random;
    const cz_tile_machine machine = {132, 1950};
    random = (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)random);
    (void)state;

    for (int i = 0; i < 1000; i++) {
        int64_t size[4];
        for (int d = 0; d < 4; d++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            size[d] = (int64_t)(random >> 33) % (d == 3 ? 9 : 12000) + 1;
        }
        const bool is_symmetric = random >> 63;
        cz_tile_product shape = {.m = size[0],
                                 .n = is_symmetric ? size[0] : size[1],
                                 .k = size[2],
                                 .batch = size[3],
                                 .is_symmetric = is_symmetric};
        cz_tile_choice choice;
        assert_true(cz_tile_choose(&shape, &machine, NULL, 0, &choice));
        const int64_t x = (shape.k + 7) / 8 * 8, c = (shape.n + 7) / 8 * 8;
        const czr_cuda_product p = {
            .m = shape.m,
            .n = shape.n,
            .k = shape.k,
            .batch = shape.batch,
            .is_symmetric = is_symmetric,
            .x = {(uint64_t)1 << 40, x, x * shape.m},
            .y = {(uint64_t)2 << 40, x, x * shape.n},
            .c = {(uint64_t)3 << 40, c, c * shape.m},
        };
        const czr_cuda_product_tiles tiles = {
            choice.shape.rows, choice.shape.cols, choice.shape.stages,
            choice.cost.n_tiles};
        assert_true(
            czr_cuda_product_plan_make(&p, &h100, &tiles, &plan, message));
        assert_true(plan.n_blocks <= 132 && plan.n_blocks <= plan.n_tiles);
        assert_true((int64_t)plan.depth * 64 >= p.k &&
                    ((int64_t)plan.depth - 1) * 64 < p.k);
    }
}

static void waits_are_watched_where_it_is_asked_for(void **state)
{
    static const char name[] = "CZR_CUDA_DEBUG";
    (void)state;

    setenv(name, "1", 1);
    assert_string_equal(czr_source_watchdog(),
                        "#define WAIT_LIMIT 2000000000\n");
#ifndef CZR_CUDA_DEBUG
    setenv(name, "0", 1);
    assert_string_equal(czr_source_watchdog(), "");
    unsetenv(name);
    assert_string_equal(czr_source_watchdog(), "");
#endif
    unsetenv(name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_the_model_are_legal),
        cmocka_unit_test(other_shapes_are_not),
        cmocka_unit_test(a_plan_is_by_hand),
        cmocka_unit_test(last_waves_are_split),
        cmocka_unit_test(forms_have_their_own_names),
        cmocka_unit_test(what_is_not_read_has_the_map_of_c),
        cmocka_unit_test(a_second_buffer_goes_where_there_is_room),
        cmocka_unit_test(sizes_are_checked),
        cmocka_unit_test(operands_are_checked),
        cmocka_unit_test(c_lies_apart),
        cmocka_unit_test(large_sizes_are_counted_in_full),
        cmocka_unit_test(devices_and_tiles_are_checked),
        cmocka_unit_test(chosen_tiles_are_planned),
        cmocka_unit_test(waits_are_watched_where_it_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
