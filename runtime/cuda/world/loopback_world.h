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
typedef struct czr_lobby {
    struct czr_lobby *next;
    struct czr_lobby_hall *hall;
    czr_channel channel;
    int size;
    int *ranks;
    czr_comm *comms;         /* [size] seats */
    const czr_unit **posted; /* [size], NULL before they come */
    int n_posted;
    czr_status status; /* of the last unit */
    char why[CZR_WHY_BYTES];
    czr_lane *lanes; /* [max_lanes], of which n_lanes have come so far */
    int64_t n_lanes, next_lane, max_lanes;
    const void **sent;     /* [max_lanes * size] */
    czr_address tables;    /* as many */
    const void **pointers; /* [size] */
    int64_t *cursors;      /* [size] */
} czr_lobby;

/* What all ranks share. */
typedef struct czr_lobby_hall {
    czr_context *context;
    czr_collect *collect;
    int size;
    czr_world *worlds; /* [size] */
    void **arrivals;   /* [size] events */
    void *meeting;     /* event */
    czr_lobby *lobbies;
    czr_status status; /* of the first rank that failed */
    char why[CZR_WHY_BYTES];
    /* Told of a failure of `rank`; set by who opens. */
    void (*stop)(void *user, int rank, const char *why);
    void *user;
} czr_lobby_hall;

czr_status czr_lobby_open(czr_context *context, czr_collect *collect, int size,
                          czr_lobby_hall **out);
/* Behind all that was put on streams.  NULL is allowed. */
void czr_lobby_close(czr_lobby_hall *hall);
/* So many more units of this seat's communicator will have tables of pointers,
 * always the same ones; then, once, memory for those of all. */
void czr_lobby_reserve(czr_comm *comm, int64_t n_units);
czr_status czr_lobby_take_memory(czr_lobby_hall *hall);

/* loopback_unit.c: puts the unit that members have posted on their streams. */
czr_status czr_lobby_carry_out(czr_lobby *lobby);
/* loopback_world.c: the pointers of a unit's members, on the device when the
 * stream comes there. */
czr_status czr_lobby_table(czr_lobby *lobby, const void *const *pointers,
                           const void *const **table, void *stream);

#endif
