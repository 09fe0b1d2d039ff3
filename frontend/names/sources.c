/* Files and names: reading, following imports, looking up. */
#include "frontend/names/sources.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/base/embedded.h"
#include "frontend/syntax/parse.h"

/* More files than anybody writes by hand. */
enum { MAX_FILES = 1000, MAX_IMPORT_DEPTH = 32 };

typedef struct definition {
    const cz_node *node;
    int order; /* in the texts */
} definition;

typedef struct definitions {
    definition *list;
    int n;
} definitions;

struct cz_scope {
    cz_arena *arena;
    cz_diags *diags;
    const char *folder; /* of the main file; "." for standard input */
    cz_allowed allowed; /* besides */
    cz_scope_file *files;
    int n_files, n_user_files;
    definitions user; /* by kind, name and order, once all texts are there */
    bool library_read;
    const char *open[MAX_IMPORT_DEPTH]; /* names, the main file first */
    int n_open;
};

/* ---- paths ---- */

static const char *folder_of(cz_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    return cz_arena_copy(arena, path,
                         slash == path ? 1 : (size_t)(slash - path));
}

/* Take `.` out of a path, and `..` as far as it goes.  NULL: nothing is left.
 */
static const char *normalise(cz_arena *arena, const char *path)
{
    char *out = cz_arena_alloc(arena, strlen(path) + 2, 1);
    const size_t root = *path == '/';
    size_t n = root, fixed = root; /* what no `..` takes away */
    memcpy(out, path, root);
    while (*path) {
        const size_t length = strcspn(path, "/");
        const bool climbs = length == 2 && memcmp(path, "..", 2) == 0;
        if (climbs && n > fixed) {
            for (n--; n > fixed && out[n - 1] != '/';)
                n--;
        } else if (length > 0 && !(length == 1 && *path == '.')) {
            memcpy(out + n, path, length);
            n += length;
            out[n++] = '/';
            fixed = climbs ? n : fixed;
        }
        path += length + (path[length] == '/');
    }
    if (n == root)
        return NULL;
    out[n - 1] = '\0';
    return out;
}

/* `path` as written in `from`, relative to the main file's folder or absolute.
 */
static const char *resolve(cz_scope *scope, const cz_source *from,
                           const char *path)
{
    const char *folder = folder_of(scope->arena, from->name);
    return normalise(scope->arena, *path == '/'
                                       ? path
                                       : cz_arena_printf(scope->arena, "%s/%s",
                                                         folder, path));
}

/* ---- reading ---- */

static const cz_source *keep_source(cz_scope *scope, const cz_text *text,
                                    const char *name)
{
    cz_source *source = CZ_NEW(scope->arena, cz_source, 1);
    source->name = name;
    source->n = text->n;
    source->bytes = cz_arena_copy(scope->arena, cz_text_string(text), text->n);
    return source;
}

/* The text that was read, which goes, as a source; NULL after saying why none
 * was. */
static const cz_source *take_text(cz_scope *scope, bool is_read, cz_text *text,
                                  const char *name, const char *why,
                                  cz_span place)
{
    const cz_source *source = is_read ? keep_source(scope, text, name) : NULL;

    if (!source)
        cz_diag_error(scope->diags, CZ_CANNOT_READ, place, "'%s' %s", name,
                      why);
    cz_text_fini(text);
    return source;
}

const cz_source *cz_scope_read(cz_scope *scope, const char *name, size_t limit,
                               cz_span place)
{
    const char *why = "";
    cz_text text = {0};
    const bool is_read = cz_text_read_below(&text, scope->folder, name,
                                            &scope->allowed, limit, &why);

    return take_text(scope, is_read, &text, name, why, place);
}

static void add_file(cz_scope *scope, const cz_source *source, bool library)
{
    cz_scope_file *file = CZ_PUSH(scope->arena, scope->files, scope->n_files);
    file->source = source;
    file->library = library;
    file->used = !library;
    file->tree = cz_parse(scope->arena, source, scope->diags);
}

static bool is_read(const cz_scope *scope, const char *name)
{
    for (int i = 0; i < scope->n_files; i++)
        if (strcmp(scope->files[i].source->name, name) == 0)
            return true;
    return false;
}

/* ---- imports ---- */

static void read_imports(cz_scope *scope, const cz_scope_file *file);

static bool is_cycle(cz_scope *scope, const cz_node *import, const char *name)
{
    const char *chain = name;
    for (int i = scope->n_open - 1; i >= 0; i--) {
        chain =
            cz_arena_printf(scope->arena, "%s -> %s", scope->open[i], chain);
        if (strcmp(scope->open[i], name) == 0) {
            cz_diag_error(scope->diags, CZ_CYCLE, import->span,
                          "files import each other: %s", chain);
            return true;
        }
    }
    return false;
}

static bool is_too_many(cz_scope *scope, const cz_node *import)
{
    if (scope->n_files < MAX_FILES && scope->n_open < MAX_IMPORT_DEPTH)
        return false;
    cz_diag_error(scope->diags, CZ_TOO_LARGE, import->span,
                  "more than %d files, or imports deeper than %d", MAX_FILES,
                  MAX_IMPORT_DEPTH);
    return true;
}

static void read_import(cz_scope *scope, const cz_source *from,
                        const cz_node *import)
{
    const char *name = resolve(scope, from, import->text);
    if (!name) {
        cz_diag_error(scope->diags, CZ_CANNOT_READ, import->span,
                      "'%s' is not a regular file", import->text);
        return;
    }
    if (is_cycle(scope, import, name) || is_read(scope, name) ||
        is_too_many(scope, import))
        return;
    const cz_source *source =
        cz_scope_read(scope, name, CZ_MAX_SOURCE_BYTES, import->span);
    if (!source)
        return;
    add_file(scope, source, false);
    const cz_scope_file file = scope->files[scope->n_files - 1];
    read_imports(scope, &file);
}

static void read_imports(cz_scope *scope, const cz_scope_file *file)
{
    scope->open[scope->n_open++] = file->source->name;
    for (int i = 0; i < cz_n_items(file->tree); i++)
        if (cz_item(file->tree, i)->kind == CZ_AST_IMPORT)
            read_import(scope, file->source, cz_item(file->tree, i));
    scope->n_open--;
}

static bool is_definition(cz_kind kind)
{
    return kind == CZ_AST_MODEL || kind == CZ_AST_OPTIMIZER ||
           kind == CZ_AST_DEF || kind == CZ_AST_TABLE || kind == CZ_AST_LET ||
           kind == CZ_AST_MACHINE;
}

/* ---- names ---- */

static const cz_node *find_in(const cz_node *tree, cz_kind kind,
                              const char *name)
{
    for (int i = 0; i < cz_n_items(tree); i++) {
        const cz_node *node = cz_item(tree, i);
        if (node->kind == kind && node->text && strcmp(node->text, name) == 0)
            return node;
    }
    return NULL;
}

/* ---- duplicates ---- */

static void collect_definitions(cz_scope *scope, const cz_node *tree,
                                definitions *out)
{
    for (int i = 0; i < cz_n_items(tree); i++) {
        const cz_node *node = cz_item(tree, i);
        const int order = out->n;
        if (is_definition(node->kind) && node->text)
            *CZ_PUSH(scope->arena, out->list, out->n) =
                (definition){node, order};
    }
}

static int compare_names(const definition *a, const definition *b)
{
    if (a->node->kind != b->node->kind)
        return a->node->kind < b->node->kind ? -1 : 1;
    return strcmp(a->node->text, b->node->text);
}

static int compare_definitions(const void *left, const void *right)
{
    const definition *a = left, *b = right;
    const int names = compare_names(a, b);
    return names ? names : a->order - b->order;
}

static void read_library(cz_scope *scope)
{
    if (scope->library_read)
        return;
    scope->library_read = true;
    for (const cz_embedded *file = cz_std_files; file->path; file++) {
        cz_source *source = CZ_NEW(scope->arena, cz_source, 1);
        *source = (cz_source){file->path, file->bytes, file->n};
        add_file(scope, source, true);
    }
}

/* ---- entries ---- */

static const cz_source *keep_main(cz_scope *scope, const cz_text *text,
                                  const char *name)
{
    if (text->n <= CZ_MAX_SOURCE_BYTES)
        return keep_source(scope, text, name);
    cz_diag_error(scope->diags, CZ_TOO_LARGE, (cz_span){0},
                  "'%s' is larger than 4 MiB", name);
    return NULL;
}

static void read_main(cz_scope *scope, const char *path, const cz_text *text)
{
    assert(path);
    const bool is_stdin = strcmp(path, "-") == 0;
    const char *slash = strrchr(path, '/');
    const char *name = is_stdin ? "<stdin>" : slash ? slash + 1 : path;
    const char *why = "";
    cz_text read = {0};
    const cz_source *source =
        text ? keep_main(scope, text, name)
             : take_text(
                   scope,
                   cz_text_read_file(&read, path, CZ_MAX_SOURCE_BYTES, &why),
                   &read, name, why, (cz_span){0});

    scope->folder = is_stdin ? "." : folder_of(scope->arena, path);
    if (!source)
        return;
    add_file(scope, source, false);
    const cz_scope_file file = scope->files[0];
    read_imports(scope, &file);
}

cz_scope *cz_scope_build(cz_arena *arena, const char *path, const cz_text *text,
                         cz_allowed allowed, cz_diags *diags)
{
    cz_scope *scope = CZ_NEW(arena, cz_scope, 1);
    scope->arena = arena;
    scope->diags = diags;
    scope->allowed = allowed;
    read_main(scope, path, text);
    scope->n_user_files = scope->n_files;
    for (int i = 1; i < scope->n_user_files; i++) {
        /* mesh, model ... from, use, schedule and which machine are the main
         * file's to say. */
        const cz_node *tree = scope->files[i].tree;
        for (int j = 0; j < cz_n_items(tree); j++) {
            const cz_node *node = cz_item(tree, j);
            if (!is_definition(node->kind) && node->kind != CZ_AST_IMPORT &&
                node->kind != CZ_AST_ERROR)
                cz_diag_error(scope->diags, CZ_MISPLACED, node->span,
                              "an imported file holds definitions only: this "
                              "belongs in the main file");
        }
    }
    /* The definitions in order of name, equal ones in order of the texts. */
    definitions all = {0};
    for (int i = 0; i < scope->n_user_files; i++)
        collect_definitions(scope, scope->files[i].tree, &all);
    const cz_node **first = CZ_NEW(scope->arena, const cz_node *, all.n);
    definition *sorted = CZ_NEW(scope->arena, definition, all.n);
    if (all.n > 0)
        memcpy(sorted, all.list, (size_t)all.n * sizeof *sorted);
    if (all.n > 0)
        qsort(sorted, (size_t)all.n, sizeof *sorted, compare_definitions);
    scope->user = (definitions){sorted, all.n};
    for (int i = 0; i < all.n; i++)
        first[sorted[i].order] =
            i > 0 && compare_names(&sorted[i - 1], &sorted[i]) == 0
                ? first[sorted[i - 1].order]
                : sorted[i].node;
    for (int i = 0; i < all.n; i++) {
        const cz_node *node = all.list[i].node;
        if (first[i] == node)
            continue;
        cz_diag_error(scope->diags, CZ_DUPLICATE_NAME, node->span,
                      "%s '%s' is defined twice", cz_kind_name(node->kind),
                      node->text);
        cz_diag_note(scope->diags, first[i]->span, "first here");
    }
    return scope;
}

const cz_node *cz_scope_find(cz_scope *scope, cz_kind kind, const char *name)
{
    /* The first definition of the name among the user's. */
    const cz_node key = {.kind = kind, .text = name};
    const definition wanted = {&key, -1};
    int low = 0, high = scope->user.n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (compare_names(&scope->user.list[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const cz_node *found =
        low < scope->user.n &&
                compare_names(&scope->user.list[low], &wanted) == 0
            ? scope->user.list[low].node
            : NULL;
    if (found)
        return found;
    read_library(scope);
    for (int i = scope->n_user_files; i < scope->n_files; i++) {
        found = find_in(scope->files[i].tree, kind, name);
        if (found) {
            scope->files[i].used = true;
            return found;
        }
    }
    return NULL;
}

const char *cz_scope_nearest(cz_scope *scope, cz_kind kind, const char *name)
{
    const char **names = NULL;
    int n = 0;
    read_library(scope);
    for (int i = 0; i < scope->n_files; i++) {
        const cz_node *tree = scope->files[i].tree;
        for (int k = 0; k < cz_n_items(tree); k++)
            if (cz_item(tree, k)->kind == kind && cz_item(tree, k)->text)
                *CZ_PUSH(scope->arena, names, n) = cz_item(tree, k)->text;
    }
    return cz_diag_nearest(name, names, n);
}

int cz_scope_n_files(const cz_scope *scope)
{
    return scope->n_files;
}

bool cz_scope_is_library(const cz_scope *scope, const cz_source *source)
{
    for (int i = 0; source && i < scope->n_files; i++) {
        const cz_scope_file *file = &scope->files[i];
        if (file->source == source)
            return file->library;
    }
    return false;
}

const cz_scope_file *cz_scope_file_at(const cz_scope *scope, int i)
{
    return &scope->files[i];
}
