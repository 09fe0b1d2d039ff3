/* A timeline as trace events, rank by rank. */
#include "frontend/report/internal.h"

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
        cz_report_rank_name(context, rank, &name);
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
