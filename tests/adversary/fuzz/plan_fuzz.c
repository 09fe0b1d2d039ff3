/* Fuzz target for plan JSON: both readers of it, what tells a plan from itself,
 * and one simulated step.  Either one error, or figures that hold. */
#include "frontend/cmd/machine.h"
#include "frontend/document/figures.h"
#include "frontend/report/diff.h"
#include "passes/simulate/simulate.h"
#include "tests/adversary/fuzz/fuzz.h"

enum { MAX_BYTES = 1 << 16 };

static void check_step(cz_arena *arena, const cz_figures *figures)
{
    cz_diags diags;
    cz_machine_said said;
    cz_machine machine;
    cz_diags_init(&diags, arena);
    if (!cz_cmd_machine_said(arena, "plan", figures, &diags, &said) ||
        !cz_cmd_machine_fill(arena, "plan", &said, &diags, &machine)) {
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
        return;
    }
    const cz_simulate_options options = {
        .machine = &machine, .is_plans_machine = true, .slowdown = 1000000};
    const cz_simulate_timeline step =
        cz_simulate_step(arena, figures, &options);
    for (int i = 0; i < figures->n_ops * figures->n_ranks; i++)
        fuzz_demand(
            step.start[i] <= step.end[i] && step.end[i] <= step.makespan,
            "an operation that ends before it starts, or too late", NULL);
}

static void check_figures(cz_arena *arena, const cz_text *text)
{
    cz_diags diags;
    cz_figures figures;
    cz_diags_init(&diags, arena);
    if (cz_plan_json_read(arena, "plan", text, &diags, &figures))
        check_step(arena, &figures);
    else
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
}

static void check_sheet(cz_arena *arena, const cz_text *text)
{
    cz_diags diags;
    cz_sheet sheet;
    int n = 0;
    cz_diags_init(&diags, arena);
    if (cz_plan_sheet_read(arena, "plan", text, &diags, &sheet))
        cz_diff_build(arena, &sheet, &sheet, &n);
    else
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
    fuzz_demand(n == 0, "a plan that differs from itself", NULL);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_text text;
    if (n > MAX_BYTES)
        return 0;
    cz_arena_init(&arena);
    cz_text_init(&text);
    cz_text_put(&text, (const char *)data, n);
    check_figures(&arena, &text);
    check_sheet(&arena, &text);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return 0;
}
