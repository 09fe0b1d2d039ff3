/* canzona doc: what the library's files and the table of functions say of a
 * name. The texts are theirs; nothing is said here. */
#include "frontend/cmd/cmd.h"

#include <string.h>

#include "dsl/base/embedded.h"
#include "frontend/model/model.h"
#include "frontend/syntax/parse.h"

/* In the order of the list. */
static const struct kind {
    cz_kind kind;
    const char *plural, *one;
} kinds[] = {{CZ_AST_OPTIMIZER, "optimizers", "an optimizer"},
             {CZ_AST_MODEL, "architectures", "an architecture"},
             {CZ_AST_MACHINE, "machines", "a machine"},
             {CZ_AST_DEF, "functions", "a function"},
             {CZ_AST_TABLE, "tables", "a table"},
             {CZ_AST_LET, "constants", "a constant"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds, WIDTH = 80, INDENT = 2 };

static const struct function {
    const char *name, *call, *gives;
} functions[] = {
#define CZ_FUNCTION(name, least, most, build, detail, call, gives)             \
    {#name, call, gives},
#include "dsl/vocab/function.def"
#undef CZ_FUNCTION
};

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* Something that has a name: a definition of the library, or a function of the
 * compiler. */
typedef struct entry {
    const struct kind *kind;
    const char *name;
    const cz_node *node;             /* NULL: a function of the compiler */
    const char *of;                  /* whose parameters a model type has, or
                                      * NULL */
    const struct function *function; /* NULL: a definition */
} entry;

typedef struct entries {
    entry *list;
    int n;
} entries;

static const struct kind *kind_of(cz_kind kind)
{
    for (int i = 0; i < N_KINDS; i++)
        if (kinds[i].kind == kind)
            return &kinds[i];
    return NULL;
}

/* Model types that have the parameters of another. */
static void add_aliases(cz_arena *arena, entries *out)
{
    const int n = out->n;

    for (size_t a = 0; cz_architecture_alias(a); a++)
        for (int i = 0; i < n; i++) {
            const char *name = cz_architecture_alias(a);
            entry other = out->list[i];
            if (other.kind->kind != CZ_AST_MODEL ||
                strcmp(other.name, cz_architecture_of(name)) != 0)
                continue;
            other.of = other.name;
            other.name = name;
            *CZ_PUSH(arena, out->list, out->n) = other;
        }
}

static void read_library(cz_arena *arena, cz_diags *diags, entries *out)
{
    for (int i = 0; i < N_FUNCTIONS; i++)
        *CZ_PUSH(arena, out->list, out->n) = (entry){
            kind_of(CZ_AST_DEF), functions[i].name, NULL, NULL, &functions[i]};
    for (const cz_embedded *file = cz_std_files; file->path; file++) {
        cz_source *source = CZ_NEW(arena, cz_source, 1);
        *source = (cz_source){file->path, file->bytes, file->n};
        const cz_node *tree = cz_parse(arena, source, diags);
        for (int i = 0; i < cz_n_items(tree); i++) {
            const cz_node *node = cz_item(tree, i);
            if (kind_of(node->kind))
                *CZ_PUSH(arena, out->list, out->n) =
                    (entry){kind_of(node->kind), node->text, node, NULL, NULL};
        }
    }
    add_aliases(arena, out);
}

/* ---- comments ---- */

/* Up to a colon or full stop outside brackets, on one line. */
static const char *summary_of(cz_arena *arena, const entry *e)
{
    if (e->function)
        return e->function->gives;
    if (e->of)
        return cz_arena_printf(arena, "as %s, name for name", e->of);
    char *text = cz_arena_printf(arena, "%s", cz_comment_of(arena, e->node));
    int depth = 0;
    for (char *at = text; *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == '\n')
            *at = ' ';
        if (depth == 0 && (*at == ':' || *at == '.') &&
            (at[1] == ' ' || at[1] == '\n' || at[1] == '\0'))
            *at-- = '\0';
        if (!*at)
            break;
    }
    return text;
}

/* ---- lists ---- */

static bool is_listed(const entries *all, int i, const struct kind *kind)
{
    return all->list[i].kind == kind;
}

static void print_names(const entries *all, const struct kind *kind)
{
    int column = 0;

    printf("%s", kind->plural);
    for (int i = 0; i < all->n; i++) {
        const int n = (int)strlen(all->list[i].name);
        if (!is_listed(all, i, kind))
            continue;
        if (column == 0 || column + 1 + n > WIDTH)
            column = printf("\n%*s", INDENT, "") - 1;
        else
            column += printf(" ");
        column += printf("%s", all->list[i].name);
    }
    puts("\n");
}

static void print_all(const entries *all)
{
    for (int k = 0; k < N_KINDS; k++)
        print_names(all, &kinds[k]);
    puts("`canzona doc NAME` says what one is, `canzona doc optimizers` has a "
         "line "
         "of each.");
}

static void print_kind(cz_arena *arena, const entries *all,
                       const struct kind *kind)
{
    for (int i = 0; i < all->n; i++)
        if (is_listed(all, i, kind))
            printf("%-24s %s\n", all->list[i].name,
                   summary_of(arena, &all->list[i]));
}

/* ---- one ---- */

/* What a machine's block and those that it is `from` say together. */
static void print_constants(cz_arena *arena, const char *name, cz_diags *diags)
{
    cz_machine_given said = {0};
    int i = 0;

    if (!cz_machine_load(arena, name, NULL, 0, diags, &said))
        return;
    puts("");
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    printf("  %-16s %-8g %-7s %s\n", #field,                                   \
           (double)said.fact.values.v[i++] / (double)(scale),                  \
           (scale) > 1              ? "s"                                      \
           : strcmp(unit, "1") == 0 ? ""                                       \
                                    : (unit),                                  \
           what);
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
}

/* A sentence in lines of WIDTH. */
static void print_wrapped(const char *text)
{
    size_t column = 0;

    while (*text) {
        const size_t n = strcspn(text, " ");
        column += column ? 1 + n : n;
        const bool is_new = column > WIDTH;
        printf("%s%.*s", is_new ? "\n" : column > n ? " " : "", (int)n, text);
        column = is_new ? n : column;
        text += n + (text[n] == ' ');
    }
    puts("");
}

static void print_entry(cz_arena *arena, const entry *e, cz_diags *diags)
{
    if (e->function) {
        printf("%s: %s of the compiler\n\n  %s\n\n", e->name, e->kind->one,
               e->function->call);
        print_wrapped(e->function->gives);
        return;
    }
    const cz_span span = e->node->span;
    if (e->of)
        printf("%s has the parameters of %s, name for name.\n\n", e->name,
               e->of);
    printf("%s: %s of %s\n\n%s%s%.*s\n", e->of ? e->of : e->name, e->kind->one,
           span.source->name, cz_comment_of(arena, e->node),
           *cz_comment_of(arena, e->node) ? "\n" : "", (int)span.length,
           span.source->bytes + span.offset);
    if (e->kind->kind == CZ_AST_MACHINE)
        print_constants(arena, e->name, diags);
}

/* False: nothing has this name. */
static bool print_named(cz_arena *arena, const entries *all, const char *name,
                        cz_diags *diags)
{
    bool found = false;

    for (int k = 0; k < N_KINDS; k++)
        if (strcmp(kinds[k].plural, name) == 0) {
            print_kind(arena, all, &kinds[k]);
            return true;
        }
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->list[i].name, name) == 0) {
            printf("%s", found ? "\n" : "");
            print_entry(arena, &all->list[i], diags);
            found = true;
        }
    return found;
}

static void refuse(cz_arena *arena, const entries *all, const char *name)
{
    const char **names = NULL;
    int n = 0;

    for (int k = 0; k < N_KINDS; k++)
        *CZ_PUSH(arena, names, n) = kinds[k].plural;
    for (int i = 0; i < all->n; i++)
        *CZ_PUSH(arena, names, n) = all->list[i].name;
    cz_cmd_refuse_name("canzona doc", "entry", name,
                       cz_diag_nearest(name, names, n), "canzona doc");
}

static int run(const cz_cmd_options *given)
{
    cz_arena arena;
    cz_diags diags;
    entries all = {0};
    bool found = true;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    read_library(&arena, &diags, &all);
    if (given->input)
        found = print_named(&arena, &all, given->input, &diags);
    else
        print_all(&all);
    if (!found)
        refuse(&arena, &all, given->input);
    cz_arena_fini(&arena);
    return found ? CZ_EXIT_OK : CZ_EXIT_USAGE;
}

static const struct argp_option options[] = {{0}};

const cz_command cz_command_doc = {
    "doc",
    "what the library has: optimizers, architectures, functions",
    options,
    "Print what the library says of NAME: its source, arguments and defaults; "
    "of "
    "a kind, such as `optimizers`, a line of each; without NAME all names.\v"
    "Examples:\n\n"
    "  canzona doc muon\n"
    "  canzona doc h100\n"
    "  canzona doc optimizers\n",
    run,
    "[NAME]"};
