/* `canzona import`: from what trainers publish about a model to a program.
 * Each kind of input has a file of its own, KIND.c; this one tells
 * them apart.  (frontend/names/sources.h is about the statement `import`.) */
#ifndef CZ_FRONTEND_IMPORT_IMPORT_H
#define CZ_FRONTEND_IMPORT_IMPORT_H

#include "frontend/import/members.h"
#include "frontend/import/mesh.h"

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
