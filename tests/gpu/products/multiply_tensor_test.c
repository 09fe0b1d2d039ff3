/* Products of bf16 where a program is not strict, on the doubles of driver and
 * NVRTC: all forms that tensor cores' kernels take, with numbers of which sums
 * are exact, so that each is the host's to the bit.
 *
 * multiply_tensor_test [TRIALS [SEED]]
 * multiply_tensor_test gpu NVRTC...: on the machine's GPU, with the first NVRTC
 * that serves; exit status 77 without either: skipped. */
#include "runtime/cuda/products/tiles.h"
#include "runtime/math/product.h"
#include "tests/gpu/stages/stages.h"

#include <string.h>

/* Extents: units, numbers. */
enum { MOST = 9, UNIT = 8, MARGIN = 8, DEEP = 40 };

/* On a GPU NVRTC compiles for each. */
enum { ON_GPU = 20 };
static int trials = 60;
static unsigned first_seed = 1;
static bool has_plain_run;
/* What programs of trials say of tiles, and what was said of the last product.
 */
static czr_cuda_tiling program_tiling;
static int tiled_sms;
static char line_said[CZR_CUDA_LINE];

static void run_plain(void **arguments)
{
    (void)arguments;
    has_plain_run = true;
}

/* ---- a drawn product ---------------------------------------------------- */

enum { A, B, ADDEND, OUT, N_OPERANDS };

typedef struct trial {
    czr_product p;
    size_t n[N_OPERANDS], at[N_OPERANDS]; /* first number of each */
    czr_bf16 *host[N_OPERANDS];
    czr_address device[N_OPERANDS], skip;
    bool is_own; /* b is a */
    int32_t skipped;
} trial;

static void draw_form(trial *t)
{
    /* What is 0 has a sign that kernels may lose: alpha is above 0. */
    static const float factors[] = {0.5F, 1, 2, 0.25F};
    czr_product *p = &t->p;
    const bool is_square = stages_draw(0, 1);

    *p = (czr_product){.symmetric = stages_draw(0, 1),
                       .transpose_a = stages_draw(0, 1),
                       .transpose_b = stages_draw(0, 1),
                       .a_dtype = CZR_BF16,
                       .b_dtype = CZR_BF16,
                       .out_dtype = CZR_BF16,
                       .addend_dtype = CZR_BF16,
                       .alpha = factors[stages_draw(0, 3)],
                       .beta = -factors[stages_draw(0, 3)]};
    p->n = (size_t)stages_draw(1, MOST) * UNIT;
    p->m = p->symmetric ? p->n : (size_t)stages_draw(1, MOST * UNIT);
    /* Some so deep that k is in parts. */
    const size_t depth = stages_draw(0, 7) ? 1 : DEEP;
    p->k = is_square ? p->n : (size_t)stages_draw(1, MOST) * UNIT * depth;
    t->is_own = p->symmetric && stages_draw(0, 1) &&
                (p->transpose_a != p->transpose_b || p->k == p->n);
    t->skipped = stages_draw(0, 7) == 0;
}

static czr_bf16 *room_for(size_t n)
{
    czr_bf16 *x = calloc(n + MARGIN, sizeof *x);

    assert_non_null(x);
    for (size_t i = 0; i < n + MARGIN; i++)
        x[i] = czr_f32_to_bf16((float)stages_draw(-8, 8) / 4);
    return x;
}

static void make_symmetric(czr_bf16 *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i];
}

/* op(b) becomes op(a)': the product is symmetric, and b another matrix. */
static void make_own(trial *t)
{
    const czr_product *p = &t->p;

    for (size_t i = 0; i < p->m; i++)
        for (size_t k = 0; k < p->k; k++)
            t->host[B][p->transpose_b ? i * p->k + k : k * p->n + i] =
                t->host[A][p->transpose_a ? k * p->m + i : i * p->k + k];
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    draw_form(t);
    const czr_product *p = &t->p;
    const bool has_addend = stages_draw(0, 1);
    const size_t n[] = {p->m * p->k, p->k * p->n, p->m * p->n, p->m * p->n};
    for (int i = 0; i < N_OPERANDS; i++) {
        t->n[i] = n[i];
        if (i != ADDEND || has_addend)
            t->host[i] = room_for(n[i]);
    }
    if (t->is_own && p->transpose_a == p->transpose_b)
        make_symmetric(t->host[A], p->n);
    /* Where a mirror image is made it hides what b is. */
    if (p->symmetric && (t->is_own || p->transpose_b))
        make_own(t);
    if (p->symmetric && has_addend)
        make_symmetric(t->host[ADDEND], p->n);
}

static void drop_trial(trial *t)
{
    for (int i = 0; i < N_OPERANDS; i++)
        free(t->host[i]);
}

/* Where the test says; b is a if it is its own. */
static czr_product product_at(const trial *t, void *const at[N_OPERANDS])
{
    czr_product p = t->p;

    p.a = at[A];
    p.b = t->is_own ? at[A] : at[B];
    p.addend = at[ADDEND];
    p.out = at[OUT];
    return p;
}

static czr_product on_device(const trial *t)
{
    void *at[N_OPERANDS] = {NULL};

    for (int i = 0; i < N_OPERANDS; i++)
        if (t->host[i])
            at[i] = czr_pointer_of(t->device[i] + t->at[i] * sizeof(czr_bf16));
    return product_at(t, at);
}

/* Where stages are opened: there, but nowhere. */
static czr_product on_paper(const trial *t)
{
    void *at[N_OPERANDS] = {NULL};

    for (int i = 0; i < N_OPERANDS; i++)
        if (t->host[i])
            at[i] = czr_pointer_of(1 << 20);
    return product_at(t, at);
}

/* ---- run on either ------------------------------------------------------ */

static czr_status send_all(test_stages *s, trial *t, czr_address *room)
{
    czr_status status =
        czr_context_alloc(s->bench.context, s->stages.room_bytes + 1, room);

    if (status == CZR_OK)
        status = stages_send(s, &t->skip, &t->skipped, sizeof t->skipped);
    for (int i = 0; i < N_OPERANDS && status == CZR_OK; i++)
        if (t->host[i]) {
            memmove(t->host[i] + t->at[i], t->host[i],
                    t->n[i] * sizeof(czr_bf16));
            status = stages_send(s, &t->device[i], t->host[i],
                                 (t->n[i] + MARGIN) * sizeof(czr_bf16));
            memmove(t->host[i], t->host[i] + t->at[i],
                    t->n[i] * sizeof(czr_bf16));
        }
    return status;
}

static czr_status multiply(test_stages *s, trial *t, czr_address *room,
                           czr_bf16 *result)
{
    czr_product p = on_paper(t);
    czr_cuda_call call = {.stages = &s->stages};

    czr_status status = czr_cuda_multiply(&call, &p);
    s->stages.is_opening = false;
    if (status == CZR_OK)
        status = send_all(s, t, room);
    p = on_device(t);
    call.stream = s->stream;
    call.skip = czr_pointer_of(t->skip);
    call.room = czr_pointer_of(*room);
    if (status == CZR_OK)
        status = czr_cuda_multiply(&call, &p);
    if (status == CZR_OK)
        status = stages_fetch(s, result, czr_address_of(p.out),
                              t->n[OUT] * sizeof *result);
    return status;
}

static void free_all(test_stages *s, trial *t, czr_address room)
{
    if (!s->stream)
        return;
    czr_context_synchronize(s->bench.context, s->stream, 0);
    for (int i = 0; i < N_OPERANDS; i++)
        czr_context_free(s->bench.context, t->device[i]);
    czr_context_free(s->bench.context, t->skip);
    czr_context_free(s->bench.context, room);
}

static void multiply_on_host(const trial *t)
{
    void *const at[] = {t->host[A], t->host[B], t->host[ADDEND], t->host[OUT]};
    czr_product p = product_at(t, at);
    float *c = calloc(t->n[OUT], sizeof *c);
    czr_host_math math;

    assert_non_null(c);
    p.c = c;
    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    if (!t->skipped)
        math.math.product(&math.math, &p);
    czr_host_math_close(&math);
    free(c);
}

static void keep_line(void *user, const char *line)
{
    (void)user;
    snprintf(line_said, sizeof line_said, "%s", line);
}

static void run_trial(trial *t, unsigned seed)
{
    czr_bf16 *const mine = calloc(t->n[OUT], sizeof *mine);
    czr_address room = 0;
    test_stages s;

    stages_restart(seed);
    assert_non_null(mine);
    assert_int_equal(stages_open(&s, false), CZR_OK);
    s.cuda.tilings = &program_tiling;
    s.cuda.n_tilings = 1;
    s.cuda.tiled_sms = tiled_sms;
    assert_int_equal(multiply(&s, t, &room, mine), CZR_OK);
    czr_cuda_products_describe(&s.stages, keep_line, NULL);
    multiply_on_host(t);
    if (memcmp(mine, t->host[OUT], t->n[OUT] * sizeof *mine) != 0)
        fail_msg("seed %u: another result than the host's", seed);
    free_all(&s, t, room);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
    free(mine);
}

/* ---- tests -------------------------------------------------------------- */

static void tensor_products_are_the_hosts(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        run_trial(&t, first_seed + (unsigned)i);
        drop_trial(&t);
    }
}

static int count_launches(void)
{
    int64_t n;
    int launches = 0;
    const fake_entry *log = fake_log(&n);

    for (int64_t i = 0; i < n; i++)
        launches += log[i].kind == FAKE_LAUNCH;
    return launches;
}

/* In parts of k, which another launch ends. */
static bool is_split(const trial *t, const czr_context *context)
{
    const czr_cuda_product_device device = {
        10 * context->major + context->minor, context->n_processors};
    const czr_cuda_product p = {
        .m = (int64_t)t->p.m,
        .n = (int64_t)t->p.n,
        .k = (int64_t)t->p.k,
        .batch = 1,
        .is_symmetric = t->p.symmetric && (t->is_own || t->p.transpose_b)};
    czr_cuda_product_tiles tiles;

    assert_true(czr_tiles_choose(&p, &device, &tiles));
    return czr_tiles_parts(&p, &device, &tiles) > 1;
}

/* One kernel, and those that turn an operand and make a mirror image. */
static int launches_of(const trial *t, bool split)
{
    const czr_product *p = &t->p;

    return 1 + split + (p->transpose_a != 0) +
           (p->symmetric && !p->transpose_b && !t->is_own);
}

/* Of the forms that tensor cores take none falls back, whatever it computes. */
static void tensor_cores_take_all_forms(void **state)
{
    int n_split = 0;
    (void)state;
    for (int i = 0; i < trials; i++) {
        czr_address room = 0;
        test_stages s;
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        bench_reset(first_seed, 50);
        fake_register("product_plain", run_plain);
        bodies_register();
        plain_bodies_register();
        has_plain_run = false;
        czr_bf16 *const mine = calloc(t.n[OUT], sizeof *mine);
        assert_int_equal(stages_open(&s, false), CZR_OK);
        assert_int_equal(multiply(&s, &t, &room, mine), CZR_OK);
        assert_false(has_plain_run);
        const bool split = is_split(&t, s.bench.context);
        assert_int_equal(count_launches(), launches_of(&t, split));
        n_split += split;
        free_all(&s, &t, room);
        stages_close(&s);
        free(mine);
        drop_trial(&t);
    }
    assert_true(trials < 60 || (n_split > 0 && n_split < trials));
}

/* A trial whose program says these tiles of it, for so many processors. */
static void run_in_tiles(trial *t, const czr_cuda_tiling *tiles, int sms)
{
    const czr_product *p = &t->p;
    const bool is_n_major = !t->is_own && !p->transpose_b;

    program_tiling = *tiles;
    program_tiling.m = (int64_t)p->m;
    program_tiling.n = (int64_t)p->n;
    program_tiling.k = (int64_t)p->k;
    program_tiling.batch = 1;
    program_tiling.is_n_major = is_n_major;
    program_tiling.is_symmetric = p->symmetric && !is_n_major;
    program_tiling.has_addend = t->host[ADDEND] != NULL;
    tiled_sms = sms;
    run_trial(t, first_seed);
    tiled_sms = 0;
}

/* Parts are said where k has as many steps, and taken. */
static bool said_parts(const trial *t, int parts)
{
    char said[32];
    const bool has_steps = (t->p.k + 63) / 64 >= (size_t)parts;

    snprintf(said, sizeof said, "in %d parts", parts);
    if (!strstr(line_said, said) == has_steps)
        fail_msg("k %zu: %s", t->p.k, line_said);
    return has_steps;
}

/* On the GPU that a program was compiled for, and on no other; nor where no
 * kernel has such tiles. */
static void programs_say_their_tiles(void **state)
{
    static const struct {
        czr_cuda_tiling tiling;
        const char *name;
    } said[] = {
        {{.rows = 192, .cols = 192, .stages = 3, .cluster = 1}, "_192x192x3"},
        {{.rows = 128, .cols = 256, .stages = 4, .cluster = 2},
         "_128x256x4_cluster2"},
        {{.rows = 256, .cols = 128, .stages = 3, .cluster = 1, .parts = 7},
         "_256x128x3"},
        {{.rows = 192, .cols = 256, .stages = 3, .cluster = 1}, "_192x256x3"},
    };
    const int n = (int)(sizeof said / sizeof *said);
    int n_split = 0;

    (void)state;
    for (int i = 0; i < trials; i++) {
        const int sms = i / n % 3 ? 132 : 131, illegal = n - 1;
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        run_in_tiles(&t, &said[i % n].tiling, sms);
        const bool is_said = sms == 132 && i % n != illegal;
        if (is_said && i % n == 2)
            n_split += said_parts(&t, 7);
        if (!strstr(line_said, is_said ? said[i % n].name : "_128x128x5") ||
            (!is_said && strstr(line_said, said[i % n].name)))
            fail_msg("seed %u: %s", first_seed + (unsigned)i, line_said);
        drop_trial(&t);
    }
    assert_true(trials < 60 || n_split > 0);
}

/* An operand that begins at no multiple of 16 bytes. */
static void odd_places_are_for_the_plain_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * N_OPERANDS; i++) {
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        t.at[i % N_OPERANDS] = 1 + (size_t)i;
        run_trial(&t, first_seed);
        drop_trial(&t);
    }
}

/* Each call of the driver fails in turn: a status, and nothing is left. */
static void failures_leave_nothing(void **state)
{
    (void)state;
    for (int64_t n = 1;; n++) {
        czr_address room = 0;
        test_stages s;
        trial t;
        draw_trial(&t, first_seed);
        stages_restart(first_seed);
        czr_bf16 *const mine = calloc(t.n[OUT], sizeof *mine);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = stages_open(&s, false);
        if (status == CZR_OK)
            status = multiply(&s, &t, &room, mine);
        const bool has_failed = fake_has_failed();
        free_all(&s, &t, room);
        stages_close(&s);
        const bool is_over = !fake_has_failed();
        assert_int_equal(bench_leftovers(), 0);
        free(mine);
        drop_trial(&t);
        if (has_failed && status == CZR_OK &&
            strcmp(fake_symbol(n - 1), "cuStreamDestroy_v2") != 0)
            fail_msg("call %d fails, and nobody says so", (int)n);
        if (is_over)
            break;
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_products_are_the_hosts),
        cmocka_unit_test(tensor_cores_take_all_forms),
        cmocka_unit_test(programs_say_their_tiles),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
        cmocka_unit_test(failures_leave_nothing),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(tensor_products_are_the_hosts),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
    };

    if (argc > 1)
        trials = strcmp(argv[1], "gpu") ? atoi(argv[1]) : ON_GPU;
    if (argc > 2 && strcmp(argv[1], "gpu") != 0)
        first_seed = (unsigned)strtoul(argv[2], NULL, 10);
    printf("%d trials, seed %u\n", trials, first_seed);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
