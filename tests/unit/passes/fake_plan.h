/* A plan view made by hand, up to buckets, with random shapes and owners: what
 * the scheduler starts from.  Two rules: `mat` with three stages, `vec` with
 * one. */
#ifndef FAKE_PLAN_H
#define FAKE_PLAN_H

#include "dsl/base/checked.h"
#include "dsl/plan/plan.h"
#include "passes/grid/bucket.h"

#include <stdint.h>

enum {
    FAKE_BEFORE,
    FAKE_WHOLE,
    FAKE_AFTER,
    FAKE_LOCAL,
    FAKE_STAGES,
    FAKE_AXES = 3
};

typedef struct fake_plan {
    cz_arena arena;
    uint64_t random;
    cz_plan_view view;
    cz_fact_program program;
    cz_fact_mesh mesh;
    cz_fact_policy policy;
    cz_fact_reduction reduction;
    cz_fact_use use;
    const cz_fact_use *uses;
    cz_fact_rule rule_facts[2];
    cz_view_rule rules[2];
    cz_fact_stage stage_facts[FAKE_STAGES];
    cz_view_stage stages[FAKE_STAGES];
    int64_t sizes[FAKE_AXES], split[1];
} fake_plan;

static inline int64_t fake_random(fake_plan *f, int64_t n)
{
    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((f->random >> 33) % (uint64_t)n);
}

static inline void fake_stages(fake_plan *f)
{
    static const cz_view_slot grad = {CZ_SLOT_GRAD, 0, CZ_F32};
    static const cz_view_slot before_in[] = {{CZ_SLOT_GRAD, 0, CZ_F32},
                                             {CZ_SLOT_STATE, 0, CZ_F32}};
    static const cz_view_slot before_out[] = {{CZ_SLOT_STATE, 0, CZ_F32},
                                              {CZ_SLOT_GATHER, 0, CZ_F32},
                                              {CZ_SLOT_GATHER, 1, CZ_BF16},
                                              {CZ_SLOT_TEMP, 0, CZ_F32}};
    static const cz_view_slot whole_in[] = {{CZ_SLOT_GATHER, 0, CZ_F32},
                                            {CZ_SLOT_GATHER, 1, CZ_BF16}};
    static const cz_view_slot whole_out[] = {{CZ_SLOT_SCATTER, 0, CZ_BF16}};
    static const cz_view_slot after_in[] = {{CZ_SLOT_PARAM, 0, CZ_F32},
                                            {CZ_SLOT_SCATTER, 0, CZ_BF16},
                                            {CZ_SLOT_TEMP, 0, CZ_F32}};
    static const cz_view_slot after_out[] = {{CZ_SLOT_PARAM, 0, CZ_F32},
                                             {CZ_SLOT_STORED, 0, CZ_BF16}};
    const cz_view_stage stages[FAKE_STAGES] = {{.where = CZ_WHERE_PRE_GATHER,
                                                .n_segments = 1,
                                                .n_in = 2,
                                                .n_out = 4,
                                                .in = before_in,
                                                .out = before_out},
                                               {.where = CZ_WHERE_FULL_MATRIX,
                                                .n_segments = 1,
                                                .n_in = 2,
                                                .n_out = 1,
                                                .in = whole_in,
                                                .out = whole_out},
                                               {.where = CZ_WHERE_POST_SCATTER,
                                                .n_segments = 1,
                                                .n_in = 3,
                                                .n_out = 2,
                                                .in = after_in,
                                                .out = after_out},
                                               {.rule = 1,
                                                .where = CZ_WHERE_ELEMENT_WISE,
                                                .n_in = 1,
                                                .n_out = 2,
                                                .in = &grad,
                                                .out = after_out}};
    for (int i = 0; i < FAKE_STAGES; i++) {
        f->stage_facts[i].flops = i == FAKE_WHOLE ? 1000 : 5;
        f->stage_facts[i].work_bytes = 64 * fake_random(f, 4);
        f->stages[i] = stages[i];
        f->stages[i].fact = &f->stage_facts[i];
    }
    f->rules[0] = (cz_view_rule){
        .fact = &f->rule_facts[0], .first_stage = FAKE_BEFORE, .n_stages = 3};
    f->rules[1] = (cz_view_rule){
        .fact = &f->rule_facts[1], .first_stage = FAKE_LOCAL, .n_stages = 1};
}

/* dp, tp and cp: split, sharded and merely replicated. */
static inline void fake_mesh(fake_plan *f, int64_t dp, int64_t tp, int64_t cp)
{
    static const char *const names[FAKE_AXES] = {"dp", "cp", "tp"};
    const int64_t sizes[FAKE_AXES] = {dp, cp, tp};
    for (int i = 0; i < FAKE_AXES; i++)
        f->sizes[i] = sizes[i];
    f->mesh = (cz_fact_mesh){.axes = {names, FAKE_AXES},
                             .sizes = {f->sizes, FAKE_AXES}};
    f->reduction = (cz_fact_reduction){.sym_name = "r",
                                       .dtype = CZ_F32,
                                       .reduce_axes = {f->split, 1},
                                       .split_axes = {f->split, 1},
                                       .n_grads = 1,
                                       .divisor = 1};
    f->policy = (cz_fact_policy){.master_dtype = CZ_F32,
                                 .geometry = CZ_GEOMETRY_UNEVEN,
                                 .layout = CZ_LAYOUT_ENGINE,
                                 .form = CZ_ITERATION_AUTO,
                                 .clip = (double)fake_random(f, 2),
                                 .bucket_elements = 1 + fake_random(f, 4000),
                                 .micro_group_bytes = fake_random(f, 3) * 4000};
    f->view.n_ranks = (int)(dp * tp * cp);
}

/* Random bounds; returns the longest shard. */
static inline int64_t fake_uneven(fake_plan *f, cz_view_pattern *pattern, int d,
                                  int64_t size)
{
    const int64_t tp = f->sizes[2];
    int64_t *bounds = CZ_NEW(&f->arena, int64_t, 2 * tp), longest = 0, end = 0;
    for (int64_t i = 0; i < tp; i++) {
        bounds[2 * i] = end;
        end = i < tp - 1 ? end + fake_random(f, size - end + 1) : size;
        bounds[2 * i + 1] = end;
        if (end - bounds[2 * i] > longest)
            longest = end - bounds[2 * i];
    }
    pattern->bounds.of[d] = bounds;
    return longest;
}

static inline cz_view_pattern fake_pattern(fake_plan *f, bool is_matrix)
{
    const int64_t tp = f->sizes[2];
    int64_t *shape = CZ_NEW(&f->arena, int64_t, 2);
    int64_t *shard = CZ_NEW(&f->arena, int64_t, 2);
    cz_fact_pattern *fact = CZ_NEW(&f->arena, cz_fact_pattern, 1);
    const int n_dims = is_matrix ? 2 : 1;
    const int64_t sharded = fake_random(f, n_dims + 1); /* n_dims: none */
    cz_view_pattern pattern = {.fact = fact,
                               .rule = is_matrix ? 0 : 1,
                               .n_params = 1,
                               .expert_extent = 1,
                               .dtype = CZ_BF16,
                               .n_dims = n_dims,
                               .elements = 1,
                               .local_elements = 1};
    for (int d = 0; d < n_dims; d++) {
        shape[d] = tp * (1 + fake_random(f, 9));
        shard[d] = d == sharded ? 1 << 2 : 0;
        int64_t local = d == sharded ? shape[d] / tp : shape[d];
        if (d == sharded && tp > 1 && fake_random(f, 3) == 0)
            local = fake_uneven(f, &pattern, d, shape[d]);
        pattern.elements *= shape[d];
        pattern.local_elements *= local;
    }
    *fact = (cz_fact_pattern){.name = "p",
                              .shape = {shape, n_dims},
                              .shard = {shard, n_dims},
                              .dtype = CZ_BF16};
    return pattern;
}

static inline void fake_params(fake_plan *f, int n)
{
    cz_view_pattern *patterns = CZ_NEW(&f->arena, cz_view_pattern, n);
    cz_view_param *params = CZ_NEW(&f->arena, cz_view_param, n);
    for (int i = 0; i < n; i++) {
        const bool is_matrix = fake_random(f, 4) > 0;
        patterns[i] = fake_pattern(f, is_matrix);
        patterns[i].first_param = i;
        const bool is_sharded =
            f->sizes[2] > 1 && (patterns[i].fact->shard.v[0] ||
                                patterns[i].fact->shard.v[is_matrix]);
        params[i] = (cz_view_param){
            .pattern = i,
            .name = cz_arena_printf(&f->arena, "p%d", i),
            .names = CZ_NEW(&f->arena, const char *, 1),
            .subgroup_size = 1,
            .stride = 1,
            .split_owner = is_matrix ? fake_random(f, f->sizes[0]) : -1,
            .shard_owner =
                is_matrix && is_sharded ? fake_random(f, f->sizes[2]) : -1};
        params[i].names[0] = params[i].name;
    }
    f->view.patterns = patterns;
    f->view.params = params;
    f->view.n_patterns = f->view.n_params = n;
}

/* One bucket of the parameters that `items` names. */
static inline void fake_bucket(fake_plan *f, const cz_bucket_item *items, int n,
                               cz_view_param *params, cz_view_bucket *bucket)
{
    const int number = (int)(bucket - f->view.buckets);
    const cz_bucket_problem problem = {.align = CZ_BUCKET_ALIGN,
                                       .n_items = n,
                                       .items = items,
                                       .n_slices = (int)f->sizes[0]};
    const cz_bucket laid_out = cz_bucket_lay_out(&f->arena, &problem);
    cz_fact_bucket *fact = CZ_NEW(&f->arena, cz_fact_bucket, 1);
    *fact = (cz_fact_bucket){.geometry = CZ_GEOMETRY_UNEVEN,
                             .length = laid_out.length,
                             .params = {laid_out.params, n},
                             .offsets = {laid_out.offsets, n},
                             .slices = {laid_out.slices, (int)f->sizes[0] + 1}};
    *bucket =
        (cz_view_bucket){.fact = fact, .dtype = CZ_BF16, .has_master = true};
    for (int i = 0; i < n; i++) {
        params[laid_out.params[i]].bucket = number;
        params[laid_out.params[i]].offset = laid_out.offsets[i];
    }
}

/* Owned and other parameters apart, a bucket as soon as it holds enough. */
static inline void fake_buckets(fake_plan *f)
{
    const int n = f->view.n_params;
    cz_view_param *params = CZ_NEW(&f->arena, cz_view_param, n);
    cz_view_bucket *buckets = CZ_NEW(&f->arena, cz_view_bucket, n);
    cz_bucket_item *items = CZ_NEW(&f->arena, cz_bucket_item, n);
    f->view.buckets = buckets;
    f->view.n_buckets = 0;
    for (int i = 0; i < n; i++)
        params[i] = f->view.params[i];
    for (int is_cut = 0; is_cut < 2; is_cut++) {
        int64_t filled = 0;
        int n_items = 0;
        for (int i = 0; i < n; i++) {
            const int owner = (int)params[i].split_owner;
            const int64_t elements = f->view.patterns[i].local_elements;
            if ((owner < 0) == is_cut) {
                items[n_items++] = (cz_bucket_item){i, elements, owner};
                filled += elements;
            }
            if (n_items == 0 ||
                (i < n - 1 && filled < f->policy.bucket_elements))
                continue;
            fake_bucket(f, items, n_items, params,
                        &buckets[f->view.n_buckets++]);
            n_items = 0;
            filled = 0;
        }
    }
    f->view.params = params;
}

static inline void fake_plan_init(fake_plan *f, uint64_t seed)
{
    *f = (fake_plan){.random = seed, .program = {.name = "fake"}};
    cz_arena_init(&f->arena);
    fake_stages(f);
    const int64_t dp = 1 + fake_random(f, 3), tp = 1 + fake_random(f, 4);
    fake_mesh(f, dp, tp, 1 + fake_random(f, 2));
    f->uses = &f->use;
    f->view.program = &f->program;
    f->view.mesh = &f->mesh;
    f->view.policy = &f->policy;
    f->view.reductions = &f->reduction;
    f->view.n_reductions = 1;
    f->view.uses = &f->uses;
    f->view.n_uses = 1;
    f->view.rules = f->rules;
    f->view.n_rules = 2;
    f->view.stages = f->stages;
    f->view.n_stages = FAKE_STAGES;
    fake_params(f, 1 + (int)fake_random(f, 24));
    fake_buckets(f);
}

static inline void fake_plan_fini(fake_plan *f)
{
    cz_arena_fini(&f->arena);
}

#endif
