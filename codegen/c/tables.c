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

/* A table as it is printed.  What is equal in an earlier one has that one's
 * number; entries of kernels may be the earlier ones' but for their stages, all
 * of which are `later`. */
typedef struct printed_table {
    cz_entry_lists lists;
    int64_t *numbers; /* [n_entries * columns] */
    int64_t n_entries, later;
    int of, starts, entries; /* tables that these arrays are called by */
    int alike;               /* the table whose entries these are, but for
                              * their stages; its own number: none */
    bool is_macro;           /* others are alike */
} printed_table;

/* The entries of the lists. */
static void take_entries(cz_arena *arena, const cz_view_table *table,
                         printed_table *p)
{
    const int n_columns = cz_entry_schemas[table->kind].n_columns;
    int64_t *out;

    p->n_entries = p->lists.starts[p->lists.n];
    p->numbers = out = CZ_NEW(arena, int64_t, p->n_entries * n_columns + 1);
    for (int l = 0; l < p->lists.n; l++) {
        const int64_t n = p->lists.starts[l + 1] - p->lists.starts[l];
        memcpy(out,
               table->rows.numbers +
                   table->starts[p->lists.first[l]] * n_columns,
               (size_t)(n * n_columns) * sizeof *out);
        out += n * n_columns;
    }
}

static bool are_equal(const int64_t *a, const int64_t *b, int64_t n)
{
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* Whether all stages of entries are `later` behind those of others, which they
 * equal in all else. */
static bool are_alike(const cz_view_table *table, const printed_table *p,
                      const printed_table *other, int64_t *later)
{
    const int n_columns = cz_entry_schemas[table->kind].n_columns;
    const int64_t *a = p->numbers, *b = other->numbers;
    const int64_t *const end = a + p->n_entries * n_columns;

    *later = 0;
    if (p->n_entries != other->n_entries || p->n_entries == 0)
        return false;
    if (table->kind != CZ_ENTRY_KERNEL)
        return are_equal(a, b, p->n_entries * n_columns);
    *later = a[0] - b[0]; /* the stage is the first */
    for (; a < end; a += n_columns, b += n_columns)
        if (a[0] - b[0] != *later || !are_equal(a + 1, b + 1, n_columns - 1))
            return false;
    return true;
}

/* Which arrays of earlier tables are those of table i. */
static void find_equal(const cz_plan_view *view, printed_table *tables, int i)
{
    const cz_view_table *table = &view->tables[i];
    printed_table *p = &tables[i];
    const int n = table->n_coordinates;

    p->of = p->starts = p->entries = p->alike = i;
    for (int k = 0; k < i; k++) {
        const printed_table *other = &tables[k];
        int64_t later;
        if (p->starts == i && other->starts == k &&
            other->lists.n == p->lists.n &&
            are_equal(other->lists.starts, p->lists.starts, p->lists.n + 1))
            p->starts = k;
        if (p->of == i && other->of == k && p->lists.n < n &&
            other->lists.n < view->tables[k].n_coordinates &&
            view->tables[k].n_coordinates == n &&
            are_equal(other->lists.of, p->lists.of, n))
            p->of = k;
        if (view->tables[k].kind != table->kind)
            continue;
        if (p->alike == i && other->alike == k &&
            are_alike(table, p, other, &later)) {
            p->alike = k;
            p->later = later;
            p->entries = later == 0 ? k : i;
        } else if (p->alike < i && p->entries == i && other->entries == k &&
                   other->alike == p->alike && other->later == p->later)
            p->entries = k;
    }
    if (p->entries == i && p->alike < i)
        tables[p->alike].is_macro = true;
}

/* An entry as czr.h has it: in the order of its struct, with the type of its
 * elements for their width.  Of a macro the stage is so many behind S. */
static void put_entry(cz_text *out, const cz_entry_schema *schema,
                      const int64_t *numbers, bool is_macro)
{
    for (int i = 0; i < schema->n_columns; i++) {
        cz_text_puts(out, i ? ", " : "    {");
        if (schema->columns[i].range == CZ_RANGE_WIDTH)
            cz_text_puts(out, cz_dtype_czr_tag(cz_dtype_of_bytes(numbers[i])));
        else
            cz_text_printf(out, i == 0 && is_macro ? "%lld + (S)" : "%lld",
                           (ll)numbers[i]);
    }
    cz_text_puts(out, is_macro ? "}, \\\n" : "},\n");
}

static void put_entries(cz_text *out, const cz_entry_schema *schema,
                        const printed_table *p, int number)
{
    if (p->alike < number) {
        if (p->entries == number)
            cz_text_printf(
                out,
                "static const czr_%s_entry rows_%d[] = {ROWS_%d(%lld)"
                "};\n",
                schema->name, number, p->alike, (ll)p->later);
        return;
    }
    if (p->n_entries == 0)
        return;
    if (p->is_macro)
        cz_text_printf(out, "#define ROWS_%d(S) \\\n", number);
    else
        cz_text_printf(out, "static const czr_%s_entry rows_%d[] = {\n",
                       schema->name, number);
    for (int64_t i = 0; i < p->n_entries; i++)
        put_entry(out, schema, p->numbers + i * schema->n_columns, p->is_macro);
    if (p->is_macro)
        cz_text_printf(
            out, "\nstatic const czr_%s_entry rows_%d[] = {ROWS_%d(0)};\n",
            schema->name, number, number);
    else
        cz_text_puts(out, "};\n");
}

static printed_table *put_arrays(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    printed_table *tables =
        CZ_NEW(emitter->arena, printed_table, view->n_tables + 1);

    for (int i = 0; i < view->n_tables; i++) {
        tables[i].lists = cz_entry_lists_of(emitter->arena, &view->tables[i]);
        take_entries(emitter->arena, &view->tables[i], &tables[i]);
        find_equal(view, tables, i);
    }
    for (int i = 0; i < view->n_tables; i++) {
        const printed_table *p = &tables[i];
        const int n = view->tables[i].n_coordinates;
        if (p->of == i && p->lists.n < n)
            cz_emit_int_array(emitter->out, "int32_t", "lists", i, p->lists.of,
                              n);
        if (p->starts == i)
            cz_emit_int_array(emitter->out, "int32_t", "starts", i,
                              p->lists.starts, p->lists.n + 1);
        put_entries(emitter->out, &cz_entry_schemas[view->tables[i].kind], p,
                    i);
    }
    cz_text_puts(emitter->out, "\n");
    return tables;
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

static void put_tables(cz_emitter *emitter)
{
    const cz_plan_view *view = emitter->view;
    const printed_table *tables = put_arrays(emitter);

    cz_text_puts(emitter->out, "static const czr_table tables[] = {\n");
    for (int i = 0; i < view->n_tables; i++) {
        const cz_view_table *table = &view->tables[i];
        const printed_table *p = &tables[i];
        cz_text_printf(emitter->out, "    {%s, %u, ", row_tags[table->kind],
                       cz_axis_mask(&table->fact->selector));
        cz_text_printf(
            emitter->out,
            p->lists.n < table->n_coordinates ? "lists_%d, " : "NULL, ", p->of);
        cz_text_printf(emitter->out,
                       p->n_entries > 0 ? "starts_%d, rows_%d},\n"
                                        : "starts_%d, NULL},\n",
                       p->starts, p->entries);
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
        cz_text_printf(emitter->out, ", %d, ", cz_growth_limit(view, i));
        cz_emit_string(emitter->out, view->uses[view->rules[i].use]->sym_name);
        cz_text_puts(emitter->out, "},\n");
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
    cz_text_puts(emitter->out,
                 "/* Schedule tables: rows of coordinate c are starts[l] to "
                 "starts[l + 1], where\n * l is lists[c], or c where there are "
                 "none. */\n");
    put_tables(emitter);
    put_ops(emitter);
}
