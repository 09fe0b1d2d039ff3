/* Products of bf16 or f16 of which a program says that cuBLASLt was measured to
 * be faster, on the doubles of driver, NVRTC and cuBLASLt: alone and several,
 * in all forms, skipped too, each the host's to the bit as sums are exact.  And
 * where it is missing, or fails, or is not to be used.
 *
 * multiply_chosen_test [TRIALS [SEED]]
 * multiply_chosen_test gpu NVRTC...: on the machine's GPU, with the cuBLASLt
 * that the loader finds, if any, and the first NVRTC that serves; exit status
 * 77 without GPU or NVRTC: skipped. */
#include "tests/gpu/stages/batch_trial.h"
#include "tests/gpu/double/cublaslt.h"

enum { N_TILINGS = 2 };

static int trials = 80;
static unsigned first_seed = 1;
/* On a GPU nobody counts, and the double stays away. */
static int uncounted;
static test_cublaslt library = {NULL, &uncounted, &uncounted, &uncounted};

/* What a trial is run with. */
typedef struct setting {
    const char *path; /* of the library */
    bool is_strict;
    int other_sms;        /* that the program is for others than there are */
    size_t scratch_bytes; /* of the trial's memory, from its beginning on */
} setting;

typedef struct outcome {
    czr_status status;
    bool is_put;      /* several: as such */
    int64_t launches; /* of a matrix */
    char lines[LINES];
} outcome;

static setting usual(void)
{
    return (setting){.path = bench_path ? CUBLASLT_PATH : NULL};
}

/* ---- a run -------------------------------------------------------------- */

/* That of one, and of all that are prepared; tiles as tests of them have. */
static void say_tilings(device *d, const trial *t, czr_cuda_tiling *tilings)
{
    const czr_product *p = &t->p;

    for (int i = 0; i < N_TILINGS; i++)
        tilings[i] = (czr_cuda_tiling){.m = (int64_t)p->m,
                                       .n = (int64_t)p->n,
                                       .k = (int64_t)p->k,
                                       .batch = i ? t->most : 1,
                                       .has_addend = t->has_addend,
                                       .rows = 128,
                                       .cols = 256,
                                       .stages = 4,
                                       .splits = 1,
                                       .is_library = true};
    d->s.cuda.tilings = tilings;
    d->s.cuda.n_tilings = N_TILINGS;
}

static czr_status put(device *d, const trial *t, bool *is_put)
{
    const czr_product p = product_at(t, czr_pointer_of(d->memory), 0);
    const czr_cuda_apart apart = apart_of(t);
    czr_status status = CZR_OK;

    *is_put = t->n == 1 || czr_cuda_multiply_batch(&d->call, &p, (size_t)t->n,
                                                   &apart, &status);
    return t->n == 1 ? czr_cuda_multiply(&d->call, &p) : status;
}

/* From opening to closing.  What `mine` then has is the host's, unless the
 * status is another or several were not put. */
static outcome run(trial *t, const setting *with)
{
    unsigned char *mine = malloc(t->all_bytes);
    czr_cuda_tiling tilings[N_TILINGS];
    outcome o = {.is_put = false};
    device d;

    assert_non_null(mine);
    *library.products = *library.narrow = 0;
    o.status = start_device(&d, with->is_strict);
    d.s.stages.cublas = with->path;
    say_tilings(&d, t, tilings);
    if (o.status == CZR_OK) {
        d.s.cuda.tiled_sms = d.s.bench.context->n_processors + with->other_sms;
        o.status = prepare_device(&d, t);
        czr_cuda_products_describe(&d.s.stages, keep_line, o.lines);
    }
    const int64_t before = bench_path ? bench_launches() : 0;
    d.call.scratch = czr_pointer_of(with->scratch_bytes ? d.memory : 0);
    d.call.scratch_bytes = with->scratch_bytes;
    if (o.status == CZR_OK)
        o.status = put(&d, t, &o.is_put);
    o.launches = bench_path ? (bench_launches() - before) / t->n : 0;
    if (o.status == CZR_OK)
        o.status = stages_fetch(&d.s, mine, d.memory, t->all_bytes);
    if (o.status == CZR_OK && o.is_put) {
        multiply_on_host(t);
        if (memcmp(mine, t->memory, t->all_bytes) != 0)
            fail_msg("another result than the host's");
    }
    close_device(&d);
    free(mine);
    return o;
}

static void draw(trial *t, unsigned seed)
{
    draw_trial(t, seed);
    stages_restart(seed);
    t->skipped = stages_draw(0, 4) == 0;
    if (stages_draw(0, 1))
        t->n = 1;
}

/* ---- tests -------------------------------------------------------------- */

/* Where it is not symmetric, by as many calls as there are; else by ours. */
static void programs_choose_the_library(void **state)
{
    int n_symmetric = 0, n_several = 0, n_skipped = 0;

    (void)state;
    for (int i = 0; i < trials; i++) {
        const setting with = usual();
        trial t;
        draw(&t, first_seed + (unsigned)i);
        const int wanted = t.p.symmetric ? 0 : (int)t.n;
        const outcome o = run(&t, &with);
        if (o.status != CZR_OK || !o.is_put ||
            (bench_path && *library.narrow != wanted))
            fail_msg("seed %u: %d, %d products of %d", first_seed + (unsigned)i,
                     o.status, *library.narrow, wanted);
        assert_int_equal(*library.products, *library.narrow);
        if (bench_path &&
            (strstr(o.lines, "cuBLASLt") != NULL) == t.p.symmetric)
            fail_msg("%s", o.lines);
        n_symmetric += t.p.symmetric;
        n_several += t.n > 1 && !t.p.symmetric;
        n_skipped += t.skipped && !t.p.symmetric;
        free(t.memory);
    }
    assert_true(trials < 80 || (n_symmetric && n_several && n_skipped));
}

/* The first one that is not symmetric. */
static void draw_general(trial *t, bool is_several, bool has_addend)
{
    for (unsigned seed = first_seed;; seed++) {
        draw(t, seed);
        if (!t->p.symmetric && (t->n > 1) == is_several &&
            t->has_addend == has_addend)
            break;
        free(t->memory);
    }
    t->skipped = 0;
}

static void lists_say_the_library(void **state)
{
    const setting with = usual();
    char wanted[LINES];

    (void)state;
    for (int several = 0; several < 2; several++) {
        trial t;
        draw_general(&t, several, true);
        const czr_product *p = &t.p;
        const char *dtype = p->a_dtype == CZR_F16 ? "f16" : "bf16";
        const outcome o = run(&t, &with);
        snprintf(wanted, sizeof wanted,
                 "%s%s[%zu, %zu] x %s%s[%zu, %zu] to %s, added to: "
                 "cuBLASLt, where they lie at odd places product_plain\n"
                 "up to %d in turn of %s",
                 dtype, p->transpose_a ? "'" : "", p->m, p->k, dtype,
                 p->transpose_b ? "'" : "", p->k, p->n, dtype, (int)t.most,
                 dtype);
        assert_int_equal(strncmp(o.lines, wanted, strlen(wanted)), 0);
        assert_null(strstr(o.lines, "product_sm90"));
        free(t.memory);
    }
}

/* On other GPUs than the program is for, and in strict plans. */
static void others_are_left_to_us(void **state)
{
    const setting others = {.path = CUBLASLT_PATH, .other_sms = 1};
    const setting strict = {.path = CUBLASLT_PATH, .is_strict = true};

    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool is_strict = i % 2;
        trial t;
        draw_general(&t, !is_strict && i / 2, i / 2);
        const outcome o = run(&t, is_strict ? &strict : &others);
        assert_int_equal(o.status, CZR_OK);
        assert_true(o.is_put);
        assert_int_equal(*library.products, 0);
        assert_null(strstr(o.lines, "cuBLASLt"));
        free(t.memory);
    }
}

/* An operand of all matrices, so many bytes behind all others. */
static void move_behind(trial *t, int operand, size_t bytes)
{
    const size_t by = (size_t)t->apart[operand];
    const size_t from = t->at[operand], to = t->all_bytes + bytes;
    unsigned char *more = realloc(t->memory, to + by * (size_t)t->n);

    assert_non_null(more);
    memset(more + t->all_bytes, 0, bytes + by * (size_t)t->n);
    for (size_t z = 0; z < (size_t)t->n; z++)
        memcpy(more + to + by * z, more + from + by * z, t->bytes[operand]);
    t->memory = more;
    t->at[operand] = to;
    t->all_bytes = to + by * (size_t)t->n;
}

/* Of what the library reads; where results lie does not matter. */
static void odd_places_are_for_other_kernels(void **state)
{
    const setting with = usual();

    (void)state;
    for (int i = 0; i < N_OPERANDS; i++)
        for (int several = 0; several < 2; several++) {
            trial t;
            draw_general(&t, several, true);
            move_behind(&t, i, 2);
            const outcome o = run(&t, &with);
            assert_int_equal(o.status, CZR_OK);
            assert_int_equal(*library.products, i == OUT ? t.n : 0);
            assert_int_equal(o.is_put, i == OUT || !several);
            free(t.memory);
        }
}

/* One of which the result is no larger than any operand. */
static void draw_covered(trial *t, bool is_several)
{
    for (unsigned seed = first_seed;; seed++) {
        draw(t, seed);
        if (!t->p.symmetric && (t->n > 1) == is_several && t->has_addend &&
            t->bytes[OUT] <= t->bytes[A] && t->bytes[OUT] <= t->bytes[B])
            break;
        free(t->memory);
    }
    t->skipped = 0;
}

/* To the last byte of it; another way where it would spoil what the
 * library reads. */
static void results_in_scratch_are_in_place(void **state)
{
    static const struct {
        int place;    /* where results lie */
        size_t shift; /* or so many bytes behind all, */
        size_t less;  /* of which scratch lacks so many */
        int64_t launches;
    } wanted[] = {{OUT, 0, 0, 1}, {ADDEND, 0, 0, 1}, {A, 0, 0, 2},
                  {B, 0, 0, 2},   {OUT, 0, 1, 2},    {OUT, 0, 2, 2},
                  {OUT, 2, 0, 2}, {OUT, 16, 0, 1}};
    setting with = usual();

    (void)state;
    for (size_t i = 0; i < 2 * sizeof wanted / sizeof *wanted; i++) {
        const int place = wanted[i / 2].place;
        trial t;
        draw_covered(&t, i % 2);
        if (place == OUT)
            move_behind(&t, OUT, 64 - t.all_bytes % 64 + wanted[i / 2].shift);
        t.at[OUT] = t.at[place];
        t.apart[OUT] = t.apart[place];
        with.scratch_bytes = t.at[OUT] + (size_t)t.apart[OUT] * (size_t)t.n;
        if (wanted[i / 2].less)
            with.scratch_bytes = t.at[OUT] + t.bytes[OUT] - wanted[i / 2].less;
        const outcome o = run(&t, &with);
        assert_int_equal(o.status, CZR_OK);
        assert_int_equal(o.launches, wanted[i / 2].launches);
        assert_int_equal(*library.narrow, t.n);
        free(t.memory);
    }
}

/* Of a skipped step the library knows nothing: then only scratch is written. */
static void skipped_steps_leave_the_rest(void **state)
{
    setting with = usual();

    (void)state;
    for (int several = 0; several < 2; several++) {
        trial t;
        draw_general(&t, several, true);
        move_behind(&t, OUT, 64 - t.all_bytes % 64);
        t.skipped = 1;
        with.scratch_bytes = t.at[OUT];
        assert_int_equal(run(&t, &with).status, CZR_OK);
        assert_int_equal(*library.narrow, t.n);
        free(t.memory);
    }
}

/* One line says so, and our tensor cores' kernels take it. */
static void without_the_library_kernels_are_ours(void **state)
{
    const setting without = {.path = "/nowhere/libcublasLt.so"};

    (void)state;
    for (int several = 0; several < 2; several++) {
        trial t;
        draw_general(&t, several, several);
        const outcome o = run(&t, &without);
        assert_int_equal(o.status, CZR_OK);
        assert_true(o.is_put);
        assert_non_null(strstr(o.lines, "_128x256x4"));
        assert_non_null(strstr(o.lines, "not by cuBLASLt: cuBLASLt is "
                                        "missing\n"));
        free(t.memory);
    }
}

/* Each of its calls in turn: a right result, by ours unless it is the product
 * itself that fails. */
static void failures_of_the_library_are_said(void **state)
{
    const setting with = usual();
    bool has_failed = true;
    int n_refused = 0;

    (void)state;
    for (int n = 1; has_failed; n++) {
        trial t;
        draw_general(&t, true, true);
        *library.fails = n;
        const outcome o = run(&t, &with);
        has_failed = *library.fails == 0;
        *library.fails = 0;
        assert_true(o.status == CZR_OK || o.status == CZR_ERR_DEVICE);
        n_refused += o.status != CZR_OK;
        if (has_failed && o.status == CZR_OK)
            assert_non_null(strstr(o.lines, "not by cuBLASLt: "));
        free(t.memory);
    }
    assert_true(n_refused >= 2);
}

static void failures_of_the_driver_leave_nothing(void **state)
{
    const setting with = usual();
    bool is_over = false;

    (void)state;
    for (int64_t n = 1; !is_over; n++) {
        trial t;
        draw_general(&t, true, true);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        run(&t, &with);
        is_over = !fake_has_failed();
        free(t.memory);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_choose_the_library),
        cmocka_unit_test(lists_say_the_library),
        cmocka_unit_test(others_are_left_to_us),
        cmocka_unit_test(odd_places_are_for_other_kernels),
        cmocka_unit_test(results_in_scratch_are_in_place),
        cmocka_unit_test(skipped_steps_leave_the_rest),
        cmocka_unit_test(without_the_library_kernels_are_ours),
        cmocka_unit_test(failures_of_the_library_are_said),
        cmocka_unit_test(failures_of_the_driver_leave_nothing),
    };
    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(programs_choose_the_library),
    };

    if (argc < 2 || strcmp(argv[1], "gpu") != 0)
        library = test_cublaslt_open();
    gpu_bench_arguments(argc, argv, &trials, &first_seed, trials);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
