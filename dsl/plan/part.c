/* Parts of matrices: whoever shares one has a part of it.  Knows nothing of
 * MLIR. */
#include "dsl/plan/plan.h"

bool cz_view_is_shaped(const cz_view_stage *stage)
{
    return stage->where == CZ_WHERE_WHOLE || stage->where == CZ_WHERE_SHARED;
}

int64_t cz_view_rule_flops(const cz_plan_view *view, int rule, int64_t group,
                           int64_t elements)
{
    const cz_view_rule *r = &view->rules[rule];
    int64_t flops = 0;
    for (int i = 0; i < r->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[r->first_stage + i];
        const int64_t own = stage->shared ? stage->shared->group : 1;
        if (!cz_view_is_shaped(stage))
            flops += stage->fact->flops * elements;
        else if (own == group)
            flops += stage->fact->flops;
    }
    return flops;
}

const cz_view_stage *cz_view_shared_stage(const cz_plan_view *view, int rule,
                                          int64_t group)
{
    const cz_view_rule *r = &view->rules[rule];
    for (int i = 0; i < r->n_stages; i++) {
        const cz_view_stage *stage = &view->stages[r->first_stage + i];
        if (stage->shared && stage->shared->group == group)
            return stage;
    }
    return NULL;
}

cz_view_shard cz_view_part_of(const cz_plan_view *view, int param,
                              int64_t member)
{
    const cz_view_param *p = &view->params[param];
    const cz_view_family *family = &view->families[p->family];
    const cz_view_stage *stage =
        cz_view_shared_stage(view, family->rule, p->group);
    cz_view_shard part = {.elements = family->elements};
    for (int d = 0; d < family->n_dims; d++)
        part.shape[d] = family->fact->shape.v[d];
    if (stage) {
        const int64_t dim = stage->shared->dim;
        part.shape[dim] /= p->group;
        part.start[dim] = part.shape[dim] * member;
        part.elements /= p->group;
    }
    return part;
}

int64_t cz_view_member_at(const cz_view_param *param, int64_t shard)
{
    return cz_block_member((cz_block){param->group, param->stride},
                           param->shard_owner, shard);
}

cz_block cz_view_op_block(const cz_plan_view *view, const cz_view_op *op)
{
    return op->fact->group > 0
               ? (cz_block){op->fact->group, op->fact->stride}
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
