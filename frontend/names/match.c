/* Matching of names against paths. */
#include "frontend/names/match.h"

#include <string.h>

enum { MAX_WORD = 255 };

/* ---- one segment ---- */

/* The set of places in the word where what was matched so far may end. */
typedef struct ends {
    bool at[MAX_WORD + 1];
} ends;

/* The decimal number at word[from, to), or -1: canonical, so that layer 7 is
 * not matched by "07". */
static int64_t decimal(const char *word, int from, int to)
{
    int64_t value = 0;
    if (to - from > 18 || to == from || (word[from] == '0' && to - from > 1))
        return -1;
    for (int i = from; i < to; i++) {
        if (word[i] < '0' || word[i] > '9')
            return -1;
        value = value * 10 + (word[i] - '0');
    }
    return value;
}

static bool option_matches(const cz_node *option, const char *word, int from,
                           int to)
{
    if (option->kind == CZ_AST_RANGE) {
        const int64_t value = decimal(word, from, to);
        return value >= cz_range_low(option)->integer &&
               value <= cz_range_high(option)->integer && value >= 0;
    }
    const size_t n = (size_t)(to - from);
    return strlen(option->text) == n &&
           memcmp(option->text, word + from, n) == 0;
}

static bool part_matches(const cz_node *part, const char *word, int from,
                         int to)
{
    if (part->kind == CZ_AST_STAR)
        return true;
    if (part->kind != CZ_AST_CHOICE)
        return option_matches(part, word, from, to);
    for (int i = 0; i < cz_n_items(part); i++)
        if (option_matches(cz_item(part, i), word, from, to))
            return true;
    return false;
}

static ends advance(const cz_node *part, const char *word, int n, ends before)
{
    ends after = {{false}};
    for (int from = 0; from <= n; from++)
        if (before.at[from])
            for (int to = from; to <= n; to++)
                if (!after.at[to])
                    after.at[to] = part_matches(part, word, from, to);
    return after;
}

bool cz_match_segment(const cz_node *segment, const char *word)
{
    const size_t length = strlen(word);
    if (cz_n_items(segment) == 0)
        return strcmp(segment->text, word) == 0;
    if (length > MAX_WORD)
        return false;
    ends reached = {{true}};
    for (int i = 0; i < cz_n_items(segment); i++)
        reached = advance(cz_item(segment, i), word, (int)length, reached);
    return reached.at[length];
}

/* ---- the whole path ---- */

/* As for `*` in file names: after a mismatch only the last `**` needs to take
 * one segment more. */
bool cz_match_path_by(const cz_node *path, cz_match_word *matches,
                      const void *name, int n)
{
    int step = 0, word = 0, star = -1, star_word = 0;
    while (word < n) {
        const cz_node *at = cz_item(path, step);
        if (at && at->kind == CZ_AST_SEGMENTS) {
            star = step++;
            star_word = word;
        } else if (at && at->kind == CZ_AST_SEGMENT &&
                   matches(at, name, word)) {
            step++;
            word++;
        } else if (star >= 0) {
            step = star + 1;
            word = ++star_word;
        } else {
            return false;
        }
    }
    for (const cz_node *rest = cz_item(path, step);
         rest && rest->kind == CZ_AST_SEGMENTS; rest = cz_item(path, step))
        step++;
    return step == cz_n_items(path);
}

static bool word_matches(const cz_node *segment, const void *name, int word)
{
    return cz_match_segment(segment, ((const char *const *)name)[word]);
}

bool cz_match_path(const cz_node *path, const char *const *words, int n)
{
    return cz_match_path_by(path, word_matches, words, n);
}

bool cz_match_paths(const cz_node *paths, const char *const *words, int n)
{
    for (int i = 0; i < cz_n_items(paths); i++)
        if (cz_match_path(cz_item(paths, i), words, n))
            return true;
    return false;
}

static bool path_tells_apart(const cz_node *path, const char *a, const char *b)
{
    for (int i = 0; i < cz_n_items(path); i++) {
        const cz_node *segment = cz_item(path, i);
        if (segment->kind == CZ_AST_SEGMENT &&
            cz_match_segment(segment, a) != cz_match_segment(segment, b))
            return true;
    }
    return false;
}

bool cz_match_tells_apart(const cz_node *paths, const char *a, const char *b)
{
    for (int k = 0; k < cz_n_items(paths); k++)
        if (path_tells_apart(cz_item(paths, k), a, b))
            return true;
    return false;
}
