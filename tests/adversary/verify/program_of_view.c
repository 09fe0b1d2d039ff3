/* What codegen prints of a schedule, made in memory. */
#include "tests/adversary/verify/mutable_plan.h"

#include <string.h>

static uint32_t mask(const cz_ints *axes)
{
    uint32_t m = 0;

    for (int i = 0; i < axes->n; i++)
        m |= (uint32_t)1 << axes->v[i];
    return m;
}

static const int32_t *narrow(cz_arena *arena, const int64_t *v, int n)
{
    int32_t *out = CZ_NEW(arena, int32_t, n + 1);

    for (int i = 0; i < n; i++)
        out[i] = (int32_t)v[i];
    return out;
}

/* Of each kind, `n` rows of numbers as the runtime has them. */
#define width dtype /* which has the type whose bytes the numbers have */
#define ABI_ENTRY(tag, name)                                                   \
    static void *name##_rows(cz_arena *arena, const int64_t *number,           \
                             int64_t n)                                        \
    {                                                                          \
        czr_##name##_entry *rows = CZ_NEW(arena, czr_##name##_entry, n + 1);   \
        for (czr_##name##_entry *row = rows; row < rows + n; row++) {
#define ABI_COLUMN(entry, column, type, place, range)                          \
    row->column = (type)*number++;
#define ABI_ENTRY_END(name)                                                    \
    }                                                                          \
    return rows;                                                               \
    }
#include "runtime/abi.def"
#undef width

static const void *rows_of(cz_arena *arena, const cz_view_table *table)
{
    static void *(*const make[])(cz_arena *, const int64_t *, int64_t) = {
#define ABI_ENTRY(tag, name) [CZ_ENTRY_##tag] = name##_rows,
#include "runtime/abi.def"
    };
    const int64_t n = table->starts[table->n_coordinates];
    void *rows = make[table->kind](arena, table->rows.numbers, n);

    for (int64_t i = 0; table->kind == CZ_ENTRY_SUM && i < n; i++) {
        const int64_t bytes = table->rows.sum[i].width;
        ((czr_sum_entry *)rows)[i].dtype = bytes == 8   ? CZR_F64
                                           : bytes == 4 ? CZR_F32
                                                        : CZR_BF16;
    }
    return rows;
}

static void set_tables(cz_arena *arena, czr_program *program,
                       const cz_plan_view *view)
{
    czr_table *tables = CZ_NEW(arena, czr_table, view->n_tables);

    for (int i = 0; i < view->n_tables; i++) {
        const cz_view_table *table = &view->tables[i];
        tables[i] = (czr_table){
            program->tables[i].kind, program->tables[i].selector, NULL,
            narrow(arena, table->starts, table->n_coordinates + 1),
            rows_of(arena, table)};
    }
    program->tables = tables;
}

static void set_ops(cz_arena *arena, czr_program *program,
                    const cz_plan_view *view)
{
    czr_op *ops = CZ_NEW(arena, czr_op, view->n_ops + 1);

    for (int i = 0; i < view->n_ops; i++) {
        const cz_fact_op *fact = view->ops[i].fact;
        ops[i] = (czr_op){(uint8_t)view->ops[i].kind,
                          (uint8_t)fact->stream,
                          (uint8_t)view->ops[i].section,
                          mask(&fact->comm),
                          (int32_t)fact->block_size,
                          (int32_t)fact->stride,
                          (int32_t)fact->bucket,
                          view->ops[i].table,
                          fact->waits.n,
                          narrow(arena, fact->waits.v, fact->waits.n)};
    }
    program->ops = ops;
    program->n_ops = view->n_ops;
}

static void set_buckets(cz_arena *arena, czr_program *program,
                        const cz_plan_view *view)
{
    czr_bucket *buckets = CZ_NEW(arena, czr_bucket, view->n_buckets);
    czr_place *places = CZ_NEW(arena, czr_place, view->n_params);

    for (int i = 0; i < view->n_buckets; i++) {
        buckets[i] = program->buckets[i];
        buckets[i].length = view->buckets[i].fact->length;
        buckets[i].slices = view->buckets[i].fact->slices.v;
        buckets[i].is_equal =
            view->buckets[i].fact->geometry == CZ_GEOMETRY_EQUAL;
        const cz_fact_pattern *home =
            view->patterns[view->buckets[i].pattern].fact;
        buckets[i].n_residents = home->residents.n;
        buckets[i].residents =
            narrow(arena, home->residents.v, home->residents.n);
    }
    for (int i = 0; i < view->n_params; i++)
        places[i] = (czr_place){(int32_t)view->params[i].bucket,
                                view->patterns[view->params[i].pattern].rule,
                                view->params[i].offset,
                                view->params[i].stagger_offset,
                                (int32_t)view->params[i].split_owner,
                                (int32_t)view->params[i].shard_owner};
    program->buckets = buckets;
    program->places = places;
}

const czr_program *program_of_view(cz_arena *arena, const czr_program *compiled,
                                   const cz_plan_view *view)
{
    czr_program *program = CZ_NEW(arena, czr_program, 1);

    *program = *compiled;
    set_tables(arena, program, view);
    set_ops(arena, program, view);
    set_buckets(arena, program, view);
    program->arena_bytes = view->arena->bytes.v;
    return program;
}
