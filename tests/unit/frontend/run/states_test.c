/* States beside the interpreter's: what may be another basis, and what may not.
 */
#include "frontend/run/run.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define BOUND 1e-4

/* S = diag(3, 1, 0, 0): the last two columns of a basis are anybody's. */
enum { N = 4, AREA = N * N, MOMENT = N * 2, GRAM = 0, BASIS, TURNED, N_STATES };

static const double gram[AREA] = {3, 0, 0, 0, 0, 1};
static const double identity[AREA] = {1, 0, 0, 0, 0, 1, 0, 0,
                                      0, 0, 1, 0, 0, 0, 0, 1};
static const double moment[MOMENT] = {5, 1, 2, 3, 1, 1, 1, 2};
/* Signs, and a turn of the null space by 3-4-5. */
static const double other[AREA] = {-1, 0, 0,   0,   0, 1, 0,    0,
                                   0,  0, 0.6, 0.8, 0, 0, -0.8, 0.6};

typedef struct fixture {
    double gram[AREA], basis[AREA], moment[MOMENT];
    cz_run_state states[N_STATES];
} fixture;

static void begin(fixture *f, const double *basis)
{
    memcpy(f->gram, gram, sizeof gram);
    memcpy(f->basis, basis, sizeof identity);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < 2; j++) {
            f->moment[i * 2 + j] = 0;
            for (int k = 0; k < N; k++)
                f->moment[i * 2 + j] += basis[k * N + i] * moment[k * 2 + j];
        }
    f->states[GRAM] = (cz_run_state){N, N, f->gram, gram, 0};
    f->states[BASIS] = (cz_run_state){N, N, f->basis, identity, 0};
    f->states[TURNED] = (cz_run_state){N, 2, f->moment, moment, 0};
}

static bool agrees(const fixture *f, int state)
{
    return cz_run_state_agrees(f->states, N_STATES, state, BOUND);
}

static void equal_states_agree(void **state)
{
    fixture f;

    (void)state;
    begin(&f, identity);
    for (int k = 0; k < N_STATES; k++)
        assert_true(agrees(&f, k));
}

static void another_basis_agrees_and_what_it_turns(void **state)
{
    fixture f;

    (void)state;
    begin(&f, other);
    for (int k = 0; k < N_STATES; k++)
        assert_true(agrees(&f, k));
}

/* Vectors of eigenvalues 3 and 0 mixed by as little as a hundredth. */
static void what_diagonalises_less_is_found(void **state)
{
    double mixed[AREA];
    fixture f;

    (void)state;
    memcpy(mixed, identity, sizeof mixed);
    mixed[0] = mixed[10] = 0.99995;
    mixed[2] = -0.01;
    mixed[8] = 0.01;
    begin(&f, mixed);
    assert_false(agrees(&f, BASIS));
    assert_false(agrees(&f, TURNED));
}

static void what_is_no_basis_is_found(void **state)
{
    fixture f;

    (void)state;
    begin(&f, other);
    f.basis[0] = -1.001;
    assert_false(agrees(&f, BASIS));
}

static void a_wrong_gram_matrix_is_found_whatever_the_basis(void **state)
{
    fixture f;

    (void)state;
    begin(&f, other);
    f.gram[0] = 1; /* the norm stays */
    f.gram[5] = 3;
    assert_false(agrees(&f, GRAM));
    begin(&f, other);
    f.gram[1] = f.gram[4] = 0.01;
    assert_false(agrees(&f, GRAM));
}

static void moments_of_another_norm_are_found(void **state)
{
    fixture f;

    (void)state;
    begin(&f, other);
    for (int i = 0; i < MOMENT; i++)
        f.moment[i] *= 1.001;
    assert_false(agrees(&f, TURNED));
}

/* Where bases are the same, moments are not turned. */
static void swapped_moments_are_found(void **state)
{
    fixture f;

    (void)state;
    begin(&f, identity);
    f.moment[0] = moment[1];
    f.moment[1] = moment[0];
    assert_false(agrees(&f, TURNED));
}

/* ---- what rounding may add ---- */

/* Beyond the bound, within the spread, and a little beyond both. */
static void spread_widens_the_bound_by_as_much(void **state)
{
    fixture f;

    (void)state;
    begin(&f, identity);
    f.moment[0] += 0.1;
    assert_false(agrees(&f, TURNED));
    f.states[TURNED].rounding = 0.1;
    assert_true(agrees(&f, TURNED));
    f.moment[0] += 0.001;
    assert_false(agrees(&f, TURNED));
}

static void a_basis_gains_nothing_by_spread(void **state)
{
    fixture f;

    (void)state;
    begin(&f, identity);
    f.basis[0] = 1.01;
    f.states[BASIS].rounding = 0.1;
    assert_false(agrees(&f, BASIS));
}

/* Roots -1/4 of diag(256, 1, low, low) and of another such. */
static bool root_agrees(double power, double low, double instead, double spread)
{
    double want[AREA] = {0}, got[AREA] = {0};
    const double values[N] = {256, 1, low, low},
                 others[N] = {256, 1, instead, low};
    const cz_run_state root = {N, N, got, want, spread};

    for (int i = 0; i < N; i++) {
        want[i * N + i] = pow(values[i], -0.25);
        got[i * N + i] = pow(others[i], power);
    }
    return cz_run_state_agrees(&root, 1, 0, BOUND);
}

/* An eigenvalue that rounding makes: of 1e-12 or 1e-5, beside 256. */
static void a_root_of_what_rounding_decides_gives_its_matrix_back(void **state)
{
    (void)state;
    assert_true(root_agrees(-0.25, 1e-12, 1e-5, 1000));
    assert_true(root_agrees(-0.25, 1e-12, 1e-5, INFINITY));
    assert_false(root_agrees(-0.25, 1e-12, 1e-5, 0.01));
    assert_false(root_agrees(-0.25, 1e-12, 1, 1000));
    assert_false(root_agrees(-0.2501, 1e-12, 1e-5, 1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_states_agree),
        cmocka_unit_test(another_basis_agrees_and_what_it_turns),
        cmocka_unit_test(what_diagonalises_less_is_found),
        cmocka_unit_test(what_is_no_basis_is_found),
        cmocka_unit_test(a_wrong_gram_matrix_is_found_whatever_the_basis),
        cmocka_unit_test(moments_of_another_norm_are_found),
        cmocka_unit_test(swapped_moments_are_found),
        cmocka_unit_test(spread_widens_the_bound_by_as_much),
        cmocka_unit_test(a_basis_gains_nothing_by_spread),
        cmocka_unit_test(a_root_of_what_rounding_decides_gives_its_matrix_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
