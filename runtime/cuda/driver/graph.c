/* Capture of one stream and of those that it forks to. */
#include "runtime/cuda/driver/graph.h"

czr_status czr_graph_begin(czr_context *context, void *stream)
{
    const czr_status status = czr_context_check(
        context,
        context->driver->capture_begin(stream, CZR_CAPTURE_MODE_THREAD_LOCAL),
        "beginning to capture a graph");

    context->is_capturing = status == CZR_OK;
    return status;
}

czr_status czr_graph_end(czr_context *context, void *stream, czr_graph *out)
{
    const czr_driver *driver = context->driver;
    void *graph = NULL;

    context->is_capturing = false;
    *out = (czr_graph){.context = context};
    czr_status status = czr_context_check(
        context, driver->capture_end(stream, &graph), "capturing a graph");
    if (status == CZR_OK)
        status = czr_context_check(
            context, driver->graph_instantiate(&out->exec, graph, 0),
            "making a captured graph ready");
    if (status != CZR_OK)
        out->exec = NULL;
    if (graph)
        czr_context_check(context, driver->graph_destroy(graph),
                          "closing a captured graph");
    return status;
}

czr_status czr_graph_launch(const czr_graph *graph, void *stream)
{
    return czr_context_check(
        graph->context,
        graph->context->driver->graph_launch(graph->exec, stream),
        "launching a graph");
}

void czr_graph_close(czr_graph *graph)
{
    if (!graph->exec)
        return;
    czr_context_check(graph->context,
                      graph->context->driver->graph_exec_destroy(graph->exec),
                      "closing a graph");
    graph->exec = NULL;
}
