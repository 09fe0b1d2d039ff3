/* Plan JSON to flat arrays, list by list. */
#include "frontend/document/read.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "frontend/document/compare.h"

enum { MAX_RANKS = 1 << 16, MILLION = 1000000 };

#define WORD(type, member, key) CZ_JSON_FIELD(type, member, key, WORD, 0, 0)
#define SHAPE(type, member, key) CZ_JSON_FIELD(type, member, key, SHAPE, 0, 0)
#define TRUTH(type, member, key) CZ_JSON_FIELD(type, member, key, TRUTH, 0, 0)
#define WORD_OR_NULL(type, member, key)                                        \
    CZ_JSON_FIELD(type, member, key, WORD_OR_NULL, 0, 0)
#define NUMBER(type, member, key, low, high)                                   \
    CZ_JSON_FIELD(type, member, key, NUMBER, low, high)
#define OPTIONAL(type, member, key, high)                                      \
    CZ_JSON_FIELD(type, member, key, OPTIONAL, 0, high)

typedef struct reader {
    cz_json_reading reading;
    cz_document *out;
    int n_buckets; /* they are read after what names them */
} reader;

/* ---- axes ---- */

/* The number of the axis of that name; reported where there is none. */
static int axis_of(const cz_document *document, const cz_json_at *at)
{
    const char *name = cz_json_word(at);
    for (int i = 0; i < document->n_axes; i++)
        if (strcmp(document->axes[i].name, name) == 0)
            return i;
    cz_json_wrong(at, "is no axis of the mesh");
    return 0;
}

/* The set of axes that a list names. */
static int64_t set_of(const reader *r, const cz_json_at *in, const char *key)
{
    const cz_json_at list = cz_json_member(in, key);
    const int n = cz_json_length(&list);
    int64_t set = 0;
    for (int i = 0; i < n && !r->reading.failed; i++) {
        const cz_json_at element = cz_json_element(&list, i);
        set |= (int64_t)1 << axis_of(r->out, &element);
    }
    return set;
}

/* Coordinates over a set. */
static int extent_of(const reader *r, int64_t set)
{
    int64_t n = 1;
    for (int i = 0; i < r->out->n_axes; i++)
        n *= set >> i & 1 ? r->out->axes[i].size : 1;
    return (int)n;
}

static const cz_json_field axis_fields[] = {
    WORD(cz_document_axis, name, "name"),
    NUMBER(cz_document_axis, size, "size", 1, MAX_RANKS),
    {0}};

static void read_axes(reader *r, const cz_json_at *mesh)
{
    const cz_json_at list = cz_json_member(mesh, "axes");
    cz_document *out = r->out;
    int64_t ranks = 1;
    if (json_array_size(list.value) > CZ_VIEW_MAX_AXES)
        cz_json_wrong(&list, "has more than %d axes", CZ_VIEW_MAX_AXES);
    out->axes = cz_json_list_of(mesh, "axes", sizeof *out->axes, axis_fields,
                                NULL, NULL, &out->n_axes);
    for (int i = 0; i < out->n_axes && !r->reading.failed; i++)
        if ((ranks *= out->axes[i].size) > MAX_RANKS)
            cz_json_wrong(&list, "make more than %d ranks", MAX_RANKS);
    out->n_ranks = (int)ranks;
    if (cz_json_number_of(mesh, "ranks", 1, MAX_RANKS) != ranks)
        cz_json_wrong(mesh, "has another number of ranks than its axes");
}

/* Tokens are dealt out over the data-parallel axes. */
static void read_name(void *context, const cz_json_at *at, void *entry)
{
    reader *r = context;
    cz_document *d = r->out;
    int64_t dp_set = 0;
    const struct {
        const char *name;
        int64_t *set;
        bool is_of_data;
    } known[] = {{"dp", &dp_set, true},
                 {"fsdp", &d->shard_set, true},
                 {"cp", &d->sequence_set, true},
                 {"ep", &d->ep_set, false},
                 {"pp", &d->pipeline_set, false}};
    cz_document_axis *out = entry;
    const int64_t set = set_of(r, at, "axes");
    out->name = cz_json_word_of(at, "name");
    out->size = extent_of(r, set);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(out->name, known[k].name) == 0) {
            *known[k].set = set;
            d->data_set |= known[k].is_of_data ? set : 0;
        }
}

/* ---- types ---- */

static cz_dtype dtype_of(const cz_json_at *in, const char *key)
{
    const cz_json_at at = cz_json_member(in, key);
    cz_dtype dtype = CZ_F32;
    if (!cz_dtype_find(cz_json_word(&at), &dtype))
        cz_json_wrong(&at, "is no type");
    return dtype;
}

/* ---- the machine ---- */

const cz_json_field cz_document_constant_fields[] = {
    WORD(cz_document_constant, name, "name"),
    NUMBER(cz_document_constant, value, "value", 0, CZ_MAX_BYTES),
    WORD(cz_document_constant, unit, "unit"),
    WORD(cz_document_constant, source, "source"),
    TRUTH(cz_document_constant, is_measured, "measured"),
    {0}};

const cz_json_field cz_document_uneven_fields[] = {
    WORD(cz_fact_uneven_reduce, link, "link"),
    NUMBER(cz_fact_uneven_reduce, bytes, "bytes", 0, CZ_MAX_BYTES),
    NUMBER(cz_fact_uneven_reduce, roots, "roots", 0, CZ_MAX_DIM),
    NUMBER(cz_fact_uneven_reduce, thousandths, "thousandths", 1, 1000),
    TRUTH(cz_fact_uneven_reduce, measured, "measured"),
    {0}};

static void check_uneven(void *context, const cz_json_at *at, void *entry)
{
    const cz_fact_uneven_reduce *uneven = entry;
    (void)context;
    if (strcmp(uneven->link, "node") != 0 &&
        strcmp(uneven->link, "network") != 0) {
        const cz_json_at link = cz_json_member(at, "link");
        cz_json_wrong(&link, "is neither node nor network");
    }
}

/* ---- parameters ---- */

static void read_reduction(void *context, const cz_json_at *at, void *entry)
{
    const reader *r = context;
    cz_document_reduction *out = entry;
    const int64_t n_grads = cz_json_number_of(at, "leaves", 1, CZ_MAX_DIM);
    out->name = cz_json_word_of(at, "name");
    out->reduce_set = set_of(r, at, "reduce_axes");
    out->split_set = set_of(r, at, "split_axes");
    out->grad_bytes = n_grads * cz_dtype_bytes(dtype_of(at, "dtype"));
}

static void read_home(reader *r, const cz_json_at *in,
                      cz_document_residents *out)
{
    const cz_json_at residents = cz_json_member(in, "home");
    out->set = set_of(r, &residents, "axes");
    out->n = -1;
    out->coordinates = cz_json_numbers_of(&residents, "coordinates", 0,
                                          extent_of(r, out->set) - 1, &out->n);
    if (out->set != 0 && out->n == 0)
        cz_json_wrong(&residents, "is nowhere");
}

static const cz_json_field param_fields[] = {
    WORD(cz_document_param, name, "name"),
    WORD(cz_document_param, dtype, "dtype"),
    WORD_OR_NULL(cz_document_param, param_group, "group"),
    SHAPE(cz_document_param, shape, "shape"),
    WORD_OR_NULL(cz_document_param, optimizer, "optimizer"),
    WORD_OR_NULL(cz_document_param, grad, "grad"),
    WORD_OR_NULL(cz_document_param, master, "master"),
    NUMBER(cz_document_param, elements, "element_count", 0, CZ_MAX_BYTES),
    {0}};

/* "8192/tp x 5120", and the same in numbers. */
static void read_layout(reader *r, const cz_json_at *at, cz_document_param *out)
{
    const cz_json_at shape = cz_json_member(at, "shape");
    const cz_json_at shard = cz_json_member(at, "shard");
    const int n = cz_json_length(&shape);
    const char *text = "";
    if (cz_json_length(&shard) != n)
        cz_json_wrong(&shard, "is not of as many dimensions as the shape");
    if (n > CZ_DOCUMENT_DIMS)
        cz_json_wrong(&shape, "has more than %d dimensions", CZ_DOCUMENT_DIMS);
    out->n_dims = n;
    for (int d = 0; d < n && !r->reading.failed; d++) {
        const cz_json_at size = cz_json_element(&shape, d);
        const cz_json_at axes = cz_json_element(&shard, d);
        const int n_axes = cz_json_length(&axes);
        out->dims[d] = cz_json_number(&size, 0, CZ_MAX_BYTES);
        text = cz_arena_printf(r->reading.arena, "%s%s%s", text,
                               d > 0 ? " x " : "", cz_json_any_text(&size));
        for (int i = 0; i < n_axes && !r->reading.failed; i++) {
            const cz_json_at axis = cz_json_element(&axes, i);
            text = cz_arena_printf(r->reading.arena, "%s/%s", text,
                                   cz_json_word(&axis));
            out->cuts[d] |= (int64_t)1 << axis_of(r->out, &axis);
        }
    }
    out->layout = text;
}

static void read_param(void *context, const cz_json_at *at, void *entry)
{
    reader *r = context;
    cz_document_param *out = entry;
    const cz_json_at tie = cz_json_member(at, "tied_to");
    const cz_json_at names = cz_json_member(at, "names");
    const int n_names = cz_json_length(&names);
    out->is_expert_partitioned = n_names > 0;
    out->n_names = out->is_expert_partitioned ? n_names : 1;
    out->bucket = (int)cz_json_optional_of(at, "bucket", r->n_buckets - 1);
    out->stages = cz_json_joined_of(at, "stage", ", ");
    out->expert_set = set_of(r, at, "spread");
    read_layout(r, at, out);
    read_home(r, at, &out->residents);
    if (!cz_json_is_null(&tie))
        r->out->n_ties++;
    else if (r->out->n_ties == 0)
        r->out->n_params = at->index + 1;
    else
        cz_json_wrong(at, "stands behind a name of another one");
}

static void read_params(reader *r, const cz_json_at *root)
{
    const cz_json_at at = cz_json_member(root, "parameters");
    int64_t total = 0, all;
    int n;
    cz_document_param *params = cz_json_list_of(
        root, "parameters", sizeof *params, param_fields, read_param, r, &n);
    r->out->params = params;
    for (int i = 0; i < n && !r->reading.failed; i++)
        if (!cz_checked_mul(params[i].elements, params[i].n_names, &all) ||
            !cz_checked_add(total, all, &total))
            cz_json_wrong(&at, "have more elements than can be counted");
}

/* ---- matrices ---- */

const cz_json_field cz_document_candidate_fields[] = {
    WORD(cz_document_candidate, strategy, "strategy"),
    NUMBER(cz_document_candidate, subgroup_size, "group_size", 1, CZ_MAX_DIM),
    OPTIONAL(cz_document_candidate, time_ps, "time_ps", CZ_MAX_BYTES),
    TRUTH(cz_document_candidate, is_measured, "measured"),
    OPTIONAL(cz_document_candidate, wire_bytes, "bytes", CZ_MAX_BYTES),
    WORD(cz_document_candidate, why, "why"),
    {0}};

static const cz_json_field matrix_fields[] = {
    NUMBER(cz_document_matrix, rows, "rows", 1, CZ_MAX_DIM),
    NUMBER(cz_document_matrix, columns, "cols", 1, CZ_MAX_DIM),
    NUMBER(cz_document_matrix, batch, "batch", 1, CZ_MAX_DIM),
    WORD(cz_document_matrix, strategy, "strategy"),
    NUMBER(cz_document_matrix, subgroup_size, "group_size", 1, CZ_MAX_DIM),
    NUMBER(cz_document_matrix, stride, "stride", 1, CZ_MAX_DIM),
    OPTIONAL(cz_document_matrix, micro_group, "micro_group", INT32_MAX),
    {0}};

static const cz_json_field cost_fields[] = {
    NUMBER(cz_document_matrix, flops, "flops", 0, INT64_MAX),
    NUMBER(cz_document_matrix, time_ps, "time_ps", 0, CZ_MAX_BYTES),
    NUMBER(cz_document_matrix, wire_bytes, "bytes", 0, CZ_MAX_BYTES),
    {0}};

static void read_matrix(void *context, const cz_json_at *at, void *entry)
{
    const reader *r = context;
    cz_document_matrix *out = entry;
    const cz_json_at owner = cz_json_member(at, "owner");
    const cz_json_at cost = cz_json_member(at, "cost");
    if (r->out->n_params == 0)
        cz_json_wrong(at, "is of no parameter");
    out->param =
        (int)cz_json_number_of(at, "parameter", 0, r->out->n_params - 1);
    out->split = cz_json_number_of(&owner, "split", 0, CZ_MAX_DIM);
    out->shard = cz_json_optional_of(&owner, "shard", CZ_MAX_DIM);
    cz_json_read_fields(&cost, cost_fields, out);
    out->candidates = cz_json_list_of(at, "candidates", sizeof *out->candidates,
                                      cz_document_candidate_fields, NULL, NULL,
                                      &out->n_candidates);
}

static const cz_json_field state_fields[] = {
    WORD(cz_document_state, rule, "rule"),
    WORD(cz_document_state, name, "name"),
    SHAPE(cz_document_state, shape, "shape"),
    TRUTH(cz_document_state, is_extern, "extern"),
    {0}};

/* ---- stages ---- */

const cz_json_field cz_document_rewrite_fields[] = {
    WORD(cz_document_rewrite, name, "name"),
    NUMBER(cz_document_rewrite, count, "count", 1, CZ_MAX_DIM),
    WORD(cz_document_rewrite, unit, "unit"),
    NUMBER(cz_document_rewrite, before, "before", 0, CZ_MAX_BYTES),
    NUMBER(cz_document_rewrite, after, "after", 0, CZ_MAX_BYTES),
    {0}};

static const cz_json_field call_fields[] = {
    NUMBER(cz_document_step, effort, "effort", 0, CZ_MAX_BYTES),
    NUMBER(cz_document_step, launches, "launches", 1, CZ_MAX_DIM),
    {0}};

static const cz_json_field product_fields[] = {
    NUMBER(cz_document_step, rows, "rows", 1, CZ_MAX_DIM),
    NUMBER(cz_document_step, columns, "columns", 1, CZ_MAX_DIM),
    NUMBER(cz_document_step, inner, "inner", 1, CZ_MAX_DIM),
    TRUTH(cz_document_step, symmetric, "symmetric"),
    {0}};

static void read_step(void *context, const cz_json_at *at, void *entry)
{
    enum { MAP, PRODUCT, CALL, N_KINDS };
    static const char *const kinds[N_KINDS] = {"map", "product", "call"};
    cz_document_step *out = entry;
    const int kind = cz_json_choice_of(at, "kind", kinds, N_KINDS);
    (void)context;
    out->is_product = kind == PRODUCT;
    out->dtype = CZ_F32;
    out->bytes = cz_json_number_of(at, "bytes", 0, CZ_MAX_BYTES);
    if (kind == CALL)
        cz_json_read_fields(at, call_fields, out);
    if (kind != PRODUCT)
        return;
    cz_json_read_fields(at, product_fields, out);
    out->dtype = dtype_of(at, "dtype");
}

static const cz_json_field stage_fields[] = {
    WORD(cz_document_stage, name, "name"),
    NUMBER(cz_document_stage, flops, "flops", 0, CZ_MAX_BYTES),
    NUMBER(cz_document_stage, batch, "batch", 0, 1 << 20),
    NUMBER(cz_document_stage, time_ps, "time_ps", 0, CZ_MAX_BYTES),
    TRUTH(cz_document_stage, is_measured, "measured"),
    {0}};

static void read_stage(void *context, const cz_json_at *at, void *entry)
{
    cz_document_stage *out = entry;
    int where = CZ_N_WHERES, n = -1;
    cz_word_find(CZ_VOCABULARY_where, cz_json_word_of(at, "where"), &where);
    (void)context;
    out->is_full_matrix = where == CZ_WHERE_FULL_MATRIX;
    out->is_shaped = out->is_full_matrix || where == CZ_WHERE_SUBGROUP;
    out->batch_ps = cz_json_numbers_of(at, "batch_ps", 0, CZ_MAX_BYTES, &n);
    out->n_batches = n;
    out->steps = cz_json_list_of(at, "steps", sizeof *out->steps, NULL,
                                 read_step, NULL, &out->n_steps);
    out->rewrites = cz_json_list_of(at, "rewrites", sizeof *out->rewrites,
                                    cz_document_rewrite_fields, NULL, NULL,
                                    &out->n_rewrites);
}

/* ---- buckets ---- */

static void read_slices(reader *r, const cz_json_at *at,
                        cz_document_bucket *out)
{
    int n = out->n_slices + 1;
    const int64_t *ends = cz_json_numbers_of(at, "slices", 0, out->length, &n);
    for (int i = 0; i < out->n_slices && !r->reading.failed; i++)
        if (ends[i + 1] < ends[i])
            cz_json_wrong(at, "has slices that descend");
    if (!r->reading.failed)
        cz_document_measure_slices(
            out, ends, CZ_NEW(r->reading.arena, int64_t, out->n_slices));
}

static const cz_json_field bucket_fields[] = {
    WORD(cz_document_bucket, dtype, "dtype"),
    WORD(cz_document_bucket, kind, "kind"),
    WORD(cz_document_bucket, geometry, "geometry"),
    NUMBER(cz_document_bucket, length, "length", 1, CZ_MAX_BYTES / 4096),
    {0}};

static const int64_t *order_of(const reader *r, const cz_json_at *at, int *n)
{
    const cz_json_at order = cz_json_member(at, "order");
    *n = -1;
    const int64_t *params =
        cz_json_numbers_of(at, "order", 0, r->out->n_params - 1, n);
    if (*n == 0)
        cz_json_wrong(&order, "is empty");
    return params;
}

static int reduction_of(const reader *r, const cz_json_at *at)
{
    const char *name = cz_json_word_of(at, "reduction");
    for (int i = 0; i < r->out->n_reductions; i++)
        if (strcmp(r->out->reductions[i].name, name) == 0)
            return i;
    cz_json_wrong(at, "has a reduction that is none of those known");
    return 0;
}

/* All its parameters have one home. */
static void read_bucket(void *context, const cz_json_at *at, void *entry)
{
    reader *r = context;
    cz_document_bucket *out = entry;
    const int64_t *params = order_of(r, at, &out->n_params);
    out->reduction = reduction_of(r, at);
    if (r->reading.failed)
        return;
    out->param_groups = cz_json_joined_of(at, "groups", ", ");
    out->residents = r->out->params[params[0]].residents;
    out->n_slices = extent_of(r, r->out->reductions[out->reduction].split_set);
    out->element_bytes = cz_dtype_bytes(dtype_of(at, "dtype"));
    out->message = cz_json_has(at, "message")
                       ? (int)cz_json_number_of(at, "message", 0, INT32_MAX)
                       : at->index;
    int geometry = CZ_N_GEOMETRIES;
    cz_word_find(CZ_VOCABULARY_geometry, out->geometry, &geometry);
    out->is_padded = geometry == CZ_GEOMETRY_PADDED;
    out->is_equal = geometry == CZ_GEOMETRY_EQUAL;
    read_slices(r, at, out);
}

/* ---- operations ---- */

static int choice_of(const cz_json_at *at, const char *key,
                     cz_vocabulary vocabulary)
{
    int n;
    const char *const *words = cz_words(vocabulary, &n);
    return cz_json_choice_of(at, key, words, n);
}

/* An operation, as far as it is read, and who reads it. */
typedef struct op_reader {
    reader *r;
    const cz_document_op *op;
} op_reader;

static void read_work(void *context, const cz_json_at *at, void *entry)
{
    const op_reader *o = context;
    cz_document_work *out = entry;
    int n = extent_of(o->r, o->op->over);
    out->stage =
        (int)cz_json_number_of(at, "stage", 0, o->r->out->n_stages - 1);
    out->rows = cz_json_numbers_of(at, "rows", 0, CZ_MAX_DIM, &n);
    out->elements = cz_json_numbers_of(at, "elements", 0, CZ_MAX_BYTES, &n);
}

static const int64_t *read_moves(const reader *r, const cz_json_at *at,
                                 const char *key, const cz_document_op *op)
{
    const bool moves =
        op->kind == CZ_STEP_TRANSFER || op->kind == CZ_STEP_GROUP_SUM;
    int n = moves ? extent_of(r, op->over) : 0;
    const int64_t *bytes = cz_json_numbers_of(at, key, 0, CZ_MAX_BYTES, &n);
    return n > 0 ? bytes : NULL;
}

static cz_block read_block(const reader *r, const cz_json_at *at, int64_t comm)
{
    const cz_json_at group = cz_json_member(at, "group");
    const int64_t extent = extent_of(r, comm);
    const cz_block block = {cz_json_number_of(at, "group", 0, extent),
                            cz_json_number_of(at, "stride", 0, extent)};
    if (!r->reading.failed && block.size > 0 &&
        !cz_block_divides(block, extent))
        cz_json_wrong(&group, "makes no blocks of the axes");
    return block;
}

static const cz_json_field op_fields[] = {
    NUMBER(cz_document_op, stream, "stream", 0, 2),
    NUMBER(cz_document_op, sent_bytes, "sent_bytes", 0, INT64_MAX),
    {0}};

static void read_op(void *context, const cz_json_at *at, void *entry)
{
    reader *r = context;
    cz_document_op *out = entry;
    op_reader o = {r, out};
    const cz_json_at bucket = cz_json_member(at, "bucket");
    out->kind = (cz_step_kind)choice_of(at, "kind", CZ_VOCABULARY_step_kind);
    out->section = (cz_section)choice_of(at, "section", CZ_VOCABULARY_section);
    out->bucket = (int)cz_json_optional_of(at, "bucket", r->n_buckets - 1);
    if (out->bucket < 0 &&
        (out->kind == CZ_STEP_REDUCE_SCATTER ||
         out->kind == CZ_STEP_ALL_GATHER || out->kind == CZ_STEP_SQUARE_SUM))
        cz_json_wrong(&bucket, "is missing");
    out->comm = set_of(r, at, "axes");
    out->axes = cz_json_joined_of(at, "axes", " x ");
    out->block = read_block(r, at, out->comm);
    out->over = set_of(r, at, "over");
    out->n_waits = -1;
    out->waits =
        cz_json_numbers_of(at, "waits", 0, at->index - 1, &out->n_waits);
    out->work = cz_json_list_of(at, "work", sizeof *out->work, NULL, read_work,
                                &o, &out->n_work);
    out->sent = read_moves(r, at, "sent", out);
    out->received = read_moves(r, at, "received", out);
}

/* ---- ranks ---- */

/* A number of each rank. */
static const int64_t *ranks_of(reader *r, const cz_json_at *in, const char *key)
{
    return cz_json_numbers_of(in, key, 0, CZ_MAX_BYTES, &r->out->n_ranks);
}

static const cz_json_field bound_fields[] = {
    WORD(cz_document_bound, name, "name"),
    WORD(cz_document_bound, of, "of"),
    NUMBER(cz_document_bound, value, "value", 0, CZ_MAX_BYTES),
    OPTIONAL(cz_document_bound, plan, "plan", CZ_MAX_BYTES),
    NUMBER(cz_document_bound, n_ranks, "ranks", 0, CZ_MAX_DIM),
    NUMBER(cz_document_bound, bytes, "bytes", 0, CZ_MAX_BYTES),
    {0}};

static void read_bound(void *context, const cz_json_at *at, void *entry)
{
    const reader *r = context;
    cz_document_bound *out = entry;
    out->is_of_links = strcmp(out->of, "links") == 0;
    out->witness = cz_json_optional_of(at, "witness", r->out->n_params - 1);
    out->n_admits = -1;
    out->admits =
        cz_json_numbers_of(at, "admits", 1, CZ_MAX_DIM, &out->n_admits);
}

static const cz_json_field longest_fields[] = {
    NUMBER(cz_document, longest_ps, "time_ps", 0, CZ_MAX_BYTES),
    NUMBER(cz_document, together_ps, "together_ps", 0, CZ_MAX_BYTES),
    {0}};

static const cz_json_field trainer_fields[] = {
    NUMBER(cz_document, trainer_gradient_bytes, "gradients", 0, CZ_MAX_BYTES),
    NUMBER(cz_document, trainer_parameter_bytes, "parameters", 0, CZ_MAX_BYTES),
    {0}};

static void read_metrics(reader *r, const cz_json_at *root)
{
    cz_document *out = r->out;
    const cz_json_at metrics = cz_json_member(root, "metrics");
    const cz_json_at memory = cz_json_member(&metrics, "memory_bytes");
    const cz_json_at sent = cz_json_member(&metrics, "sent_bytes");
    const cz_json_at trainer = cz_json_member(&metrics, "trainer_bytes");
    const cz_json_at longest = cz_json_member(&metrics, "longest_update");
    out->time_ps = ranks_of(r, &metrics, "time_ps");
    out->flops = ranks_of(r, &metrics, "flops");
    out->n_updates = ranks_of(r, &metrics, "matrices");
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        out->memory[k] = ranks_of(r, &memory, cz_memory_name((cz_memory)k));
    for (int k = 0; k < CZ_N_STEPS; k++)
        if (cz_json_has(&sent, cz_step_kind_word((cz_step_kind)k)))
            out->sent[k] =
                ranks_of(r, &sent, cz_step_kind_word((cz_step_kind)k));
    cz_json_read_fields(&trainer, trainer_fields, out);
    out->has_longest = !cz_json_is_null(&longest);
    if (out->has_longest)
        cz_json_read_fields(&longest, longest_fields, out);
    out->bounds = cz_json_list_of(&metrics, "bounds", sizeof *out->bounds,
                                  bound_fields, read_bound, r, &out->n_bounds);
}

/* ---- baselines ---- */

static const cz_json_field message_fields[] = {
    NUMBER(cz_document_message, elements, "elements", 0, CZ_MAX_BYTES / 4096),
    NUMBER(cz_document_message, bytes, "bytes", 0, CZ_MAX_BYTES),
    {0}};

/* All its parameters have one home. */
static void read_message(void *context, const cz_json_at *at, void *entry)
{
    const reader *r = context;
    cz_document_message *out = entry;
    out->params = order_of(r, at, &out->n_params);
    out->reduction = reduction_of(r, at);
    if (r->reading.failed)
        return;
    out->residents = r->out->params[out->params[0]].residents;
    out->n_slices = extent_of(r, r->out->reductions[out->reduction].split_set);
    out->own =
        cz_json_numbers_of(at, "slices", 0, out->elements, &out->n_slices);
}

/* With its matrices in micro-groups: variants of the baseline. */
static void add_micro_groups(reader *r, const cz_json_at *baseline,
                             const cz_document_baseline *of,
                             cz_document_baseline **all)
{
    const cz_json_at list = cz_json_member(baseline, "groupings");
    const int n = cz_json_length(&list);
    (*all)[r->out->n_baselines - 1].is_grouped = n > 0;
    for (int g = 0; g < n && !r->reading.failed; g++) {
        const cz_json_at at = cz_json_element(&list, g);
        cz_document_baseline *out =
            CZ_PUSH(r->reading.arena, *all, r->out->n_baselines);
        *out = *of;
        out->is_variant = true;
        out->time_ps = ranks_of(r, &at, "time_ps");
    }
}

static void read_baselines(reader *r, const cz_json_at *root)
{
    const cz_json_at list = cz_json_member(root, "baselines");
    const int n = cz_json_length(&list);
    const char *last = "";
    cz_document_baseline *all = NULL;
    for (int i = 0; i < n && !r->reading.failed; i++) {
        const cz_json_at at = cz_json_element(&list, i);
        cz_document_baseline one = {
            .name = cz_json_word_of(&at, "name"),
            .bucket_elements =
                cz_json_number_of(&at, "bucket_elements", 1, CZ_MAX_BYTES),
            .time_ps = ranks_of(r, &at, "time_ps"),
            .launches = ranks_of(r, &at, "launches"),
            .state_bytes = ranks_of(r, &at, "state_bytes"),
            .all_reduces = cz_json_truth_of(&at, "all_reduces"),
            .gathers = cz_json_truth_of(&at, "gathers"),
            .is_exposed = cz_json_truth_of(&at, "exposed")};
        one.messages =
            cz_json_list_of(&at, "messages", sizeof *one.messages,
                            message_fields, read_message, r, &one.n_messages);
        if (!r->reading.failed) {
            one.is_variant = strcmp(one.name, last) == 0;
            last = one.name;
        }
        *CZ_PUSH(r->reading.arena, all, r->out->n_baselines) = one;
        add_micro_groups(r, &at, &one, &all);
    }
    r->out->baselines = all;
}

/* ---- what was compared ---- */

const cz_json_field cz_document_micro_groups_fields[] = {
    NUMBER(cz_document_micro_groups, n, "groups", 1, INT32_MAX),
    NUMBER(cz_document_micro_groups, time_ps, "time_ps", 0, CZ_MAX_BYTES),
    {0}};

/* ---- the document ---- */

static const cz_json_field header_fields[] = {
    WORD(cz_document, name, "name"),
    WORD(cz_document, compiler, "compiler"),
    WORD(cz_document, source_hash, "source_hash"),
    WORD(cz_document, plan_hash, "plan_hash"),
    WORD(cz_document, objective, "objective"),
    TRUTH(cz_document, is_strict, "strict"),
    {0}};

static void read_header(reader *r, const cz_json_at *root)
{
    cz_document *out = r->out;
    const cz_json_at schema = cz_json_member(root, "schema");
    if (strcmp(cz_json_word(&schema), "canzona.plan/3") != 0)
        cz_json_wrong(&schema, "is not \"canzona.plan/3\"");
    const cz_json_at header = cz_json_member(root, "header");
    const cz_json_at mesh = cz_json_member(root, "mesh");
    const cz_json_at policy = cz_json_member(root, "policy");
    cz_json_read_fields(&header, header_fields, out);
    read_axes(r, &mesh);
    if (r->reading.failed)
        return;
    out->names = cz_json_list_of(&mesh, "names", sizeof *out->names, NULL,
                                 read_name, r, &out->n_names);
    out->decides = cz_json_truth_of(&policy, "skip") ||
                   strcmp(cz_json_word_of(&policy, "clip"), "0") != 0;
    out->guards = strcmp(cz_json_word_of(&policy, "clip"), "0") == 0;
    out->tokens = cz_json_number_of(&policy, "tokens", 0, CZ_MAX_DIM);
    out->active = cz_json_number_of(&policy, "active", 1, MILLION);
}

/* Whoever is named by number is read before who names it. */
static void read_lists(reader *r, const cz_json_at *root)
{
    cz_document *out = r->out;
    const cz_json_at buckets = cz_json_member(root, "buckets");
    r->n_buckets = cz_json_length(&buckets);
#define LIST(member, key, fields, more)                                        \
    if (!r->reading.failed)                                                    \
    out->member = cz_json_list_of(root, key, sizeof *out->member, fields,      \
                                  more, r, &out->n_##member)
    LIST(constants, "constants", cz_document_constant_fields, NULL);
    LIST(uneven_reduces, "uneven_reduce", cz_document_uneven_fields,
         check_uneven);
    LIST(reductions, "reductions", NULL, read_reduction);
    read_params(r, root);
    LIST(matrices, "matrices", matrix_fields, read_matrix);
    LIST(states, "states", state_fields, NULL);
    LIST(stages, "stages", stage_fields, read_stage);
    LIST(buckets, "buckets", bucket_fields, read_bucket);
    LIST(ops, "schedule", op_fields, read_op);
    LIST(micro_groups, "groupings", cz_document_micro_groups_fields, NULL);
#undef LIST
    cz_document_read_facts(root, out);
}

bool cz_document_is(const cz_text *text)
{
    const char *start = cz_text_string(text);
    return start[strspn(start, " \t\r\n")] == '{';
}

static void read_document(reader *r, const cz_json_at *root)
{
    *r->out = (cz_document){0};
    if (!r->reading.failed)
        read_header(r, root);
    if (!r->reading.failed)
        read_lists(r, root);
    if (!r->reading.failed)
        read_metrics(r, root);
    if (!r->reading.failed)
        read_baselines(r, root);
}

bool cz_document_read_tree(cz_arena *arena, const char *name,
                           const json_t *tree, cz_diags *diags,
                           cz_document *out)
{
    reader r = {.reading = {arena, diags, name, false}, .out = out};
    const cz_json_at root = {&r.reading, NULL, NULL, 0, tree};
    read_document(&r, &root);
    return !r.reading.failed;
}

bool cz_document_read(cz_arena *arena, const char *name, const cz_text *text,
                      cz_diags *diags, bool with_digests, cz_document *out)
{
    reader r = {.reading = {arena, diags, name, false}, .out = out};
    cz_json_at root = {&r.reading, NULL, NULL, 0, NULL};
    json_t *tree = cz_json_parse(&root, text);
    read_document(&r, &root);
    if (!r.reading.failed && with_digests)
        cz_document_find_digests(&root, out);
    json_decref(tree);
    return !r.reading.failed;
}

/* ---- what follows ---- */

int64_t cz_document_time(const cz_document *document)
{
    int64_t most = 0;
    for (int r = 0; r < document->n_ranks; r++)
        most = document->time_ps[r] > most ? document->time_ps[r] : most;
    return most;
}

/* Of equal ones the first. */
static const cz_document_bound *largest(const cz_document *document,
                                        bool with_links)
{
    const cz_document_bound *most = NULL;
    for (int i = 0; i < document->n_bounds; i++)
        if ((with_links || !document->bounds[i].is_of_links) &&
            (!most || document->bounds[i].value > most->value))
            most = &document->bounds[i];
    return most;
}

const cz_document_bound *cz_document_binding(const cz_document *document)
{
    return largest(document, false);
}

const cz_document_bound *cz_document_binding_step(const cz_document *document)
{
    return largest(document, true);
}
