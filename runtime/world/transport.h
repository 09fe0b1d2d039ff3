/* A world of processes inside: every unit becomes messages to and from other
 * ranks, and what is added up is added up here. */
#ifndef CZR_WORLD_TRANSPORT_H
#define CZR_WORLD_TRANSPORT_H

#include "runtime/world/sum.h"

#include <pthread.h>

/* What a unit receives of each other member at once, at most, in bytes; more
 * takes several exchanges. */
enum { CZR_TRANSPORT_SLOT_BYTES = 1 << 20 };

typedef struct czr_transport_member {
    czr_comm comm;
    struct czr_transport_member *next;
    czr_channel channel;
    int *ranks;
    czr_message *messages; /* of the next exchange */
    int n_messages, most_messages;
    czr_range *ranges;               /* [size] of a unit's elements or rows */
    czr_collective *units;           /* [size] what sums read */
    const czr_collective **of_units; /* [size] these */
    int64_t (*agreed)[2];            /* [size] what members say of a unit */
    /* [2 * size] bytes of packed boxes, and where they begin: first those to
     * send, then those to receive. */
    size_t *box_bytes, *box_at;
    unsigned char *buffer; /* slots, or packed boxes */
    size_t buffer_bytes;
} czr_transport_member;

typedef struct czr_transport_world {
    czr_world base;
    czr_transport transport;
    czr_transport_member *members;
    czr_message *calls;   /* [size] of a roll call */
    unsigned char *waits; /* [size * size] row r: of each rank, whether rank r
                           * waits for it; of this rank, bits of its channels */
    pthread_mutex_t lock; /* guards what is below: two threads communicate */
    czr_status failure;   /* the first */
    bool is_reported;     /* others of it, or another has told this one */
    char why[CZR_WHY_BYTES];
} czr_transport_world;

/* A unit under way.  The first failure stays: what comes behind it does
 * nothing. */
typedef struct czr_transport_work {
    czr_transport_world *world;
    czr_transport_member *member;
    const czr_collective *unit;
    int self, size;
    czr_status status;
    char *why;
} czr_transport_work;

/* Adds a message to the next exchange: to and from the member at a position;
 * none to oneself. */
void czr_transport_put(czr_transport_work *work, int position, const void *send,
                       size_t send_bytes, void *receive, size_t receive_bytes);
/* All that was put. */
void czr_transport_exchange(czr_transport_work *work);
/* So many bytes of the member's buffer, and room for messages. */
czr_status czr_transport_reserve(czr_transport_member *member, size_t bytes,
                                 int n_messages);

/* transport_blame.c: a rank did not come in time, says this one or another; all
 * find out who holds up the others.  Completes why[CZR_WHY_BYTES]. */
void czr_transport_explain(czr_transport_world *world, bool has_waited,
                           char *why);

/* transport_unit.c: the work of a unit, and what an operation's will take. */
void czr_transport_run(czr_transport_work *work);
czr_status czr_transport_prepare(czr_transport_member *member,
                                 const czr_program *program, int op);

/* transport_boxes.c: of a transfer.  No boxes take more than all of them. */
void czr_transport_transfer(czr_transport_work *work);
czr_status czr_transport_reserve_boxes(czr_transport_member *member,
                                       const czr_box *boxes, int64_t n);

#endif
