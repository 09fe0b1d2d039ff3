/* For golden tests: compile a file, run the passes up to one (default: the
 * last before owners are chosen) and print the module; on errors print those
 * and end with status 1. */
#include <stdio.h>

#include "frontend/program/compile.h"
#include "passes/passes.h"

/* The hash covers the library too: a comment there would change every file. */
static void forget_hash(cz_ir *ir, cz_arena *arena)
{
    int n;
    cz_fact_program program = *cz_ir_read_program(ir, arena, &n);

    program.source_hash = "";
    cz_ir_replace_program(ir, 0, &program);
}

static bool compile(cz_arena *arena, const char *path, const char *last,
                    cz_diags *diags, cz_text *out)
{
    const cz_compile_options options = {.path = path, .compiler = "golden"};
    cz_ir *ir = cz_compile(arena, &options, diags);
    const bool ok = ir && cz_passes_run(ir, last, diags);

    if (ok) {
        forget_hash(ir, arena);
        cz_ir_print(ir, out);
    }
    cz_ir_close(ir);
    return ok;
}

int main(int n_args, char **args)
{
    cz_arena arena;
    cz_diags diags;
    cz_text out;
    bool ok;

    if (n_args < 2)
        return 2;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&out);
    ok = compile(&arena, args[1], n_args > 2 ? args[2] : "flops", &diags, &out);
    if (!ok)
        cz_diags_print(&diags, &out, false);
    fputs(cz_text_string(&out), stdout);
    cz_text_fini(&out);
    cz_arena_fini(&arena);
    return ok ? 0 : 1;
}
