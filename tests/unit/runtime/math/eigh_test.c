/* Eigenvectors by LAPACK's parts: what they give on both sides of every block,
 * of any scale, from no more workspace than they are given. */
#include "runtime/math/eigh.h"
#include "tests/unit/unit.h"
#include "runtime/math/library.h"

enum { LARGEST = 193, GUARD = 16 };

static const float UNTOUCHED = 12345.0F;

static uint32_t seed = 7;

static float next_value(void)
{
    seed = seed * 1664525u + 1013904223u;
    return ((float)(seed >> 8) / (float)(1 << 23)) - 1;
}

typedef struct room {
    float *a, *vectors, *values, *work;
    int *integers;
} room;

static int set_up(void **state)
{
    static room r;
    const size_t area = (size_t)LARGEST * LARGEST;

    r = (room){.a = calloc(area, sizeof *r.a),
               .vectors = calloc(area, sizeof *r.a),
               .values = calloc(LARGEST + GUARD, sizeof *r.a),
               .work = calloc(1 + 6 * LARGEST + 2 * area + GUARD, sizeof *r.a),
               .integers = calloc(3 + 5 * LARGEST, sizeof *r.integers)};
    *state = &r;
    return czr_library_has_lapack() ? 0 : -1;
}

static int tear_down(void **state)
{
    room *r = *state;

    free(r->a);
    free(r->vectors);
    free(r->values);
    free(r->work);
    free(r->integers);
    return 0;
}

static void run(room *r, size_t n)
{
    const size_t n_work = 1 + 6 * n + 2 * n * n;

    memcpy(r->vectors, r->a, n * n * sizeof *r->a);
    for (size_t i = 0; i < GUARD; i++)
        r->work[n_work + i] = r->values[n + i] = UNTOUCHED;
    assert_true(czr_eigh_f32(n, r->vectors, r->values, r->work, n_work,
                             r->integers, 3 + 5 * n));
    for (size_t i = 0; i < GUARD; i++) {
        assert_true(r->work[n_work + i] == UNTOUCHED);
        assert_true(r->values[n + i] == UNTOUCHED);
    }
}

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* a v = value v for each vector, which are orthogonal and ordered. */
static void check(const room *r, size_t n, double near)
{
    const double most =
        fmax(fabs((double)r->values[0]), fabs((double)r->values[n - 1]));

    for (size_t i = 0; i < n; i++) {
        const float *vector = r->vectors + i * n;
        assert_true(i == 0 || r->values[i - 1] <= r->values[i]);
        for (size_t j = 0; j < n; j++) {
            const double product = dot(r->a + j * n, vector, n);
            const double wanted = (double)r->values[i] * (double)vector[j];
            assert_true(fabs(product - wanted) <= near * most);
            assert_true(fabs(dot(vector, r->vectors + j * n, n) -
                             (i == j ? 1 : 0)) <= near);
        }
    }
}

static void make_symmetric(const room *r, size_t n, int exponent)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            r->a[i * n + j] = r->a[j * n + i] = ldexpf(next_value(), exponent);
}

static void vectors_of_each_size(void **state)
{
    static const size_t sizes[] = {1, 2, 33, 127, 128, 129, 160, 161, LARGEST};
    room *r = *state;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        make_symmetric(r, sizes[i], 0);
        run(r, sizes[i]);
        check(r, sizes[i], 1e-5);
    }
}

/* The smallest have few bits to lose: LAPACK scales those before it begins. */
static void vectors_of_each_scale(void **state)
{
    room *r = *state;

    for (int exponent = -135; exponent <= 120; exponent += 51) {
        make_symmetric(r, LARGEST, exponent);
        run(r, LARGEST);
        check(r, LARGEST, 1e-5);
    }
}

/* Blocks without reflectors, and vectors that are anybody's. */
static void vectors_of_multiples_of_one(void **state)
{
    room *r = *state;

    for (int value = -1; value <= 1; value++) {
        memset(r->a, 0, (size_t)LARGEST * LARGEST * sizeof *r->a);
        for (size_t i = 0; i < LARGEST; i++)
            r->a[i * (LARGEST + 1)] = (float)value;
        run(r, LARGEST);
        check(r, LARGEST, 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_each_size),
        cmocka_unit_test(vectors_of_each_scale),
        cmocka_unit_test(vectors_of_multiples_of_one),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
