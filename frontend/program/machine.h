/* The machine that times are predicted for: what its block says. */
#ifndef CZ_FRONTEND_PROGRAM_MACHINE_H
#define CZ_FRONTEND_PROGRAM_MACHINE_H

#include "dsl/vocab/facts.h"
#include "frontend/names/eval.h"
#include "frontend/names/sources.h"
#include "frontend/names/options.h"

typedef struct cz_machine_given {
    cz_fact_machine fact; /* arrays live in the arena */
    cz_fact_timing *timings;
    int n_timings;
    cz_fact_uneven_reduce *uneven_reduces;
    int n_uneven_reduces;
} cz_machine_given;

/* `-D machine=NAME` and, once it is known which, `-D machine.KEY=VALUE`. */
void cz_machine_allow(cz_options *options);

/* The machine of -D, else of the main file's `machine NAME`, else h100.
 * Constants that a block does not say are those of the machine it is `from`;
 * -D comes before both.  False after reporting. */
bool cz_machine_read(cz_scope *scope, const cz_node *file,
                     const cz_options *options, cz_env *globals,
                     cz_diags *diags, cz_machine_given *out);

/* A machine by itself: that of the library with this name, or the one of a
 * file, whose name ends in .cz; NULL: the one that `out` has already.  Then
 * `-D machine.KEY=VALUE`.  False after reporting. */
bool cz_machine_load(cz_arena *arena, const char *name,
                     const char *const *defines, int n_defines, cz_diags *diags,
                     cz_machine_given *out);

#endif
