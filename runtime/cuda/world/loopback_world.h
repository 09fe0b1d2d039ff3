/* The world of ranks that are one thread: a unit is put on the members' streams
 * when the last member has posted it, between two moments at which all of these
 * streams meet. */
#ifndef CZR_CUDA_WORLD_LOOPBACK_WORLD_H
#define CZR_CUDA_WORLD_LOOPBACK_WORLD_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/world/world.h"

/* Pointers of a unit's members, on the device and as they were sent there. */
typedef struct czr_lane {
    const void **sent; /* [size] */
    const void *const *table;
} czr_lane;

/* What the members of one communicator share. */
typedef struct czr_loopback_communicator {
    struct czr_loopback_communicator *next;
    struct czr_loopback_world *common;
    czr_channel channel;
    int size;
    int *ranks;
    czr_comm *comms;               /* [size] members */
    const czr_collective **posted; /* [size], NULL before they come */
    int n_posted;
    czr_status status; /* of the last unit */
    char why[CZR_WHY_BYTES];
    czr_lane *lanes; /* [max_lanes], of which n_lanes have come so far */
    int64_t n_lanes, next_lane, max_lanes;
    const void **sent;     /* [max_lanes * size] */
    czr_address tables;    /* as many */
    const void **pointers; /* [size] */
    int64_t *cursors;      /* [size] */
} czr_loopback_communicator;

/* What all ranks share. */
typedef struct czr_loopback_world {
    czr_context *context;
    czr_collect *collect;
    int size;
    czr_world *worlds; /* [size] */
    void **arrivals;   /* [size] events */
    void *rendezvous;  /* event */
    czr_loopback_communicator *communicators;
    czr_status status; /* of the first rank that failed */
    char why[CZR_WHY_BYTES];
    /* Told of a failure of `rank`; set by who opens. */
    void (*stop)(void *user, int rank, const char *why);
    void *user;
} czr_loopback_world;

czr_status czr_loopback_world_open(czr_context *context, czr_collect *collect,
                                   int size, czr_loopback_world **out);
/* Behind all that was put on streams.  NULL is allowed. */
void czr_loopback_world_close(czr_loopback_world *common);
/* So many more units of this member's communicator will have tables of
 * pointers, always the same ones; then, once, memory for those of all. */
void czr_loopback_world_reserve(czr_comm *comm, int64_t n_collectives);
czr_status czr_loopback_world_take_memory(czr_loopback_world *common);

/* loopback_unit.c: puts the unit that members have posted on their streams. */
czr_status
czr_loopback_communicator_carry_out(czr_loopback_communicator *communicator);
/* loopback_world.c: the pointers of a unit's members, on the device when the
 * stream comes there. */
czr_status
czr_loopback_communicator_table(czr_loopback_communicator *communicator,
                                const void *const *pointers,
                                const void *const **table, void *stream);

#endif
