/* A rank's life over NCCL. */
#define _POSIX_C_SOURCE 200809L
#include "tests/gpu/world/nccl_rank.h"

#include "runtime/cuda/exec/rank.h"

#include <time.h>

enum { SLOT_BYTES = 4096 };

const czr_cuda_program *nccl_rank_program;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Others go on meanwhile. */
static void pause_for(int ms)
{
    const struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

    fake_end_turn();
    nanosleep(&pause, NULL);
    fake_begin_turn();
}

/* Whether this rank goes on behind its second step. */
static bool stays(const test_rank *self, wish *w, int step)
{
    if (step != NCCL_RANK_LAST_STEP)
        return true;
    w->seconds[self->rank] = -now();
    if (self->rank != w->leaver)
        return true;
    if (w->slow_ms)
        pause_for(w->slow_ms);
    else if (w->leave)
        w->leave();
    return w->slow_ms > 0;
}

/* Parameters behind their waits; then the step comes to its end. */
static czr_status read_behind(test_rank *self, wish *w, run *r,
                              czr_engine *engine)
{
    const czr_status status = rank_read(r, engine, self->rank);

    w->n_ahead += r->n_ahead;
    return status == CZR_OK
               ? czr_context_synchronize(self->context, engine->cuda->main, 0)
               : status;
}

static czr_status call(rank_call of, czr_process *process,
                       const czr_hyper *hyper, void *stream)
{
    czr_engine *engine = czr_process_engine(process);

    if (of == CALL_STEP)
        return czr_process_step(process, hyper, CZR_NO_STREAM, NULL);
    return of == CALL_STEP_SET ? czr_step_set(engine, RANK_SET_TO)
                               : czr_param_wait(engine, 0, stream);
}

/* This thread has the turn: the next to enter a context is the call itself. */
static czr_status fail_call(const test_rank *self, rank_call of,
                            czr_process *process, const czr_hyper *hyper)
{
    void *stream;
    czr_status status = czr_context_open_stream(self->context, &stream);

    RANK_CHECK(status == CZR_OK);
    fake_fail("cuCtxSetCurrent", 1, CZR_CUDA_ILLEGAL_ADDRESS);
    status = call(of, process, hyper, stream);
    RANK_CHECK(fake_has_failed());
    czr_context_close_stream(self->context, stream);
    return status;
}

static czr_status run_steps(test_rank *self, wish *w, run *r,
                            czr_process *process)
{
    czr_engine *engine = czr_process_engine(process);
    const int steps = w->steps ? w->steps : NCCL_RANK_STEPS;
    czr_status status = rank_open(r, engine, self->rank);

    for (int step = 0; step < steps && status == CZR_OK; step++) {
        double values[RANK_MAX_HYPERS];
        czr_result result = {0};
        const czr_hyper hyper = rank_hyper(r, step, values);
        if (w->is_odd_rated && self->rank == self->size - 1 &&
            step == NCCL_RANK_LAST_STEP)
            values[0] *= 1.5;
        const bool is_waited =
            !w->is_late || (step == steps - 1 && !w->is_reading);
        if (!stays(self, w, step))
            return CZR_OK;
        if (w->odd_fails && self->rank == self->size - 1 &&
            step == NCCL_RANK_LAST_STEP) {
            status = fail_call(self, w->odd_fails, process, &hyper);
            break;
        }
        status = rank_give(r, engine, self->rank, step);
        if (status != CZR_OK)
            break;
        /* What is said of the step before is said instead of this one. */
        for (int tries = 0; tries == 0 || (w->is_late && tries < 3 &&
                                           rank_is_refusal(r, status));
             tries++) {
            status = czr_process_step(process, &hyper, rank_stream(r),
                                      is_waited ? &result : NULL);
            w->n_refused += status == CZR_ERR_GRADIENT;
        }
        if (is_waited)
            rank_note_step(r, engine, &w->out.of[self->rank], status, &result);
        if (rank_is_refusal(r, status) && (w->undoes || !w->is_failing))
            status = CZR_OK;
    }
    if (status == CZR_OK && w->is_reading)
        status = read_behind(self, w, r, engine);
    w->seconds[self->rank] += now();
    if (status == CZR_OK)
        rank_note(r, engine, self->rank, &w->out.of[self->rank]);
    return status;
}

/* Two of the trainer's where steps are not waited for, and what a GPU's memory
 * is read by. */
static void open_streams(const test_rank *self, const wish *w, run *r)
{
    czr_context *context = self->context;

    RANK_CHECK(!w->is_late ||
               (czr_context_open_stream(context, &r->stream) == CZR_OK &&
                czr_context_open_stream(context, &r->side) == CZR_OK));
    RANK_CHECK(!w->has_copier ||
               czr_context_open_stream(context, &r->copier) == CZR_OK);
}

static void close_streams(const test_rank *self, run *r)
{
    if (r->side)
        czr_context_drain(self->context, r->side);
    czr_context_close_stream(self->context, r->stream);
    czr_context_close_stream(self->context, r->side);
    czr_context_close_stream(self->context, r->copier);
}

void nccl_rank_run(test_rank *self, void *user)
{
    wish *w = user;
    const bool is_odd = self->rank == self->size - 1;
    const czr_process_options options = {
        .context = self->context,
        .nvrtc = w->nvrtc,
        .engine = {.undo = w->undoes,
                   .deadline_ms = w->deadline_ms,
                   .replica_check = w->is_alike},
        .world = {.nccl = self->nccl,
                  .id = &w->id,
                  .rank = self->rank,
                  .size = self->size,
                  .slot_bytes = SLOT_BYTES},
        .is_captured = w->is_captured && !(is_odd && w->is_odd_eager)};
    run r = {.is_device = true,
             .has_bad_step = w->has_bad_step,
             .is_early = w->is_early,
             .is_failing = w->is_failing,
             .is_constant = w->is_constant,
             .is_alike = w->is_alike,
             .drifted = w->is_odd_drifted ? self->size - 1 : -1,
             .is_placed = w->is_captured && !(is_odd && w->is_odd_loose),
             .context = self->context};
    czr_process *process = NULL;

    open_streams(self, w, &r);
    self->status = czr_process_open(&options, nccl_rank_program, &process);
    if (self->status == CZR_OK)
        self->status = run_steps(self, w, &r, process);
    if (process && self->rank != w->leaver)
        w->n_graphs += czr_process_graphs(process);
    if (process)
        snprintf(w->said[self->rank], sizeof w->said[0], "%.*s",
                 (int)sizeof w->said[0] - 1, czr_process_error(process));
    czr_process_close(process);
    close_streams(self, &r);
    rank_close(&r, self->rank);
}
