/* Capture and graphs of the double.  A stream in capture has a frontier, the
 * nodes that its next one follows; a graph runs its nodes in a drawn order
 * among those that this permits. */
#include "tests/gpu/double/fake_state.h"

#include <stdlib.h>
#include <string.h>

/* ---- frontiers ---------------------------------------------------------- */

void fake_frontier_copy(fake_frontier *to, const fake_frontier *from)
{
    int *nodes = fake_take((size_t)from->n * sizeof *nodes);

    if (from->n)
        memcpy(nodes, from->nodes, (size_t)from->n * sizeof *nodes);
    fake_drop(to->nodes);
    *to = (fake_frontier){from->n, nodes};
}

static void add(fake_frontier *frontier, int number)
{
    int *nodes;

    for (int i = 0; i < frontier->n; i++)
        if (frontier->nodes[i] == number)
            return;
    nodes = fake_take(((size_t)frontier->n + 1) * sizeof *nodes);
    if (frontier->n)
        memcpy(nodes, frontier->nodes, (size_t)frontier->n * sizeof *nodes);
    nodes[frontier->n] = number;
    fake_drop(frontier->nodes);
    frontier->nodes = nodes;
    frontier->n++;
}

/* ---- capture ------------------------------------------------------------ */

void fake_capture_drop(fake_capture *capture)
{
    if (!capture || --capture->refs > 0)
        return;
    if (capture->graph)
        fake_graph_drop(capture->graph);
    fake_drop(capture);
}

static void leave(fake_stream *stream)
{
    fake_capture_drop(stream->capture);
    stream->capture = NULL;
    fake_drop(stream->frontier.nodes);
    stream->frontier = (fake_frontier){0, NULL};
}

int fake_capture_breaks(fake_stream *stream)
{
    if (!stream->capture)
        return 0;
    stream->capture->is_broken = true;
    return 1;
}

int fake_capture_forbids(void)
{
    int forbids = 0;

    for (fake_object *o = fake_first(STREAM); o; o = o->next) {
        fake_capture *capture = ((fake_stream *)o)->capture;
        if (capture && capture->thread == fake_thread())
            forbids |= fake_capture_breaks((fake_stream *)o);
    }
    return forbids;
}

static void *grown(void *old, int n, size_t size)
{
    void *new = fake_take(((size_t)n + 1) * size);

    if (n)
        memcpy(new, old, (size_t)n * size);
    fake_drop(old);
    return new;
}

int fake_capture_push(fake_stream *stream, fake_node *node)
{
    graph_body *graph = stream->capture->graph;
    const int n = graph->n;

    if (stream->capture->is_broken) {
        fake_node_drop(node);
        return CZR_CUDA_STREAM_CAPTURE_INVALIDATED;
    }
    graph->nodes = grown(graph->nodes, n, sizeof *graph->nodes);
    graph->n_before = grown(graph->n_before, n, sizeof *graph->n_before);
    graph->before = grown(graph->before, n, sizeof *graph->before);
    graph->nodes[n] = node;
    graph->n_before[n] = stream->frontier.n;
    graph->before[n] = stream->frontier.nodes;
    graph->n++;
    stream->frontier = (fake_frontier){0, NULL};
    add(&stream->frontier, n);
    return CZR_CUDA_SUCCESS;
}

int fake_capture_announce(fake_stream *stream, fake_event *event)
{
    fake_node *node = fake_make(RECORD);

    node->event = event;
    return fake_capture_push(stream, node);
}

int fake_capture_record(fake_stream *stream, fake_event *event)
{
    if (stream->capture->is_broken)
        return CZR_CUDA_STREAM_CAPTURE_INVALIDATED;
    fake_ticket_drop(event->last);
    event->last = NULL;
    event->capture = stream->capture;
    event->capture->refs++;
    fake_frontier_copy(&event->frontier, &stream->frontier);
    return CZR_CUDA_SUCCESS;
}

int fake_capture_wait(fake_stream *stream, fake_event *event)
{
    if (stream->capture && stream->capture->is_broken)
        return CZR_CUDA_STREAM_CAPTURE_INVALIDATED;
    if (!event->capture) {
        fake_capture_breaks(stream);
        return CZR_CUDA_STREAM_CAPTURE_ISOLATION;
    }
    if (!event->capture->is_open)
        return CZR_CUDA_CAPTURED_EVENT;
    if (stream->capture && stream->capture != event->capture) {
        fake_capture_breaks(stream);
        return CZR_CUDA_STREAM_CAPTURE_ISOLATION;
    }
    if (!stream->capture) {
        stream->capture = event->capture;
        stream->capture->refs++;
    }
    for (int i = 0; i < event->frontier.n; i++)
        add(&stream->frontier, event->frontier.nodes[i]);
    return CZR_CUDA_SUCCESS;
}

int cuStreamBeginCapture_v2(void *handle, int mode)
{
    fake_stream *stream = handle;

    FAKE_ENTER_CONTEXT("cuStreamBeginCapture_v2");
    if (!fake_is(stream, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    if (stream->capture || mode < 0 || mode > 2)
        return CZR_CUDA_INVALID_VALUE;
    fake_capture *capture = fake_take(sizeof *capture);
    *capture = (struct fake_capture){.refs = 1,
                                     .is_open = true,
                                     .graph = fake_take(sizeof(graph_body)),
                                     .origin = stream,
                                     .thread = fake_thread()};
    capture->graph->refs = 1;
    stream->capture = capture;
    return CZR_CUDA_SUCCESS;
}

static void mark(const graph_body *graph, bool *is_before, int number)
{
    if (is_before[number])
        return;
    is_before[number] = true;
    for (int i = 0; i < graph->n_before[number]; i++)
        mark(graph, is_before, graph->before[number][i]);
}

/* Whether all nodes come before the end of the stream, which began. */
static bool is_joined(const fake_stream *stream)
{
    const graph_body *graph = stream->capture->graph;
    bool *is_before = fake_take((size_t)graph->n);
    bool joined = true;

    for (int i = 0; i < stream->frontier.n; i++)
        mark(graph, is_before, stream->frontier.nodes[i]);
    for (int i = 0; i < graph->n; i++)
        joined = joined && is_before[i];
    fake_drop(is_before);
    return joined;
}

int cuStreamEndCapture(void *handle, void **out)
{
    fake_stream *stream = handle;

    int code = fake_enter_context("cuStreamEndCapture");
    if (!fake_is(stream, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    fake_capture *capture = stream->capture;
    if (!capture)
        return CZR_CUDA_STREAM_CAPTURE_UNMATCHED;
    if (capture->origin != stream)
        return CZR_CUDA_STREAM_CAPTURE_UNMATCHED;
    if (!code && capture->is_broken)
        code = CZR_CUDA_STREAM_CAPTURE_INVALIDATED;
    if (!code && !is_joined(stream))
        code = CZR_CUDA_STREAM_CAPTURE_UNJOINED;
    *out = NULL;
    if (!code) {
        handle = *out = fake_new(GRAPH, sizeof(struct fake_handle));
        ((struct fake_handle *)handle)->body = capture->graph;
        capture->graph->refs++;
    }
    capture->is_open = false;
    fake_graph_drop(capture->graph);
    capture->graph = NULL;
    for (fake_object *o = fake_first(STREAM); o; o = o->next)
        if (((struct fake_stream *)o)->capture == capture &&
            (struct fake_stream *)o != stream)
            leave((struct fake_stream *)o);
    leave(stream);
    return code;
}

/* ---- graphs ------------------------------------------------------------- */

void fake_graph_drop(graph_body *graph)
{
    if (--graph->refs > 0)
        return;
    for (int i = 0; i < graph->n; i++) {
        fake_node_drop(graph->nodes[i]);
        fake_drop(graph->before[i]);
    }
    fake_drop(graph->nodes);
    fake_drop(graph->n_before);
    fake_drop(graph->before);
    fake_drop(graph);
}

static bool is_ready(const graph_body *graph, const bool *is_done, int number)
{
    for (int i = 0; i < graph->n_before[number]; i++)
        if (!is_done[graph->before[number][i]])
            return false;
    return !is_done[number];
}

/* Communication goes on in the order in which it was captured where NCCL sees
 * to that, else in any that the graph permits. */
static int draw_ready(const graph_body *graph, const bool *is_done)
{
    int n = 0, drawn = -1;
    const bool is_ordered = fake_nccl_is_ordered();
    bool meets = true;

    for (int i = 0; i < graph->n; i++) {
        const bool is_next = graph->nodes[i]->kind != MEET || meets;
        if (is_next && is_ready(graph, is_done, i) &&
            fake_draw((uint32_t)++n) == 0)
            drawn = i;
        meets = meets &&
                (graph->nodes[i]->kind != MEET || is_done[i] || !is_ordered);
    }
    return drawn;
}

void fake_graph_run_part(const graph_body *graph, int part)
{
    const fake_node *node = graph->nodes[part];

    if (node->kind == RUN)
        fake_launch(node);
    else
        fake_carry_out(node);
}

void fake_graph_run(const graph_body *graph)
{
    bool *is_done = fake_take((size_t)graph->n);

    for (int i = 0; i < graph->n && !fake_lost(); i++) {
        const int drawn = draw_ready(graph, is_done);
        fake_graph_run_part(graph, drawn);
        is_done[drawn] = true;
    }
    fake_drop(is_done);
}

/* Whether other streams are to see it go on: where it communicates, or records
 * events. */
static bool has_parts(const graph_body *graph)
{
    for (int i = 0; i < graph->n; i++)
        if (graph->nodes[i]->kind == MEET || graph->nodes[i]->kind == RECORD)
            return true;
    return false;
}

static void put_part(graph_body *graph, int part, fake_stream *stream)
{
    const fake_node *of = graph->nodes[part];

    if (of->kind == RECORD) {
        fake_record(stream, of->event);
        return;
    }
    fake_node *node = fake_make(of->kind == MEET ? MEET : PART);
    if (of->kind == MEET)
        node->post = fake_post_again(of->post);
    node->graph = graph;
    node->part = part;
    graph->refs++;
    fake_push(stream, node);
}

/* One node after the other. */
static void put_parts(graph_body *graph, fake_stream *stream)
{
    bool *is_done = fake_take((size_t)graph->n);

    for (int i = 0; i < graph->n; i++) {
        const int drawn = draw_ready(graph, is_done);
        put_part(graph, drawn, stream);
        is_done[drawn] = true;
    }
    fake_drop(is_done);
}

static void count_handle(const fake_handle *handle, int n)
{
    for (int i = 0; i < handle->body->n; i++)
        if (handle->body->nodes[i]->kind == MEET)
            fake_post_capture(handle->body->nodes[i]->post, n);
}

static void delete_handle(fake_handle *handle)
{
    count_handle(handle, -1);
    fake_graph_drop(handle->body);
    fake_ticket_drop(handle->last);
    fake_delete(handle);
}

void fake_graph_reset(void)
{
    for (int kind = GRAPH; kind <= EXEC; kind++)
        while (fake_first((enum fake_kind)kind))
            delete_handle((fake_handle *)fake_first((enum fake_kind)kind));
}

int cuGraphInstantiateWithFlags(void **out, void *graph, uint64_t flags)
{
    FAKE_ENTER_CONTEXT("cuGraphInstantiateWithFlags");
    if (!fake_is(graph, GRAPH) || flags)
        return CZR_CUDA_INVALID_VALUE;
    fake_handle *exec = fake_new(EXEC, sizeof *exec);
    exec->body = ((fake_handle *)graph)->body;
    exec->body->refs++;
    count_handle(exec, 1);
    *out = exec;
    return CZR_CUDA_SUCCESS;
}

/* Behind the graph's last launch, on whatever stream that was. */
int cuGraphLaunch(void *given, void *handle)
{
    struct fake_handle *exec = given;
    fake_stream *stream = handle;

    FAKE_ENTER_CONTEXT("cuGraphLaunch");
    if (!fake_is(exec, EXEC) || !fake_is(stream, STREAM))
        return CZR_CUDA_INVALID_VALUE;
    if (fake_capture_breaks(stream))
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    fake_note(FAKE_GRAPH, stream, NULL, 0);
    if (exec->last && !exec->last->is_done) {
        fake_node *wait = fake_make(WAIT);
        wait->ticket = exec->last;
        wait->ticket->refs++;
        fake_push(stream, wait);
    }
    if (has_parts(exec->body)) {
        put_parts(exec->body, stream);
    } else {
        fake_node *run = fake_make(GRAPH_RUN);
        run->graph = exec->body;
        run->graph->refs++;
        fake_push(stream, run);
    }
    fake_node *end = fake_make(RECORD);
    end->ticket = fake_take(sizeof(fake_ticket));
    *end->ticket = (fake_ticket){.refs = 2, .stream = stream};
    fake_ticket_drop(exec->last);
    exec->last = end->ticket;
    return fake_push(stream, end);
}

int cuGraphExecDestroy(void *exec)
{
    const int code = fake_enter_context("cuGraphExecDestroy");

    if (!fake_is(exec, EXEC))
        return CZR_CUDA_INVALID_VALUE;
    delete_handle(exec);
    return code;
}

int cuGraphDestroy(void *graph)
{
    const int code = fake_enter_context("cuGraphDestroy");

    if (!fake_is(graph, GRAPH))
        return CZR_CUDA_INVALID_VALUE;
    delete_handle(graph);
    return code;
}
