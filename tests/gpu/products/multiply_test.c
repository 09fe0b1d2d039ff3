/* Products of stages from opening to results, on the doubles of driver and
 * NVRTC: drawn ones beside the host's in a fixed order, to the bit, where a
 * program is strict.
 *
 * multiply_test [TRIALS [SEED]]
 * multiply_test gpu NVRTC...: on the machine's GPU, with the first NVRTC that
 * serves; exit status 77 without either: skipped. */
#include "runtime/math/product.h"
#include "tests/gpu/stages/stages.h"

#include <string.h>

enum { MOST = 80 };

/* On a GPU NVRTC compiles for each. */
enum { ON_GPU = 20 };
static int trials = 60;
static unsigned first_seed = 1;

/* ---- a drawn product ---------------------------------------------------- */

enum { A, B, ADDEND, OUT, C, N_OPERANDS };

typedef struct trial {
    czr_product p; /* its pointers are what is there, not where */
    size_t n[N_OPERANDS], bytes[N_OPERANDS];
    void *host[N_OPERANDS]; /* NULL: not there */
    czr_address device[N_OPERANDS], skip;
    bool is_in_place;
    int32_t skipped;
} trial;

static czr_dtype draw_dtype(void)
{
    return stages_draw(0, 1) ? CZR_BF16 : CZR_F32;
}

static void draw_form(trial *t)
{
    czr_product *p = &t->p;

    p->symmetric = stages_draw(0, 2) == 0;
    p->m = (size_t)stages_draw(stages_draw(0, 9) > 0, MOST);
    p->n = p->symmetric ? p->m : (size_t)stages_draw(1, MOST);
    p->k = (size_t)stages_draw(stages_draw(0, 9) > 0, 20);
    p->blocks = 1 << stages_draw(0, 3);
    p->narrow = stages_draw(0, 1);
    p->k *= (size_t)p->blocks;
    p->a_dtype = draw_dtype();
    p->b_dtype = draw_dtype();
    p->out_dtype = draw_dtype();
    p->addend_dtype = draw_dtype();
    p->transpose_a = stages_draw(0, 1);
    p->transpose_b = stages_draw(0, 1);
    p->alpha = (float)stages_draw(-9, 9) / 7;
    p->beta = (float)stages_draw(-9, 9) / 7;
    t->skipped = stages_draw(0, 7) == 0;
}

static void *draw_numbers(size_t n, czr_dtype dtype)
{
    void *const memory = malloc(n * czr_dtype_bytes(dtype) + 1);

    assert_non_null(memory);
    for (size_t i = 0; i < n; i++) {
        const float x = (float)stages_draw(-1000000, 1000000) / 333333;
        const czr_bf16 narrow = czr_f32_to_bf16(x);
        if (dtype == CZR_BF16)
            memcpy((czr_bf16 *)memory + i, &narrow, sizeof narrow);
        else
            memcpy((float *)memory + i, &x, sizeof x);
    }
    return memory;
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    draw_form(t);
    const czr_product *p = &t->p;
    const int form = stages_draw(0, 3);
    const size_t n[] = {p->m * p->k, p->k * p->n, p->m * p->n, p->m * p->n,
                        p->m * p->n};
    const czr_dtype dtypes[] = {p->a_dtype, p->b_dtype, p->addend_dtype,
                                p->out_dtype, CZR_F32};
    t->is_in_place = form == 3;
    for (int i = 0; i < N_OPERANDS; i++) {
        t->n[i] = n[i];
        t->bytes[i] = n[i] * czr_dtype_bytes(dtypes[i]);
        if ((i == ADDEND && form != 2) || (i == OUT && form == 0))
            continue;
        t->host[i] = draw_numbers(n[i], dtypes[i]);
    }
}

static void drop_trial(trial *t)
{
    for (int i = 0; i < N_OPERANDS; i++)
        free(t->host[i]);
}

static czr_product product_of(const trial *t, void *const at[N_OPERANDS])
{
    czr_product p = t->p;

    p.a = at[A];
    p.b = at[B];
    p.c = at[C];
    p.out = at[OUT];
    p.addend = t->is_in_place ? at[OUT] : at[ADDEND];
    if (t->is_in_place)
        p.addend_dtype = p.out_dtype;
    return p;
}

static czr_product on_host(const trial *t)
{
    return product_of(t, t->host);
}

/* What is not there is NULL. */
static czr_product on_device(const trial *t)
{
    void *at[N_OPERANDS];

    for (int i = 0; i < N_OPERANDS; i++)
        at[i] = czr_pointer_of(t->device[i]);
    return product_of(t, at);
}

/* Where stages are opened: there, but nowhere. */
static czr_product on_paper(const trial *t)
{
    void *at[N_OPERANDS];

    for (int i = 0; i < N_OPERANDS; i++)
        at[i] = t->host[i] ? czr_pointer_of(1 << 20) : NULL;
    return product_of(t, at);
}

/* ---- run on either ------------------------------------------------------ */

static czr_status send_all(test_stages *s, trial *t)
{
    czr_status status =
        stages_send(s, &t->skip, &t->skipped, sizeof t->skipped);

    for (int i = 0; i < N_OPERANDS && status == CZR_OK; i++)
        if (t->host[i])
            status = stages_send(s, &t->device[i], t->host[i], t->bytes[i]);
    return status;
}

static czr_status multiply(test_stages *s, trial *t, void *result)
{
    czr_product p = on_paper(t);
    czr_cuda_call call = {.stages = &s->stages};
    const int which = t->host[OUT] ? OUT : C;

    czr_status status = czr_cuda_multiply(&call, &p);
    s->stages.is_opening = false;
    if (status == CZR_OK)
        status = send_all(s, t);
    p = on_device(t);
    call.stream = s->stream;
    call.skip = czr_pointer_of(t->skip);
    if (status == CZR_OK)
        status = czr_cuda_multiply(&call, &p);
    if (status == CZR_OK)
        status = stages_fetch(s, result, t->device[which], t->bytes[which]);
    return status;
}

static void free_all(test_stages *s, trial *t)
{
    if (!s->stream)
        return;
    czr_context_synchronize(s->bench.context, s->stream, 0);
    for (int i = 0; i < N_OPERANDS; i++)
        czr_context_free(s->bench.context, t->device[i]);
    czr_context_free(s->bench.context, t->skip);
}

/* With the results in t->host unless it is skipped. */
static void multiply_on_host(const trial *t)
{
    const czr_product p = on_host(t);
    czr_host_math math;

    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    if (!t->skipped)
        math.math.product(&math.math, &p);
    czr_host_math_close(&math);
}

/* ---- tests -------------------------------------------------------------- */

static void strict_products_are_the_hosts(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        test_stages s;
        trial t;
        draw_trial(&t, seed);
        stages_restart(seed);
        const int which = t.host[OUT] ? OUT : C;
        void *const mine = malloc(t.bytes[which] + 1);
        assert_non_null(mine);
        assert_int_equal(stages_open(&s, true), CZR_OK);
        assert_int_equal(multiply(&s, &t, mine), CZR_OK);
        multiply_on_host(&t);
        if (memcmp(mine, t.host[which], t.bytes[which]) != 0)
            fail_msg("seed %u: another result than the host's", seed);
        free_all(&s, &t);
        stages_close(&s);
        assert_int_equal(bench_leftovers(), 0);
        free(mine);
        drop_trial(&t);
    }
}

/* Each call of the driver fails in turn: a status, and nothing is left. */
static void failures_leave_nothing(void **state)
{
    (void)state;
    for (int64_t n = 1;; n++) {
        test_stages s;
        trial t;
        draw_trial(&t, first_seed);
        stages_restart(first_seed);
        void *const mine = malloc(t.bytes[OUT] + t.bytes[C] + 1);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = stages_open(&s, true);
        if (status == CZR_OK)
            status = multiply(&s, &t, mine);
        const bool has_failed = fake_has_failed();
        free_all(&s, &t);
        stages_close(&s);
        const bool is_over = !fake_has_failed();
        assert_int_equal(bench_leftovers(), 0);
        free(mine);
        drop_trial(&t);
        if (has_failed && status == CZR_OK)
            fail_msg("call %d fails, and nobody says so", (int)n);
        if (is_over)
            break;
    }
}

static void keep_line(void *user, const char *line)
{
    strcat(user, line);
    strcat(user, "\n");
}

/* One line for each kind, however often it is asked for; one that nobody asked
 * for is refused. */
static void products_are_listed(void **state)
{
    const czr_cuda_call call_of = {0};
    char lines[1024] = "";
    czr_product p = {.m = 3, .n = 5, .k = 7, .a_dtype = CZR_BF16};
    test_stages s;

    (void)state;
    stages_restart(1);
    assert_int_equal(stages_open(&s, true), CZR_OK);
    czr_cuda_call call = call_of;
    call.stages = &s.stages;
    assert_int_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    assert_int_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    p.transpose_b = 1;
    assert_int_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    p.k = 8;
    p.blocks = 2;
    assert_int_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    s.stages.is_opening = false;
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    assert_string_equal(lines,
                        "bf16[3, 7] x f32[7, 5] to f32: product_plain\n"
                        "bf16[3, 7] x f32'[7, 5] to f32: product_plain\n"
                        "bf16[3, 8] x f32'[8, 5] to f32: product_parts\n");
    assert_true(czr_cuda_products_is_capturable(&s.stages));
    p.k = 9;
    assert_int_not_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_products_are_the_hosts),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(products_are_listed),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(strict_products_are_the_hosts),
    };

    if (argc > 1)
        trials = strcmp(argv[1], "gpu") ? atoi(argv[1]) : ON_GPU;
    if (argc > 2 && strcmp(argv[1], "gpu") != 0)
        first_seed = (unsigned)strtoul(argv[2], NULL, 10);
    printf("%d trials, seed %u\n", trials, first_seed);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
