/* Plan JSON to what people look at: lists. */
#include "frontend/document/sheet_internal.h"

#include <inttypes.h>
#include <string.h>

#include "dsl/base/checked.h"

int64_t cz_sheet_optional(const cz_json_at *in, const char *key, int64_t high)
{
    const cz_json_at at = cz_json_member(in, key);
    return cz_json_is_null(&at) ? -1 : cz_json_number(&at, 0, high);
}

/* "" for null. */
static const char *word_or_nothing(const cz_json_at *in, const char *key)
{
    const cz_json_at at = cz_json_member(in, key);
    return cz_json_is_null(&at) ? "" : cz_json_word(&at);
}

static bool truth_of(const cz_json_at *in, const char *key)
{
    const cz_json_at at = cz_json_member(in, key);
    return cz_json_truth(&at);
}

/* What a list says, joined. */
static const char *joined(cz_sheet_reader *r, const cz_json_at *in,
                          const char *key, const char *by)
{
    const cz_json_at list = cz_json_member(in, key);
    const int n = cz_json_length(&list);
    cz_text out = {0};
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at at = cz_json_element(&list, i);
        cz_text_puts(&out, i ? by : "");
        if (json_is_string(at.value))
            cz_text_puts(&out, cz_json_word(&at));
        else
            cz_text_printf(&out, "%" PRId64,
                           cz_json_number(&at, 0, CZ_MAX_DIM));
    }
    const char *copy =
        cz_arena_copy(r->reading->arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return copy;
}

/* ---- lists ---- */

typedef void (*entry_reader)(cz_sheet_reader *r, const cz_json_at *at,
                             void *entry);

/* Entries of `size` bytes, filled by `read`; *n of them. */
static void *read_list(cz_sheet_reader *r, const cz_json_at *root,
                       const char *key, size_t size, entry_reader read, int *n)
{
    const cz_json_at list = cz_json_member(root, key);
    *n = cz_json_length(&list);
    char *entries = cz_arena_alloc(r->reading->arena, (size_t)*n, size);
    for (int i = 0; i < *n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        read(r, &entry, entries + (size_t)i * size);
    }
    return entries;
}

static void read_param(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_param *out = entry;
    const cz_json_at tie = cz_json_member(at, "tied_to");
    const cz_json_at names = cz_json_member(at, "names");
    const int n_names = cz_json_length(&names);
    out->name = cz_json_word_of(at, "name");
    out->dtype = cz_json_word_of(at, "dtype");
    out->group = word_or_nothing(at, "group");
    out->optimizer = word_or_nothing(at, "optimizer");
    out->shape = joined(r, at, "shape", " x ");
    out->elements = cz_json_number_of(at, "element_count", 0, CZ_MAX_BYTES);
    out->n_names = n_names > 0 ? n_names : 1;
    out->bucket = (int)cz_sheet_optional(at, "bucket", INT32_MAX);
    out->is_tied = !cz_json_is_null(&tie);
}

static void read_candidate(const cz_json_at *at, cz_sheet_candidate *out)
{
    out->strategy = cz_json_word_of(at, "strategy");
    out->why = cz_json_word_of(at, "why");
    out->group_size = cz_json_number_of(at, "group_size", 1, CZ_MAX_DIM);
    out->time_ps = cz_sheet_optional(at, "time_ps", CZ_MAX_BYTES);
    out->wire_bytes = cz_sheet_optional(at, "bytes", CZ_MAX_BYTES);
    out->is_measured = truth_of(at, "measured");
}

static void read_candidates(cz_sheet_reader *r, const cz_json_at *at,
                            cz_sheet_matrix *out)
{
    const cz_json_at list = cz_json_member(at, "candidates");
    const int n = cz_json_length(&list);
    cz_sheet_candidate *all = CZ_NEW(r->reading->arena, cz_sheet_candidate, n);
    out->candidates = all;
    out->n_candidates = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        read_candidate(&entry, &all[i]);
    }
}

static void read_matrix(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_matrix *out = entry;
    const cz_json_at owner = cz_json_member(at, "owner");
    const cz_json_at cost = cz_json_member(at, "cost");
    out->param = (int)cz_json_number_of(
        at, "parameter", 0, r->out->n_params > 0 ? r->out->n_params - 1 : 0);
    if (r->out->n_params == 0)
        cz_json_wrong(at, "is of no parameter");
    out->rows = cz_json_number_of(at, "rows", 1, CZ_MAX_DIM);
    out->columns = cz_json_number_of(at, "cols", 1, CZ_MAX_DIM);
    out->batch = cz_json_number_of(at, "batch", 1, CZ_MAX_DIM);
    out->strategy = cz_json_word_of(at, "strategy");
    out->group_size = cz_json_number_of(at, "group_size", 1, CZ_MAX_DIM);
    out->micro_group = cz_sheet_optional(at, "micro_group", INT32_MAX);
    out->split = cz_json_number_of(&owner, "split", 0, CZ_MAX_DIM);
    out->shard = cz_sheet_optional(&owner, "shard", CZ_MAX_DIM);
    out->flops = cz_json_number_of(&cost, "flops", 0, INT64_MAX);
    out->time_ps = cz_json_number_of(&cost, "time_ps", 0, CZ_MAX_BYTES);
    out->wire_bytes = cz_json_number_of(&cost, "bytes", 0, CZ_MAX_BYTES);
    read_candidates(r, at, out);
}

static void add_slice(cz_sheet_bucket *out, int64_t length, bool is_first)
{
    if (is_first || length > out->longest)
        out->longest = length;
    if (is_first || length < out->shortest)
        out->shortest = length;
}

/* A rank's elements: those between two bounds, of both lists. */
static void read_slices(cz_sheet_reader *r, const cz_json_at *at,
                        cz_sheet_bucket *out)
{
    const cz_json_at slices = cz_json_member(at, "slices");
    const bool fills = cz_json_has(at, "fills");
    int n = -1;
    const int64_t *v = cz_json_numbers(&slices, 0, out->length, &n), *w = NULL;
    if (fills) {
        const cz_json_at more = cz_json_member(at, "fills");
        w = cz_json_numbers(&more, 0, out->length, &n);
    }
    out->n_slices = n > 0 ? n - 1 : 0;
    for (int i = 0; i + 1 < n && !r->reading->failed; i++)
        add_slice(out, v[i + 1] - v[i] + (w ? w[i + 1] - w[i] : 0), i == 0);
}

static void read_bucket(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_bucket *out = entry;
    const cz_json_at order = cz_json_member(at, "order");
    out->groups = joined(r, at, "groups", ", ");
    out->reduction = cz_json_word_of(at, "reduction");
    out->dtype = cz_json_word_of(at, "dtype");
    out->kind = cz_json_word_of(at, "kind");
    out->geometry = cz_json_word_of(at, "geometry");
    out->length = cz_json_number_of(at, "length", 1, CZ_MAX_BYTES / 4096);
    out->n_params = cz_json_length(&order);
    read_slices(r, at, out);
}

static void read_state(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_state *out = entry;
    out->rule = cz_json_word_of(at, "rule");
    out->name = cz_json_word_of(at, "name");
    out->shape = joined(r, at, "shape", " x ");
    out->is_extern = truth_of(at, "extern");
}

static void read_rewrite(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_rewrite *out = entry;
    (void)r;
    out->name = cz_json_word_of(at, "name");
    out->unit = cz_json_word_of(at, "unit");
    out->count = cz_json_number_of(at, "count", 1, CZ_MAX_DIM);
    out->before = cz_json_number_of(at, "before", 0, CZ_MAX_BYTES);
    out->after = cz_json_number_of(at, "after", 0, CZ_MAX_BYTES);
}

static void read_stage(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_stage *out = entry;
    out->rewrites = read_list(r, at, "rewrites", sizeof *out->rewrites,
                              read_rewrite, &out->n_rewrites);
    out->name = cz_json_word_of(at, "name");
    out->is_whole = strcmp(cz_json_word_of(at, "where"), "whole") == 0;
    out->batch = cz_json_number_of(at, "batch", 0, CZ_MAX_DIM);
    out->time_ps = cz_json_number_of(at, "time_ps", 0, CZ_MAX_BYTES);
    out->is_measured = truth_of(at, "measured");
}

static void read_op(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_op *out = entry;
    const cz_json_at work = cz_json_member(at, "work");
    out->kind = cz_json_word_of(at, "kind");
    out->section = cz_json_word_of(at, "section");
    out->axes = joined(r, at, "axes", " x ");
    out->bucket = (int)cz_sheet_optional(at, "bucket", r->out->n_buckets - 1);
    out->sent_bytes = cz_json_number_of(at, "sent_bytes", 0, INT64_MAX);
    out->stage = -1;
    if (cz_json_length(&work) == 0)
        return;
    const cz_json_at first = cz_json_element(&work, 0);
    out->stage =
        (int)cz_json_number_of(&first, "stage", 0, r->out->n_stages - 1);
}

static void read_constant(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_constant *out = entry;
    (void)r;
    out->name = cz_json_word_of(at, "name");
    out->unit = cz_json_word_of(at, "unit");
    out->source = cz_json_word_of(at, "source");
    out->value = cz_json_number_of(at, "value", 0, INT64_MAX);
    out->is_measured = truth_of(at, "measured");
}

static void read_option(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_option *out = entry;
    const cz_json_at is_kept = cz_json_member(at, "keeps_state_cap");
    (void)r;
    out->name = cz_json_word_of(at, "geometry");
    out->load_ps = cz_json_number_of(at, "load_ps", 0, CZ_MAX_BYTES);
    out->wire_ps = cz_json_number_of(at, "wire_ps", 0, CZ_MAX_BYTES);
    out->is_kept = cz_json_truth(&is_kept);
    out->best_ps = cz_json_number_of(at, "best_ps", 0, INT64_MAX);
    out->worst_ps = cz_json_number_of(at, "worst_ps", 0, INT64_MAX);
    out->break_even = cz_sheet_optional(at, "break_even", 1000);
}

static void read_geometry(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_geometry *out = entry;
    const cz_json_at buckets = cz_json_member(at, "buckets");
    out->n_buckets = cz_json_length(&buckets);
    out->chosen = cz_json_word_of(at, "chosen");
    out->low = cz_json_number_of(at, "low", 1, 1000);
    out->high = cz_json_number_of(at, "high", 1, 1000);
    out->options = read_list(r, at, "options", sizeof *out->options,
                             read_option, &out->n_options);
}

static void read_grouping(cz_sheet_reader *r, const cz_json_at *at, void *entry)
{
    cz_sheet_grouping *out = entry;
    (void)r;
    out->n_groups = cz_json_number_of(at, "groups", 1, INT32_MAX);
    out->time_ps = cz_json_number_of(at, "time_ps", 0, CZ_MAX_BYTES);
}

void cz_sheet_read_lists(cz_sheet_reader *r, const cz_json_at *root)
{
    cz_sheet *out = r->out;
    out->params = read_list(r, root, "parameters", sizeof *out->params,
                            read_param, &out->n_params);
    out->matrices = read_list(r, root, "matrices", sizeof *out->matrices,
                              read_matrix, &out->n_matrices);
    out->states = read_list(r, root, "states", sizeof *out->states, read_state,
                            &out->n_states);
    out->buckets = read_list(r, root, "buckets", sizeof *out->buckets,
                             read_bucket, &out->n_buckets);
    out->stages = read_list(r, root, "stages", sizeof *out->stages, read_stage,
                            &out->n_stages);
    out->ops =
        read_list(r, root, "schedule", sizeof *out->ops, read_op, &out->n_ops);
    out->constants = read_list(r, root, "constants", sizeof *out->constants,
                               read_constant, &out->n_constants);
    out->geometries = read_list(r, root, "geometries", sizeof *out->geometries,
                                read_geometry, &out->n_geometries);
    out->groupings = read_list(r, root, "groupings", sizeof *out->groupings,
                               read_grouping, &out->n_groupings);
}
