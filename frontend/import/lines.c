/* Statements of a params block: alternatives joined, then printed. */
#include "frontend/import/internal.h"

#include <string.h>

enum {
    WINDOW = 8,      /* neighbours that a line is compared with */
    MAX_CHOICE = 56, /* bytes of {a, b, ...} */
    N_PASSES = 2     /* for {a, b}.{weight, bias} */
};

int cz_import_line_compare(const cz_import_line *a, const cz_import_line *b)
{
    for (int i = 0; i < a->n_words && i < b->n_words; i++) {
        const int order = strcmp(a->words[i], b->words[i]);
        if (order != 0)
            return order;
    }
    return a->n_words != b->n_words ? a->n_words - b->n_words
                                    : strcmp(a->rest, b->rest);
}

/* ---- alternatives ---- */

/* The only word in which they differ, or -1. */
static int only_difference(const cz_import_line *a, const cz_import_line *b)
{
    int found = -1;

    if (a->n_words != b->n_words || strcmp(a->rest, b->rest) != 0)
        return -1;
    for (int i = 0; i < a->n_words; i++) {
        if (strcmp(a->words[i], b->words[i]) == 0)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* "{a, b}" from "a" or "{a, ...}" and the plain word "b"; NULL when that is no
 * choice, or too long to read. */
static const char *choice_of(cz_arena *arena, const char *first,
                             const char *second)
{
    const size_t n = strlen(first);

    if (strpbrk(second, "[{") || strchr(first, '[') ||
        n + strlen(second) > MAX_CHOICE)
        return NULL;
    return *first == '{' ? cz_arena_printf(arena, "%.*s, %s}", (int)(n - 1),
                                           first, second)
                         : cz_arena_printf(arena, "{%s, %s}", first, second);
}

static bool join(cz_arena *arena, cz_import_line *line,
                 const cz_import_line *other)
{
    const int at = only_difference(line, other);
    const char *choice =
        at < 0 ? NULL : choice_of(arena, line->words[at], other->words[at]);

    if (!choice)
        return false;
    const char **words = CZ_NEW(arena, const char *, line->n_words);
    memcpy(words, line->words, (size_t)line->n_words * sizeof *words);
    words[at] = choice;
    line->words = words;
    return true;
}

static cz_import_lines join_all(cz_arena *arena, cz_import_lines lines)
{
    cz_import_lines out = {CZ_NEW(arena, cz_import_line, lines.n), 0};

    for (int i = 0; i < lines.n; i++) {
        const int oldest = out.n > WINDOW ? out.n - WINDOW : 0;
        bool joined = false;
        for (int k = out.n - 1; k >= oldest && !joined; k--)
            joined = join(arena, &out.list[k], &lines.list[i]);
        if (!joined)
            out.list[out.n++] = lines.list[i];
    }
    return out;
}

/* ---- printing ---- */

/* Words that begin another statement, alone at the start of a line. */
static bool is_keyword(const char *word)
{
    static const char *const keywords[] = {"if", "let", "tie"};
    const size_t n = strcspn(word, "[");

    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (n == strlen(keywords[i]) && strncmp(word, keywords[i], n) == 0)
            return true;
    return false;
}

void cz_import_lines_print(cz_arena *arena, cz_import_lines lines, cz_text *out)
{
    for (int i = 0; i < N_PASSES; i++)
        lines = join_all(arena, lines);
    for (int i = 0; i < lines.n; i++) {
        const cz_import_line *line = &lines.list[i];
        const char *word = line->words[0];
        const int n = (int)strcspn(word, "[");

        if (is_keyword(word))
            cz_text_printf(out, "{%.*s}%s", n, word, word + n);
        else
            cz_text_puts(out, word);
        for (int k = 1; k < line->n_words; k++)
            cz_text_printf(out, ".%s", line->words[k]);
        cz_text_printf(out, "%s\n", line->rest);
    }
}
