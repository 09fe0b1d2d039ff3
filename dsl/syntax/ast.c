/* Children of syntax nodes. */
#include "dsl/syntax/ast.h"

static const char *const kind_names[] = {
#define CZ_NODE(kind, name) name,
#include "dsl/syntax/ast_kinds.def"
};

const char *cz_kind_name(cz_kind kind)
{
    return kind_names[kind];
}

/* ---- children ---- */

static const struct span_of_kinds {
    cz_kind first, last;
} kind_spans[CZ_N_KINDS] = {
#define CZ_NODE(kind, name) [CZ_KINDS_##kind] = {CZ_AST_##kind, CZ_AST_##kind},
#define CZ_KINDS(set, first, last)                                             \
    [CZ_KINDS_##set] = {CZ_AST_##first, CZ_AST_##last},
#include "dsl/syntax/ast_kinds.def"
};

static bool node_is(const cz_node *node, cz_kinds kinds)
{
    return node->kind >= kind_spans[kinds].first &&
           node->kind <= kind_spans[kinds].last;
}

const cz_node *cz_node_option(const cz_node *node, cz_kind first, cz_kind last,
                              int from, cz_kinds kinds)
{
    assert(node->kind >= first && node->kind <= last);
    (void)first, (void)last;
    for (int i = from; i < node->n_children; i++)
        if (node_is(node->children[i], kinds))
            return node->children[i];
    return NULL;
}

/* One row of ast_kinds.def. */
static const struct column {
    enum { CHILD, OPTION, ITEMS } role;
    cz_kind first, last;
    int at;
    cz_kinds kinds;
} columns[] = {
#define CZ_CHILD(of, first, last, at, child, kinds)                            \
    {CHILD, CZ_AST_##first, CZ_AST_##last, at, CZ_KINDS_##kinds},
#define CZ_OPTION(of, first, last, from, child, kinds)                         \
    {OPTION, CZ_AST_##first, CZ_AST_##last, from, CZ_KINDS_##kinds},
#define CZ_ITEMS(first, last, from, kinds)                                     \
    {ITEMS, CZ_AST_##first, CZ_AST_##last, from, CZ_KINDS_##kinds},
#include "dsl/syntax/ast_kinds.def"
};

enum { N_COLUMNS = sizeof columns / sizeof *columns };

static bool has_column(const cz_node *node, int c)
{
    return node->kind >= columns[c].first && node->kind <= columns[c].last;
}

static const struct column *items_of(const cz_node *list)
{
    for (int c = 0; c < N_COLUMNS; c++)
        if (columns[c].role == ITEMS && has_column(list, c))
            return &columns[c];
    assert(false); /* a kind without items */
    return &columns[0];
}

static bool is_item(const cz_node *child, const struct column *items)
{
    return child->kind == CZ_AST_ERROR || node_is(child, items->kinds);
}

/* An option that stands behind the items is none of them. */
int cz_n_items(const cz_node *list)
{
    const struct column *items = items_of(list);
    int n = list->n_children;
    while (n > items->at && !is_item(list->children[n - 1], items))
        n--;
    return n - items->at;
}

const cz_node *const *cz_items(const cz_node *list)
{
    return (const cz_node *const *)list->children + items_of(list)->at;
}

const cz_node *cz_item(const cz_node *list, int i)
{
    assert(i >= 0);
    return i < cz_n_items(list) ? cz_items(list)[i] : NULL;
}

const cz_node *cz_arg_with(cz_arena *arena, const cz_node *like,
                           const char *name, const cz_node *value)
{
    cz_node *arg = CZ_NEW(arena, cz_node, 1);
    cz_node *copy = CZ_NEW(arena, cz_node, 1);
    if (like)
        *arg = *like;
    else
        *arg = (cz_node){.kind = CZ_AST_ARG, .text = name};
    *copy = *value;
    arg->children = CZ_NEW(arena, cz_node *, 1);
    arg->children[0] = copy;
    arg->n_children = 1;
    arg->depth = copy->depth + 1;
    arg->span = value->span;
    return arg;
}

/* ---- paths ---- */

const char *cz_path_text(cz_arena *arena, cz_node *const *steps, int n)
{
    cz_text text;

    cz_text_init(&text);
    for (int i = 0; i < n; i++) {
        const char *name = steps[i]->text ? steps[i]->text : "**";
        if (steps[i]->kind == CZ_AST_INDEX)
            cz_text_printf(&text, "[%s]", name);
        else
            cz_text_printf(&text, "%s%s", i > 0 ? "." : "", name);
    }
    const char *copy = cz_arena_copy(arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return copy;
}

/* The node with children of its own to be changed. */
static cz_node *copy_of(cz_arena *arena, const cz_node *node)
{
    cz_node *copy = CZ_NEW(arena, cz_node, 1);
    *copy = *node;
    copy->children = CZ_NEW(arena, cz_node *, node->n_children);
    for (int i = 0; i < node->n_children; i++)
        copy->children[i] = node->children[i];
    return copy;
}

static cz_node *path_at(cz_arena *arena, const cz_node *path, const char *value)
{
    cz_node *copy = copy_of(arena, path);
    for (int i = 0; i < copy->n_children; i++) {
        if (copy->children[i]->kind != CZ_AST_INDEX)
            continue;
        cz_node *word = CZ_NEW(arena, cz_node, 1);
        *word = (cz_node){.kind = CZ_AST_SEGMENT,
                          .depth = 1,
                          .text = value,
                          .span = copy->children[i]->span};
        copy->children[i] = word;
    }
    copy->text = cz_path_text(arena, copy->children, copy->n_children);
    return copy;
}

const cz_node *cz_use_at(cz_arena *arena, const cz_node *use, const char *value)
{
    enum { PATHS = 1 };
    cz_node *copy = copy_of(arena, use);
    copy->children[PATHS] = copy_of(arena, cz_use_paths(use));
    for (int i = 0; i < copy->children[PATHS]->n_children; i++)
        copy->children[PATHS]->children[i] =
            path_at(arena, cz_item(cz_use_paths(use), i), value);
    return copy;
}

/* The segment's text, where the choice within it has one alternative alone. */
static const char *text_with(cz_arena *arena, const cz_node *node,
                             const cz_node *choice, const cz_node *alternative)
{
    const char *text = node->text;
    const int begin = (int)(choice->span.offset - node->span.offset);
    const int from = (int)(alternative->span.offset - node->span.offset);
    const bool is_range = alternative->kind == CZ_AST_RANGE;
    return cz_arena_printf(arena, "%.*s%s%.*s%s%s", begin, text,
                           is_range ? "{" : "", (int)alternative->span.length,
                           text + from, is_range ? "}" : "",
                           text + begin + choice->span.length);
}

static cz_node *copy_with(cz_arena *arena, const cz_node *node, int i,
                          cz_node *child, const char *text)
{
    cz_node *copy = copy_of(arena, node);
    copy->text = text;
    copy->children[i] = child;
    return copy;
}

const cz_node *cz_path_with(cz_arena *arena, const cz_node *path, int s, int p,
                            const cz_node *item)
{
    const cz_node *segment = path->children[s];
    const cz_node *choice = segment->children[p];
    cz_node *alone = copy_with(arena, choice, 0, copy_of(arena, item), NULL);
    alone->n_children = 1;
    cz_node *narrow = copy_with(arena, segment, p, alone,
                                text_with(arena, segment, choice, item));
    cz_node *whole = copy_with(arena, path, s, narrow, NULL);
    whole->text = cz_path_text(arena, whole->children, whole->n_children);
    return whole;
}

/* May child number `at` stand there? */
static bool child_is_sound(const cz_node *node, int at)
{
    const cz_node *child = node->children[at];
    if (child->kind == CZ_AST_ERROR)
        return true;
    for (int c = 0; c < N_COLUMNS; c++)
        if (has_column(node, c) && node_is(child, columns[c].kinds) &&
            (columns[c].role == CHILD ? at == columns[c].at
                                      : at >= columns[c].at))
            return true;
    return false;
}

bool cz_ast_is_sound(const cz_node *node)
{
    if (node->kind == CZ_AST_ERROR)
        return true;
    for (int c = 0; c < N_COLUMNS; c++)
        if (columns[c].role == CHILD && has_column(node, c) &&
            columns[c].at >= node->n_children)
            return false;
    for (int i = 0; i < node->n_children; i++)
        if (!child_is_sound(node, i) || !cz_ast_is_sound(node->children[i]))
            return false;
    return true;
}
