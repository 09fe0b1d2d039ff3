/* Parameter patterns. */
#include "frontend/model/model.h"

#include <string.h>

#include "dsl/base/checked.h"

const char *cz_pattern_name(cz_arena *arena, const cz_pattern *pattern)
{
    const char *out = "";
    for (int i = 0; i < pattern->n_words; i++) {
        const cz_word *word = &pattern->words[i];
        const char *dot = i == 0 ? "" : ".";
        out = word->text
                  ? cz_arena_printf(arena, "%s%s%s", out, dot, word->text)
                  : cz_arena_printf(arena, "%s%s{%d}", out, dot, word->index);
    }
    return out;
}

void cz_pattern_words(cz_arena *arena, const cz_pattern *pattern,
                      const int64_t *index, const char **words)
{
    for (int i = 0; i < pattern->n_words; i++) {
        const cz_word *word = &pattern->words[i];
        words[i] = word->text ? word->text
                              : cz_arena_printf(arena, "%lld",
                                                (long long)index[word->index]);
    }
}

const char *cz_pattern_first_name(cz_arena *arena, const cz_pattern *pattern)
{
    const char *words[CZ_MAX_WORDS];
    const char *out = "";
    cz_pattern_words(arena, pattern, pattern->first, words);
    for (int i = 0; i < pattern->n_words; i++)
        out =
            cz_arena_printf(arena, "%s%s%s", out, i == 0 ? "" : ".", words[i]);
    return out;
}

int64_t cz_pattern_count(const cz_pattern *pattern)
{
    int64_t count = 0;
    if (!cz_checked_product(pattern->extents, pattern->n_indices, &count))
        return 0;
    return count;
}

int64_t cz_pattern_numel(const cz_pattern *pattern)
{
    int64_t numel = 1;
    for (int i = 0; i < pattern->n_dims; i++)
        numel *= pattern->shape[i]; /* checked where the pattern was made */
    return numel;
}

static bool same_words(const cz_pattern *a, const cz_pattern *b)
{
    if (a->n_words != b->n_words)
        return false;
    for (int i = 0; i < a->n_words; i++) {
        const cz_word *x = &a->words[i], *y = &b->words[i];
        if (!x->text != !y->text)
            return false;
        if (x->text ? strcmp(x->text, y->text) != 0 : x->index != y->index)
            return false;
    }
    return true;
}

static bool same_blocks(const cz_blocks *a, const cz_blocks *b)
{
    if (!a || !b || a == b)
        return a == b;
    if (a->n != b->n || a->n_strips != b->n_strips)
        return false;
    for (int i = 0; i < a->n_strips; i++)
        if (a->strips[i].size != b->strips[i].size ||
            strcmp(a->strips[i].name, b->strips[i].name) != 0)
            return false;
    return true;
}

bool cz_pattern_is_alike(const cz_pattern *a, const cz_pattern *b, int k)
{
    if (a->n_indices != b->n_indices || !same_words(a, b))
        return false;
    if (a->n_dims != b->n_dims || a->dtype != b->dtype ||
        a->transposed != b->transposed || !same_blocks(a->blocks, b->blocks) ||
        a->expert_axes != b->expert_axes ||
        a->expert_index != b->expert_index || a->expert != b->expert ||
        a->residents != b->residents || a->held_axes != b->held_axes ||
        a->held_at != b->held_at)
        return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->shape[i] != b->shape[i] || a->stored[i] != b->stored[i] ||
            a->shard[i] != b->shard[i])
            return false;
    for (int i = 0; i < a->n_indices; i++)
        if (i != k &&
            (a->first[i] != b->first[i] || a->extents[i] != b->extents[i]))
            return false;
    return true;
}

/* Whether a number in a name is a value of the pattern's index. */
static bool holds(const cz_pattern *pattern, int index, const char *text)
{
    int64_t value = 0;
    if (*text == '\0' || strlen(text) > 18 || (*text == '0' && text[1]))
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (*text - '0');
    }
    return value >= pattern->first[index] &&
           value < pattern->first[index] + pattern->extents[index];
}

static bool ranges_meet(const cz_pattern *a, int i, const cz_pattern *b, int k)
{
    return a->first[i] < b->first[k] + b->extents[k] &&
           b->first[k] < a->first[i] + a->extents[i];
}

bool cz_pattern_overlaps(const cz_pattern *a, const cz_pattern *b)
{
    if (a->n_words != b->n_words)
        return false;
    for (int i = 0; i < a->n_words; i++) {
        const cz_word *x = &a->words[i], *y = &b->words[i];
        bool meet;
        if (x->text && y->text)
            meet = strcmp(x->text, y->text) == 0;
        else if (x->text)
            meet = holds(b, y->index, x->text);
        else if (y->text)
            meet = holds(a, x->index, y->text);
        else
            meet = ranges_meet(a, x->index, b, y->index);
        if (!meet)
            return false;
    }
    return true;
}
