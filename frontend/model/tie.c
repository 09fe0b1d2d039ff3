/* Ties. */
#include "frontend/model/tie.h"

#include <stdlib.h>

bool cz_tie_target(cz_arena *arena, const cz_node *node, cz_diags *diags,
                   cz_family *target)
{
    const cz_node *path = node->kids[1];
    cz_word *words = CZ_NEW(arena, cz_word, path->n_kids);
    bool is_name = path->n_kids <= CZ_MAX_WORDS;
    for (int i = 0; i < path->n_kids && is_name; i++) {
        const cz_node *segment = path->kids[i];
        is_name = segment->kind == CZ_AST_SEGMENT && segment->n_kids == 0;
        words[i].text = segment->text;
    }
    *target = (cz_family){.words = words, .n_words = path->n_kids};
    target->node = node;
    if (!is_name)
        cz_diag_error(diags, CZ_BAD_PATH, path->span,
                      "a tie means one parameter: write its whole name");
    return is_name;
}

bool cz_tie_finds(const cz_tie *tie, const cz_family *family, int64_t *index)
{
    if (!cz_family_overlaps(&tie->target, family))
        return false;
    for (int i = 0; i < family->n_words && index; i++)
        if (!family->words[i].text)
            index[family->words[i].index] =
                strtoll(tie->target.words[i].text, NULL, 10);
    return true;
}
