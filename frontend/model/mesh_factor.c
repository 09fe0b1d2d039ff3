/* The pieces of two factorings: every boundary of either is one of theirs. */
#include "frontend/model/internal.h"

#include <string.h>

#include "dsl/base/checked.h"

int cz_factoring_find(const cz_factoring *factoring, const char *axis)
{
    for (int i = 0; i < factoring->n; i++)
        if (strcmp(factoring->axes[i], axis) == 0)
            return i;
    return -1;
}

void cz_factoring_insert(cz_factoring *factoring, int at, const char *axis,
                         int64_t size)
{
    for (int i = factoring->n; i > at; i--) {
        factoring->axes[i] = factoring->axes[i - 1];
        factoring->sizes[i] = factoring->sizes[i - 1];
    }
    factoring->axes[at] = axis;
    factoring->sizes[at] = size;
    factoring->n++;
}

bool cz_factoring_ranks(const cz_factoring *factoring, int64_t *ranks)
{
    return cz_checked_product(factoring->sizes, factoring->n, ranks) &&
           *ranks <= CZ_MAX_RANKS;
}

/* Ranks between neighbours on axis i. */
static int64_t stride_of(const cz_factoring *factoring, int i)
{
    int64_t stride = 1;
    for (int k = i + 1; k < factoring->n; k++)
        stride *= factoring->sizes[k];
    return stride;
}

/* ---- pieces ---- */

/* The largest stride of an experts' axis strictly between `low` and `high`
 * ranks; 0 if there is none. */
static int64_t next_cut(const cz_factoring *experts, int64_t low, int64_t high,
                        const char **axis)
{
    for (int i = 0; i < experts->n; i++) {
        const int64_t stride = stride_of(experts, i);
        if (stride > low && stride < high) {
            *axis = experts->axes[i];
            return stride;
        }
    }
    return 0;
}

static void add_piece(cz_mesh *mesh, const char *name, int64_t size)
{
    mesh->axes[mesh->n] = name;
    mesh->sizes[mesh->n] = size;
    mesh->n++;
}

/* Cut a dense axis at every boundary of the experts inside it. */
static bool add_pieces(cz_arena *arena, const cz_factoring *dense, int axis,
                       const cz_factoring *experts, cz_mesh *mesh,
                       const char **uneven)
{
    const char *name = dense->axes[axis], *by;
    const int64_t low = stride_of(dense, axis);
    int64_t high = low * dense->sizes[axis], cut;
    const int first = mesh->n;
    while ((cut = next_cut(experts, low, high, &by)) > 0) {
        if (high % cut != 0 || cut % low != 0) {
            *uneven = by;
            return false;
        }
        add_piece(mesh, cz_arena_printf(arena, "%s.%d", name, mesh->n - first),
                  high / cut);
        high = cut;
    }
    add_piece(mesh,
              mesh->n == first
                  ? name
                  : cz_arena_printf(arena, "%s.%d", name, mesh->n - first),
              high / low);
    return true;
}

/* ---- names ---- */

static void add_names(const cz_factoring *factoring, cz_mesh *mesh)
{
    for (int i = 0; i < factoring->n; i++) {
        const int64_t low = stride_of(factoring, i);
        if (strcmp(factoring->axes[i], "pp") == 0 && mesh->n_names > 0)
            continue; /* the same in both */
        mesh->names[mesh->n_names] = factoring->axes[i];
        /* The pieces between two strides.  A piece of size 1 belongs to the
         * dense axis of its name alone. */
        const int64_t high = low * factoring->sizes[i];
        int64_t set = 0, stride = 1;
        for (int a = mesh->n - 1; a >= 0; a--) {
            if (mesh->sizes[a] > 1 && stride >= low && stride < high)
                set |= (int64_t)1 << a;
            stride *= mesh->sizes[a];
        }
        mesh->sets[mesh->n_names] = set;
        for (int a = 0; a < mesh->n; a++)
            if (strcmp(mesh->axes[a], factoring->axes[i]) == 0)
                mesh->sets[mesh->n_names] = (int64_t)1 << a;
        mesh->n_names++;
    }
}

bool cz_factoring_join(cz_arena *arena, const cz_factoring *dense,
                       const cz_factoring *experts, cz_mesh *out,
                       const char **uneven)
{
    *out = (cz_mesh){.has_experts = experts->n > 0};
    for (int i = 0; i < dense->n; i++)
        if (!add_pieces(arena, dense, i, experts, out, uneven))
            return false;
    add_names(dense, out);
    add_names(experts, out);
    return true;
}
