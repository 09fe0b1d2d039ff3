/* Plan JSON to figures, list by list. */
#include "frontend/document/figures.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "frontend/document/figures_internal.h"

enum { MAX_DEPTH = 32, MAX_RANKS = 1 << 16 };

static const char schema[] = "canzona.plan/1";

/* ---- axes ---- */

/* The number of the axis of that name; reported where there is none. */
static int axis_of(cz_plan_reader *r, const cz_json_at *at)
{
    const char *name = cz_json_word(at);
    for (int i = 0; i < r->out->n_axes && r->axes[i]; i++)
        if (strcmp(r->axes[i], name) == 0)
            return i;
    cz_json_wrong(at, "is no axis of the mesh");
    return 0;
}

int64_t cz_plan_read_set(cz_plan_reader *r, const cz_json_at *in,
                         const char *key)
{
    const cz_json_at list = cz_json_member(in, key);
    const int n = cz_json_length(&list);
    int64_t set = 0;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at element = cz_json_element(&list, i);
        set |= (int64_t)1 << axis_of(r, &element);
    }
    return set;
}

int cz_plan_extent(const cz_plan_reader *r, int64_t set)
{
    int64_t n = 1;
    for (int i = 0; i < r->out->n_axes; i++)
        n *= set >> i & 1 ? r->out->sizes[i] : 1;
    return (int)n;
}

static void read_axes(cz_plan_reader *r, const cz_json_at *mesh)
{
    const cz_json_at list = cz_json_member(mesh, "axes");
    const int n = cz_json_length(&list);
    int64_t ranks = 1;
    if (n > CZ_VIEW_MAX_AXES)
        cz_json_wrong(&list, "has more than %d axes", CZ_VIEW_MAX_AXES);
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at axis = cz_json_element(&list, i);
        r->axes[i] = cz_json_word_of(&axis, "name");
        r->out->sizes[i] = cz_json_number_of(&axis, "size", 1, MAX_RANKS);
        r->out->n_axes = i + 1;
        ranks *= r->out->sizes[i];
        if (ranks > MAX_RANKS)
            cz_json_wrong(&list, "make more than %d ranks", MAX_RANKS);
    }
    r->out->n_ranks = (int)ranks;
}

/* Tokens are dealt out over the data-parallel axes. */
static void read_data_set(cz_plan_reader *r, const cz_json_at *mesh)
{
    static const char *const names[] = {"dp", "fsdp", "cp"};
    const cz_json_at list = cz_json_member(mesh, "names");
    const int n = cz_json_length(&list);
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        const char *name = cz_json_word_of(&entry, "name");
        const int64_t set = cz_plan_read_set(r, &entry, "axes");
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (strcmp(name, names[k]) == 0)
                r->out->data_set |= set;
    }
}

/* ---- lists ---- */

static void read_constants(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_constant *out =
        CZ_NEW(r->reading->arena, cz_figures_constant, n);
    r->out->constants = out;
    r->out->n_constants = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(list, i);
        out[i].name = cz_json_word_of(&entry, "name");
        out[i].value = cz_json_number_of(&entry, "value", 0, CZ_MAX_BYTES);
    }
}

static void read_uneven_reduces(cz_plan_reader *r, const cz_json_at *list,
                                int n)
{
    static const char *const links[] = {"node", "network"};
    cz_fact_uneven_reduce *out =
        CZ_NEW(r->reading->arena, cz_fact_uneven_reduce, n);
    r->out->uneven_reduces = out;
    r->out->n_uneven_reduces = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(list, i);
        const cz_json_at link = cz_json_member(&entry, "link");
        const cz_json_at measured = cz_json_member(&entry, "measured");
        const char *word = cz_json_word(&link);
        out[i].link = links[strcmp(word, links[1]) == 0];
        if (strcmp(word, out[i].link) != 0)
            cz_json_wrong(&link, "is neither node nor network");
        out[i].bytes = cz_json_number_of(&entry, "bytes", 0, CZ_MAX_BYTES);
        out[i].roots = cz_json_number_of(&entry, "roots", 0, CZ_MAX_DIM);
        out[i].thousandths = cz_json_number_of(&entry, "thousandths", 1, 1000);
        out[i].measured = cz_json_truth(&measured);
    }
}

static void read_home(cz_plan_reader *r, const cz_json_at *in,
                      cz_figures_home *out)
{
    const cz_json_at home = cz_json_member(in, "home");
    const cz_json_at list = cz_json_member(&home, "coordinates");
    out->set = cz_plan_read_set(r, &home, "axes");
    out->n = -1;
    out->coordinates =
        cz_json_numbers(&list, 0, cz_plan_extent(r, out->set) - 1, &out->n);
    if (out->set != 0 && out->n == 0)
        cz_json_wrong(&home, "is nowhere");
}

/* False: it is another name of a parameter. */
static bool read_param(cz_plan_reader *r, const cz_json_at *entry,
                       cz_figures_param *out)
{
    const cz_json_at tie = cz_json_member(entry, "tied_to");
    const cz_json_at names = cz_json_member(entry, "names");
    const cz_json_at bucket = cz_json_member(entry, "bucket");
    out->name = cz_json_word_of(entry, "name");
    out->elements = cz_json_number_of(entry, "element_count", 0, CZ_MAX_BYTES);
    out->is_spread = cz_json_length(&names) > 0;
    out->n_names = out->is_spread ? cz_json_length(&names) : 1;
    read_home(r, entry, &out->home);
    out->bucket = cz_json_is_null(&bucket)
                      ? -1
                      : (int)cz_json_number(&bucket, 0, r->n_buckets - 1);
    return cz_json_is_null(&tie);
}

static void read_params(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_param *out = CZ_NEW(r->reading->arena, cz_figures_param, n);
    int64_t total = 0, all;
    r->out->params = out;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(list, i);
        cz_figures_param *param = &out[r->out->n_params];
        r->out->n_params += read_param(r, &entry, param);
        if (!cz_checked_mul(param->elements, param->n_names, &all) ||
            !cz_checked_add(total, all, &total))
            cz_json_wrong(list, "have more elements than can be counted");
    }
}

static void read_reductions(cz_plan_reader *r, const cz_json_at *list, int n)
{
    cz_figures_reduction *out =
        CZ_NEW(r->reading->arena, cz_figures_reduction, n);
    const char **names = CZ_NEW(r->reading->arena, const char *, n);
    r->out->reductions = out;
    r->out->n_reductions = n;
    r->reductions = names;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(list, i);
        const int64_t leaves =
            cz_json_number_of(&entry, "leaves", 1, CZ_MAX_DIM);
        names[i] = cz_json_word_of(&entry, "name");
        out[i].reduce_set = cz_plan_read_set(r, &entry, "reduce_axes");
        out[i].split_set = cz_plan_read_set(r, &entry, "split_axes");
        out[i].leaf_bytes = leaves * cz_plan_read_bytes(&entry, "dtype");
    }
}

/* ---- the document ---- */

typedef void (*list_reader)(cz_plan_reader *r, const cz_json_at *list, int n);

static void read_list(cz_plan_reader *r, const cz_json_at *root,
                      const char *key, list_reader read)
{
    const cz_json_at list = cz_json_member(root, key);
    const int n = cz_json_length(&list);
    if (!r->reading->failed)
        read(r, &list, n);
}

static void read_policy(cz_plan_reader *r, const cz_json_at *root)
{
    const cz_json_at policy = cz_json_member(root, "policy");
    const cz_json_at skip = cz_json_member(&policy, "skip");
    const char *clip = cz_json_word_of(&policy, "clip");
    r->out->decides = cz_json_truth(&skip) || strcmp(clip, "0") != 0;
}

static void read_header(cz_plan_reader *r, const cz_json_at *root)
{
    const cz_json_at header = cz_json_member(root, "header");
    const cz_json_at mesh = cz_json_member(root, "mesh");
    r->out->name = cz_json_word_of(&header, "name");
    r->out->plan_hash = cz_json_word_of(&header, "plan_hash");
    read_axes(r, &mesh);
    read_data_set(r, &mesh);
    read_policy(r, root);
}

static void read_root(cz_plan_reader *r, const cz_json_at *root)
{
    const cz_json_at buckets = cz_json_member(root, "buckets");
    read_header(r, root);
    r->n_buckets = cz_json_length(&buckets);
    read_list(r, root, "constants", read_constants);
    read_list(r, root, "uneven_reduce", read_uneven_reduces);
    read_list(r, root, "reductions", read_reductions);
    read_list(r, root, "parameters", read_params);
    read_list(r, root, "stages", cz_plan_read_stages);
    read_list(r, root, "buckets", cz_plan_read_buckets);
    read_list(r, root, "schedule", cz_plan_read_ops);
    read_list(r, root, "baselines", cz_plan_read_baselines);
}

static bool is_too_deep(const cz_text *text)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text->n; i++) {
        const char c = text->bytes[i];
        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth > MAX_DEPTH)
            return true;
    }
    return false;
}

json_t *cz_plan_json_load(cz_json_at *root, const cz_text *text)
{
    json_error_t error;
    if (is_too_deep(text)) {
        cz_json_wrong(root, "is nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    json_t *tree = json_loadb(cz_text_string(text), text->n,
                              JSON_REJECT_DUPLICATES, &error);
    if (!tree) {
        cz_json_wrong(root, "line %d is not JSON: %s", error.line, error.text);
        return NULL;
    }
    root->value = tree;
    const cz_json_at said = cz_json_member(root, "schema");
    if (strcmp(cz_json_word(&said), schema) != 0)
        cz_json_wrong(&said, "is not \"%s\"", schema);
    return tree;
}

bool cz_plan_json_is(const cz_text *text)
{
    const char *start = cz_text_string(text);
    return start[strspn(start, " \t\r\n")] == '{';
}

bool cz_plan_json_read(cz_arena *arena, const char *name, const cz_text *text,
                       cz_diags *diags, cz_figures *out)
{
    cz_json_reading reading = {arena, diags, name, false};
    cz_plan_reader r = {.reading = &reading, .out = out};
    cz_json_at root = {&reading, NULL, NULL, 0, NULL};
    *out = (cz_figures){0};
    json_t *tree = cz_plan_json_load(&root, text);
    if (tree)
        read_root(&r, &root);
    json_decref(tree);
    return !reading.failed;
}
