/* Ranks that are processes of MPI.
 *
 *     MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
 *     czr_world_mpi_open(MPI_COMM_WORLD, &world);
 *     ...                                            engines, as in czr.h
 *     czr_world_close(world);
 *     MPI_Finalize();
 *
 * - Calls of the world may come from two threads at once: one steps an engine,
 *   another reduces a loss.  Hence MPI_THREAD_MULTIPLE.
 * - Waits sleep, as soon as they last longer than messages of their size take.
 * - A rank that fails tells all others, whose waits end in CZR_ERR_ABORTED. One
 *   that hangs ends them at their deadline.  When a process ends of itself, or
 *   by a signal, most launchers of MPI end all others: that is not ours.
 * - Behind a failure MPI may still read what was to be sent.  The process ought
 *   to say what czr_error says, and end by MPI_Abort: MPI_Finalize waits for
 *   ranks that hang. */
#ifndef CZR_MPI_H
#define CZR_MPI_H

#include <mpi.h>

#include "czr_transport.h"

/* Collective over `comm`, whose ranks become the world's: duplicates it for
 * each channel, and is done with it.
 *
 * CZR_ERR_MPI_THREADS: MPI is not initialised with MPI_THREAD_MULTIPLE.
 * CZR_ERR_MPI: it is finalised, or failed.  CZR_ERR_ARGUMENT.
 * CZR_ERR_NO_MEMORY.  Then *out is NULL. */
czr_status czr_world_mpi_open(MPI_Comm comm, czr_world **out);
/* The same as a transport, for who opens the world; closing the world closes
 * it. */
czr_status czr_mpi_transport(MPI_Comm comm, czr_transport *out);
/* The transport of all processes, for who does not know MPI: initialises it,
 * unless somebody did.  Then closing finalises it; where the transport has
 * failed, it ends all processes by MPI_Abort. */
czr_status czr_mpi_start(czr_transport *out);

#endif
