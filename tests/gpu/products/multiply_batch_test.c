/* Equal products of bf16 or f16 as one launch, on the doubles of driver and
 * NVRTC: of matrices that lie by themselves or in turn with what they are made
 * from, in all forms, fewer than were prepared too, with numbers of which sums
 * are exact, so that each is the host's to the bit.  And what is no batch.
 *
 * multiply_batch_test [TRIALS [SEED]]
 * multiply_batch_test gpu NVRTC...: on the machine's GPU, with the first NVRTC
 * that serves; exit status 77 without either: skipped. */
#include "tests/gpu/stages/batch_trial.h"

/* On a GPU NVRTC compiles for each. */
enum { ON_GPU = 20 };
static int trials = 80;
static unsigned first_seed = 1;
/* Trials whose last wave was in parts, and that were turned. */
static int n_split, n_m_major;

static void open_device(device *d, const trial *t, unsigned seed)
{
    stages_restart(seed);
    assert_int_equal(start_device(d, false), CZR_OK);
    assert_int_equal(prepare_device(d, t), CZR_OK);
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

/* One launch, or two where the last wave is in parts. */
static void check_launches(const trial *t, int64_t launches)
{
    assert_true(launches == 1 || launches == 2);
    assert_true(launches == 1 || t->p.k > 64);
    n_split += launches == 2;
    n_m_major += t->p.transpose_a != 0;
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
        const int64_t before = bench_launches();
        assert_non_null(mine);
        if (!put(&d, &t, t.n, &apart))
            fail_msg("seed %u: no batch", seed);
        if (bench_path)
            check_launches(&t, bench_launches() - before);
        assert_int_equal(stages_fetch(&d.s, mine, d.memory, t.all_bytes),
                         CZR_OK);
        multiply_on_host(&t);
        if (memcmp(mine, t.memory, t.all_bytes) != 0)
            fail_msg("seed %u: another result than the host's", seed);
        close_device(&d);
        free(mine);
        free(t.memory);
    }
    assert_true(!bench_path || trials < 80 || (n_split > 0 && n_m_major > 0));
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
        const int64_t before = bench_launches();
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
        wrong.a = right.a + 2;
        assert_false(put(&d, &t, t.n, &wrong));
        t.at[OUT] = t.at[A];
        assert_false(put(&d, &t, t.n, &right));
        t.at[OUT] = t.at[A] + (size_t)t.apart[A] - GAP;
        if (t.bytes[OUT] > GAP)
            assert_false(put(&d, &t, t.n, &right));
        assert_int_equal(bench_launches(), before);
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

    gpu_bench_arguments(argc, argv, &trials, &first_seed, ON_GPU);
    return STAGES_RUN(argc, argv, tests, on_gpu);
}
