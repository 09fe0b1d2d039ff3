/* Code generation, in the order of the file that it writes. */
#include "codegen/emit.h"

#include "codegen/common/internal.h"

#include <string.h>

bool cz_is_prologue(const cz_plan_view *view, int body)
{
    for (int i = 0; i < view->n_rules; i++)
        if (view->rules[i].prologue == body)
            return true;
    return false;
}

void cz_emit_c(const cz_plan_view *view, const char *plan_hash, cz_text *out)
{
    cz_arena arena;
    cz_emitter emitter = {.view = view, .arena = &arena, .out = out};

    cz_arena_init(&arena);
    cz_text_printf(out,
                   "/* " CZ_GENERATED
                   " %s.  Do not edit: change the .cz file.\n * Compile with "
                   "-O3 -fno-math-errno "
                   "-ffp-contract=off. */\n#include \"%s.h\"\n\n",
                   view->program->compiler, view->program->name);
    cz_text_puts(out, "/* ---- arithmetic ---- */\n\n");
    cz_emit_hash(&emitter);
    for (int i = 0; i < view->n_bodies; i++)
        if (!cz_is_prologue(view, i))
            cz_emit_body(&emitter, i);
    for (int i = 0; i < view->n_rules; i++)
        cz_emit_prologue(&emitter, i);
    cz_text_puts(out, "/* ---- stages ---- */\n\n");
    for (int i = 0; i < view->n_stages; i++)
        cz_emit_stage(&emitter, i);
    cz_text_puts(out, "/* ---- tables ---- */\n\n");
    cz_emit_tables(&emitter);
    cz_text_puts(out, "/* ---- program ---- */\n\n");
    cz_emit_program(&emitter, plan_hash);
    cz_arena_fini(&arena);
}

/* PROGRAM_GROUP_VALUE, in the arena. */
static const char *enumerator(cz_arena *arena, const char *program,
                              const char *group, const char *value)
{
    cz_text text;
    cz_text_init(&text);
    cz_emit_upper(&text, program);
    cz_text_puts(&text, "_");
    cz_emit_upper(&text, group);
    cz_text_puts(&text, "_");
    cz_emit_upper(&text, value);
    const char *name = cz_arena_copy(arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return name;
}

static bool is_among(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Names of all run-time values, and last that of their number.  Two that would
 * be the same, such as of lr and LR, are told apart by their places. */
static int name_hypers(cz_arena *arena, const cz_plan_view *view,
                       const char ***out)
{
    const char *program = view->program->name;
    const char **names = NULL;
    int n = 0;

    *CZ_PUSH(arena, names, n) = enumerator(arena, program, "N", "HYPERS");
    for (int u = 0; u < view->n_uses; u++)
        for (int i = 0; i < view->uses[u]->hypers.n; i++) {
            const char *name =
                enumerator(arena, program, view->uses[u]->sym_name,
                           view->uses[u]->hypers.v[i]);
            while (is_among(name, names, n))
                name = cz_arena_printf(arena, "%s_%d", name, n - 1);
            *CZ_PUSH(arena, names, n) = name;
        }
    *out = names;
    return n;
}

void cz_emit_header(const cz_plan_view *view, bool has_gpu, cz_text *out)
{
    const char *name = view->program->name;
    const char **names;
    cz_arena arena;

    cz_arena_init(&arena);
    cz_text_printf(out,
                   "/* " CZ_GENERATED
                   " %s.  Do not edit: change the .cz file. */\n#ifndef ",
                   view->program->compiler);
    cz_emit_upper(out, name);
    cz_text_puts(out, "_H\n#define ");
    cz_emit_upper(out, name);
    cz_text_printf(out,
                   "_H\n\n#include \"%s.h\"\n\nextern const czr_program "
                   "%s_program;\n",
                   has_gpu ? "czr_cuda" : "czr", name);
    if (has_gpu)
        cz_text_printf(out, "extern const czr_cuda_program %s_cuda;\n", name);
    cz_text_puts(out, "\n/* Order of czr_hyper.values. */\nenum {\n");
    const int n = name_hypers(&arena, view, &names);
    for (int i = 1; i < n; i++)
        cz_text_printf(out, "    %s,\n", names[i]);
    cz_text_printf(out, "    %s\n};\n\n#endif\n", names[0]);
    cz_arena_fini(&arena);
}
