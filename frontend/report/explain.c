/* Why a plan is as it is: bound by bound, class by class, bucket by bucket. */
#include "frontend/report/internal.h"

#include <inttypes.h>
#include <string.h>

enum { WIDTH = 80 };

/* Of the time that another choice would take: as much is said. */
static const double WORTH = 0.95;

/* ---- time ---- */

static void put_time(const cz_report_context *context, cz_text *out)
{
    const cz_document *s = context->document;
    const cz_basis basis = cz_basis_of(s);
    const cz_document_bound *bound = cz_document_binding(s);
    const cz_rank_sums time = cz_rank_sums_of(s->time_ps, s->n_ranks);
    cz_text_printf(out,
                   "time\n  The optimizer's kernels take %s on the busiest "
                   "rank and %s on the mean one; the busiest is ",
                   cz_number_time(time.max).text,
                   cz_number_time(time.mean).text);
    cz_report_rank_name(context->document, time.at_max, out);
    cz_text_printf(out, ".  Times are %s.\n", cz_basis_word(&basis));
    /* Of updates that differ; all else is of the mean one. */
    if (s->has_longest) {
        cz_text_printf(out,
                       "  That is the mean update.  The longest spends %s on "
                       "whole matrices of one rank",
                       cz_number_time(s->longest_ps).text);
        if (s->together_ps != s->longest_ps)
            cz_text_printf(out,
                           ", and would spend %s if they were not staggered",
                           cz_number_time(s->together_ps).text);
        cz_text_puts(out, ".\n");
    }
    if (!bound)
        return;
    cz_text_printf(out, "  Bound \"%s\", %s: ", bound->name,
                   cz_number_time(bound->value).text);
    cz_bound_witness(s, bound, out);
    cz_text_puts(out, ".  It holds for ");
    cz_bound_admits(bound, out);
    cz_text_printf(out, ".  Time over bound: %s.\n",
                   cz_number_ratio(time.max, 1, bound->value).text);
}

/* What links and kernels together take, and at least. */
static void put_step(const cz_report_context *context, cz_text *out)
{
    const cz_document *s = context->document;
    const cz_document_bound *largest = cz_document_binding_step(s);
    for (int i = 0; i < s->n_bounds; i++) {
        const cz_document_bound *bound = &s->bounds[i];
        if (!bound->is_of_links || bound->value <= 0)
            continue;
        cz_text_printf(out,
                       "  Bound \"%s\" of links, %s in the mean of ranks: ",
                       bound->name, cz_number_time(bound->value).text);
        cz_bound_witness(s, bound, out);
        if (bound->plan > 0)
            cz_text_printf(out, "; the plan sends %s times that",
                           cz_number_ratio(bound->plan, 1, bound->value).text);
        cz_text_puts(out, ".\n");
    }
    /* Beside the plan: FSDP's own, or gradients that arrive summed. */
    const int64_t gradients = s->trainer_gradient_bytes;
    const int64_t parameters = s->trainer_parameter_bytes;
    if (gradients + parameters != 0)
        cz_text_printf(out,
                       "  The trainer itself sends %s of gradients and %s of "
                       "parameters, in the mean of ranks and each once a "
                       "step, which no figure of time has.\n",
                       cz_number_short(gradients / s->n_ranks, "B").text,
                       cz_number_short(parameters / s->n_ranks, "B").text);
    const int64_t makespan = context->timeline->makespan;
    cz_text_printf(out,
                   "  One step by itself takes %s, %s times the largest of "
                   "all bounds, \"%s\".\n",
                   cz_number_time(makespan).text,
                   cz_number_ratio(makespan, 1, largest->value).text,
                   largest->name);
}

/* ---- what would help ---- */

/* What a rank computes, or its links do, beside the reduction of gradients. */
static int64_t busy_of(const cz_report_context *context, int rank,
                       bool computes)
{
    const cz_document *s = context->document;
    int64_t sum = 0;
    for (int op = 0; op < s->n_ops; op++) {
        const int64_t at = (int64_t)op * s->n_ranks + rank;
        if (context->timeline->start[at] >= 0 &&
            s->ops[op].section != CZ_SECTION_REDUCE &&
            (context->document->ops[op].stream == 0) == computes)
            sum = cz_sum(sum, context->timeline->end[at] -
                                  context->timeline->start[at]);
    }
    return sum;
}

static void advise(const cz_report_context *context, const cz_matrix_class *all,
                   int n, cz_text *out)
{
    const cz_document *s = context->document;
    const cz_rank_sums time = cz_rank_sums_of(s->time_ps, s->n_ranks);
    const cz_document_matrix *longest = NULL;
    for (int i = 0; i < n; i++)
        if (!longest || all[i].like->time_ps > longest->time_ps)
            longest = all[i].like;
    cz_text_puts(out, "what would help\n");
    /* A long matrix is in the way where ranks are uneven by more than 1 %. */
    if (longest)
        cz_text_printf(out,
                       "  - The longest matrix, %" PRId64 " x %" PRId64
                       ", is %s of the busiest rank's time: %s.\n",
                       longest->rows, longest->columns,
                       cz_number_ratio(longest->time_ps, 1, time.max).text,
                       longest->time_ps > time.max / 2 &&
                               time.max - time.mean > time.mean / 100
                           ? "sharing it among ranks, or viewing it as smaller "
                             "matrices, would help"
                           : "it does not stand in the way");
    if (context->gram < WORTH)
        cz_text_printf(out,
                       "  - On GPUs `form gram` would take %.2f of the time of "
                       "updates of matrices, and round less.\n",
                       context->gram);
    cz_text_printf(out, "  - Load: the busiest rank has %s times the mean",
                   cz_number_ratio(time.max, time.n, time.sum).text);
    const int64_t slack = time.max - time.mean;
    if (slack > time.mean / 1000)
        cz_text_printf(out, "; evening it out would save %s at most",
                       cz_number_time(slack).text);
    cz_text_puts(out, ".\n");
    int64_t reduced = 0; /* when the last reduction ends */
    for (int64_t i = 0; i < (int64_t)s->n_ops * s->n_ranks; i++)
        if (s->ops[i / s->n_ranks].section == CZ_SECTION_REDUCE &&
            context->timeline->end[i] > reduced)
            reduced = context->timeline->end[i];
    const int64_t makespan = context->timeline->makespan;
    const int64_t kernels = busy_of(context, time.at_max, true);
    const int64_t links = busy_of(context, time.at_max, false);
    cz_text_printf(
        out,
        "  - One step by itself takes %s: gradients are reduced after %s, the "
        "last parameters are there %s later.  Besides reductions the busiest "
        "rank computes %s and its links work %s: %s would help most.\n",
        cz_number_time(makespan).text, cz_number_time(reduced).text,
        cz_number_time(makespan - reduced).text, cz_number_time(kernels).text,
        cz_number_time(links).text,
        links > kernels ? "faster links, or fewer bytes," : "faster kernels");
}

/* ---- matrices ---- */

static void put_class(const cz_document *s, const cz_matrix_class *of,
                      cz_text *out)
{
    cz_text_printf(out,
                   "  %" PRId64 " of %" PRId64 " x %" PRId64 ", %s, %s, as %s\n"
                   "    ",
                   of->n, of->like->rows, of->like->columns, of->optimizer,
                   of->like->strategy, s->params[of->like->param].name);
    cz_class_why(s, of, out);
    cz_text_printf(out, " (%s)",
                   of->stage && of->stage->is_measured ? "measured"
                                                       : "assumed");
    cz_class_others(of, ";\n    ", out);
    cz_text_puts(out, ".\n");
}

/* ---- externs ---- */

static void put_externs(const cz_document *document, cz_text *out)
{
    const char *rule = NULL; /* that is written */
    for (int i = 0; i < document->n_states; i++) {
        const cz_document_state *state = &document->states[i];
        if (!state->is_extern)
            continue;
        if (!rule)
            cz_text_puts(out, "externs, given by the trainer before each "
                              "step, to each matrix");
        if (rule && strcmp(rule, state->rule) == 0)
            cz_text_puts(out, ", ");
        else
            cz_text_printf(out, "\n  %s: ", state->rule);
        rule = state->rule;
        cz_text_printf(out, "%s [%s]", state->name, state->shape);
    }
    cz_text_puts(out, rule ? "\n" : "");
}

/* ---- rewrites ---- */

static const struct reason {
    const char *name;
    const char *what, *more, *why; /* an s between, of several */
} reasons[] = {
    {"gram", "iteration", " put in Gram form",
     "products of square matrices are less than those with long ones"},
    {"cut", "value", " that travel alone",
     "element-wise work is done on shards, as early and as late as it can be"},
    {"settled", "state", " that live at the owner and do not travel",
     "work on the whole matrix alone reads and writes them"},
    {"symmetric", "product", " of which one triangle is computed",
     "they equal their transposes"},
    {"epilogue", "product",
     " with all that follows folded in, as scale and decay",
     "nobody else reads them"},
    {"transpose", "transpose", " that nobody makes",
     "products and loops read a value either way"},
};

/* "    4 products of which one triangle is computed, because they equal their
 * transposes; FLOPs 16.8 M -> 8.45 M." */
static void put_rewrite(const cz_document_rewrite *it, cz_text *out)
{
    const bool is_flops = strcmp(it->unit, "flops") == 0;
    const char *unit = is_flops ? "" : "B";
    const struct reason *reason = NULL;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].name, it->name) == 0)
            reason = &reasons[i];
    cz_text_printf(out, "    rewritten: %" PRId64 " ", it->count);
    if (reason)
        cz_text_printf(out, "%s%s%s, because %s", reason->what,
                       it->count == 1 ? "" : "s", reason->more, reason->why);
    else
        cz_text_puts(out, it->name);
    cz_text_printf(out, "; %s %s -> %s.\n", is_flops ? "FLOPs" : "bytes",
                   cz_number_short(it->before, unit).text,
                   cz_number_short(it->after, unit).text);
}

static void put_rewrites(const cz_document *document, cz_text *out)
{
    bool any = false;
    for (int s = 0; s < document->n_stages; s++) {
        const cz_document_stage *stage = &document->stages[s];
        if (stage->n_rewrites > 0)
            cz_text_printf(out, "%s  %s\n",
                           any ? "" : "algebra, of one matrix\n", stage->name);
        any |= stage->n_rewrites > 0;
        for (int i = 0; i < stage->n_rewrites; i++)
            put_rewrite(&stage->rewrites[i], out);
    }
}

/* ---- buckets ---- */

static bool is_alike(const cz_document_bucket *a, const cz_document_bucket *b)
{
    return strcmp(a->param_groups, b->param_groups) == 0 &&
           strcmp(a->dtype, b->dtype) == 0 && strcmp(a->kind, b->kind) == 0 &&
           strcmp(a->geometry, b->geometry) == 0 && a->n_slices == b->n_slices;
}

static const char *cut_of(const cz_document_bucket *bucket)
{
    static const char *const cuts[][2] = {
        {"uneven", "cut between matrices, so that owners have whole ones"},
        {"padded", "cut between matrices and padded to the longest slice"},
        {"equal", "cut to equal slices; matrices go on to their owners"}};
    if (strcmp(bucket->kind, "split") == 0)
        return "cut anywhere, for updates of elements need no whole matrix";
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++)
        if (strcmp(bucket->geometry, cuts[i][0]) == 0)
            return cuts[i][1];
    return bucket->geometry;
}

/* "3.21 M" or "1.20 M to 3.21 M" */
static void put_range(cz_text *out, int64_t low, int64_t high)
{
    if (low != high)
        cz_text_printf(out, "%s to ", cz_number_short(low, "").text);
    cz_text_puts(out, cz_number_short(high, "").text);
}

__extension__ typedef __int128 wide;

/* Neighbours that are cut alike are said together: their lengths, slices, and
 * the worst of them. */
static void put_buckets(const cz_document *s, cz_text *out)
{
    cz_text_puts(out, "buckets\n");
    for (int first = 0, next; first < s->n_buckets; first = next) {
        const cz_document_bucket *a = &s->buckets[first], *worst = a;
        int64_t low = a->length, high = a->length;
        int64_t least = a->shortest, most = a->longest;
        for (next = first + 1;
             next < s->n_buckets && is_alike(a, &s->buckets[next]); next++) {
            const cz_document_bucket *b = &s->buckets[next];
            low = b->length < low ? b->length : low;
            high = b->length > high ? b->length : high;
            least = b->shortest < least ? b->shortest : least;
            most = b->longest > most ? b->longest : most;
            if ((wide)b->longest * worst->length >
                (wide)worst->longest * b->length)
                worst = b;
        }
        cz_text_printf(out, "  %d", first);
        if (next - 1 > first)
            cz_text_printf(out, " to %d", next - 1);
        cz_text_printf(out, " (%s): ", a->param_groups);
        put_range(out, low, high);
        cz_text_printf(out, " elements of %s, %s; %d slice%s of ", a->dtype,
                       cut_of(a), a->n_slices, a->n_slices == 1 ? "" : "s");
        put_range(out, least, most);
        cz_text_printf(
            out, ", the longest %s times the mean of its bucket.\n",
            cz_number_ratio(worst->longest, worst->n_slices, worst->length)
                .text);
    }
}

/* ---- micro-groups ---- */

/* The fastest way with so many groups; NULL: none was simulated. */
static const cz_document_micro_groups *fastest_of(const cz_document *s,
                                                  int64_t n_groups)
{
    const cz_document_micro_groups *best = NULL;
    for (int i = 0; i < s->n_micro_groups; i++)
        if ((n_groups == 0 || s->micro_groups[i].n == n_groups) &&
            (!best || s->micro_groups[i].time_ps < best->time_ps))
            best = &s->micro_groups[i];
    return best;
}

static void put_micro_groups(const cz_document *s, cz_text *out)
{
    const cz_document_micro_groups *chosen = fastest_of(s, 0);
    if (!chosen)
        return;
    cz_text_printf(out,
                   "micro-groups\n  %" PRId64 ", which take %s to the last "
                   "update and to the end of a forward pass as long as all "
                   "gathers, in the mean",
                   chosen->n, cz_number_time(chosen->time_ps).text);
    for (int i = 0; i < s->n_micro_groups; i++) {
        const int64_t n = s->micro_groups[i].n;
        int first = 0; /* of this number */
        while (s->micro_groups[first].n != n)
            first++;
        if (n != chosen->n && first == i)
            cz_text_printf(out, ";\n    %" PRId64 " would take %s", n,
                           cz_number_time(fastest_of(s, n)->time_ps).text);
    }
    cz_text_puts(out, ".\n");
}

/* ---- parts ---- */

typedef struct explanation {
    const cz_report_context *context;
    const cz_matrix_class *classes;
    int n_classes;
} explanation;

static void explain_help(const explanation *e, cz_text *out)
{
    advise(e->context, e->classes, e->n_classes, out);
}

static void explain_time(const explanation *e, cz_text *out)
{
    put_time(e->context, out);
    if (cz_document_binding(e->context->document))
        put_step(e->context, out);
}

static void explain_matrices(const explanation *e, cz_text *out)
{
    cz_text_puts(out, e->n_classes > 0 ? "matrices\n" : "");
    for (int i = 0; i < e->n_classes; i++)
        put_class(e->context->document, &e->classes[i], out);
}

static void explain_externs(const explanation *e, cz_text *out)
{
    put_externs(e->context->document, out);
}

static void explain_algebra(const explanation *e, cz_text *out)
{
    put_rewrites(e->context->document, out);
}

static void explain_buckets(const explanation *e, cz_text *out)
{
    put_buckets(e->context->document, out);
}

static void explain_micro_groups(const explanation *e, cz_text *out)
{
    put_micro_groups(e->context->document, out);
}

const char *const cz_explain_names[] = {"help",         "time",    "matrices",
                                        "externs",      "algebra", "buckets",
                                        "micro-groups", "all",     NULL};

/* In that order. */
static void (*const parts[])(const explanation *, cz_text *) = {
    explain_help,    explain_time,    explain_matrices,    explain_externs,
    explain_algebra, explain_buckets, explain_micro_groups};

enum { N_PARTS = sizeof parts / sizeof *parts, N_FIRST = 2 };

/* Is it the part that is asked for, or one of those that are? */
static bool is_asked(int i, const char *part)
{
    return *part ? strcmp(part, cz_explain_names[i]) == 0 ||
                       strcmp(part, cz_explain_names[N_PARTS]) == 0
                 : i < N_FIRST;
}

/* Behind an empty line, unless it is the first. */
static void put_part(const char *text, cz_text *out)
{
    if (*text && out->n > 0)
        cz_text_puts(out, "\n");
    cz_report_wrap(text, WIDTH, out);
}

void cz_report_explain(const cz_report_context *context, const char *name,
                       cz_text *out)
{
    explanation e = {.context = context};
    cz_arena arena;
    cz_text text;

    cz_arena_init(&arena);
    e.classes = cz_matrix_classes(&arena, context->document, &e.n_classes);
    for (int i = 0; i < N_PARTS; i++) {
        if (!is_asked(i, name))
            continue;
        cz_text_init(&text);
        parts[i](&e, &text);
        put_part(cz_text_string(&text), out);
        cz_text_fini(&text);
    }
    cz_text_puts(out, *name ? "" : "\nmore by --explain=");
    for (int i = N_FIRST; !*name && cz_explain_names[i]; i++)
        cz_text_printf(out, "%s%s", cz_explain_names[i],
                       cz_explain_names[i + 1] ? ", " : "\n");
    cz_arena_fini(&arena);
}
