/* Products by cuBLASLt on the doubles of driver, NVRTC and cuBLASLt, whose bits
 * are those of the host's fixed order: f32, and bf16 in forms that our kernels
 * of tensor cores do not take.  Also where it is missing or fails.
 *
 * multiply_library_test [TRIALS [SEED]] */
#include "runtime/math/product.h"
#include "tests/gpu/double/cublaslt.h"
#include "tests/gpu/stages/stages.h"

#include <string.h>

enum { MOST = 60, FIRST = 16 }; /* extents; bytes in front of operands */

static int trials = 60;
static unsigned first_seed = 1;
static int *fails, *products; /* the double's */

/* ---- a drawn product ---------------------------------------------------- */

enum { A, B, ADDEND, OUT, N_OPERANDS };

typedef struct trial {
    czr_product p;
    size_t bytes[N_OPERANDS];
    void *host[N_OPERANDS]; /* NULL: not there */
    czr_address device[N_OPERANDS], skip, room;
    int moved; /* which operand begins `shift` bytes later */
    size_t shift;
    int32_t skipped;
} trial;

static void *draw_numbers(size_t n, czr_dtype dtype, size_t *bytes)
{
    unsigned char *memory = calloc(n * sizeof(float) + 2 * FIRST, 1);

    *bytes = n * czr_dtype_bytes(dtype);
    assert_non_null(memory);
    for (size_t i = 0; i < n; i++) {
        const float x = (float)stages_draw(-1000000, 1000000) / 333333;
        const czr_bf16 narrow = czr_f32_to_bf16(x);
        if (dtype == CZR_BF16)
            memcpy(memory + i * sizeof narrow, &narrow, sizeof narrow);
        else
            memcpy(memory + i * sizeof x, &x, sizeof x);
    }
    return memory;
}

/* n is odd: no kernel of tensor cores takes it. */
static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){0};
    srand(seed);
    czr_product *p = &t->p;
    const czr_dtype of_operands = stages_draw(0, 1) ? CZR_BF16 : CZR_F32;
    *p = (czr_product){.symmetric = stages_draw(0, 2) == 0,
                       .n = (size_t)stages_draw(0, MOST / 2) * 2 + 1,
                       .k = (size_t)stages_draw(1, MOST),
                       .a_dtype = of_operands,
                       .b_dtype = of_operands,
                       .out_dtype = stages_draw(0, 1) ? CZR_BF16 : CZR_F32,
                       .addend_dtype = stages_draw(0, 1) ? CZR_BF16 : CZR_F32,
                       .transpose_a = stages_draw(0, 1),
                       .transpose_b = stages_draw(0, 1),
                       .alpha = (float)stages_draw(-9, 9) / 7,
                       .beta = (float)stages_draw(-9, 9) / 7};
    p->m = p->symmetric ? p->n : (size_t)stages_draw(1, MOST);
    const size_t n[] = {p->m * p->k, p->k * p->n, p->m * p->n, p->m * p->n};
    const czr_dtype dtypes[] = {of_operands, of_operands, p->addend_dtype,
                                p->out_dtype};
    const bool has_addend = stages_draw(0, 1);
    for (int i = 0; i < N_OPERANDS; i++)
        if (i != ADDEND || has_addend)
            t->host[i] = draw_numbers(n[i], dtypes[i], &t->bytes[i]);
    t->skipped = stages_draw(0, 7) == 0;
}

static void drop_trial(trial *t)
{
    for (int i = 0; i < N_OPERANDS; i++)
        free(t->host[i]);
}

static czr_product product_at(const trial *t, void *const at[N_OPERANDS])
{
    czr_product p = t->p;

    p.a = at[A];
    p.b = at[B];
    p.addend = at[ADDEND];
    p.out = at[OUT];
    return p;
}

static czr_product on_device(const trial *t)
{
    void *at[N_OPERANDS] = {NULL};

    for (int i = 0; i < N_OPERANDS; i++)
        if (t->host[i])
            at[i] =
                czr_pointer_of(t->device[i] + (i == t->moved ? t->shift : 0));
    return product_at(t, at);
}

static void multiply_on_host(const trial *t)
{
    czr_product p = product_at(t, t->host);
    float *c = calloc(p.m * p.n, sizeof *c);
    czr_host_math math;

    assert_non_null(c);
    p.c = c;
    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    if (!t->skipped)
        math.math.product(&math.math, &p);
    czr_host_math_close(&math);
    free(c);
}

/* ---- on the device ------------------------------------------------------ */

static czr_status open_stages(test_stages *s, const char *path)
{
    const czr_status status = stages_open(s, false);

    s->stages.cublas = path;
    return status;
}

static czr_status send_all(test_stages *s, trial *t)
{
    czr_status status =
        czr_context_alloc(s->bench.context, s->stages.room_bytes + 1, &t->room);

    if (status == CZR_OK)
        status = stages_send(s, &t->skip, &t->skipped, sizeof t->skipped);
    for (int i = 0; i < N_OPERANDS && status == CZR_OK; i++) {
        const size_t shift = i == t->moved ? t->shift : 0;
        unsigned char *memory = t->host[i];
        if (!memory)
            continue;
        memmove(memory + shift, memory, t->bytes[i]);
        status = stages_send(s, &t->device[i], memory, t->bytes[i] + FIRST);
        memmove(memory, memory + shift, t->bytes[i]);
    }
    return status;
}

static czr_status multiply(test_stages *s, trial *t, void *result)
{
    czr_product p = product_at(t, t->host);
    czr_cuda_call call = {.stages = &s->stages};

    czr_status status = czr_cuda_multiply(&call, &p);
    s->stages.is_opening = false;
    if (status == CZR_OK)
        status = send_all(s, t);
    p = on_device(t);
    call.stream = s->stream;
    call.skip = czr_pointer_of(t->skip);
    call.room = czr_pointer_of(t->room);
    if (status == CZR_OK)
        status = czr_cuda_multiply(&call, &p);
    if (status == CZR_OK)
        status = stages_fetch(s, result, t->device[OUT], t->bytes[OUT]);
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
    czr_context_free(s->bench.context, t->room);
}

/* From opening to closing, with the library at `path`; its result is the
 * host's wherever there is one. */
static czr_status run(trial *t, const char *path, unsigned seed)
{
    void *const mine = calloc(t->bytes[OUT] + 1, 1);
    test_stages s;

    assert_non_null(mine);
    stages_restart(seed);
    *products = 0;
    assert_int_equal(open_stages(&s, path), CZR_OK);
    const czr_status status = multiply(&s, t, mine);
    multiply_on_host(t);
    if (status == CZR_OK && memcmp(mine, t->host[OUT], t->bytes[OUT]) != 0)
        fail_msg("seed %u: another result than the host's", seed);
    free_all(&s, t);
    stages_close(&s);
    assert_int_equal(bench_leftovers(), 0);
    free(mine);
    return status;
}

/* ---- tests -------------------------------------------------------------- */

static void the_library_is_used(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        trial t;
        draw_trial(&t, seed);
        assert_int_equal(run(&t, CUBLASLT_PATH, seed), CZR_OK);
        assert_int_equal(*products, 1);
        drop_trial(&t);
    }
}

static void odd_places_are_for_the_plain_kernel(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        trial t;
        draw_trial(&t, first_seed + (unsigned)i);
        t.shift = sizeof(float);
        t.moved = i % 2 ? A : B;
        assert_int_equal(run(&t, CUBLASLT_PATH, first_seed), CZR_OK);
        assert_int_equal(*products, 0);
        drop_trial(&t);
    }
}

/* Of the library's calls the last is the product itself; without the others
 * the plain kernel computes it. */
static void failures_are_no_wrong_results(void **state)
{
    int n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        trial t;
        draw_trial(&t, first_seed);
        *fails = n + 1;
        const czr_status status = run(&t, CUBLASLT_PATH, first_seed);
        has_failed = *fails == 0;
        if (status != CZR_OK)
            assert_int_equal(status, CZR_ERR_DEVICE);
        assert_true(status == CZR_OK || n == 15);
        *fails = 0;
        drop_trial(&t);
    }
    assert_int_equal(n, 17);
}

static void failures_of_the_driver_leave_nothing(void **state)
{
    (void)state;
    for (int64_t n = 1;; n++) {
        test_stages s;
        trial t;
        draw_trial(&t, first_seed);
        stages_restart(first_seed);
        void *const mine = calloc(t.bytes[OUT] + 1, 1);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = open_stages(&s, CUBLASLT_PATH);
        if (status == CZR_OK)
            status = multiply(&s, &t, mine);
        free_all(&s, &t);
        stages_close(&s);
        const bool is_over = !fake_has_failed();
        assert_int_equal(bench_leftovers(), 0);
        free(mine);
        drop_trial(&t);
        if (is_over)
            break;
    }
}

static void keep_line(void *user, const char *line)
{
    strcat(user, line);
    strcat(user, "\n");
}

/* What computes an f32 product with the library at `path`. */
static void list(const char *path, char *lines)
{
    const czr_product p = {.m = 3, .n = 5, .k = 7};
    test_stages s;

    stages_restart(1);
    assert_int_equal(open_stages(&s, path), CZR_OK);
    const czr_cuda_call call = {.stages = &s.stages};
    assert_int_equal(czr_cuda_multiply(&call, &p), CZR_OK);
    lines[0] = '\0';
    czr_cuda_products_describe(&s.stages, keep_line, lines);
    stages_close(&s);
}

static void what_is_missing_is_said(void **state)
{
    char lines[1024];

    (void)state;
    list(CUBLASLT_PATH, lines);
    assert_string_equal(lines, "f32[3, 7] x f32[7, 5] to f32: cuBLASLt, where "
                               "they lie at odd places product_plain\n");
    list("/nowhere/libcublasLt.so", lines);
    assert_string_equal(lines, "f32[3, 7] x f32[7, 5] to f32: product_plain\n"
                               "not by cuBLASLt: cuBLASLt is missing\n");
    list(NVRTC_PATH, lines);
    assert_non_null(strstr(lines, "cuBLASLt has no cublasLtGetVersion\n"));
    *fails = 1;
    list(CUBLASLT_PATH, lines);
    assert_non_null(strstr(lines, "cuBLASLt does not start (14)\n"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_is_used),
        cmocka_unit_test(odd_places_are_for_the_plain_kernel),
        cmocka_unit_test(failures_are_no_wrong_results),
        cmocka_unit_test(failures_of_the_driver_leave_nothing),
        cmocka_unit_test(what_is_missing_is_said),
    };
    const test_cublaslt library = test_cublaslt_open();

    fails = library.fails;
    products = library.products;
    if (argc > 1)
        trials = atoi(argv[1]);
    if (argc > 2)
        first_seed = (unsigned)strtoul(argv[2], NULL, 10);
    printf("%d trials, seed %u\n", trials, first_seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
