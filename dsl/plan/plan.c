/* What follows from a plan view: coordinates, shards and parts, sizes of slots,
 * who reads what.  Knows nothing of MLIR. */
#include "dsl/plan/plan.h"

#include "dsl/base/checked.h"

#include <string.h>

cz_axes cz_view_mesh_axes(const cz_plan_view *view)
{
    return (cz_axes){view->mesh->sizes.n, view->mesh->sizes.v};
}

int64_t cz_view_extent(const cz_plan_view *view, const cz_ints *axes)
{
    return cz_axes_extent(cz_view_mesh_axes(view), cz_view_set_of(axes));
}

int64_t cz_view_coordinate(const cz_plan_view *view, const cz_ints *axes,
                           int64_t rank)
{
    return cz_axes_coordinate(cz_view_mesh_axes(view), cz_view_set_of(axes),
                              rank);
}

int64_t cz_view_rank_at(const cz_plan_view *view, const cz_ints *axes,
                        int64_t coordinate, int64_t rank)
{
    return cz_axes_rank_at(cz_view_mesh_axes(view), cz_view_set_of(axes),
                           coordinate, rank);
}

cz_ints cz_view_axes_of(const cz_plan_view *view, int64_t set, int64_t *storage)
{
    int n = 0;
    for (int axis = 0; axis < view->mesh->sizes.n; axis++)
        if (set >> axis & 1)
            storage[n++] = axis;
    return (cz_ints){storage, n};
}

int64_t cz_view_named_set(const cz_plan_view *view, const char *name)
{
    const cz_fact_mesh *mesh = view->mesh;
    for (int i = 0; i < mesh->names.n; i++)
        if (strcmp(mesh->names.v[i], name) == 0)
            return mesh->sets.v[i];
    return 0;
}

int64_t cz_view_set_of(const cz_ints *axes)
{
    int64_t set = 0;
    for (int i = 0; i < axes->n; i++)
        set |= INT64_C(1) << axes->v[i];
    return set;
}

int64_t cz_view_set_extent(const cz_plan_view *view, int64_t set)
{
    return cz_axes_extent(cz_view_mesh_axes(view), set);
}

int64_t cz_view_shard_set_of(const cz_ints *shard)
{
    int64_t set = 0;
    for (int d = 0; d < shard->n; d++)
        set |= shard->v[d];
    return set;
}

int64_t cz_view_shard_set(const cz_plan_view *view, int pattern)
{
    return cz_view_shard_set_of(&view->patterns[pattern].fact->shard);
}

int64_t cz_view_distinct_set(const cz_plan_view *view, int pattern)
{
    return cz_view_shard_set(view, pattern) |
           view->patterns[pattern].fact->expert_axes;
}

const cz_fact_reduction *cz_view_pattern_reduction(const cz_plan_view *view,
                                                   int pattern)
{
    return &view->reductions[view->patterns[pattern].reduction];
}

const cz_fact_reduction *cz_view_bucket_reduction(const cz_plan_view *view,
                                                  int bucket)
{
    return &view->reductions[view->buckets[bucket].reduction];
}

/* ---- residents ---- */

bool cz_view_is_resident(const cz_plan_view *view, int pattern, int64_t rank)
{
    const cz_fact_pattern *fact = view->patterns[pattern].fact;
    int64_t storage[CZ_VIEW_MAX_AXES];
    if (fact->resident_axes == 0)
        return true;
    const cz_ints axes = cz_view_axes_of(view, fact->resident_axes, storage);
    const int64_t own = cz_view_coordinate(view, &axes, rank);
    for (int i = 0; i < fact->residents.n; i++)
        if (fact->residents.v[i] == own)
            return true;
    return false;
}

bool cz_view_bucket_is_resident(const cz_plan_view *view, int bucket,
                                int64_t rank)
{
    const int pattern = view->buckets[bucket].pattern;
    return pattern < 0 || cz_view_is_resident(view, pattern, rank);
}

bool cz_view_same_residents(const cz_fact_pattern *a, const cz_fact_pattern *b)
{
    const size_t n = (size_t)a->residents.n;
    return a->resident_axes == b->resident_axes &&
           a->residents.n == b->residents.n &&
           (n == 0 || memcmp(a->residents.v, b->residents.v,
                             n * sizeof *a->residents.v) == 0);
}

int64_t cz_view_resident_rank(const cz_plan_view *view, int pattern, int k,
                              int64_t near)
{
    const cz_fact_pattern *fact = view->patterns[pattern].fact;
    int64_t storage[CZ_VIEW_MAX_AXES];
    if (fact->resident_axes == 0)
        return near;
    const cz_ints axes = cz_view_axes_of(view, fact->resident_axes, storage);
    return cz_view_rank_at(view, &axes, fact->residents.v[k], near);
}

int cz_view_n_residents(const cz_plan_view *view, int pattern)
{
    const cz_fact_pattern *fact = view->patterns[pattern].fact;
    return fact->resident_axes == 0 ? 1 : fact->residents.n;
}

/* ---- names and shards ---- */

const char *cz_view_name_at(const cz_plan_view *view, int param, int64_t rank)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_view_param *p = &view->params[param];
    const cz_ints axes = cz_view_axes_of(
        view, view->patterns[p->pattern].fact->expert_axes, storage);
    return p->names[cz_view_coordinate(view, &axes, rank)];
}

cz_ints cz_view_shard_axes(const cz_plan_view *view, int pattern,
                           int64_t *storage)
{
    return cz_view_axes_of(view, cz_view_shard_set(view, pattern), storage);
}

/* Dimension d of a shard: where it starts, and how long it is. */
static void cut_dimension(const cz_plan_view *view,
                          const cz_view_pattern *pattern, int64_t rank, int d,
                          cz_view_shard *shard)
{
    const cz_fact_pattern *fact = pattern->fact;
    const int64_t size = fact->shape.v[d];
    shard->start[d] = 0;
    shard->shape[d] = size;
    if (fact->shard.v[d] == 0)
        return;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints axes = cz_view_axes_of(view, fact->shard.v[d], storage);
    const int64_t part = cz_view_coordinate(view, &axes, rank);
    if (pattern->bounds.of[d]) {
        const int64_t *bounds = pattern->bounds.of[d] + 2 * part;
        shard->start[d] = bounds[0];
        shard->shape[d] = bounds[1] - bounds[0];
    } else {
        shard->shape[d] = size / cz_view_extent(view, &axes);
        shard->start[d] = shard->shape[d] * part;
    }
}

cz_view_shard cz_view_shard_of(const cz_plan_view *view,
                               const cz_view_pattern *pattern, int64_t rank)
{
    cz_view_shard shard = {.elements = 1};
    for (int d = 0; d < pattern->n_dims; d++) {
        cut_dimension(view, pattern, rank, d, &shard);
        shard.elements *= shard.shape[d];
    }
    return shard;
}

bool cz_view_is_uneven(const cz_view_pattern *pattern)
{
    for (int d = 0; d < pattern->n_dims; d++)
        if (pattern->bounds.of[d])
            return true;
    return false;
}

int64_t cz_view_shard_elements(const cz_plan_view *view,
                               const cz_view_pattern *pattern, int64_t rank)
{
    return cz_view_is_uneven(pattern)
               ? cz_view_shard_of(view, pattern, rank).elements
               : pattern->local_elements;
}

int64_t cz_view_before(const int64_t map[3], int64_t size, int64_t stored)
{
    const int64_t base = map[0], block = map[1], stride = map[2];
    if (stored <= base)
        return 0;
    const int64_t whole = (stored - base) / stride;
    const int64_t rest = (stored - base) % stride;
    if (whole > size / block)
        return size;
    const int64_t n = whole * block + (rest < block ? rest : block);
    return n < size ? n : size;
}

int64_t cz_view_owner_elements(const cz_plan_view *view, int param)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    int64_t storage[CZ_VIEW_MAX_AXES], rank = 0;
    const cz_ints axes = cz_view_shard_axes(view, p->pattern, storage);
    if (p->shard_owner >= 0)
        rank = cz_view_rank_at(view, &axes, p->shard_owner, rank);
    return cz_view_shard_elements(view, pattern, rank);
}

bool cz_view_is_owner(const cz_plan_view *view, int param, int64_t rank)
{
    const cz_view_param *p = &view->params[param];
    const cz_ints *split =
        &cz_view_pattern_reduction(view, p->pattern)->split_axes;
    int64_t storage[CZ_VIEW_MAX_AXES];
    const cz_ints shard = cz_view_shard_axes(view, p->pattern, storage);
    return p->split_owner >= 0 && cz_view_is_resident(view, p->pattern, rank) &&
           cz_view_coordinate(view, split, rank) == p->split_owner &&
           (p->shard_owner < 0 ||
            cz_view_coordinate(view, &shard, rank) == p->shard_owner);
}

/* The slot of the kind with the smallest index above `after`, among inputs
 * and outputs alike: both name the same slots. */
static const cz_view_slot *next_slot(const cz_view_stage *stage,
                                     cz_slot_kind kind, int after)
{
    const cz_view_slot *next = NULL;
    for (int i = 0; i < stage->n_in + stage->n_out; i++) {
        const cz_view_slot *slot =
            i < stage->n_in ? &stage->in[i] : &stage->out[i - stage->n_in];
        if (slot->kind == kind && slot->index > after &&
            (!next || slot->index < next->index))
            next = slot;
    }
    return next;
}

int64_t cz_view_slot_bytes(const cz_view_stage *stage, cz_slot_kind kind,
                           int64_t count, int64_t *offsets)
{
    const cz_view_slot *slot = next_slot(stage, kind, -1);
    int64_t bytes = 0;

    for (; slot; slot = next_slot(stage, kind, slot->index)) {
        if (offsets)
            *offsets++ = bytes;
        bytes +=
            cz_round_up(count * cz_dtype_bytes(slot->dtype), CZ_ALIGN_BYTES);
    }
    return bytes;
}

int64_t cz_view_element_bytes(const cz_view_slot *slots, int n,
                              cz_slot_kind kind)
{
    int64_t bytes = 0;

    for (int i = 0; i < n; i++)
        if (slots[i].kind == kind)
            bytes += cz_dtype_bytes(slots[i].dtype);
    return bytes;
}

/* ---- phases ---- */

int64_t cz_view_accumulator_rows(const cz_view_step *product)
{
    enum { STRIP_ROWS = 192 };
    return product->body >= 0 || product->rows < STRIP_ROWS ? product->rows
                                                            : STRIP_ROWS;
}

int64_t cz_view_result_elements(const cz_view_step *step, int i)
{
    const cz_access access = step->out_access[i];

    if (step->factor)
        return cz_factor_result_elements(step->factor, i, &step->size);
    if (!cz_access_is_reduction(access))
        return cz_view_all_rows(step) * step->columns;
    return cz_access_reach(access) == CZ_ACCESS_ALL   ? 1
           : cz_access_reach(access) == CZ_ACCESS_ROW ? step->rows
                                                      : step->columns;
}

int64_t cz_view_all_rows(const cz_view_step *step)
{
    return step->partition > 1 ? step->rows * step->partition : step->rows;
}

int cz_view_phase_at(const cz_view_rule *rule, int64_t stagger_offset,
                     int64_t t)
{
    const uint32_t fires =
        cz_events_at(rule->events, rule->n_events, stagger_offset, t);
    int p = rule->n_phases;

    while (--p > 0 && rule->phases[p].fires != fires)
        continue;
    return p < 0 ? 0 : p;
}

int cz_view_n_bodies(const cz_view_stage *stage)
{
    return stage->n_variants > 0 ? stage->n_variants : 1;
}

const cz_view_stage *cz_view_variant(const cz_view_stage *stage, int i)
{
    return stage->n_variants > 0 ? &stage->variants[i] : stage;
}

int cz_view_first_alike(const cz_view_stage *stage, int i)
{
    const char *body = cz_view_variant(stage, i)->fact->body;
    int first = 0;

    while (strcmp(cz_view_variant(stage, first)->fact->body, body) != 0)
        first++;
    return first;
}

/* ---- who reads what ---- */

static bool reads_value(const cz_view_stage *stage, int value)
{
    for (int s = 0; s < stage->n_steps; s++)
        for (int i = 0; i < stage->steps[s].n_in; i++)
            if (stage->steps[s].in[i] == value)
                return true;
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] == value)
            return true;
    return false;
}

static uint32_t phases_that_read(const cz_view_stage *stage, int value)
{
    uint32_t phases = stage->n_variants == 0;

    for (int p = 0; p < stage->n_variants; p++)
        phases |= (uint32_t)reads_value(&stage->variants[p], value) << p;
    return phases;
}

uint32_t cz_view_slot_phases(const cz_plan_view *view, int rule,
                             cz_slot_kind kind, int index)
{
    const cz_view_rule *r = &view->rules[rule];
    uint32_t phases = 0;

    for (int s = r->first_stage; s < r->first_stage + r->n_stages; s++) {
        const cz_view_stage *stage = &view->stages[s];
        for (int i = 0; i < stage->n_in; i++)
            if (stage->in[i].kind == kind && stage->in[i].index == index)
                phases |= phases_that_read(stage, i);
    }
    return phases;
}

/* ---- parts of matrices ---- */

bool cz_view_is_shaped(const cz_view_stage *stage)
{
    return stage->where == CZ_WHERE_FULL_MATRIX ||
           stage->where == CZ_WHERE_SUBGROUP;
}

/* Whether two stages are segments of one body, or are one for a whole matrix.
 */
static bool is_same_sharing(const cz_view_stage *a, const cz_view_stage *b)
{
    return a->subgroup && b ? a->subgroup->size == b->subgroup->size &&
                                  a->subgroup->dim == b->subgroup->dim
                            : !a->subgroup && !b;
}

int64_t cz_view_rule_flops(const cz_plan_view *view, int rule,
                           const cz_view_stage *subgroup, int64_t elements)
{
    const cz_view_rule *r = &view->rules[rule];
    int64_t flops = 0;
    for (int i = 0; i < r->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[r->first_stage + i];
        if (!cz_view_is_shaped(stage))
            flops = cz_limited_add(
                flops, cz_limited_mul(stage->fact->flops, elements));
        else if (is_same_sharing(stage, subgroup))
            flops = cz_limited_add(flops, stage->fact->flops);
    }
    return flops;
}

const cz_view_stage *cz_view_subgroup_stage(const cz_plan_view *view, int param)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    const cz_view_rule *r = &view->rules[pattern->rule];
    const cz_ints shard = pattern->fact->shard;
    const bool is_cut_by_rows = shard.n == 2 && shard.v[0] && !shard.v[1];
    const cz_view_stage *other = NULL;
    for (int i = 0; p->subgroup_size > 1 && i < r->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[r->first_stage + i];
        if (!stage->subgroup || stage->subgroup->size != p->subgroup_size)
            continue;
        if ((stage->subgroup->dim == 0) == is_cut_by_rows)
            return stage;
        other = other ? other : stage;
    }
    return other;
}

bool cz_view_keeps_shards(const cz_plan_view *view, int param)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    const cz_view_stage *stage = cz_view_subgroup_stage(view, param);
    const cz_ints shard = pattern->fact->shard;
    return stage && p->stride == 1 && !cz_view_is_uneven(pattern) &&
           shard.n == 2 && shard.v[1 - stage->subgroup->dim] == 0 &&
           p->subgroup_size ==
               cz_view_set_extent(view, shard.v[stage->subgroup->dim]);
}

bool cz_view_is_apart(const cz_plan_view *view, int param)
{
    return cz_view_keeps_shards(view, param) &&
           cz_view_subgroup_stage(view, param)->n_segments == 1;
}

bool cz_view_runs(const cz_plan_view *view, const cz_view_stage *stage,
                  int param)
{
    return cz_view_is_shaped(stage) &&
           (stage->subgroup || view->params[param].subgroup_size == 1) &&
           is_same_sharing(stage, cz_view_subgroup_stage(view, param));
}

cz_view_shard cz_view_subgroup_shard(const cz_plan_view *view, int param,
                                     int64_t member)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_pattern *pattern = &view->patterns[p->pattern];
    const cz_view_stage *stage = cz_view_subgroup_stage(view, param);
    cz_view_shard part = {.elements = pattern->elements};
    for (int d = 0; d < pattern->n_dims; d++)
        part.shape[d] = pattern->fact->shape.v[d];
    if (stage) {
        const int64_t dim = stage->subgroup->dim;
        part.shape[dim] /= p->subgroup_size;
        part.start[dim] = part.shape[dim] * member;
        part.elements /= p->subgroup_size;
    }
    return part;
}

int64_t cz_view_member_at(const cz_view_param *param, int64_t shard)
{
    return cz_block_member((cz_block){param->subgroup_size, param->stride},
                           param->shard_owner, shard);
}

cz_block cz_view_op_block(const cz_plan_view *view, const cz_view_op *op)
{
    return op->fact->block_size > 0
               ? (cz_block){op->fact->block_size, op->fact->stride}
               : (cz_block){cz_view_extent(view, &op->fact->comm), 1};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

cz_view_shard cz_view_overlap(const cz_view_shard *a, const cz_view_shard *b,
                              int n_dims)
{
    cz_view_shard both = {.elements = 1};
    for (int d = 0; d < n_dims; d++) {
        const int64_t end_a = a->start[d] + a->shape[d];
        const int64_t end_b = b->start[d] + b->shape[d];
        const int64_t end = end_a < end_b ? end_a : end_b;
        both.start[d] = larger(a->start[d], b->start[d]);
        both.shape[d] = larger(end - both.start[d], 0);
        both.elements *= both.shape[d];
    }
    return both;
}

/* ---- what they exchange ---- */

bool cz_view_is_exchanged(const cz_view_step *step, int i, cz_exchange *how)
{
    const bool is_partial = step->partial >> i & 1;

    *how = step->partition > 1 ? CZ_EXCHANGE_GATHER
           : step->scatter     ? CZ_EXCHANGE_SCATTER
                               : CZ_EXCHANGE_SUM;
    return is_partial || step->partition > 1;
}

int64_t cz_view_band_elements(int64_t elements, int64_t blocks)
{
    return blocks > 0 ? elements / blocks * (blocks / 2 + 1) : elements;
}
