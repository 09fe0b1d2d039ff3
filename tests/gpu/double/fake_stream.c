/* Streams and events of the double.  A stream is a queue; what is at its head
 * runs when it is drawn, or when somebody waits for it, and a wait at its head
 * lets the stream that it waits for run first. */
#include "tests/gpu/double/fake_state.h"

#include <stdio.h>
#include <stdlib.h>

enum { KNOWN_STREAM_FLAGS = 1, KNOWN_EVENT_FLAGS = 3, CENT = 100 };

static int eagerness;
static bool is_lazy;
/* The legacy default stream, which NULL is (cuda.h, CU_STREAM_LEGACY).  Streams
 * of ours are CU_STREAM_NON_BLOCKING: neither waits for the other by itself,
 * and it is as late as events let it. */
static fake_stream legacy = {.base.kind = STREAM, .tail = &legacy.head};

fake_stream *fake_stream_of(void *handle)
{
    return !handle || handle == &legacy ? &legacy
           : fake_is(handle, STREAM)    ? handle
                                        : NULL;
}

void fake_set_eagerness(int value)
{
    eagerness = value;
    is_lazy = false;
}

void fake_be_lazy(void)
{
    eagerness = 0;
    is_lazy = true;
}

/* ---- nodes -------------------------------------------------------------- */

fake_node *fake_make(node_kind kind)
{
    fake_node *node = fake_take(sizeof *node);

    node->kind = kind;
    node->refs = 1;
    return node;
}

void fake_ticket_drop(fake_ticket *ticket)
{
    if (ticket && --ticket->refs == 0)
        fake_drop(ticket);
}

void fake_node_drop(fake_node *node)
{
    if (--node->refs > 0)
        return;
    fake_drop(node->arguments);
    fake_drop(node->staged);
    fake_ticket_drop(node->ticket);
    if (node->graph)
        fake_graph_drop(node->graph);
    if (node->post)
        fake_post_drop(node->post);
    fake_drop(node);
}

static fake_ticket *new_ticket(fake_stream *stream)
{
    fake_ticket *ticket = fake_take(sizeof *ticket);

    ticket->refs = 1;
    ticket->stream = stream;
    return ticket;
}

/* ---- running ------------------------------------------------------------ */

static void run_node(const fake_node *node)
{
    switch (node->kind) {
    case RUN:
        fake_launch(node);
        break;
    case COPY:
    case FILL:
        fake_carry_out(node);
        break;
    case RECORD:
        node->ticket->is_done = true;
        break;
    case GRAPH_RUN:
        fake_graph_run(node->graph);
        break;
    case PART:
        fake_graph_run_part(node->graph, node->part);
        break;
    case WAIT:
    case MEET:
        break;
    }
}

static void pop(fake_stream *stream)
{
    fake_node *node = stream->head;

    stream->head = node->next;
    if (!stream->head)
        stream->tail = &stream->head;
    /* A context that is lost runs nothing, but ends. */
    if (!fake_lost() || node->kind == RECORD)
        run_node(node);
    fake_node_drop(node);
}

/* The stream that has to go on first: itself, or what it waits for; NULL: that
 * was destroyed while it hung. */
static fake_stream *find_first(fake_stream *stream)
{
    while (stream && stream->head->kind == WAIT &&
           !stream->head->ticket->is_done)
        stream = stream->head->ticket->stream;
    return stream;
}

/* Whether the stream has something to do that can be done. */
static bool is_busy(fake_stream *stream)
{
    const fake_stream *first = stream->head ? find_first(stream) : NULL;

    return first && !fake_hangs() &&
           (first->head->kind != MEET || fake_can_meet(first->head->post));
}

static void step(fake_stream *stream)
{
    struct fake_stream *first = find_first(stream);

    if (first->head->kind != MEET || fake_meet(first->head->post))
        pop(first);
}

/* The k-th of the busy streams; NULL: there are fewer. */
static fake_stream *find_busy(uint32_t k)
{
    for (fake_object *o = fake_first(STREAM); o; o = o->next)
        if (is_busy((fake_stream *)o) && k-- == 0)
            return (fake_stream *)o;
    return k == 0 && is_busy(&legacy) ? &legacy : NULL;
}

static fake_stream *draw_busy(void)
{
    uint32_t n = 0;

    while (find_busy(n))
        n++;
    return n ? find_busy(fake_draw(n)) : NULL;
}

void fake_run_some(void)
{
    while ((int)fake_draw(CENT) < eagerness) {
        fake_stream *stream = draw_busy();
        if (!stream)
            return;
        step(stream);
    }
}

/* Whether its head waits, in the end, for partners on other streams. */
static bool is_lonely(fake_stream *stream)
{
    const fake_stream *first = stream->head ? find_first(stream) : NULL;

    return first && first->head->kind == MEET;
}

/* Some stream goes on for as long as it is drawn, and no other more than it
 * needs. */
void fake_drain(fake_stream *stream)
{
    struct fake_stream *favourite = stream;

    while (is_busy(stream) || (is_lonely(stream) && draw_busy())) {
        if (is_lazy && is_busy(stream))
            favourite = stream;
        else if (!is_busy(favourite) || fake_draw(4) == 0)
            favourite = draw_busy();
        step(favourite);
    }
}

void fake_finish(fake_stream *stream)
{
    fake_drain(stream);
    while (is_lonely(stream) && fake_yield())
        fake_drain(stream);
}

int fake_push(fake_stream *stream, fake_node *node)
{
    if (stream->capture)
        return fake_capture_push(stream, node);
    *stream->tail = node;
    stream->tail = &node->next;
    fake_run_some();
    return CZR_CUDA_SUCCESS;
}

/* ---- streams ------------------------------------------------------------ */

static void delete_stream(fake_stream *stream)
{
    while (stream->head) {
        fake_node *node = stream->head;
        stream->head = node->next;
        if (node->kind == RECORD)
            node->ticket->stream = NULL;
        fake_node_drop(node);
    }
    fake_drop(stream->frontier.nodes);
    fake_capture_drop(stream->capture);
    fake_delete(stream);
}

static void delete_event(fake_event *event)
{
    fake_ticket_drop(event->last);
    fake_drop(event->frontier.nodes);
    fake_capture_drop(event->capture);
    fake_delete(event);
}

void fake_stream_reset(void)
{
    while (legacy.head) {
        fake_node *node = legacy.head;
        legacy.head = node->next;
        fake_node_drop(node);
    }
    legacy.tail = &legacy.head;
    while (fake_first(STREAM))
        delete_stream((fake_stream *)fake_first(STREAM));
    while (fake_first(EVENT))
        delete_event((fake_event *)fake_first(EVENT));
}

/* Lower numbers are greater; those of an H100. */
enum { LEAST_PRIORITY = 0, GREATEST_PRIORITY = -5 };

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    FAKE_ENTER_CONTEXT("cuCtxGetStreamPriorityRange");
    *least = LEAST_PRIORITY;
    *greatest = GREATEST_PRIORITY;
    return CZR_CUDA_SUCCESS;
}

/* Others are clamped to the range (CUDA Driver API, Stream Management). */
int cuStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    FAKE_ENTER_CONTEXT("cuStreamCreateWithPriority");
    if (flags & ~(unsigned)KNOWN_STREAM_FLAGS)
        return CZR_CUDA_INVALID_VALUE;
    fake_stream *stream = fake_new(STREAM, sizeof *stream);
    stream->priority = priority > LEAST_PRIORITY      ? LEAST_PRIORITY
                       : priority < GREATEST_PRIORITY ? GREATEST_PRIORITY
                                                      : priority;
    stream->tail = &stream->head;
    *out = stream;
    return CZR_CUDA_SUCCESS;
}

int fake_priority(const void *stream)
{
    return ((const fake_stream *)stream)->priority;
}

/* What is on it still runs: here and now, where nothing hangs. */
int cuStreamDestroy_v2(void *handle)
{
    const int code = fake_enter_context("cuStreamDestroy_v2");

    if (!fake_is(handle, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    fake_drain(handle);
    delete_stream(handle);
    return code ? code : fake_lost();
}

/* The real one would not come back either, but nobody would see why. */
static void wait_for_ever(void)
{
    fputs("the double waits for a stream that hangs\n", stderr);
    abort();
}

int cuStreamSynchronize(void *handle)
{
    fake_stream *stream = fake_stream_of(handle);

    FAKE_ENTER_CONTEXT("cuStreamSynchronize");
    if (!stream)
        return CZR_CUDA_INVALID_HANDLE;
    if (fake_capture_breaks(stream))
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    fake_finish(stream);
    if (stream->head)
        wait_for_ever();
    return fake_lost();
}

int cuStreamQuery(void *handle)
{
    fake_stream *stream = fake_stream_of(handle);
    FAKE_ENTER_CONTEXT("cuStreamQuery");
    if (!stream)
        return CZR_CUDA_INVALID_HANDLE;
    if (fake_capture_breaks(stream))
        return CZR_CUDA_STREAM_CAPTURE_UNSUPPORTED;
    fake_stream *busy = stream->head ? draw_busy() : NULL;
    if (busy)
        step(busy);
    if (fake_lost())
        return fake_lost();
    if (stream->head)
        fake_yield();
    return stream->head ? CZR_CUDA_NOT_READY : CZR_CUDA_SUCCESS;
}

/* ---- events ------------------------------------------------------------- */

int cuEventCreate(void **out, unsigned flags)
{
    FAKE_ENTER_CONTEXT("cuEventCreate");
    if (flags & ~(unsigned)KNOWN_EVENT_FLAGS)
        return CZR_CUDA_INVALID_VALUE;
    *out = fake_new(EVENT, sizeof(fake_event));
    return CZR_CUDA_SUCCESS;
}

int cuEventDestroy_v2(void *handle)
{
    const int code = fake_enter_context("cuEventDestroy_v2");

    if (!fake_is(handle, EVENT))
        return CZR_CUDA_INVALID_HANDLE;
    delete_event(handle);
    return code;
}

/* 0 also of one that was never recorded. */
int cuEventQuery(void *given)
{
    const fake_event *event = given;

    FAKE_ENTER_CONTEXT("cuEventQuery");
    if (!fake_is(event, EVENT))
        return CZR_CUDA_INVALID_HANDLE;
    if (event->capture)
        return CZR_CUDA_CAPTURED_EVENT;
    return event->last && !event->last->is_done ? CZR_CUDA_NOT_READY
                                                : CZR_CUDA_SUCCESS;
}

int fake_record(fake_stream *stream, fake_event *event)
{
    fake_node *node = fake_make(RECORD);

    fake_ticket_drop(event->last);
    event->last = node->ticket = new_ticket(stream);
    event->last->refs = 2;
    return fake_push(stream, node);
}

int cuEventRecord(void *given, void *handle)
{
    fake_event *event = given;
    fake_stream *stream = fake_stream_of(handle);

    FAKE_ENTER_CONTEXT("cuEventRecord");
    if (!fake_is(event, EVENT) || !stream)
        return CZR_CUDA_INVALID_HANDLE;
    fake_note(FAKE_RECORD, stream, event, 0);
    fake_capture_drop(event->capture);
    event->capture = NULL;
    if (stream->capture)
        return fake_capture_record(stream, event);
    return fake_record(stream, event);
}

int cuEventRecordWithFlags(void *given, void *handle, unsigned flags)
{
    fake_event *event = given;
    fake_stream *stream = handle;

    FAKE_ENTER_CONTEXT("cuEventRecordWithFlags");
    if (!fake_is(event, EVENT) || !fake_is(stream, STREAM))
        return CZR_CUDA_INVALID_HANDLE;
    if (flags != CZR_EVENT_RECORD_EXTERNAL || !stream->capture)
        return CZR_CUDA_INVALID_VALUE;
    fake_note(FAKE_RECORD, stream, event, 0);
    return fake_capture_announce(stream, event);
}

/* Waits for the record that the event had last when this was called. */
int cuStreamWaitEvent(void *handle, void *given, unsigned flags)
{
    fake_event *event = given;
    fake_stream *stream = fake_stream_of(handle);

    FAKE_ENTER_CONTEXT("cuStreamWaitEvent");
    if (!fake_is(event, EVENT) || !stream)
        return CZR_CUDA_INVALID_HANDLE;
    if (flags)
        return CZR_CUDA_INVALID_VALUE;
    fake_note(FAKE_WAIT, stream, event, 0);
    if (event->capture || stream->capture)
        return fake_capture_wait(stream, event);
    if (!event->last)
        return CZR_CUDA_SUCCESS;
    fake_node *node = fake_make(WAIT);
    node->ticket = event->last;
    node->ticket->refs++;
    return fake_push(stream, node);
}
