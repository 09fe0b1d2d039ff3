/* Tables: schedule rows, waits, buckets and states as static constant arrays, a
 * row a line. */
#include "codegen/common/internal.h"
#include "dsl/plan/growth.h"
#include "dsl/plan/state.h"

#include <string.h>

typedef long long ll;

/* Integers, several to a line. */
static void put_ints(cz_text *out, const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        cz_text_printf(out, "%s%lld,", i % 12 == 0 ? "\n    " : " ",
                       (ll)values[i]);
}

void cz_emit_int_array(cz_text *out, const char *type, const char *name,
                       int number, const int64_t *values, int n)
{
    cz_text_printf(out, "static const %s %s_%d[] = {", type, name, number);
    put_ints(out, values, n);
    cz_text_puts(out, n ? "};\n" : "0};\n");
}

/* An entry as czr.h has it: in the order of its struct, with the type of its
 * elements for their width. */
static void put_entry(cz_text *out, const cz_entry_schema *schema,
                      const int64_t *numbers)
{
    for (int i = 0; i < schema->n_columns; i++) {
        cz_text_puts(out, i ? ", " : "    {");
        if (schema->columns[i].range == CZ_RANGE_WIDTH)
            cz_text_puts(out, cz_dtype_czr_tag(cz_dtype_of_bytes(numbers[i])));
        else
            cz_text_printf(out, "%lld", (ll)numbers[i]);
    }
    cz_text_puts(out, "},\n");
}

static void put_table(cz_emitter *emitter, int number)
{
    const cz_view_table *table = &emitter->view->tables[number];
    const int64_t n_rows = table->starts[table->n_coordinates];
    cz_text *out = emitter->out;

    cz_emit_int_array(out, "int32_t", "starts", number, table->starts,
                      table->n_coordinates + 1);
    if (n_rows == 0)
        return;
    const cz_entry_schema *schema = &cz_entry_schemas[table->kind];
    cz_text_printf(out, "static const czr_%s_entry rows_%d[] = {\n",
                   schema->name, number);
    for (int64_t i = 0; i < n_rows; i++)
        put_entry(out, schema, table->rows.numbers + i * schema->n_columns);
    cz_text_puts(out, "};\n");
}

uint32_t cz_axis_mask(const cz_ints *axes)
{
    uint32_t mask = 0;

    for (int i = 0; i < axes->n; i++)
        mask |= 1u << axes->v[i];
    return mask;
}

static const char *const row_tags[CZ_N_ENTRY_KINDS] = {
#define ABI_ENTRY(tag, name) "CZR_ENTRY_" #tag,
#include "runtime/abi.def"
};

static void put_table_list(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    cz_text_puts(emitter->out, "static const czr_table tables[] = {\n");
    for (int i = 0; i < view->n_tables; i++) {
        const cz_view_table *table = &view->tables[i];
        const bool has_rows = table->starts[table->n_coordinates] > 0;
        cz_text_printf(emitter->out, "    {%s, %u, starts_%d, ",
                       row_tags[table->kind],
                       cz_axis_mask(&table->fact->selector), i);
        cz_text_printf(emitter->out, has_rows ? "rows_%d},\n" : "NULL},\n", i);
    }
    cz_text_puts(emitter->out, view->n_tables ? "};\n\n" : "    {0}};\n\n");
}

static const char *const op_tags[CZ_N_STEPS] = {
#define ABI_OP(tag, ...) "CZR_" #tag,
#include "runtime/abi.def"
};

static const char *const section_tags[CZ_N_SECTIONS] = {
#define ABI_SECTION(tag, name) "CZR_SECTION_" #tag,
#include "runtime/abi.def"
};

static void put_ops(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    for (int i = 0; i < view->n_ops; i++)
        if (view->ops[i].fact->waits.n)
            cz_emit_int_array(out, "int32_t", "waits", i,
                              view->ops[i].fact->waits.v,
                              view->ops[i].fact->waits.n);
    cz_text_puts(out, "\n/* kind, stream, section, axes of the communicator, "
                      "blocks,\n * their stride, bucket, table, waits */\n"
                      "static const czr_op ops[] = {\n");
    for (int i = 0; i < view->n_ops; i++) {
        const cz_view_op *op = &view->ops[i];
        cz_text_printf(out, "    {%s, %lld, %s, %u, %lld, %lld, %lld, %d, %d, ",
                       op_tags[op->kind], (ll)op->fact->stream,
                       section_tags[op->section], cz_axis_mask(&op->fact->comm),
                       (ll)op->fact->block_size, (ll)op->fact->stride,
                       (ll)op->fact->bucket, op->table, op->fact->waits.n);
        cz_text_printf(out, op->fact->waits.n ? "waits_%d},\n" : "NULL},\n", i);
    }
    cz_text_puts(out, view->n_ops ? "};\n\n" : "    {0}};\n\n");
}

static const char *tag_of(const char *name)
{
    cz_dtype dtype = CZ_F32;

    cz_dtype_find(name, &dtype);
    return cz_dtype_czr_tag(dtype);
}

static void put_states_of(cz_emitter *emitter, int number)
{
    const cz_fact_rule *rule = emitter->view->rules[number].fact;

    if (rule->states.n == 0)
        return;
    cz_text_printf(emitter->out,
                   "static const czr_state_desc states_%d[] = {\n", number);
    for (int i = 0; i < rule->states.n; i++) {
        const int64_t *shape = cz_state_shape(rule, i);
        cz_text_puts(emitter->out, "    {");
        cz_emit_string(emitter->out, rule->states.v[i]);
        cz_text_printf(emitter->out, ", %s, ", tag_of(rule->state_dtypes.v[i]));
        cz_emit_f32(emitter->out, (float)rule->state_init.v[i]);
        cz_text_printf(emitter->out, ", %lld, %lld, %lld, %lld, %lld},\n",
                       (ll)rule->state_diagonal.v[i], (ll)shape[0],
                       (ll)shape[1], (ll)rule->state_extern.v[i],
                       (ll)rule->state_symmetric.v[i]);
    }
    cz_text_puts(emitter->out, "};\n");
}

static void put_states(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;

    for (int i = 0; i < view->n_rules; i++)
        put_states_of(emitter, i);
    cz_text_puts(emitter->out, "static const czr_states states[] = {\n");
    for (int i = 0; i < view->n_rules; i++) {
        const int n = view->rules[i].fact->states.n;
        cz_text_printf(emitter->out, "    {%d, ", n);
        cz_text_printf(emitter->out, n ? "states_%d" : "NULL", i);
        cz_text_printf(emitter->out, ", %d},\n", cz_growth_limit(view, i));
    }
    cz_text_puts(emitter->out, view->n_rules ? "};\n\n" : "    {0}};\n\n");
}

/* The pattern whose residents are the bucket's; NULL: every rank has it. */
static const cz_fact_pattern *resident_pattern(const cz_plan_view *view,
                                               int bucket)
{
    const int pattern = view->buckets[bucket].pattern;
    const cz_fact_pattern *fact =
        pattern < 0 ? NULL : view->patterns[pattern].fact;

    return fact && fact->resident_axes ? fact : NULL;
}

static void put_residents(cz_emitter *emitter, int number)
{
    const cz_fact_pattern *fact = resident_pattern(emitter->view, number);

    if (fact)
        cz_emit_int_array(emitter->out, "int32_t", "residents", number,
                          fact->residents.v, fact->residents.n);
}

static void put_residents_name(cz_text *out, const cz_fact_pattern *fact,
                               int number)
{
    if (fact)
        cz_text_printf(out, "%lld, %d, residents_%d, ", (ll)fact->resident_axes,
                       fact->residents.n, number);
    else
        cz_text_puts(out, "0, 0, NULL, ");
}

static void put_buckets(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    cz_text *out = emitter->out;

    for (int i = 0; i < view->n_buckets; i++) {
        cz_emit_int_array(out, "int64_t", "slices", i,
                          view->buckets[i].fact->slices.v,
                          view->buckets[i].fact->slices.n);
        put_residents(emitter, i);
    }
    cz_text_puts(out, "\nstatic const czr_bucket buckets[] = {\n");
    for (int i = 0; i < view->n_buckets; i++) {
        const cz_view_bucket *bucket = &view->buckets[i];
        const cz_fact_reduction *reduction = cz_view_bucket_reduction(view, i);
        cz_text_printf(
            out, "    {%s, %s, %d, %lld, %u, %lld, %lld, slices_%d, ",
            cz_dtype_czr_tag(bucket->dtype), cz_dtype_czr_tag(reduction->dtype),
            bucket->has_master, (ll)bucket->fact->length,
            cz_axis_mask(&reduction->split_axes), (ll)reduction->n_grads,
            (ll)reduction->divisor, i);
        put_residents_name(out, resident_pattern(view, i), i);
        cz_text_printf(out, "%d},\n",
                       bucket->fact->geometry == CZ_GEOMETRY_EQUAL);
    }
    cz_text_puts(out, view->n_buckets ? "};\n\n" : "    {0}};\n\n");
}

void cz_emit_tables(cz_emitter *emitter)
{
    cz_emit_params(emitter);
    put_states(emitter);
    put_buckets(emitter);
    cz_text_puts(emitter->out, "/* Schedule tables: rows of coordinate c are "
                               "starts[c] to starts[c + 1]. */\n");
    for (int i = 0; i < emitter->view->n_tables; i++)
        put_table(emitter, i);
    cz_text_puts(emitter->out, "\n");
    put_table_list(emitter);
    put_ops(emitter);
}
