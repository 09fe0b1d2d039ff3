/* Bundles of inner items among outer ones, then each inner slot's share. */
#include "passes/solve/search/joint.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/choice.h"
#include "passes/solve/search/place.h"

#include <assert.h>
#include <string.h>

typedef struct joiner {
    cz_arena *arena;
    const cz_joint_problem *joint;
    int n_fine, n_coarse;   /* slots */
    int width;              /* inner slots of a outer one */
    int per_rank;           /* of these, slots of one inner rank */
    int *bundles_of;        /* [inner classes] */
    int first_class;        /* of bundles, among outer ones */
    cz_solve_problem mixed; /* outer items and bundles */
} joiner;

static int n_slots(const cz_solve_problem *problem)
{
    return problem->n_ranks * problem->n_hosts;
}

/* How many inner slots of outer slot 0 are of one inner rank. */
static int count_per_rank(const cz_joint_problem *joint)
{
    int n = 0;
    int first = 0;
    while (joint->outer_of[first] != 0)
        first++;
    const int rank = first / joint->inner.n_hosts;
    for (int h = 0; h < joint->inner.n_hosts; h++)
        n += joint->outer_of[rank * joint->inner.n_hosts + h] == 0;
    assert(n > 0); /* the first is one of them */
    return n;
}

/* What one bundle adds to each of a outer slot's ranks. */
static cz_solve_class bundle_class(const joiner *j, const cz_solve_class *c)
{
    return (cz_solve_class){.kind = c->kind,
                            .elements = c->elements,
                            .cost_ps =
                                c->cost_ps + c->coordinate_ps * j->per_rank,
                            .state_bytes = c->state_bytes * j->per_rank};
}

/* All that is divisible in the inner problem, as a outer rank's share of it. */
static cz_solve_class rest_class(const joiner *j)
{
    const cz_solve_problem *inner = &j->joint->inner;
    const int64_t fine_ranks = j->width / j->per_rank;
    cz_solve_class rest = {.divisible = true};
    for (int i = 0; i < inner->n_items; i++) {
        const cz_solve_class *c = &inner->classes[inner->class_of[i]];
        if (!c->divisible)
            continue;
        rest.elements += c->elements;
        rest.cost_ps += c->cost_ps;
        rest.state_bytes += c->state_bytes;
    }
    rest.elements = cz_ceil_div(rest.elements, fine_ranks);
    rest.cost_ps = cz_ceil_div(rest.cost_ps, fine_ranks);
    rest.state_bytes = cz_ceil_div(rest.state_bytes, fine_ranks);
    return rest;
}

static void mix_classes(joiner *j)
{
    const cz_solve_problem *inner = &j->joint->inner;
    const cz_solve_problem *outer = &j->joint->outer;
    const int n = outer->n_classes + inner->n_classes + 1;
    cz_solve_class *classes = CZ_NEW(j->arena, cz_solve_class, n);
    j->first_class = outer->n_classes;
    memcpy(classes, outer->classes, (size_t)outer->n_classes * sizeof *classes);
    for (int c = 0; c < inner->n_classes; c++)
        classes[j->first_class + c] = bundle_class(j, &inner->classes[c]);
    classes[n - 1] = rest_class(j);
    j->mixed.classes = classes;
    j->mixed.n_classes = n;
}

/* Bundles, and the rest, are a bucket of their own behind all others. */
static void mix_items(joiner *j)
{
    const cz_solve_problem *inner = &j->joint->inner;
    const cz_solve_problem *outer = &j->joint->outer;
    const bool has_rest = j->mixed.classes[j->mixed.n_classes - 1].elements > 0;
    int n = outer->n_items;
    int *class_of = CZ_NEW(j->arena, int, n + inner->n_items + 1);
    int *start = CZ_NEW(j->arena, int, outer->n_buckets + 2);
    memcpy(class_of, outer->class_of, (size_t)n * sizeof *class_of);
    memcpy(start, outer->bucket_start,
           (size_t)(outer->n_buckets + 1) * sizeof *start);
    for (int c = 0; c < inner->n_classes; c++)
        for (int k = 0; k < j->bundles_of[c]; k++)
            class_of[n++] = j->first_class + c;
    if (has_rest)
        class_of[n++] = j->mixed.n_classes - 1;
    j->mixed.n_buckets = outer->n_buckets + 1;
    start[j->mixed.n_buckets] = n;
    j->mixed.n_items = n;
    j->mixed.class_of = class_of;
    j->mixed.bucket_start = start;
}

/* How many bundles of each inner class each outer slot has. */
static int *find_bundles(const joiner *j, const cz_solve_plan *plan)
{
    const int n_classes = j->joint->inner.n_classes;
    const int first = j->joint->outer.n_items;
    int *n = CZ_NEW(j->arena, int, j->n_coarse *n_classes + 1);
    for (int i = first; i < j->mixed.n_items; i++) {
        const int c = j->mixed.class_of[i] - j->first_class;
        if (plan->owner[i] < 0)
            continue;
        const int slot =
            plan->owner[i] * j->joint->outer.n_hosts + plan->host[i];
        n[slot * n_classes + c]++;
    }
    return n;
}

/* Every inner slot wants as many of a kind as its outer slot has bundles;
 * where there are fewer items, the fullest slots go without. */
static void deal_kind(const joiner *j, cz_counts *counts, int kind,
                      const int *bundles)
{
    const int c = counts->kinds[kind];
    const int n_classes = j->joint->inner.n_classes;
    int64_t excess = -(int64_t)counts->numbers[kind];
    for (int s = 0; s < j->n_fine; s++) {
        const int n = bundles[j->joint->outer_of[s] * n_classes + c];
        cz_counts_put(counts, 0, s, kind, n);
        excess += n;
    }
    for (; excess > 0; excess--) {
        int fullest = -1;
        for (int s = 0; s < j->n_fine; s++)
            if (*cz_counts_at(counts, 0, s, kind) > 0 &&
                (fullest < 0 || counts->load_ps[s] > counts->load_ps[fullest]))
                fullest = s;
        cz_counts_put(counts, 0, fullest, kind, -1);
    }
}

/* Loads of outer slots for the inner ones, or the fullest inner one's for the
 * outer ones; state of ranks likewise. */
static void give_down(const joiner *j, const cz_solve_score *outer,
                      cz_solve_problem *inner)
{
    int64_t *load = CZ_NEW(j->arena, int64_t, j->n_fine);
    int64_t *state = CZ_NEW(j->arena, int64_t, inner->n_ranks);
    for (int s = 0; s < j->n_fine; s++) {
        const int slot = j->joint->outer_of[s];
        int64_t *bytes = &state[s / inner->n_hosts];
        load[s] = outer->load_ps[slot];
        *bytes = cz_solve_max(
            *bytes, outer->state_bytes[slot / j->joint->outer.n_hosts]);
    }
    inner->initial_ps = load;
    inner->initial_bytes = state;
}

static void give_up(const joiner *j, const cz_solve_score *inner,
                    cz_solve_problem *outer)
{
    int64_t *load = CZ_NEW(j->arena, int64_t, j->n_coarse);
    int64_t *state = CZ_NEW(j->arena, int64_t, outer->n_ranks);
    for (int s = 0; s < j->n_fine; s++) {
        const int slot = j->joint->outer_of[s];
        int64_t *bytes = &state[slot / outer->n_hosts];
        load[slot] = cz_solve_max(load[slot], inner->load_ps[s]);
        *bytes = cz_solve_max(*bytes,
                              inner->state_bytes[s / j->joint->inner.n_hosts]);
    }
    outer->initial_ps = load;
    outer->initial_bytes = state;
}

/* Bundles first, in one problem; each inner slot's share around the experts;
 * and these once more around what the inner slots then really have. */
static cz_joint_solved solve_bundled(joiner *j)
{
    cz_joint_solved out;
    cz_solve_problem inner = j->joint->inner, outer = j->joint->outer;
    /* The plan without its last bucket; what it holds is alike. */
    j->mixed = j->joint->outer;
    mix_classes(j);
    mix_items(j);
    const cz_solved mixed = cz_solve(j->arena, &j->mixed);
    const cz_solve_score alone =
        cz_solve_evaluate(j->arena, &outer, &mixed.plan);
    give_down(j, &alone, &inner);
    const int *bundles = find_bundles(j, &mixed.plan);
    const cz_solve_problem evened = cz_solve_evened(j->arena, &inner);
    cz_solved best = {.n_tried = 0};
    cz_counts counts = cz_counts_make(j->arena, &evened, false);
    for (int k = 0; k < counts.n_kinds; k++)
        deal_kind(j, &counts, k, bundles);
    cz_choice_offer_counts(j->arena, &evened, &best, &counts, "in bundles");
    out.inner = best;
    inner.initial_ps = inner.initial_bytes = NULL;
    const cz_solve_score own =
        cz_solve_evaluate(j->arena, &inner, &out.inner.plan);
    give_up(j, &own, &outer);
    out.outer.n_tried = 0;
    cz_choice_offer(j->arena, &outer, &out.outer, &mixed.plan,
                    mixed.plan.method);
    const cz_solved again = cz_solve(j->arena, &outer);
    cz_choice_offer(j->arena, &outer, &out.outer, &again.plan,
                    again.plan.method);
    return out;
}

/* Fine items first, on ranks that will have their mean of the outer ones'
 * state, then outer ones around them. */
static cz_joint_solved solve_in_turn(joiner *j)
{
    cz_joint_solved out;
    cz_solve_problem inner = j->joint->inner, outer = j->joint->outer;
    int64_t *bytes = CZ_NEW(j->arena, int64_t, inner.n_ranks);
    /* What a rank has of a problem's state on the mean. */
    int64_t total = 0;
    for (int i = 0; i < outer.n_items; i++)
        total += outer.classes[outer.class_of[i]].state_bytes;
    const int64_t mean = total / outer.n_ranks;
    for (int r = 0; r < inner.n_ranks; r++)
        bytes[r] = mean;
    inner.initial_bytes = bytes;
    out.inner = cz_solve(j->arena, &inner);
    inner.initial_bytes = NULL;
    out.inner.score = cz_solve_evaluate(j->arena, &inner, &out.inner.plan);
    give_up(j, &out.inner.score, &outer);
    out.outer = cz_solve(j->arena, &outer);
    return out;
}

cz_joint_solved cz_solve_joint(cz_arena *arena, const cz_joint_problem *problem)
{
    joiner j = {.arena = arena,
                .joint = problem,
                .n_fine = n_slots(&problem->inner),
                .n_coarse = n_slots(&problem->outer),
                .per_rank = count_per_rank(problem)};
    j.width = j.n_fine / j.n_coarse;
    const cz_solve_problem *inner = &j.joint->inner;
    j.bundles_of = CZ_NEW(j.arena, int, inner->n_classes + 1);
    for (int i = 0; i < inner->n_items; i++)
        j.bundles_of[inner->class_of[i]]++;
    for (int c = 0; c < inner->n_classes; c++)
        j.bundles_of[c] = inner->classes[c].divisible
                              ? 0
                              : (int)cz_ceil_div(j.bundles_of[c], j.width);
    const cz_joint_solved bundled = solve_bundled(&j);
    const cz_joint_solved in_turn = solve_in_turn(&j);
    return cz_solve_compare(&problem->outer, &bundled.outer.score,
                            &in_turn.outer.score) <= 0
               ? bundled
               : in_turn;
}
