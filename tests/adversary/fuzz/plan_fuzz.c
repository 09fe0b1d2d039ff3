/* Fuzz target for plan JSON: its reader, what tells a plan from itself, and one
 * simulated step.  Either one error, or a document that holds. */
#include "frontend/cmd/cmd.h"
#include "frontend/document/read.h"
#include "frontend/report/report.h"
#include "passes/simulate/simulate.h"
#include "tests/adversary/fuzz/fuzz.h"

enum { MAX_BYTES = 1 << 16 };

static void check_step(cz_arena *arena, const cz_document *document)
{
    cz_diags diags;
    cz_machine machine;
    cz_diags_init(&diags, arena);
    if (!cz_cmd_machine(arena, "plan", document, NULL, NULL, 0, &diags,
                        &machine)) {
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
        return;
    }
    const cz_simulate_options options = {
        .machine = &machine, .is_plans_machine = true, .slowdown = 1000000};
    const cz_simulate_timeline step =
        cz_simulate_step(arena, document, &options);
    for (int i = 0; i < document->n_ops * document->n_ranks; i++)
        fuzz_demand(
            step.start[i] <= step.end[i] && step.end[i] <= step.makespan,
            "an operation that ends before it starts, or too late", NULL);
}

static void check(cz_arena *arena, const cz_text *text)
{
    cz_diags diags;
    cz_document document;
    int n = 0;
    cz_diags_init(&diags, arena);
    if (!cz_document_read(arena, "plan", text, &diags, true, &document)) {
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
        return;
    }
    cz_diff_build(arena, &document, &document, &n);
    fuzz_demand(n == 0, "a plan that differs from itself", NULL);
    check_step(arena, &document);
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
    check(&arena, &text);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return 0;
}
