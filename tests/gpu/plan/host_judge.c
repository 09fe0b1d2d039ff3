/* Gradients of parameters, and the decision. */
#include "tests/gpu/plan/host_collect.h"

#include "runtime/engine/engine.h"

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
    czr_collect_rank_words rank_words;
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

static int64_t *words_of(const czr_collect_rank_words *of)
{
    return deferred_at(of->words, (size_t)of->n_ranks * sizeof(int64_t));
}

static void begin(const void *given)
{
    czr_collect_decision *v = decision_of(given);

    if (!v)
        return;
    const czr_collect_decision old = *v;
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
                             czr_collect_decision *decision, void *stream)
{
    const judged given = {.decision = decision};

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

static int64_t fault_of(int32_t status, int64_t mark)
{
    return CZR_COLLECT_FAULT_WORD | (mark + 1) << 8 | status;
}

static void ask(const void *given)
{
    const judged *of = given;
    const czr_collect_decision *v = deferred_at(of->seen, sizeof *v);
    int64_t *word = deferred_at(of->word, sizeof *word);
    const czr_collect_rank_words *to = &of->rank_words;
    int64_t *words = words_of(to);
    const size_t bytes = (size_t)to->n_hypers * sizeof(double);
    const double *hypers = bytes ? deferred_at(to->hypers, bytes) : NULL;

    if (!v || !word || !words || (bytes && !hypers))
        return;
    *word = v->largest >= of->limit;
    memset(words, 0, (size_t)to->n_ranks * sizeof *words);
    words[to->rank] = v->status ? fault_of(v->status, v->mark)
                                : czr_identity_word(to->number, v->steps + 1,
                                                    hypers, to->n_hypers);
}

czr_status czr_collect_ask(czr_collect *collect,
                           const czr_collect_decision *decision, int64_t *word,
                           int32_t limit,
                           const czr_collect_rank_words *rank_words,
                           void *stream)
{
    const judged given = {.seen = decision,
                          .word = word,
                          .limit = limit,
                          .rank_words = *rank_words};

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

static int first_fault(const int64_t *words, int n_ranks)
{
    int rank = 0;

    while (rank < n_ranks && words[rank] >= 0)
        rank++;
    return rank;
}

static void name_fault(const czr_collect_decision *v, const int64_t *words,
                       int rank, czr_collect_result *to)
{
    const int64_t told = words[rank] & INT64_MAX;

    to->status = (int32_t)(told % 256);
    to->mark = (int32_t)(told / 256 - 1);
    to->rank = rank;
    to->update = v->steps;
}

static void decide(const void *given)
{
    const judged *of = given;
    czr_collect_decision *v = decision_of(of);
    const int64_t *words = words_of(&of->rank_words);
    const int n_ranks = of->rank_words.n_ranks;
    czr_collect_result *to = of->result;
    int ranks[2];

    if (!v || !words)
        return;
    const int fault = first_fault(words, n_ranks);
    const bool is_alone =
        fault == n_ranks && czr_identity_find(words, n_ranks, ranks);
    const czr_collect_reason reason =
        is_alone ? CZR_COLLECT_FAULT : reason_of(v, of->has_norm);
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
    if (is_alone && !v->stopped) {
        to->status = CZR_ERR_MISMATCH;
        to->update = v->steps;
        to->rank = ranks[0];
        to->other = ranks[1];
        for (int i = 0; i < 2; i++)
            to->words[i] = words[ranks[i]];
    }
    if (fault < n_ranks && reason == CZR_COLLECT_FAULT && !v->stopped)
        name_fault(v, words, fault, to);
    v->stopped = reason == CZR_COLLECT_FAULT;
    tell(v, reason, to);
}

czr_status czr_collect_decide(czr_collect *collect,
                              czr_collect_decision *decision, bool has_norm,
                              double clip,
                              const czr_collect_rank_words *rank_words,
                              czr_collect_result *result, void *stream)
{
    const judged given = {.decision = decision,
                          .rank_words = *rank_words,
                          .result = result,
                          .has_norm = has_norm,
                          .clip = clip};

    return PUT(collect, decide, given, stream);
}

/* ---- rules that failed -------------------------------------------------- */

typedef struct failing {
    czr_collect_marks marks;
    czr_collect_decision *decision;
    czr_collect_rank_words rank_words;
    const czr_collect_result *decided;
    czr_collect_result *reported;
} failing;

static void note(const void *given)
{
    const failing *of = given;
    czr_collect_decision *v = deferred_at(of->decision, sizeof *v);
    const size_t bytes = of->marks.n * sizeof(int32_t);
    int32_t *marks = bytes ? deferred_at(of->marks.words, bytes) : NULL;
    int64_t *words = words_of(&of->rank_words);
    uint64_t first = 0;

    if (!v || !words || (bytes && !marks))
        return;
    while (first < of->marks.n && !marks[first])
        first++;
    memset(words, 0, (size_t)of->rank_words.n_ranks * sizeof *words);
    if (first == of->marks.n)
        return;
    words[of->rank_words.rank] = fault_of(marks[first], (int64_t)first);
    if (!v->status) {
        v->status = marks[first];
        v->mark = (int32_t)first;
        v->update = v->steps;
    }
    memset(marks, 0, bytes);
}

czr_status czr_collect_note(czr_collect *collect,
                            const czr_collect_marks *marks,
                            czr_collect_decision *decision,
                            const czr_collect_rank_words *rank_words,
                            void *stream)
{
    const failing given = {
        .marks = *marks, .decision = decision, .rank_words = *rank_words};

    return PUT(collect, note, given, stream);
}

static void settle(const void *given)
{
    const failing *of = given;
    czr_collect_decision *v = deferred_at(of->decision, sizeof *v);
    const int64_t *words = words_of(&of->rank_words);
    const int n_ranks = of->rank_words.n_ranks;

    if (!v || !words)
        return;
    const int rank = first_fault(words, n_ranks);
    v->sound = rank == n_ranks;
    if (!v->sound) {
        name_fault(v, words, rank, of->reported);
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
                              const czr_collect_rank_words *rank_words,
                              const czr_collect_result *decided,
                              czr_collect_result *reported, void *stream)
{
    const failing given = {.decision = decision,
                           .rank_words = *rank_words,
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
