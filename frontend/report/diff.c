/* Two plans side by side: header, mesh, parameters, matrices, buckets, then
 * what they cost. */
#include "frontend/report/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/document/json.h"

enum { MAX_SHOWN = 5 }; /* of a section, for people */

typedef struct diff {
    cz_arena *arena;
    const cz_document *a, *b;
    const char *section;
    int n;
    cz_difference *all;
} diff;

/* ---- one difference ---- */

static void add_text(diff *d, const char *name, const char *before,
                     const char *after)
{
    if (!before || !after || strcmp(before, after) != 0)
        *CZ_PUSH(d->arena, d->all, d->n) = (cz_difference){
            d->section, name, CZ_DIFF_TEXT, -1, -1, before, after};
}

static void add_number(diff *d, const char *name, cz_diff_unit unit,
                       int64_t before, int64_t after)
{
    if (before != after)
        *CZ_PUSH(d->arena, d->all, d->n) =
            (cz_difference){d->section, name, unit, before, after, NULL, NULL};
}

/* ---- by name ---- */

typedef struct named {
    const char *name;
    int at;
} named;

static int by_name(const void *left, const void *right)
{
    const named *a = left, *b = right;
    const int order = strcmp(a->name, b->name);
    return order != 0 ? order : a->at - b->at;
}

static const char *param_name(const cz_document *document, int i)
{
    return document->params[i].name;
}

static const char *matrix_name(const cz_document *document, int i)
{
    return document->params[document->matrices[i].param].name;
}

static const char *axis_name(const cz_document *document, int i)
{
    return document->names[i].name;
}

static const char *constant_name(const cz_document *document, int i)
{
    return document->constants[i].name;
}

typedef const char *(*namer)(const cz_document *document, int i);
/* What two entries of one name differ in; -1: that plan has none. */
typedef void (*comparer)(diff *d, const char *name, int a, int b);

static named *index_of(diff *d, const cz_document *document, int n, namer name)
{
    named *all = CZ_NEW(d->arena, named, n);
    for (int i = 0; i < n; i++)
        all[i] = (named){name(document, i), i};
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, by_name);
    return all;
}

/* Merges two sorted lists. */
static void compare_named(diff *d, int n_a, int n_b, namer name,
                          comparer compare)
{
    const named *a = index_of(d, d->a, n_a, name);
    const named *b = index_of(d, d->b, n_b, name);
    for (int i = 0, k = 0; i < n_a || k < n_b;) {
        const int order = i == n_a   ? 1
                          : k == n_b ? -1
                                     : strcmp(a[i].name, b[k].name);
        compare(d, order <= 0 ? a[i].name : b[k].name,
                order <= 0 ? a[i].at : -1, order >= 0 ? b[k].at : -1);
        i += order <= 0;
        k += order >= 0;
    }
}

/* ---- what is compared ---- */

static void compare_axis(diff *d, const char *name, int a, int b)
{
    add_number(d, name, CZ_DIFF_COUNT, a < 0 ? -1 : d->a->names[a].size,
               b < 0 ? -1 : d->b->names[b].size);
}

static const char *fact_key(const cz_document *document, int i)
{
    return document->facts[i].key;
}

static void compare_fact(diff *d, const char *key, int a, int b)
{
    const cz_document_fact *fact = a < 0 ? &d->b->facts[b] : &d->a->facts[a];
    (void)key;
    d->section = fact->section;
    add_text(d, fact->name, a < 0 ? NULL : d->a->facts[a].text,
             b < 0 ? NULL : d->b->facts[b].text);
}

static void compare_constant(diff *d, const char *name, int a, int b)
{
    add_number(d, name, CZ_DIFF_COUNT, a < 0 ? -1 : d->a->constants[a].value,
               b < 0 ? -1 : d->b->constants[b].value);
}

/* "bf16 8192/tp x 5120, grad f32, master f32, stage 0, matrices: muon" */
static const char *param_text(diff *d, const cz_document *document, int i)
{
    const cz_document_param *p = &document->params[i];
    if (i < 0)
        return NULL;
    const char *text =
        cz_arena_printf(d->arena, "%s %s%s%s", p->dtype, p->layout,
                        *p->stages ? ", stage " : "", p->stages);
    if (!*p->param_group)
        return cz_arena_printf(d->arena, "%s, frozen", text);
    return cz_arena_printf(d->arena, "%s, grad %s, master %s, %s: %s", text,
                           p->grad, p->master, p->param_group, p->optimizer);
}

static void compare_param(diff *d, const char *name, int a, int b)
{
    add_text(d, name, param_text(d, d->a, a), param_text(d, d->b, b));
}

/* "owner, slice 15, shard 3"; "gram by 4 ranks, slice 15" */
static const char *owner_text(diff *d, const cz_document *document, int i)
{
    const cz_document_matrix *m = &document->matrices[i];
    cz_text out = {0};
    if (i < 0)
        return NULL;
    cz_text_puts(&out, m->strategy);
    if (m->subgroup_size > 1)
        cz_text_printf(&out, " by %" PRId64 " ranks", m->subgroup_size);
    cz_text_printf(&out, ", slice %" PRId64, m->split);
    if (m->shard >= 0)
        cz_text_printf(&out, ", shard %" PRId64, m->shard);
    const char *text = cz_arena_copy(d->arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}

static void compare_matrix(diff *d, const char *name, int a, int b)
{
    add_text(d, name, owner_text(d, d->a, a), owner_text(d, d->b, b));
}

static const char *bucket_text(diff *d, const cz_document *document, int i)
{
    const cz_document_bucket *b = &document->buckets[i];
    return i >= document->n_buckets
               ? NULL
               : cz_arena_printf(d->arena,
                                 "%s, %s, %s, %" PRId64 " elements, slices of "
                                 "%" PRId64 " to %" PRId64,
                                 b->param_groups, b->kind, b->geometry,
                                 b->length, b->shortest, b->longest);
}

static void compare_buckets(diff *d)
{
    const int n =
        d->a->n_buckets > d->b->n_buckets ? d->a->n_buckets : d->b->n_buckets;
    for (int i = 0; i < n; i++)
        add_text(d, cz_arena_printf(d->arena, "%d", i), bucket_text(d, d->a, i),
                 bucket_text(d, d->b, i));
}

/* ---- costs ---- */

static int64_t bound_of(const cz_document *document)
{
    const cz_document_bound *bound = cz_document_binding(document);
    return bound ? bound->value : -1;
}

static void compare_time(diff *d)
{
    const cz_rank_sums a = cz_rank_sums_of(d->a->time_ps, d->a->n_ranks);
    const cz_rank_sums b = cz_rank_sums_of(d->b->time_ps, d->b->n_ranks);
    add_number(d, "busiest rank", CZ_DIFF_TIME, a.max, b.max);
    add_number(d, "mean rank", CZ_DIFF_TIME, a.mean, b.mean);
    add_number(d, "bound", CZ_DIFF_TIME, bound_of(d->a), bound_of(d->b));
}

static int64_t sent_by(const cz_document *document, int kind)
{
    return document->sent[kind]
               ? cz_rank_sums_of(document->sent[kind], document->n_ranks).sum
               : 0;
}

static void compare_wire(diff *d)
{
    for (int k = 0; k < CZ_N_STEPS; k++)
        add_number(d, cz_step_kind_word((cz_step_kind)k), CZ_DIFF_BYTES,
                   sent_by(d->a, k), sent_by(d->b, k));
    add_number(d, "trainer's gradients", CZ_DIFF_BYTES,
               d->a->trainer_gradient_bytes, d->b->trainer_gradient_bytes);
    add_number(d, "trainer's parameters", CZ_DIFF_BYTES,
               d->a->trainer_parameter_bytes, d->b->trainer_parameter_bytes);
}

static bool has_section(const diff *d, const char *section)
{
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->all[i].section, section) == 0)
            return true;
    return false;
}

/* Parts that differ in what no section says. */
static void compare_parts(diff *d)
{
    static const struct {
        const char *part, *section; /* that says what differs in it */
    } said[] = {{"mesh", "mesh"},
                {"policy", "policy"},
                {"uses", "hypers"},
                {"rules", "rules"},
                {"reductions", "reductions"},
                {"parameters", "parameters"},
                {"parameters", "owners"},
                {"parameters", "buckets"},
                {"stages", "stages"},
                {"stages", "time"},
                {"matrices", "owners"},
                {"matrices", "time"},
                {"states", "states"},
                {"buckets", "buckets"},
                {"metrics", "time"},
                {"metrics", "memory"},
                {"metrics", "wire"},
                {"constants", "machine"}};
    for (int i = 0; i < CZ_DOCUMENT_N_MEMBERS; i++) {
        const char *part = cz_document_members[i];
        bool is_said = strcmp(d->a->digests[i], d->b->digests[i]) == 0;
        for (size_t k = 0; k < sizeof said / sizeof *said; k++)
            is_said |= strcmp(said[k].part, part) == 0 &&
                       has_section(d, said[k].section);
        if (!is_said)
            add_text(d, part, d->a->digests[i], d->b->digests[i]);
    }
}

static void compare_header(diff *d)
{
    add_text(d, "name", d->a->name, d->b->name);
    add_text(d, "compiler", d->a->compiler, d->b->compiler);
    add_text(d, "objective", d->a->objective, d->b->objective);
    add_number(d, "strict", CZ_DIFF_COUNT, d->a->is_strict, d->b->is_strict);
}

cz_difference *cz_diff_build(cz_arena *arena, const cz_document *before,
                             const cz_document *after, int *n)
{
    const cz_document *a = before, *b = after;
    diff d = {.arena = arena, .a = a, .b = b};
    d.section = "header";
    compare_header(&d);
    d.section = "mesh";
    compare_named(&d, a->n_names, b->n_names, axis_name, compare_axis);
    add_number(&d, "ranks", CZ_DIFF_COUNT, a->n_ranks, b->n_ranks);
    d.section = "machine";
    compare_named(&d, a->n_constants, b->n_constants, constant_name,
                  compare_constant);
    compare_named(&d, a->n_facts, b->n_facts, fact_key, compare_fact);
    d.section = "parameters";
    compare_named(&d, a->n_params + a->n_ties, b->n_params + b->n_ties,
                  param_name, compare_param);
    d.section = "owners";
    compare_named(&d, a->n_matrices, b->n_matrices, matrix_name,
                  compare_matrix);
    d.section = "buckets";
    compare_buckets(&d);
    d.section = "time";
    compare_time(&d);
    d.section = "memory";
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        add_number(&d, cz_memory_name((cz_memory)k), CZ_DIFF_BYTES,
                   cz_rank_sums_of(a->memory[k], a->n_ranks).max,
                   cz_rank_sums_of(b->memory[k], b->n_ranks).max);
    d.section = "wire";
    compare_wire(&d);
    d.section = "elsewhere";
    compare_parts(&d);
    *n = d.n;
    return d.all;
}

/* ---- for people ---- */

static cz_number number_of(cz_diff_unit unit, int64_t value)
{
    if (value < 0)
        return (cz_number){"none"};
    if (unit == CZ_DIFF_TIME)
        return cz_number_time(value);
    return unit == CZ_DIFF_BYTES ? cz_number_short(value, "B")
                                 : cz_number_full(value);
}

static void put_difference(const cz_difference *d, cz_text *out)
{
    if (d->unit == CZ_DIFF_TEXT) { /* what was and what is, a line each */
        cz_text_printf(out, "  %s\n", d->name);
        if (d->before_text)
            cz_text_printf(out, "    - %s\n", d->before_text);
        if (d->after_text)
            cz_text_printf(out, "    + %s\n", d->after_text);
        return;
    }
    cz_text_printf(out, "  %-20s %s -> %s", d->name,
                   number_of(d->unit, d->before).text,
                   number_of(d->unit, d->after).text);
    if (d->unit >= CZ_DIFF_TIME && d->before > 0 && d->after >= 0)
        cz_text_printf(out, ", times %s",
                       cz_number_ratio(d->after, 1, d->before).text);
    cz_text_puts(out, "\n");
}

void cz_diff_print(const cz_difference *all, int n, cz_text *out)
{
    if (n == 0)
        cz_text_puts(out, "no differences\n");
    for (int first = 0, next; first < n; first = next) {
        next = first + 1;
        while (next < n && strcmp(all[next].section, all[first].section) == 0)
            next++;
        const int count = next - first;
        cz_text_printf(out, "%s: %d difference%s\n", all[first].section, count,
                       count == 1 ? "" : "s");
        for (int i = first; i < next && i < first + MAX_SHOWN; i++)
            put_difference(&all[i], out);
        if (count > MAX_SHOWN)
            cz_text_printf(out, "  and %d more\n", count - MAX_SHOWN);
    }
}

/* ---- JSON ---- */

static void put_value(cz_json *json, const char *key, const cz_difference *d,
                      int64_t number, const char *text)
{
    if (d->unit != CZ_DIFF_TEXT)
        cz_json_optional(json, key, number);
    else
        cz_json_string(json, key, text);
}

void cz_diff_json(const cz_document *before, const cz_document *after,
                  const cz_difference *all, int n, cz_text *out)
{
    static const char *const units[] = {[CZ_DIFF_TEXT] = "text",
                                        [CZ_DIFF_COUNT] = "1",
                                        [CZ_DIFF_TIME] = "ps",
                                        [CZ_DIFF_BYTES] = "byte"};
    cz_json json;
    cz_json_init(&json, out);
    cz_json_open(&json, NULL, '{');
    cz_json_string(&json, "schema", "canzona.diff/1");
    cz_json_string(&json, "before", before->plan_hash);
    cz_json_string(&json, "after", after->plan_hash);
    cz_json_open(&json, "differences", '[');
    for (const cz_difference *d = all; d < all + n; d++) {
        cz_json_open(&json, NULL, '{');
        cz_json_string(&json, "section", d->section);
        cz_json_string(&json, "name", d->name);
        cz_json_string(&json, "unit", units[d->unit]);
        put_value(&json, "before", d, d->before, d->before_text);
        put_value(&json, "after", d, d->after, d->after_text);
        cz_json_close(&json);
    }
    cz_json_close(&json);
    cz_json_close(&json);
}
