/* Equal products of bf16 as one launch, on the doubles of driver and NVRTC: of
 * matrices that lie by themselves or in turn with what they are made from, in
 * all forms, fewer than were prepared too, with numbers of which sums are
 * exact, so that each is the host's to the bit.  And what is no batch.
 *
 * multiply_batch_test [TRIALS [SEED]]
 * multiply_batch_test gpu NVRTC...: on the machine's GPU, with the first NVRTC
 * that serves; exit status 77 without either: skipped. */
#include "runtime/product.h"
#include "tests/cuda/driver/stages.h"

#include <string.h>

enum { MOST = 6, UNIT = 8, DEEP = 40, MOST_BATCH = 5, GAP = 64 };
enum { A, B, ADDEND, OUT, N_OPERANDS };

static int trials = 80;
static unsigned first_seed = 1;
/* Trials whose last wave was in parts, and that were turned. */
static int n_split, n_turned;

/* Bytes: where operands of the first matrix are, and how far from the next. */
typedef struct trial {
    czr_product p;
    bool is_own; /* b is a */
    bool has_addend;
    int64_t most, n; /* prepared, and put */
    size_t bytes[N_OPERANDS];
    size_t at[N_OPERANDS];
    int64_t apart[N_OPERANDS];
    size_t all_bytes;
    unsigned char *memory;
} trial;

/* ---- a drawn batch ------------------------------------------------------ */

/* Symmetric ones are x x' or x' x, by one matrix or by two that are equal. */
static void draw_form(trial *t)
{
    /* What is 0 has a sign that kernels may lose: alpha is above 0. */
    static const float factors[] = {0.5F, 1, 2, 0.25F};
    czr_product *p = &t->p;

    *p = (czr_product){.symmetric = stages_draw(0, 1),
                       .transpose_a = stages_draw(0, 1),
                       .a_dtype = CZR_BF16,
                       .b_dtype = CZR_BF16,
                       .out_dtype = CZR_BF16,
                       .addend_dtype = CZR_BF16,
                       .alpha = factors[stages_draw(0, 3)],
                       .beta = -factors[stages_draw(0, 3)]};
    p->transpose_b = p->symmetric ? !p->transpose_a : stages_draw(0, 1);
    p->n = (size_t)stages_draw(1, MOST) * UNIT;
    p->m = p->symmetric ? p->n : (size_t)stages_draw(1, MOST) * UNIT;
    p->k = (size_t)stages_draw(1, MOST) * UNIT *
           (size_t)(stages_draw(0, 5) ? 1 : DEEP);
    t->is_own = p->symmetric && stages_draw(0, 1);
    t->has_addend = stages_draw(0, 1);
    t->most = stages_draw(2, MOST_BATCH);
    t->n = stages_draw(2, (int)t->most);
}

/* Matrices one behind the other, or all operands of the first, then those of
 * the next; with gaps between. */
static void lay_out(trial *t)
{
    const czr_product *p = &t->p;
    const size_t elements[] = {p->m * p->k, p->k * p->n, p->m * p->n,
                               p->m * p->n};
    const bool is_in_turn = stages_draw(0, 1);
    size_t at = 0;

    for (int i = 0; i < N_OPERANDS; i++) {
        t->bytes[i] = elements[i] * sizeof(czr_bf16);
        t->at[i] = at;
        const size_t room = (t->bytes[i] + GAP - 1) / GAP * GAP +
                            (size_t)stages_draw(0, 2) * GAP;
        t->apart[i] = (int64_t)room;
        at += is_in_turn ? room : room * (size_t)t->n;
    }
    for (int i = 0; is_in_turn && i < N_OPERANDS; i++)
        t->apart[i] = (int64_t)at;
    t->all_bytes = is_in_turn ? at * (size_t)t->n : at;
}

static czr_bf16 *matrix(const trial *t, int operand, int64_t z)
{
    return (void *)(t->memory + t->at[operand] +
                    (size_t)(t->apart[operand] * z));
}

/* op(b) becomes op(a)', but where a mirror image hides what b is, and the
 * addend its own transpose. */
static void make_symmetric(const trial *t, int64_t z)
{
    const czr_product *p = &t->p;
    czr_bf16 *s = matrix(t, ADDEND, z);

    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < i; j++)
            s[i * p->n + j] = s[j * p->n + i];
    if (p->transpose_b)
        memcpy(matrix(t, B, z), matrix(t, A, z), t->bytes[A]);
}

static void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){.most = 0};
    srand(seed);
    draw_form(t);
    lay_out(t);
    t->memory = calloc(1, t->all_bytes);
    assert_non_null(t->memory);
    czr_bf16 *x = (void *)t->memory;
    for (size_t i = 0; i < t->all_bytes / sizeof *x; i++)
        x[i] = czr_f32_to_bf16((float)stages_draw(-8, 8) / 4);
    for (int64_t z = 0; z < t->n && t->p.symmetric; z++)
        make_symmetric(t, z);
}

/* That of matrix z, where memory is. */
static czr_product product_at(const trial *t, const unsigned char *memory,
                              int64_t z)
{
    const czr_address base = czr_address_of(memory);
    czr_address of[N_OPERANDS];
    czr_product p = t->p;

    for (int i = 0; i < N_OPERANDS; i++)
        of[i] = base + t->at[i] + (czr_address)(t->apart[i] * z);
    p.a = czr_pointer_of(of[A]);
    p.b = czr_pointer_of(of[t->is_own ? A : B]);
    p.addend = t->has_addend ? czr_pointer_of(of[ADDEND]) : NULL;
    p.out = czr_pointer_of(of[OUT]);
    return p;
}

static czr_cuda_apart apart_of(const trial *t)
{
    return (czr_cuda_apart){t->apart[A], t->apart[t->is_own ? A : B],
                            t->has_addend ? t->apart[ADDEND] : 0,
                            t->apart[OUT]};
}

/* ---- both sides --------------------------------------------------------- */

static void multiply_on_host(const trial *t)
{
    float *c = calloc(t->p.m * t->p.n, sizeof *c);
    czr_host_math math;

    assert_non_null(c);
    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    for (int64_t z = 0; z < t->n; z++) {
        czr_product p = product_at(t, t->memory, z);
        p.c = c;
        math.math.product(&math.math, &p);
    }
    czr_host_math_close(&math);
    free(c);
}

typedef struct device {
    test_stages s;
    czr_address memory, room;
    czr_cuda_call call;
} device;

/* Prepared for as many as the trial says. */
static void open_device(device *d, const trial *t, unsigned seed)
{
    *d = (device){.memory = 0};
    stages_restart(seed);
    assert_int_equal(stages_open(&d->s, false), CZR_OK);
    d->call.stages = &d->s.stages;
    d->s.stages.batch = t->most;
    const czr_product paper = product_at(t, czr_pointer_of(1 << 20), 0);
    assert_int_equal(czr_cuda_multiply(&d->call, &paper), CZR_OK);
    d->s.stages.is_opening = false;
    assert_int_equal(czr_context_alloc(d->s.bench.context,
                                       d->s.stages.room_bytes + 1, &d->room),
                     CZR_OK);
    assert_int_equal(stages_send(&d->s, &d->memory, t->memory, t->all_bytes),
                     CZR_OK);
    d->call.stream = d->s.stream;
    d->call.room = czr_pointer_of(d->room);
}

static void close_device(device *d)
{
    czr_context_synchronize(d->s.bench.context, d->s.stream, 0);
    czr_context_free(d->s.bench.context, d->memory);
    czr_context_free(d->s.bench.context, d->room);
    stages_close(&d->s);
    assert_int_equal(bench_leftovers(), 0);
}

static int64_t count_launches(void)
{
    int64_t n, launches = 0;
    const fake_entry *log = fake_log(&n);

    for (int64_t i = 0; i < n; i++)
        launches += log[i].kind == FAKE_LAUNCH;
    return launches;
}

/* Whether n of them were put, as `apart` says. */
static bool put(device *d, const trial *t, int64_t n,
                const czr_cuda_apart *apart)
{
    const czr_product p = product_at(t, czr_pointer_of(d->memory), 0);
    czr_status status = CZR_OK;
    const bool is_put =
        czr_cuda_multiply_batch(&d->call, &p, (size_t)n, apart, &status);

    assert_int_equal(status, CZR_OK);
    return is_put;
}

/* ---- tests -------------------------------------------------------------- */

/* One launch, or two where the last wave is in parts, and those that turn. */
static void check_launches(const trial *t, int64_t launches)
{
    const czr_product *p = &t->p;
    const int64_t turns =
        t->n * ((p->transpose_a != 0) +
                (p->symmetric && !p->transpose_b && !t->is_own));
    const int64_t rest = launches - turns;

    assert_true(rest == 1 || rest == 2);
    assert_true(rest == 1 || p->k > 64);
    n_split += rest == 2;
    n_turned += turns > 0;
}

static void batches_are_the_hosts(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        device d;
        trial t;
        draw_trial(&t, seed);
        open_device(&d, &t, seed);
        unsigned char *mine = malloc(t.all_bytes);
        const czr_cuda_apart apart = apart_of(&t);
        const int64_t before = count_launches();
        assert_non_null(mine);
        if (!put(&d, &t, t.n, &apart))
            fail_msg("seed %u: no batch", seed);
        if (bench_path)
            check_launches(&t, count_launches() - before);
        assert_int_equal(stages_fetch(&d.s, mine, d.memory, t.all_bytes),
                         CZR_OK);
        multiply_on_host(&t);
        if (memcmp(mine, t.memory, t.all_bytes) != 0)
            fail_msg("seed %u: another result than the host's", seed);
        close_device(&d);
        free(mine);
        free(t.memory);
    }
    assert_true(!bench_path || trials < 80 || (n_split > 0 && n_turned > 0));
}

/* More than were prepared; results where operands lie, or where the next
 * matrix's do; halves of elements, and places that copies cannot begin at. */
static void what_is_no_batch_is_not_put(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        device d;
        trial t;
        draw_trial(&t, seed);
        open_device(&d, &t, seed);
        const czr_cuda_apart right = apart_of(&t);
        const int64_t before = count_launches();
        czr_cuda_apart wrong = right;
        assert_false(put(&d, &t, t.most + 1, &right));
        wrong.out = 0;
        assert_false(put(&d, &t, t.n, &wrong));
        wrong.out = (int64_t)t.bytes[OUT] - 16;
        assert_false(put(&d, &t, t.n, &wrong));
        wrong.out = right.out + 1;
        assert_false(put(&d, &t, t.n, &wrong));
        wrong.out = right.out + 2;
        assert_false(put(&d, &t, t.n, &wrong));
        wrong.out = -right.out;
        assert_false(put(&d, &t, t.n, &wrong));
        wrong = right;
        /* Turned operands may have lain anywhere. */
        wrong.a = t.p.transpose_a ? -1 : right.a + 2;
        assert_false(put(&d, &t, t.n, &wrong));
        t.at[OUT] = t.at[A];
        if (!t.p.transpose_a)
            assert_false(put(&d, &t, t.n, &right));
        t.at[OUT] = t.at[A] + (size_t)t.apart[A] - GAP;
        if (!t.p.transpose_a && t.bytes[OUT] > GAP)
            assert_false(put(&d, &t, t.n, &right));
        assert_int_equal(count_launches(), before);
        close_device(&d);
        free(t.memory);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_the_hosts),
        cmocka_unit_test(what_is_no_batch_is_not_put),
    };

    const struct CMUnitTest on_gpu[] = {
        cmocka_unit_test(batches_are_the_hosts),
    };

    if (argc > 1 && strcmp(argv[1], "gpu") != 0)
        trials = atoi(argv[1]);
    if (argc > 2 && strcmp(argv[1], "gpu") != 0)
        first_seed = (unsigned)strtoul(argv[2], NULL, 10);
    printf("%d trials, seed %u\n", trials, first_seed);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
