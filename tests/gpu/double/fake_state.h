/* What the parts of the double share. */
#ifndef TESTS_FAKE_STATE_H
#define TESTS_FAKE_STATE_H

#include "runtime/cuda/driver/driver.h"
#include "tests/gpu/double/fake.h"

#include <stdbool.h>

#define CZR_CALL(symbol, name, arguments) int symbol arguments;
#include "runtime/cuda/driver/driver_calls.def"
#undef CZR_CALL
int cuFuncLoad(void *function);

typedef enum fake_kind {
    BLOCK,
    PINNED,
    STREAM,
    EVENT,
    LIBRARY,
    GRAPH,
    EXEC,
    N_KINDS
} fake_kind;

/* All that has a handle begins so. */
typedef struct fake_object {
    fake_kind kind;
    struct fake_object *next;
} fake_object;

typedef struct fake_block {
    fake_object base;
    unsigned char *host; /* its address on the device: host + DEVICE_TAG */
    size_t bytes;
} fake_block;

/* One record of an event: done when the stream has come to it. */
typedef struct fake_ticket {
    int refs;
    bool is_done;
    struct fake_stream *stream;
} fake_ticket;

typedef enum node_kind {
    RUN,
    COPY,
    FILL,
    RECORD,
    WAIT,
    GRAPH_RUN,
    PART, /* one node of a graph that communicates */
    MEET  /* communication: over when partners have come */
} node_kind;

/* What a stream does next, or a node of a graph. */
typedef struct fake_node {
    node_kind kind;
    int refs;
    fake_kernel run;
    unsigned n_blocks, n_threads;
    void **arguments; /* one piece of memory */
    uint64_t to, from;
    bool is_to_device, is_from_device;
    size_t bytes, n_rows, to_stride, from_stride; /* of a box; else 1 row */
    unsigned char value;
    unsigned char *staged; /* what was copied from unpinned memory */
    fake_ticket *ticket;
    struct fake_event *event; /* that a graph records */
    struct graph_body *graph;
    int part;
    struct fake_post *post;
    struct fake_node *next;
} fake_node;

/* Nodes with those that each follows. */
typedef struct graph_body {
    int refs, n;
    fake_node **nodes;
    int *n_before, **before;
} graph_body;

typedef struct fake_frontier {
    int n, *nodes;
} fake_frontier;

typedef struct fake_capture {
    int refs;
    bool is_open, is_broken;
    graph_body *graph;
    struct fake_stream *origin;
    const void *thread;
} fake_capture;

typedef struct fake_stream {
    fake_object base;
    fake_node *head, **tail;
    fake_capture *capture; /* NULL: none */
    fake_frontier frontier;
    int priority;
} fake_stream;

typedef struct fake_event {
    fake_object base;
    fake_ticket *last;     /* NULL: never recorded */
    fake_capture *capture; /* of the last record, NULL: it was none */
    fake_frontier frontier;
} fake_event;

typedef struct fake_handle { /* of a graph, or of one that is ready */
    fake_object base;
    graph_body *body;
    fake_ticket *last; /* launch */
} fake_handle;

/* fake_core.c */
void *fake_take(size_t bytes); /* zeroed, counted; never NULL */
void fake_drop(void *memory);
uint32_t fake_draw(uint32_t n); /* in [0, n) */
/* The code of the call under way: an injected one, or the sticky one. */
int fake_enter(const char *symbol);
int fake_enter_context(const char *symbol);
/* A call begins, and ends where that has a code. */
#define FAKE_ENTER_BY(enter, symbol)                                           \
    do {                                                                       \
        const int entered = enter(symbol);                                     \
        if (entered)                                                           \
            return entered;                                                    \
    } while (0)
#define FAKE_ENTER(symbol) FAKE_ENTER_BY(fake_enter, symbol)
#define FAKE_ENTER_CONTEXT(symbol) FAKE_ENTER_BY(fake_enter_context, symbol)
int fake_lost(void);
/* The CUresult of loading code whose first line goes on so. */
int fake_read_target(const char *code);
void fake_lose(int code);
bool fake_hangs(void); /* streams stay where they are */
void *fake_new(fake_kind kind, size_t bytes);
bool fake_is(const void *handle, fake_kind kind);
void fake_delete(void *handle);
fake_object *fake_first(fake_kind kind);
void fake_note(fake_entry_kind kind, const void *stream, const void *event,
               int64_t tag);
const void *fake_thread(void);
int fake_device(void); /* of the thread's context, -1: none */

/* fake_turn.c: lets other threads go on; false: there is nobody to be let. */
bool fake_yield(void);
bool fake_has_turn(void); /* or turns are not taken at all */
void fake_turn_reset(void);

/* fake_nccl.c */
void fake_nccl_reset(void);
/* Whether a post at the head of its stream can go on; and makes it: true when
 * it is over. */
bool fake_can_meet(const struct fake_post *post);
bool fake_meet(struct fake_post *post);
void fake_post_drop(struct fake_post *post);
/* So many more graphs, or fewer, that have captured it. */
void fake_post_capture(struct fake_post *post, int n_graphs);
/* Whether captured communication keeps the order of its capture, whatever its
 * streams say. */
bool fake_nccl_is_ordered(void);
/* What was captured, once more. */
struct fake_post *fake_post_again(const struct fake_post *post);

/* fake_memory.c: the block that holds the bytes, or NULL. */
void fake_memory_reset(void);
unsigned char *fake_find(uint64_t address, size_t bytes);
void fake_carry_out(const fake_node *node);

/* fake_stream.c */
/* NULL: the handle is no stream's. */
fake_stream *fake_stream_of(void *handle);
fake_node *fake_make(node_kind kind);
void fake_node_drop(fake_node *node);
void fake_ticket_drop(fake_ticket *ticket);
/* Puts it behind the stream, or into the graph that is being captured. */
int fake_push(fake_stream *stream, fake_node *node);
void fake_run_some(void);
void fake_drain(fake_stream *stream);
void fake_finish(fake_stream *stream); /* also when others have to come */
/* Puts a record of the event behind the stream, which is not captured. */
int fake_record(fake_stream *stream, fake_event *event);
void fake_stream_reset(void);
void fake_set_eagerness(int eagerness);

/* fake_graph.c */
int fake_capture_push(fake_stream *stream, fake_node *node);
int fake_capture_record(fake_stream *stream, fake_event *event);
/* Each launch of the graph records it. */
int fake_capture_announce(fake_stream *stream, fake_event *event);
int fake_capture_wait(fake_stream *stream, fake_event *event);
/* An error where the thread captures: what is called cannot be. */
int fake_capture_forbids(void);
int fake_capture_breaks(fake_stream *stream);
void fake_capture_drop(fake_capture *capture);
void fake_frontier_copy(fake_frontier *to, const fake_frontier *from);
void fake_graph_run(const graph_body *graph);
void fake_graph_run_part(const graph_body *graph, int part);
void fake_graph_drop(graph_body *graph);
void fake_graph_reset(void);

/* fake_module.c */
void fake_module_reset(void);
void fake_launch(const fake_node *node);

#endif
