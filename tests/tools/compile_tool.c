/* Compiles a file and prints the IR, or its diagnostics: for golden tests and
 * counts.
 * usage: compile_tool FILE [NAME=VALUE...].  Exit status as the driver's: 0,
 * 1 after errors, 3 where something is not supported yet. */
#include "frontend/program/compile.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    cz_text out;
    cz_arena arena;
    cz_diags diags;
    if (argc < 2) {
        fputs("usage: compile_tool FILE [NAME=VALUE...]\n", stderr);
        return 2;
    }
    cz_text_init(&out);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_rules_checked rules = {0};
    const cz_compile_options options = {
        .path = argv[1],
        .defines = (const char *const *)(argv + 2),
        .n_defines = argc - 2,
        .compiler = "compile_tool",
        .alone = &rules,
    };
    cz_ir *ir = cz_compile(&arena, &options, &diags);
    cz_diags_print(&diags, &out, false);
    if (ir)
        cz_ir_print(ir, &out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    const int status = diags.n_errors == 0 ? 0 : diags.refused ? 3 : 1;
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    cz_text_fini(&out);
    return status;
}
