/* Did-you-mean for paths: an edit distance in two layers, characters within
 * segments and segments within names. */
#include "frontend/model/model.h"

#include <string.h>

#include "frontend/names/match.h"

enum {
    MAX_LENGTH = 64,
    MAX_SEGMENTS = 64,
    FAR = 2 /* times the least distance: no longer near */
};

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int length_of(const char *text)
{
    const size_t n = strlen(text);
    return n < MAX_LENGTH ? (int)n : MAX_LENGTH;
}

/* Edits between two words, of which only the start counts. */
static int word_distance(const char *a, const char *b)
{
    int row[MAX_LENGTH + 1] = {0};
    const int n = length_of(a), m = length_of(b);
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            const int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = min(change, min(row[j], row[j - 1]) + 1);
        }
    }
    return row[m];
}

static int segment_cost(const cz_node *segment, const char *word)
{
    if (segment->kind != CZ_AST_SEGMENT || cz_match_segment(segment, word))
        return 0;
    return 1 + word_distance(segment->text, word);
}

/* Cost of leaving a segment of the path, or a word of the name, alone. */
static int skip_cost(const cz_node *segment)
{
    return segment->kind == CZ_AST_SEGMENT ? 1 + length_of(segment->text) : 0;
}

static int path_distance(const cz_node *path, const char *const *words, int n)
{
    int row[CZ_MAX_WORDS + 1] = {0};
    for (int j = 1; j <= n; j++)
        row[j] = row[j - 1] + 1 + length_of(words[j - 1]);
    for (int i = 0; i < cz_n_items(path) && i < MAX_SEGMENTS; i++) {
        const cz_node *segment = cz_item(path, i);
        const bool is_any = segment->kind == CZ_AST_SEGMENTS;
        int diagonal = row[0];
        row[0] += skip_cost(segment);
        for (int j = 1; j <= n; j++) {
            const int take = diagonal + segment_cost(segment, words[j - 1]);
            const int skip_word =
                row[j - 1] + (is_any ? 0 : 1 + length_of(words[j - 1]));
            diagonal = row[j];
            row[j] = min(take, min(row[j] + skip_cost(segment), skip_word));
        }
    }
    return row[n];
}

/* Put a pattern among the nearest so far, behind its equals. */
static int keep_nearest(const cz_pattern **best, int *distances, int n,
                        const cz_pattern *pattern, int distance)
{
    int at = n;
    while (at > 0 && distance < distances[at - 1])
        at--;
    if (at == CZ_MAX_SUGGESTED)
        return n;
    if (n < CZ_MAX_SUGGESTED)
        n++;
    for (int i = n - 1; i > at; i--) {
        best[i] = best[i - 1];
        distances[i] = distances[i - 1];
    }
    best[at] = pattern;
    distances[at] = distance;
    return n;
}

int cz_suggest_patterns(cz_arena *arena, const cz_node *path,
                        const cz_model *model,
                        const cz_pattern *best[CZ_MAX_SUGGESTED])
{
    int distances[CZ_MAX_SUGGESTED], n = 0;
    for (int i = 0; i < model->n; i++) {
        const char *words[CZ_MAX_WORDS];
        const cz_pattern *pattern = &model->patterns[i];
        cz_pattern_words(arena, pattern, pattern->first, words);
        n = keep_nearest(best, distances, n, pattern,
                         path_distance(path, words, pattern->n_words));
    }
    while (n > 1 && distances[n - 1] > FAR * distances[0])
        n--;
    return n;
}

const cz_pattern *cz_suggest_pattern(cz_arena *arena, const cz_node *path,
                                     const cz_model *model)
{
    const cz_pattern *best[CZ_MAX_SUGGESTED];
    return cz_suggest_patterns(arena, path, model, best) > 0 ? best[0] : NULL;
}

void cz_suggest_report(cz_arena *arena, cz_diags *diags, const cz_node *path,
                       const cz_model *model)
{
    const cz_pattern *near[CZ_MAX_SUGGESTED];
    const int n = cz_suggest_patterns(arena, path, model, near);
    const char *names = "";
    for (int i = 0; i < n; i++)
        names = cz_arena_printf(arena, "%s%s'%s'%s", names,
                                i == 0      ? ""
                                : i < n - 1 ? ", "
                                            : " and ",
                                cz_pattern_first_name(arena, near[i]),
                                near[i]->frozen ? ", which is frozen" : "");
    cz_diag_error(diags, CZ_MATCHES_NOTHING, path->span,
                  "no parameter matches '%s'", path->text);
    if (n > 0)
        cz_diag_note(diags, path->span, "the nearest %s %s",
                     n == 1 ? "is" : "are", names);
}
