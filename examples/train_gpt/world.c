/* With MPI or without. */
#include "world.h"

#include <stdio.h>

#ifdef TRAIN_GPT_MPI
#include "czr_mpi.h"

bool world_open(int ranks, czr_world **out)
{
    int provided, size = 0;

    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const czr_status status = size == ranks
                                  ? czr_world_mpi_open(MPI_COMM_WORLD, out)
                                  : CZR_ERR_WORLD_SIZE;
    if (status == CZR_OK)
        return true;
    fprintf(stderr, "train_gpt: %d processes for %d ranks: %s\n", size, ranks,
            czr_status_text(status));
    MPI_Finalize();
    return false;
}

void world_close(czr_world *world, bool has_failed)
{
    czr_world_close(world);
    if (has_failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Finalize();
}

#else

bool world_open(int ranks, czr_world **out)
{
    (void)ranks;
    (void)out;
    fputs("train_gpt: there is no MPI in this build\n", stderr);
    return false;
}

void world_close(czr_world *world, bool has_failed)
{
    (void)has_failed;
    czr_world_close(world);
}

#endif
