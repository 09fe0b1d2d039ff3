/* An iteration x <- a x + (b g + c g g) x, g = x x', of what was gathered over
 * its norm: places that the solver finds, and random ones, as the check sees
 * them and as bytes do that remember who wrote them. */
#include "dsl/plan/within.h"
#include "passes/verify/internal.h"
#include "passes/kernel/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum {
    ROWS = 8,
    COLUMNS = 16,
    N_ITERATIONS = 5,
    N_STEPS = 2 + 3 * N_ITERATIONS,
    SLOT = 4 * ROWS * COLUMNS,
    ROOM = 4 * SLOT,
    N_PLACES = ROOM / CZ_ALIGN_BYTES
};

static const cz_access elements[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT,
                                     CZ_ACCESS_ELEMENT};
static const cz_access scaled[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ALL};
static const cz_access total[] = {CZ_SUM_ALL};
static const cz_dtype f32[] = {CZ_F32}, f64[] = {CZ_F64};

/* The stage, and its places in arrays that may be changed. */
typedef struct iteration {
    cz_view_stage stage;
    cz_fact_stage fact;
    cz_view_step steps[N_STEPS];
    int in[N_STEPS][3], out_value[1];
    cz_view_slot slots[2];
    int64_t room[2];
    int64_t offsets[N_STEPS][2], within[N_STEPS][2];
} iteration;

static void set_map(iteration *it, int s, const cz_access *access, int n_in,
                    const cz_access *out_access, const cz_dtype *dtype)
{
    it->steps[s] = (cz_view_step){.n_in = n_in,
                                  .in = it->in[s],
                                  .access = access,
                                  .n_out = 1,
                                  .out_access = out_access,
                                  .out_dtype = dtype,
                                  .rows = ROWS,
                                  .columns = COLUMNS};
}

static void set_product(iteration *it, int s, int64_t columns, int64_t inner)
{
    it->steps[s] = (cz_view_step){.is_product = true,
                                  .body = -1,
                                  .n_in = inner == COLUMNS ? 2 : 3,
                                  .in = it->in[s],
                                  .access = elements,
                                  .n_out = 1,
                                  .out_access = elements,
                                  .out_dtype = f32,
                                  .rows = ROWS,
                                  .columns = columns,
                                  .inner = inner,
                                  .alpha = 2,
                                  .beta = inner == COLUMNS ? 0 : 3};
}

/* Value 0 is gathered; step s makes value s + 1. */
static void set_steps(iteration *it)
{
    it->in[0][0] = 0;
    set_map(it, 0, elements, 1, total, f64);
    it->in[1][1] = 1;
    set_map(it, 1, scaled, 2, elements, f32);
    for (int s = 2; s < N_STEPS; s += 3) {
        const int x = s, g = s + 1, poly = s + 2;
        memcpy(it->in[s], (int[]){x, x, 0}, sizeof it->in[s]);
        memcpy(it->in[s + 1], (int[]){g, g, g}, sizeof it->in[s]);
        memcpy(it->in[s + 2], (int[]){poly, x, x}, sizeof it->in[s]);
        set_product(it, s, ROWS, COLUMNS);
        set_product(it, s + 1, ROWS, ROWS);
        set_product(it, s + 2, COLUMNS, ROWS);
    }
}

static void build(iteration *it)
{
    memset(it, 0, sizeof *it);
    set_steps(it);
    it->slots[0] = (cz_view_slot){CZ_SLOT_GATHER, 0, CZ_F32};
    it->slots[1] = (cz_view_slot){CZ_SLOT_SCATTER, 0, CZ_F32};
    it->room[0] = it->room[1] = SLOT;
    it->out_value[0] = N_STEPS;
    it->fact =
        (cz_fact_stage){.where = CZ_WHERE_FULL_MATRIX, .work_bytes = ROOM};
    it->stage = (cz_view_stage){.fact = &it->fact,
                                .where = CZ_WHERE_FULL_MATRIX,
                                .n_in = 1,
                                .n_out = 1,
                                .in = &it->slots[0],
                                .out = &it->slots[1],
                                .n_steps = N_STEPS,
                                .steps = it->steps,
                                .out_value = it->out_value,
                                .capacity = it->room};
}

static int64_t solve(cz_arena *arena, iteration *it)
{
    cz_places places;
    const int64_t bytes = cz_workspace_solve(arena, &it->stage, &places);

    for (int s = 0; s < N_STEPS; s++) {
        it->steps[s].offsets = it->offsets[s];
        it->steps[s].within = it->within[s];
        for (int i = 0; i < cz_view_n_places(&it->steps[s]); i++) {
            it->offsets[s][i] = places.offsets[s][i];
            it->within[s][i] = places.within[s] ? places.within[s][i] : 0;
        }
    }
    return bytes;
}

/* ---- bytes that remember ---- */

enum { N_SPACES = 3, SCRATCH_TAG = 1000 };
typedef struct memory {
    int tags[N_SPACES][ROOM / 4]; /* of four bytes */
    bool is_wrong;
} memory;

typedef struct span {
    int64_t within, first, n; /* elements of four bytes */
} span;

static span span_of(const iteration *it, int value)
{
    if (value == 0)
        return (span){1, 0, SLOT / 4};
    if (value == N_STEPS)
        return (span){2, 0, SLOT / 4};
    return (span){it->within[value - 1][0], it->offsets[value - 1][0] / 4,
                  cz_view_place_bytes(&it->steps[value - 1], 0) / 4};
}

static void write(memory *m, span at, int64_t first, int64_t n, int tag)
{
    for (int64_t i = 0; i < n; i++)
        m->tags[at.within][at.first + first + i] = tag;
}

static void read(memory *m, span at, int64_t first, int64_t n, int tag)
{
    for (int64_t i = 0; i < n; i++)
        if (m->tags[at.within][at.first + first + i] != tag)
            m->is_wrong = true;
}

/* Element by element, all of what is no matrix each time; upwards or
 * downwards. */
static void run_map(memory *m, const iteration *it, int s, bool upwards)
{
    const cz_view_step *step = &it->steps[s];
    const span out = span_of(it, s + 1);
    const bool is_sum = out.n != ROWS * COLUMNS;

    for (int64_t i = 0; i < ROWS * COLUMNS; i++) {
        const int64_t e = upwards ? i : ROWS * COLUMNS - 1 - i;
        for (int k = 0; k < step->n_in; k++) {
            const span in = span_of(it, step->in[k]);
            if (step->access[k] == CZ_ACCESS_ELEMENT)
                read(m, in, e, 1, step->in[k]);
            else
                read(m, in, 0, in.n, step->in[k]);
        }
        write(m, out, is_sum ? 0 : e, is_sum ? out.n : 1, s + 1);
    }
    read(m, out, 0, out.n, s + 1);
}

/* In no order: what it reads is there behind what it writes. */
static void run_product(memory *m, const iteration *it, int s)
{
    const cz_view_step *step = &it->steps[s];
    const span own = {it->within[s][1], it->offsets[s][1] / 4,
                      cz_view_place_bytes(step, 1) / 4};
    const span out = span_of(it, s + 1);

    write(m, own, 0, own.n, SCRATCH_TAG + s);
    write(m, out, 0, out.n, s + 1);
    read(m, own, 0, own.n, SCRATCH_TAG + s);
    for (int k = 0; k < step->n_in; k++) {
        const span in = span_of(it, step->in[k]);
        read(m, in, 0, in.n, step->in[k]);
    }
}

static bool bytes_say_good(const iteration *it, bool upwards)
{
    memory m;

    memset(&m, 0xff, sizeof m);
    m.is_wrong = false;
    write(&m, span_of(it, 0), 0, SLOT / 4, 0);
    for (int s = 0; s < N_STEPS; s++)
        if (it->steps[s].is_product)
            run_product(&m, it, s);
        else
            run_map(&m, it, s, upwards);
    read(&m, span_of(it, N_STEPS), 0, SLOT / 4, N_STEPS);
    return !m.is_wrong;
}

/* ---- tests ---- */

static bool is_good(cz_arena *arena, const iteration *it)
{
    int step;

    return !find_lost_value(arena, &it->stage, &step);
}

/* Two squares, one of which is an accumulator in its turn: iterates lie in the
 * slots. */
static void iterates_lie_in_slots(void **state)
{
    cz_arena arena;
    iteration it;

    (void)state;
    cz_arena_init(&arena);
    build(&it);
    const int64_t bytes = solve(&arena, &it);
    assert_in_range(bytes, 1, SLOT + 4 * ROWS * ROWS);
    assert_true(is_good(&arena, &it));
    it.stage.capacity = NULL;
    assert_true(solve(&arena, &it) >= bytes + 2 * SLOT - 4 * ROWS * ROWS);
    it.stage.capacity = it.room;
    assert_true(is_good(&arena, &it));
    cz_arena_fini(&arena);
}

static uint32_t draw(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

/* Another place for one result, or accumulator. */
static void move(iteration *it, uint32_t *seed)
{
    int s = (int)draw(seed, N_STEPS), i = 0;

    if (it->steps[s].is_product)
        i = (int)draw(seed, 2);
    if (s == N_STEPS - 1)
        i = 1; /* its result is the output */
    const int64_t within = draw(seed, N_SPACES);
    const int64_t n = cz_view_place_bytes(&it->steps[s], i);
    const int64_t room = cz_view_capacity(&it->stage, within);
    const uint32_t n_places = (uint32_t)((room - n) / CZ_ALIGN_BYTES) + 1;
    it->within[s][i] = within;
    it->offsets[s][i] = CZ_ALIGN_BYTES * draw(seed, n_places);
}

static void moved_results_are_seen(void **state)
{
    enum { MUTANTS = 3000 };
    int n_good = 0;
    cz_arena arena;
    iteration it;

    (void)state;
    for (uint32_t seed = 1; seed <= MUTANTS; seed++) {
        uint32_t random = seed;
        cz_arena_init(&arena);
        build(&it);
        solve(&arena, &it);
        move(&it, &random);
        const bool good =
            bytes_say_good(&it, true) && bytes_say_good(&it, false);
        if (is_good(&arena, &it) != good)
            fail_msg("seed %u: bytes say %s", seed, good ? "good" : "bad");
        n_good += good;
        cz_arena_fini(&arena);
    }
    assert_in_range(n_good, MUTANTS / 20, MUTANTS - MUTANTS / 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterates_lie_in_slots),
        cmocka_unit_test(moved_results_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
