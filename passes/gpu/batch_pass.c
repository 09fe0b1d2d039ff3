/* Pass: equal matrices that a GPU computes as one, and element-wise rows.
 *
 * requires: ops, tables, arena; the fact gpu, without which nothing is done
 * provides: batches of kernel tables, batch_arena
 * breaks:   nothing */
#include "passes/passes.h"

#include "dsl/plan/build/build.h"
#include "passes/gpu/batch.h"
#include "passes/gpu/gpu.h"

enum {
    MOST_MATRICES = 128,
    MOST_ELEMENT_WISE = 1024,
    STREAM = 0, /* whose operations may have batches */
    GROUP_BYTES = 1 << 30
};

/* What a stage was told once. */
typedef struct answer {
    int64_t stage, available, n;
} answer;

typedef struct counter {
    const cz_gpu_model *model;
    cz_gpu_products products;
    cz_arena *arena;
    answer *answers;
    int n_answers;
} counter;

/* ---- how many ----------------------------------------------------------- */

static int64_t count_of_stage(counter *c, int64_t stage, int64_t available)
{
    for (int i = 0; i < c->n_answers; i++)
        if (c->answers[i].stage == stage &&
            c->answers[i].available == available)
            return c->answers[i].n;
    /* The most that any product of the stage wants; 1: none wants others. */
    int64_t most = 1;

    for (int i = 0; i < c->products.n; i++) {
        const cz_gpu_product *of = &c->products.list[i];
        if (of->stage != stage)
            continue;
        const int64_t n =
            cz_tile_batch(&of->shape, &c->model->machine, c->model->times,
                          c->model->n_times, available);
        most = n > most ? n : most;
    }
    const int64_t n = most;
    *CZ_PUSH(c->arena, c->answers, c->n_answers) =
        (answer){stage, available, n};
    return n;
}

static int64_t count(void *user, const cz_view_kernel_entry *rows, int n_rows,
                     int64_t available)
{
    counter *c = user;
    int64_t most = 1;

    for (int i = 0; i < n_rows; i++) {
        const int64_t n = count_of_stage(
            c, rows[i].stage,
            available < MOST_MATRICES ? available : MOST_MATRICES);
        most = n > most ? n : most;
    }
    return most;
}

static int64_t count_none(void *user, const cz_view_kernel_entry *rows,
                          int n_rows, int64_t available)
{
    (void)user, (void)rows, (void)n_rows, (void)available;
    return 0;
}

/* ---- tables ------------------------------------------------------------- */

/* By table; of matrices none where what they take would be in no cap on
 * memory, and none of a strict plan. */
static cz_batch_list *find_all(cz_arena *arena, const cz_plan_view *view)
{
    const int64_t group = view->policy->micro_group_bytes;
    cz_batch_list *all = CZ_NEW(arena, cz_batch_list, view->n_tables + 1);
    cz_gpu_model model;

    const bool has_batches =
        view->policy->memory_bytes == 0 && cz_gpu_model_of(arena, view, &model);
    counter c = {.model = &model, .arena = arena};
    if (has_batches)
        c.products = cz_gpu_products_of(arena, view);
    const cz_batch_rule rule = {.count = has_batches ? count : count_none,
                                .user = &c,
                                .cap = group > 0 ? group : GROUP_BYTES,
                                .most_element_wise = MOST_ELEMENT_WISE};
    for (int op = 0; op < view->n_ops; op++) {
        const int table = view->ops[op].table;
        if (table < 0 || view->tables[table].kind != CZ_ENTRY_KERNEL ||
            view->ops[op].fact->stream != STREAM || all[table].n)
            continue;
        const cz_view_table *of = &view->tables[table];
        for (int i = 0; i < of->n_coordinates; i++)
            cz_batch_find(view, &rule, table, of->starts[i], of->starts[i + 1],
                          arena, &all[table]);
    }
    return all;
}

/* ---- the arena behind the arena ----------------------------------------- */

static int64_t most_of_rank(const cz_plan_view *view, const cz_batch_list *all,
                            int64_t rank)
{
    int64_t most = 0;

    for (int t = 0; t < view->n_tables; t++) {
        const cz_view_table *of = &view->tables[t];
        const int64_t at = cz_view_coordinate(view, &of->fact->selector, rank);
        for (int b = 0; b < all[t].n; b++) {
            const cz_view_batch *batch = &all[t].list[b];
            const int64_t bytes = batch->n_matrices * batch->bytes;
            if (batch->first >= of->starts[at] &&
                batch->first < of->starts[at + 1] && bytes > most)
                most = bytes;
        }
    }
    return most;
}

/* ---- facts -------------------------------------------------------------- */

static void write_table(cz_ir *ir, cz_arena *arena, const cz_view_table *table,
                        const cz_batch_list *of)
{
    enum { N_COLUMNS = 5 };
    int64_t *columns[N_COLUMNS];

    for (int i = 0; i < N_COLUMNS; i++)
        columns[i] = CZ_NEW(arena, int64_t, of->n);
    for (int b = 0; b < of->n; b++) {
        const cz_view_batch *batch = &of->list[b];
        const int64_t values[N_COLUMNS] = {batch->first, batch->n_rows,
                                           batch->n_matrices, batch->scratch,
                                           batch->bytes};
        for (int i = 0; i < N_COLUMNS; i++)
            columns[i][b] = values[i];
    }
    cz_ir_add_batches(
        ir, &(cz_fact_batches){
                table->fact->sym_name,
                {of->of_row, (int)table->starts[table->n_coordinates]},
                {columns[0], of->n},
                {columns[1], of->n},
                {columns[2], of->n},
                {columns[3], of->n},
                {columns[4], of->n}});
}

static bool choose(cz_ir *ir, cz_arena *arena, cz_diags *diags)
{
    cz_ir_remove(ir, CZ_FACT_batches);
    cz_ir_remove(ir, CZ_FACT_batch_arena);
    if (cz_ir_count(ir, CZ_FACT_gpu) == 0)
        return true;
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    if (!view)
        return false;
    const cz_batch_list *all = find_all(arena, view);
    for (int t = 0; t < view->n_tables; t++)
        if (all[t].n)
            write_table(ir, arena, &view->tables[t], &all[t]);
    /* Ranks differ where tables with batches do. */
    int64_t storage[CZ_VIEW_MAX_AXES], set = 0;

    for (int t = 0; t < view->n_tables; t++)
        if (all[t].n)
            set |= cz_view_set_of(&view->tables[t].fact->selector);
    const cz_ints axes = cz_view_axes_of(view, set, storage);
    const int64_t n = cz_view_extent(view, &axes);
    int64_t *bytes = CZ_NEW(arena, int64_t, n);
    for (int64_t c = 0; c < n; c++)
        bytes[c] = most_of_rank(view, all, cz_view_rank_at(view, &axes, c, 0));
    cz_ir_add_batch_arena(ir, &(cz_fact_batch_arena){axes, {bytes, (int)n}});
    return true;
}

bool cz_batch_pass(cz_ir *ir, cz_diags *diags)
{
    cz_arena arena;

    cz_arena_init(&arena);
    const bool ok = choose(ir, &arena, diags);
    cz_arena_fini(&arena);
    return ok;
}
