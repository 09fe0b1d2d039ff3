/* Meshes of imported programs. */
#include "frontend/import/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/model/model.h"

static const char *const plain_axes[] = {"pp", "dp", "cp", "tp", NULL};
static const char *const expert_axes[] = {"edp", "ep", "etp", NULL};

static const char *find(const char *const *names, const char *name, size_t n)
{
    for (; *names; names++)
        if (strlen(*names) == n && strncmp(*names, name, n) == 0)
            return *names;
    return NULL;
}

int64_t cz_import_mesh_size(const cz_import_mesh *mesh, const char *axis)
{
    for (int i = 0; i < mesh->n; i++)
        if (strcmp(mesh->axes[i], axis) == 0)
            return mesh->sizes[i];
    for (int i = 0; i < mesh->n_experts; i++)
        if (strcmp(mesh->expert_axes[i], axis) == 0)
            return mesh->expert_sizes[i];
    return 0;
}

const char *cz_import_mesh_add(cz_import_mesh *mesh, const char *axis,
                               int64_t size, bool experts)
{
    const char *name =
        find(experts ? expert_axes : plain_axes, axis, strlen(axis));

    if (!name)
        return experts ? "axes of experts are edp, ep and etp"
                       : "axes are pp, dp, cp and tp";
    if (cz_import_mesh_size(mesh, name) > 0)
        return "an axis is given twice";
    if (size < 1 || size > CZ_MAX_RANKS)
        return "the size of an axis is to be a number of ranks";
    if (experts) {
        mesh->expert_axes[mesh->n_experts] = name;
        mesh->expert_sizes[mesh->n_experts++] = size;
    } else {
        mesh->axes[mesh->n] = name;
        mesh->sizes[mesh->n++] = size;
    }
    return NULL;
}

enum { MAX_AXIS_NAME = 8, MAX_SIZE_DIGITS = 9 };

/* One "dp=32" of n bytes. */
static const char *read_axis(cz_import_mesh *mesh, const char *text, size_t n)
{
    const size_t name_n = strcspn(text, "=");
    const char *digits = text + name_n + 1;
    char name[MAX_AXIS_NAME];

    if (name_n >= n || name_n >= sizeof name)
        return "a mesh reads dp=32,tp=8";
    const size_t n_digits = strspn(digits, "0123456789");
    if (n_digits == 0 || n_digits > MAX_SIZE_DIGITS ||
        name_n + 1 + n_digits != n)
        return "the size of an axis is to be a number of ranks";
    memcpy(name, text, name_n);
    name[name_n] = '\0';
    return cz_import_mesh_add(mesh, name, strtoll(digits, NULL, 10), false);
}

const char *cz_import_mesh_read(cz_import_mesh *mesh, const char *text)
{
    for (;;) {
        const size_t n = strcspn(text, ",");
        const char *why = read_axis(mesh, text, n);
        if (why || text[n] == '\0')
            return why;
        text += n + 1;
    }
}

static void print_axes(const char *what, const char *const *axes,
                       const int64_t *sizes, int n, cz_text *out)
{
    cz_text_puts(out, what);
    for (int i = 0; i < n; i++)
        cz_text_printf(out, "%s%s = %" PRId64, i > 0 ? ", " : " ", axes[i],
                       sizes[i]);
}

void cz_import_mesh_print(const cz_import_mesh *mesh, cz_text *out)
{
    if (mesh->n > 0)
        print_axes("mesh", mesh->axes, mesh->sizes, mesh->n, out);
    else
        cz_text_puts(out, "mesh dp = 8, tp = 1");
    cz_text_puts(out, "  # ranks, major to minor\n");
    if (mesh->n_experts > 0) {
        print_axes("mesh experts", mesh->expert_axes, mesh->expert_sizes,
                   mesh->n_experts, out);
        cz_text_puts(out, "\n");
    }
}
