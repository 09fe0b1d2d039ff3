/* A flight recorder: the last operations of one rank.  It takes no memory and
 * no lock; other threads may read while the rank writes, and then may see an
 * operation half replaced by a later one. */
#ifndef CZR_WORLD_RECORDER_H
#define CZR_WORLD_RECORDER_H

#include <stddef.h>
#include <stdint.h>

enum { CZR_N_RECORDS = 128, CZR_LABEL_WORDS = 16, CZR_LABEL_BYTES = 128 };

/* Read and written by recorder.c alone, each field as an atomic. */
typedef struct czr_record {
    int64_t number; /* of the operation, from 1; 0: none */
    const char *what;
    int64_t op, step, bytes;  /* op -1: none of a plan */
    int64_t matrices, flops;  /* -1: none that is counted */
    int64_t begin_ns, end_ns; /* end 0: it is under way */
    uint64_t label[CZR_LABEL_WORDS];
} czr_record;

/* All zero is an empty one. */
typedef struct czr_recorder {
    int64_t n; /* operations so far */
    czr_record records[CZR_N_RECORDS];
} czr_recorder;

/* An operation of a plan on one rank: what it is about, and what it computes.
 * Of what is no kernel matrices and flops are -1; matrices are, too, of what is
 * cut anywhere. */
typedef struct czr_record_work {
    char label[CZR_LABEL_BYTES];
    int64_t matrices, flops;
} czr_record_work;

/* Begins an operation, and returns its number.  `what` is static text; `work`
 * may be NULL. */
int64_t czr_recorder_begin(czr_recorder *recorder, const char *what, int op,
                           int64_t step, const czr_record_work *work);
void czr_recorder_end(czr_recorder *recorder, int64_t number, int64_t bytes);
/* Where the rank was last seen, for a sentence, into text[n]; and when, on the
 * clock of records, 0: never. */
void czr_recorder_print_last(const czr_recorder *recorder, char *text,
                             size_t n);
int64_t czr_recorder_last_ns(const czr_recorder *recorder);
/* Where the environment has CZR_TRACE_FOLDER: NAME.trace.json there, with the
 * failure and what the recorders of ranks first to first + n - 1 hold, as trace
 * events.  What cannot be written is not. */
void czr_recorder_write(const char *name, const czr_recorder *const *recorders,
                        int first, int n, const char *why);

#endif
