/* Paths of a rule that is checked for all shapes at once.  Its dimensions are
 * symbols, and so are truths among its hyperparameters.  What they decide, an
 * `if` or how a `wide` def lies, splits the rule into paths that are followed
 * one at a time.  Each has an example, values of the symbols that lead along
 * it: where none of those that are tried does, the path is not followed. */
#ifndef CZ_FRONTEND_RULE_PATH_H
#define CZ_FRONTEND_RULE_PATH_H

#include "frontend/rule/scalar.h"

enum {
    CZ_PATH_SYMBOLS = 8, /* two dimensions, and truths */
    CZ_PATH_SIZES = 40,  /* that are tried as a dimension */
    CZ_PATH_DECISIONS = 16,
    CZ_PATH_MOST = 64 /* paths of a rule; of more, the first are followed */
};

typedef struct cz_rule_decision {
    const cz_scalar *truth;
    bool holds;
} cz_rule_decision;

/* An example, whose first decisions have been followed both ways. */
typedef struct cz_rule_fork {
    double example[CZ_PATH_SYMBOLS];
    int n_followed;
} cz_rule_fork;

typedef struct cz_rule_path {
    cz_arena *arena; /* of what outlives a path */
    int64_t *left;   /* steps that checking may still take; below 0: enough */
    const char *names[CZ_PATH_SYMBOLS];
    bool is_bool[CZ_PATH_SYMBOLS];
    int n_symbols;
    cz_rule_fork now;
    cz_rule_decision decisions[CZ_PATH_DECISIONS]; /* as they are met */
    int n_decisions;
    double sizes[CZ_PATH_SIZES];
    int n_sizes;
    cz_rule_fork *forks; /* not followed yet */
    int n_forks, n_paths;
} cz_rule_path;

/* Stand at the start of the first path.  The arena and `left` must outlive
 * `path`. */
void cz_rule_path_init(cz_rule_path *path, cz_arena *arena, int64_t *left);
/* A new symbol; on the first path its value is `example`.  NULL when there are
 * CZ_PATH_SYMBOLS already. */
const cz_scalar *cz_rule_path_symbol(cz_rule_path *path, cz_scalars *pool,
                                     const char *name, bool is_bool,
                                     double example);
/* Whether the truth holds at the path's example, which the path assumes from
 * now on. */
bool cz_rule_path_decide(cz_rule_path *path, const cz_scalar *truth);
/* Whether the truth can hold on this path; then `at` is an example of it. */
bool cz_rule_path_can(const cz_rule_path *path, const cz_scalar *truth,
                      double at[CZ_PATH_SYMBOLS]);
/* At the end of a path, while its scalars are there: find those that part from
 * it. */
void cz_rule_path_fork(cz_rule_path *path);
/* Stand at the start of the next path; false when there is none. */
bool cz_rule_path_next(cz_rule_path *path);
/* The path's example as far as something depends on it, for messages:
 * "m = 2, n = 3".  Empty where nothing was decided. */
const char *cz_rule_path_text(const cz_rule_path *path, cz_arena *arena);
/* The symbols of `scalar` at `at`. */
const char *cz_rule_path_text_at(const cz_rule_path *path, cz_arena *arena,
                                 const cz_scalar *scalar, const double *at);

#endif
