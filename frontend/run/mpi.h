/* Ranks of a run as processes of MPI: this process is one of them, or starts
 * them. */
#ifndef CZ_FRONTEND_RUN_MPI_H
#define CZ_FRONTEND_RUN_MPI_H

#include "dsl/base/diag.h"
#include "runtime/cuda/world/process.h"
#include "runtime/czr_transport.h"

#include <stdbool.h>

/* Who this process is; `launcher` is NULL where nobody has started it as one of
 * several.  False, and reported: its environment contradicts itself, or it is
 * torchrun's, which starts no processes of MPI. */
bool cz_mpi_find(czr_process_position *out, cz_diags *diags);
/* Ends this process, and starts so many that do what it was told: by mpirun,
 * which as root, or with fewer processors, needs leave that the user gave by
 * starting this.  Returns where it cannot, and reports why. */
void cz_mpi_launch(int ranks, cz_diags *diags);
/* This process, which `position` is to its launcher, as a rank of all that were
 * started; false, and reported: MPI is not in this build, not the launcher's,
 * or not of so many ranks.  *out, if not NULL then, is to be
 * closed behind what is reported: a process that ends ends the others. */
bool cz_mpi_open(const czr_process_position *position, int ranks,
                 cz_diags *diags, czr_world **out);
/* In words: which MPI there is, or why none. */
void cz_mpi_describe(char *out, size_t n);

#endif
