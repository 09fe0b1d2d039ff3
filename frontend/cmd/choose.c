/* What the schedule leaves free, chosen by the iteration: the size of buckets,
 * and the order inside them. */
#include "frontend/cmd/cmd.h"

#include "dsl/plan/build/build.h"
#include "frontend/document/plan/plan.h"
#include "passes/passes.h"

enum {
    MOST_RANKS = 2048, /* beyond, plans take seconds each */
    GAIN = 50          /* one part in: the simpler plan stays unless another is
                        * so much quicker */
};

typedef struct chooser {
    const cz_ir *source;
    const char *name; /* of the plan, in messages */
    cz_simulate_options options;
} chooser;

static void set_policy(cz_ir *ir, const cz_fact_policy *policy)
{
    cz_ir_remove(ir, CZ_FACT_policy);
    cz_ir_add_policy(ir, policy);
}

static bool simulate(const chooser *c, cz_arena *arena,
                     const cz_plan_view *view, cz_diags *diags,
                     cz_simulate_times *out)
{
    static const char hash[] = "00000000000000000000000000000000"
                               "00000000000000000000000000000000";
    cz_simulate_options options = c->options;
    cz_machine machine;
    const cz_document *document =
        cz_report_document(arena, view, hash, false, c->name, diags);
    if (!document || !cz_cmd_machine(arena, c->name, document, NULL, NULL, 0,
                                     diags, &machine))
        return false;
    options.machine = &machine;
    options.is_plans_machine = true;
    options.tokens = document->tokens;
    if (options.tokens < cz_document_replicas(document))
        return false;
    *out = cz_simulate_plan(document, &options);
    return true;
}

/* Of the plan with a policy; INT64_MAX where there is none. */
static int64_t iteration_of(const chooser *c, const cz_fact_policy *policy)
{
    cz_arena arena;
    cz_diags diags;
    cz_simulate_times times = {.iteration = INT64_MAX};
    const cz_plan_view *view;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_copy(c->source);
    cz_ir_set_diags(ir, &diags);
    set_policy(ir, policy);
    if (cz_passes_assign(ir, &diags) && cz_passes_schedule(ir, &diags) &&
        (view = cz_plan_view_build(&arena, ir, &diags)) &&
        cz_cmd_caps_keep(&arena, view, &diags))
        simulate(c, &arena, view, &diags, &times);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return times.iteration;
}

/* Takes the policy where its iteration is below `enough`. */
static void try(const chooser *c, const cz_fact_policy *policy, int64_t enough,
                int64_t *least, cz_fact_policy *best)
{
    const int64_t ps = iteration_of(c, policy);
    if (ps < enough) {
        *least = ps;
        *best = *policy;
    }
}

static int64_t longest_bucket(const cz_plan_view *view)
{
    int64_t longest = 0;
    for (int b = 0; b < view->n_buckets; b++)
        if (view->buckets[b].fact->length > longest)
            longest = view->buckets[b].fact->length;
    return longest;
}

static int64_t less(int64_t ps)
{
    return ps - ps / GAIN;
}

bool cz_cmd_choose(cz_ir *source, const char *name, const cz_plan_view *view)
{
    static const int64_t sizes[] = {100000000, 40000000, 10000000, 4000000};
    const cz_cmd_options unsaid = {.input = name};
    const cz_fact_policy *first = view->policy;
    cz_fact_policy best = *first;
    cz_simulate_times times;
    chooser c = {.source = source, .name = name};
    cz_arena arena;
    cz_diags diags;
    if ((!first->bucket_is_free && !first->layout_is_free) || !view->machine ||
        view->n_ranks > MOST_RANKS ||
        !cz_cmd_simulate_options("plan", &unsaid, &c.options))
        return false;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const bool ok = simulate(&c, &arena, view, &diags, &times);
    cz_arena_fini(&arena);
    if (!ok)
        return false;
    const cz_simulate_least work = cz_simulate_least_of(&times, view->n_ranks);
    const int64_t bound = work.kernels > work.links ? work.kernels : work.links;
    int64_t least = times.iteration;
    int n_misses = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t before = least;
        cz_fact_policy policy = *first;
        policy.bucket_elements = sizes[i];
        if (!first->bucket_is_free || bound >= less(least) || n_misses > 1)
            break;
        if (sizes[i] >= longest_bucket(view))
            continue;
        try(&c, &policy, least, &least, &best);
        n_misses += least == before;
    }
    if (first->layout_is_free && bound < less(least)) {
        cz_fact_policy policy = *first;
        policy.layout = CZ_LAYOUT_TRAINER;
        try(&c, &policy, less(least), &least, &best);
    }
    if (least >= less(times.iteration))
        return false;
    set_policy(source, &best);
    return true;
}
