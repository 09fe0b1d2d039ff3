/* Gradients of parameters, and the decision. */
#include "tests/gpu/plan/host_collect.h"

void czr_collect_number(czr_collect_span *spans, size_t n_spans,
                        uint64_t *n_jobs)
{
    *n_jobs = n_spans;
    for (size_t i = 0; i < n_spans; i++)
        spans[i].first = i;
}

typedef struct judged {
    czr_collect_spans spans;
    czr_collect_decision *decision;
    czr_collect_result *result;
    czr_collect_faults faults;
    const czr_collect_decision *seen;
    int64_t *word;
    int32_t limit;
    bool has_norm;
    double clip;
} judged;

static czr_collect_decision *decision_of(const judged *of)
{
    return deferred_at(of->decision, sizeof *of->decision);
}

static int64_t *faults_of(const judged *of)
{
    return deferred_at(of->faults.words,
                       (size_t)of->faults.n_ranks * sizeof(int64_t));
}

static void begin(const void *given)
{
    czr_collect_decision *v = decision_of(given);
    int64_t *faults = faults_of(given);

    if (!v || !faults)
        return;
    const czr_collect_decision old = *v;
    const czr_collect_faults *of = &((const judged *)given)->faults;
    memset(faults, 0, (size_t)of->n_ranks * sizeof *faults);
    if (old.status)
        faults[of->rank] = (int64_t)(old.mark + 1) * 256 + old.status;
    *v = (czr_collect_decision){.steps = old.steps,
                                .sequence = old.sequence,
                                .t = old.t,
                                .status = old.status,
                                .mark = old.mark,
                                .update = old.update,
                                .undone = old.undone,
                                .refused = old.refused,
                                .refusal = old.refusal,
                                .stopped = old.stopped,
                                .refused_beyond = old.refused_beyond,
                                .beyond = INT32_MAX,
                                .clip = 1};
    v->norm[CZR_NORM_FAULTS] = v->counts[CZR_COLLECT_FAULTY] = old.status != 0;
}

czr_status czr_collect_begin(czr_collect *collect,
                             czr_collect_decision *decision,
                             const czr_collect_faults *faults, void *stream)
{
    const judged given = {.decision = decision, .faults = *faults};

    return PUT(collect, begin, given, stream);
}

/* One span after the other. */
static const czr_collect_span *span_at(const judged *of, int i,
                                       const float **data)
{
    const czr_collect_span *rows =
        deferred_at(of->spans.rows, (size_t)of->spans.n * sizeof *rows);

    *data = rows ? deferred_at(rows[i].data, rows[i].n * sizeof **data) : NULL;
    return *data ? &rows[i] : NULL;
}

static void add_norm(const void *given)
{
    const judged *of = given;
    czr_collect_decision *v = decision_of(of);

    for (int i = 0; v && i < of->spans.n; i++) {
        const float *data;
        const czr_collect_span *span = span_at(of, i, &data);
        if (!span)
            return;
        czr_norm_add((czr_norm *)(void *)v, data, span->n);
    }
}

czr_status czr_collect_norm(czr_collect *collect,
                            const czr_collect_spans *spans,
                            czr_collect_decision *decision, void *stream)
{
    const judged given = {.spans = *spans, .decision = decision};

    return spans->n ? PUT(collect, add_norm, given, stream) : CZR_OK;
}

static void ask(const void *given)
{
    const judged *of = given;
    const czr_collect_decision *v = deferred_at(of->seen, sizeof *v);
    int64_t *word = deferred_at(of->word, sizeof *word);

    if (v && word)
        *word = v->largest >= of->limit;
}

czr_status czr_collect_ask(czr_collect *collect,
                           const czr_collect_decision *decision, int64_t *word,
                           int32_t limit, void *stream)
{
    const judged given = {.seen = decision, .word = word, .limit = limit};

    return PUT(collect, ask, given, stream);
}

static bool is_beyond(const czr_collect_span *span, const float *data)
{
    for (uint64_t i = 0; i < span->n; i++) {
        int32_t bits;
        memcpy(&bits, data + i, sizeof bits);
        if ((bits & INT32_MAX) >= span->limit)
            return true;
    }
    return false;
}

static void look(const void *given)
{
    const judged *of = given;
    czr_collect_decision *v = decision_of(of);

    for (int i = 0;
         v && v->counts[CZR_COLLECT_MAY_BE_BEYOND] && i < of->spans.n; i++) {
        const float *data;
        const czr_collect_span *span = span_at(of, i, &data);
        if (!span || !is_beyond(span, data))
            continue;
        v->counts[CZR_COLLECT_BEYOND] = 1;
        if (span->param < v->beyond)
            v->beyond = span->param;
    }
}

czr_status czr_collect_guard(czr_collect *collect,
                             const czr_collect_spans *spans,
                             czr_collect_decision *decision, void *stream)
{
    const judged given = {.spans = *spans, .decision = decision};

    return PUT(collect, look, given, stream);
}

static czr_collect_reason reason_of(const czr_collect_decision *v,
                                    bool has_norm)
{
    if (v->counts[CZR_COLLECT_FAULTY] || v->norm[CZR_NORM_FAULTS] || v->stopped)
        return CZR_COLLECT_FAULT;
    if (v->counts[CZR_COLLECT_BEYOND])
        return CZR_COLLECT_GRADIENT;
    return has_norm && !czr_norm_is_finite((const czr_norm *)(const void *)v)
               ? CZR_COLLECT_NORM
               : CZR_COLLECT_APPLIED;
}

static void tell(const czr_collect_decision *v, czr_collect_reason reason,
                 czr_collect_result *to)
{
    to->grad_norm = v->grad_norm;
    to->step = v->steps;
    to->reason = (int32_t)reason;
    to->beyond = v->beyond;
    if (v->status && reason != CZR_COLLECT_FAULT) {
        to->status = v->status;
        to->mark = v->mark;
        to->update = v->update;
    }
    to->refused = v->refused;
    to->refusal = v->refusal;
    to->refused_beyond = v->refused_beyond;
    to->sequence = v->sequence;
}

static int first_fault(const int64_t *faults, int n_ranks)
{
    int rank = 0;

    while (rank < n_ranks && !faults[rank])
        rank++;
    return rank;
}

static void name_fault(const czr_collect_decision *v, const int64_t *faults,
                       int rank, czr_collect_result *to)
{
    to->status = (int32_t)(faults[rank] % 256);
    to->mark = (int32_t)(faults[rank] / 256 - 1);
    to->rank = rank;
    to->update = v->steps;
}

static void decide(const void *given)
{
    const judged *of = given;
    czr_collect_decision *v = decision_of(of);
    const int64_t *faults = faults_of(of);

    if (!v || !faults)
        return;
    const czr_collect_reason reason = reason_of(v, of->has_norm);
    if (of->has_norm)
        v->grad_norm = czr_norm_root((const czr_norm *)(const void *)v);
    if (of->clip > 0) {
        const double clip = of->clip / (v->grad_norm + 1e-6);
        v->clip = clip > 1 ? 1 : clip;
    }
    if (reason == CZR_COLLECT_GRADIENT || reason == CZR_COLLECT_NORM) {
        v->refused++;
        v->refusal = (int32_t)reason;
        v->refused_beyond = v->beyond;
    }
    v->skip = reason != CZR_COLLECT_APPLIED;
    v->steps += !v->skip;
    v->t = (double)v->steps;
    v->sequence++;
    if (reason == CZR_COLLECT_FAULT && !v->stopped)
        name_fault(v, faults, first_fault(faults, of->faults.n_ranks),
                   of->result);
    v->stopped = reason == CZR_COLLECT_FAULT;
    tell(v, reason, of->result);
}

czr_status czr_collect_decide(czr_collect *collect,
                              czr_collect_decision *decision, bool has_norm,
                              double clip, const czr_collect_faults *faults,
                              czr_collect_result *result, void *stream)
{
    const judged given = {.decision = decision,
                          .faults = *faults,
                          .result = result,
                          .has_norm = has_norm,
                          .clip = clip};

    return PUT(collect, decide, given, stream);
}

/* ---- rules that failed -------------------------------------------------- */

typedef struct failing {
    czr_collect_marks marks;
    czr_collect_decision *decision;
    int64_t *faults;
    int rank, n_ranks;
    const czr_collect_result *decided;
    czr_collect_result *reported;
} failing;

static void note(const void *given)
{
    const failing *of = given;
    czr_collect_decision *v = deferred_at(of->decision, sizeof *v);
    const size_t bytes = of->marks.n * sizeof(int32_t);
    int32_t *marks = bytes ? deferred_at(of->marks.words, bytes) : NULL;
    int64_t *faults =
        deferred_at(of->faults, (size_t)of->n_ranks * sizeof *faults);
    uint64_t first = 0;

    if (!v || !faults || (bytes && !marks))
        return;
    while (first < of->marks.n && !marks[first])
        first++;
    memset(faults, 0, (size_t)of->n_ranks * sizeof *faults);
    if (first == of->marks.n)
        return;
    faults[of->rank] = (int64_t)(first + 1) * 256 + marks[first];
    if (!v->status) {
        v->status = marks[first];
        v->mark = (int32_t)first;
        v->update = v->steps;
    }
    memset(marks, 0, bytes);
}

czr_status czr_collect_note(czr_collect *collect,
                            const czr_collect_marks *marks,
                            czr_collect_decision *decision, int64_t *faults,
                            int rank, int n_ranks, void *stream)
{
    const failing given = {.marks = *marks,
                           .decision = decision,
                           .faults = faults,
                           .rank = rank,
                           .n_ranks = n_ranks};

    return PUT(collect, note, given, stream);
}

static void settle(const void *given)
{
    const failing *of = given;
    czr_collect_decision *v = deferred_at(of->decision, sizeof *v);
    const int64_t *faults =
        deferred_at(of->faults, (size_t)of->n_ranks * sizeof *faults);

    if (!v || !faults)
        return;
    const int rank = first_fault(faults, of->n_ranks);
    v->sound = rank == of->n_ranks;
    if (!v->sound) {
        name_fault(v, faults, rank, of->reported);
        of->reported->undone = ++v->undone;
        v->t = (double)--v->steps;
        v->status = CZR_OK;
    }
    tell(v,
         v->sound ? (czr_collect_reason)of->decided->reason
                  : CZR_COLLECT_UNDONE,
         of->reported);
}

czr_status czr_collect_settle(czr_collect *collect,
                              czr_collect_decision *decision,
                              const int64_t *faults, int n_ranks,
                              const czr_collect_result *decided,
                              czr_collect_result *reported, void *stream)
{
    union {
        const int64_t *given;
        int64_t *taken;
    } all = {.given = faults};
    const failing given = {.decision = decision,
                           .faults = all.taken,
                           .n_ranks = n_ranks,
                           .decided = decided,
                           .reported = reported};

    return PUT(collect, settle, given, stream);
}

bool czr_collect_read(const czr_collect_result *result, int64_t sequence,
                      czr_collect_result *out)
{
    *out = *result;
    return out->sequence == sequence;
}

bool czr_collect_has_fault(const czr_collect_result *result)
{
    return result->reason == CZR_COLLECT_FAULT;
}
