/* What the schedule leaves free, chosen by the iteration: the size of buckets,
 * the order inside them, whether updates of several are one operation, and what
 * ranks that share matrices may send.  The simpler plan stays, unless another
 * is much quicker; or a baseline is quicker than it, and then any other will do
 * that is. */
#include "frontend/cmd/cmd.h"

#include "dsl/plan/build/build.h"
#include "frontend/document/plan/plan.h"
#include "passes/passes.h"

enum {
    MOST_RANKS = 2048, /* beyond these, plans take seconds each */
    MOST_PARAMS = 1 << 16,
    GAIN = 50,          /* one part in: the simpler plan stays unless another is
                         * so much quicker; */
    SMALL_GAIN = 1000,  /* of plans with so few parameters, and parameters times
                         * ranks, where launches and messages count, and plans
                         * are made in no time */
    BEHIND = 2000,      /* a baseline is quicker that is so much quicker, */
    LEAST_GAIN = 10000, /* and then this will do */
    SMALL_PARAMS = 1000,
    SMALL = 100000,
    HALVES = 16 /* the last buckets are halves, down to that part of a size */
};

typedef struct chooser {
    cz_ir *stages;     /* the source behind the passes that no policy of this
                        * changes */
    cz_diags *unheard; /* of plans that there are not */
    const char *name;  /* of the plan, in messages */
    cz_simulate_options options;
    bool may_join; /* updates of several buckets */
    int n_ranks;
    bool is_small;
    cz_fact_policy best; /* so far, its iteration, and the least that its
                          * kernels or links take */
    cz_simulate_times times;
    int64_t gain;     /* one part in that another plan has to be quicker */
    int64_t baseline; /* above it the best one is quicker */
    int64_t least, bound;
    int64_t least_bound; /* that of kernels in larger batches, or shared */
} chooser;

static void set_policy(cz_ir *ir, const cz_fact_policy *policy)
{
    cz_ir_remove(ir, CZ_FACT_policy);
    cz_ir_add_policy(ir, policy);
}

/* With `baseline`, also the iteration of the best baseline, where it is shorter
 * than the plan's; else that of the plan. */
static bool simulate(const chooser *c, cz_arena *arena,
                     const cz_plan_view *view, cz_diags *diags,
                     cz_simulate_times *out, int64_t *baseline)
{
    static const char hash[] = "00000000000000000000000000000000"
                               "00000000000000000000000000000000";
    cz_simulate_options options = c->options;
    cz_machine machine;
    const cz_document *document =
        cz_report_document(arena, view, cz_metrics_build(arena, view), hash,
                           baseline != NULL, c->name, diags);
    if (!document || !cz_cmd_machine(arena, c->name, document, NULL, NULL, 0,
                                     diags, &machine))
        return false;
    options.machine = &machine;
    options.is_plans_machine = true;
    options.tokens = document->tokens;
    options.active = document->active;
    if (options.tokens < cz_document_replicas(document))
        return false;
    *out = cz_simulate_plan(document, &options);
    if (baseline)
        *baseline =
            cz_simulate_best_baseline(document, &options, out->iteration);
    return true;
}

/* Owners and buckets under a policy, for the caller to close; NULL: none. */
static cz_ir *assign(const chooser *c, const cz_fact_policy *policy)
{
    cz_ir *ir = cz_ir_copy(c->stages);
    cz_ir_set_diags(ir, c->unheard);
    set_policy(ir, policy);
    if (cz_passes_try(ir, "place", "strategy", c->unheard))
        return ir;
    cz_ir_close(ir);
    return NULL;
}

/* Of the plan of owners and buckets with a policy; an iteration of INT64_MAX
 * where there is none. */
static cz_simulate_times times_of(const chooser *c, const cz_ir *assigned,
                                  const cz_fact_policy *policy)
{
    cz_arena arena;
    cz_diags diags;
    cz_simulate_times times = {.iteration = INT64_MAX};
    const cz_plan_view *view;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_copy(assigned);
    cz_ir_set_diags(ir, &diags);
    set_policy(ir, policy);
    if (cz_passes_try(ir, "share", "schedule", &diags) &&
        (view = cz_plan_view_build(&arena, ir, &diags)) &&
        cz_cmd_caps_keep(&arena, view, true, &diags))
        simulate(c, &arena, view, &diags, &times, NULL);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return times;
}

/* Whether a baseline is quicker than the best plan so far. */
static bool is_behind(const chooser *c)
{
    return c->least > c->baseline;
}

/* What another plan has to be below. */
static int64_t less(const chooser *c, int64_t ps, int64_t gain)
{
    return ps - ps / (ps > c->baseline ? LEAST_GAIN : gain);
}

static void take(chooser *c, const cz_fact_policy *policy,
                 const cz_simulate_times *times)
{
    const cz_simulate_least work = cz_simulate_least_of(times, c->n_ranks);
    c->best = *policy;
    c->times = *times;
    c->least = times->iteration;
    c->bound = work.kernels > work.links ? work.kernels : work.links;
    c->least_bound = times->forward + times->backward + times->bubble;
    if (work.links > c->least_bound)
        c->least_bound = work.links;
}

/* Whether something much quicker is conceivable, with kernels as they are. */
static bool may_gain(const chooser *c)
{
    return c->bound < less(c, c->least, c->gain);
}

/* The same with others. */
static bool may_change(const chooser *c)
{
    return c->least_bound < less(c, c->least, c->gain);
}

/* Takes the plan of what was assigned, where its iteration is the least; that
 * iteration. */
static int64_t try_assigned(chooser *c, const cz_ir *assigned,
                            const cz_fact_policy *policy)
{
    const cz_simulate_times times = times_of(c, assigned, policy);
    if (times.iteration < c->least)
        take(c, policy, &times);
    return times.iteration;
}

/* The same of the plan with a policy. */
static int64_t try_alone(chooser *c, const cz_fact_policy *policy)
{
    cz_ir *ir = assign(c, policy);
    const int64_t ps = ir ? try_assigned(c, ir, policy) : INT64_MAX;
    cz_ir_close(ir);
    return ps;
}

/* The policy, with updates joined or not; the least iteration of the two.  In
 * the trainer's order owners are the same. */
static int64_t try(chooser *c, const cz_fact_policy *policy)
{
    cz_fact_policy tried = *policy;
    tried.joins_updates = 0;
    cz_ir *ir = assign(c, &tried);
    if (!ir)
        return INT64_MAX;
    const int64_t least = try_assigned(c, ir, &tried);
    const bool may_join = c->may_join && cz_ir_count(ir, CZ_FACT_bucket) > 1;
    int64_t joined = INT64_MAX;
    tried.joins_updates = 1;
    if (may_join)
        joined = policy->layout == CZ_LAYOUT_TRAINER
                     ? try_assigned(c, ir, &tried)
                     : try_alone(c, &tried);
    cz_ir_close(ir);
    return joined < least ? joined : least;
}

/* Where kernels are much of the iteration: micro-groups with more room, which
 * have larger batches, and are much quicker for it.  Where some change nothing,
 * more do not. */
static void try_room(chooser *c)
{
    static const int64_t caps[] = {(int64_t)4 << 30, (int64_t)16 << 30};
    const chooser before = *c;
    int64_t last = INT64_MAX;
    cz_fact_policy policy = c->best;
    for (size_t i = 0; i < sizeof caps / sizeof *caps; i++) {
        policy.micro_group_bytes = caps[i];
        if (before.best.micro_group_bytes == 0 && last != before.least &&
            may_change(c))
            last = try(c, &policy);
    }
    if (c->least > less(c, before.least, GAIN))
        *c = before;
}

static bool shares_matrices(const cz_plan_view *view)
{
    bool any = false;
    for (int p = 0; p < view->n_params; p++)
        any = any || view->params[p].subgroup_size > 1;
    return any;
}

/* Buckets that have matrices that are whole on the ranks that update them. */
static int count_unsharded(const cz_plan_view *view)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    int n = 0;
    for (int b = 0; b < view->n_buckets; b++) {
        const cz_ints params = view->buckets[b].fact->params;
        bool any = false;
        for (int i = 0; i < params.n && !any; i++) {
            const cz_view_param *p = &view->params[params.v[i]];
            const cz_ints axes = cz_view_shard_axes(view, p->pattern, storage);
            any = p->split_owner >= 0 && cz_view_extent(view, &axes) == 1;
        }
        n += any;
    }
    return n;
}

static int64_t longest_bucket(const cz_plan_view *view)
{
    int64_t longest = 0;
    for (int b = 0; b < view->n_buckets; b++)
        if (view->buckets[b].fact->length > longest)
            longest = view->buckets[b].fact->length;
    return longest;
}

/* Whether ranks may share a matrix by choice. */
static bool may_share(const cz_plan_view *view)
{
    int64_t storage[CZ_VIEW_MAX_AXES];
    bool any = false;
    for (int p = 0; p < view->n_params && !any; p++) {
        const cz_view_param *param = &view->params[p];
        const cz_ints axes = cz_view_shard_axes(view, param->pattern, storage);
        any = param->split_owner >= 0 && cz_view_extent(view, &axes) > 1;
    }
    return any && view->policy->tp_strategy == CZ_STRATEGY_AUTO;
}

/* More on the wire, where more matrices that are shared are worth it. */
static void try_wire(chooser *c, const cz_plan_view *view)
{
    enum { WIRE = 4 };
    const chooser before = *c;
    cz_fact_policy policy = c->best;
    policy.wire = WIRE;
    if (!policy.wire_is_free || !may_change(c) || !may_share(view))
        return;
    try_alone(c, &policy);
    if (c->least > less(c, before.least, GAIN))
        *c = before;
}

/* Policies behind the first, one after another. */
static void try_policies(chooser *c, const cz_plan_view *view)
{
    enum { N_SIZES = 5 };
    static const int64_t sizes[N_SIZES] = {100000000, 40000000, 10000000,
                                           4000000, 200000000};
    const cz_fact_policy *first = view->policy;
    const int most_misses = c->is_small ? 1 : 0;
    int n_misses = 0;
    cz_fact_policy joined = *first;
    joined.joins_updates = 1;
    if ((c->is_small ? view->n_buckets : count_unsharded(view)) > 1 &&
        c->may_join && may_change(c))
        try_alone(c, &joined);
    if (c->is_small)
        try_room(c);
    try_wire(c, view);
    for (int i = 0; i < N_SIZES; i++) {
        const int64_t before = c->least;
        cz_fact_policy policy = c->best;
        policy.bucket_elements = sizes[i];
        if (!first->bucket_is_free || !may_gain(c) ||
            (n_misses > most_misses && !is_behind(c)))
            break;
        const bool is_same =
            sizes[i] / (c->is_small ? HALVES : 1) >= longest_bucket(view);
        if (!is_same)
            try(c, &policy);
        n_misses += (c->is_small || !is_same) && c->least == before;
    }
    /* That order has no subgroups. */
    if (first->layout_is_free && may_gain(c) &&
        (!shares_matrices(view) || is_behind(c))) {
        const chooser before = *c;
        cz_fact_policy policy = c->best;
        policy.layout = CZ_LAYOUT_TRAINER;
        (c->is_small ? try : try_alone)(c, &policy);
        for (int i = 0; i < N_SIZES && first->bucket_is_free; i++) {
            policy.bucket_elements = sizes[i];
            if (is_behind(c))
                try(c, &policy);
        }
        if (c->least >= less(c, before.least, c->gain))
            *c = before;
    }
}

bool cz_cmd_choose(cz_ir *source, const char *name, const cz_plan_view *view,
                   cz_report_iteration *out)
{
    const cz_cmd_options unsaid = {.input = name};
    const cz_fact_policy *first = view->policy;
    cz_simulate_times times;
    chooser c = {.name = name,
                 .n_ranks = view->n_ranks,
                 .is_small = view->n_params <= SMALL_PARAMS &&
                             (int64_t)view->n_params * view->n_ranks <= SMALL};
    cz_arena arena;
    cz_diags diags;
    c.gain = c.is_small ? SMALL_GAIN : GAIN;
    c.may_join = c.is_small || count_unsharded(view) > 0;
    if ((!first->bucket_is_free && !first->layout_is_free &&
         !first->wire_is_free && !c.may_join) ||
        !view->machine || view->n_ranks > MOST_RANKS ||
        view->n_params > MOST_PARAMS ||
        !cz_cmd_simulate_options("plan", &unsaid, &c.options))
        return false;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    if (!simulate(&c, &arena, view, &diags, &times, &c.baseline)) {
        cz_arena_fini(&arena);
        return false;
    }
    c.baseline += c.baseline / BEHIND;
    take(&c, first, &times);
    c.unheard = &diags;
    c.stages = cz_ir_copy(source);
    cz_ir_set_diags(c.stages, &diags);
    if (cz_passes_try(c.stages, "simplify", "flops", &diags))
        try_policies(&c, view);
    cz_ir_close(c.stages);
    cz_arena_fini(&arena);
    const bool is_other = c.least < less(&c, times.iteration, c.gain);
    *out = (cz_report_iteration){first->tokens, c.options.mfu, first->active,
                                 is_other ? c.times : times};
    if (is_other)
        set_policy(source, &c.best);
    return is_other;
}
