/* Plan JSON to what people look at: the document, and figures of ranks. */
#include "frontend/document/sheet.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "frontend/document/figures_internal.h"
#include "frontend/document/sheet_internal.h"

enum { MAX_RANKS = 1 << 16 };

/* ---- ranks ---- */

static const int64_t *numbers_of(cz_sheet_reader *r, const cz_json_at *in,
                                 const char *key)
{
    const cz_json_at list = cz_json_member(in, key);
    return cz_json_numbers(&list, 0, CZ_MAX_BYTES, &r->out->n_ranks);
}

static void read_sent(cz_sheet_reader *r, const cz_json_at *metrics)
{
    static const char *const kinds[CZ_N_STEPS] = {
#define CZ_STEP(tag, name, what) name,
#include "dsl/vocab/step.def"
#undef CZ_STEP
    };
    const cz_json_at sent = cz_json_member(metrics, "sent_bytes");
    for (int k = 0; k < CZ_N_STEPS; k++)
        if (cz_json_has(&sent, kinds[k]))
            r->out->sent[k] = numbers_of(r, &sent, kinds[k]);
}

static void read_trainer_wire(cz_sheet_reader *r, const cz_json_at *metrics)
{
    const cz_json_at wire = cz_json_member(metrics, "trainer_bytes");
    r->out->trainer_gradient_bytes =
        cz_json_number_of(&wire, "gradients", 0, CZ_MAX_BYTES);
    r->out->trainer_parameter_bytes =
        cz_json_number_of(&wire, "parameters", 0, CZ_MAX_BYTES);
}

static void read_bounds(cz_sheet_reader *r, const cz_json_at *metrics)
{
    const cz_json_at list = cz_json_member(metrics, "bounds");
    const int n = cz_json_length(&list);
    cz_sheet_bound *out = CZ_NEW(r->reading->arena, cz_sheet_bound, n);
    r->out->bounds = out;
    r->out->n_bounds = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        out[i].name = cz_json_word_of(&entry, "name");
        out[i].value = cz_json_number_of(&entry, "value", 0, CZ_MAX_BYTES);
        out[i].is_of_links =
            strcmp(cz_json_word_of(&entry, "of"), "links") == 0;
        out[i].plan = cz_sheet_optional(&entry, "plan", CZ_MAX_BYTES);
        out[i].witness =
            cz_sheet_optional(&entry, "witness", r->out->n_params - 1);
        out[i].n_ranks = cz_json_number_of(&entry, "ranks", 0, CZ_MAX_DIM);
        out[i].n_items = cz_json_number_of(&entry, "items", 0, CZ_MAX_DIM);
        out[i].bytes = cz_json_number_of(&entry, "bytes", 0, CZ_MAX_BYTES);
        const cz_json_at admits = cz_json_member(&entry, "admits");
        out[i].n_admits = -1;
        out[i].admits =
            cz_json_numbers(&admits, 1, CZ_MAX_DIM, &out[i].n_admits);
    }
}

static void read_longest(cz_sheet_reader *r, const cz_json_at *metrics)
{
    const cz_json_at longest = cz_json_member(metrics, "longest_update");
    r->out->has_longest = !cz_json_is_null(&longest);
    if (!r->out->has_longest)
        return;
    r->out->longest_ps =
        cz_json_number_of(&longest, "time_ps", 0, CZ_MAX_BYTES);
    r->out->together_ps =
        cz_json_number_of(&longest, "together_ps", 0, CZ_MAX_BYTES);
}

static void read_metrics(cz_sheet_reader *r, const cz_json_at *root)
{
    const cz_json_at metrics = cz_json_member(root, "metrics");
    const cz_json_at memory = cz_json_member(&metrics, "memory_bytes");
    r->out->time_ps = numbers_of(r, &metrics, "time_ps");
    r->out->flops = numbers_of(r, &metrics, "flops");
    r->out->n_whole = numbers_of(r, &metrics, "matrices");
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        r->out->memory[k] =
            numbers_of(r, &memory, cz_memory_name((cz_memory)k));
    read_sent(r, &metrics);
    read_trainer_wire(r, &metrics);
    read_longest(r, &metrics);
    read_bounds(r, &metrics);
}

static void read_baselines(cz_sheet_reader *r, const cz_json_at *root)
{
    const cz_json_at list = cz_json_member(root, "baselines");
    const int n = cz_json_length(&list);
    cz_sheet_baseline *out = CZ_NEW(r->reading->arena, cz_sheet_baseline, n);
    r->out->baselines = out;
    r->out->n_baselines = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        out[i].name = cz_json_word_of(&entry, "name");
        if (cz_json_has(&entry, "time_ps"))
            out[i].time_ps = numbers_of(r, &entry, "time_ps");
        if (cz_json_has(&entry, "state_bytes"))
            out[i].state_bytes = numbers_of(r, &entry, "state_bytes");
    }
}

/* ---- digests ---- */

const char *const cz_sheet_parts[CZ_SHEET_N_PARTS] = {
    "mesh",          "policy",     "reductions", "parameters", "families",
    "stages",        "classes",    "matrices",   "states",     "buckets",
    "groups",        "schedule",   "metrics",    "baselines",  "constants",
    "uneven_reduce", "geometries", "groupings"};

static int add_bytes(const char *bytes, size_t n, void *context)
{
    sha256_update(context, n, (const uint8_t *)bytes);
    return 0;
}

/* Of the part as compact JSON, keys in order. */
static void find_digests(cz_sheet_reader *r, const cz_json_at *root)
{
    for (int i = 0; i < CZ_SHEET_N_PARTS; i++) {
        const cz_json_at part = cz_json_member(root, cz_sheet_parts[i]);
        struct sha256_ctx context;
        uint8_t digest[SHA256_DIGEST_SIZE];
        if (!part.value)
            return;
        sha256_init(&context);
        json_dump_callback(part.value, add_bytes, &context,
                           JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        sha256_digest(&context, sizeof digest, digest);
        for (size_t k = 0; k < sizeof digest; k++)
            snprintf(r->out->digests[i] + 2 * k, 3, "%02x", digest[k]);
    }
}

/* ---- the document ---- */

static void read_header(cz_sheet_reader *r, const cz_json_at *root)
{
    const cz_json_at header = cz_json_member(root, "header");
    const cz_json_at strict = cz_json_member(&header, "strict");
    r->out->name = cz_json_word_of(&header, "name");
    r->out->compiler = cz_json_word_of(&header, "compiler");
    r->out->source_hash = cz_json_word_of(&header, "source_hash");
    r->out->plan_hash = cz_json_word_of(&header, "plan_hash");
    r->out->objective = cz_json_word_of(&header, "objective");
    r->out->is_strict = cz_json_truth(&strict);
}

/* The axes of the mesh that a name stands for, multiplied. */
static int64_t size_of(cz_sheet_reader *r, const cz_json_at *name)
{
    const cz_json_at list = cz_json_member(name, "axes");
    const int n = cz_json_length(&list);
    int64_t size = 1;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at axis = cz_json_element(&list, i);
        const char *word = cz_json_word(&axis);
        for (int a = 0; a < r->out->n_axes; a++)
            if (strcmp(r->out->axes[a].name, word) == 0 &&
                !cz_checked_mul(size, r->out->axes[a].size, &size))
                cz_json_wrong(&list, "are too many ranks");
    }
    return size;
}

static void read_names(cz_sheet_reader *r, const cz_json_at *mesh)
{
    const cz_json_at list = cz_json_member(mesh, "names");
    const int n = cz_json_length(&list);
    cz_sheet_axis *out = CZ_NEW(r->reading->arena, cz_sheet_axis, n);
    r->out->names = out;
    r->out->n_names = n;
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at name = cz_json_element(&list, i);
        out[i].name = cz_json_word_of(&name, "name");
        out[i].size = size_of(r, &name);
    }
}

static void read_mesh(cz_sheet_reader *r, const cz_json_at *root)
{
    const cz_json_at mesh = cz_json_member(root, "mesh");
    const cz_json_at list = cz_json_member(&mesh, "axes");
    const int n = cz_json_length(&list);
    cz_sheet_axis *out = CZ_NEW(r->reading->arena, cz_sheet_axis, n);
    r->out->axes = out;
    r->out->n_axes = n;
    r->out->n_ranks = (int)cz_json_number_of(&mesh, "ranks", 1, MAX_RANKS);
    for (int i = 0; i < n && !r->reading->failed; i++) {
        const cz_json_at axis = cz_json_element(&list, i);
        out[i].name = cz_json_word_of(&axis, "name");
        out[i].size = cz_json_number_of(&axis, "size", 1, MAX_RANKS);
    }
    read_names(r, &mesh);
}

bool cz_plan_sheet_read(cz_arena *arena, const char *name, const cz_text *text,
                        cz_diags *diags, cz_sheet *out)
{
    cz_json_reading reading = {arena, diags, name, false};
    cz_sheet_reader r = {&reading, out};
    cz_json_at root = {&reading, NULL, NULL, 0, NULL};
    json_t *tree = cz_plan_json_load(&root, text);
    *out = (cz_sheet){0};
    if (tree) {
        read_header(&r, &root);
        read_mesh(&r, &root);
        cz_sheet_read_lists(&r, &root);
        read_metrics(&r, &root);
        read_baselines(&r, &root);
        find_digests(&r, &root);
    }
    json_decref(tree);
    return !reading.failed;
}

/* ---- what follows ---- */

int64_t cz_sheet_time(const cz_sheet *sheet)
{
    int64_t most = 0;
    for (int r = 0; r < sheet->n_ranks; r++)
        most = sheet->time_ps[r] > most ? sheet->time_ps[r] : most;
    return most;
}

/* Of equal ones the first. */
static const cz_sheet_bound *largest(const cz_sheet *sheet, bool with_links)
{
    const cz_sheet_bound *most = NULL;
    for (int i = 0; i < sheet->n_bounds; i++)
        if ((with_links || !sheet->bounds[i].is_of_links) &&
            (!most || sheet->bounds[i].value > most->value))
            most = &sheet->bounds[i];
    return most;
}

const cz_sheet_bound *cz_sheet_binding(const cz_sheet *sheet)
{
    return largest(sheet, false);
}

const cz_sheet_bound *cz_sheet_binding_step(const cz_sheet *sheet)
{
    return largest(sheet, true);
}
