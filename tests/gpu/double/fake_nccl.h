/* A test double of NCCL beside that of the driver: the functions of
 * runtime/cuda/world/nccl_calls.def, as its documentation says, where tests
 * care, and as unkindly as that allows.  All ranks are threads of one process,
 * which take turns (fake.h).  Nothing is buffered: what is put on a stream
 * waits there until its partners have come.  Calls may return before they are
 * over, sums are added in another order each time, and what NCCL leaves
 * undefined is a fault.  Graphs do not hold it.  It says nothing about NCCL. */
#ifndef TESTS_FAKE_NCCL_H
#define TESTS_FAKE_NCCL_H

#include <stdint.h>

/* What ncclGetVersion tells (22809). */
void fake_nccl_set_version(int version);
/* The state of all communicators of a device from now on, as when a connection
 * breaks. */
void fake_nccl_break(int device, int code);
/* Calls wait until a stream has fewer launches than `room` from now on; 0: they
 * return at once.  Else either is drawn. */
void fake_nccl_set_room(int room);
/* And the next takes so long. */
void fake_nccl_slow(int ms);
/* What NCCL says first of two ranks of a host on one GPU. */
#define FAKE_DUPLICATE_GPU "Duplicate GPU detected"
/* What was done wrong first; NULL: nothing was. */
const char *fake_nccl_fault(void);
/* Communicators that were neither destroyed nor aborted; aborted ones. */
int64_t fake_nccl_comms(void);
int64_t fake_nccl_aborted(void);
/* Those of them that wait for another communicator's kernels: three in four
 * do, drawn. */
int64_t fake_nccl_crowded(void);
/* Calls, since the last reset. */
int64_t fake_nccl_reduces(void);
int64_t fake_nccl_broadcasts(void);

#endif
