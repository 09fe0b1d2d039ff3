/* What a world is inside: a table of functions that start and await units of
 * communication.  A unit is one operation of a plan, or one call of a
 * trainer, on one communicator.  There is no buffering: a unit completes only
 * when its partners have come. */
#ifndef CZR_WORLD_WORLD_H
#define CZR_WORLD_WORLD_H

#include "runtime/base/band.h"
#include "runtime/base/box.h"
#include "runtime/czr_transport.h"
#include "runtime/world/recorder.h"

#include <stdbool.h>

enum { CZR_DEFAULT_DEADLINE_MS = 600000 };

/* Who speaks: units of one channel match only each other, so that a trainer
 * may reduce its loss while a plan communicates. */
typedef enum czr_channel { CZR_CHANNEL_TRAINER, CZR_CHANNEL_PLAN } czr_channel;

/* One rank's member in a communicator; owned by the world. */
typedef struct czr_comm {
    czr_world *world;
    int size, position;
    const int *ranks;   /* of each position */
    void *communicator; /* the implementation's, shared by the members */
} czr_comm;

typedef enum czr_collective_kind {
    CZR_COLLECTIVE_BARRIER,
    CZR_COLLECTIVE_REDUCE_SCATTER,
    CZR_COLLECTIVE_ALL_GATHER,
    CZR_COLLECTIVE_ALL_REDUCE,
    CZR_COLLECTIVE_SUM_SCATTER,
    CZR_COLLECTIVE_BAND_GATHER,
    CZR_COLLECTIVE_TRANSFER
} czr_collective_kind;

typedef enum czr_sum {
    CZR_SUM_F64,
    CZR_SUM_F32,
    CZR_SUM_BF16,
    CZR_SUM_BF16_EACH, /* every sum of two is rounded */
    CZR_SUM_I64,
    CZR_N_SUMS
} czr_sum;

/* The ordered sum of elements [first, first + n) of all members' gradients,
 * in f32: members by position, their leaves in order, then times `scale`.  Bits
 * of magnitudes are ordered as the numbers are, and those of NaN are above. */
typedef struct czr_reduce_scatter {
    const void *grad; /* of leaf 0, whole bucket */
    czr_dtype dtype;
    int n_grads;
    int64_t grad_stride; /* elements */
    int64_t first, n;
    float *out; /* [n]; NULL: a gradient that is its own sum stays in place */
    float scale;
    int32_t *largest; /* raised to the bits of the largest magnitude in out */
} czr_reduce_scatter;

/* Each member's `send` goes to byte `at` of everybody's `receive`. */
typedef struct czr_all_gather {
    const void *send;
    size_t bytes, at;
    unsigned char *receive;
} czr_all_gather;

/* In place; neighbours are added first, as a tree (runtime/world/sum.h).  All
 * members get all sums; of a sum_scatter the k-th gets the k-th of equal parts,
 * or its rows of the band, and keeps the rest of what it has. */
typedef struct czr_all_reduce {
    void *data;
    size_t count;
    czr_sum type;
    czr_band band; /* of a sum_scatter, or none */
} czr_all_reduce;

/* Each member's rows of a band to all, where they lie. */
typedef struct czr_band_gather {
    unsigned char *data;
    size_t element_bytes;
    czr_band band;
} czr_band_gather;

/* Rows to and from others; those to oneself are not looked at. */
typedef struct czr_transfer {
    const czr_box *rows;
    int64_t n_rows;
    unsigned char *base; /* offsets of rows count from here */
} czr_transfer;

/* Of the host's memory, and done when it is waited for; or, where it has a
 * stream, of a device's: all pointers but those to rows of transfers are the
 * device's, and waiting ends when the work is on that stream. */
typedef struct czr_collective {
    czr_collective_kind kind;
    int op;                     /* its number in the plan; -1: a trainer's */
    const czr_program *program; /* the plan; NULL without */
    void *stream;
    union {
        czr_reduce_scatter reduce_scatter;
        czr_all_gather all_gather;
        czr_all_reduce all_reduce;
        czr_band_gather band_gather;
        czr_transfer transfer;
    } of;
} czr_collective;

typedef struct czr_world_ops {
    const char *name;
    /* This rank's member among `ranks` (ascending, this rank among them). */
    czr_status (*join)(czr_world *world, czr_channel channel, const int *ranks,
                       int n, czr_comm **out);
    /* The members comms[n_ops] of a program's operations, NULL where none, are
     * joined: takes the memory that their units need.  NULL: they need none. */
    czr_status (*prepare)(czr_world *world, const czr_program *program,
                          czr_comm *const *comms);
    /* Starts a unit and returns at once: of one with a stream, before or behind
     * putting anything there.  The unit, and all it points at, is
     * the world's until `wait` has returned; one unit at a time per member. */
    void (*post)(czr_comm *comm, const czr_collective *collective);
    /* Blocks until the posted unit is complete.  On failure no partner
     * touches it any more, and why[CZR_WHY_BYTES] has a sentence. */
    czr_status (*wait)(czr_comm *comm, const czr_collective *collective,
                       char *why);
    /* From now on all waits of all ranks fail with CZR_ERR_ABORTED. */
    void (*abort)(czr_world *world, const char *why);
    bool writes_trace; /* abort does, of all ranks; else each engine its own */
    void (*close)(czr_world *world); /* NULL: who opened it closes it */
} czr_world_ops;

/* Names of axes, for trainers; one communicator each. */
typedef struct czr_mesh_axis {
    char *name;
    int size, coordinate;
    czr_comm *comm;
} czr_mesh_axis;

struct czr_world {
    const czr_world_ops *ops;
    void *common; /* the implementation's, one for all ranks */
    int rank, size;
    int n_engines; /* that were opened so far, on all ranks alike */
    int64_t deadline_ms;
    czr_comm *everyone[CZR_CHANNEL_PLAN + 1];
    int n_axes;
    czr_mesh_axis *axes;
    bool rank_order_reduction; /* runtime/base/testing.h */
    czr_recorder recorder;
    char error[CZR_WHY_BYTES]; /* of the trainer's last call that failed */
};

/* Tells the world of a program's mesh; replaces an earlier one. */
czr_status czr_world_set_mesh(czr_world *world, const czr_program *program);
void czr_world_clear_mesh(czr_world *world);
/* The communicator of a set of a program's axes; with `group` > 0 this rank's
 * among those of so many positions each, `stride` apart, in order. */
czr_status czr_world_join_axes(czr_world *world, czr_channel channel,
                               const czr_program *program, uint32_t axes,
                               int block_size, int stride, czr_comm **out);
/* Channels of all ranks; once for each rank. */
czr_status czr_world_join_everyone(czr_world *world);
const char *czr_collective_name(czr_collective_kind kind);
/* post and wait; a single member needs no partners but does its own work.  One
 * of no plan is recorded. */
czr_status czr_comm_run(czr_comm *comm, const czr_collective *collective,
                        char *why);
size_t czr_sum_bytes(czr_sum type);
/* What all members must agree on, beyond kind and operation. */
size_t czr_collective_signature(const czr_collective *collective);
/* Whether two members of a communicator are in the same collective. */
bool czr_collective_agrees(const czr_collective *a, const czr_collective *b);

#endif
