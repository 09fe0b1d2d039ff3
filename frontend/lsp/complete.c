/* Completion: what may stand at a place, from the text before it, which is
 * seldom whole. */
#include "frontend/lsp/internal.h"

#include "frontend/syntax/parse.h"

#include <ctype.h>
#include <string.h>

enum { MAX_BACK = 2000 }; /* bytes that a bracket is looked for in */

/* CompletionItemKind of LSP. */
enum { FUNCTION = 3, FIELD = 5, VARIABLE = 6, CLASS = 7, PROPERTY = 10 };

typedef struct items {
    json_t *list, *seen;
} items;

static void add(items *to, const char *label, const char *insert, int kind,
                const char *detail)
{
    if (json_object_get(to->seen, label) ||
        json_object_set_new(to->seen, label, json_true()) != 0)
        return;
    json_array_append_new(to->list,
                          json_pack("{s:s, s:i, s:s, s:o}", "label", label,
                                    "kind", kind, "insertText", insert,
                                    "detail", cz_lsp_string(detail)));
}

static void add_definitions(items *to, const cz_scope *scope, cz_kind kind,
                            int as)
{
    for (int i = 0; i < cz_scope_n_files(scope); i++) {
        const cz_scope_file *file = cz_scope_file_at(scope, i);
        for (int k = 0; k < cz_n_items(file->tree); k++) {
            const cz_node *node = cz_item(file->tree, k);
            if (node->kind == kind && node->text)
                add(to, node->text, node->text, as, file->source->name);
        }
    }
}

static void add_arguments(items *to, cz_scope *scope, const char *callee)
{
    const cz_node *formals = cz_lsp_callee(scope, callee);
    cz_arena arena;

    cz_arena_init(&arena);
    for (int i = 0; formals && i < cz_n_items(formals); i++) {
        const cz_node *formal = cz_item(formals, i);
        add(to, formal->text, cz_arena_printf(&arena, "%s = ", formal->text),
            PROPERTY,
            cz_arena_printf(&arena, "%.*s", (int)formal->span.length,
                            formal->span.source->bytes + formal->span.offset));
    }
    cz_arena_fini(&arena);
}

/* The axes that the text has, or, in a mesh, might have. */
static void add_axes(items *to, const cz_scope *scope, bool in_mesh)
{
    const char *name;

    for (int i = 0; in_mesh && (name = cz_mesh_name(i)) != NULL; i++)
        add(to, name, name, VARIABLE, "an axis");
    for (int f = 0; f < cz_scope_n_files(scope) && f < 1; f++) {
        const cz_node *file = cz_scope_file_at(scope, f)->tree;
        for (int i = 0; i < cz_n_items(file); i++) {
            const cz_node *mesh = cz_item(file, i);
            for (int k = 0; mesh->kind == CZ_AST_MESH && k < cz_n_items(mesh);
                 k++)
                if (cz_item(mesh, k)->text)
                    add(to, cz_item(mesh, k)->text, cz_item(mesh, k)->text,
                        VARIABLE, "an axis of the mesh");
        }
    }
}

/* ---- paths ---- */

/* The tree of one path, or NULL. */
static const cz_node *parse_path(cz_arena *arena, const char *text, size_t n)
{
    cz_source *source = CZ_NEW(arena, cz_source, 1);
    cz_diags unheard;

    source->name = "";
    source->bytes = cz_arena_printf(arena, "use x on %.*s\n", (int)n, text);
    source->n = strlen(source->bytes);
    cz_diags_init(&unheard, arena);
    const cz_node *file = cz_parse(arena, source, &unheard);
    const cz_node *use = unheard.n_errors == 0 && cz_n_items(file) == 1
                             ? cz_item(file, 0)
                             : NULL;
    return use && use->kind == CZ_AST_USE && cz_n_items(cz_use_paths(use))
               ? cz_item(cz_use_paths(use), 0)
               : NULL;
}

static const char *word_of(const cz_pattern *pattern, int i)
{
    return pattern->words[i].text ? pattern->words[i].text : "*";
}

/* The words that can follow what stands before the last dot; of nothing, first
 * words and whole names. */
static void add_words(items *to, const cz_compiled_model *of, const char *path,
                      size_t n)
{
    cz_arena arena;

    cz_arena_init(&arena);
    while (n > 0 && path[n - 1] != '.')
        n--;
    const cz_node *head = n > 1 ? parse_path(&arena, path, n - 1) : NULL;
    for (int i = 0; i < of->model.n; i++) {
        const cz_pattern *pattern = &of->model.patterns[i];
        if (n == 0) {
            const char *whole = "";
            for (int k = 0; k < pattern->n_words; k++)
                whole = cz_arena_printf(&arena, "%s%s%s", whole, k ? "." : "",
                                        word_of(pattern, k));
            add(to, word_of(pattern, 0), word_of(pattern, 0), FIELD,
                "of the model");
            add(to, whole, whole, FIELD, "of the model");
        }
        for (int k = 1; head && k < pattern->n_words; k++)
            if (cz_pattern_is_matched(pattern, head, k))
                add(to, word_of(pattern, k), word_of(pattern, k), FIELD,
                    "of the model");
    }
    cz_arena_fini(&arena);
}

/* ---- the text before ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The name before the bracket that is open at `end`, or "". */
static const char *callee_of(cz_arena *arena, const char *text, size_t end)
{
    const size_t least = end > MAX_BACK ? end - MAX_BACK : 0;
    int depth = 0;

    for (size_t i = end; i-- > least;) {
        depth += text[i] == ')';
        depth -= text[i] == '(';
        if (text[i] == '{' || text[i] == '}')
            break;
        if (depth < 0) {
            size_t from = i;
            while (from > 0 && is_name(text[from - 1]))
                from--;
            return cz_arena_copy(arena, text + from, i - from);
        }
    }
    return "";
}

/* The text behind the last `word` of a line, or NULL. */
static const char *behind(const char *line, const char *word)
{
    const char *last = NULL;

    for (const char *at = line; (at = strstr(at, word)); at++)
        last = at + strlen(word);
    return last;
}

static bool begins(const char *line, const char *word)
{
    line += strspn(line, " \t");
    return strncmp(line, word, strlen(word)) == 0 &&
           isspace((unsigned char)line[strlen(word)]);
}

static void add_all(items *to, cz_lsp_document *document, const char *line,
                    const char *callee)
{
    cz_scope *scope = cz_lsp_scope(document);
    const char *paths = behind(line, " on ");
    const bool is_first = !strpbrk(line + strspn(line, " \t"), "(") &&
                          (begins(line, "use") || strstr(line, "|> "));

    if (*callee) {
        add_arguments(to, scope, callee);
        add_definitions(to, scope, CZ_AST_DEF, FUNCTION);
        add_definitions(to, scope, CZ_AST_TABLE, VARIABLE);
        add_definitions(to, scope, CZ_AST_LET, VARIABLE);
    } else if (is_first) {
        add_definitions(to, scope, CZ_AST_OPTIMIZER, CLASS);
    } else if (paths && !strstr(paths, " where ")) {
        const cz_compiled_model *model = cz_lsp_model(document);
        const char *path = strrchr(paths, ' ');
        path = path ? path + 1 : paths;
        if (model)
            add_words(to, model, path, strlen(path));
    } else if (begins(line, "machine")) {
        add_definitions(to, scope, CZ_AST_MACHINE, CLASS);
    } else if (begins(line, "model")) {
        add_definitions(to, scope, CZ_AST_MODEL, CLASS);
    } else if (begins(line, "mesh") || behind(line, " over ") ||
               (strchr(line, '[') && behind(line, "/"))) {
        add_axes(to, scope, begins(line, "mesh"));
    } else if (behind(line, "= ") || behind(line, "<- ")) {
        for (int i = 0; cz_lsp_functions[i].name; i++)
            add(to, cz_lsp_functions[i].name, cz_lsp_functions[i].name,
                FUNCTION, cz_lsp_functions[i].call);
        add_definitions(to, scope, CZ_AST_DEF, FUNCTION);
        add_definitions(to, scope, CZ_AST_TABLE, VARIABLE);
        add_definitions(to, scope, CZ_AST_LET, VARIABLE);
    }
}

json_t *cz_lsp_completion(cz_lsp_document *document, size_t offset)
{
    items to = {json_array(), json_object()};
    const char *text = cz_text_string(&document->text);
    size_t start = offset;
    cz_arena arena;

    cz_arena_init(&arena);
    while (start > 0 && text[start - 1] != '\n')
        start--;
    add_all(&to, document, cz_arena_copy(&arena, text + start, offset - start),
            callee_of(&arena, text, offset));
    cz_arena_fini(&arena);
    json_decref(to.seen);
    return to.list;
}
