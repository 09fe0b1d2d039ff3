/* Bundles of fine items among coarse ones, then each fine slot's share. */
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
    int width;              /* fine slots of a coarse one */
    int per_rank;           /* of these, slots of one fine rank */
    int *bundles_of;        /* [fine classes] */
    int first_class;        /* of bundles, among coarse ones */
    cz_solve_problem mixed; /* coarse items and bundles */
} joiner;

static int n_slots(const cz_solve_problem *problem)
{
    return problem->n_ranks * problem->n_hosts;
}

/* How many fine slots of coarse slot 0 are of one fine rank. */
static int count_per_rank(const cz_joint_problem *joint)
{
    int n = 0;
    int first = 0;
    while (joint->coarse_of[first] != 0)
        first++;
    const int rank = first / joint->fine.n_hosts;
    for (int h = 0; h < joint->fine.n_hosts; h++)
        n += joint->coarse_of[rank * joint->fine.n_hosts + h] == 0;
    assert(n > 0); /* the first is one of them */
    return n;
}

/* What one bundle adds to each of a coarse slot's ranks. */
static cz_solve_class bundle_class(const joiner *j, const cz_solve_class *c)
{
    return (cz_solve_class){.kind = c->kind,
                            .elements = c->elements,
                            .cost_ps = c->cost_ps + c->shared_ps * j->per_rank,
                            .state_bytes = c->state_bytes * j->per_rank};
}

/* All that is divisible in the fine problem, as a coarse rank's share of it. */
static cz_solve_class rest_class(const joiner *j)
{
    const cz_solve_problem *fine = &j->joint->fine;
    const int64_t fine_ranks = j->width / j->per_rank;
    cz_solve_class rest = {.divisible = true};
    for (int i = 0; i < fine->n_items; i++) {
        const cz_solve_class *c = &fine->classes[fine->class_of[i]];
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
    const cz_solve_problem *fine = &j->joint->fine;
    const cz_solve_problem *coarse = &j->joint->coarse;
    const int n = coarse->n_classes + fine->n_classes + 1;
    cz_solve_class *classes = CZ_NEW(j->arena, cz_solve_class, n);
    j->first_class = coarse->n_classes;
    memcpy(classes, coarse->classes,
           (size_t)coarse->n_classes * sizeof *classes);
    for (int c = 0; c < fine->n_classes; c++)
        classes[j->first_class + c] = bundle_class(j, &fine->classes[c]);
    classes[n - 1] = rest_class(j);
    j->mixed.classes = classes;
    j->mixed.n_classes = n;
}

/* Bundles, and the rest, are a bucket of their own behind all others. */
static void mix_items(joiner *j)
{
    const cz_solve_problem *fine = &j->joint->fine;
    const cz_solve_problem *coarse = &j->joint->coarse;
    const bool has_rest = j->mixed.classes[j->mixed.n_classes - 1].elements > 0;
    int n = coarse->n_items;
    int *class_of = CZ_NEW(j->arena, int, n + fine->n_items + 1);
    int *start = CZ_NEW(j->arena, int, coarse->n_buckets + 2);
    memcpy(class_of, coarse->class_of, (size_t)n * sizeof *class_of);
    memcpy(start, coarse->bucket_start,
           (size_t)(coarse->n_buckets + 1) * sizeof *start);
    for (int c = 0; c < fine->n_classes; c++)
        for (int k = 0; k < j->bundles_of[c]; k++)
            class_of[n++] = j->first_class + c;
    if (has_rest)
        class_of[n++] = j->mixed.n_classes - 1;
    j->mixed.n_buckets = coarse->n_buckets + 1;
    start[j->mixed.n_buckets] = n;
    j->mixed.n_items = n;
    j->mixed.class_of = class_of;
    j->mixed.bucket_start = start;
}

/* How many bundles of each fine class each coarse slot has. */
static int *find_bundles(const joiner *j, const cz_solve_plan *plan)
{
    const int n_classes = j->joint->fine.n_classes;
    const int first = j->joint->coarse.n_items;
    int *n = CZ_NEW(j->arena, int, j->n_coarse *n_classes + 1);
    for (int i = first; i < j->mixed.n_items; i++) {
        const int c = j->mixed.class_of[i] - j->first_class;
        if (plan->owner[i] < 0)
            continue;
        const int slot =
            plan->owner[i] * j->joint->coarse.n_hosts + plan->host[i];
        n[slot * n_classes + c]++;
    }
    return n;
}

/* Every fine slot wants as many of a kind as its coarse slot has bundles;
 * where there are fewer items, the fullest slots go without. */
static void deal_kind(const joiner *j, cz_counts *counts, int kind,
                      const int *bundles)
{
    const int c = counts->kinds[kind];
    const int n_classes = j->joint->fine.n_classes;
    int64_t excess = -(int64_t)counts->numbers[kind];
    for (int s = 0; s < j->n_fine; s++) {
        const int n = bundles[j->joint->coarse_of[s] * n_classes + c];
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

/* Loads of coarse slots for the fine ones, or the fullest fine one's for the
 * coarse ones; state of ranks likewise. */
static void give_down(const joiner *j, const cz_solve_score *coarse,
                      cz_solve_problem *fine)
{
    int64_t *load = CZ_NEW(j->arena, int64_t, j->n_fine);
    int64_t *state = CZ_NEW(j->arena, int64_t, fine->n_ranks);
    for (int s = 0; s < j->n_fine; s++) {
        const int slot = j->joint->coarse_of[s];
        int64_t *bytes = &state[s / fine->n_hosts];
        load[s] = coarse->load_ps[slot];
        *bytes = cz_solve_max(
            *bytes, coarse->state_bytes[slot / j->joint->coarse.n_hosts]);
    }
    fine->initial_ps = load;
    fine->initial_bytes = state;
}

static void give_up(const joiner *j, const cz_solve_score *fine,
                    cz_solve_problem *coarse)
{
    int64_t *load = CZ_NEW(j->arena, int64_t, j->n_coarse);
    int64_t *state = CZ_NEW(j->arena, int64_t, coarse->n_ranks);
    for (int s = 0; s < j->n_fine; s++) {
        const int slot = j->joint->coarse_of[s];
        int64_t *bytes = &state[slot / coarse->n_hosts];
        load[slot] = cz_solve_max(load[slot], fine->load_ps[s]);
        *bytes =
            cz_solve_max(*bytes, fine->state_bytes[s / j->joint->fine.n_hosts]);
    }
    coarse->initial_ps = load;
    coarse->initial_bytes = state;
}

/* Bundles first, in one problem; each fine slot's share around the experts;
 * and these once more around what the fine slots then really have. */
static cz_joint_solved solve_bundled(joiner *j)
{
    cz_joint_solved out;
    cz_solve_problem fine = j->joint->fine, coarse = j->joint->coarse;
    /* The plan without its last bucket; what it holds is alike. */
    j->mixed = j->joint->coarse;
    mix_classes(j);
    mix_items(j);
    const cz_solved mixed = cz_solve(j->arena, &j->mixed);
    const cz_solve_score alone =
        cz_solve_evaluate(j->arena, &coarse, &mixed.plan);
    give_down(j, &alone, &fine);
    const int *bundles = find_bundles(j, &mixed.plan);
    const cz_solve_problem evened = cz_solve_evened(j->arena, &fine);
    cz_solved best = {.n_tried = 0};
    cz_counts counts = cz_counts_make(j->arena, &evened, false);
    for (int k = 0; k < counts.n_kinds; k++)
        deal_kind(j, &counts, k, bundles);
    cz_choice_offer_counts(j->arena, &evened, &best, &counts, "in bundles");
    out.fine = best;
    fine.initial_ps = fine.initial_bytes = NULL;
    const cz_solve_score own =
        cz_solve_evaluate(j->arena, &fine, &out.fine.plan);
    give_up(j, &own, &coarse);
    out.coarse.n_tried = 0;
    cz_choice_offer(j->arena, &coarse, &out.coarse, &mixed.plan,
                    mixed.plan.method);
    const cz_solved again = cz_solve(j->arena, &coarse);
    cz_choice_offer(j->arena, &coarse, &out.coarse, &again.plan,
                    again.plan.method);
    return out;
}

/* Fine items first, on ranks that will have their mean of the coarse ones'
 * state, then coarse ones around them. */
static cz_joint_solved solve_in_turn(joiner *j)
{
    cz_joint_solved out;
    cz_solve_problem fine = j->joint->fine, coarse = j->joint->coarse;
    int64_t *bytes = CZ_NEW(j->arena, int64_t, fine.n_ranks);
    /* What a rank has of a problem's state on the mean. */
    int64_t total = 0;
    for (int i = 0; i < coarse.n_items; i++)
        total += coarse.classes[coarse.class_of[i]].state_bytes;
    const int64_t mean = total / coarse.n_ranks;
    for (int r = 0; r < fine.n_ranks; r++)
        bytes[r] = mean;
    fine.initial_bytes = bytes;
    out.fine = cz_solve(j->arena, &fine);
    fine.initial_bytes = NULL;
    out.fine.score = cz_solve_evaluate(j->arena, &fine, &out.fine.plan);
    give_up(j, &out.fine.score, &coarse);
    out.coarse = cz_solve(j->arena, &coarse);
    return out;
}

cz_joint_solved cz_solve_joint(cz_arena *arena, const cz_joint_problem *problem)
{
    joiner j = {.arena = arena,
                .joint = problem,
                .n_fine = n_slots(&problem->fine),
                .n_coarse = n_slots(&problem->coarse),
                .per_rank = count_per_rank(problem)};
    j.width = j.n_fine / j.n_coarse;
    const cz_solve_problem *fine = &j.joint->fine;
    j.bundles_of = CZ_NEW(j.arena, int, fine->n_classes + 1);
    for (int i = 0; i < fine->n_items; i++)
        j.bundles_of[fine->class_of[i]]++;
    for (int c = 0; c < fine->n_classes; c++)
        j.bundles_of[c] = fine->classes[c].divisible
                              ? 0
                              : (int)cz_ceil_div(j.bundles_of[c], j.width);
    const cz_joint_solved bundled = solve_bundled(&j);
    const cz_joint_solved in_turn = solve_in_turn(&j);
    return cz_solve_compare(&problem->coarse, &bundled.coarse.score,
                            &in_turn.coarse.score) <= 0
               ? bundled
               : in_turn;
}
