/* What the fuzz targets of `canzona import` share.  That an imported program
 * is one is checked by import itself, which lays it out. */
#include "tests/adversary/fuzz/import_fuzz.h"

#include "frontend/import/import.h"
#include "tests/adversary/fuzz/fuzz.h"

void fuzz_import(const char *path)
{
    cz_arena arena;
    cz_diags diags;
    cz_text program, messages;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&program);
    cz_text_init(&messages);
    const cz_import convert = {.arena = &arena, .diags = &diags, .input = path};
    const bool is_good = cz_import_run(&convert, &program);
    cz_diags_print(&diags, &messages, false);
    fuzz_demand(is_good == (diags.n_errors == 0), "no program and no word",
                &diags);
    fuzz_demand(is_good == (program.n > 0), "a program beside errors, or none",
                &diags);
    cz_text_fini(&program);
    cz_text_fini(&messages);
    cz_arena_fini(&arena);
}
