#!/bin/sh
# Units of a world over MPI beside the calls of MPI that do the same, in two
# processes; writes the table beside this file.  BUILD comes from the Makefile,
# TURNS and RANKS from whoever wants other than 101 and 2.
set -eu
here=$(dirname "$0")
cmake --build "$BUILD" --target bench_mpi >&2
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
{
    sed '/^| unit/,$d' "$here/mpi.md"
    mpirun -n "${RANKS:-2}" "$BUILD/bench/bench_mpi" "${TURNS:-101}"
} >"$BUILD/bench/mpi.md"
cp "$BUILD/bench/mpi.md" "$here/mpi.md"
cat "$here/mpi.md"
