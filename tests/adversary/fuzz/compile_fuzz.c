/* Fuzz target for the whole compile: text to module, passes, view, verifier,
 * C.  Nothing crashes, what compiles is planned without a contradiction, and
 * what does not says why.  What a text may ask for is limited by the compiler;
 * the bounds here keep an execution short. */
#include "codegen/emit.h"
#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"
#include "tests/adversary/fuzz/fuzz.h"

#include <string.h>

enum { MAX_TEXT = 4096, MAX_PARAMETERS = 64, MAX_RANKS = 64 };

/* Whether planning is short: few parameters on few ranks. */
static bool is_small(const cz_ir *ir, cz_arena *arena)
{
    int n, n_patterns;
    int64_t n_ranks = 1, n_parameters = 0;
    const cz_fact_mesh *mesh = cz_ir_read_mesh(ir, arena, &n);
    const cz_fact_pattern *patterns =
        cz_ir_read_pattern(ir, arena, &n_patterns);

    for (int i = 0; i < mesh->sizes.n; i++)
        n_ranks *= mesh->sizes.v[i];
    for (int i = 0; i < n_patterns; i++) {
        int64_t n_members = 1;
        for (int k = 0; k < patterns[i].extents.n; k++)
            n_members *= patterns[i].extents.v[k];
        n_parameters += n_members;
    }
    return n_ranks <= MAX_RANKS && n_parameters <= MAX_PARAMETERS;
}

static void emit(const cz_plan_view *view, const cz_diags *diags)
{
    cz_text c, header, cuda;
    cz_text_init(&c);
    cz_text_init(&header);
    cz_text_init(&cuda);
    cz_emit_c(view, "0", &c);
    cz_emit_header(view, true, &header);
    cz_emit_cuda(view, &cuda, &c);
    fuzz_demand(strstr(cz_text_string(&c), "czr_program") != NULL &&
                    strstr(cz_text_string(&header), "czr_program") != NULL,
                "C without a program", diags);
    cz_text_fini(&c);
    cz_text_fini(&header);
    cz_text_fini(&cuda);
}

/* The verifier must accept what the passes make of a valid program. */
static void plan(cz_arena *arena, cz_ir *ir, cz_diags *diags)
{
    if (!is_small(ir, arena) || !cz_passes_assign(ir, diags) ||
        !cz_passes_schedule(ir, diags)) {
        return;
    }
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    fuzz_demand(view != NULL, "a plan that cannot be read", diags);
    fuzz_demand(cz_verify(view, diags), "a plan that is rejected", diags);
    emit(view, diags);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text;
    if (n > MAX_TEXT)
        return 0;
    cz_text_init(&text);
    cz_text_put(&text, (const char *)data, n);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_compile_options options = {
        .path = "fuzz.cz", .text = &text, .compiler = "compile_fuzz"};
    cz_ir *ir = cz_compile(&arena, &options, &diags);
    fuzz_demand((ir != NULL) == (diags.n_errors == 0), "no module and no word",
                &diags);
    if (ir)
        plan(&arena, ir, &diags);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    cz_text_fini(&text);
    return 0;
}
