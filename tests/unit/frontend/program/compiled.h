/* Programs as strings, compiled: shared by tests of the front end. */
#ifndef CZ_TESTS_UNIT_FRONTEND_COMPILED_H
#define CZ_TESTS_UNIT_FRONTEND_COMPILED_H

#include "frontend/program/compile.h"

#include <string.h>

typedef struct compiled {
    cz_arena arena;
    cz_diags diags;
    cz_ir *ir; /* NULL after errors */
} compiled;

static inline cz_text text_of(const char *string)
{
    cz_text text;
    cz_text_init(&text);
    cz_text_puts(&text, string);
    return text;
}

/* `options` apart from path, text and compiler. */
static inline void compile_with(compiled *c, const char *source,
                                cz_compile_options options)
{
    cz_text text = text_of(source);
    cz_arena_init(&c->arena);
    cz_diags_init(&c->diags, &c->arena);
    options.path = "program.cz";
    options.text = &text;
    options.compiler = "test";
    c->ir = cz_compile(&c->arena, &options, &c->diags);
    cz_text_fini(&text);
}

/* With -D options, ended by NULL. */
static inline void compile_defined(compiled *c, const char *source,
                                   const char *const *defines)
{
    int n = 0;
    while (defines[n])
        n++;
    compile_with(c, source,
                 (cz_compile_options){.defines = defines, .n_defines = n});
}

static inline void compile_text(compiled *c, const char *source)
{
    compile_with(c, source, (cz_compile_options){0});
}

static inline void compiled_close(compiled *c)
{
    cz_ir_close(c->ir);
    cz_arena_fini(&c->arena);
}

/* Whether some message has this code and holds these words. */
static inline bool says(const compiled *c, cz_code code, const char *words)
{
    for (int i = 0; i < c->diags.n; i++)
        if (c->diags.list[i].code == code &&
            strstr(c->diags.list[i].message, words))
            return true;
    return false;
}

#endif
