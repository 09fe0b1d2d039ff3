/* Parameter lists to statements.  Names are cut into words; names that agree
 * up to a number make an index; what is the same under each of its values is
 * said once, what is not under a condition.  Inner indices come first. */
#include "frontend/import/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_INDICES = 4,
    MAX_DIGITS = 6,
    SPARSE = 16,       /* an index has at least one value in so many... */
    SPARSE_EXTRA = 64, /* ...save for short ones */
    WINDOW = 64        /* groups in which an `else` is looked for */
};

static const char *const index_names[MAX_INDICES] = {"i", "j", "k", "l"};

/* ---- names ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

const char *cz_import_bad_name(const char *name)
{
    int n_words = 0;

    if (strlen(name) > CZ_IMPORT_MAX_NAME)
        return "is longer than 240 bytes";
    for (const char *at = name;; at++) {
        const size_t n = strspn(at, letters);
        if (at[n] != '\0' && at[n] != '.')
            return "has other characters than letters, digits, '_', '-' and "
                   "dots";
        if (n == 0)
            return "has an empty segment";
        if (n > CZ_IMPORT_MAX_WORD)
            return "has a segment of more than 128 bytes";
        if (++n_words > CZ_IMPORT_MAX_WORDS)
            return "has more than 32 segments";
        at += n;
        if (*at == '\0')
            return NULL;
    }
}

/* The number that a word spells as an index would, or -1. */
static int number_of(const char *word, size_t n)
{
    int value = 0;

    if (n == 0 || n > MAX_DIGITS || (word[0] == '0' && n > 1))
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (word[i] < '0' || word[i] > '9')
            return -1;
        value = 10 * value + (word[i] - '0');
    }
    return value;
}

size_t cz_import_stack_length(const char *name)
{
    for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
        if (number_of(dot + 1, strcspn(dot + 1, ".")) >= 0)
            return (size_t)(dot - name);
    return 0;
}

static int count_words(const char *name)
{
    int n = 1;

    for (; *name; name++)
        n += *name == '.';
    return n;
}

static cz_import_line line_of(cz_arena *arena, const char *name)
{
    const char **words = CZ_NEW(arena, const char *, count_words(name));
    cz_import_line line = {.words = words};

    for (const char *at = name;; at++) {
        const size_t n = strcspn(at, ".");
        words[line.n_words++] = cz_arena_copy(arena, at, n);
        at += n;
        if (*at == '\0')
            return line;
    }
}

/* " : f32[8/tp, 4] frozen stage 0" */
static const char *declaration(cz_arena *arena, const cz_import_param *param,
                               cz_dtype dtype)
{
    cz_text out = {0};

    cz_text_printf(&out, " : %s[",
                   param->dtype == dtype ? "" : cz_dtype_name(param->dtype));
    for (int i = 0; i < param->n_dims; i++)
        cz_text_printf(&out, "%s%" PRId64 "%s", i > 0 ? ", " : "",
                       param->shape[i], param->shards ? param->shards[i] : "");
    cz_text_printf(&out, "]%s%s", param->n_dims > 3 ? " view matrix" : "",
                   param->frozen ? " frozen" : "");
    if (param->stages)
        cz_text_printf(&out, " stage %s", param->stages);
    const char *text = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}

/* ---- finding indices ---- */

/* A name on the way: the word at `at` may be an index. */
typedef struct candidate {
    cz_import_line line;
    int at, number, order; /* at < 0: it has no (more) index */
    bool gone;             /* in an index that stands at another's place */
} candidate;

static void find_number(candidate *c, int from)
{
    for (c->at = from; c->at < c->line.n_words; c->at++) {
        const char *word = c->line.words[c->at];
        c->number = number_of(word, strlen(word));
        if (c->number >= 0)
            return;
    }
    c->at = -1;
}

static bool is_last_word(const candidate *c)
{
    return c->at + 1 == c->line.n_words;
}

/* Order by what stands before the number; names that end with it apart. */
static int compare_stacks(const candidate *a, const candidate *b)
{
    if (a->at != b->at)
        return a->at - b->at;
    for (int i = 0; i < a->at; i++) {
        const int order = strcmp(a->line.words[i], b->line.words[i]);
        if (order != 0)
            return order;
    }
    return (int)is_last_word(a) - (int)is_last_word(b);
}

static int by_stack(const void *left, const void *right)
{
    const candidate *a = *(candidate *const *)left;
    const candidate *b = *(candidate *const *)right;
    const int stack = compare_stacks(a, b);

    if (stack != 0)
        return stack;
    return a->number != b->number ? a->number - b->number : a->order - b->order;
}

/* Whether the numbers of a stack, which is sorted by them, are an index. */
static bool is_index(candidate *const *stack, int n)
{
    const int extent = stack[n - 1]->number + 1;
    int n_values = 1;

    for (int i = 1; i < n; i++)
        n_values += stack[i]->number != stack[i - 1]->number;
    if (n_values < 2 || extent > SPARSE * n_values + SPARSE_EXTRA)
        return false;
    if (!is_last_word(stack[0]))
        return true;
    for (int i = 1; i < n; i++)
        if (strcmp(stack[i]->line.rest, stack[0]->line.rest) != 0)
            return false;
    return n == extent;
}

static cz_import_lines collapse(cz_arena *arena, cz_import_lines lines,
                                int depth);

/* What stands under one value of the index: stack[0..n). */
static cz_import_lines lines_under(cz_arena *arena, candidate *const *stack,
                                   int n, int depth)
{
    cz_import_lines lines = {CZ_NEW(arena, cz_import_line, n), n};
    const int skipped = stack[0]->at + 1;

    for (int i = 0; i < n; i++)
        lines.list[i] = (cz_import_line){stack[i]->line.words + skipped,
                                         stack[i]->line.n_words - skipped,
                                         stack[i]->line.rest};
    return collapse(arena, lines, depth + 1);
}

/* What stands under the index that a stack is. */
static cz_import_line block_of(cz_arena *arena, candidate *const *stack, int n,
                               int depth)
{
    cz_import_member *members = NULL;
    int n_members = 0;

    for (int at = 0, end; at < n; at = end) {
        for (end = at; end < n && stack[end]->number == stack[at]->number;)
            end++;
        const cz_import_lines under =
            lines_under(arena, stack + at, end - at, depth);
        for (int i = 0; i < under.n; i++) {
            const cz_import_member member = {stack[at]->number, n_members,
                                             under.list[i]};
            *CZ_PUSH(arena, members, n_members) = member;
        }
    }
    return cz_import_block(arena, members, n_members, stack[n - 1]->number + 1,
                           index_names[depth]);
}

/* stack words, with the index at the last one, then `more` words. */
static cz_import_line indexed(cz_arena *arena, const candidate *first,
                              int extent, int depth, cz_import_line more)
{
    const int n = first->at + more.n_words;
    const char **words = CZ_NEW(arena, const char *, n);

    for (int i = 0; i < first->at; i++)
        words[i] = first->line.words[i];
    words[first->at - 1] = cz_arena_printf(
        arena, "%s[%s < %d]", words[first->at - 1], index_names[depth], extent);
    for (int i = 0; i < more.n_words; i++)
        words[first->at + i] = more.words[i];
    return (cz_import_line){words, n, more.rest};
}

/* The whole stack as one line. */
static cz_import_line fold(cz_arena *arena, candidate *const *stack, int n,
                           int depth)
{
    const int extent = stack[n - 1]->number + 1;

    if (is_last_word(stack[0]))
        return indexed(arena, stack[0], extent, depth,
                       (cz_import_line){.rest = stack[0]->line.rest});
    return indexed(arena, stack[0], extent, depth,
                   block_of(arena, stack, n, depth));
}

/* The index stands where the first of its names stood. */
static void fold_in_place(cz_arena *arena, candidate **stack, int n, int depth)
{
    candidate *first = stack[0];

    for (int i = 1; i < n; i++)
        if (stack[i]->order < first->order)
            first = stack[i];
    const cz_import_line line = fold(arena, stack, n, depth);
    for (int i = 0; i < n; i++) {
        stack[i]->gone = true;
        stack[i]->at = -1;
    }
    first->gone = false;
    first->line = line;
}

/* One look at each name's next number; how many names have another one. */
static int fold_stacks(cz_arena *arena, candidate **active, int n, int depth)
{
    int n_left = 0;

    qsort(active, (size_t)n, sizeof *active, by_stack);
    for (int at = 0, end; at < n; at = end) {
        for (end = at + 1;
             end < n && compare_stacks(active[at], active[end]) == 0;)
            end++;
        if (is_index(active + at, end - at)) {
            fold_in_place(arena, active + at, end - at, depth);
            continue;
        }
        for (int i = at; i < end; i++) {
            find_number(active[i], active[i]->at + 1);
            if (active[i]->at > 0)
                active[n_left++] = active[i];
        }
    }
    return n_left;
}

static cz_import_lines collapse(cz_arena *arena, cz_import_lines lines,
                                int depth)
{
    candidate *all = CZ_NEW(arena, candidate, lines.n);
    candidate **active = CZ_NEW(arena, candidate *, lines.n);
    cz_import_lines out = {CZ_NEW(arena, cz_import_line, lines.n), 0};
    int n_active = 0;

    for (int i = 0; i < lines.n; i++) {
        all[i] = (candidate){.line = lines.list[i], .order = i};
        find_number(&all[i], 1);
        if (all[i].at > 0)
            active[n_active++] = &all[i];
    }
    while (n_active > 0 && depth < MAX_INDICES)
        n_active = fold_stacks(arena, active, n_active, depth);
    for (int i = 0; i < lines.n; i++)
        if (!all[i].gone)
            out.list[out.n++] = all[i].line;
    return out;
}

void cz_import_patterns(cz_arena *arena, const cz_import_list *list,
                        cz_dtype dtype, cz_text *out)
{
    cz_import_lines lines = {CZ_NEW(arena, cz_import_line, list->n), list->n};

    for (int i = 0; i < list->n; i++) {
        lines.list[i] = line_of(arena, list->params[i].name);
        lines.list[i].rest = declaration(arena, &list->params[i], dtype);
    }
    cz_import_lines_print(arena, collapse(arena, lines, 0), out);
}
