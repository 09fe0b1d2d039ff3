/* Paths of a rule that is checked for all shapes at once. */
#include "frontend/rule/path.h"

#include <math.h>
#include <string.h>

#include "frontend/rule/internal.h"

/* Two polynomials are the same when they agree at more points along each
 * symbol than their degree: these are enough for any that people write.  Small
 * ones come first, because they make the examples of messages. */
static const double first_sizes[] = {2,  3,   5,    7,    1,    4,
                                     16, 100, 1000, 4096, 65536};

enum { N_FIRST = sizeof first_sizes / sizeof *first_sizes };

#define MAX_SIZE 1e9

void cz_rule_path_init(cz_rule_path *path, cz_arena *arena, int64_t *left)
{
    *path = (cz_rule_path){
        .arena = arena, .left = left, .n_paths = 1, .n_sizes = N_FIRST};
    memcpy(path->sizes, first_sizes, sizeof first_sizes);
}

const cz_scalar *cz_rule_path_symbol(cz_rule_path *path, cz_scalars *pool,
                                     const char *name, bool is_bool,
                                     double example)
{
    const int i = path->n_symbols;
    if (i == CZ_PATH_SYMBOLS)
        return NULL;
    path->n_symbols++;
    path->names[i] = name;
    path->is_bool[i] = is_bool;
    if (path->n_paths == 1)
        path->now.example[i] = example;
    return cz_scalar_symbol(pool, i, is_bool, path->now.example[i]);
}

/* ---- what to try ---- */

/* Bit i: symbol i is in it. */
static unsigned symbols_of(const cz_scalar *scalar)
{
    unsigned found = 0;
    if (scalar->form == CZ_SCALAR_SYMBOL)
        return 1U << scalar->input;
    for (int i = 0; i < scalar->n_operands; i++)
        found |= symbols_of(scalar->operands[i]);
    return found;
}

static void add_size(cz_rule_path *path, double size)
{
    if (!(size >= 1 && size <= MAX_SIZE) || path->n_sizes == CZ_PATH_SIZES)
        return;
    for (int i = 0; i < path->n_sizes; i++)
        if (path->sizes[i] == size)
            return;
    path->sizes[path->n_sizes++] = size;
}

/* What a dimension is compared with, and its neighbours. */
static void add_sizes(cz_rule_path *path, const cz_scalar *scalar)
{
    if (scalar->form == CZ_SCALAR_CONSTANT)
        for (int by = -1; by <= 1; by++)
            add_size(path, floor(scalar->constant) + by);
    for (int i = 0; i < scalar->n_operands; i++)
        add_sizes(path, scalar->operands[i]);
}

/* ---- looking for examples ---- */

/* The first `n` decisions as they are, and then `last` as wanted. */
typedef struct request {
    int n;
    const cz_scalar *last;
    bool holds;
} request;

static bool is_granted(const cz_rule_path *path, const request *wish,
                       const double *at)
{
    for (int i = 0; i < wish->n; i++) {
        const cz_rule_decision *decision = &path->decisions[i];
        if ((cz_scalar_at(decision->truth, at) != 0) != decision->holds)
            return false;
    }
    return (cz_scalar_at(wish->last, at) != 0) == wish->holds;
}

/* The next values of the symbols in `which`, like an odometer; false after the
 * last. */
static bool advance(const cz_rule_path *path, unsigned which, int *place,
                    double *at)
{
    for (int i = 0; i < path->n_symbols; i++) {
        if (!(which >> i & 1))
            continue;
        const int n = path->is_bool[i] ? 2 : path->n_sizes;
        place[i] = (place[i] + 1) % n;
        at[i] = path->is_bool[i] ? place[i] : path->sizes[place[i]];
        if (place[i] != 0)
            return true;
    }
    return false;
}

static bool find(const cz_rule_path *path, const request *wish, double *at)
{
    unsigned which = symbols_of(wish->last);
    for (int i = 0; i < wish->n; i++)
        which |= symbols_of(path->decisions[i].truth);
    int place[CZ_PATH_SYMBOLS] = {0};
    memcpy(at, path->now.example, sizeof path->now.example);
    for (int i = 0; i < path->n_symbols; i++)
        if (which >> i & 1)
            at[i] = path->is_bool[i] ? 0 : path->sizes[0];
    do {
        *path->left -= 1 + wish->n;
        if (is_granted(path, wish, at))
            return true;
    } while (*path->left >= 0 && advance(path, which, place, at));
    return false;
}

bool cz_rule_path_can(const cz_rule_path *path, const cz_scalar *truth,
                      double at[CZ_PATH_SYMBOLS])
{
    const request wish = {path->n_decisions, truth, true};
    return truth->n_nodes < CZ_SCALAR_LARGE && find(path, &wish, at);
}

/* ---- from path to path ---- */

bool cz_rule_path_decide(cz_rule_path *path, const cz_scalar *truth)
{
    const bool holds = truth->constant != 0;
    for (int i = 0; i < path->n_decisions; i++)
        if (path->decisions[i].truth == truth)
            return holds;
    if (truth->n_nodes == CZ_SCALAR_LARGE ||
        path->n_decisions == CZ_PATH_DECISIONS)
        return holds; /* its other side is not followed */
    path->decisions[path->n_decisions++] = (cz_rule_decision){truth, holds};
    add_sizes(path, truth);
    return holds;
}

void cz_rule_path_fork(cz_rule_path *path)
{
    for (int i = path->n_decisions - 1; i >= path->now.n_followed; i--) {
        const cz_rule_decision *decision = &path->decisions[i];
        const request wish = {i, decision->truth, !decision->holds};
        cz_rule_fork fork = {.n_followed = i + 1};
        if (find(path, &wish, fork.example))
            *CZ_PUSH(path->arena, path->forks, path->n_forks) = fork;
    }
}

bool cz_rule_path_next(cz_rule_path *path)
{
    if (path->n_forks == 0 || path->n_paths == CZ_PATH_MOST || *path->left < 0)
        return false;
    path->now = path->forks[--path->n_forks];
    path->n_decisions = path->n_symbols = 0;
    path->n_paths++;
    return true;
}

/* ---- messages ---- */

static const char *text_of(const cz_rule_path *path, cz_arena *arena,
                           unsigned which, const double *at)
{
    const char *text = "";
    for (int i = 0; i < path->n_symbols; i++) {
        if (!(which >> i & 1))
            continue;
        text = cz_arena_printf(arena, "%s%s%s = ", text, *text ? ", " : "",
                               path->names[i]);
        text = path->is_bool[i] ? cz_arena_printf(arena, "%s%s", text,
                                                  at[i] != 0 ? "true" : "false")
                                : cz_arena_printf(arena, "%s%.0f", text, at[i]);
    }
    return text;
}

const char *cz_rule_path_text(const cz_rule_path *path, cz_arena *arena)
{
    unsigned which = 0;
    for (int i = 0; i < path->n_decisions; i++)
        which |= symbols_of(path->decisions[i].truth);
    return text_of(path, arena, which, path->now.example);
}

const char *cz_rule_path_text_at(const cz_rule_path *path, cz_arena *arena,
                                 const cz_scalar *scalar, const double *at)
{
    return text_of(path, arena, symbols_of(scalar), at);
}

/* ---- questions of a rule ---- */

bool cz_rule_decide(cz_rule *rule, const cz_scalar *truth)
{
    return cz_scalar_is_constant(truth)
               ? truth->constant != 0
               : cz_rule_path_decide(rule->path, truth);
}

bool cz_rule_same_extent(cz_rule *rule, const cz_scalar *a, const cz_scalar *b)
{
    double at[CZ_PATH_SYMBOLS];
    if (a == b)
        return true;
    const cz_scalar *differ = cz_scalar_compare(&rule->scalars, "une", a, b);
    return cz_scalar_is_constant(differ)
               ? differ->constant == 0
               : !cz_rule_path_can(rule->path, differ, at);
}
