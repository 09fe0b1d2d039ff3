/* Why a plan is as it is: bound by bound, class by class, bucket by bucket. */
#include "frontend/report/explain.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/report/bounds.h"
#include "frontend/report/classes.h"
#include "frontend/document/plan/geometry.h"
#include "frontend/document/number.h"
#include "frontend/report/wrap.h"

enum { WIDTH = 80 };

/* ---- time ---- */

/* "  Bound "node" of links, 14.88 ms in the mean of ranks: ..." */
static void put_link(const cz_document *s, const cz_document_bound *bound,
                     cz_text *out)
{
    cz_text_printf(out, "  Bound \"%s\" of links, ", bound->name);
    cz_number_time(out, bound->value);
    cz_text_puts(out, " in the mean of ranks: ");
    cz_bound_witness(s, bound, out);
    if (bound->plan > 0 && bound->value > 0) {
        cz_text_puts(out, "; the plan sends ");
        cz_number_ratio(out, bound->plan, 1, bound->value);
        cz_text_puts(out, " times that");
    }
    cz_text_puts(out, ".\n");
}

/* What links and kernels together take, and at least. */
static void put_step(const cz_look *look, cz_text *out)
{
    const cz_document *s = look->document;
    const cz_document_bound *bound = cz_document_binding_step(s);
    for (int i = 0; i < s->n_bounds; i++)
        if (s->bounds[i].is_of_links && s->bounds[i].value > 0)
            put_link(s, &s->bounds[i], out);
    /* Beside the plan: FSDP's own, or gradients that arrive summed. */
    const int64_t gradients = s->trainer_gradient_bytes;
    const int64_t parameters = s->trainer_parameter_bytes;
    if (gradients + parameters != 0) {
        cz_text_puts(out, "  The trainer itself sends ");
        cz_number_short(out, gradients / s->n_ranks, "B");
        cz_text_puts(out, " of gradients and ");
        cz_number_short(out, parameters / s->n_ranks, "B");
        cz_text_puts(out,
                     " of parameters, in the mean of ranks and each once a "
                     "step, which no figure of time has.\n");
    }
    cz_text_puts(out, "  One step by itself takes ");
    cz_number_time(out, look->timeline->makespan);
    cz_text_puts(out, ", ");
    cz_number_ratio(out, look->timeline->makespan, 1, bound->value);
    cz_text_printf(out, " times the largest of all bounds, \"%s\".\n",
                   bound->name);
}

static void put_time(const cz_look *look, cz_text *out)
{
    const cz_document *s = look->document;
    const cz_basis basis = cz_basis_of(s);
    const cz_document_bound *bound = cz_document_binding(s);
    const cz_rank_sums time = cz_rank_sums_of(s->time_ps, s->n_ranks);
    cz_text_puts(out, "time\n  The optimizer's kernels take ");
    cz_number_time(out, time.max);
    cz_text_puts(out, " on the busiest rank and ");
    cz_number_time(out, time.mean);
    cz_text_puts(out, " on the mean one; the busiest is ");
    cz_look_rank_name(look, time.at_max, out);
    cz_text_printf(out, ".  Times are %s.\n", cz_basis_word(&basis));
    /* Of updates that differ; all else is of the mean one. */
    if (s->has_longest) {
        cz_text_puts(out, "  That is the mean update.  The longest spends ");
        cz_number_time(out, s->longest_ps);
        cz_text_puts(out, " on whole matrices of one rank");
        if (s->together_ps != s->longest_ps) {
            cz_text_puts(out, ", and would spend ");
            cz_number_time(out, s->together_ps);
            cz_text_puts(out, " if they were not staggered");
        }
        cz_text_puts(out, ".\n");
    }
    if (!bound)
        return;
    cz_text_printf(out, "  Bound \"%s\", ", bound->name);
    cz_number_time(out, bound->value);
    cz_text_puts(out, ": ");
    cz_bound_witness(s, bound, out);
    cz_text_puts(out, ".  It holds for ");
    cz_bound_admits(bound, out);
    cz_text_puts(out, ".  Time over bound: ");
    cz_number_ratio(out, time.max, 1, bound->value);
    cz_text_puts(out, ".\n");
    put_step(look, out);
}

/* ---- what would help ---- */

/* A long matrix is in the way where ranks are uneven by more than 1 %. */
static void advise_matrix(const cz_document *s, const cz_rank_sums *time,
                          cz_text *out)
{
    int n;
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_matrix_class *all = cz_matrix_classes(&arena, s, &n);
    const cz_matrix_class *longest = NULL;
    for (int i = 0; i < n; i++)
        if (!longest || all[i].like->time_ps > longest->like->time_ps)
            longest = &all[i];
    if (longest) {
        cz_text_printf(out,
                       "  - The longest matrix, %" PRId64 " x %" PRId64 ", is ",
                       longest->like->rows, longest->like->columns);
        cz_number_ratio(out, longest->like->time_ps, 1, time->max);
        cz_text_puts(out, " of the busiest rank's time");
        cz_text_puts(out, longest->like->time_ps > time->max / 2 &&
                                  (time->max - time->mean) > time->mean / 100
                              ? ": sharing it among ranks, or viewing it "
                                "as smaller matrices, would help.\n"
                              : ": it does not stand in the way.\n");
    }
    cz_arena_fini(&arena);
}

static void advise_load(const cz_rank_sums *time, cz_text *out)
{
    const int64_t slack = time->max - time->mean;
    cz_text_puts(out, "  - Load: the busiest rank has ");
    cz_number_ratio(out, time->max, time->n, time->sum);
    cz_text_puts(out, " times the mean");
    if (slack > time->mean / 1000) {
        cz_text_puts(out, "; evening it out would save ");
        cz_number_time(out, slack);
        cz_text_puts(out, " at most");
    }
    cz_text_puts(out, ".\n");
}

/* What a rank computes, or its links do, beside the reduction of gradients. */
static int64_t busy_of(const cz_look *look, int rank, bool computes)
{
    const cz_document *s = look->document;
    int64_t sum = 0;
    for (int op = 0; op < s->n_ops; op++) {
        const int64_t at = (int64_t)op * s->n_ranks + rank;
        if (look->timeline->start[at] >= 0 &&
            s->ops[op].section != CZ_SECTION_REDUCE &&
            (look->document->ops[op].stream == 0) == computes)
            sum = cz_sum(sum,
                         look->timeline->end[at] - look->timeline->start[at]);
    }
    return sum;
}

static void advise_links(const cz_look *look, int rank, cz_text *out)
{
    /* When the last operation of a section ends. */
    const cz_document *s = look->document;
    int64_t reduced = 0;
    for (int64_t i = 0; i < (int64_t)s->n_ops * s->n_ranks; i++) {
        const cz_document_op *op = &s->ops[i / s->n_ranks];
        if (op->section == CZ_SECTION_REDUCE &&
            look->timeline->end[i] > reduced)
            reduced = look->timeline->end[i];
    }
    const int64_t makespan = look->timeline->makespan;
    const int64_t kernels = busy_of(look, rank, true);
    const int64_t links = busy_of(look, rank, false);
    cz_text_puts(out, "  - One step by itself takes ");
    cz_number_time(out, makespan);
    cz_text_puts(out, ": gradients are reduced after ");
    cz_number_time(out, reduced);
    cz_text_puts(out, ", the last parameters are there ");
    cz_number_time(out, makespan - reduced);
    cz_text_puts(out, " later.  Besides reductions the busiest rank computes ");
    cz_number_time(out, kernels);
    cz_text_puts(out, " and its links work ");
    cz_number_time(out, links);
    cz_text_puts(out, links > kernels
                          ? ": faster links, or fewer bytes, would help "
                            "most.\n"
                          : ": faster kernels would help most.\n");
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

/* Is state `i` the first extern of its rule? */
static bool is_first(const cz_document *document, int i)
{
    for (int k = 0; k < i; k++)
        if (document->states[k].is_extern &&
            strcmp(document->states[k].rule, document->states[i].rule) == 0)
            return false;
    return true;
}

static void put_externs(const cz_document *document, cz_text *out)
{
    bool any = false;
    for (int i = 0; i < document->n_states; i++) {
        const cz_document_state *state = &document->states[i];
        if (!state->is_extern)
            continue;
        if (!any)
            cz_text_puts(out, "\nexterns, given by the trainer before each "
                              "step, to each matrix");
        any = true;
        if (is_first(document, i))
            cz_text_printf(out, "\n  %s: ", state->rule);
        else
            cz_text_puts(out, ", ");
        cz_text_printf(out, "%s [%s]", state->name, state->shape);
    }
    cz_text_puts(out, any ? "\n" : "");
}

/* ---- rewrites ---- */

static const struct reason {
    const char *name;
    const char *what, *why; /* %s: an s where there are several */
} reasons[] = {
    {"gram", "iteration%s put in Gram form",
     "products of square matrices are less than those with long ones"},
    {"cut", "value%s that travel alone",
     "element-wise work is done on shards, as early and as late as it can be"},
    {"settled", "state%s that live at the owner and do not travel",
     "work on the whole matrix alone reads and writes them"},
    {"symmetric", "product%s of which one triangle is computed",
     "they equal their transposes"},
    {"epilogue",
     "product%s with all that follows folded in, as scale and decay",
     "nobody else reads them"},
    {"transpose", "transpose%s that nobody makes",
     "products and loops read a value either way"},
};

static const struct reason *reason_of(const char *name)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].name, name) == 0)
            return &reasons[i];
    return NULL;
}

/* "    4 products of which one triangle is computed, because they equal their
 * transposes; FLOPs 16.8 M -> 8.45 M." */
static void put_rewrite(const cz_document_rewrite *it, cz_text *out)
{
    const struct reason *reason = reason_of(it->name);
    const bool is_flops = strcmp(it->unit, "flops") == 0;
    cz_text_printf(out, "    rewritten: %" PRId64 " ", it->count);
    if (reason) {
        const char *gap = strstr(reason->what, "%s");
        cz_text_put(out, reason->what, (size_t)(gap - reason->what));
        cz_text_puts(out, it->count == 1 ? "" : "s");
        cz_text_printf(out, "%s, because %s", gap + 2, reason->why);
    } else {
        cz_text_puts(out, it->name);
    }
    cz_text_printf(out, "; %s ", is_flops ? "FLOPs" : "bytes");
    cz_number_short(out, it->before, is_flops ? "" : "B");
    cz_text_puts(out, " -> ");
    cz_number_short(out, it->after, is_flops ? "" : "B");
    cz_text_puts(out, ".\n");
}

static bool has_rewrites(const cz_document *document)
{
    for (int s = 0; s < document->n_stages; s++)
        if (document->stages[s].n_rewrites > 0)
            return true;
    return false;
}

static void put_rewrites(const cz_document *document, cz_text *out)
{
    if (!has_rewrites(document))
        return;
    cz_text_puts(out, "\nalgebra, of one matrix\n");
    for (int s = 0; s < document->n_stages; s++) {
        const cz_document_stage *stage = &document->stages[s];
        if (stage->n_rewrites > 0)
            cz_text_printf(out, "  %s\n", stage->name);
        for (int i = 0; i < stage->n_rewrites; i++)
            put_rewrite(&stage->rewrites[i], out);
    }
}

/* ---- buckets ---- */

static bool is_alike(const cz_document_bucket *a, const cz_document_bucket *b)
{
    return strcmp(a->groups, b->groups) == 0 &&
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
    if (low != high) {
        cz_number_short(out, low, "");
        cz_text_puts(out, " to ");
    }
    cz_number_short(out, high, "");
}

__extension__ typedef __int128 wide;

static bool is_worse(const cz_document_bucket *a, const cz_document_bucket *b)
{
    return (wide)a->longest * b->length > (wide)b->longest * a->length;
}

/* Of several buckets: their lengths, slices, and the worst of them. */
static void put_cut(const cz_document *s, int first, int last, cz_text *out)
{
    const cz_document_bucket *b = &s->buckets[first], *worst = b;
    int64_t low = b->length, high = b->length, least = b->shortest;
    int64_t most = b->longest;
    for (int i = first + 1; i <= last; i++) {
        b = &s->buckets[i];
        low = b->length < low ? b->length : low;
        high = b->length > high ? b->length : high;
        least = b->shortest < least ? b->shortest : least;
        most = b->longest > most ? b->longest : most;
        if (is_worse(b, worst))
            worst = b;
    }
    put_range(out, low, high);
    cz_text_printf(out, " elements of %s, %s; %d slice%s of ", b->dtype,
                   cut_of(b), b->n_slices, b->n_slices == 1 ? "" : "s");
    put_range(out, least, most);
    cz_text_puts(out, ", the longest ");
    cz_number_ratio(out, worst->longest, worst->n_slices, worst->length);
    cz_text_puts(out, " times the mean of its bucket.\n");
}

static void put_buckets(const cz_document *s, cz_text *out)
{
    cz_text_puts(out, "\nbuckets\n");
    for (int b = 0, last; b < s->n_buckets; b = last + 1) {
        last = b;
        while (last + 1 < s->n_buckets &&
               is_alike(&s->buckets[b], &s->buckets[last + 1]))
            last++;
        /* Neighbours that are cut alike are said together. */
        cz_text_printf(out, "  %d", b);
        if (last > b)
            cz_text_printf(out, " to %d", last);
        cz_text_printf(out, " (%s): ", s->buckets[b].groups);
        put_cut(s, b, last, out);
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

static bool is_first_of_its_number(const cz_document *s, int number)
{
    for (int i = 0; i < number; i++)
        if (s->micro_groups[i].n == s->micro_groups[number].n)
            return false;
    return true;
}

static void put_micro_groups(const cz_document *s, cz_text *out)
{
    const cz_document_micro_groups *chosen = fastest_of(s, 0);
    if (!chosen)
        return;
    cz_text_printf(out, "\nmicro-groups\n  %" PRId64 ", which take ",
                   chosen->n);
    cz_number_time(out, chosen->time_ps);
    cz_text_puts(out, " to the last update and to the end of a "
                      "forward pass as long as all gathers, in the mean");
    for (int i = 0; i < s->n_micro_groups; i++) {
        const int64_t n = s->micro_groups[i].n;
        if (n == chosen->n || !is_first_of_its_number(s, i))
            continue;
        cz_text_printf(out, ";\n    %" PRId64 " would take ", n);
        cz_number_time(out, fastest_of(s, n)->time_ps);
    }
    cz_text_puts(out, ".\n");
}

void cz_report_explain(const cz_look *look, cz_text *out)
{
    cz_text text = {0};
    put_time(look, &text);
    const cz_document *s = look->document;
    const cz_rank_sums time = cz_rank_sums_of(s->time_ps, s->n_ranks);
    cz_text_puts(&text, "\nwhat would help\n");
    advise_matrix(s, &time, &text);
    advise_load(&time, &text);
    advise_links(look, time.at_max, &text);
    int n;
    cz_arena arena;
    cz_arena_init(&arena);
    const cz_matrix_class *all = cz_matrix_classes(&arena, look->document, &n);
    cz_text_puts(&text, n > 0 ? "\nmatrices\n" : "");
    for (int i = 0; i < n; i++)
        put_class(look->document, &all[i], &text);
    cz_arena_fini(&arena);
    put_externs(look->document, &text);
    put_rewrites(look->document, &text);
    put_buckets(look->document, &text);
    for (int i = 0; i < look->document->n_geometries; i++) {
        const cz_document_geometry *geometry = &look->document->geometries[i];
        cz_text_printf(&text, "  Slices of %d of them are ",
                       geometry->n_buckets);
        cz_report_put_geometry(geometry, &text);
        cz_text_puts(&text, geometry->low == geometry->high
                                ? ".\n"
                                : ".\n  Nobody has measured how fast uneven "
                                  "ones are: least at worst is chosen.\n");
    }
    put_micro_groups(look->document, &text);
    cz_report_wrap(cz_text_string(&text), WIDTH, out);
    cz_text_fini(&text);
}
