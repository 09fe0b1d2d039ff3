#define _POSIX_C_SOURCE 200809L
#include "runtime/world/recorder.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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
                           int64_t step, const czr_record_work *work)
{
    const int64_t number =
        __atomic_fetch_add(&recorder->n, 1, __ATOMIC_RELAXED) + 1;
    czr_record *record = &recorder->records[number % CZR_N_RECORDS];
    uint64_t words[CZR_LABEL_WORDS] = {0};

    if (work)
        memcpy(words, work->label, CZR_LABEL_BYTES);
    STORE(record->number, number);
    STORE(record->what, what);
    STORE(record->op, (int64_t)op);
    STORE(record->step, step);
    STORE(record->bytes, (int64_t)0);
    STORE(record->matrices, work ? work->matrices : -1);
    STORE(record->flops, work ? work->flops : -1);
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

/* ---- the file of a failure --------------------------------------------- */

/* As a string of JSON. */
static void put_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            fprintf(file, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            fputc(*c, file);
    fputc('"', file);
}

static void put_us(FILE *file, const char *key, int64_t ns)
{
    enum { NS_PER_US = 1000 };

    fprintf(file, ",\"%s\":%lld.%03d", key, (long long)(ns / NS_PER_US),
            (int)(ns % NS_PER_US));
}

/* An operation that is under way begins (B), and has no end. */
static void put_record(FILE *file, const czr_record *record, int rank)
{
    const int64_t begin = LOAD(record->begin_ns), end = LOAD(record->end_ns);
    char label[CZR_LABEL_BYTES + 1], name[2 * CZR_LABEL_BYTES];

    label_of(record, label);
    snprintf(name, sizeof name, "%s%s%s", LOAD(record->what),
             *label ? " of " : "", label);
    fputs(",\n{\"name\":", file);
    put_string(file, name);
    fprintf(file, ",\"ph\":\"%s\",\"pid\":%d,\"tid\":0", end ? "X" : "B", rank);
    put_us(file, "ts", begin);
    if (end)
        put_us(file, "dur", end > begin ? end - begin : 0);
    fprintf(file, ",\"args\":{\"op\":%lld,\"step\":%lld,\"bytes\":%lld,",
            (long long)LOAD(record->op), (long long)LOAD(record->step),
            (long long)LOAD(record->bytes));
    if (LOAD(record->matrices) >= 0)
        fprintf(file, "\"matrices\":%lld,", (long long)LOAD(record->matrices));
    if (LOAD(record->flops) >= 0)
        fprintf(file, "\"flops\":%lld,", (long long)LOAD(record->flops));
    fprintf(file, "\"begin_ns\":%lld,\"end_ns\":%lld}}", (long long)begin,
            (long long)end);
}

static void put_rank(FILE *file, const czr_recorder *recorder, int rank,
                     bool is_first)
{
    const int64_t n = LOAD(recorder->n);

    fprintf(file,
            "%s\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":0,"
            "\"args\":{\"name\":\"rank %d\"}}",
            is_first ? "" : ",", rank, rank);
    for (int64_t i = n > CZR_N_RECORDS ? n - CZR_N_RECORDS + 1 : 1; i <= n; i++)
        if (LOAD(recorder->records[i % CZR_N_RECORDS].number) == i)
            put_record(file, &recorder->records[i % CZR_N_RECORDS], rank);
}

void czr_recorder_write(const char *name, const czr_recorder *const *recorders,
                        int first, int n, const char *why)
{
    enum { PATH_BYTES = 4096 };
    const char *folder = getenv("CZR_TRACE_FOLDER");
    char path[PATH_BYTES], draft[PATH_BYTES];

    if (!folder || !*folder)
        return;
    snprintf(path, sizeof path, "%s/%s.trace.json", folder, name);
    if (snprintf(draft, sizeof draft, "%s/%s.%p.draft", folder, name,
                 (const void *)recorders) >= PATH_BYTES - 16)
        return;
    FILE *file = fopen(draft, "w");
    if (!file)
        return;
    fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"failure\":", file);
    put_string(file, why);
    fprintf(file, ",\"at_ns\":%lld},\"traceEvents\":[", (long long)now_ns());
    for (int i = 0; i < n; i++)
        put_rank(file, recorders[i], first + i, i == 0);
    fputs("\n]}\n", file);
    const bool is_good = !ferror(file);
    if (fclose(file) != 0 || !is_good || rename(draft, path) != 0)
        remove(draft);
}
