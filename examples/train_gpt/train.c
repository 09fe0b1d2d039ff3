/* Per step: draw this rank's windows, forward, backward, cut the gradients,
 * step the optimizer, gather the weights. */
#define _POSIX_C_SOURCE 200809L
#include "train.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "czr_checkpoint.h"
#include "gpt.h"
#include "optimizer.h"
#include "shards.h"

/* As in examples/gpt.cz. */
static const gpt_shape SHAPE = {
    .vocab = 256, .width = 128, .layers = 4, .heads = 4, .context = 128};

enum { WARMUP_STEPS = 20 };
static const double FINAL_RATE = 0.1; /* of the peak */

typedef struct rank_state {
    const training *shared;
    czr_world *world;
    gpt *model;
    optimizer optimizer;
    shards shards;
    uint8_t *windows; /* [batch, context + 1] of this rank */
    int batch;
    int64_t done; /* steps before this run's first */
} rank_state;

static size_t window_bytes(void)
{
    return (size_t)SHAPE.context + 1;
}

/* Goes on from a checkpoint, also of another mesh, if there is one. */
static czr_status resume(rank_state *rank)
{
    const char *folder = rank->shared->options->checkpoint;
    char manifest[4096];

    snprintf(manifest, sizeof manifest, "%s/manifest.json",
             folder ? folder : "");
    if (!folder || access(manifest, F_OK) != 0)
        return CZR_OK;
    czr_status status = czr_load(rank->optimizer.engine, folder);
    if (status == CZR_OK)
        status = czr_step_get(rank->optimizer.engine, &rank->done);
    return status == CZR_OK
               ? shards_gather(&rank->shards, gpt_values(rank->model))
               : status;
}

static czr_status open_rank(rank_state *rank, czr_world *world,
                            const training *shared)
{
    const options *o = shared->options;
    const learning_rates rates = {
        strcmp(o->optimizer, "muon") == 0 ? o->lr_muon : o->lr_adamw,
        o->lr_adamw};

    *rank = (rank_state){
        .shared = shared, .world = world, .batch = o->batch / o->dp};
    rank->model = gpt_open(&SHAPE, rank->batch);
    rank->windows = calloc((size_t)rank->batch, window_bytes());
    if (!rank->model || !rank->windows)
        return CZR_ERR_NO_MEMORY;
    gpt_init(rank->model, (uint64_t)o->seed);

    czr_status status =
        optimizer_open(&rank->optimizer, shared->program, world, rates);
    openblas_set_num_threads(1); /* the engine may have asked for more; the
                                  * model's products are too small for it */
    if (status == CZR_OK)
        status = shards_open(&rank->shards, world, rank->model);
    if (status != CZR_OK)
        return status;
    shards_cut(&rank->shards, gpt_values(rank->model), rank->shards.params);
    status = optimizer_bind(&rank->optimizer, &rank->shards);
    return status == CZR_OK ? resume(rank) : status;
}

static void close_rank(rank_state *rank)
{
    optimizer_close(&rank->optimizer);
    shards_close(&rank->shards);
    gpt_close(rank->model);
    free(rank->windows);
}

/* Linear warm-up, then half a cosine down to FINAL_RATE. */
static double rate_factor(int step, int steps)
{
    const double pi = 3.141592653589793;
    const double done = (double)step / steps;
    const double warm = fmin(1, (step + 1.0) / WARMUP_STEPS);
    return warm * (FINAL_RATE + (1 - FINAL_RATE) * (1 + cos(pi * done)) / 2);
}

/* The batch of a step is the same on every mesh; ranks along dp share it. */
static void draw_windows(rank_state *rank, int step)
{
    const options *o = rank->shared->options;
    const int first = czr_world_coordinate(rank->world, "dp") * rank->batch;

    for (int i = 0; i < rank->batch; i++) {
        const uint64_t sequence =
            (uint64_t)step * (uint64_t)o->batch + (uint64_t)(first + i);
        memcpy(rank->windows + (size_t)i * window_bytes(),
               corpus_draw(rank->shared->text, ~(uint64_t)o->seed, sequence,
                           window_bytes()),
               window_bytes());
    }
}

/* One update; *loss is the mean over the whole batch before it. */
static czr_status step_rank(rank_state *rank, int step, double *loss,
                            czr_result *result)
{
    const options *o = rank->shared->options;
    czr_status status;

    draw_windows(rank, step);
    *loss = gpt_forward(rank->model, rank->windows, rank->batch) / o->dp;
    gpt_backward(rank->model);
    shards_cut(&rank->shards, gpt_grads(rank->model), rank->shards.grads);
    status =
        optimizer_step(&rank->optimizer, rate_factor(step, o->steps), result);
    if (status == CZR_OK)
        status = shards_gather(&rank->shards, gpt_values(rank->model));
    if (status == CZR_OK)
        status = czr_world_all_reduce(rank->world, "dp", loss, 1, CZR_F64);
    return status;
}

/* Sum of the losses of validation windows first, first + stride, ... */
static double validate_windows(rank_state *rank, size_t first, size_t stride)
{
    const corpus *text = rank->shared->text;
    const size_t context = (size_t)SHAPE.context;
    const size_t n = corpus_validation_count(text, context);
    double sum = 0;
    int filled = 0;

    for (size_t i = first; i < n; i += stride) {
        memcpy(rank->windows + (size_t)filled++ * window_bytes(),
               corpus_validation(text, i, context), window_bytes());
        if (filled == rank->batch || i + stride >= n) {
            sum += filled * gpt_forward(rank->model, rank->windows, filled);
            filled = 0;
        }
    }
    return sum;
}

/* Collective: ranks share the validation windows. */
static czr_status validate(rank_state *rank, double *loss)
{
    const int index = czr_world_rank(rank->world);
    const int size = czr_world_size(rank->world);

    *loss = validate_windows(rank, (size_t)index, (size_t)size) /
            (double)corpus_validation_count(rank->shared->text,
                                            (size_t)SHAPE.context);
    return czr_world_all_reduce(rank->world, NULL, loss, 1, CZR_F64);
}

static czr_status report_progress(rank_state *rank, int done, double train,
                                  const czr_result *result)
{
    const options *o = rank->shared->options;
    const int is_first = czr_world_rank(rank->world) == 0;
    double validation = 0;

    if (is_first)
        report_step(rank->shared->report, done, train);
    if (done % o->eval_every != 0 && done != o->steps)
        return CZR_OK;
    czr_status status = validate(rank, &validation);
    if (status == CZR_OK && o->checkpoint)
        status = czr_save(rank->optimizer.engine, o->checkpoint);
    if (status == CZR_OK && is_first)
        report_validation(rank->shared->report, done, train, validation,
                          result->grad_norm);
    return status;
}

static czr_status run_steps(rank_state *rank)
{
    czr_status status = CZR_OK;

    for (int step = (int)rank->done; step < rank->shared->options->steps;
         step++) {
        double train;
        czr_result result;
        status = step_rank(rank, step, &train, &result);
        if (status == CZR_OK)
            status = report_progress(rank, step + 1, train, &result);
        if (status != CZR_OK)
            break;
    }
    return status;
}

/* A rank that only followed another's failure has nothing to say. */
static void explain(const rank_state *rank, czr_status status)
{
    const czr_engine *engine = rank->optimizer.engine;
    const char *why = engine ? czr_error(engine) : "";

    if (status == CZR_OK || status == CZR_ERR_ABORTED)
        return;
    fprintf(stderr, "train_gpt: rank %d: %s\n", czr_world_rank(rank->world),
            *why ? why : czr_status_text(status));
}

czr_status train_rank(czr_world *world, void *user)
{
    rank_state rank;
    czr_status status = open_rank(&rank, world, user);

    if (status == CZR_OK)
        status = run_steps(&rank);
    explain(&rank, status);
    close_rank(&rank);
    return status;
}
