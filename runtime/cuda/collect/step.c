/* What a step decides by: launches, and what the host reads. */
#include "runtime/cuda/collect/internal.h"

#include <stdatomic.h>

void czr_collect_number(czr_collect_span *spans, size_t n_spans,
                        uint64_t *n_jobs)
{
    *n_jobs = 0;
    for (size_t i = 0; i < n_spans; i++) {
        spans[i].first = *n_jobs;
        *n_jobs += spans[i].n / CZR_COLLECT_CHUNK +
                   (spans[i].n % CZR_COLLECT_CHUNK > 0);
    }
}

static czr_status put_one(czr_collect *collect, czr_collect_kernel kernel,
                          void **arguments, void *stream)
{
    return czr_collect_put(collect, (czr_collect_work){kernel, 1, 1}, arguments,
                           stream);
}

static czr_status put_block(czr_collect *collect, czr_collect_kernel kernel,
                            void **arguments, void *stream)
{
    return czr_collect_put(collect,
                           (czr_collect_work){kernel, 1, CZR_COLLECT_THREADS},
                           arguments, stream);
}

static czr_status put_spans(czr_collect *collect, czr_collect_kernel kernel,
                            const czr_collect_spans *spans,
                            czr_collect_decision *decision, void *stream)
{
    czr_collect_spans of = *spans;
    void *arguments[] = {&of.rows, &of.n, &of.n_jobs, &decision};

    return czr_collect_put(
        collect, (czr_collect_work){kernel, spans->n_jobs, CZR_COLLECT_THREADS},
        arguments, stream);
}

czr_status czr_collect_begin(czr_collect *collect,
                             czr_collect_decision *decision, void *stream)
{
    void *arguments[] = {&decision};

    return put_one(collect, CZR_COLLECT_begin, arguments, stream);
}

czr_status czr_collect_norm(czr_collect *collect,
                            const czr_collect_spans *spans,
                            czr_collect_decision *decision, void *stream)
{
    return put_spans(collect, CZR_COLLECT_norm, spans, decision, stream);
}

czr_status czr_collect_ask(czr_collect *collect,
                           const czr_collect_decision *decision, int64_t *word,
                           int32_t limit,
                           const czr_collect_rank_words *rank_words,
                           void *stream)
{
    czr_collect_rank_words of = *rank_words;
    void *arguments[] = {&decision,  &word,      &limit,
                         &of.words,  &of.rank,   &of.n_ranks,
                         &of.number, &of.hypers, &of.n_hypers};

    return put_block(collect, CZR_COLLECT_ask, arguments, stream);
}

czr_status czr_collect_guard(czr_collect *collect,
                             const czr_collect_spans *spans,
                             czr_collect_decision *decision, void *stream)
{
    return put_spans(collect, CZR_COLLECT_guard, spans, decision, stream);
}

czr_status czr_collect_decide(czr_collect *collect,
                              czr_collect_decision *decision, bool has_norm,
                              double clip,
                              const czr_collect_rank_words *rank_words,
                              czr_collect_result *result, void *stream)
{
    int norm = has_norm;
    czr_collect_rank_words of = *rank_words;
    void *arguments[] = {&decision, &norm,       &clip,
                         &of.words, &of.n_ranks, &result};

    return put_block(collect, CZR_COLLECT_decide, arguments, stream);
}

czr_status czr_collect_note(czr_collect *collect,
                            const czr_collect_marks *marks,
                            czr_collect_decision *decision,
                            const czr_collect_rank_words *rank_words,
                            void *stream)
{
    czr_collect_marks of = *marks;
    czr_collect_rank_words told = *rank_words;
    void *arguments[] = {&of.words,   &of.n,      &decision,
                         &told.words, &told.rank, &told.n_ranks};

    return put_block(collect, CZR_COLLECT_note, arguments, stream);
}

czr_status czr_collect_settle(czr_collect *collect,
                              czr_collect_decision *decision,
                              const czr_collect_rank_words *rank_words,
                              const czr_collect_result *decided,
                              czr_collect_result *reported, void *stream)
{
    czr_collect_rank_words of = *rank_words;
    void *arguments[] = {&decision, &of.words, &of.n_ranks, &decided,
                         &reported};

    return put_block(collect, CZR_COLLECT_settle, arguments, stream);
}

bool czr_collect_read(const czr_collect_result *result, int64_t sequence,
                      czr_collect_result *out)
{
    const volatile czr_collect_result *written = result;

    if (written->sequence != sequence)
        return false;
    atomic_thread_fence(memory_order_acquire);
    *out = *result;
    return true;
}

bool czr_collect_has_fault(const czr_collect_result *result)
{
    const volatile czr_collect_result *written = result;

    if (!written->sequence)
        return false;
    atomic_thread_fence(memory_order_acquire);
    return written->reason == CZR_COLLECT_FAULT;
}
