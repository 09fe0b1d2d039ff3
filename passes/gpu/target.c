/* A GPU as a target, and what its tiles are chosen by. */
#include "passes/gpu/gpu.h"

#include "dsl/plan/build/build.h"
#include "passes/cost/machine.h"

#include <assert.h>
#include <limits.h>

/* With so many processors; 0: its own. */
static bool has_machine(cz_arena *arena, const cz_plan_view *view, int64_t sms,
                        cz_tile_machine *out)
{
    cz_machine machine;

    if (!cz_machine_of(arena, view, &machine))
        return false;
    sms = sms > 0 ? sms : machine.sms;
    return sms <= INT_MAX && cz_tile_machine_of((int)sms, machine.bf16_rate,
                                                machine.memory_rate, out);
}

/* ---- times -------------------------------------------------------------- */

static int count_lines(const char *text)
{
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void add_time(cz_ir *ir, const cz_tile_measured *row)
{
    const cz_tile_product *p = &row->product;

    cz_ir_add_tile_time(ir, &(cz_fact_tile_time){.m = p->m,
                                                 .n = p->n,
                                                 .k = p->k,
                                                 .batch = p->batch,
                                                 .symmetric = p->is_symmetric,
                                                 .rows = row->rows,
                                                 .columns = row->cols,
                                                 .time = row->time});
}

/* A table that is wrong was noticed by the test of tile_model.h. */
static void add_times(cz_ir *ir, cz_arena *arena, const char *text, int sms)
{
    const int most = count_lines(text);
    cz_tile_measured *rows = CZ_NEW(arena, cz_tile_measured, (size_t)most);
    int n, line;
    const bool is_read = cz_tile_measured_read(text, rows, most, &n, &line);

    assert(is_read);
    for (int i = 0; is_read && i < n; i++)
        if (rows[i].sms == sms)
            add_time(ir, &rows[i]);
}

bool cz_gpu_target(cz_ir *ir, const char *measured, cz_diags *diags)
{
    cz_tile_machine machine = {0, 0};
    cz_arena arena;

    if (cz_ir_count(ir, CZ_FACT_gpu) > 0)
        return true;
    cz_arena_init(&arena);
    const cz_plan_view *view = cz_plan_view_build(&arena, ir, diags);
    if (view && !has_machine(&arena, view, 0, &machine))
        machine.sms = 0;
    if (view)
        cz_ir_add_gpu(ir, &(cz_fact_gpu){machine.sms});
    if (view && machine.sms > 0)
        add_times(ir, &arena, measured, machine.sms);
    cz_arena_fini(&arena);
    return view != NULL;
}

/* ---- the model ---------------------------------------------------------- */

static cz_tile_measured time_of(const cz_fact_tile_time *fact, int sms)
{
    return (cz_tile_measured){.product = {.m = fact->m,
                                          .n = fact->n,
                                          .k = fact->k,
                                          .batch = fact->batch,
                                          .is_symmetric = fact->symmetric != 0},
                              .sms = sms,
                              .rows = (int)fact->rows,
                              .cols = (int)fact->columns,
                              .time = fact->time};
}

bool cz_gpu_model_of(cz_arena *arena, const cz_plan_view *view,
                     cz_gpu_model *out)
{
    const int n = view->n_tile_times;
    cz_tile_measured *times = CZ_NEW(arena, cz_tile_measured, n + 1);

    if (!view->gpu || view->gpu->sms == 0 || view->program->strict ||
        !has_machine(arena, view, view->gpu->sms, &out->machine))
        return false;
    for (int i = 0; i < n; i++)
        times[i] = time_of(&view->tile_times[i], out->machine.sms);
    out->n_times = n;
    out->times = times;
    return true;
}
