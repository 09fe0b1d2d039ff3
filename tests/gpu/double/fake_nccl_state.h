/* What the parts of the double of NCCL share. */
#ifndef TESTS_FAKE_NCCL_STATE_H
#define TESTS_FAKE_NCCL_STATE_H

#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/world/nccl.h"
#include "tests/gpu/double/fake_nccl.h"
#include "tests/gpu/double/fake_state.h"

#include <stdatomic.h>

#define CZR_CALL(symbol, name, result, arguments) result symbol arguments;
#include "runtime/cuda/world/nccl_calls.def"
#undef CZR_CALL

enum { FAKE_MAX_RANKS = 16, FAKE_MAX_SPLITS = 32, FAKE_COMM_MARK = 0x6e63 };

typedef enum fake_op_kind {
    FAKE_SEND,
    FAKE_RECEIVE,
    FAKE_ALL_GATHER,
    FAKE_REDUCE_SCATTER,
    FAKE_ALL_REDUCE,
    FAKE_REDUCE,
    FAKE_BROADCAST
} fake_op_kind;

typedef struct fake_op {
    fake_op_kind kind;
    uint64_t from, to;
    size_t n;
    int type, peer; /* peer: -1, all */
    int64_t number; /* of those with this peer and direction, or to all */
    bool is_done;
    int root; /* of a reduce or broadcast */
} fake_op;

/* What is put on a stream at once. */
typedef struct fake_post {
    struct fake_post *next, *next_arrived;
    struct fake_post *next_launched; /* of its device, in order of calls */
    struct fake_comm *comm;
    fake_op *ops;
    int n, room;
    bool has_arrived; /* at the head of its stream: its kernel runs */
    bool is_large;    /* leaves no room for another's kernel */
} fake_post;

/* The ranks of one communicator. */
typedef struct fake_clique {
    struct fake_clique *next;
    uint64_t id;
    int size, n_members;
    struct fake_comm *members[FAKE_MAX_RANKS];
    fake_post *posts, *arrived; /* arrived: those of them at heads */
} fake_clique;

/* One rank's end.  What other threads look at is atomic. */
typedef struct fake_comm {
    struct fake_comm *next;
    int mark, device, rank;
    _Atomic bool is_alive;
    _Atomic int broken; /* its state when it has failed */
    fake_clique *clique;
    int polls; /* until a call is over */
    fake_post *pending;
    void *pending_stream;
    int n_splits, colors[FAKE_MAX_SPLITS], keys[FAKE_MAX_SPLITS];
    struct fake_comm **child;
    bool is_splitting;
    _Atomic bool is_called; /* and the call returns */
    _Atomic int n_graphs;   /* that captured it and are not destroyed */
    _Atomic int n_running;  /* kernels on its device */
    bool is_patient;        /* its abort waits for kernels of others */
    int64_t sent[FAKE_MAX_RANKS], received[FAKE_MAX_RANKS], n_collectives;
} fake_comm;

int fake_nccl_wrong(const char *what);

/* fake_nccl_meet.c */
fake_post *fake_post_make(fake_comm *comm);
void fake_post_add(fake_post *post, fake_op op);
/* Puts what is pending on its stream. */
int fake_post_push(fake_comm *comm);
bool fake_is_posted(const fake_comm *comm);

#endif
