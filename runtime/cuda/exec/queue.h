/* A plan's operations on streams and events: one stream for each of the plan's,
 * and an event behind each operation that another stream waits for.
 *
 * Operations come in list order.  One that never comes orders nothing, as
 * dsl/SCHEDULE.md says.  A list ends with a join or with a finish; none of its
 * operations runs beside one of the next list. */
#ifndef CZR_CUDA_EXEC_QUEUE_H
#define CZR_CUDA_EXEC_QUEUE_H

#include "runtime/cuda/driver/context.h"

typedef struct czr_queue czr_queue;

typedef struct czr_queue_counters {
    int64_t operations, records, waits; /* of the host's calls so far */
    int64_t host_ns; /* between begin and end of operations; 0: not timed */
} czr_queue_counters;

typedef struct czr_queue_options {
    bool is_timed;     /* count the host's time */
    bool has_watchdog; /* an event behind each operation, so that a finish that
                        * takes too long names the one that it waits for */
} czr_queue_options;

/* Of the program its list is looked at; options may be NULL.  If it fails, *out
 * is NULL, and the context says why. */
czr_status czr_queue_open(czr_context *context, const czr_program *program,
                          const czr_queue_options *options, czr_queue **out);
/* Waits for what is there.  NULL is allowed. */
void czr_queue_close(czr_queue *queue);
/* Before memory is given back: waits for what is there, failed or not, unless
 * the context has timed out. */
void czr_queue_drain(czr_queue *queue);

/* The stream of a number of the plan's; closed by the queue. */
void *czr_queue_stream(const czr_queue *queue, int number);

/* Before a list: no operation of it starts before what `stream` has now.  May
 * be a stream of the queue, or of the caller.  After a join it must come. */
czr_status czr_queue_fork(czr_queue *queue, void *stream);
/* What is put on *stream until the end is the operation.  CZR_ERR_STATE:
 * another one has not ended, or the list before is not over. */
czr_status czr_queue_begin(czr_queue *queue, int op, void **stream);
/* Also where the operation failed. */
czr_status czr_queue_end(czr_queue *queue, int op);
/* Ends the list without waiting: what comes behind on `stream` starts when all
 * of it has completed. */
czr_status czr_queue_join(czr_queue *queue, void *stream);
/* Ends the list: the caller waits until all of it has completed, `deadline_ms`
 * at most for each stream; 0: for ever.  CZR_ERR_TIMEOUT: the context says
 * which operation was not complete, as far as there are events. */
czr_status czr_queue_finish(czr_queue *queue, int64_t deadline_ms);

czr_queue_counters czr_queue_count(const czr_queue *queue);

#endif
