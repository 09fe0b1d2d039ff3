/* Files and names: the main file, what it imports, and the standard library.
 * Looks up definitions by kind and name; knows nothing of what they mean. */
#ifndef CZ_FRONTEND_NAMES_SOURCES_H
#define CZ_FRONTEND_NAMES_SOURCES_H

#include "dsl/syntax/ast.h"
#include "frontend/names/below.h"

typedef struct cz_scope cz_scope;

/* One source text of the compilation. */
typedef struct cz_scope_file {
    const cz_source *source;
    const cz_node *tree; /* FILE */
    bool library;        /* embedded with the compiler */
    bool used;           /* always of user files; of library files once a name
                          * was found in them */
} cz_scope_file;

/* Parse the main file and read everything that it imports.  `path` is where it
 * lies ("-": standard input); `text` is what it holds, or NULL to read it.
 * Reports what cannot be read, cycles of imports, paths that leave the main
 * file's folder for what is not allowed, and names that are defined twice.
 * Never NULL; all memory belongs to the arena, a given text is copied to it. */
cz_scope *cz_scope_build(cz_arena *arena, const char *path, const cz_text *text,
                         cz_allowed allowed, cz_diags *diags);

/* The definition of `name`: kind is CZ_AST_MODEL, CZ_AST_OPTIMIZER,
 * CZ_AST_DEF, CZ_AST_TABLE, CZ_AST_MACHINE or CZ_AST_LET (of files).  The
 * user's files come before the library.  NULL when there is none. */
const cz_node *cz_scope_find(cz_scope *scope, cz_kind kind, const char *name);
/* A defined name of that kind near to `name`, for did-you-mean, or NULL. */
const char *cz_scope_nearest(cz_scope *scope, cz_kind kind, const char *name);

/* All files read so far: the main file first, then imports in the order of
 * their statements, then the library in order of path. */
int cz_scope_n_files(const cz_scope *scope);
const cz_scope_file *cz_scope_file_at(const cz_scope *scope, int i);
/* Whether a source is embedded with the compiler. */
bool cz_scope_is_library(const cz_scope *scope, const cz_source *source);
/* A file that the main file names at `place`, into the arena; NULL after
 * reporting. */
const cz_source *cz_scope_read(cz_scope *scope, const char *name, size_t limit,
                               cz_span place);

#endif
