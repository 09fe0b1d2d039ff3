/* A plan's operations on streams and events: one stream for each of the plan's,
 * and an event behind each operation that another stream waits for.
 *
 * Operations come in list order.  One that never comes orders nothing, as
 * dsl/SCHEDULE.md says.  A list ends with a join; none of its operations runs
 * beside one of the next list. */
#ifndef CZR_CUDA_EXEC_QUEUE_H
#define CZR_CUDA_EXEC_QUEUE_H

#include "runtime/cuda/driver/context.h"

typedef struct czr_queue czr_queue;

/* Of the program its list is looked at.  If it fails, *out is NULL, and the
 * context says why. */
czr_status czr_queue_open(czr_context *context, const czr_program *program,
                          czr_queue **out);
/* Waits for what is there.  NULL is allowed. */
void czr_queue_close(czr_queue *queue);
/* Before memory is given back: waits for what is there, failed or not, unless
 * the context has timed out. */
void czr_queue_drain(czr_queue *queue);

/* Before a list: no operation of it starts before what `stream`, the caller's,
 * has now.  After a join it must come. */
czr_status czr_queue_fork(czr_queue *queue, void *stream);
/* What is put on *stream until the end is the operation.  CZR_ERR_STATE:
 * another one has not ended, or the list before is not over. */
czr_status czr_queue_begin(czr_queue *queue, int op, void **stream);
/* Also where the operation failed. */
czr_status czr_queue_end(czr_queue *queue, int op);
/* Ends the list without waiting: what comes behind on `stream`, the caller's,
 * starts when all of it has completed. */
czr_status czr_queue_join(czr_queue *queue, void *stream);

#endif
