/* The mesh: what the statements say. */
#include "frontend/model/model.h"

#include <string.h>

#include "frontend/model/internal.h"

static const char *const axis_names[] = {"pp", "dp", "fsdp", "cp", "tp"};
static const char *const expert_axis_names[] = {"edp", "ep", "etp"};
enum { N_AXES = 5, N_EXPERT_AXES = 3 };

static bool is_one_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool cz_mesh_is_expert_axis(const char *name)
{
    return is_one_of(name, expert_axis_names, N_EXPERT_AXES);
}

bool cz_mesh_is_axis(const char *name)
{
    return is_one_of(name, axis_names, N_AXES) || cz_mesh_is_expert_axis(name);
}

const char *cz_mesh_name(int i)
{
    return i < N_AXES                   ? axis_names[i]
           : i < N_AXES + N_EXPERT_AXES ? expert_axis_names[i - N_AXES]
                                        : NULL;
}

/* The axis that experts share when they have no mesh of their own. */
static const char *dense_name(const char *axis)
{
    return strcmp(axis, "edp") == 0   ? "dp"
           : strcmp(axis, "etp") == 0 ? "tp"
                                      : "";
}

bool cz_mesh_find(const cz_mesh *mesh, const char *axis, int64_t *set)
{
    *set = 0;
    for (int i = 0; i < mesh->n_names; i++)
        if (strcmp(mesh->names[i], axis) == 0) {
            *set = mesh->sets[i];
            return true;
        }
    return !mesh->has_experts && cz_mesh_is_expert_axis(axis) &&
           cz_mesh_find(mesh, dense_name(axis), set);
}

int64_t cz_mesh_extent(const cz_mesh *mesh, int64_t set)
{
    int64_t extent = 1;
    for (int a = 0; a < mesh->n; a++)
        if (set >> a & 1)
            extent *= mesh->sizes[a];
    return extent;
}

const char *cz_mesh_text(cz_arena *arena, const cz_mesh *mesh, int64_t set)
{
    const char *text = "";
    for (int i = 0; i < mesh->n_names && set; i++) {
        if (!mesh->sets[i] || (mesh->sets[i] & set) != mesh->sets[i])
            continue;
        text = cz_arena_printf(arena, "%s%s%s", text, *text ? " x " : "",
                               mesh->names[i]);
        set &= ~mesh->sets[i];
    }
    for (int a = 0; a < mesh->n; a++)
        if (set >> a & 1)
            text = cz_arena_printf(arena, "%s%s%s", text, *text ? " x " : "",
                                   mesh->axes[a]);
    return text;
}

int64_t cz_mesh_stages(const cz_mesh *mesh)
{
    int64_t set;
    return cz_mesh_find(mesh, "pp", &set) ? cz_mesh_extent(mesh, set) : 1;
}

void cz_mesh_bind(const cz_mesh *mesh, cz_env *outer, cz_env *inner)
{
    cz_env_init(inner, outer->arena, outer);
    for (int i = 0; i < N_AXES + N_EXPERT_AXES; i++) {
        const char *name = cz_mesh_name(i);
        int64_t set;
        cz_mesh_find(mesh, name, &set);
        cz_env_bind(inner, name, cz_value_int(cz_mesh_extent(mesh, set)));
    }
}

/* The statement is about the experts' factoring. */
static bool is_of_experts(const cz_node *node)
{
    return node->text != NULL;
}

void cz_mesh_allow(const cz_node *file, cz_options *options)
{
    for (int i = 0; i < N_AXES; i++)
        cz_options_allow(options, "mesh", axis_names[i]);
    for (int i = 0; i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        for (int k = 0; node->kind == CZ_AST_MESH && k < cz_n_items(node); k++)
            if (cz_mesh_is_expert_axis(cz_item(node, k)->text))
                cz_options_allow(options, "mesh", cz_item(node, k)->text);
    }
}

/* ---- axes ---- */

/* The first axis of the statement that has the name. */
static const cz_node *first_axis(const cz_node *statement, const char *name)
{
    int i = 0;
    while (strcmp(cz_item(statement, i)->text, name) != 0)
        i++;
    return cz_item(statement, i);
}

typedef struct reader {
    const cz_options *options;
    bool one_rank;
    cz_env *globals;
    cz_diags *diags;
    const cz_node *seen[2]; /* the plain mesh, and that of experts */
    const cz_node *of_dp;   /* AXIS `ep = 8 of dp`, or NULL */
    cz_factoring dense, experts;
    bool failed;
} reader;

static bool bad_axis(reader *r, const cz_node *axis, const char *const *names,
                     int n, const char *all)
{
    cz_diag_error(
        r->diags, CZ_BAD_MESH, axis->span, "no axis %sis called '%s': %s are",
        names == expert_axis_names ? "of experts " : "", axis->text, all);
    const char *near = cz_diag_nearest(axis->text, names, n);
    if (cz_mesh_is_expert_axis(axis->text))
        cz_diag_note(r->diags, axis->span,
                     "ranks that share experts out are some of dp's: `ep = 8 "
                     "of dp`, or a `mesh experts` of their own");
    else if (near)
        cz_diag_note(r->diags, axis->span, "did you mean '%s'?", near);
    r->failed = true;
    return false;
}

static bool check_axis(reader *r, const cz_factoring *into,
                       const cz_node *statement, const cz_node *axis)
{
    /* what is equally near: the commonest */
    static const char *const by_use[N_AXES] = {"dp", "tp", "pp", "cp", "fsdp"};
    const bool experts = into == &r->experts;
    if (experts && !cz_mesh_is_expert_axis(axis->text) &&
        strcmp(axis->text, "pp") != 0)
        return bad_axis(r, axis, expert_axis_names, N_EXPERT_AXES,
                        "edp, ep and etp");
    if (!experts && !is_one_of(axis->text, axis_names, N_AXES))
        return bad_axis(r, axis, by_use, N_AXES, "pp, dp, fsdp, cp and tp");
    if (cz_factoring_find(into, axis->text) >= 0) {
        cz_diag_error(r->diags, CZ_DUPLICATE_NAME, axis->span,
                      "axis %s is given twice", axis->text);
        cz_diag_note(r->diags, first_axis(statement, axis->text)->span,
                     "first here");
        r->failed = true;
        return false;
    }
    return true;
}

static int64_t read_size(reader *r, const cz_node *size, const char *name)
{
    int64_t value = 1;
    const cz_node *set = cz_options_find(r->options, "mesh", name);
    const char *what =
        cz_arena_printf(r->globals->arena, "size of axis %s", name);
    if (r->one_rank)
        return 1;
    if (!cz_eval_size(set ? set : size, r->globals, r->diags, what, 1,
                      CZ_MAX_RANKS, &value)) {
        r->failed = true;
        return 1;
    }
    return value;
}

/* An axis goes behind those before it; but pp alone, which the text may not
 * have, is the outermost. */
static void add_axis(reader *r, cz_factoring *into, const cz_node *size,
                     const char *name, bool from_option)
{
    int64_t value = read_size(r, size, name);
    const bool is_pp = strcmp(name, "pp") == 0;
    if (is_pp && value > CZ_MAX_STAGES) {
        cz_diag_error(r->diags, CZ_TOO_LARGE, size->span,
                      "a pipeline has at most %d stages", CZ_MAX_STAGES);
        r->failed = true;
        value = 1;
    }
    if (is_pp && value > 1 && into->n > 0 && !from_option) {
        cz_diag_error(r->diags, CZ_BAD_MESH, size->span,
                      "pp stands first in a mesh: stages are the outermost "
                      "groups of ranks");
        r->failed = true;
    }
    cz_factoring_insert(into, is_pp && from_option ? 0 : into->n, name, value);
}

/* ---- statements ---- */

static void read_statement(reader *r, const cz_node *node)
{
    const cz_node **seen = &r->seen[is_of_experts(node)];
    if (*seen) {
        cz_diag_error(r->diags, CZ_BAD_MESH, node->span,
                      "there is a mesh %salready",
                      is_of_experts(node) ? "of experts " : "");
        cz_diag_note(r->diags, (*seen)->span, "here");
        r->failed = true;
        return;
    }
    *seen = node;
    if (is_of_experts(node) && strcmp(node->text, "experts") != 0) {
        cz_diag_error(r->diags, CZ_BAD_MESH, node->span,
                      "there is no mesh of '%s': `mesh experts` is one",
                      node->text);
        r->failed = true;
        return;
    }
    cz_factoring *into = is_of_experts(node) ? &r->experts : &r->dense;
    for (int i = 0; i < cz_n_items(node); i++) {
        const cz_node *axis = cz_item(node, i);
        if (cz_axis_of(axis))
            r->of_dp = axis;
        else if (check_axis(r, into, node, axis))
            add_axis(r, into, cz_axis_size(axis), axis->text, false);
    }
}

/* ---- what the text leaves open ---- */

static int64_t dense_size(const reader *r, const char *axis)
{
    const int at = cz_factoring_find(&r->dense, axis);
    return at < 0 ? 1 : r->dense.sizes[at];
}

/* `ep = 8 of dp`: the minor factor of dp; etp is tp. */
static void take_of_dp(reader *r)
{
    const cz_node *axis = r->of_dp, *of = cz_axis_of(axis);
    const int64_t dp = dense_size(r, "dp");
    if (strcmp(axis->text, "ep") != 0 || strcmp(of->text, "dp") != 0) {
        cz_diag_error(r->diags, CZ_BAD_MESH, axis->span,
                      "only `ep = ... of dp` is a factor of an axis");
        r->failed = true;
        return;
    }
    if (r->seen[true]) {
        cz_diag_error(r->diags, CZ_BAD_MESH, axis->span,
                      "the experts have a mesh already");
        cz_diag_note(r->diags, r->seen[true]->span, "here");
        r->failed = true;
        return;
    }
    if (dense_size(r, "fsdp") > 1 || dense_size(r, "cp") > 1) {
        cz_diag_error(r->diags, CZ_UNSUPPORTED, axis->span,
                      "`ep = ... of dp` beside fsdp or cp is not supported "
                      "yet: write `mesh experts`");
        r->failed = true;
        return;
    }
    const int64_t ep = read_size(r, cz_axis_size(axis), "ep");
    if (dp % ep != 0) {
        cz_diag_error(r->diags, CZ_NOT_DIVISIBLE, axis->span,
                      "ep = %lld is no factor of dp = %lld", (long long)ep,
                      (long long)dp);
        r->failed = true;
        return;
    }
    cz_factoring_insert(&r->experts, 0, "edp", dp / ep);
    cz_factoring_insert(&r->experts, 1, "ep", ep);
    cz_factoring_insert(&r->experts, 2, "etp", dense_size(r, "tp"));
}

/* ---- both together ---- */

/* pp is the same in both factorings. */
static void share_pp(reader *r)
{
    const int at = cz_factoring_find(&r->experts, "pp");
    const int64_t pp = dense_size(r, "pp");
    if (at < 0)
        cz_factoring_insert(&r->experts, 0, "pp", pp);
    else if (r->experts.sizes[at] != pp) {
        cz_diag_error(r->diags, CZ_BAD_MESH, r->seen[true]->span,
                      "pp is %lld here and %lld in the mesh",
                      (long long)r->experts.sizes[at], (long long)pp);
        r->failed = true;
    }
}

static cz_span place_of(const reader *r, bool experts)
{
    if (experts && r->of_dp)
        return r->of_dp->span;
    return r->seen[experts] ? r->seen[experts]->span : (cz_span){0};
}

static bool check_ranks(reader *r)
{
    int64_t ranks, of_experts;
    if (!cz_factoring_ranks(&r->dense, &ranks)) {
        cz_diag_error(r->diags, CZ_TOO_LARGE, place_of(r, false),
                      "a mesh has at most %d ranks", CZ_MAX_RANKS);
        return false;
    }
    if (r->experts.n == 0 || r->failed)
        return true;
    const bool good = cz_factoring_ranks(&r->experts, &of_experts);
    if (good && of_experts == ranks)
        return true;
    cz_diag_error(r->diags, CZ_BAD_MESH, place_of(r, true),
                  "the experts' axes make %lld ranks, those of the mesh %lld",
                  (long long)of_experts, (long long)ranks);
    cz_diag_note(r->diags, place_of(r, false), "the mesh is here");
    const int edp = cz_factoring_find(&r->experts, "edp");
    const int64_t others =
        edp < 0 ? of_experts : of_experts / r->experts.sizes[edp];
    if (good && ranks % others == 0)
        cz_diag_note(r->diags, place_of(r, true),
                     "with edp = %lld both have as many",
                     (long long)(ranks / others));
    else if (good)
        cz_diag_note(r->diags, place_of(r, true),
                     "whatever edp is, the other axes, %lld ranks, are to "
                     "divide %lld",
                     (long long)others, (long long)ranks);
    return false;
}

void cz_mesh_build(const cz_node *file, const cz_options *options,
                   bool one_rank, cz_env *globals, cz_diags *diags,
                   cz_mesh *out)
{
    static const cz_factoring none = {.n = 0};
    reader r = {.options = options,
                .one_rank = one_rank,
                .globals = globals,
                .diags = diags};
    const char *uneven = NULL;
    for (int i = 0; i < cz_n_items(file); i++)
        if (cz_item(file, i)->kind == CZ_AST_MESH)
            read_statement(&r, cz_item(file, i));
    for (int i = 0; i < N_AXES; i++) {
        const cz_node *size = cz_options_find(r.options, "mesh", axis_names[i]);
        if (size && cz_factoring_find(&r.dense, axis_names[i]) < 0)
            add_axis(&r, &r.dense, size, axis_names[i], true);
    }
    /* Data-parallel ranks are what the plan is about: the axis always exists.
     */
    const cz_factoring *dense = &r.dense;
    if (cz_factoring_find(dense, "dp") < 0)
        cz_factoring_insert(&r.dense, cz_factoring_find(dense, "pp") == 0, "dp",
                            1);
    if (r.of_dp)
        take_of_dp(&r);
    if (r.experts.n > 0)
        share_pp(&r);
    const bool good = check_ranks(&r) && !r.failed;
    if (cz_factoring_join(globals->arena, &r.dense, good ? &r.experts : &none,
                          out, &uneven))
        return;
    cz_diag_error(diags, CZ_UNSUPPORTED, place_of(&r, true),
                  "%s does not end where a part of the mesh's axes does: not "
                  "supported yet",
                  uneven);
    cz_factoring_join(globals->arena, &r.dense, &none, out, &uneven);
}
