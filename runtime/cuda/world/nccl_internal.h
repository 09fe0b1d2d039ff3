/* The world of NCCL inside: members, what units need of memory, and the
 * watchdog. */
#ifndef CZR_CUDA_WORLD_NCCL_INTERNAL_H
#define CZR_CUDA_WORLD_NCCL_INTERNAL_H

#include "runtime/cuda/world/nccl_world.h"
#include "runtime/program/program.h"

#include <pthread.h>

/* What the device writes into pinned memory as it goes: the mark of the last
 * operation that began (even) or ended (odd), and the last heartbeat seen then.
 */
enum { CZR_NCCL_MARK, CZR_NCCL_HEARTBEAT, CZR_NCCL_N_MARKS };

/* A plan's operation as a mark: -1 is no operation's; 0: nothing began yet. */
static inline int64_t czr_nccl_mark_of(int op, bool has_ended)
{
    return 2 * ((int64_t)op + 2) + has_ended;
}

/* Pieces to and from each other member. */
typedef struct czr_nccl_buffers {
    const unsigned char **from;
    unsigned char **to;
    size_t *from_bytes, *to_bytes;
} czr_nccl_buffers;

/* What one other member is sent, or sends, of a transfer, but for large boxes.
 */
typedef struct czr_nccl_message {
    size_t bytes, at;    /* at: behind the start of packed boxes */
    size_t done;         /* bytes of the boxes that were looked at */
    const czr_box *only; /* travels from its place, or to it */
} czr_nccl_message;

/* Behind the last unit of a member, or of a world. */
typedef struct czr_nccl_last_unit {
    void *event, *stream; /* stream: NULL, nobody has to wait */
} czr_nccl_last_unit;

typedef struct czr_nccl_member {
    czr_comm comm;
    struct czr_nccl_member *next;
    czr_channel channel;
    int *ranks;
    czr_nccl_comm nccl;    /* closed where the rank is alone */
    czr_nccl_comm aborted; /* what it was, the watchdog's */
    pthread_t thread;
    bool has_thread;
    /* For each member what it sends, then for each what is sent to it, then
     * packed boxes. */
    czr_address staging;
    size_t slot_bytes, box_bytes;
    czr_address table; /* [size] the slots, device */
    czr_nccl_buffers buffers;
    czr_nccl_message *messages; /* [size] sent, [size] received */
    czr_range *ranges;          /* [size] of the unit under way */
    czr_nccl_last_unit last;
    int64_t *marks;                           /* pinned, CZR_NCCL_N_MARKS */
    int64_t seen[CZR_NCCL_N_MARKS], since_ms; /* the watchdog's */
    czr_status status;                        /* of the last unit */
} czr_nccl_member;

typedef struct czr_world_nccl {
    czr_world base;
    czr_context *context;
    czr_world_nccl_options options;
    czr_nccl_comm parent;
    czr_nccl_member *members;
    void *stream; /* of host units */
    czr_nccl_last_unit
        last;          /* of all members, where NCCL does not order them */
    void *step_stream; /* where the last part of a step begins and ends */
    void *step_event;  /* of host units, which come behind it */
    const czr_program *program;
    czr_range **ranges; /* [n_ops] of all members, NULL where none */
    czr_address marks;  /* int64 [n_marks], device: each its own number */
    int n_marks;
    czr_address heartbeat;  /* int64, device */
    int64_t *heartbeat_now; /* pinned: steps and host units so far */

    pthread_t watchdog;
    bool has_thread;
    pthread_mutex_t call; /* held over a group of NCCL's calls, taken before the
                           * lock */
    pthread_mutex_t lock; /* guards communicators, and all below */
    pthread_cond_t wake;  /* of the watchdog */
    bool has_lock;
    bool has_watchdog;  /* the thread has not come to its end */
    bool is_over;       /* it shall */
    czr_status failure; /* of the first thing that failed; then nobody uses
                         * communicators */
    char why[CZR_WHY_BYTES];
} czr_world_nccl;

/* Lock held.  The first failure stays; all communicators are about to be
 * aborted. */
czr_status czr_nccl_fail(czr_world_nccl *world, czr_status status,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The failure, or OK. */
czr_status czr_nccl_failure(czr_world_nccl *world);

/* nccl_member.c */
czr_status czr_nccl_join(czr_world *world, czr_channel channel,
                         const int *ranks, int n, czr_comm **out);
/* Memory for slots and boxes of so many bytes. */
czr_status czr_nccl_member_grow(czr_world_nccl *world, czr_nccl_member *member,
                                size_t slot_bytes, size_t box_bytes);
/* Device memory for marks of operations -1 to n_ops - 1. */
czr_status czr_nccl_make_marks(czr_world_nccl *world, int n_ops);
void czr_nccl_member_close(czr_world_nccl *world, czr_nccl_member *member);

/* What the watchdog takes as going on. */
czr_status czr_nccl_heartbeat(czr_world_nccl *world, void *stream);

/* nccl_boxes.c */
/* The member's messages of a transfer; returns what is packed, large boxes
 * first, in bytes.  No more for some of the rows than for all. */
size_t czr_nccl_lay_out(czr_nccl_member *member, const czr_box *rows,
                        int64_t n);

/* nccl_unit.c */
void czr_nccl_post(czr_comm *comm, const czr_collective *collective);
czr_status czr_nccl_wait(czr_comm *comm, const czr_collective *collective,
                         char *why);

/* nccl_watchdog.c */
/* Lock held: what NCCL says of each communicator, while nothing has failed. */
void czr_nccl_check(czr_world_nccl *world);
czr_status czr_nccl_watchdog_open(czr_world_nccl *world);
/* Returns when the thread is over; false: after the deadline, or 10 s where
 * that is shorter. */
bool czr_nccl_watchdog_close(czr_world_nccl *world);

#endif
