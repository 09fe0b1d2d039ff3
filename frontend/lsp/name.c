/* What stands at a place, and what the editor shows of it. */
#include "frontend/lsp/internal.h"

#include "frontend/syntax/parse.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHOWN = 12, MAX_NAME = 64, MAX_STRATEGIES = 4, MAX_OWNERS = 4 };

const cz_lsp_function cz_lsp_functions[] = {
#define CZ_FUNCTION(name, least, most, build, detail, call, gives)             \
    {#name, call, gives},
#include "dsl/vocab/function.def"
#undef CZ_FUNCTION
    {NULL, NULL, NULL}};

/* The nodes round a place, the outermost first. */
typedef struct chain {
    const cz_node *nodes[CZ_MAX_DEPTH];
    int n;
} chain;

static bool is_in(const cz_node *node, size_t offset)
{
    return node->span.source && node->span.offset <= offset &&
           offset <= (size_t)node->span.offset + node->span.length;
}

static void descend(chain *c, const cz_node *node, size_t offset)
{
    if (c->n == CZ_MAX_DEPTH)
        return;
    c->nodes[c->n++] = node;
    for (int i = 0; i < cz_n_children(node); i++)
        if (is_in(cz_child(node, i), offset)) {
            descend(c, cz_child(node, i), offset);
            return;
        }
}

/* The innermost of kinds from first to last, or NULL. */
static const cz_node *innermost(const chain *c, cz_kind first, cz_kind last)
{
    for (int i = c->n; i-- > 0;)
        if (c->nodes[i]->kind >= first && c->nodes[i]->kind <= last)
            return c->nodes[i];
    return NULL;
}

static bool is_called(const cz_node *node, const char *name)
{
    return node->text && strcmp(node->text, name) == 0;
}

/* What inside a definition says what the name is: a formal, a state, a value.
 */
static const cz_node *find_local(const cz_node *in, const char *name)
{
    const bool is_target = in->kind == CZ_AST_BIND || in->kind == CZ_AST_FOR;

    if ((in->kind == CZ_AST_FORMAL || in->kind == CZ_AST_STATE ||
         in->kind == CZ_AST_EXTERN || in->kind == CZ_AST_LET ||
         in->kind == CZ_AST_INDEX) &&
        is_called(in, name))
        return in;
    if (is_target) {
        const cz_node *target = cz_assign_target(in);
        if (target->kind == CZ_AST_NAME && is_called(target, name))
            return in;
        for (int i = 0; target->kind == CZ_AST_TUPLE && i < cz_n_items(target);
             i++)
            if (is_called(cz_item(target, i), name))
                return in;
    }
    for (int i = 0; i < cz_n_children(in); i++) {
        const cz_node *found = find_local(cz_child(in, i), name);
        if (found)
            return found;
    }
    return NULL;
}

static const cz_node *formals_of(const cz_node *definition)
{
    return definition->kind == CZ_AST_MODEL ? cz_model_formals(definition)
                                            : cz_rule_formals(definition);
}

const cz_node *cz_lsp_callee(cz_scope *scope, const char *name)
{
    static const cz_kind kinds[] = {CZ_AST_OPTIMIZER, CZ_AST_DEF, CZ_AST_MODEL};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cz_node *node = cz_scope_find(scope, kinds[i], name);
        if (node)
            return formals_of(node);
    }
    return NULL;
}

/* Of all kinds that can have the name, the one that the statement asks for. */
static const cz_node *find_global(cz_scope *scope, const chain *c,
                                  const char *name)
{
    cz_kind kinds[] = {CZ_AST_OPTIMIZER, CZ_AST_OPTIMIZER, CZ_AST_DEF,
                       CZ_AST_TABLE,     CZ_AST_MODEL,     CZ_AST_MACHINE,
                       CZ_AST_LET};

    kinds[0] = innermost(c, CZ_AST_MODEL_FROM, CZ_AST_MODEL_CALL) ? CZ_AST_MODEL
               : innermost(c, CZ_AST_MACHINE_CHOICE, CZ_AST_MACHINE)
                   ? CZ_AST_MACHINE
               : innermost(c, CZ_AST_USE, CZ_AST_USE) ? CZ_AST_OPTIMIZER
                                                      : CZ_AST_DEF;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const cz_node *node = cz_scope_find(scope, kinds[i], name);
        if (node)
            return node;
    }
    return NULL;
}

static const cz_node *find_axis(const cz_node *file, const char *name)
{
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *mesh = cz_item(file, i);
        for (int k = 0; mesh->kind == CZ_AST_MESH && k < cz_n_items(mesh); k++)
            if (is_called(cz_item(mesh, k), name))
                return cz_item(mesh, k);
    }
    return NULL;
}

static const cz_node *find_name(cz_scope *scope, const cz_node *file,
                                const chain *c, size_t offset, const char *name)
{
    const cz_node *definition = innermost(c, CZ_AST_MODEL, CZ_AST_MODEL);
    const cz_node *arg = innermost(c, CZ_AST_ARG, CZ_AST_ARG);
    const cz_node *call = innermost(c, CZ_AST_CALL, CZ_AST_CALL);
    const cz_node *found = NULL;

    if (!definition)
        definition = innermost(c, CZ_AST_OPTIMIZER, CZ_AST_DEF);
    if (!call)
        call = innermost(c, CZ_AST_MODEL_CALL, CZ_AST_MODEL_CALL);
    if (arg && call && is_called(arg, name) &&
        offset <= arg->span.offset + strlen(name)) {
        const cz_node *formals = cz_lsp_callee(scope, call->text);
        found = formals ? find_local(formals, name) : NULL;
    }
    if (!found && definition && !is_called(definition, name))
        found = find_local(definition, name);
    if (!found)
        found = find_global(scope, c, name);
    return found ? found : find_axis(file, name);
}

cz_lsp_name cz_lsp_name_at(cz_lsp_document *document, size_t offset)
{
    cz_scope *scope = cz_lsp_scope(document);
    const char *text = cz_text_string(&document->text);
    size_t from = offset, to = offset;
    cz_lsp_name found = {0};
    char name[MAX_NAME] = "";
    chain c = {.n = 0};

    if (cz_scope_n_files(scope) == 0)
        return found;
    const cz_node *file = cz_scope_file_at(scope, 0)->tree;
    descend(&c, file, offset);
    found.path = innermost(&c, CZ_AST_PATH, CZ_AST_PATH);
    if (found.path && !innermost(&c, CZ_AST_INDEX, CZ_AST_INDEX)) {
        const cz_node *param = innermost(&c, CZ_AST_PARAM, CZ_AST_PARAM);
        found.node = param;
        found.path = param ? NULL : found.path;
        return found;
    }
    while (from > 0 &&
           (isalnum((unsigned char)text[from - 1]) || text[from - 1] == '_'))
        from--;
    while (isalnum((unsigned char)text[to]) || text[to] == '_')
        to++;
    if (to == from || to - from >= sizeof name)
        return found;
    memcpy(name, text + from, to - from);
    found.node = find_name(scope, file, &c, offset, name);
    for (int i = 0; !found.node && cz_lsp_functions[i].name; i++)
        if (strcmp(cz_lsp_functions[i].name, name) == 0)
            found.function = &cz_lsp_functions[i];
    return found;
}

/* ---- definitions ---- */

json_t *cz_lsp_definition(const cz_lsp_server *server,
                          cz_lsp_document *document, size_t offset)
{
    const cz_lsp_name name = cz_lsp_name_at(document, offset);
    const cz_compiled_model *model = name.path ? cz_lsp_model(document) : NULL;
    const cz_node *last = NULL;
    json_t *list;

    if (name.node)
        return cz_lsp_location(server, document, name.node->span);
    if (!model)
        return NULL;
    list = json_array();
    for (int i = 0; i < model->model.n; i++) {
        const cz_pattern *pattern = &model->model.patterns[i];
        if (pattern->node == last ||
            !cz_pattern_is_matched(pattern, name.path, pattern->n_words))
            continue;
        last = pattern->node;
        json_t *location = cz_lsp_location(server, document, last->span);
        if (location)
            json_array_append_new(list, location);
    }
    return list;
}

/* ---- hovers ---- */

/* "bf16 [8192, 5120], [1024, 5120] on a rank, 64 times, 5.4 GB in all" */
static void put_pattern(cz_text *out, const cz_compiled_model *of,
                        const cz_pattern *pattern)
{
    const int64_t count = cz_pattern_count(pattern);
    cz_arena arena;

    cz_arena_init(&arena);
    cz_text_printf(out, "- `%s`: %s [", cz_pattern_name(&arena, pattern),
                   cz_dtype_name(pattern->dtype));
    for (int d = 0; d < pattern->n_dims; d++)
        cz_text_printf(out, "%s%" PRId64, d ? ", " : "", pattern->shape[d]);
    cz_text_puts(out, "], [");
    for (int d = 0; d < pattern->n_dims; d++) {
        const int64_t n = cz_mesh_extent(&of->mesh, pattern->shard[d]);
        cz_text_printf(out, "%s%" PRId64, d ? ", " : "",
                       (pattern->stored[d] + n - 1) / n);
    }
    cz_text_puts(out, "] on a rank");
    if (count > 1)
        cz_text_printf(out, ", %" PRId64 " times", count);
    cz_text_printf(out, ", %" PRId64 " bytes in all%s\n",
                   count * cz_pattern_numel(pattern) *
                       cz_dtype_bytes(pattern->dtype),
                   pattern->frozen ? ", frozen" : "");
    cz_arena_fini(&arena);
}

/* Whether the name, perhaps with a view behind it, is a member's. */
static bool is_member(const cz_pattern *pattern, const char *name)
{
    for (int i = 0; i < pattern->n_words; i++) {
        const cz_word *word = &pattern->words[i];
        const size_t n = strcspn(name, ".[");
        char *end;
        if (word->text &&
            (strlen(word->text) != n || strncmp(word->text, name, n) != 0))
            return false;
        const long long at = word->text ? 0 : strtoll(name, &end, 10);
        if (!word->text &&
            (end != name + n || at < pattern->first[word->index] ||
             at >= pattern->first[word->index] + pattern->extents[word->index]))
            return false;
        name += n;
        if (i + 1 < pattern->n_words && *name++ != '.')
            return false;
    }
    return *name == '\0' || *name == '[';
}

/* "how: who, who and 62 more", a line for those that are updated alike. */
static void put_updates(cz_text *out, const cz_lsp_document *document,
                        const cz_pattern *pattern)
{
    const cz_lsp_update *all = document->updates;
    const char *seen[MAX_STRATEGIES];
    int n_seen = 0;

    for (int i = 0; i < document->n_updates && n_seen < MAX_STRATEGIES; i++) {
        bool is_seen = !is_member(pattern, all[i].name);
        int n = 0;
        for (int k = 0; k < n_seen && !is_seen; k++)
            is_seen = strcmp(seen[k], all[i].how) == 0;
        if (is_seen)
            continue;
        seen[n_seen++] = all[i].how;
        cz_text_printf(out, "  - %s", all[i].how);
        for (int k = i; k < document->n_updates; k++)
            if (*all[k].owners && strcmp(all[k].how, all[i].how) == 0 &&
                is_member(pattern, all[k].name) && n++ < MAX_OWNERS)
                cz_text_printf(out, "%s %s", n > 1 ? ";" : ":", all[k].owners);
        if (n > MAX_OWNERS)
            cz_text_printf(out, "; and %d more, in order of their names",
                           n - MAX_OWNERS);
        cz_text_puts(out, "\n");
    }
}

/* Patterns that a path means, or that a parameter's line makes. */
static void put_patterns(cz_text *out, cz_lsp_document *document,
                         const cz_compiled_model *of, const cz_lsp_name *name)
{
    const cz_lsp_planned planned = cz_lsp_plan(document);
    int n = 0;

    for (int i = 0; i < of->model.n; i++) {
        const cz_pattern *pattern = &of->model.patterns[i];
        const bool is_it =
            name->path
                ? cz_pattern_is_matched(pattern, name->path, pattern->n_words)
                : pattern->node->span.offset == name->node->span.offset &&
                      strcmp(pattern->node->span.source->name,
                             name->node->span.source->name) == 0;
        if (is_it && n++ < MAX_SHOWN) {
            put_pattern(out, of, pattern);
            put_updates(out, document, pattern);
        }
    }
    if (n > MAX_SHOWN)
        cz_text_printf(out, "- and %d more\n", n - MAX_SHOWN);
    if (n > 0 && planned == CZ_LSP_PLAN_LATE)
        cz_text_printf(out,
                       "\nWho updates them is not known: planning takes more "
                       "than %d s.\n",
                       CZ_LSP_MAX_SECONDS);
}

/* The first line of a definition, up to its brace; all of anything smaller. */
static void put_node(cz_text *out, const cz_node *node)
{
    const char *bytes = node->span.source->bytes + node->span.offset;
    const bool has_block =
        node->kind == CZ_AST_OPTIMIZER || node->kind == CZ_AST_DEF ||
        node->kind == CZ_AST_MODEL || node->kind == CZ_AST_MACHINE;
    size_t n = node->span.length;
    cz_arena arena;

    for (size_t i = 0; has_block && i < n; i++)
        if (bytes[i] == '{')
            n = i;
    cz_arena_init(&arena);
    cz_text_printf(out, "```canzona\n%.*s\n```\n%s", (int)n, bytes,
                   has_block || node->kind == CZ_AST_TABLE
                       ? cz_comment_of(&arena, node)
                       : "");
    cz_arena_fini(&arena);
}

json_t *cz_lsp_hover(const cz_lsp_server *server, cz_lsp_document *document,
                     size_t offset)
{
    const cz_lsp_name name = cz_lsp_name_at(document, offset);
    const cz_compiled_model *model = NULL;
    cz_text text = {0};

    (void)server;
    if (name.path || (name.node && name.node->kind == CZ_AST_PARAM))
        model = cz_lsp_model(document);
    if (model)
        put_patterns(&text, document, model, &name);
    else if (name.node && name.node->span.source)
        put_node(&text, name.node);
    else if (name.function)
        cz_text_printf(&text, "```canzona\n%s\n```\n%s", name.function->call,
                       name.function->gives);
    json_t *hover =
        text.n ? json_pack("{s:{s:s, s:o}}", "contents", "kind", "markdown",
                           "value", cz_lsp_string(cz_text_string(&text)))
               : NULL;
    cz_text_fini(&text);
    return hover;
}
