/* Other deals of matrices to rows, by the plans that rows have found. */
#include "passes/solve/subgroup/kinds.h"

#include <string.h>

enum {
    AIM_PARTS = 64,   /* a part below */
    ALIKE = 32,       /* of times as near as this kernels decide */
    QUICK = 16,       /* part of the effort, for a new kind of row */
    MAX_KINDS = 256,  /* of more, none is looked at that is new; of fewer where
                       * rows have many matrices: */
    MAX_PAIRS = 6400, /* of matrices of a row, in all kinds together */
    WIDEST = 2        /* part of a row's bytes that the first threshold is */
};

typedef struct redeal {
    cz_subgroup_kinds *k;
    cz_subgroup_aim aim;
    int64_t row_state_bytes; /* at most */
    int max_kinds;
    int64_t *bytes; /* [kind] of its lightest plan that keeps the aim;
                     * none: as if it were heavier than any */
    int n_bytes;    /* kinds that have theirs */
    int *counts[2]; /* [class] of two rows */
    int *best;      /* [row] its kind in the best deal */
    uint64_t random;
} redeal;

static int draw(redeal *r, int n)
{
    r->random = r->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((r->random >> 33) % (uint64_t)n);
}

static int64_t row_state(const cz_subgroup_kinds *k, const int *counts)
{
    int64_t bytes = 0;
    for (int c = 0; c < k->problem->n_classes; c++)
        bytes += counts[c] * k->problem->classes[c].state_bytes;
    return bytes;
}

static int64_t fullest_row(const cz_subgroup_kinds *k)
{
    int64_t most = 0;
    for (int kind = 0; kind < k->n; kind++)
        most = cz_solve_max(most, row_state(k, k->kinds[kind].counts));
    return most;
}

/* Plans of a row take longer quadratically in its matrices. */
static int most_kinds(const cz_subgroup_problem *problem)
{
    int64_t n = 0;
    for (int c = 0; c < problem->n_classes; c++)
        n += problem->classes[c].count;
    const int64_t each = n / problem->n_rows + 1;
    return (int)cz_solve_min(MAX_KINDS, MAX_PAIRS / each / each);
}

/* ---- bytes ---- */

/* So much that no deal with such a row keeps the cap. */
static int64_t weigh(const redeal *r, int kind)
{
    const cz_subgroup_row *row = cz_subgroup_kinds_row(r->k, kind, &r->aim);
    return row ? row->cost.wire_bytes : r->k->problem->wire_cap_bytes + 1;
}

/* New kinds try plans for the aim. */
static int64_t bytes_of(redeal *r, int kind)
{
    for (; r->n_bytes < r->k->n; r->n_bytes++) {
        cz_subgroup_search_on(r->k->kinds[r->n_bytes].search, r->aim.time_ps,
                              cz_subgroup_effort(r->k->problem));
        r->bytes[r->n_bytes] = weigh(r, r->n_bytes);
    }
    return r->bytes[kind];
}

static void aim_at(redeal *r, cz_subgroup_aim aim)
{
    r->aim = aim;
    for (int kind = 0; kind < r->n_bytes; kind++)
        r->bytes[kind] = weigh(r, kind);
}

static cz_wide bytes_of_all(redeal *r)
{
    cz_wide bytes = 0;
    for (int row = 0; row < r->k->problem->n_rows; row++)
        bytes += bytes_of(r, r->k->of_row[row]);
    return bytes;
}

/* ---- two rows ---- */

/* Deals out what two rows have of some classes: the second gets what the first
 * has not. */
static void split(redeal *r, int a, int b)
{
    const cz_subgroup_kind *kinds = r->k->kinds;
    for (int c = 0; c < r->k->problem->n_classes; c++) {
        const int own = kinds[a].counts[c], all = own + kinds[b].counts[c];
        const int now = draw(r, 2) > 0 ? draw(r, all + 1) : own;
        r->counts[0][c] = now;
        r->counts[1][c] = all - now;
    }
}

/* The kind of row with these counts; -1: its states are too large, or enough
 * kinds were looked at. */
static int kind_of(redeal *r, const int *counts)
{
    return row_state(r->k, counts) > r->row_state_bytes
               ? -1
               : cz_subgroup_kinds_find(r->k, counts, r->max_kinds);
}

/* Two rows, drawn, get other matrices, unless that is so many bytes more.
 * Returns how many more it is. */
static int64_t exchange(redeal *r, int64_t most)
{
    cz_subgroup_kinds *k = r->k;
    const int a = draw(r, k->problem->n_rows), b = draw(r, k->problem->n_rows);
    const int old_a = k->of_row[a], old_b = k->of_row[b];
    if (old_a == old_b && a == b)
        return 0;
    split(r, old_a, old_b);
    const int new_a = kind_of(r, r->counts[0]);
    const int new_b = new_a < 0 ? -1 : kind_of(r, r->counts[1]);
    if (new_b < 0)
        return 0;
    const int64_t more = bytes_of(r, new_a) + bytes_of(r, new_b) -
                         bytes_of(r, old_a) - bytes_of(r, old_b);
    if (more > most)
        return 0;
    cz_subgroup_kinds_put(k, a, new_a);
    cz_subgroup_kinds_put(k, b, new_b);
    return more;
}

/* ---- aims ---- */

/* Threshold accepting, from the best deal: the threshold falls evenly to
 * nothing.  Whether the aim is reached; then the deal is the best. */
static bool reach(redeal *r, cz_subgroup_aim aim, int n_draws)
{
    const int n_rows = r->k->problem->n_rows;
    const cz_wide cap = r->k->problem->wire_cap_bytes;
    aim_at(r, aim);
    cz_wide bytes = bytes_of_all(r);
    const int64_t step = (int64_t)(cap / n_rows / WIDEST / n_draws);
    for (int i = 0; i < n_draws && bytes > cap; i++)
        bytes += exchange(r, step * (n_draws - i));
    for (int row = 0; row < n_rows && bytes > cap; row++)
        cz_subgroup_kinds_put(r->k, row, r->best[row]);
    memcpy(r->best, r->k->of_row, (size_t)n_rows * sizeof *r->best);
    return bytes <= cap;
}

static int64_t longest_kernels(const redeal *r, const cz_subgroup_aim *aim)
{
    int64_t most = 0;
    for (int row = 0; row < r->k->problem->n_rows; row++)
        most = cz_solve_max(
            most, cz_subgroup_kernels_ps(
                      r->k->problem,
                      cz_subgroup_kinds_row(r->k, r->k->of_row[row], aim)));
    return most;
}

/* A part of the aim falls as long as it is reached. */
static void lower(redeal *r, cz_subgroup_aim *aim, int64_t *part, int n_draws)
{
    int64_t reached;
    do {
        reached = *part;
        *part -= reached / AIM_PARTS;
    } while (*part < reached && reach(r, *aim, n_draws));
    *part = reached;
}

cz_subgroup_aim cz_subgroup_redeal(cz_subgroup_kinds *k, int64_t time_ps,
                                   int n_draws)
{
    cz_arena *arena = k->arena;
    cz_subgroup_problem *quick = CZ_NEW(arena, cz_subgroup_problem, 1);
    *quick = *k->problem;
    quick->effort = cz_subgroup_effort(quick) / QUICK;
    k->problem = quick;
    redeal r = {.k = k,
                .row_state_bytes = fullest_row(k),
                .max_kinds = most_kinds(k->problem),
                .bytes = CZ_NEW(arena, int64_t, k->n + MAX_KINDS + 2),
                .counts = {CZ_NEW(arena, int, k->problem->n_classes),
                           CZ_NEW(arena, int, k->problem->n_classes)},
                .best = CZ_NEW(arena, int, k->problem->n_rows),
                .random = 1};
    cz_subgroup_aim aim = {time_ps, INT64_MAX};
    memcpy(r.best, k->of_row, (size_t)k->problem->n_rows * sizeof *r.best);
    lower(&r, &aim, &aim.time_ps, n_draws);
    aim = (cz_subgroup_aim){aim.time_ps + aim.time_ps / ALIKE,
                            longest_kernels(&r, &aim)};
    lower(&r, &aim, &aim.kernels_ps, n_draws);
    return aim;
}
