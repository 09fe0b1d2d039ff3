/* What streams do, captured once and launched again at the cost of one call. */
#ifndef CZR_CUDA_DRIVER_GRAPH_H
#define CZR_CUDA_DRIVER_GRAPH_H

#include "runtime/cuda/driver/context.h"

typedef struct czr_graph {
    czr_context *context;
    void *exec; /* NULL: none */
} czr_graph;

/* What this thread puts on the stream from now on, and on streams that wait for
 * it, is kept and not done.  Meanwhile nothing is taken or waited for. */
czr_status czr_graph_begin(czr_context *context, void *stream);
/* Ends that, also behind a failure: the stream is as before then.  All streams
 * have come back to this one.  If it fails, out->exec is NULL. */
czr_status czr_graph_end(czr_context *context, void *stream, czr_graph *out);
/* Behind what the stream has, and behind the last launch of the same graph.
 * Arguments of kernels are those of the capture. */
czr_status czr_graph_launch(const czr_graph *graph, void *stream);
/* NULL exec is allowed. */
void czr_graph_close(czr_graph *graph);

#endif
