/* Stages to cost: a source of this folder in kernel form, and the constants of
 * the published model. */
#ifndef CZ_TESTS_PASSES_COST_FIXTURE_H
#define CZ_TESTS_PASSES_COST_FIXTURE_H

#include "dsl/plan/build/build.h"
#include "frontend/program/compile.h"
#include "passes/cost/stage.h"
#include "passes/passes.h"

#include <string.h>

typedef struct fixture {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir;
    const cz_plan_view *view;
} fixture;

static inline int fixture_open_file(void **state, const char *path)
{
    static fixture f;
    const cz_compile_options options = {.path = path, .compiler = "test"};
    cz_arena_init(&f.arena);
    cz_diags_init(&f.diags, &f.arena);
    f.ir = cz_compile(&f.arena, &options, &f.diags);
    if (!f.ir || !cz_passes_run(f.ir, "flops", &f.diags))
        return 1;
    f.view = cz_plan_view_build(&f.arena, f.ir, &f.diags);
    *state = &f;
    return f.view == NULL;
}

static inline int fixture_open(void **state)
{
    return fixture_open_file(state, CANZONA_SOURCE_DIR
                             "/tests/unit/passes/cost/matrices.cz");
}

static inline int fixture_close(void **state)
{
    fixture *f = *state;
    cz_ir_close(f->ir);
    cz_arena_fini(&f->arena);
    return 0;
}

/* The whole stage of the rule for this pattern. */
static inline const cz_view_stage *fixture_stage(const fixture *f,
                                                 const char *name)
{
    for (int i = 0; i < f->view->n_patterns; i++) {
        const cz_view_pattern *pattern = &f->view->patterns[i];
        const cz_view_rule *rule = &f->view->rules[pattern->rule];
        for (int s = 0; s < rule->n_stages; s++) {
            const cz_view_stage *stage =
                &f->view->stages[rule->first_stage + s];
            if (strcmp(pattern->fact->name, name) == 0 &&
                stage->where == CZ_WHERE_FULL_MATRIX)
                return stage;
        }
    }
    return NULL;
}

/* notes: H100, tiles 128 x 256 on 132 processors, 650 TF when all are full. */
static inline cz_machine fixture_machine(void)
{
    return (cz_machine){.name = "notes",
                        .gpus_per_node = 8,
                        .sms = 132,
                        .tile_rows = 128,
                        .tile_columns = 256,
                        .bf16_rate = 650000000000000,
                        .f32_rate = 325000000000000,
                        .memory_rate = 2600000000000,
                        .launch = 4000000,
                        .node_rate = 400000000000,
                        .node_latency = 20000000,
                        .network_rate = 40000000000,
                        .network_latency = 500000000};
}

#endif
