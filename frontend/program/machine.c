/* Machines: constants by name, from a block and those it builds on. */
#include "frontend/program/machine.h"

#include <math.h>
#include <string.h>

#include "dsl/base/checked.h"

/* Integers that a double holds exactly. */
#define MAX_VALUE ((int64_t)1 << 53)

typedef struct constant {
    const char *name;
    double scale;
    int64_t low;
} constant;

static const constant constants[] = {
#define CZ_CONSTANT(field, compilation, scale, low, what) {#field, scale, low},
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
};

enum {
    N_CONSTANTS = sizeof constants / sizeof *constants,
    MAX_BASES = 16, /* machines that build on each other */
    TIME_PARTS = 6,
    UNEVEN_PARTS = 4
};

static const char scope_name[] = "machine", default_name[] = "h100",
                  times_name[] = "times", uneven_name[] = "uneven_reduce";

typedef struct reader {
    cz_scope *scope;
    cz_env *globals;
    cz_diags *diags;
    cz_machine_given *out;
    int64_t values[N_CONSTANTS], measured[N_CONSTANTS];
    const char *sources[N_CONSTANTS]; /* NULL: not said yet */
} reader;

void cz_machine_allow(cz_options *options)
{
    cz_options_allow(options, "program", scope_name);
    for (int i = 0; i < N_CONSTANTS; i++)
        cz_options_allow(options, scope_name, constants[i].name);
}

static int find_constant(const char *name)
{
    for (int i = 0; i < N_CONSTANTS; i++)
        if (strcmp(constants[i].name, name) == 0)
            return i;
    return -1;
}

/* ---- values ---- */

/* A number of the source in the unit of the IR. */
static bool read_scaled(const reader *r, const cz_node *e, const char *name,
                        double scale, int64_t low, int64_t *out)
{
    double value;
    if (!cz_eval_real(e, r->globals, r->diags, &value))
        return false;
    const double scaled = value * scale;
    const bool is_full_matrix = scale > 1 || floor(value) == value;
    if (is_full_matrix && scaled >= (double)low &&
        scaled <= (double)MAX_VALUE) {
        *out = (int64_t)(scaled + 0.5);
        return true;
    }
    const char *wanted = scaled > (double)MAX_VALUE ? "is less"
                         : scale > 1 && low > 0     ? "is more than 0"
                         : scale > 1                ? "is 0 or more"
                         : low > 0 ? "is a whole number of at least 1"
                                   : "is a whole number, 0 or more";
    cz_diag_error(r->diags, CZ_BAD_MACHINE, e->span, "%s cannot be %g: it %s",
                  name, value, wanted);
    return false;
}

static bool read_value(reader *r, int i, const cz_node *e, bool measured,
                       const char *source)
{
    r->sources[i] = source;
    r->measured[i] = measured;
    return read_scaled(r, e, constants[i].name, constants[i].scale,
                       constants[i].low, &r->values[i]);
}

/* ---- tables ---- */

/* A list whose rows are tuples of a name and numbers. */
typedef struct table {
    int n_parts;
    const char *reads; /* what a row looks like */
} table;

static const table times_table = {
    TIME_PARTS,
    "a time reads (\"optimizer\", rows, columns, batch, group, seconds)"};
static const table uneven_table = {
    UNEVEN_PARTS,
    "an uneven reduction reads (\"node\" or \"network\", bytes, roots, part "
    "of the link's rate)"};

static bool bad_row(const reader *r, const table *t, const cz_node *node)
{
    cz_diag_error(r->diags, CZ_BAD_MACHINE, node->span, "%s", t->reads);
    return false;
}

static bool is_row(const table *t, const cz_node *row)
{
    return row->kind == CZ_AST_TUPLE && cz_n_items(row) == t->n_parts &&
           cz_item(row, 0)->kind == CZ_AST_STRING;
}

static bool read_time(const reader *r, const cz_node *row)
{
    static const char *const names[TIME_PARTS] = {
        "optimizer", "number of rows", "number of columns",
        "batch",     "group",          "time"};
    int64_t parts[TIME_PARTS] = {0};
    for (int i = 1; i < TIME_PARTS; i++)
        if (!read_scaled(r, cz_item(row, i), names[i],
                         i == TIME_PARTS - 1 ? 1e12 : 1, 1, &parts[i]))
            return false;
    int64_t *shape = CZ_NEW(r->globals->arena, int64_t, 2);
    shape[0] = parts[1];
    shape[1] = parts[2];
    *CZ_PUSH(r->globals->arena, r->out->timings, r->out->n_timings) =
        (cz_fact_timing){.optimizer = cz_item(row, 0)->text,
                         .shape = {shape, 2},
                         .batch = parts[3],
                         .subgroup_size = parts[4],
                         .time = parts[5]};
    return true;
}

static bool read_uneven(const reader *r, const cz_node *row, bool is_measured)
{
    cz_fact_uneven_reduce fact = {.measured = is_measured};
    int link;
    if (!cz_word_find(CZ_VOCABULARY_link, cz_item(row, 0)->text, &link))
        return bad_row(r, &uneven_table, row);
    fact.link = cz_link_word((cz_link)link);
    if (!read_scaled(r, cz_item(row, 1), "number of bytes", 1, 1,
                     &fact.bytes) ||
        !read_scaled(r, cz_item(row, 2), "number of roots", 1, 1,
                     &fact.roots) ||
        !read_scaled(r, cz_item(row, 3), "part of a rate", 1000, 1,
                     &fact.thousandths))
        return false;
    if (fact.thousandths > 1000) {
        cz_diag_error(r->diags, CZ_BAD_MACHINE, cz_item(row, 3)->span,
                      "nothing is faster than its link: a part is at most 1");
        return false;
    }
    *CZ_PUSH(r->globals->arena, r->out->uneven_reduces,
             r->out->n_uneven_reduces) = fact;
    return true;
}

static bool read_table(const reader *r, const table *t, const cz_node *node)
{
    const cz_node *list = cz_constant_value(node);
    const bool is_measured = cz_node_has(node, CZ_FLAG_MEASURED);
    bool good = true;
    if (list->kind != CZ_AST_LIST)
        return bad_row(r, t, list);
    for (int i = 0; i < cz_n_items(list) && good; i++)
        if (!is_row(t, cz_item(list, i)))
            good = bad_row(r, t, cz_item(list, i));
        else if (t == &times_table)
            good = read_time(r, cz_item(list, i));
        else
            good = read_uneven(r, cz_item(list, i), is_measured);
    return good;
}

/* ---- blocks ---- */

static bool unknown_constant(const reader *r, const cz_node *node)
{
    const char *names[N_CONSTANTS + 2];
    for (int i = 0; i < N_CONSTANTS; i++)
        names[i] = constants[i].name;
    names[N_CONSTANTS] = times_name;
    names[N_CONSTANTS + 1] = uneven_name;
    const char *near = cz_diag_nearest(node->text, names, N_CONSTANTS + 2);
    cz_diag_error(r->diags, CZ_BAD_MACHINE, node->span, "a machine has no '%s'",
                  node->text);
    if (near)
        cz_diag_note(r->diags, node->span, "did you mean '%s'?", near);
    return false;
}

static bool read_constant(reader *r, const cz_node *node)
{
    const int i = find_constant(node->text);
    if (strcmp(node->text, times_name) == 0)
        return read_table(r, &times_table, node);
    if (strcmp(node->text, uneven_name) == 0)
        return read_table(r, &uneven_table, node);
    if (i < 0)
        return unknown_constant(r, node);
    if (r->sources[i]) /* said by -D, or by a machine built on this one */
        return true;
    return read_value(r, i, cz_constant_value(node),
                      cz_node_has(node, CZ_FLAG_MEASURED),
                      node->span.source->name);
}

static bool check_twice(const reader *r, const cz_node *block)
{
    bool good = true;
    for (int i = 0; i < cz_n_items(block); i++)
        for (int k = 0; k < i; k++) {
            if (strcmp(cz_item(block, i)->text, cz_item(block, k)->text) != 0)
                continue;
            cz_diag_error(r->diags, CZ_DUPLICATE_NAME, cz_item(block, i)->span,
                          "machine %s has '%s' twice", block->text,
                          cz_item(block, k)->text);
            cz_diag_note(r->diags, cz_item(block, k)->span, "first here");
            good = false;
            break;
        }
    return good;
}

static const cz_node *find_machine(const reader *r, const char *name,
                                   cz_span place)
{
    const cz_node *found = cz_scope_find(r->scope, CZ_AST_MACHINE, name);
    if (found)
        return found;
    const char *near = cz_scope_nearest(r->scope, CZ_AST_MACHINE, name);
    cz_diag_error(r->diags, CZ_UNKNOWN_NAME, place, "no machine is called '%s'",
                  name);
    if (near)
        cz_diag_note(r->diags, place, "did you mean '%s'?", near);
    cz_diag_note(r->diags, (cz_span){0},
                 "`canzona doc machines` lists those of the library; others "
                 "are written `machine NAME from h100 { ... }`");
    return NULL;
}

/* The block and all that it builds on, the nearest first. */
static bool read_blocks(reader *r, const cz_node *block)
{
    bool good = true;
    for (int n = 0; block && good; n++) {
        const cz_node *base = cz_machine_base(block);
        if (n == MAX_BASES) {
            cz_diag_error(r->diags, CZ_CYCLE, block->span,
                          "machine %s builds on itself", block->text);
            return false;
        }
        good = check_twice(r, block);
        for (int i = 0; i < cz_n_items(block); i++)
            good = read_constant(r, cz_item(block, i)) && good;
        block = base ? find_machine(r, base->text, base->span) : NULL;
        good = good && !base == !block;
    }
    return good;
}

static bool check_whole(const reader *r, const cz_node *block)
{
    for (int i = 0; i < N_CONSTANTS; i++)
        if (!r->sources[i]) {
            cz_diag_error(r->diags, CZ_BAD_MACHINE, block->span,
                          "machine %s does not say %s", block->text,
                          constants[i].name);
            cz_diag_note(r->diags, block->span,
                         "`machine %s from %s` has there what it does not say",
                         block->text, default_name);
            return false;
        }
    return true;
}

/* ---- which machine ---- */

typedef struct choice {
    const char *name;
    cz_span place;
} choice;

static bool choose(const reader *r, const cz_node *file,
                   const cz_options *options, choice *out)
{
    const cz_node *said = cz_options_find(options, "program", scope_name);
    const cz_node *first = NULL;
    *out = (choice){default_name, {0}};
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        if (node->kind != CZ_AST_MACHINE_CHOICE)
            continue;
        if (first) {
            cz_diag_error(r->diags, CZ_DUPLICATE_NAME, node->span,
                          "a plan is made for one machine");
            cz_diag_note(r->diags, first->span, "the first is here");
            return false;
        }
        first = node;
        *out = (choice){node->text, node->span};
    }
    for (int i = 0; i < cz_n_items(file) && !first && !said; i++)
        if (cz_item(file, i)->kind == CZ_AST_MACHINE)
            cz_diag_warning(r->diags, CZ_NO_EFFECT, cz_item(file, i)->span,
                            "the plan is made for %s: `machine %s` on a line "
                            "of its own, or -D machine=%s, chooses this one",
                            default_name, cz_item(file, i)->text,
                            cz_item(file, i)->text);
    if (said && said->kind != CZ_AST_NAME) {
        cz_diag_error(r->diags, CZ_BAD_OPTION, said->span,
                      "a machine is chosen by its name");
        return false;
    }
    if (said)
        *out = (choice){said->text, said->span};
    return true;
}

static bool read_options(reader *r, const cz_options *options)
{
    bool good = true;
    for (int i = 0; i < N_CONSTANTS; i++) {
        const cz_node *e =
            cz_options_find(options, scope_name, constants[i].name);
        if (e)
            good = read_value(r, i, e, false, "-D") && good;
    }
    return good;
}

static void keep(reader *r, const char *name)
{
    cz_arena *arena = r->globals->arena;
    const char **names = CZ_NEW(arena, const char *, N_CONSTANTS);
    const char **sources = CZ_NEW(arena, const char *, N_CONSTANTS);
    int64_t *values = CZ_NEW(arena, int64_t, N_CONSTANTS);
    int64_t *measured = CZ_NEW(arena, int64_t, N_CONSTANTS);
    for (int i = 0; i < N_CONSTANTS; i++) {
        names[i] = constants[i].name;
        values[i] = r->values[i];
        measured[i] = r->measured[i];
        sources[i] = r->sources[i];
    }
    r->out->fact = (cz_fact_machine){.name = name,
                                     .constants = {names, N_CONSTANTS},
                                     .values = {values, N_CONSTANTS},
                                     .measured = {measured, N_CONSTANTS},
                                     .sources = {sources, N_CONSTANTS}};
}

bool cz_machine_read(cz_scope *scope, const cz_node *file,
                     const cz_options *options, cz_env *globals,
                     cz_diags *diags, cz_machine_given *out)
{
    reader r = {.scope = scope, .globals = globals, .diags = diags, .out = out};
    choice chosen;
    *out = (cz_machine_given){0};
    if (!choose(&r, file, options, &chosen))
        return false;
    const cz_node *block = find_machine(&r, chosen.name, chosen.place);
    if (!block || !read_options(&r, options) || !read_blocks(&r, block) ||
        !check_whole(&r, block))
        return false;
    keep(&r, block->text);
    return true;
}

/* ---- alone ---- */

static bool is_file(const char *name)
{
    const size_t n = strlen(name), end = strlen(".cz");
    return n > end && strcmp(name + n - end, ".cz") == 0;
}

/* The one machine that a file chooses or describes. */
static bool find_alone(const reader *r, const cz_node *file, choice *out)
{
    const cz_node *block = NULL;
    int n = 0;
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_kind kind = cz_item(file, i)->kind;
        if (kind == CZ_AST_MACHINE || kind == CZ_AST_MACHINE_CHOICE) {
            if (!block || kind == CZ_AST_MACHINE_CHOICE)
                block = cz_item(file, i);
            n += kind == CZ_AST_MACHINE;
        }
    }
    if (!block || (n > 1 && block->kind == CZ_AST_MACHINE)) {
        cz_diag_error(r->diags, CZ_BAD_MACHINE, file->span,
                      "a file of one machine has one `machine NAME { }`, or "
                      "chooses by `machine NAME`");
        return false;
    }
    *out = (choice){block->text, block->span};
    return true;
}

static bool read_alone(reader *r, const char *name, const cz_options *options)
{
    const cz_node *file = cz_scope_file_at(r->scope, 0)->tree;
    choice chosen = {name, {0}};
    if (is_file(name) && !find_alone(r, file, &chosen))
        return false;
    const cz_node *block = find_machine(r, chosen.name, chosen.place);
    if (!block || !read_options(r, options) || !read_blocks(r, block) ||
        !check_whole(r, block))
        return false;
    keep(r, block->text);
    return true;
}

/* Constants that are there, under those of -D. */
static bool read_given(reader *r, const cz_options *options)
{
    const cz_machine_given given = *r->out;
    for (int i = 0; i < N_CONSTANTS; i++) {
        r->values[i] = given.fact.values.v[i];
        r->measured[i] = given.fact.measured.v[i];
        r->sources[i] = given.fact.sources.v[i];
    }
    if (!read_options(r, options))
        return false;
    keep(r, given.fact.name);
    return true;
}

bool cz_machine_load(cz_arena *arena, const char *name,
                     const char *const *defines, int n_defines, cz_diags *diags,
                     cz_machine_given *out)
{
    const cz_text nothing = {0};
    const bool reads = name && is_file(name);
    cz_env globals;
    cz_options options;
    reader r = {.globals = &globals, .diags = diags, .out = out};
    r.scope = cz_scope_build(arena, reads ? name : "-", reads ? NULL : &nothing,
                             (cz_allowed){0}, diags);
    cz_env_init(&globals, arena, NULL);
    cz_options_build(arena, defines, n_defines, diags, &options);
    for (int i = 0; i < N_CONSTANTS; i++)
        cz_options_allow(&options, scope_name, constants[i].name);
    cz_options_resolve(&options, diags);
    if (diags->n_errors > 0)
        return false;
    return name ? read_alone(&r, name, &options) : read_given(&r, &options);
}
