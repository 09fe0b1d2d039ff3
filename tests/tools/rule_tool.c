/* For tests of rules: lower every `use` of a file and print the module; on
 * errors print those and end with status 1.  The model, the mesh and the paths
 * are not looked at.  usage: rule_tool FILE [ROWS COLUMNS | layouts=WORDS]; a
 * matrix of that shape is taken wide, tall and turned, which is tall and stored
 * transposed.  Without a shape it is 4 x 6, wide, and what else WORDS name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/ir/ir.h"
#include "frontend/rule/rule.h"

enum { N_MATRICES = 3 };

typedef struct layout_set {
    cz_rule_shape matrices[N_MATRICES], any;
    const char *words;
} layout_set;

static const char *const layout_words[N_MATRICES] = {"wide", "tall", "turned"};

static layout_set layouts_of(int64_t rows, int64_t columns, const char *words)
{
    return (layout_set){.matrices = {{{rows, columns}, 2, false, CZ_F32},
                                     {{columns, rows}, 2, false, CZ_F32},
                                     {{columns, rows}, 2, true, CZ_F32}},
                        .any = {{0}, 0, false, CZ_F32},
                        .words = words};
}

/* The use fact that a rule refers to. */
static void add_use(cz_ir *ir, const cz_rule_use *use,
                    const cz_rule_signature *signature)
{
    const int n = signature->n_hypers;
    const cz_fact_use fact = {
        .sym_name = use->name,
        .optimizer = use->optimizer->text,
        .hypers = {signature->hypers, n},
        .defaults = {signature->defaults, n},
        .has_default = {signature->has_default, n},
    };
    cz_ir_add_use(ir, &fact);
}

static void lower(cz_ir *ir, const cz_rule_use *use, const layout_set *layouts,
                  cz_diags *diags)
{
    cz_rule_signature signature;
    const char *symbol;
    if (!cz_rule_signature_build(use, diags, &signature))
        return;
    add_use(ir, use, &signature);
    if (signature.n_dims < 0) {
        cz_rule_lower(ir, use, &layouts->any, diags, &symbol);
        return;
    }
    for (int i = 0; i < N_MATRICES; i++)
        if (strstr(layouts->words, layout_words[i]) &&
            !cz_rule_lower(ir, use, &layouts->matrices[i], diags, &symbol))
            return;
}

static void lower_file(cz_ir *ir, cz_scope *scope, cz_arena *arena,
                       const layout_set *layouts, cz_diags *diags)
{
    const cz_node *file = cz_scope_file_at(scope, 0)->tree;
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        if (node->kind != CZ_AST_USE)
            continue;
        const cz_node *call = cz_use_call(node);
        const cz_rule_use use = {
            .arena = arena,
            .scope = scope,
            .name = node->text,
            .use = node,
            .optimizer = cz_scope_find(scope, CZ_AST_OPTIMIZER, call->text),
            .args = cz_items(call),
            .n_args = cz_n_items(call),
            .clip = true,
        };
        if (use.optimizer)
            lower(ir, &use, layouts, diags);
        else
            cz_diag_error(diags, CZ_UNKNOWN_NAME, call->span,
                          "no optimizer is called '%s'", call->text);
    }
}

int main(int n_args, char **args)
{
    cz_arena arena;
    cz_diags diags;
    cz_text out;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&out);
    char words[64];
    snprintf(words, sizeof words, "wide %s", n_args == 3 ? args[2] : "");
    const layout_set layouts =
        n_args > 3
            ? layouts_of(atoll(args[2]), atoll(args[3]), "wide tall turned")
            : layouts_of(4, 6, words);
    cz_ir *ir = cz_ir_open(&diags);
    cz_scope *scope = cz_scope_build(&arena, n_args > 1 ? args[1] : "-", NULL,
                                     (cz_allowed){0}, &diags);
    if (ir && !diags.n_errors)
        lower_file(ir, scope, &arena, &layouts, &diags);
    if (ir && !diags.n_errors && cz_ir_verify(ir))
        cz_ir_print(ir, &out);
    else
        cz_diags_print(&diags, &out, false);
    fputs(cz_text_string(&out), stdout);
    cz_text_fini(&out);
    cz_ir_close(ir);
    const int status = diags.n_errors > 0;
    cz_arena_fini(&arena);
    return status;
}
