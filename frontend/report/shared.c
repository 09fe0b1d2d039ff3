/* What reports share. */
#include "frontend/report/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/plan/axes.h"
#include "dsl/plan/symbol.h"

enum { MAX_RUNS = 6 }; /* of ranks, in a list of them */

/* ---- names ---- */

const char *const cz_report_lanes[3] = {"compute", "link", "link 2"};

void cz_report_op_name(const cz_report_context *context, int op, cz_text *out)
{
    const cz_document_op *it = &context->document->ops[op];
    cz_text_puts(out, cz_step_kind_word(it->kind));
    if (it->n_work > 0) {
        cz_text_puts(out, " ");
        cz_stage_symbol(context->document->stages[it->work[0].stage].name, out);
    }
    if (it->n_work > 1)
        cz_text_printf(out, " and %d more", it->n_work - 1);
    if (it->bucket >= 0)
        cz_text_printf(out, ", bucket %d", it->bucket);
    if (it->axes[0])
        cz_text_printf(out, ", over %s", it->axes);
}

void cz_report_rank_name(const cz_document *s, int rank, cz_text *out)
{
    int64_t rest = s->n_ranks;
    cz_text_printf(out, "rank %d", rank);
    for (int a = 0; a < s->n_axes; a++) {
        rest /= s->axes[a].size;
        cz_text_printf(out, "%s%s %" PRId64, a ? ", " : " (", s->axes[a].name,
                       rank / rest % s->axes[a].size);
    }
    cz_text_puts(out, s->n_axes > 0 ? ")" : "");
}

/* ---- bounds ---- */

/* The text, and the bound's matrix behind it. */
static void put_like(const char *text, const cz_document *document,
                     const cz_document_bound *bound, cz_text *out)
{
    const cz_document_param *param = &document->params[bound->witness];
    if (bound->witness >= 0)
        cz_text_printf(out, "%s%s [%s]", text, param->name, param->shape);
}

void cz_bound_witness(const cz_document *document,
                      const cz_document_bound *bound, cz_text *out)
{
    const bool has_matrix = bound->witness >= 0;
    const char *name = bound->name;
    char ranks[32];
    snprintf(ranks, sizeof ranks, "%" PRId64 " rank%s", bound->n_ranks,
             bound->n_ranks == 1 ? "" : "s");
    if (bound->is_of_links) {
        cz_text_printf(out, "%s %s", cz_number_short(bound->bytes, "B").text,
                       strcmp(name, "node") == 0
                           ? "to reduce gradients and gather parameters, if "
                             "none left a node"
                           : "of these between nodes");
        put_like("; most for such as ", document, bound, out);
    } else if (strcmp(name, "mean") == 0) {
        cz_text_printf(out, "least work of every matrix and element, over %s",
                       ranks);
        put_like("; most of it like ", document, bound, out);
    } else if (strcmp(name, "item") == 0) {
        put_like("", document, bound, out);
        cz_text_printf(out, "%s%s",
                       has_matrix ? ", quickest on " : "no matrix has an owner",
                       has_matrix ? ranks : "");
    } else if (has_matrix) {
        cz_text_printf(out, "whole pieces of matrices do not fit %s sooner",
                       ranks);
        put_like("; most of them like ", document, bound, out);
    } else {
        cz_text_puts(out, "whole pieces of matrices do not raise the others");
    }
}

void cz_bound_admits(const cz_document_bound *bound, cz_text *out)
{
    int n = 0;
    for (int i = 0; i < bound->n_admits; i++)
        if (bound->admits[i] == 1)
            cz_text_puts(out, "owners");
        else
            cz_text_printf(out, "%s%" PRId64,
                           n++     ? ", "
                           : i > 0 ? ", groups of "
                                   : "groups of ",
                           bound->admits[i]);
    if (bound->n_admits == 0)
        cz_text_puts(out, "any plan");
}

int64_t cz_sum(int64_t a, int64_t b)
{
    int64_t sum = INT64_MAX;
    return cz_checked_add(a, b, &sum) ? sum : INT64_MAX;
}

/* ---- matrices ---- */

/* Of all of a batch. */
static int64_t times(int64_t batch, int64_t of_one)
{
    int64_t product;
    return cz_checked_mul(batch, of_one, &product) ? product : INT64_MAX;
}

static bool is_like(const cz_matrix_class *of, const cz_document_matrix *m,
                    const char *optimizer)
{
    return of->like->rows == m->rows && of->like->columns == m->columns &&
           of->like->subgroup_size == m->subgroup_size &&
           strcmp(of->like->strategy, m->strategy) == 0 &&
           strcmp(of->optimizer, optimizer) == 0;
}

/* Stages are named GROUP.ROWSxCOLUMNS.whole. */
static const cz_document_stage *stage_of(const cz_document *document,
                                         const cz_document_matrix *m)
{
    const char *group = document->params[m->param].param_group;
    cz_text start = {0};
    const cz_document_stage *found = NULL;
    cz_text_printf(&start, "%s.%" PRId64 "x%" PRId64 ".", group, m->rows,
                   m->columns);
    for (int i = 0; i < document->n_stages && !found; i++)
        if (document->stages[i].is_full_matrix &&
            strncmp(document->stages[i].name, cz_text_string(&start),
                    start.n) == 0)
            found = &document->stages[i];
    cz_text_fini(&start);
    return found;
}

static int by_time(const void *left, const void *right)
{
    const cz_matrix_class *a = left, *b = right;
    if (a->time_ps != b->time_ps)
        return a->time_ps < b->time_ps ? 1 : -1;
    return a->like->param - b->like->param;
}

static cz_matrix_class *class_of(cz_arena *arena, const cz_document *document,
                                 const cz_document_matrix *m,
                                 cz_matrix_class **all, int *n)
{
    const char *optimizer = document->params[m->param].optimizer;
    for (int i = 0; i < *n; i++)
        if (is_like(&(*all)[i], m, optimizer))
            return &(*all)[i];
    cz_matrix_class *made = CZ_PUSH(arena, *all, *n);
    *made = (cz_matrix_class){
        .like = m, .optimizer = optimizer, .stage = stage_of(document, m)};
    return made;
}

cz_matrix_class *cz_matrix_classes(cz_arena *arena, const cz_document *document,
                                   int *n)
{
    cz_matrix_class *all = NULL;
    *n = 0;
    for (int i = 0; i < document->n_matrices; i++) {
        const cz_document_matrix *m = &document->matrices[i];
        cz_matrix_class *of = class_of(arena, document, m, &all, n);
        of->n += m->batch;
        of->time_ps = cz_sum(of->time_ps, times(m->batch, m->time_ps));
        of->wire_bytes = cz_sum(of->wire_bytes, times(m->batch, m->wire_bytes));
    }
    if (*n > 0)
        qsort(all, (size_t)*n, sizeof *all, by_time);
    return all;
}

static int ascending(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static bool is_resident(cz_axes axes, const cz_document_residents *residents,
                        int64_t rank)
{
    const int64_t at = cz_axes_coordinate(axes, residents->set, rank);
    bool is_among = residents->set == 0;
    for (int i = 0; i < residents->n; i++)
        is_among |= residents->coordinates[i] == at;
    return is_among;
}

/* Ascending; they belong to the arena. */
static int64_t *owners_of(cz_arena *arena, const cz_document *document,
                          const cz_document_matrix *matrix, int *n)
{
    const cz_document_param *param = &document->params[matrix->param];
    const int reduction = document->buckets[param->bucket].reduction;
    const int64_t split = document->reductions[reduction].split_set;
    int64_t *sizes = CZ_NEW(arena, int64_t, document->n_axes);
    int64_t shard = 0, *out = NULL;
    const cz_axes axes = {document->n_axes, sizes};

    for (int a = 0; a < axes.n_axes; a++)
        sizes[a] = document->axes[a].size;
    for (int d = 0; d < param->n_dims && matrix->shard >= 0; d++)
        shard |= param->cuts[d];
    const int64_t others = (((int64_t)1 << axes.n_axes) - 1) & ~(split | shard);
    const int64_t row = cz_axes_rank_at(axes, split, matrix->split, 0);
    *n = 0;
    for (int64_t k = 0; k < matrix->subgroup_size; k++) {
        const int64_t member =
            matrix->shard < 0
                ? row
                : cz_axes_rank_at(axes, shard,
                                  matrix->shard + k * matrix->stride, row);
        for (int64_t i = 0; i < cz_axes_extent(axes, others); i++) {
            const int64_t rank = cz_axes_rank_at(axes, others, i, member);
            if (is_resident(axes, &param->residents, rank))
                *CZ_PUSH(arena, out, *n) = rank;
        }
    }
    if (*n > 0)
        qsort(out, (size_t)*n, sizeof *out, ascending);
    return out;
}

void cz_report_owners(const cz_document *document,
                      const cz_document_matrix *matrix, cz_text *out)
{
    int n, n_runs = 0;
    cz_arena arena;
    cz_arena_init(&arena);
    const int64_t *ranks = owners_of(&arena, document, matrix, &n);
    if (n == 1)
        cz_report_rank_name(document, (int)ranks[0], out);
    for (int i = 0, end; n > 1 && i < n; i = end, n_runs++) {
        if (n_runs == MAX_RUNS) {
            cz_text_printf(out, " and %d more", n - i);
            break;
        }
        for (end = i + 1; end < n && ranks[end] == ranks[end - 1] + 1;)
            end++;
        cz_text_printf(out, "%s%" PRId64, i ? ", " : "ranks ", ranks[i]);
        if (end > i + 1)
            cz_text_printf(out, " to %" PRId64, ranks[end - 1]);
    }
    if (matrix->subgroup_size > 1 && matrix->subgroup_size < n)
        cz_text_printf(out, ", %" PRId64 " together", matrix->subgroup_size);
    cz_arena_fini(&arena);
}

void cz_class_why(const cz_document *document, const cz_matrix_class *of,
                  cz_text *out)
{
    const cz_document_matrix *m = of->like;
    const int64_t mean =
        cz_rank_sums_of(document->time_ps, document->n_ranks).mean;
    const cz_number time = cz_number_time(m->time_ps);
    if (m->subgroup_size > 1) {
        const bool is_local = strcmp(m->strategy, "local") == 0;
        cz_text_printf(out,
                       is_local ? "each of %" PRId64
                                  " ranks updates its own shard, and nothing "
                                  "of the matrix travels: %s on each"
                                : "shared by %" PRId64 " ranks: %s on each",
                       m->subgroup_size, time.text);
        if (of->stage)
            cz_text_printf(out, ", where one rank alone would take %s",
                           cz_number_time(of->stage->time_ps).text);
        if (!is_local && m->wire_bytes == 0)
            cz_text_puts(out, "; each has its own shard, sums alone travel");
    } else {
        cz_text_printf(out,
                       "whole on one rank: the update takes %s, %s the mean "
                       "load %s%s",
                       time.text, m->time_ps > mean ? "more than" : "within",
                       cz_number_time(mean).text,
                       m->micro_group >= 0
                           ? "; its shards are gathered to the owner"
                           : "");
    }
}

void cz_class_others(const cz_matrix_class *of, const char *before,
                     cz_text *out)
{
    for (int i = 0; i < of->like->n_candidates; i++) {
        const cz_document_candidate *other = &of->like->candidates[i];
        cz_text_printf(out, "%snot %s", before, other->strategy);
        if (other->subgroup_size > 1)
            cz_text_printf(out, " of %" PRId64 " ranks", other->subgroup_size);
        if (other->time_ps >= 0)
            cz_text_printf(out, " in %s %s, %s sent",
                           cz_number_time(other->time_ps).text,
                           other->is_measured ? "measured" : "assumed",
                           cz_number_short(other->wire_bytes, "B").text);
        cz_text_printf(out, ": %s", other->why);
    }
}

/* ---- ranks ---- */

cz_rank_sums cz_rank_sums_of(const int64_t *values, int n)
{
    cz_rank_sums out = {.n = n, .min = values[0], .max = values[0]};
    for (int r = 0; r < n; r++) {
        out.sum = cz_sum(out.sum, values[r]);
        out.min = values[r] < out.min ? values[r] : out.min;
        if (values[r] > out.max) {
            out.max = values[r];
            out.at_max = r;
        }
    }
    out.mean = out.sum / n;
    return out;
}

typedef struct ranked {
    int64_t value;
    int rank;
} ranked;

static int falling(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return a->rank - b->rank;
}

int *cz_ranks_sorted(cz_arena *arena, const int64_t *values, int n)
{
    ranked *all = CZ_NEW(arena, ranked, n);
    int *out = CZ_NEW(arena, int, n);
    for (int r = 0; r < n; r++)
        all[r] = (ranked){values[r], r};
    qsort(all, (size_t)n, sizeof *all, falling);
    for (int r = 0; r < n; r++)
        out[r] = all[r].rank;
    return out;
}

/* ---- where times are from ---- */

cz_basis cz_basis_of(const cz_document *document)
{
    cz_basis out = {.n_constants = document->n_constants};
    for (int i = 0; i < document->n_constants; i++)
        out.n_measured_constants += document->constants[i].is_measured;
    for (int i = 0; i < document->n_stages; i++)
        if (document->stages[i].is_full_matrix) {
            out.n_stages++;
            out.n_measured_stages += document->stages[i].is_measured;
        }
    return out;
}

const char *cz_basis_word(const cz_basis *basis)
{
    const int n = basis->n_constants + basis->n_stages;
    const int measured = basis->n_measured_constants + basis->n_measured_stages;
    if (measured == 0)
        return "assumed";
    return measured == n ? "measured" : "partly measured";
}

const char *cz_report_basis(const cz_document *document)
{
    const cz_basis basis = cz_basis_of(document);
    return cz_basis_word(&basis);
}

/* ---- bars ---- */

enum { N_HEIGHTS = 9 };

static const char *const heights[][N_HEIGHTS] = {
    [CZ_BARS_ASCII] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"},
    [CZ_BARS_BLOCKS] = {" ", "\xe2\x96\x81", "\xe2\x96\x82", "\xe2\x96\x83",
                        "\xe2\x96\x84", "\xe2\x96\x85", "\xe2\x96\x86",
                        "\xe2\x96\x87", "\xe2\x96\x88"}};

__extension__ typedef __int128 wide;

/* Rounded up, so that what is not 0 is seen. */
static int height_of(int64_t value, int64_t most)
{
    return most > 0 ? (int)(((wide)value * (N_HEIGHTS - 1) + most - 1) / most)
                    : 0;
}

void cz_bars_put(cz_arena *arena, const int64_t *values, int n, int n_columns,
                 cz_bar_style style, cz_text *out)
{
    const int *sorted = cz_ranks_sorted(arena, values, n);
    const int together = (n + n_columns - 1) / n_columns;
    for (int i = 0; i < n; i += together)
        cz_text_puts(
            out,
            heights[style][height_of(values[sorted[i]], values[sorted[0]])]);
}

/* ---- lines no wider than a terminal ---- */

enum { HANG = 2 };

static int count_leading(const char *line, int n)
{
    int spaces = 0;
    while (spaces < n && line[spaces] == ' ')
        spaces++;
    return spaces;
}

/* Bytes of the line that fit, up to a space that has a word before it; where
 * none does, up to the first. */
static int count_fitting(const char *line, int n, int width)
{
    int end = 0;
    for (int i = count_leading(line, n); i < n; i++) {
        if (line[i] != ' ')
            continue;
        if (i > width && end > 0)
            return end;
        end = i;
        if (i > width)
            return end;
    }
    return n <= width || end == 0 ? n : end;
}

static void put_line(const char *line, int n, int width, cz_text *out)
{
    const int indent = count_leading(line, n) + HANG;
    int take = count_fitting(line, n, width);
    cz_text_put(out, line, (size_t)take);
    while (take < n) {
        line += take;
        n -= take;
        const int spaces = count_leading(line, n);
        line += spaces;
        n -= spaces;
        take = count_fitting(line, n, width - indent);
        cz_text_printf(out, "\n%*s", indent, "");
        cz_text_put(out, line, (size_t)take);
    }
}

void cz_report_wrap(const char *text, int width, cz_text *out)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        put_line(text, (int)n, width, out);
        text += n;
        if (*text == '\n') {
            cz_text_puts(out, "\n");
            text++;
        }
    }
}
