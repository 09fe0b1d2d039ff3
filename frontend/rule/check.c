/* Rules checked once, for all shapes: each optimizer along each of its paths,
 * and what was found along several of them reported once. */
#include <string.h>

#include "frontend/rule/internal.h"
#include "frontend/rule/path.h"

/* Evaluated nodes and tried examples, of all rules together. */
enum { MOST_STEPS = 5000000 };

/* An error or warning with its notes, as some path reported it. */
typedef struct finding {
    const cz_diag *list;
    int n;
    int n_paths;         /* along which it was found */
    const char *example; /* of the first of them */
} finding;

typedef struct checker {
    cz_scope *scope;
    cz_arena *arena; /* of messages and paths */
    cz_diags *diags;
    bool alone;
    int64_t left;      /* of MOST_STEPS */
    finding *findings; /* of the rule under way */
    int n_findings;
} checker;

/* ---- what was found ---- */

static bool is_same_place(const cz_diag *a, const cz_diag *b)
{
    return a->severity == b->severity && a->code == b->code &&
           a->span.source == b->span.source &&
           a->span.offset == b->span.offset && a->span.length == b->span.length;
}

static void add_finding(checker *c, const cz_diag *list, int n,
                        const char *example)
{
    for (int i = 0; i < c->n_findings; i++)
        if (is_same_place(c->findings[i].list, list)) {
            c->findings[i].n_paths++;
            return;
        }
    *CZ_PUSH(c->arena, c->findings, c->n_findings) =
        (finding){list, n, 1, example};
}

static void add_findings(checker *c, const cz_diags *found, const char *example)
{
    for (int i = 0, n; i < found->n; i += n) {
        n = 1;
        while (i + n < found->n && found->list[i + n].severity == CZ_NOTE)
            n++;
        if (c->alone || found->list[i].code != CZ_UNSUPPORTED)
            add_finding(c, &found->list[i], n, example);
    }
}

static bool is_reported(const cz_diags *diags, const cz_diag *diag)
{
    for (int i = 0; i < diags->n; i++)
        if (is_same_place(&diags->list[i], diag))
            return true;
    return false;
}

static void report(checker *c, const finding *found)
{
    const cz_diag *error = found->list;
    if (is_reported(c->diags, error))
        return;
    cz_diag_error(c->diags, error->code, error->span, "%s", error->message);
    for (int i = 1; i < found->n; i++)
        cz_diag_note(c->diags, found->list[i].span, "%s",
                     found->list[i].message);
}

/* What every path runs into needs no example.  A rule may be for some shapes
 * alone and do nothing at others. */
static void report_findings(checker *c, const cz_node *header, int n_paths)
{
    for (int i = 0; i < c->n_findings; i++) {
        const finding *found = &c->findings[i];
        const bool always = found->n_paths == n_paths;
        if (found->list->code == CZ_NO_EFFECT && !always)
            continue;
        report(c, found);
        if (!always && *found->example)
            cz_diag_note(c->diags, header->span, "for one, with %s",
                         found->example);
    }
    c->findings = NULL;
    c->n_findings = 0;
}

/* ---- optimizers ---- */

static void check_header_names(cz_rule *rule, const cz_node *header)
{
    for (int i = 0; i < cz_n_items(header); i++) {
        const cz_node *name = cz_item(header, i), *first = NULL;
        for (int k = 0; k < i; k++)
            if (strcmp(cz_item(header, k)->text, name->text) == 0)
                first = cz_item(header, k);
        for (int k = 0; k < rule->n_formals && !first; k++)
            if (strcmp(rule->formals[k].name, name->text) == 0)
                first = rule->formals[k].place;
        if (!first)
            continue;
        cz_rule_error(rule, CZ_DUPLICATE_NAME, name,
                      "'%s' is already the name of something else here",
                      name->text);
        cz_diag_note(rule->diags, first->span, "first here");
    }
}

/* Along one path; its values live no longer. */
static void check_path(checker *c, const cz_node *optimizer, cz_rule_path *path)
{
    cz_arena scratch;
    cz_diags found;
    cz_arena_init(&scratch);
    cz_diags_init(&found, c->arena);
    const cz_rule_use use = {.arena = &scratch,
                             .scope = c->scope,
                             .name = optimizer->text,
                             .use = optimizer,
                             .optimizer = optimizer};
    cz_rule rule = {.use = &use,
                    .path = path,
                    .diags = &found,
                    .arena = &scratch,
                    .scalars = {.arena = &scratch}};
    const cz_node *header = cz_optimizer_header(rule.use->optimizer);
    const bool any = cz_rule_is_any(&rule);
    const cz_rule_shape shape = {.n_dims = any ? 0 : 2, .master_dtype = CZ_F32};
    cz_rule_phases phases;
    /* [m, n]: the extents are what the header calls them. */
    static const double example[2] = {2, 3};
    for (int i = 0; i < 2 && cz_n_items(header) == 2; i++)
        rule.extent[i] =
            cz_rule_path_symbol(rule.path, &rule.scalars,
                                cz_item(header, i)->text, false, example[i]);
    cz_rule_bind_formals(&rule);
    check_header_names(&rule, header);
    if (!rule.failed)
        cz_rule_check_body(&rule, &shape, &phases);
    add_findings(c, &found, cz_rule_path_text(path, c->arena));
    cz_rule_path_fork(path);
    cz_arena_fini(&scratch);
}

/* ---- defs and tables by themselves ---- */

/* A def whose arguments nobody knows. */
static void run_def(cz_rule *rule, const cz_node *def)
{
    const cz_node *formals = cz_rule_formals(def);
    cz_rule_frame frame = {
        .call = def, .def = def, .id = ++rule->n_frames, .n_calls = 1};
    rule->frame = &frame;
    for (int i = 0; i < cz_n_items(formals); i++)
        cz_rule_bind(rule, cz_item(formals, i)->text, cz_rule_absorb(),
                     cz_item(formals, i));
    if (cz_rule_check_def(rule, def))
        cz_rule_run(rule, cz_def_block(def));
    if (!frame.result && !rule->failed)
        cz_rule_error(rule, CZ_BAD_TYPE, def, "'%s' returns no value",
                      def->text);
    rule->frame = NULL;
}

static void run_table(cz_rule *rule, const cz_node *table)
{
    cz_rule_frame frame = {0};
    rule->frame = &frame;
    const cz_rule_value *value = cz_rule_eval(rule, cz_table_value(table));
    if (value->kind != CZ_RULE_TABLE && value->kind != CZ_RULE_ERROR)
        cz_rule_error(rule, CZ_BAD_TYPE, cz_table_value(table),
                      "a table is a list of rows, not %s",
                      cz_rule_text(rule, value));
    rule->frame = NULL;
}

static void check_alone(checker *c, const cz_node *definition,
                        void (*run)(cz_rule *, const cz_node *))
{
    cz_arena scratch;
    cz_diags found;
    cz_arena_init(&scratch);
    cz_diags_init(&found, c->arena);
    const cz_rule_use use = {.arena = &scratch, .scope = c->scope};
    const cz_rule_shape shape = {.master_dtype = CZ_F32};
    cz_rule_path path;
    cz_rule_path_init(&path, c->arena, &c->left);
    cz_rule rule = {.use = &use,
                    .path = &path,
                    .shape = definition->kind == CZ_AST_DEF ? &shape : NULL,
                    .diags = &found,
                    .arena = &scratch,
                    .scalars = {.arena = &scratch}};
    run(&rule, definition);
    c->left -= rule.n_steps;
    add_findings(c, &found, "");
    report_findings(c, definition, 1);
    cz_arena_fini(&scratch);
}

/* ---- all files ---- */

static void check_definition(checker *c, const cz_node *node, cz_kind kind,
                             cz_rules_checked *out)
{
    if (node->kind != kind || c->left < 0)
        return;
    if (kind == CZ_AST_OPTIMIZER) {
        cz_rule_path path;
        cz_rule_path_init(&path, c->arena, &c->left);
        do
            check_path(c, node, &path);
        while (cz_rule_path_next(&path));
        report_findings(c, cz_optimizer_header(node), path.n_paths);
        out->n_optimizers++;
    } else if (kind == CZ_AST_DEF) {
        check_alone(c, node, run_def);
        out->n_defs++;
    } else {
        check_alone(c, node, run_table);
        out->n_tables++;
    }
    if (c->left < 0)
        cz_diag_error(c->diags, CZ_TOO_LARGE, node->span,
                      "the rules up to here take more than %d steps to check",
                      MOST_STEPS);
}

void cz_rules_check(cz_scope *scope, bool alone, cz_arena *arena,
                    cz_diags *diags, cz_rules_checked *out)
{
    /* Callers first: what they say of a def says more. */
    static const cz_kind kinds[] = {CZ_AST_TABLE, CZ_AST_OPTIMIZER, CZ_AST_DEF};
    checker c = {scope, arena, diags, alone, MOST_STEPS, NULL, 0};
    *out = (cz_rules_checked){0};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < cz_scope_n_files(scope); i++) {
            const cz_scope_file *file = cz_scope_file_at(scope, i);
            for (int n = 0; n < cz_n_items(file->tree) && !file->library; n++)
                check_definition(&c, cz_item(file->tree, n), kinds[k], out);
        }
}
