/* One screen about a plan: what it moves, who owns what, what it costs. */
#include "frontend/report/internal.h"

#include "dsl/plan/metrics.h"
#include "frontend/document/plan/facts.h"
#include "frontend/document/plan/pipeline.h"
#include "passes/bound/time_bounds.h"
#include "passes/cost/wire.h"
#include "passes/baseline/compare.h"

#include <inttypes.h>
#include <string.h>

typedef struct screen {
    const cz_plan_view *view;
    const cz_metrics *metrics;
    cz_arena *arena;
    cz_text *out;
} screen;

/* Lines begin with what they are about, in a column of this width. */
static void label(screen *s, const char *name)
{
    cz_text_printf(s->out, "%-11s ", name);
}

/* "13.95 TF mean, 14.76 TF max" */
static void put_summary(screen *s, const cz_summary *summary, const char *unit)
{
    const int64_t mean = summary->n > 0 ? summary->sum / summary->n : 0;
    cz_text_printf(s->out, "%s mean, %s max", cz_number_short(mean, unit).text,
                   cz_number_short(summary->max, unit).text);
}

static void put_axes(screen *s, const cz_ints *axes)
{
    cz_report_axes(s->view, axes, s->out);
}

static int64_t frozen_elements(const cz_plan_view *view)
{
    int64_t elements = 0;
    for (int f = 0; f < view->n_frozen_patterns; f++)
        elements += view->frozen_patterns[f].elements *
                    view->frozen_patterns[f].n_params;
    return elements;
}

static void print_counts(screen *s, const char *hash)
{
    const cz_plan_view *view = s->view;
    int64_t elements = frozen_elements(view), matrix_elements = 0;
    int n_matrices = 0, n_tensors = view->n_frozen_params;
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_pattern *pattern =
            &view->patterns[view->params[p].pattern];
        const int64_t n = pattern->elements * pattern->expert_extent;
        const bool is_owned = view->params[p].split_owner >= 0;
        elements += n;
        n_tensors += (int)pattern->expert_extent;
        matrix_elements += is_owned ? n : 0;
        n_matrices += is_owned ? (int)pattern->expert_extent : 0;
    }
    label(s, view->program->name);
    cz_text_printf(s->out,
                   "%s parameters in %d tensors; %d matrices of %s elements\n",
                   cz_number_full(elements).text, n_tensors, n_matrices,
                   cz_number_full(matrix_elements).text);
    label(s, "plan");
    cz_text_printf(s->out, "%s\n", hash);
}

static bool is_of_experts(const char *axis)
{
    static const char *const names[] = {"edp", "ep", "etp"};
    for (int i = 0; i < 3; i++)
        if (strcmp(axis, names[i]) == 0)
            return true;
    return false;
}

static void print_reduction(screen *s, int number)
{
    const cz_plan_view *view = s->view;
    const cz_fact_reduction *reduction = &view->reductions[number];
    const int64_t n = cz_view_extent(view, &reduction->reduce_axes);
    int64_t n_tensors = 0;
    for (int f = 0; f < view->n_patterns; f++)
        if (view->patterns[f].reduction == number)
            n_tensors +=
                view->patterns[f].n_params * view->patterns[f].expert_extent;
    label(s, number == 0 ? "gradients" : "");
    if (view->n_reductions > 1)
        cz_text_printf(s->out, "%" PRId64 " tensors: ", n_tensors);
    cz_text_puts(s->out, cz_dtype_name(reduction->dtype));
    if (reduction->reduce_axes.n == 0) {
        cz_text_puts(s->out, ", reduced already");
    } else {
        cz_text_puts(s->out,
                     reduction->divisor == 1 && n * reduction->n_grads > 1
                         ? ", sum over "
                         : ", mean over ");
        put_axes(s, &reduction->reduce_axes);
    }
    cz_text_puts(s->out, "; state split over ");
    put_axes(s, &reduction->split_axes);
    cz_text_puts(s->out, "\n");
}

static void print_mesh(screen *s)
{
    const cz_fact_mesh *mesh = s->view->mesh;
    label(s, "mesh");
    for (int i = 0; i < mesh->names.n && !is_of_experts(mesh->names.v[i]); i++)
        cz_text_printf(s->out, "%s%s %" PRId64, i ? " x " : "",
                       mesh->names.v[i],
                       cz_view_set_extent(s->view, mesh->sets.v[i]));
    cz_text_printf(s->out, "%s%d rank%s", mesh->axes.n > 0 ? " = " : "",
                   s->view->n_ranks, s->view->n_ranks == 1 ? "" : "s");
    int n = 0;
    for (int i = 0; i < mesh->names.n; i++)
        if (is_of_experts(mesh->names.v[i]))
            cz_text_printf(s->out, "%s%s %" PRId64, n++ ? " x " : "; experts ",
                           mesh->names.v[i],
                           cz_view_set_extent(s->view, mesh->sets.v[i]));
    cz_text_puts(s->out, "\n");
    for (int k = 0; k < s->view->n_reductions; k++)
        print_reduction(s, k);
}

static const char *strategy_of(const cz_use_facts *facts)
{
    if (facts->n_apart > 0 && facts->n_apart == facts->n_sharded)
        return "local: shards updated where they lie";
    if (facts->n_at_shards > 0 && facts->n_at_shards == facts->n_sharded)
        return "gram: shards updated where they lie, with sums";
    if (facts->n_by_subgroup > 0)
        return "gram: parts gathered, updated with sums, scattered";
    if (facts->n_sharded > 0)
        return "owner: gathered, updated whole, scattered";
    if (facts->n_owned > 0)
        return "owner: updated whole where it lies";
    return "local: cut anywhere";
}

static void print_uses(screen *s)
{
    for (int u = 0; u < s->view->n_uses; u++) {
        const cz_use_facts facts = cz_report_use(s->view, u);
        const cz_fact_use *use = s->view->uses[u];
        label(s, u == 0 ? "groups" : "");
        cz_text_printf(s->out, "%-10s %-8s %4d tensors, %s elements; %s\n",
                       use->sym_name, use->optimizer, facts.n_params,
                       cz_number_short(facts.elements, "").text,
                       strategy_of(&facts));
    }
}

/* What the plan only knows of. */
static void print_untrained(screen *s)
{
    const cz_plan_view *view = s->view;
    int n_names = 0;
    for (int t = 0; t < view->n_ties; t++)
        n_names += view->ties[t].n_names;
    if (view->n_frozen_params > 0) {
        label(s, "frozen");
        cz_text_printf(s->out,
                       "%d tensors, %s elements: no gradient, no state\n",
                       view->n_frozen_params,
                       cz_number_short(frozen_elements(view), "").text);
    }
    if (n_names > 0) {
        label(s, "tied");
        cz_text_printf(s->out, "%d more name%s, the first %s for %s\n", n_names,
                       n_names == 1 ? "" : "s", view->ties[0].names[0],
                       view->params[view->ties[0].param].name);
    }
}

static void print_load(screen *s)
{
    const cz_summary *flops = &s->metrics->flops;
    const int item = s->metrics->item_param;
    const int64_t of_item = s->metrics->item_flops;
    label(s, "flops");
    put_summary(s, flops, "F");
    cz_text_printf(s->out, " per rank: max/mean %s\n",
                   cz_number_ratio(flops->max, flops->n, flops->sum).text);
    if (item < 0)
        return;
    label(s, "");
    cz_text_printf(s->out, "item bound %s: %s on one rank for %s\n",
                   cz_number_ratio(of_item, flops->n, flops->sum).text,
                   cz_number_short(of_item, "F").text,
                   s->view->params[item].name);
}

/* ---- predicted times ---- */

static void put_witness(const cz_plan_view *view, const cz_time_bounds *bounds,
                        cz_text *out)
{
    const cz_time_bound *bound = &bounds->of[bounds->kernels];
    if (bounds->kernels == CZ_TIME_MEAN)
        cz_text_printf(out, "least work over %" PRId64 " ranks",
                       bound->n_ranks);
    else if (bounds->kernels == CZ_TIME_LARGEST)
        cz_text_printf(out, "%s on %" PRId64 " rank%s",
                       view->params[bound->param].name, bound->n_ranks,
                       bound->n_ranks == 1 ? "" : "s");
    else
        cz_text_printf(out, "pieces of matrices do not fit %" PRId64 " ranks",
                       bound->n_ranks);
}

static int64_t largest(const int64_t *times, int n)
{
    int64_t most = 0;
    for (int i = 0; i < n; i++)
        most = times[i] > most ? times[i] : most;
    return most;
}

/* What public optimizers take on the same matrices, also with the gathers and
 * scatters of their micro-groups. */
static void print_baselines(screen *s, const cz_stage_time *times, int64_t ours)
{
    enum { NAME = 38 };
    const int n_ranks = s->view->n_ranks;
    int n;
    const cz_compared *list = cz_compare(s->arena, s->view, times, false, &n);
    for (const cz_compared *of = list; of < list + n; of++) {
        const int64_t theirs = largest(of->time_ps, n_ranks);
        label(s, of == list ? "instead of" : "");
        cz_text_printf(s->out, "%-*s%s, %s times ours\n", NAME, of->name,
                       cz_number_time(theirs).text,
                       cz_number_ratio(theirs, 1, ours).text);
        for (int g = 0; g < of->n_choices; g++) {
            const cz_compared_micro_groups *groups =
                &of->micro_group_choices[g];
            const int64_t longest = largest(groups->time_ps, n_ranks);
            if (g == 0)
                label(s, "");
            cz_text_printf(s->out, "%s%s %s",
                           g > 0 ? ", " : "with gathers, in groups: ",
                           groups->name, cz_number_time(longest).text);
        }
        cz_text_puts(s->out, of->n_choices > 0 ? "\n" : "");
    }
}

/* What was free, and is not what it is elsewhere. */
static void print_chosen(screen *s)
{
    const cz_fact_policy *policy = s->view->policy;
    const char *before = "chosen for it: ";
    char bucket[32], wire[32];
    snprintf(bucket, sizeof bucket, "bucket %" PRId64 "M",
             policy->bucket_elements / 1000000);
    snprintf(wire, sizeof wire, "wire %g", policy->wire);
    const char *chosen[] = {
        policy->bucket_is_free && policy->bucket_elements != CZ_BUCKET_ELEMENTS
            ? bucket
            : NULL,
        policy->layout_is_free && policy->layout == CZ_LAYOUT_TRAINER
            ? "layout trainer"
            : NULL,
        policy->wire_is_free && policy->wire > CZ_WIRE ? wire : NULL,
        policy->joins_updates ? "one update of all buckets" : NULL};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        if (!chosen[i])
            continue;
        if (strcmp(before, ", ") != 0)
            label(s, "");
        cz_text_printf(s->out, "%s%s", before, chosen[i]);
        before = ", ";
    }
    if (strcmp(before, ", ") == 0)
        cz_text_puts(s->out, "\n");
}

static bool has_experts(const screen *s)
{
    const cz_fact_mesh *mesh = s->view->mesh;
    bool any = false;
    for (int i = 0; i < mesh->names.n; i++)
        any = any || is_of_experts(mesh->names.v[i]);
    return any;
}

/* What of an iteration forward and backward do not take, and the least that any
 * order of the same work takes: a rank's kernels, or its links. */
static void print_iteration(screen *s, const cz_report_iteration *it)
{
    const cz_simulate_times *t = &it->times;
    const int64_t model = t->forward + t->backward;
    const cz_simulate_least least = cz_simulate_least_of(t, s->view->n_ranks);
    const bool is_links = least.links >= least.kernels;
    label(s, "iteration");
    cz_text_printf(
        s->out, "%s of %s tokens; forward and backward take %s at %s of bf16\n",
        cz_number_time(t->iteration).text, cz_number_full(it->tokens).text,
        cz_number_time(model).text, cz_number_percent(it->mfu).text);
    label(s, "");
    cz_text_printf(
        s->out,
        "%s more; %s of the least for its %s; a step %s, %s with the "
        "gathers that are waited for\n",
        cz_number_time(t->iteration - model).text,
        cz_number_ratio(t->iteration, 1, is_links ? least.links : least.kernels)
            .text,
        is_links ? "links" : "kernels", cz_number_time(t->step).text,
        cz_number_time(t->step_gather).text);
    if (has_experts(s)) {
        label(s, "");
        cz_text_printf(s->out,
                       "%s of experts at work on a token, as `active` says\n",
                       cz_number_percent(it->active).text);
    }
    print_chosen(s);
}

/* Nothing where the plan names no machine. */
static void print_predictions(screen *s, cz_bar_style style)
{
    enum { N_COLUMNS = 40 };
    const cz_plan_view *view = s->view;
    const cz_fact_machine *names = view->machine;
    const int n = view->n_ranks;
    cz_machine machine;
    int measured = 0;
    if (!cz_machine_of(s->arena, view, &machine))
        return;
    const cz_stage_time *times = cz_stage_times(s->arena, view, &machine);
    const int64_t *ranks = cz_rank_times(s->arena, view, times);
    const cz_rank_load load = cz_rank_load_of(ranks, n);
    const cz_forms forms = cz_forms_find(s->arena, view, &machine);
    const cz_time_bounds bounds =
        cz_time_bounds_find(s->arena, view, &machine, times, &forms);
    label(s, "time");
    cz_text_printf(s->out, "%s mean, %s max per rank: max/mean %s\n",
                   cz_number_time(load.mean_ps).text,
                   cz_number_time(load.max_ps).text,
                   cz_number_ratio(load.max_ps, n, load.sum_ps).text);
    label(s, "");
    cz_bars_put(s->arena, ranks, n, N_COLUMNS, style, s->out);
    cz_text_printf(s->out, " %d rank%s\n", n,
                   n == 1 ? "" : "s, the busiest first");
    for (int i = 0; i < names->measured.n; i++)
        measured += names->measured.v[i] != 0;
    label(s, "");
    cz_text_printf(s->out, "of kernels on %s: ", names->name);
    if (measured == 0)
        cz_text_puts(s->out, "all constants are assumed");
    else
        cz_text_printf(s->out, "%d of %d constants are measured", measured,
                       names->constants.n);
    if (view->n_timings > 0)
        cz_text_printf(s->out, ", %d times of matrices are measured",
                       view->n_timings);
    cz_text_puts(s->out, "\n");
    /* Bounds hold for every plan that the schedule admits. */
    const int64_t bound = bounds.of[bounds.kernels].value_ps;
    label(s, "");
    cz_text_printf(s->out, "%s of the least that any plan takes, %s: ",
                   cz_number_ratio(load.max_ps, 1, bound).text,
                   cz_number_time(bound).text);
    put_witness(view, &bounds, s->out);
    cz_text_puts(s->out, "\n");
    print_baselines(s, times, load.max_ps);
}
static bool is_same(const cz_ints *a, const cz_ints *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->v[i] == b->v[i];
    return same;
}

/* Every communicator that operations of a kind have: " over dp, over edp". */
static void put_communicators(screen *s, cz_step_kind kind)
{
    const cz_view_op *ops = s->view->ops;
    int n = 0;
    for (int i = 0; i < s->view->n_ops; i++) {
        bool is_new = ops[i].kind == kind;
        for (int j = 0; is_new && j < i; j++)
            is_new = ops[j].kind != kind ||
                     !is_same(&ops[j].fact->comm, &ops[i].fact->comm);
        if (!is_new)
            continue;
        cz_text_puts(s->out, n++ ? ", over " : " over ");
        put_axes(s, &ops[i].fact->comm);
    }
}

static void print_wire(screen *s)
{
    const int64_t n = s->view->n_ranks;
    bool is_first = true;
    for (int k = 0; k < CZ_N_STEPS; k++) {
        const cz_summary *sent = &s->metrics->sent[k];
        if (sent->sum == 0)
            continue;
        label(s, is_first ? "wire" : "");
        cz_text_printf(s->out, "%-15s", cz_step_kind_word((cz_step_kind)k));
        put_summary(s, sent, "B");
        cz_text_puts(s->out, " sent per rank and step");
        put_communicators(s, (cz_step_kind)k);
        cz_text_puts(s->out, "\n");
        is_first = false;
    }
    if (is_first) {
        label(s, "wire");
        cz_text_puts(s->out, "nothing is sent\n");
    }
    const int64_t gathered = cz_gradient_gather_bytes(s->view);
    const int64_t sent = s->metrics->sent[CZ_STEP_TRANSFER].sum +
                         s->metrics->sent[CZ_STEP_GROUP_SUM].sum;
    if (gathered != 0) {
        label(s, "");
        cz_text_printf(s->out,
                       "%-15s%s of sending f32 gradients to all who shard "
                       "them, %s mean\n",
                       "matrices", cz_number_ratio(sent, 1, gathered).text,
                       cz_number_short(gathered / n, "B").text);
    }
    const cz_trainer_wire wire = cz_trainer_wire_find(s->view);
    const int64_t sum = wire.gradient_bytes + wire.parameter_bytes;
    if (sum != 0) {
        label(s, "");
        cz_text_printf(s->out,
                       "%-15s%s mean sent by itself: gradients %s, parameters "
                       "%s\n",
                       "trainer", cz_number_short(sum / n, "B").text,
                       cz_number_short(wire.gradient_bytes / n, "B").text,
                       cz_number_short(wire.parameter_bytes / n, "B").text);
    }
}

/* Elements of the longest slice. */
static int64_t longest_slice(const cz_view_bucket *bucket)
{
    int64_t longest = 0;
    for (int r = 0; r + 1 < bucket->fact->slices.n; r++) {
        const int64_t n = cz_metrics_slice(bucket, r);
        longest = n > longest ? n : longest;
    }
    return longest;
}

/* Uneven slices cost a padded reduce-scatter the longest one on every rank. */
static void print_buckets(screen *s)
{
    int64_t longest = 0, elements = 0, padded = 0;
    int n_owned = 0;
    for (int b = 0; b < s->view->n_buckets; b++) {
        const cz_fact_bucket *bucket = s->view->buckets[b].fact;
        longest = bucket->length > longest ? bucket->length : longest;
        elements += bucket->length;
        padded += longest_slice(&s->view->buckets[b]) * (bucket->slices.n - 1);
        n_owned += bucket->params.n > 0 &&
                   s->view->params[bucket->params.v[0]].split_owner >= 0;
    }
    label(s, "buckets");
    cz_text_printf(s->out,
                   "%d: %d with owners, %d cut anywhere; at most %s elements; "
                   "longest slice/mean %s\n",
                   s->view->n_buckets, n_owned, s->view->n_buckets - n_owned,
                   cz_number_short(longest, "").text,
                   cz_number_ratio(padded, 1, elements).text);
}

static void print_groups(screen *s)
{
    int n;
    int64_t peak = 0;
    const cz_micro_group_facts *groups =
        cz_report_micro_groups(s->arena, s->view, &n);
    for (int i = 0; i < n; i++)
        peak = groups[i].peak_bytes > peak ? groups[i].peak_bytes : peak;
    label(s, "schedule");
    cz_text_printf(s->out, "%d operations; %d micro-groups", s->view->n_ops, n);
    if (n > 0)
        cz_text_printf(s->out, " of at most %s in buffers of an owner",
                       cz_number_short(peak, "B").text);
    const int64_t scratch = s->metrics->memory[CZ_MEMORY_SCRATCH].max;
    cz_text_printf(s->out, "; scratch %s\n",
                   cz_number_short(scratch, "B").text);
}

void cz_report_screen(const cz_plan_view *view, const cz_metrics *metrics,
                      const char *hash, const cz_report_iteration *iteration,
                      cz_bar_style style, cz_text *out)
{
    cz_arena arena;
    cz_arena_init(&arena);
    screen s = {view, metrics, &arena, out};
    print_counts(&s, hash);
    print_mesh(&s);
    print_uses(&s);
    print_untrained(&s);
    if (iteration)
        print_iteration(&s, iteration);
    const cz_summary *n = &s.metrics->matrices;
    if (n->sum != 0) {
        label(&s, "owners");
        cz_text_printf(s.out,
                       "%" PRId64 " updates of matrices, %" PRId64
                       " to %" PRId64 " on a rank\n",
                       n->sum, n->min, n->max);
    }
    print_load(&s);
    print_predictions(&s, style);
    cz_report_stage_lines(&arena, view, s.metrics, out);
    for (int k = 0; k < CZ_N_MEMORIES; k++) {
        label(&s, k == 0 ? "memory" : "");
        cz_text_printf(s.out, "%-15s", cz_memory_name((cz_memory)k));
        put_summary(&s, &s.metrics->memory[k], "B");
        cz_text_puts(s.out, k == 0 ? " per rank\n" : "\n");
    }
    print_wire(&s);
    print_buckets(&s);
    print_groups(&s);
    cz_arena_fini(&arena);
}
