/* -D options: values set from the command line, `-D mesh.dp=4`.
 * First the options are read, then everybody allows the names that can be set,
 * then the names are resolved: a bare one serves when it is unique. */
#ifndef CZ_FRONTEND_NAMES_OPTIONS_H
#define CZ_FRONTEND_NAMES_OPTIONS_H

#include "dsl/syntax/ast.h"

typedef struct cz_options {
    cz_arena *arena;
    struct cz_define *defines;
    int n_defines;
    struct cz_settable *settable;
    int n_settable;
} cz_options;

/* Read `n` options of the form NAME=VALUE or SCOPE.NAME=VALUE, where VALUE is
 * an expression of the language.  Reports what cannot be read. */
void cz_options_build(cz_arena *arena, const char *const *defines, int n,
                      cz_diags *diags, cz_options *out);
/* `scope.name` can be set. */
void cz_options_allow(cz_options *options, const char *scope, const char *name);
/* Report options that set nothing, or more than one thing. */
void cz_options_resolve(cz_options *options, cz_diags *diags);
/* The value that was set for `scope.name` (the last one counts), or NULL. */
const cz_node *cz_options_find(const cz_options *options, const char *scope,
                               const char *name);

#endif
