/* One screen about a plan: what it moves, who owns what, what it costs. */
#include "frontend/report/screen.h"

#include "dsl/plan/metrics.h"
#include "frontend/document/plan/facts.h"
#include "frontend/document/plan/geometry.h"
#include "frontend/document/number.h"
#include "frontend/report/predict.h"
#include "frontend/document/plan/pipeline.h"
#include "passes/cost/wire.h"

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

static void end(screen *s)
{
    cz_text_puts(s->out, "\n");
}

/* "13.95 TF mean, 14.76 TF max" */
static void put_spread(screen *s, const cz_spread *spread, const char *unit)
{
    const int64_t mean = spread->n > 0 ? spread->sum / spread->n : 0;
    cz_number_short(s->out, mean, unit);
    cz_text_puts(s->out, " mean, ");
    cz_number_short(s->out, spread->max, unit);
    cz_text_puts(s->out, " max");
}

static void put_axes(screen *s, const cz_ints *axes)
{
    cz_report_axes(s->view, axes, s->out);
}

static int64_t frozen_elements(const cz_view_family *family)
{
    return family->elements * family->n_params;
}

static void print_counts(screen *s, const char *hash)
{
    const cz_plan_view *view = s->view;
    int64_t elements = 0, matrix_elements = 0;
    int n_matrices = 0, n_tensors = view->n_frozen_params;
    for (int f = 0; f < view->n_frozen_families; f++)
        elements += frozen_elements(&view->frozen_families[f]);
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_family *family = &view->families[view->params[p].family];
        const int64_t n = family->elements * family->n_spread;
        const bool is_owned = view->params[p].split_owner >= 0;
        elements += n;
        n_tensors += (int)family->n_spread;
        matrix_elements += is_owned ? n : 0;
        n_matrices += is_owned ? (int)family->n_spread : 0;
    }
    label(s, view->program->name);
    cz_number_full(s->out, elements);
    cz_text_printf(s->out, " parameters in %d tensors; %d matrices of ",
                   n_tensors, n_matrices);
    cz_number_full(s->out, matrix_elements);
    cz_text_puts(s->out, " elements\n");
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

static int64_t tensors_of(const cz_plan_view *view, int reduction)
{
    int64_t n = 0;
    for (int f = 0; f < view->n_families; f++)
        if (view->families[f].reduction == reduction)
            n += view->families[f].n_params * view->families[f].n_spread;
    return n;
}

static void print_reduction(screen *s, int number)
{
    const cz_fact_reduction *reduction = &s->view->reductions[number];
    const int64_t n = cz_view_extent(s->view, &reduction->reduce_axes);
    label(s, number == 0 ? "gradients" : "");
    if (s->view->n_reductions > 1)
        cz_text_printf(s->out,
                       "%" PRId64 " tensors: ", tensors_of(s->view, number));
    cz_text_puts(s->out, cz_dtype_name(reduction->dtype));
    if (reduction->reduce_axes.n == 0) {
        cz_text_puts(s->out, ", reduced already");
    } else {
        cz_text_puts(s->out, reduction->terms == 1 && n * reduction->leaves > 1
                                 ? ", sum over "
                                 : ", mean over ");
        put_axes(s, &reduction->reduce_axes);
    }
    cz_text_puts(s->out, "; state split over ");
    put_axes(s, &reduction->split_axes);
    end(s);
}

static void print_mesh(screen *s)
{
    const cz_fact_mesh *mesh = s->view->mesh;
    label(s, "mesh");
    for (int i = 0; i < mesh->names.n && !is_of_experts(mesh->names.v[i]); i++)
        cz_text_printf(s->out, "%s%s %" PRId64, i ? " x " : "",
                       mesh->names.v[i],
                       cz_view_parts(s->view, mesh->sets.v[i]));
    cz_text_printf(s->out, "%s%d rank%s", mesh->axes.n > 0 ? " = " : "",
                   s->view->n_ranks, s->view->n_ranks == 1 ? "" : "s");
    int n = 0;
    for (int i = 0; i < mesh->names.n; i++)
        if (is_of_experts(mesh->names.v[i]))
            cz_text_printf(s->out, "%s%s %" PRId64, n++ ? " x " : "; experts ",
                           mesh->names.v[i],
                           cz_view_parts(s->view, mesh->sets.v[i]));
    end(s);
    for (int k = 0; k < s->view->n_reductions; k++)
        print_reduction(s, k);
}

static const char *strategy_of(const cz_use_facts *facts)
{
    if (facts->n_shared > 0)
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
        cz_text_printf(s->out, "%-10s %-8s %4d tensors, ", use->sym_name,
                       use->optimizer, facts.n_params);
        cz_number_short(s->out, facts.elements, "");
        cz_text_printf(s->out, " elements; %s\n", strategy_of(&facts));
    }
}

/* What the plan only knows of. */
static void print_untrained(screen *s)
{
    const cz_plan_view *view = s->view;
    int64_t elements = 0;
    int n_names = 0;
    for (int f = 0; f < view->n_frozen_families; f++)
        elements += frozen_elements(&view->frozen_families[f]);
    for (int t = 0; t < view->n_ties; t++)
        n_names += view->ties[t].n_names;
    if (view->n_frozen_params > 0) {
        label(s, "frozen");
        cz_text_printf(s->out, "%d tensors, ", view->n_frozen_params);
        cz_number_short(s->out, elements, "");
        cz_text_puts(s->out, " elements: no gradient, no state\n");
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
    const cz_spread *flops = &s->metrics->flops;
    const int item = s->metrics->item_param;
    label(s, "flops");
    put_spread(s, flops, "F");
    cz_text_puts(s->out, " per rank: max/mean ");
    cz_number_ratio(s->out, flops->max, flops->n, flops->sum);
    end(s);
    if (item < 0)
        return;
    label(s, "");
    cz_text_puts(s->out, "item bound ");
    cz_number_ratio(s->out, s->metrics->item_flops, flops->n, flops->sum);
    cz_text_puts(s->out, ": ");
    cz_number_short(s->out, s->metrics->item_flops, "F");
    cz_text_printf(s->out, " on one rank for %s\n", s->view->params[item].name);
}

static bool is_same(const cz_ints *a, const cz_ints *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->v[i] == b->v[i];
    return same;
}

/* "trainer  5.44 kB mean by itself: gradients 2.72 kB, parameters 2.72 kB" */
static void print_trainer_wire(screen *s)
{
    const cz_trainer_wire wire = cz_trainer_wire_find(s->view);
    const int64_t n = s->view->n_ranks;
    const int64_t sum = wire.gradient_bytes + wire.parameter_bytes;
    if (sum == 0)
        return;
    label(s, "");
    cz_text_printf(s->out, "%-15s", "trainer");
    cz_number_short(s->out, sum / n, "B");
    cz_text_puts(s->out, " mean sent by itself: gradients ");
    cz_number_short(s->out, wire.gradient_bytes / n, "B");
    cz_text_puts(s->out, ", parameters ");
    cz_number_short(s->out, wire.parameter_bytes / n, "B");
    end(s);
}

/* "matrices  0.188 of sending f32 gradients to all who shard them, 3.41 GB" */
static void print_matrix_wire(screen *s)
{
    const int64_t gathered = cz_gradient_gather_bytes(s->view);
    const int64_t sent = s->metrics->sent[CZ_STEP_TRANSFER].sum +
                         s->metrics->sent[CZ_STEP_GROUP_SUM].sum;
    if (gathered == 0)
        return;
    label(s, "");
    cz_text_printf(s->out, "%-15s", "matrices");
    cz_number_ratio(s->out, sent, 1, gathered);
    cz_text_puts(s->out, " of sending f32 gradients to all who shard them, ");
    cz_number_short(s->out, gathered / s->view->n_ranks, "B");
    cz_text_puts(s->out, " mean");
    end(s);
}

static void print_wire(screen *s)
{
    bool is_first = true;
    for (int k = 0; k < CZ_N_STEPS; k++) {
        const cz_spread *sent = &s->metrics->sent[k];
        if (sent->sum == 0)
            continue;
        label(s, is_first ? "wire" : "");
        cz_text_printf(s->out, "%-15s", cz_step_kind_word((cz_step_kind)k));
        put_spread(s, sent, "B");
        cz_text_puts(s->out, " sent per rank and step");
        /* Every communicator that operations of a kind have: " over dp, over
         * edp". */
        const cz_step_kind kind = (cz_step_kind)k;
        const cz_plan_view *view = s->view;
        int n = 0;
        for (int i = 0; i < view->n_ops; i++) {
            bool is_new = view->ops[i].kind == kind;
            for (int j = 0; is_new && j < i; j++)
                is_new = view->ops[j].kind != kind ||
                         !is_same(&view->ops[j].fact->comm,
                                  &view->ops[i].fact->comm);
            if (!is_new)
                continue;
            cz_text_puts(s->out, n++ ? ", over " : " over ");
            put_axes(s, &view->ops[i].fact->comm);
        }
        end(s);
        is_first = false;
    }
    if (is_first) {
        label(s, "wire");
        cz_text_puts(s->out, "nothing is sent\n");
    }
    print_matrix_wire(s);
    print_trainer_wire(s);
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
    cz_text_printf(s->out, "%d: %d with owners, %d cut anywhere; at most ",
                   s->view->n_buckets, n_owned, s->view->n_buckets - n_owned);
    cz_number_short(s->out, longest, "");
    cz_text_puts(s->out, " elements; longest slice/mean ");
    cz_number_ratio(s->out, padded, 1, elements);
    end(s);
}

static void print_groups(screen *s)
{
    int n;
    int64_t peak = 0;
    const cz_group_facts *groups = cz_report_groups(s->arena, s->view, &n);
    for (int i = 0; i < n; i++)
        peak = groups[i].peak_bytes > peak ? groups[i].peak_bytes : peak;
    label(s, "schedule");
    cz_text_printf(s->out, "%d operations; %d micro-groups", s->view->n_ops, n);
    if (n > 0) {
        cz_text_puts(s->out, " of at most ");
        cz_number_short(s->out, peak, "B");
        cz_text_puts(s->out, " in buffers of an owner");
    }
    cz_text_puts(s->out, "; scratch ");
    cz_number_short(s->out, s->metrics->memory[CZ_MEMORY_SCRATCH].max, "B");
    end(s);
}

void cz_report_screen(const cz_plan_view *view, const char *hash,
                      cz_bar_style style, cz_text *out)
{
    cz_arena arena;
    cz_arena_init(&arena);
    screen s = {view, cz_metrics_build(&arena, view), &arena, out};
    print_counts(&s, hash);
    print_mesh(&s);
    print_uses(&s);
    print_untrained(&s);
    const cz_spread *n = &s.metrics->matrices;
    if (n->sum != 0) {
        label(&s, "owners");
        cz_text_printf(s.out,
                       "%" PRId64 " updates of matrices, %" PRId64
                       " to %" PRId64 " on a rank\n",
                       n->sum, n->min, n->max);
    }
    print_load(&s);
    cz_report_predictions(&arena, view, style, out);
    cz_report_stage_lines(&arena, view, s.metrics, out);
    for (int k = 0; k < CZ_N_MEMORIES; k++) {
        label(&s, k == 0 ? "memory" : "");
        cz_text_printf(s.out, "%-15s", cz_memory_name((cz_memory)k));
        put_spread(&s, &s.metrics->memory[k], "B");
        cz_text_puts(s.out, k == 0 ? " per rank\n" : "\n");
    }
    print_wire(&s);
    print_buckets(&s);
    /* Where the planner chose it. */
    for (int i = 0; i < s.view->n_geometries; i++) {
        const cz_document_geometry geometry =
            cz_report_geometry(s.arena, s.view, &s.view->geometries[i]);
        label(&s, i == 0 ? "slices" : "");
        cz_report_put_geometry(&geometry, s.out);
        end(&s);
    }
    print_groups(&s);
    cz_arena_fini(&arena);
}
