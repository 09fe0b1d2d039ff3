#define _POSIX_C_SOURCE 200809L
#include "runtime/world/recorder.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STORE(to, value) __atomic_store_n(&(to), (value), __ATOMIC_RELAXED)
#define LOAD(from) __atomic_load_n(&(from), __ATOMIC_RELAXED)

static int64_t now_ns(void)
{
    enum { NS = 1000000000 };
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * NS + time.tv_nsec;
}

int64_t czr_recorder_begin(czr_recorder *recorder, const char *what, int op,
                           int64_t step, const char *label)
{
    const int64_t number =
        __atomic_fetch_add(&recorder->n, 1, __ATOMIC_RELAXED) + 1;
    czr_record *record = &recorder->records[number % CZR_N_RECORDS];
    uint64_t words[CZR_LABEL_WORDS] = {0};

    if (label)
        memcpy(words, label, CZR_LABEL_BYTES);
    STORE(record->number, number);
    STORE(record->what, what);
    STORE(record->op, (int64_t)op);
    STORE(record->step, step);
    STORE(record->bytes, (int64_t)0);
    STORE(record->begin_ns, now_ns());
    STORE(record->end_ns, (int64_t)0);
    for (int i = 0; i < CZR_LABEL_WORDS; i++)
        STORE(record->label[i], words[i]);
    return number;
}

void czr_recorder_end(czr_recorder *recorder, int64_t number, int64_t bytes)
{
    czr_record *record = &recorder->records[number % CZR_N_RECORDS];

    if (LOAD(record->number) != number)
        return; /* later ones have its place */
    STORE(record->bytes, bytes);
    STORE(record->end_ns, now_ns());
}

static const czr_record *last_of(const czr_recorder *recorder)
{
    const czr_record *last =
        &recorder->records[LOAD(recorder->n) % CZR_N_RECORDS];

    return LOAD(last->number) ? last : NULL;
}

int64_t czr_recorder_last_ns(const czr_recorder *recorder)
{
    const czr_record *last = last_of(recorder);

    if (!last)
        return 0;
    const int64_t end = LOAD(last->end_ns);
    return end ? end : LOAD(last->begin_ns);
}

static void label_of(const czr_record *record, char label[CZR_LABEL_BYTES + 1])
{
    uint64_t words[CZR_LABEL_WORDS];

    for (int i = 0; i < CZR_LABEL_WORDS; i++)
        words[i] = LOAD(record->label[i]);
    memcpy(label, words, CZR_LABEL_BYTES);
    label[CZR_LABEL_BYTES] = 0;
}

void czr_recorder_print_last(const czr_recorder *recorder, char *text, size_t n)
{
    enum { NS_PER_MS = 1000000 };
    const czr_record *last = last_of(recorder);
    char number[32] = "", label[CZR_LABEL_BYTES + 1];

    if (!last) {
        snprintf(text, n, "before its first operation");
        return;
    }
    const long long ms =
        (now_ns() - czr_recorder_last_ns(recorder)) / NS_PER_MS;
    const bool is_over = LOAD(last->end_ns) != 0;
    const int64_t op = LOAD(last->op);
    label_of(last, label);
    if (op >= 0)
        snprintf(number, sizeof number, "operation %lld, ", (long long)op);
    snprintf(text, n,
             is_over ? "behind %s%s%s%s, %lld ms ago"
                     : "in %s%s%s%s, for %lld ms",
             number, LOAD(last->what), *label ? " of " : "", label, ms);
}
