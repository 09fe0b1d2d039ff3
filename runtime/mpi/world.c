/* A world over MPI: its transport, opened. */
#include "runtime/czr_mpi.h"

czr_status czr_world_mpi_open(MPI_Comm comm, czr_world **out)
{
    czr_transport transport;

    if (!out)
        return CZR_ERR_ARGUMENT;
    *out = NULL;
    czr_status status = czr_mpi_transport(comm, &transport);
    if (status != CZR_OK)
        return status;
    status = czr_world_open(&transport, out);
    if (status != CZR_OK)
        transport.close(transport.user);
    return status;
}
