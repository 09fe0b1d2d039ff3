/* Prices the wire, and compares geometries that buckets can be cut in. */
#include "passes/place/geometry.h"

#include "passes/cost/time.h"

#include <assert.h>
#include <string.h>

static const cz_geometry geometries[CZ_SOLVE_N_GEOMETRIES] = {
    [CZ_SLICES_UNEVEN] = CZ_GEOMETRY_UNEVEN,
    [CZ_SLICES_PADDED] = CZ_GEOMETRY_PADDED,
    [CZ_SLICES_EQUAL] = CZ_GEOMETRY_EQUAL,
};
/* What is compared. */
static const bool all_geometries[CZ_SOLVE_N_GEOMETRIES] = {true, true, true};

/* The wire is priced per so many elements. */
enum { WIRE_UNIT = 1024 };

cz_geometry cz_place_geometry_choice(cz_solve_geometry geometry)
{
    return geometries[geometry];
}

/* ---- the wire ---- */

/* Of all items: gradients as they are reduced, and parameters. */
static void count_bytes(const cz_plan_view *view, const int *params,
                        const cz_solve_problem *problem, cz_wide *elements,
                        cz_wide *reduced, cz_wide *gathered)
{
    *elements = *reduced = *gathered = 0;
    for (int i = 0; i < problem->n_items; i++) {
        const int pattern = view->params[params[i]].pattern;
        const cz_view_pattern *f = &view->patterns[pattern];
        const cz_fact_reduction *how = cz_view_pattern_reduction(view, pattern);
        *elements += f->local_elements;
        *reduced += (cz_wide)f->local_elements * how->n_grads *
                    cz_dtype_bytes(how->dtype);
        *gathered += (cz_wide)f->local_elements * cz_dtype_bytes(f->dtype);
    }
}

static void price(const cz_plan_view *view, const cz_machine *machine,
                  const int *params, cz_solve_problem *problem,
                  cz_place_geometry *out)
{
    const int pattern = view->params[params[0]].pattern;
    const cz_link link = cz_machine_link_over(
        machine, cz_view_mesh_axes(view),
        cz_view_set_of(&cz_view_pattern_reduction(view, pattern)->split_axes),
        (cz_block){0, 0});
    cz_wide elements, reduced, gathered;
    count_bytes(view, params, problem, &elements, &reduced, &gathered);
    assert(elements > 0); /* no problem is without parameters */
    const cz_uneven_speed speed = cz_machine_uneven_speed(
        machine, link, cz_time_limit(reduced / problem->n_buckets),
        problem->n_ranks);
    out->e = (cz_geometry_range){speed.low, speed.high};
    problem->uneven_e = speed.low;
    problem->wire_ps =
        cz_time_of((reduced + gathered) * WIRE_UNIT / (2 * elements),
                   cz_machine_link(machine, link).rate);
    /* Both ways, padded to the longest slice or at half the rate, below 2^62.
     */
    const cz_wide most =
        CZ_MAX_PS / (elements / WIRE_UNIT + 1) / problem->n_ranks / 4;
    if (problem->wire_ps > most)
        problem->wire_ps = (int64_t)most;
}

cz_place_geometry cz_place_geometry_of(const cz_plan_view *view,
                                       const cz_machine *machine,
                                       const int *params,
                                       cz_solve_problem *problem)
{
    cz_place_geometry out = {.is_auto = true};
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++)
        if (view->policy->geometry == geometries[g]) {
            out.is_auto = false;
            out.reported = (cz_solve_geometry)g;
        }
    problem->geometry = out.reported;
    if (out.is_auto || out.reported != CZ_SLICES_UNEVEN)
        price(view, machine, params, problem, &out);
    return out;
}

/* ---- one problem ---- */

static void note(cz_place_geometry *out, cz_solve_geometry geometry,
                 int64_t load_ps, int64_t wire_ps, bool is_kept)
{
    out->of[out->n] = geometry;
    out->load_ps[out->n] = load_ps;
    out->wire_ps[out->n] = wire_ps;
    out->is_kept[out->n++] = is_kept;
}

/* Of a plan in its problem's geometry, at the link's full rate. */
static int64_t full_wire(cz_arena *arena, const cz_solve_problem *problem,
                         const cz_solve_plan *plan)
{
    cz_solve_problem p = *problem;
    p.uneven_e = 0;
    return cz_solve_evaluate(arena, &p, plan).wire_ps;
}

cz_solved cz_place_geometry_solve(cz_arena *arena, cz_solve_problem *problem,
                                  cz_place_geometry *geometry)
{
    if (!geometry->is_auto)
        return cz_solve(arena, problem);
    const cz_geometry_choice choice =
        cz_geometry_choose(arena, problem, all_geometries, geometry->e);
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        const cz_solved *solved = &choice.of[g].solved;
        problem->geometry = (cz_solve_geometry)g;
        note(geometry, problem->geometry, solved->score.max_load_ps,
             full_wire(arena, problem, &solved->plan),
             cz_solve_excess(problem, &solved->score) == 0);
    }
    problem->geometry = choice.chosen;
    return choice.of[choice.chosen].solved;
}

/* ---- owners that are given ---- */

/* What of the fullest rank's time is not whole matrices'. */
static int64_t divisible_load(cz_arena *arena, const cz_solve_problem *problem,
                              const cz_solve_plan *plan)
{
    cz_solve_problem p = *problem;
    cz_solve_class *classes =
        CZ_NEW(arena, cz_solve_class, problem->n_classes + 1);
    for (int c = 0; c < problem->n_classes; c++) {
        classes[c] = problem->classes[c];
        if (!classes[c].divisible)
            classes[c].cost_ps = classes[c].coordinate_ps = 0;
    }
    p.classes = classes;
    return cz_solve_evaluate(arena, &p, plan).max_load_ps;
}

/* Of two that were compared, whether the first is better. */
static bool is_before(const cz_place_geometry *geometry, int a, int b)
{
    int64_t of[2][2];
    const int two[] = {a, b};
    if (geometry->is_kept[a] != geometry->is_kept[b])
        return geometry->is_kept[a] != 0;
    for (int i = 0; i < 2; i++) {
        const int k = two[i];
        of[i][0] = cz_geometry_time(geometry->of[k], geometry->load_ps[k],
                                    geometry->wire_ps[k], geometry->e.low);
        of[i][1] = cz_geometry_time(geometry->of[k], geometry->load_ps[k],
                                    geometry->wire_ps[k], geometry->e.high);
    }
    return of[0][0] != of[1][0] ? of[0][0] < of[1][0] : of[0][1] < of[1][1];
}

cz_solve_plan
cz_place_geometry_lay_out(cz_arena *arena, cz_solve_problem *problem,
                          cz_place_geometry *geometry, int64_t full_matrix_ps,
                          cz_place_lay_out *lay_out, const void *context)
{
    cz_solved best = {.n_tried = 0};
    int chosen = 0;
    if (!geometry->is_auto)
        return lay_out(context, problem).plan;
    geometry->n = 0;
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        problem->geometry = (cz_solve_geometry)g;
        const cz_solved solved = lay_out(context, problem);
        note(geometry, problem->geometry,
             full_matrix_ps + divisible_load(arena, problem, &solved.plan),
             full_wire(arena, problem, &solved.plan),
             cz_solve_excess(problem, &solved.score) == 0);
        if (g > 0 && !is_before(geometry, g, chosen))
            continue;
        best = solved;
        chosen = g;
    }
    problem->geometry = geometry->of[chosen];
    return best.plan;
}

/* ---- two together ---- */

typedef struct pair_option {
    cz_joint_solved solved;
    bool is_kept;
    int64_t worst_ps, best_ps;
} pair_option;

static pair_option solve_pair(cz_arena *arena, const cz_joint_problem *joint,
                              cz_place_geometry *inner,
                              cz_place_geometry *outer)
{
    pair_option out = {.solved = cz_solve_joint(arena, joint)};
    const cz_solved *f = &out.solved.inner, *c = &out.solved.outer;
    const cz_solve_geometry geometry = joint->inner.geometry;
    const int64_t load = f->score.max_load_ps > c->score.max_load_ps
                             ? f->score.max_load_ps
                             : c->score.max_load_ps;
    const int64_t wires[] = {full_wire(arena, &joint->inner, &f->plan),
                             full_wire(arena, &joint->outer, &c->plan)};
    out.is_kept = cz_solve_excess(&joint->inner, &f->score) == 0 &&
                  cz_solve_excess(&joint->outer, &c->score) == 0;
    out.worst_ps = load +
                   cz_geometry_time(geometry, 0, wires[0], inner->e.low) +
                   cz_geometry_time(geometry, 0, wires[1], outer->e.low);
    out.best_ps = load +
                  cz_geometry_time(geometry, 0, wires[0], inner->e.high) +
                  cz_geometry_time(geometry, 0, wires[1], outer->e.high);
    note(inner, geometry, load, wires[0] + wires[1], out.is_kept);
    note(outer, geometry, load, wires[0] + wires[1], out.is_kept);
    return out;
}

static bool is_better(const pair_option *a, const pair_option *b)
{
    if (a->is_kept != b->is_kept)
        return a->is_kept;
    return a->worst_ps != b->worst_ps ? a->worst_ps < b->worst_ps
                                      : a->best_ps < b->best_ps;
}

cz_joint_solved cz_place_geometry_solve_joint(cz_arena *arena,
                                              cz_joint_problem *joint,
                                              cz_place_geometry *inner,
                                              cz_place_geometry *outer)
{
    pair_option best = {.is_kept = false};
    cz_solve_geometry chosen = inner->reported;
    if (!inner->is_auto)
        return cz_solve_joint(arena, joint);
    for (int g = 0; g < CZ_SOLVE_N_GEOMETRIES; g++) {
        joint->inner.geometry = joint->outer.geometry = (cz_solve_geometry)g;
        const pair_option option = solve_pair(arena, joint, inner, outer);
        if (inner->n > 1 && !is_better(&option, &best))
            continue;
        best = option;
        chosen = (cz_solve_geometry)g;
    }
    joint->inner.geometry = joint->outer.geometry = chosen;
    return best.solved;
}
