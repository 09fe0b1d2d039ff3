/* Ties. */
#include "frontend/model/model.h"

#include <stdlib.h>

bool cz_tie_target(cz_arena *arena, const cz_node *node, cz_diags *diags,
                   cz_pattern *target)
{
    const cz_node *path = cz_tie_target_path(node);
    cz_word *words = CZ_NEW(arena, cz_word, cz_n_items(path));
    bool is_name = cz_n_items(path) <= CZ_MAX_WORDS;
    for (int i = 0; i < cz_n_items(path) && is_name; i++) {
        const cz_node *segment = cz_item(path, i);
        is_name = segment->kind == CZ_AST_SEGMENT && cz_n_items(segment) == 0;
        words[i].text = segment->text;
    }
    *target = (cz_pattern){.words = words, .n_words = cz_n_items(path)};
    target->node = node;
    if (!is_name)
        cz_diag_error(diags, CZ_BAD_PATH, path->span,
                      "a tie means one parameter: write its whole name");
    return is_name;
}

bool cz_tie_finds(const cz_tie *tie, const cz_pattern *pattern, int64_t *index)
{
    if (!cz_pattern_overlaps(&tie->target, pattern))
        return false;
    for (int i = 0; i < pattern->n_words && index; i++)
        if (!pattern->words[i].text)
            index[pattern->words[i].index] =
                strtoll(tie->target.words[i].text, NULL, 10);
    return true;
}
