/* `canzona import`: from what trainers publish about a model to a program.
 * Each kind of input has a file of its own, KIND.c.  (frontend/names/sources.h
 * is about the statement `import`.) */
#ifndef CZ_FRONTEND_IMPORT_IMPORT_H
#define CZ_FRONTEND_IMPORT_IMPORT_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"

#include <stdint.h>

enum { CZ_IMPORT_MAX_AXES = 4 };

/* Major to minor, and how experts factor the same ranks. */
typedef struct cz_import_mesh {
    const char *axes[CZ_IMPORT_MAX_AXES];
    int64_t sizes[CZ_IMPORT_MAX_AXES];
    int n;
    const char *expert_axes[CZ_IMPORT_MAX_AXES];
    int64_t expert_sizes[CZ_IMPORT_MAX_AXES];
    int n_experts;
} cz_import_mesh;

/* Add an axis.  NULL, or why not: a static phrase. */
const char *cz_import_mesh_add(cz_import_mesh *mesh, const char *axis,
                               int64_t size, bool experts);
/* Read "dp=32,tp=8".  NULL, or why not: a static phrase. */
const char *cz_import_mesh_read(cz_import_mesh *mesh, const char *text);
/* The size of an axis, whichever factorisation has it, or 0. */
int64_t cz_import_mesh_size(const cz_import_mesh *mesh, const char *axis);
/* Print the statements; a mesh without axes is 8 data-parallel ranks. */
void cz_import_mesh_print(const cz_import_mesh *mesh, cz_text *out);

enum {
    CZ_IMPORT_MAX_HEADER = 100 * 1000 * 1000, /* as safetensors has it */
    CZ_IMPORT_MAX_JSON = CZ_IMPORT_MAX_HEADER + 8
};

typedef struct cz_import {
    cz_arena *arena;
    cz_diags *diags;
    const char *input;   /* "-": standard input */
    const char *output;  /* the .cz, or NULL: the current folder */
    bool adamw;          /* for everything; else Muon moves the matrices */
    cz_import_mesh mesh; /* as asked for; n = 0: not */
} cz_import;

/* Read the input and append the program to `out`.  False after reporting;
 * `out` is untouched then. */
bool cz_import_run(const cz_import *convert, cz_text *out);

#endif
