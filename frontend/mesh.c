/* The mesh. */
#include "frontend/mesh.h"

#include <string.h>

#include "dsl/base/checked.h"

static const char *const axis_names[] = {"pp", "dp", "fsdp", "cp", "tp"};
static const char *const expert_axis_names[] = {"edp", "ep", "etp"};
enum { N_EXPERT_AXES = 3 };

static bool is_one_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool cz_mesh_is_axis(const char *name)
{
    return is_one_of(name, axis_names, CZ_MAX_AXES) ||
           is_one_of(name, expert_axis_names, N_EXPERT_AXES);
}

int cz_mesh_n_names(void)
{
    return CZ_MAX_AXES + N_EXPERT_AXES;
}

const char *cz_mesh_name(int i)
{
    return i < CZ_MAX_AXES ? axis_names[i] : expert_axis_names[i - CZ_MAX_AXES];
}

int cz_mesh_find(const cz_mesh *mesh, const char *axis)
{
    for (int i = 0; i < mesh->n; i++)
        if (strcmp(mesh->axes[i], axis) == 0)
            return i;
    return -1;
}

void cz_mesh_allow(cz_options *options)
{
    for (int i = 0; i < CZ_MAX_AXES; i++)
        cz_options_allow(options, "mesh", axis_names[i]);
}

/* ---- statements ---- */

/* The first axis of the statement that has the name. */
static const cz_node *first_axis(const cz_node *statement, const char *name)
{
    int i = 0;
    while (strcmp(statement->kids[i]->text, name) != 0)
        i++;
    return statement->kids[i];
}

static bool check_axis(const cz_mesh *mesh, const cz_node *statement,
                       const cz_node *axis, cz_diags *diags)
{
    const char *name = axis->text;
    if (axis->n_kids > 1 || is_one_of(name, expert_axis_names, N_EXPERT_AXES)) {
        cz_diag_error(diags, CZ_UNSUPPORTED, axis->span,
                      "a mesh of experts is not supported yet");
        return false;
    }
    if (!is_one_of(name, axis_names, CZ_MAX_AXES)) {
        cz_diag_error(diags, CZ_BAD_MESH, axis->span,
                      "no axis is called '%s': pp, dp, fsdp, cp and tp are",
                      name);
        /* what is equally near: the commonest */
        static const char *const by_use[CZ_MAX_AXES] = {"dp", "tp", "pp", "cp",
                                                        "fsdp"};
        const char *near = cz_diag_nearest(name, by_use, CZ_MAX_AXES);
        if (near)
            cz_diag_note(diags, axis->span, "did you mean '%s'?", near);
        return false;
    }
    if (cz_mesh_find(mesh, name) >= 0) {
        cz_diag_error(diags, CZ_DUPLICATE_NAME, axis->span,
                      "axis %s is given twice", name);
        cz_diag_note(diags, first_axis(statement, name)->span, "first here");
        return false;
    }
    return true;
}

static void insert(cz_mesh *mesh, int at, const char *name, int64_t size)
{
    for (int i = mesh->n; i > at; i--) {
        mesh->axes[i] = mesh->axes[i - 1];
        mesh->sizes[i] = mesh->sizes[i - 1];
    }
    mesh->axes[at] = name;
    mesh->sizes[at] = size;
    mesh->n++;
}

static void add_axis(const cz_node *size, const char *name, cz_env *globals,
                     cz_diags *diags, cz_mesh *mesh)
{
    int64_t value = 1;
    const char *what = cz_arena_printf(globals->arena, "size of axis %s", name);
    const bool works = strcmp(name, "dp") == 0 || strcmp(name, "tp") == 0 ||
                       strcmp(name, "fsdp") == 0;
    if (!cz_eval_size(size, globals, diags, what, 1, CZ_MAX_RANKS, &value))
        value = 1;
    if (!works && value > 1)
        cz_diag_error(diags, CZ_UNSUPPORTED, size->span,
                      "axis %s larger than 1 is not supported yet", name);
    insert(mesh, mesh->n, name, value);
}

static void read_mesh(const cz_node *node, const cz_options *options,
                      cz_env *globals, cz_diags *diags, cz_mesh *mesh)
{
    for (int i = 0; i < node->n_kids; i++) {
        const cz_node *axis = node->kids[i];
        const cz_node *size = cz_options_find(options, "mesh", axis->text);
        if (check_axis(mesh, node, axis, diags))
            add_axis(size ? size : axis->kids[0], axis->text, globals, diags,
                     mesh);
    }
}

/* The plain mesh, or NULL. */
static const cz_node *find_mesh(const cz_node *file, cz_diags *diags)
{
    const cz_node *found = NULL;
    for (int i = 0; i < file->n_kids; i++) {
        const cz_node *node = file->kids[i];
        if (node->kind != CZ_AST_MESH)
            continue;
        if (node->text) {
            cz_diag_error(diags, CZ_UNSUPPORTED, node->span,
                          "a mesh of %s is not supported yet", node->text);
        } else if (found) {
            cz_diag_error(diags, CZ_BAD_MESH, node->span,
                          "there is a mesh already");
            cz_diag_note(diags, found->span, "here");
        } else {
            found = node;
        }
    }
    return found;
}

/* ---- what the text leaves open ---- */

static void add_from_options(const cz_options *options, cz_env *globals,
                             cz_diags *diags, cz_mesh *mesh)
{
    for (int i = 0; i < CZ_MAX_AXES; i++) {
        const cz_node *size = cz_options_find(options, "mesh", axis_names[i]);
        if (size && cz_mesh_find(mesh, axis_names[i]) < 0)
            add_axis(size, axis_names[i], globals, diags, mesh);
    }
}

/* Data-parallel ranks are what the plan is about: the axis always exists. */
static void add_dp(cz_mesh *mesh)
{
    if (cz_mesh_find(mesh, "dp") < 0)
        insert(mesh, cz_mesh_find(mesh, "pp") == 0 ? 1 : 0, "dp", 1);
}

void cz_mesh_build(const cz_node *file, const cz_options *options,
                   cz_env *globals, cz_diags *diags, cz_mesh *out)
{
    int64_t ranks;
    const cz_node *node = find_mesh(file, diags);
    *out = (cz_mesh){0};
    if (node)
        read_mesh(node, options, globals, diags, out);
    add_from_options(options, globals, diags, out);
    add_dp(out);
    if (!cz_checked_product(out->sizes, out->n, &ranks) || ranks > CZ_MAX_RANKS)
        cz_diag_error(diags, CZ_TOO_LARGE, node ? node->span : (cz_span){0},
                      "a mesh has at most %d ranks", CZ_MAX_RANKS);
}
