/* Memory of the schedule that the passes behind this one make. */
#include "passes/place/room.h"

#include "dsl/plan/metrics.h"
#include "dsl/plan/build/build.h"
#include "passes/passes.h"

static int64_t fullest(const cz_metrics *metrics)
{
    int64_t most = 0;
    for (int r = 0; r < metrics->n_ranks; r++) {
        const int64_t bytes = cz_metrics_memory(&metrics->ranks[r]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

int64_t cz_place_fullest(cz_arena *scratch, cz_ir *ir)
{
    cz_diags unheard;
    cz_diags_init(&unheard, scratch);
    const cz_plan_view *view = NULL;
    int64_t most = INT64_MAX;
    cz_ir_set_diags(ir, &unheard);
    if (cz_passes_schedule(ir, &unheard))
        view = cz_plan_view_build(scratch, ir, &unheard);
    if (view)
        most = fullest(cz_metrics_build(scratch, view));
    return most;
}
