/* The engine's own kernels on the double of the driver, whose launches run the
 * bodies of collect_*.cu on the model of the device: what each call of
 * collect.h leaves in the device's memory is what the host's function leaves.
 *
 * collect_run [TRIALS [SEED]]
 * collect_run gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves.  Exit status 77 where one of them is not there: skipped. */
#include "runtime/math/product.h"
#include "runtime/world/sum.h"
#include "tests/gpu/stages/collect_setting.h"

#include <string.h>

static int trials = 20;
static unsigned first_seed = 1;

static czr_sum draw_sum(setting *s, czr_dtype *dtype)
{
    static const czr_dtype dtypes[CZR_N_SUMS] = {CZR_F64, CZR_F32, CZR_BF16,
                                                 CZR_BF16, CZR_F64};
    const czr_sum type = (czr_sum)draw(CZR_N_SUMS);

    *dtype = dtypes[type];
    s->draws_integers = type == CZR_SUM_I64;
    return type;
}

static void sum_leaves(setting *s)
{
    enum { LEAVES = 2 };
    const czr_dtype dtype = draw(2) ? CZR_F32 : CZR_BF16;
    const size_t stride = 40 + draw(3000), first = draw(8);
    const size_t n = draw(stride - first + 1);
    int32_t largest = 0, most = 0;
    float *wanted = calloc(n + 1, sizeof *wanted);
    group g;

    assert_non_null(wanted);
    open_group(s, &g, 1 + (int)draw(MAX_MEMBERS), LEAVES * stride, dtype);
    for (int m = 0; m < g.n; m++)
        g.units[m].of.reduce_scatter =
            (czr_reduce_scatter){.grad = g.host[m],
                                 .dtype = dtype,
                                 .n_grads = LEAVES,
                                 .grad_stride = (int64_t)stride,
                                 .first = (int64_t)first,
                                 .n = (int64_t)n,
                                 .out = wanted,
                                 .scale = 0.25f,
                                 .largest = &largest};
    void *out = give(s, wanted, n * sizeof *wanted);
    int32_t *noted = give(s, &most, sizeof most);
    if (s->status == CZR_OK)
        note(s, czr_collect_sum_grads(
                    s->collect,
                    &(czr_collect_grads){.grads = g.table,
                                         .n_members = g.n,
                                         .n_grads = LEAVES,
                                         .dtype = dtype,
                                         .grad_stride = (int64_t)stride,
                                         .first = (int64_t)first,
                                         .n = (int64_t)n,
                                         .out = out,
                                         .scale = 0.25f,
                                         .largest = noted},
                    s->stream));
    czr_sum_grads(&g.units[0].of.reduce_scatter, g.posted, g.n, false);
    expect(s, out, wanted, n * sizeof *wanted);
    expect(s, noted, &largest, sizeof largest);
    free(wanted);
    close_group(s, &g);
}

static void sum_slice(setting *s)
{
    const size_t count = draw(2000), n = draw(count + 1);
    czr_dtype dtype;
    const czr_sum type = draw_sum(s, &dtype);
    group g;

    open_group(s, &g, 1 + (int)draw(MAX_MEMBERS), count, dtype);
    set_sums(&g, type, (czr_band){0});
    czr_sum_slice(g.posted, g.n, 0, n);
    const czr_collect_members members = members_of(&g);
    if (s->status == CZR_OK)
        note(s,
             czr_collect_sum_slice(s->collect, &members, type, n, s->stream));
    close_group(s, &g);
}

/* With a band where there is one. */
static void sum_parts(setting *s)
{
    const int n = 1 + (int)draw(MAX_MEMBERS);
    const size_t blocks = (size_t)n * (1 + draw(2)), side = blocks * 3;
    const czr_band band = {side, draw(2) ? blocks : 0};
    czr_dtype dtype;
    const czr_sum type = draw_sum(s, &dtype);
    group g;

    open_group(s, &g, n, side * side, dtype);
    set_sums(&g, type, band);
    const czr_collect_members members = members_of(&g);
    if (s->status == CZR_OK)
        note(s, czr_collect_sum_equal_parts(s->collect, &members, type, g.count,
                                            band, s->stream));
    for (int m = 0; m < n; m++)
        czr_sum_equal_part(g.posted, n, m);
    close_group(s, &g);
}

static void gather_row(group *g, const czr_band *band, size_t row, int to)
{
    const size_t width = czr_dtype_bytes(g->dtype);
    const size_t owner = row / (band->side / (size_t)g->n);
    czr_run runs[2];
    const int n = czr_band_runs(band, row, runs);

    for (int i = 0; i < n && to != (int)owner; i++)
        memcpy(g->host[to] + runs[i].first * width,
               g->host[owner] + runs[i].first * width, runs[i].n * width);
}

/* Gathered, and what is outside on each member. */
static void gather_band(setting *s)
{
    const int n = 1 + (int)draw(MAX_MEMBERS);
    const czr_band band = {(size_t)n * 6, (size_t)n * 2};
    group g;

    open_group(s, &g, n, band.side * band.side, (czr_dtype)draw(CZR_N_DTYPES));
    const czr_collect_members members = members_of(&g);
    const size_t width = czr_dtype_bytes(g.dtype);
    if (s->status == CZR_OK)
        note(s, czr_collect_band_gather(s->collect, &members, width, band,
                                        s->stream));
    for (int m = 0; m < n && s->status == CZR_OK; m++)
        note(s, czr_collect_band_mirror(s->collect, g.device[m], width, band,
                                        s->stream));
    for (size_t row = 0; row < band.side; row++)
        for (int m = 0; m < n; m++)
            gather_row(&g, &band, row, m);
    for (int m = 0; m < n; m++)
        czr_band_mirror(&band, g.host[m], width);
    close_group(s, &g);
}

/* ---- a step's decision -------------------------------------------------- */

enum { SPANS = 3 };

static void put_step(setting *s, const czr_collect_spans *spans,
                     czr_collect_decision *decision,
                     const czr_collect_rank_words *rank_words, int32_t limit)
{
    czr_collect *c = s->collect;

    if (s->status != CZR_OK)
        return;
    note(s, czr_collect_begin(c, decision, s->stream));
    note(s, czr_collect_norm(c, spans, decision, s->stream));
    note(s, czr_collect_ask(c, decision,
                            &decision->counts[CZR_COLLECT_MAY_BE_BEYOND], limit,
                            rank_words, s->stream));
    note(s, czr_collect_guard(c, spans, decision, s->stream));
    note(s, czr_collect_decide(c, decision, true, 1, rank_words, s->result,
                               s->stream));
}

static void check_result(const setting *s, const czr_norm *norm)
{
    czr_collect_result result;

    if (s->status != CZR_OK)
        return;
    assert_false(czr_collect_read(s->result, 2, &result));
    assert_true(czr_collect_read(s->result, 1, &result));
    assert_true(result.grad_norm == czr_norm_root(norm));
    assert_int_equal(result.reason, CZR_COLLECT_APPLIED);
    assert_int_equal(result.step, 1);
    assert_int_equal(result.beyond, INT32_MAX);
}

/* `largest` is of no gradient that is beyond: the guard finds nothing. */
static void decide(setting *s)
{
    const int32_t limit = INT32_C(255) << 23;
    czr_collect_span rows[SPANS];
    czr_collect_spans spans = {.n = SPANS};
    const czr_collect_decision decision = {.steps = 0};
    const int64_t words[] = {9};
    czr_norm norm = {{0}};
    void *pinned = NULL;

    if (s->status == CZR_OK)
        note(s, czr_context_alloc_pinned(s->bench.context, sizeof *s->result,
                                         &pinned));
    s->result = pinned;
    if (pinned)
        memset(pinned, 0, sizeof *s->result);
    for (int i = 0; i < SPANS; i++) {
        const size_t n = draw(20000);
        float *host = malloc((n + 1) * sizeof *host);
        assert_non_null(host);
        draw_numbers(host, CZR_F32, n);
        czr_norm_add(&norm, host, n);
        rows[i] = (czr_collect_span){.data = give(s, host, n * sizeof *host),
                                     .n = n,
                                     .param = i,
                                     .limit = limit};
        free(host);
    }
    czr_collect_number(rows, SPANS, &spans.n_jobs);
    spans.rows = give(s, rows, sizeof rows);
    const czr_collect_rank_words rank_words = {
        .words = give(s, words, sizeof words), .n_ranks = 1};
    put_step(s, &spans, give(s, &decision, sizeof decision), &rank_words,
             limit);
    if (s->status == CZR_OK)
        note(s, czr_context_synchronize(s->bench.context, s->stream, 0));
    check_result(s, &norm);
    free_taken(s);
    czr_context_free_pinned(s->bench.context, s->result);
    s->result = NULL;
}

/* ---- memory ------------------------------------------------------------- */

static void take_hypers(setting *s)
{
    enum { N = 2 * CZR_COLLECT_HYPERS + 5 };
    double values[N];

    draw_numbers(values, CZR_F64, N);
    void *to = give(s, values, sizeof values);
    draw_numbers(values, CZR_F64, N);
    if (s->status == CZR_OK)
        note(s, czr_collect_hypers(s->collect, to, values, N, s->stream));
    expect(s, to, values, sizeof values);
    free_taken(s);
}

static void fill(setting *s)
{
    const size_t n = 1 + draw(100);
    group g;

    open_group(s, &g, 1, n * n, (czr_dtype)draw(CZR_N_DTYPES));
    const size_t width = czr_dtype_bytes(g.dtype);
    if (s->status == CZR_OK) {
        note(s, czr_collect_fill(s->collect, g.device[0], g.dtype, 0.3, n * n,
                                 s->stream));
        note(s, czr_collect_fill_diagonal(s->collect, g.device[0], g.dtype, 7,
                                          n, s->stream));
    }
    czr_fill(g.host[0], g.dtype, 0.3, n * n);
    for (size_t i = 0; i < n; i++)
        czr_fill(g.host[0] + i * (n + 1) * width, g.dtype, 7, 1);
    close_group(s, &g);
}

/* Not where *skip says so. */
static void convert(setting *s)
{
    const int32_t skips[] = {0, 1};
    const size_t which = draw(3);
    const czr_dtype from = (czr_dtype)draw(CZR_N_DTYPES);
    const czr_dtype to = (czr_dtype)draw(CZR_N_DTYPES);
    const size_t n = 1 + draw(2000), bytes = n * czr_dtype_bytes(to);
    unsigned char *wanted = malloc(bytes);
    group g;

    assert_non_null(wanted);
    memset(wanted, 0, bytes);
    open_group(s, &g, 1, n, from);
    void *made = give(s, wanted, bytes);
    int32_t *skip = give(s, skips, sizeof skips);
    if (s->status == CZR_OK)
        note(s,
             czr_collect_convert(s->collect, made, to, g.device[0], from, n,
                                 which < 2 ? skip + which : NULL, s->stream));
    if (which != 1)
        czr_convert(wanted, to, g.host[0], from, n);
    expect(s, made, wanted, bytes);
    free(wanted);
    close_group(s, &g);
}

static void hash(setting *s)
{
    const czr_dtype dtype = (czr_dtype)draw(CZR_N_DTYPES);
    const size_t n = draw(20000), width = czr_dtype_bytes(dtype);
    uint64_t wanted = 5;
    group g;

    open_group(s, &g, 1, n, dtype);
    uint64_t *made = give(s, &wanted, sizeof wanted);
    if (s->status == CZR_OK)
        note(s, czr_collect_hash(s->collect, made, g.device[0], width, n,
                                 s->stream));
    wanted += czr_hash(g.host[0], width, n);
    expect(s, made, &wanted, sizeof wanted);
    close_group(s, &g);
}

static void mirror(setting *s)
{
    const size_t n = 1 + draw(80);
    group g;

    open_group(s, &g, 1, n * n, draw(2) ? CZR_F32 : CZR_BF16);
    if (s->status == CZR_OK)
        note(s, czr_collect_mirror_lower(s->collect, g.device[0], g.dtype, n,
                                         s->stream));
    czr_mirror_lower(g.host[0], g.dtype, n);
    close_group(s, &g);
}

enum { BOX_ROOM = 2048 };

static czr_strided draw_side(size_t bytes, size_t unit)
{
    return (czr_strided){draw(3) * unit, bytes + draw(3) * unit};
}

/* A box between two rooms of the host, and its move between the device's. */
static czr_move draw_move(const unsigned char *from, unsigned char *to,
                          const unsigned char *source, unsigned char *made)
{
    const size_t unit = (size_t)1 << draw(5), rows = 1 + draw(8);
    const size_t bytes = unit * (1 + draw(6));
    czr_strided a = draw_side(bytes, unit), b = draw_side(bytes, unit);

    for (size_t row = 0; row < rows; row++)
        memcpy(to + b.address + row * b.stride,
               from + a.address + row * a.stride, bytes);
    a.address += czr_address_of(source);
    b.address += czr_address_of(made);
    return czr_move_bytes(rows, bytes, a, b);
}

static void pack(setting *s)
{
    static unsigned char from[CZR_PACK_MOVES * BOX_ROOM], wanted[sizeof from];
    const int n = 1 + (int)draw(CZR_PACK_MOVES);
    const size_t size = (size_t)n * BOX_ROOM;
    czr_move_table moves;

    for (size_t i = 0; i < size; i++)
        from[i] = (unsigned char)draw(256);
    memset(wanted, 7, sizeof wanted);
    const unsigned char *source = give(s, from, size);
    unsigned char *made = give(s, wanted, size);
    for (size_t at = 0; at < size && s->status == CZR_OK; at += BOX_ROOM)
        moves.of[at / BOX_ROOM] =
            draw_move(from + at, wanted + at, source + at, made + at);
    if (s->status == CZR_OK)
        note(s, czr_collect_pack(s->collect, &moves, n, s->stream));
    expect(s, made, wanted, size);
}

/* ---- tests -------------------------------------------------------------- */

static void run_all(setting *s)
{
    static void (*const runs[])(setting * s) = {
        sum_leaves, sum_slice, sum_parts, gather_band, decide, take_hypers,
        fill,       convert,   hash,      mirror,      pack};

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        s->draws_integers = false;
        runs[i](s);
    }
}

static void leaves_what_the_host_leaves(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        setting s;
        srand(first_seed + (unsigned)i);
        open_setting(&s, first_seed + (unsigned)i, 0);
        run_all(&s);
        if (s.status != CZR_OK)
            fail_msg("seed %u: %s", first_seed + (unsigned)i,
                     s.bench.context->error);
        close_setting(&s);
    }
}

static void fails_cleanly_at_every_call(void **state)
{
    int64_t n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        setting s;
        srand(first_seed);
        open_setting(&s, first_seed, n + 1);
        run_all(&s);
        has_failed = fake_has_failed();
        if (s.status != CZR_OK) {
            assert_true(has_failed);
            assert_int_equal(s.status, CZR_ERR_NO_MEMORY);
            assert_true(s.bench.context->error[0]);
        }
        close_setting(&s);
    }
    print_message("%d calls failed in turn\n", (int)n - 1);
    assert_true(n > CZR_COLLECT_HYPERS);
}

/* Nothing is launched for what makes no sense, and for nothing. */
static void refuses_what_makes_no_sense(void **state)
{
    const czr_band band = {8, 4}, odd = {9, 4};
    czr_collect_grads n_grads = {
        .n_members = 1, .n_grads = 1, .dtype = CZR_F64, .n = 1};
    czr_collect_members members = {.n_members = 2, .to_end = 3}, none = {0};
    const czr_status refused = CZR_ERR_ARGUMENT;
    int64_t n_log;
    setting s;

    (void)state;
    open_setting(&s, first_seed, 0);
    assert_int_equal(s.status, CZR_OK);
    czr_collect *c = s.collect;
    assert_int_equal(czr_collect_sum_grads(c, &n_grads, s.stream), refused);
    n_grads.dtype = CZR_F32;
    n_grads.n = 0;
    assert_int_equal(czr_collect_sum_grads(c, &n_grads, s.stream), CZR_OK);
    assert_int_equal(
        czr_collect_sum_slice(c, &members, CZR_SUM_F32, 1, s.stream), refused);
    members.to_end = 2;
    assert_int_equal(czr_collect_sum_slice(c, &none, CZR_SUM_F32, 1, s.stream),
                     refused);
    assert_int_equal(
        czr_collect_sum_slice(c, &members, CZR_SUM_F32, 0, s.stream), CZR_OK);
    assert_int_equal(czr_collect_sum_equal_parts(c, &members, CZR_SUM_F32, 81,
                                                 odd, s.stream),
                     refused);
    assert_int_equal(czr_collect_band_gather(c, &members, 3, band, s.stream),
                     refused);
    assert_int_equal(
        czr_collect_band_mirror(c, NULL, 4, (czr_band){8, 0}, s.stream),
        refused);
    czr_move_table moves = {{{.rows = SIZE_MAX, .columns = 2}}};
    assert_int_equal(czr_collect_pack(c, &moves, 1, s.stream), refused);
    assert_int_equal(czr_collect_pack(c, &moves, CZR_PACK_MOVES + 1, s.stream),
                     refused);
    assert_int_equal(czr_collect_pack(c, &moves, 0, s.stream), CZR_OK);
    fake_log(&n_log);
    assert_int_equal(n_log, 0);
    close_setting(&s);
}

static void says_why_it_does_not_open(void **state)
{
    setting s;
    czr_collect *collect;

    (void)state;
    open_setting(&s, first_seed, 0);
    assert_int_equal(
        czr_collect_open(s.bench.context, NULL, NULL, &collect, s.message),
        CZR_ERR_DEVICE_CODE);
    assert_null(collect);
    assert_non_null(strstr(s.message, "there is no NVRTC"));
    close_setting(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_what_the_host_leaves),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(refuses_what_makes_no_sense),
        cmocka_unit_test(says_why_it_does_not_open),
    };

    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(leaves_what_the_host_leaves),
    };

    gpu_bench_arguments(argc, argv, &trials, &first_seed, trials);
    return GPU_BENCH_RUN(argc, argv, setting_nvrtc, tests, on_gpu);
}
