/* The text of a candidate: the source, with other lines for mesh and schedule.
 */
#include "frontend/tune/internal.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/model/model.h"

const cz_tune_clause cz_tune_clauses[CZ_TUNE_N_CLAUSES] = {
    [CZ_TUNE_GEOMETRY] = {CZ_AST_GEOMETRY,
                          "geometry",
                          {"uneven", "padded", "equal", NULL}},
    [CZ_TUNE_BUCKET] = {CZ_AST_BUCKET,
                        "bucket",
                        {"400M", "100M", "40M", "10M", "4M", NULL}},
    [CZ_TUNE_LAYOUT] = {CZ_AST_LAYOUT, "layout", {"engine", "trainer", NULL}},
    [CZ_TUNE_FORM] = {CZ_AST_FORM, "form", {"auto", "standard", NULL}},
    [CZ_TUNE_WIRE] = {CZ_AST_WIRE_CAP, "wire", {"0.5", "2", NULL}},
    [CZ_TUNE_STRATEGY] = {CZ_AST_AXIS_STRATEGY, "tp", {"auto", "owner", NULL}}};

/* ---- words ---- */

static const char *axes_text(cz_arena *arena, const int64_t *mesh, int first,
                             int end, const char *equals, const char *between)
{
    const char *text = "";
    for (int i = first; i < end; i++)
        if (mesh[i] > 1 || i == CZ_TUNE_DP || i == CZ_TUNE_EDP)
            text = cz_arena_printf(arena, "%s%s%s%s%" PRId64, text,
                                   *text ? between : "", cz_mesh_name(i),
                                   equals, mesh[i]);
    return text;
}

const char *cz_tune_mesh_text(cz_arena *arena, const int64_t *mesh)
{
    const char *dense = axes_text(arena, mesh, 0, CZ_TUNE_EDP, " ", " x ");
    if (mesh[CZ_TUNE_EP] * mesh[CZ_TUNE_ETP] == 1)
        return dense;
    return cz_arena_printf(
        arena, "%s; %s", dense,
        axes_text(arena, mesh, CZ_TUNE_EP, CZ_TUNE_N_AXES, " ", " x "));
}

const char *cz_tune_clauses_text(cz_arena *arena, const char *const *clauses)
{
    const char *text = "";
    for (int i = 0; i < CZ_TUNE_N_CLAUSES; i++)
        if (clauses[i])
            text = cz_arena_printf(arena, "%s%s%s %s", text, *text ? ", " : "",
                                   cz_tune_clauses[i].word, clauses[i]);
    return text;
}

/* ---- places ---- */

static const cz_node *find(const cz_node *list, cz_kind kind, const char *text,
                           const cz_node *after)
{
    bool is_behind = !after;
    for (int i = 0; i < cz_n_items(list); i++) {
        const cz_node *node = cz_item(list, i);
        if (is_behind && node->kind == kind &&
            (!text || (node->text && strcmp(node->text, text) == 0)))
            return node;
        is_behind |= node == after;
    }
    return NULL;
}

static const cz_node *find_clause(const cz_node *file, int clause)
{
    const cz_node *schedule = find(file, CZ_AST_SCHEDULE, NULL, NULL);
    return schedule ? find(schedule, cz_tune_clauses[clause].kind,
                           clause == CZ_TUNE_STRATEGY ? "tp" : NULL, NULL)
                    : NULL;
}

const char *cz_tune_clause_text(const cz_node *file, int clause)
{
    const cz_node *node = find_clause(file, clause);
    return node ? node->span.source->bytes + node->span.offset : NULL;
}

/* A piece of the source, and what stands there instead. */
typedef struct edit {
    size_t offset, n;
    const char *text;
} edit;

typedef struct edits {
    cz_arena *arena;
    edit *list;
    int n;
} edits;

/* Kept in order. */
static void put(edits *e, size_t offset, size_t n, const char *text)
{
    int i = e->n;
    CZ_PUSH(e->arena, e->list, e->n);
    for (; i > 0 && e->list[i - 1].offset > offset; i--)
        e->list[i] = e->list[i - 1];
    e->list[i] = (edit){offset, n, text};
}

/* All meshes of the source become one, where the first stands. */
static void edit_mesh(edits *e, const cz_source *source, const cz_node *file,
                      const int64_t *mesh, bool has_experts)
{
    const char *text =
        cz_arena_printf(e->arena, "mesh %s",
                        axes_text(e->arena, mesh, 0, CZ_TUNE_EDP, " = ", ", "));
    if (has_experts)
        text = cz_arena_printf(e->arena, "%s\nmesh experts %s", text,
                               axes_text(e->arena, mesh, CZ_TUNE_EDP,
                                         CZ_TUNE_N_AXES, " = ", ", "));
    const cz_node *node = find(file, CZ_AST_MESH, NULL, NULL);
    if (!node)
        put(e, cz_n_items(file) > 0 ? cz_item(file, 0)->span.offset : 0, 0,
            cz_arena_printf(e->arena, "%s\n", text));
    for (; node; node = find(file, CZ_AST_MESH, NULL, node)) {
        size_t n = node->span.length;
        if (!*text && source->bytes[node->span.offset + n] == '\n')
            n++;
        put(e, node->span.offset, n, text);
        text = "";
    }
}

static void edit_clauses(edits *e, const cz_source *source, const cz_node *file,
                         const char *const *clauses)
{
    const cz_node *schedule = find(file, CZ_AST_SCHEDULE, NULL, NULL);
    const char *added = "";
    for (int i = 0; i < CZ_TUNE_N_CLAUSES; i++) {
        const cz_node *node = find_clause(file, i);
        if (!clauses[i])
            continue;
        const char *text = cz_arena_printf(e->arena, "%s %s",
                                           cz_tune_clauses[i].word, clauses[i]);
        if (node)
            put(e, node->span.offset, node->span.length, text);
        else
            added = cz_arena_printf(e->arena, "%s    %s\n", added, text);
    }
    if (!*added)
        return;
    if (!schedule) {
        put(e, source->n, 0,
            cz_arena_printf(e->arena, "\nschedule {\n%s}\n", added));
        return;
    }
    /* Behind its brace. */
    const char *start = source->bytes + schedule->span.offset;
    const size_t at = (size_t)(strchr(start, '{') + 1 - source->bytes);
    const bool ends = source->bytes[at] == '\n';
    put(e, at + (size_t)ends, 0,
        ends ? added : cz_arena_printf(e->arena, "\n%s", added));
}

void cz_tune_text(cz_arena *arena, const cz_source *source, const cz_node *file,
                  const cz_tune_candidate *candidate, bool has_experts,
                  cz_text *out)
{
    edits e = {.arena = arena};
    size_t at = 0;
    edit_mesh(&e, source, file, candidate->mesh, has_experts);
    edit_clauses(&e, source, file, candidate->clauses);
    for (int i = 0; i < e.n; i++) {
        cz_text_put(out, source->bytes + at, e.list[i].offset - at);
        cz_text_puts(out, e.list[i].text);
        at = e.list[i].offset + e.list[i].n;
    }
    cz_text_put(out, source->bytes + at, source->n - at);
}
