/* What a test of a plan does on each of its ranks, on the host, on the double
 * of a device or on one: tensors, gradients, run-time values, and what is left
 * at the end, for comparison. */
#ifndef TESTS_CUDA_LOOPBACK_RANK_H
#define TESTS_CUDA_LOOPBACK_RANK_H

#include "runtime/cuda/driver/context.h"
#include "runtime/program/program.h"

enum {
    RANK_MAX = 64,
    RANK_BAD_STEP = 3,
    RANK_SET_STEP = 4, /* in which the number of updates is set */
    RANK_SET_TO = 20,
    RANK_MAX_HYPERS = 256
};

/* Gradients are drawn for each step, or so and one is not a number, or they
 * stay: then no trainer's stream orders steps; or they are drawn, but run-time
 * values of one step have no bounds, some gradients of two others are zeros,
 * and what rules make of that is undone; or it is not. */
typedef enum rank_variety {
    RANK_DRAWN,
    RANK_BAD,
    RANK_CONSTANT,
    RANK_UNDONE,
    RANK_VARIETIES,
    RANK_POISONED = RANK_VARIETIES
} rank_variety;
enum { RANK_WILD_STEP = 1, RANK_TEXT = 320, RANK_STEP_BYTES = 32 + RANK_TEXT };

extern const uint64_t rank_seed;
extern const czr_program *rank_program; /* set by who runs it */
extern bool rank_has_batches; /* which use less of the plan's scratch */

typedef struct trace {
    unsigned char *bytes;
    size_t n, room;
} trace;

/* Of each rank: results of all steps, then parameters, states and counters. */
typedef struct outcome {
    trace of[RANK_MAX];
} outcome;

/* Every other parameter is bound where it lies, the rest to these, unless all
 * are placed. */
typedef struct loose {
    unsigned char *param, *grad; /* [n_params], NULL where in place */
    unsigned char *seen; /* what rank_read read of the parameter, or NULL */
} loose;

typedef struct run {
    bool is_device, has_bad_step;
    bool is_failing;  /* rules, in two steps */
    bool is_constant; /* gradients, which are given before the first step alone
                       */
    bool is_alike;    /* copies of a parameter are, but for those of */
    int drifted;      /* this rank; -1: none */
    bool is_placed;   /* all tensors: copies of the host's make it wait */
    loose *tensors[RANK_MAX]; /* [n_params] */
    void *stream;   /* trainers' of the device; NULL: each step is waited for */
    bool is_early;  /* gradients are said to be there one by one, in every other
                     * step all of them */
    bool has_hooks; /* some of them on a thread of their own */
    bool is_legacy; /* `stream` is not there: NULL is the trainers' stream */
    void *side;     /* with `stream`: another of trainers', which steps do not
                     * wait for by themselves */
    czr_context *context;
    int n_ahead; /* by rank_read: other buckets that were not there yet when one
                  * was, again and again */
    void *copier; /* on the machine's GPU, a stream by which its memory is read
                   * and written; NULL: the host reaches memory of the double */
} run;

void rank_drop(outcome *out);
/* The trainers' stream, for calls of the runtime. */
void *rank_stream(const run *r);
/* Binds and seals; parameters are drawn. */
czr_status rank_open(run *r, czr_engine *engine, int rank);
void rank_close(run *r, int rank);
/* Gradients and externs of a step, the last gradient first. */
czr_status rank_give(run *r, czr_engine *engine, int rank, int step);
czr_hyper rank_hyper(const run *r, int step, double values[RANK_MAX_HYPERS]);
/* A failure behind which an engine goes on. */
bool rank_is_refusal(const run *r, czr_status status);
/* Into the trace of a rank: what a step said, in RANK_STEP_BYTES; parameters,
 * states, counters. */
void rank_note_step(const run *r, const czr_engine *engine, trace *t,
                    czr_status status, const czr_result *result);
void rank_note(run *r, czr_engine *engine, int rank, trace *t);
/* Each parameter on a stream that waits for it alone, which is what rank_note
 * notes then; the rest of the step may be on its way still. */
czr_status rank_read(run *r, czr_engine *engine, int rank);

#endif
