/* A timeline as trace events, rank by rank. */
#include "frontend/report/internal.h"

#include "dsl/base/checked.h"
#include "dsl/plan/axes.h"
#include "frontend/document/json.h"

typedef struct trace {
    const cz_report_context *context;
    cz_json json;
} trace;

/* What a process or a thread is called. */
static void put_label(trace *t, const char *of, int rank, int lane,
                      const char *name)
{
    cz_json_open(&t->json, NULL, '{');
    cz_json_string(&t->json, "name", of);
    cz_json_string(&t->json, "ph", "M");
    cz_json_int(&t->json, "pid", rank);
    cz_json_int(&t->json, "tid", lane);
    cz_json_open(&t->json, "args", '{');
    cz_json_string(&t->json, "name", name);
    cz_json_close(&t->json);
    cz_json_close(&t->json);
}

/* ---- what an operation moves and computes on a rank ---- */

static cz_axes axes_of(const cz_document *d, int64_t *sizes)
{
    for (int a = 0; a < d->n_axes; a++)
        sizes[a] = d->axes[a].size;
    return (cz_axes){d->n_axes, sizes};
}

/* Bytes sent and received by a collective of a bucket: slices of the others,
 * and the own one to or from each of them.  -1 of equal parts, where what they
 * exchange with slices is not in the document. */
static int64_t collective_bytes(const cz_document *d, cz_axes axes,
                                const cz_document_op *op, int rank)
{
    const cz_document_bucket *bucket = &d->buckets[op->bucket];
    const cz_document_reduction *how = &d->reductions[bucket->reduction];
    const int64_t n = cz_axes_extent(axes, op->comm);
    int64_t others = 0, own = 0;

    if (bucket->exchanged > 0)
        return -1;
    for (int64_t at = 0; at < n; at++) {
        const int64_t member = cz_axes_rank_at(axes, op->comm, at, rank);
        const int64_t slice =
            bucket->own[cz_axes_coordinate(axes, how->split_set, member)];
        *(member == rank ? &own : &others) += slice;
    }
    return (others + own * (n - 1)) * (op->kind == CZ_STEP_REDUCE_SCATTER
                                           ? how->grad_bytes
                                           : bucket->element_bytes);
}

/* As plan --json has them under `metrics`, of one operation.  Of a kernel of
 * whole tensors: matrices, a shard counting as one. */
static void put_args(trace *t, int op, int rank)
{
    const cz_document *d = t->context->document;
    const cz_document_op *it = &d->ops[op];
    int64_t sizes[CZ_VIEW_MAX_AXES];
    const cz_axes axes = axes_of(d, sizes);
    const int64_t at = cz_axes_coordinate(axes, it->over, rank);
    int64_t matrices = 0, flops = 0, bytes = -1;

    for (int w = 0; w < it->n_work; w++) {
        const cz_document_stage *stage = &d->stages[it->work[w].stage];
        matrices += it->work[w].rows[at];
        flops = cz_sum(flops, cz_limited_mul(stage->flops,
                                             stage->is_shaped
                                                 ? it->work[w].rows[at]
                                                 : it->work[w].elements[at]));
    }
    if (it->sent && it->received)
        bytes = it->sent[at] + it->received[at];
    else if (it->kind == CZ_STEP_REDUCE_SCATTER ||
             it->kind == CZ_STEP_ALL_GATHER)
        bytes = collective_bytes(d, axes, it, rank);
    cz_json_open(&t->json, "args", '{');
    cz_json_int(&t->json, "op", op);
    if (bytes >= 0)
        cz_json_int(&t->json, "bytes", bytes);
    if (it->n_work > 0 && it->bucket < 0)
        cz_json_int(&t->json, "matrices", matrices);
    if (it->n_work > 0)
        cz_json_int(&t->json, "flops", flops);
    cz_json_close(&t->json);
}

static void put_event(trace *t, int op, int rank)
{
    const cz_simulate_timeline *line = t->context->timeline;
    const int64_t at = (int64_t)op * t->context->document->n_ranks + rank;
    cz_text name = {0};
    if (line->start[at] < 0)
        return;
    cz_report_op_name(t->context, op, &name);
    cz_json_open(&t->json, NULL, '{');
    cz_json_string(&t->json, "name", cz_text_string(&name));
    cz_json_string(&t->json, "cat",
                   cz_section_word(t->context->document->ops[op].section));
    cz_json_string(&t->json, "ph", "X");
    cz_json_millionths(&t->json, "ts", line->start[at]);
    cz_json_millionths(&t->json, "dur", line->end[at] - line->start[at]);
    cz_json_int(&t->json, "pid", rank);
    cz_json_int(&t->json, "tid", t->context->document->ops[op].stream);
    put_args(t, op, rank);
    cz_json_close(&t->json);
    cz_text_fini(&name);
}

void cz_report_trace(const cz_report_context *context, cz_text *out)
{
    const int n_ranks = context->document->n_ranks;
    const int n = n_ranks < CZ_TRACE_MAX_RANKS ? n_ranks : CZ_TRACE_MAX_RANKS;
    trace t = {.context = context};
    cz_json_init(&t.json, out);
    cz_json_open(&t.json, NULL, '{');
    cz_json_string(&t.json, "displayTimeUnit", "ns");
    cz_json_open(&t.json, "otherData", '{');
    cz_json_string(&t.json, "generator", CZ_GENERATED);
    cz_json_string(&t.json, "plan", context->document->name);
    cz_json_string(&t.json, "plan_hash", context->document->plan_hash);
    cz_json_int(&t.json, "ranks", n_ranks);
    cz_json_int(&t.json, "ranks_shown", n);
    cz_json_close(&t.json);
    cz_json_open(&t.json, "traceEvents", '[');
    for (int rank = 0; rank < n; rank++) {
        cz_text name = {0};
        cz_report_rank_name(context->document, rank, &name);
        put_label(&t, "process_name", rank, 0, cz_text_string(&name));
        cz_text_fini(&name);
        for (int lane = 0; lane < 3; lane++)
            put_label(&t, "thread_name", rank, lane, cz_report_lanes[lane]);
        for (int op = 0; op < context->document->n_ops; op++)
            put_event(&t, op, rank);
    }
    cz_json_close(&t.json);
    cz_json_close(&t.json);
}
