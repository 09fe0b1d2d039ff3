/* Paths that match nothing, and did-you-mean for them: an edit distance in two
 * layers, characters within segments and segments within names. */
#include "frontend/model/model.h"

#include <stdio.h>
#include <string.h>

#include "frontend/names/match.h"

enum { MAX_SUGGESTED = 3 };

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
    if (at == MAX_SUGGESTED)
        return n;
    if (n < MAX_SUGGESTED)
        n++;
    for (int i = n - 1; i > at; i--) {
        best[i] = best[i - 1];
        distances[i] = distances[i - 1];
    }
    best[at] = pattern;
    distances[at] = distance;
    return n;
}

/* The patterns that are nearest to the path, the nearest first, and how many:
 * those beyond twice the least distance are left out. */
static int nearest_patterns(cz_arena *arena, const cz_node *path,
                            const cz_model *model,
                            const cz_pattern *best[MAX_SUGGESTED])
{
    int distances[MAX_SUGGESTED], n = 0;
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
    const cz_pattern *best[MAX_SUGGESTED];
    return nearest_patterns(arena, path, model, best) > 0 ? best[0] : NULL;
}

static void report_path(cz_arena *arena, cz_diags *diags, const cz_node *path,
                        cz_span place, const cz_model *model)
{
    const cz_pattern *near[MAX_SUGGESTED];
    const int n = nearest_patterns(arena, path, model, near);
    const char *names = "";
    for (int i = 0; i < n; i++)
        names = cz_arena_printf(arena, "%s%s'%s'%s", names,
                                i == 0      ? ""
                                : i < n - 1 ? ", "
                                            : " and ",
                                cz_pattern_first_name(arena, near[i]),
                                near[i]->frozen ? ", which is frozen" : "");
    cz_diag_error(diags, CZ_MATCHES_NOTHING, place, "no parameter matches '%s'",
                  path->text);
    if (n > 0)
        cz_diag_note(diags, place, "the nearest %s %s", n == 1 ? "is" : "are",
                     names);
}

/* ---- paths that match nothing ---- */

/* Whether the segment matches the word, or some value of the index. */
static bool matches_some(const cz_node *segment, const void *name, int at)
{
    const cz_pattern *pattern = name;
    const cz_word *word = &pattern->words[at];
    if (word->text)
        return cz_match_segment(segment, word->text);
    const int64_t first = pattern->first[word->index];
    for (int64_t i = 0; i < pattern->extents[word->index]; i++) {
        char value[24];
        snprintf(value, sizeof value, "%lld", (long long)(first + i));
        if (cz_match_segment(segment, value))
            return true;
    }
    return false;
}

bool cz_pattern_is_matched(const cz_pattern *pattern, const cz_node *path,
                           int n)
{
    return cz_match_path_by(path, matches_some, pattern, n);
}

static bool matches_model(const cz_node *path, const cz_model *model,
                          bool frozen)
{
    for (int i = 0; i < model->n; i++)
        if ((frozen || !model->patterns[i].frozen) &&
            cz_pattern_is_matched(&model->patterns[i], path,
                                  model->patterns[i].n_words))
            return true;
    return false;
}

/* The end of a range as an alternative. */
static const cz_node *word_of(cz_arena *arena, const cz_node *end)
{
    cz_node *word = CZ_NEW(arena, cz_node, 1);
    *word = (cz_node){
        .kind = CZ_AST_LITERAL,
        .depth = 1,
        .text = cz_arena_printf(arena, "%lld", (long long)end->integer),
        .span = end->span};
    return word;
}

/* A range may be longer than there is to match, but a mistake looks alike. */
static void warn_of_end(cz_arena *arena, cz_diags *diags, const cz_node *path,
                        int s, int p, const cz_node *end, const cz_model *model)
{
    const cz_node *word = word_of(arena, end);
    const cz_node *narrow = cz_path_with(arena, path, s, p, word);
    if (!matches_model(narrow, model, true))
        cz_diag_warning(diags, CZ_MATCHES_NOTHING, end->span,
                        "no parameter matches '%s': the range is longer than "
                        "what there is",
                        narrow->text);
}

/* Each alternative of part `p` of segment `s`, alone. */
static bool check_choice(cz_arena *arena, cz_diags *diags, const cz_node *path,
                         int s, int p, const cz_model *model, bool frozen)
{
    const cz_node *choice = cz_child(cz_item(path, s), p);
    bool good = true;
    for (int i = 0; i < cz_n_items(choice); i++) {
        const cz_node *item = cz_item(choice, i);
        const cz_node *narrow = cz_path_with(arena, path, s, p, item);
        if (!matches_model(narrow, model, frozen)) {
            report_path(arena, diags, narrow, item->span, model);
            good = false;
        } else if (item->kind == CZ_AST_RANGE) {
            warn_of_end(arena, diags, path, s, p, cz_range_low(item), model);
            if (cz_range_high(item)->integer != cz_range_low(item)->integer)
                warn_of_end(arena, diags, path, s, p, cz_range_high(item),
                            model);
        }
    }
    return good;
}

bool cz_paths_check(cz_arena *arena, cz_diags *diags, const cz_node *paths,
                    const cz_model *model, bool frozen)
{
    bool good = true;
    for (int i = 0; i < cz_n_items(paths); i++) {
        const cz_node *path = cz_item(paths, i);
        if (!matches_model(path, model, frozen)) {
            report_path(arena, diags, path, path->span, model);
            good = false;
            continue;
        }
        for (int s = 0; s < cz_n_items(path); s++)
            for (int p = 0; p < cz_n_children(cz_item(path, s)); p++)
                if (cz_child(cz_item(path, s), p)->kind == CZ_AST_CHOICE &&
                    !check_choice(arena, diags, path, s, p, model, frozen))
                    good = false;
    }
    return good;
}
