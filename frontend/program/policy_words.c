/* Words, axes and types that clauses of the schedule block name. */
#include "frontend/program/internal.h"

#include <string.h>

void cz_clause_unsupported(cz_clauses *c, cz_span span, const char *what)
{
    cz_diag_error(c->diags, CZ_UNSUPPORTED, span, "%s not supported yet", what);
    c->failed = true;
}

void cz_clause_repeated(cz_clauses *c, const cz_node *node,
                        const cz_node *before)
{
    cz_diag_error(c->diags, CZ_BAD_SCHEDULE, node->span,
                  "this was said before");
    cz_diag_note(c->diags, before->span, "here");
    c->failed = true;
}

bool cz_clause_check_word(cz_clauses *c, const cz_node *node, const char *word,
                          const char *const *words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    const char *near = cz_diag_nearest(word, words, n);
    cz_diag_error(c->diags, CZ_BAD_SCHEDULE, node->span,
                  "'%s' makes no sense here", word);
    if (near)
        cz_diag_note(c->diags, node->span, "did you mean '%s'?", near);
    c->failed = true;
    return false;
}

bool cz_clause_choice(cz_clauses *c, const cz_node *node, const char *word,
                      cz_vocabulary vocabulary, int *choice)
{
    int n;
    const char *const *words = cz_words(vocabulary, &n);
    return cz_word_find(vocabulary, word, choice) ||
           cz_clause_check_word(c, node, word, words, n);
}

static bool read_axis(cz_clauses *c, const cz_node *name, bool of_data,
                      int64_t *axes)
{
    int64_t set;
    if (!cz_mesh_is_axis(name->text)) {
        cz_diag_error(c->diags, CZ_UNKNOWN_NAME, name->span,
                      "the mesh has no axis '%s'", name->text);
        return false;
    }
    cz_mesh_find(c->mesh, name->text, &set);
    const bool is_data =
        strcmp(name->text, "dp") == 0 || strcmp(name->text, "cp") == 0;
    if (strcmp(name->text, "pp") == 0 && cz_mesh_extent(c->mesh, set) > 1) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, name->span,
                      "stages have parameters of their own: pp cannot stand "
                      "here");
        return false;
    }
    if (of_data && !is_data && cz_mesh_extent(c->mesh, set) > 1) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, name->span,
                      "%s cuts the parameters themselves: only dp and cp can "
                      "stand here",
                      name->text);
        return false;
    }
    if (set & *axes) {
        cz_diag_error(c->diags, CZ_BAD_SCHEDULE, name->span,
                      "an axis stands here twice");
        return false;
    }
    /* axes of size 1 change nothing and are left out, dp apart */
    if (cz_mesh_extent(c->mesh, set) > 1 || strcmp(name->text, "dp") == 0)
        *axes |= set;
    return true;
}

/* A clause of data that names only axes of one rank, where dp has more. */
static void warn_of_none(cz_clauses *c, const cz_node *node, int64_t axes)
{
    int64_t dp;
    cz_mesh_find(c->mesh, "dp", &dp);
    if (cz_n_items(node) > 0 && axes == 0 && cz_mesh_extent(c->mesh, dp) > 1)
        cz_diag_warning(c->diags, CZ_BAD_SCHEDULE, cz_item(node, 0)->span,
                        "the mesh has one rank along %s: this is over no "
                        "ranks, nor over those of dp",
                        cz_item(node, 0)->text);
}

int64_t cz_clause_axes(cz_clauses *c, const cz_node *node, bool of_data)
{
    int64_t axes = 0;
    for (int i = 0; i < cz_n_items(node); i++)
        if (!read_axis(c, cz_item(node, i), of_data, &axes))
            c->failed = true;
    if (of_data && !c->failed)
        warn_of_none(c, node, axes);
    return axes;
}

cz_dtype cz_clause_dtype(cz_clauses *c, const cz_node *node, const char *what,
                         bool narrow)
{
    cz_dtype dtype = CZ_F32;
    const char *known[] = {"f32", "bf16", "f64"};
    if (!cz_dtype_find(node->text, &dtype) || dtype == CZ_F16)
        cz_clause_check_word(c, node, node->text, known, 3);
    else if (dtype != CZ_F32 && !(narrow && dtype == CZ_BF16))
        cz_clause_unsupported(
            c, node->span,
            cz_arena_printf(c->env->arena, "%s in %s are", what, node->text));
    return dtype;
}
