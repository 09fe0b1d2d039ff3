/* Ranks of a run as processes of MPI: this process is one of them, or starts
 * them. */
#ifndef CZ_FRONTEND_RUN_MPI_H
#define CZ_FRONTEND_RUN_MPI_H

#include "dsl/base/diag.h"
#include "runtime/czr_transport.h"

#include <stdbool.h>

/* Whether a launcher of MPI has started this process. */
bool cz_mpi_is_rank(void);
/* Which of a machine's processes this is: what the launcher says, else its rank
 * in `world`. */
int cz_mpi_local_rank(const czr_world *world);
/* Ends this process, and starts so many that do what it was told: by mpirun,
 * which as root, or with fewer processors, needs leave that the user gave by
 * starting this.  Returns where it cannot, and reports why. */
void cz_mpi_launch(int ranks, cz_diags *diags);
/* This process as a rank of all that were started; false, and reported: MPI is
 * not in this build, or not of so many ranks. */
bool cz_mpi_open(int ranks, cz_diags *diags, czr_world **out);

#endif
