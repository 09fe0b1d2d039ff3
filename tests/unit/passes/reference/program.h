/* A program from a file of the source tree, for the tests of this folder. */
#ifndef CZ_TESTS_PASSES_REFERENCE_PROGRAM_H
#define CZ_TESTS_PASSES_REFERENCE_PROGRAM_H

#include "frontend/program/compile.h"

#include <stdio.h>

enum { PROGRAM_MAX_DEFINES = 12 };

/* `defines`: of -D, NULL behind the last. */
typedef struct program {
    const char *file; /* below the source tree */
    const char *defines[PROGRAM_MAX_DEFINES];
} program;

typedef struct compiled_program {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir; /* NULL after printing errors */
} compiled_program;

static inline void program_open_as(compiled_program *c, const program *from,
                                   bool is_strict)
{
    cz_compile_options options = {
        .defines = from->defines, .strict = is_strict, .compiler = "test"};
    cz_text text;

    cz_arena_init(&c->arena);
    cz_diags_init(&c->diags, &c->arena);
    options.path =
        cz_arena_printf(&c->arena, CANZONA_SOURCE_DIR "/%s", from->file);
    while (from->defines[options.n_defines])
        options.n_defines++;
    c->ir = cz_compile(&c->arena, &options, &c->diags);
    if (c->ir)
        return;
    cz_text_init(&text);
    cz_diags_print(&c->diags, &text, false);
    fputs(cz_text_string(&text), stderr);
    cz_text_fini(&text);
}

static inline void program_open(compiled_program *c, const program *from)
{
    program_open_as(c, from, false);
}

static inline void program_close(compiled_program *c)
{
    cz_ir_close(c->ir);
    cz_arena_fini(&c->arena);
}

#endif
