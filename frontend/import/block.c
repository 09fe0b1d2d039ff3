/* Statements under an index.  Lines that are the same under several values are
 * one statement; statements under the same values are one group. */
#include "frontend/import/internal.h"
#include "dsl/base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions on the index: from a set of values to the text behind `if`
 * ---- */

/* Values first, ..., end - 1. */
typedef struct cz_index_run {
    int first, end;
} cz_index_run;

/* Values of an index below `n`: ascending runs that do not touch. */
typedef struct cz_index_set {
    cz_index_run *runs;
    int n_runs, n;
} cz_index_set;

enum { FEW_RUNS = 2, MAX_RUNS = 8 /* of one condition */ };

/* The values below n that are not in the set. */
static cz_index_set cz_index_set_complement(cz_arena *arena, cz_index_set set)
{
    cz_index_set out = {CZ_NEW(arena, cz_index_run, set.n_runs + 1), 0, set.n};
    int at = 0;

    for (int i = 0; i <= set.n_runs; i++) {
        const int end = i < set.n_runs ? set.runs[i].first : set.n;
        if (at < end)
            out.runs[out.n_runs++] = (cz_index_run){at, end};
        at = i < set.n_runs ? set.runs[i].end : set.n;
    }
    return out;
}

/* ---- texts ---- */

/* The period p of { r, r + p, r + 2 p, ... } below n with r < p; 0: the set is
 * no such thing. */
static int period_of(cz_index_set set)
{
    const cz_index_run *runs = set.runs;
    const int period = set.n_runs > 1 ? runs[1].first - runs[0].first : 0;

    if (period < 2 || runs[0].first >= period ||
        runs[set.n_runs - 1].first + period < set.n)
        return 0;
    for (int i = 0; i < set.n_runs; i++)
        if (runs[i].end != runs[i].first + 1 ||
            (i > 0 && runs[i].first - runs[i - 1].first != period))
            return 0;
    return period;
}

static bool put_period(cz_text *out, cz_index_set set, const char *name,
                       const char *relation)
{
    const int period = period_of(set);

    if (period > 0)
        cz_text_printf(out, "%s - %d * floor(%s / %d) %s %d", name, period,
                       name, period, relation, set.runs[0].first);
    return period > 0;
}

/* Conditions on the index called `name` of which exactly one holds for each
 * value of the set, and none for another value below n: one a line.  "" for
 * the set of all values. */
static const char *cz_condition_text(cz_arena *arena, cz_index_set set,
                                     const char *name)
{
    cz_text out = {0};

    if (set.n_runs == 1 && set.runs->first == 0 && set.runs->end == set.n)
        return "";
    if (set.n_runs <= FEW_RUNS ||
        (!put_period(&out, set, name, "==") &&
         !put_period(&out, cz_index_set_complement(arena, set), name, "!="))) {
        for (int i = 0; i < set.n_runs; i++) {
            if (i > 0)
                cz_text_puts(&out, i % MAX_RUNS == 0 ? "\n" : " or ");
            if (set.runs[i].end == set.runs[i].first + 1)
                cz_text_printf(&out, "%s == %d", name, set.runs[i].first);
            else if (set.runs[i].first == 0)
                cz_text_printf(&out, "%s < %d", name, set.runs[i].end);
            else if (set.runs[i].end == set.n)
                cz_text_printf(&out, "%s >= %d", name, set.runs[i].first);
            else
                cz_text_printf(&out, "%s >= %d and %s < %d", name,
                               set.runs[i].first, name, set.runs[i].end);
        }
    }
    const char *text = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}

/* ---- statements under the index ---- */

enum { WINDOW = 64 /* groups in which an `else` is looked for */ };

/* A statement, and under which values it stands. */
typedef struct statement {
    cz_import_line line;
    cz_index_set values;
    const char *condition;
    int order;
} statement;

/* Statements under one condition: list[from..end). */
typedef struct condition_group {
    int from, end;
    bool printed;
} condition_group;

/* Statements in the order of their conditions, and groups in the order in
 * which their first statements came. */
typedef struct statements {
    statement *list;
    int n;
    condition_group *groups;
    int n_groups;
} statements;

static int by_line(const void *left, const void *right)
{
    const cz_import_member *a = left, *b = right;
    const int order = cz_import_line_compare(&a->line, &b->line);

    return order != 0 ? order : a->value - b->value;
}

static int by_condition(const void *left, const void *right)
{
    const statement *a = left, *b = right;
    const int order = strcmp(a->condition, b->condition);

    return order != 0 ? order : a->order - b->order;
}

/* The statement that members[0..n) are, one for each value. */
static statement statement_of(cz_arena *arena, const cz_import_member *members,
                              int n, int extent, const char *index)
{
    statement out = {.line = members->line,
                     .values = {.n = extent},
                     .order = members->order};

    for (int i = 0; i < n; i++) {
        /* Add a value that is greater than all in the set. */
        if (out.values.n_runs == 0 ||
            out.values.runs[out.values.n_runs - 1].end != members[i].value)
            *CZ_PUSH(arena, out.values.runs, out.values.n_runs) =
                (cz_index_run){members[i].value, members[i].value};
        out.values.runs[out.values.n_runs - 1].end = members[i].value + 1;
        if (members[i].order < out.order)
            out.order = members[i].order;
    }
    out.condition = cz_condition_text(arena, out.values, index);
    return out;
}

/* Statements with the order of their group in the file. */
typedef struct ordered_group {
    condition_group group;
    int order;
} ordered_group;

static int by_order(const void *left, const void *right)
{
    const ordered_group *a = left, *b = right;

    return a->order - b->order;
}

/* Equal lines become one statement. */
static statements gather(cz_arena *arena, cz_import_member *members, int n,
                         int extent, const char *index)
{
    statements out = {.list = CZ_NEW(arena, statement, n)};

    if (!members)
        return out;
    qsort(members, (size_t)n, sizeof *members, by_line);
    for (int at = 0, end; at < n; at = end) {
        for (end = at + 1;
             end < n && cz_import_line_compare(&members[at].line,
                                               &members[end].line) == 0;)
            end++;
        out.list[out.n++] =
            statement_of(arena, members + at, end - at, extent, index);
    }
    /* Sort the statements by condition, and what has the same one is a group.
     */
    ordered_group *groups = CZ_NEW(arena, ordered_group, out.n);

    qsort(out.list, (size_t)out.n, sizeof *out.list, by_condition);
    for (int at = 0, end; at < out.n; at = end) {
        const statement *first = &out.list[at];
        for (end = at + 1; end < out.n && strcmp(out.list[end].condition,
                                                 first->condition) == 0;)
            end++;
        groups[out.n_groups++] =
            (ordered_group){{at, end, false}, first->order};
    }
    qsort(groups, (size_t)out.n_groups, sizeof *groups, by_order);
    out.groups = CZ_NEW(arena, condition_group, out.n_groups);
    for (int i = 0; i < out.n_groups; i++)
        out.groups[i] = groups[i].group;
    return out;
}

static const char *condition_of(statements all, int at)
{
    return all.list[all.groups[at].from].condition;
}

static void print_group(cz_arena *arena, statements all, int at, cz_text *out)
{
    condition_group *group = &all.groups[at];
    const int n = group->end - group->from;
    cz_import_lines lines = {CZ_NEW(arena, cz_import_line, n), n};

    for (int i = 0; i < n; i++)
        lines.list[i] = all.list[group->from + i].line;
    group->printed = true;
    cz_import_lines_print(arena, lines, out);
}

/* The group, one of the next few, that stands under the opposite condition;
 * or -1. */
static int find_opposite(cz_arena *arena, statements all, int at,
                         const char *index)
{
    const statement *first = &all.list[all.groups[at].from];
    const char *condition = cz_condition_text(
        arena, cz_index_set_complement(arena, first->values), index);
    const int end = at + WINDOW < all.n_groups ? at + WINDOW : all.n_groups;

    for (int i = at + 1; i < end; i++)
        if (!all.groups[i].printed &&
            strcmp(condition_of(all, i), condition) == 0)
            return i;
    return -1;
}

/* A condition of several lines is as many conditions, of which one holds. */
static void print_conditional(cz_arena *arena, statements all, int at,
                              const char *index, cz_text *out)
{
    const char *condition = condition_of(all, at);
    const int opposite =
        strchr(condition, '\n') ? -1 : find_opposite(arena, all, at, index);

    for (size_t n; *condition; condition += n + (condition[n] != '\0')) {
        n = strcspn(condition, "\n");
        cz_text_printf(out, "if %.*s {\n", (int)n, condition);
        print_group(arena, all, at, out);
        if (opposite >= 0) {
            cz_text_puts(out, "} else {\n");
            print_group(arena, all, opposite, out);
        }
        cz_text_puts(out, "}\n");
    }
}

/* " {" the statements "}" */
static const char *block_text(cz_arena *arena, statements all,
                              const char *index)
{
    cz_text out = {0};

    cz_text_puts(&out, " {\n");
    for (int at = 0; at < all.n_groups; at++) {
        if (all.groups[at].printed)
            continue;
        if (*condition_of(all, at))
            print_conditional(arena, all, at, index, &out);
        else
            print_group(arena, all, at, &out);
    }
    cz_text_puts(&out, "}");
    const char *text = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return text;
}

cz_import_line cz_import_block(cz_arena *arena, cz_import_member *members,
                               int n, int extent, const char *index)
{
    const statements all = gather(arena, members, n, extent, index);

    if (all.n == 1 && !*all.list[0].condition)
        return all.list[0].line;
    return (cz_import_line){.rest = block_text(arena, all, index)};
}
