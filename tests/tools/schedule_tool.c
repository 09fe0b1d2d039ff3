/* One schedule, two judges: what the verifier says of printed IR, and what
 * happens when it runs all the same on threads that buffer nothing.
 *
 *   schedule_tool FILE      prints a line for each */
#include "dsl/ir/ir.h"
#include "dsl/plan/build/build.h"
#include "frontend/run/run.h"
#include "passes/verify/verify.h"

#include <stdio.h>

enum { DEADLINE_MS = 500, MAX_TEXT = 1 << 20 };

static czr_status step_once(czr_world *world, void *user)
{
    const cz_loaded *loaded = user;
    const czr_options options = {.deadline_ms = DEADLINE_MS};
    czr_engine *engine = NULL;
    czr_result result;
    czr_status status = czr_open(loaded->program, world, &options, &engine);

    for (int i = 0; status == CZR_OK && i < czr_param_count(engine); i++) {
        char name[256];
        status = czr_param_name(engine, i, name, sizeof name);
        if (status == CZR_OK)
            status = czr_bind(engine, name, NULL, NULL);
    }
    if (status == CZR_OK)
        status = czr_seal(engine);
    if (status == CZR_OK)
        status = czr_step(engine, NULL, NULL, &result);
    czr_close(engine);
    return status;
}

static int judge(const cz_plan_view *view, cz_diags *diags)
{
    static const char hash[] = "00000000000000000000000000000000"
                               "00000000000000000000000000000000";
    cz_loaded loaded;
    printf("verifier: %s\n", cz_verify(view, diags) ? "accepts" : "rejects");
    if (!cz_loaded_open(view, hash, diags, &loaded))
        return 1;
    const czr_status status =
        czr_world_threads_run(view->n_ranks, step_once, &loaded);
    printf("threads: %s\n", czr_status_name(status));
    cz_loaded_close(&loaded);
    return 0;
}

int main(int argc, char **argv)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text = {0}, messages = {0};
    const char *why;
    int failed = 1;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    if (argc != 2 || !cz_text_read_file(&text, argv[1], MAX_TEXT, &why))
        return 2;
    cz_ir *ir = cz_ir_parse(cz_text_string(&text), text.n, &diags);
    const cz_plan_view *view =
        ir ? cz_plan_view_build(&arena, ir, &diags) : NULL;
    if (view)
        failed = judge(view, &diags);
    cz_diags_print(&diags, &messages, false);
    fputs(cz_text_string(&messages), stderr);
    cz_ir_close(ir);
    cz_text_fini(&text);
    cz_text_fini(&messages);
    cz_arena_fini(&arena);
    return failed;
}
