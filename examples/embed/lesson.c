/* The smallest trainer: least squares, y = W x + b, on two ranks that each see
 * half of the samples.  The optimizer is the generated C of lesson.cz.  From
 * the project's folder, after `make build`:
 *
 *   $ build/dev/canzona build -o /tmp examples/embed/lesson.cz
 *   $ gcc $(build/dev/canzona build --print-cflags) -I/tmp -Iruntime \
 *       examples/embed/lesson.c /tmp/lesson.c build/dev/runtime/libczr.a \
 *       -ldl -lpthread -lm -o /tmp/lesson
 *   $ /tmp/lesson
 *
 * What follows is in the order in which a trainer meets it. */
#include "lesson.h"

#include <stdio.h>

enum { RANKS = 2, INPUTS = 16, OUTPUTS = 8, SAMPLES = 64, STEPS = 200 };

/* 1. A model: parameters, and gradients of the same shape.  They stay ours;
 * the engine copies them in and out.  (czr_layout says where its own buffers
 * are, for trainers that want to save the copy.) */
typedef struct layer {
    float weight[OUTPUTS][INPUTS], bias[OUTPUTS];
} layer;

/* Numbers that look random, in [-1, 1). */
static float noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

/* Forward and backward over this rank's samples.  The target is a layer too:
 * W[o][i] = (o - i) / 8, b[o] = o.  Returns the mean loss. */
static float backward(const layer *params, layer *grads, int rank)
{
    uint32_t random = (uint32_t)rank + 1;
    float loss = 0;

    *grads = (layer){0};
    for (int sample = 0; sample < SAMPLES; sample++) {
        float x[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            x[i] = noise(&random);
        for (int o = 0; o < OUTPUTS; o++) {
            float error = params->bias[o] - (float)o;
            for (int i = 0; i < INPUTS; i++)
                error += (params->weight[o][i] - (float)(o - i) / 8) * x[i];
            loss += error * error / SAMPLES;
            for (int i = 0; i < INPUTS; i++)
                grads->weight[o][i] += 2 * error * x[i] / SAMPLES;
            grads->bias[o] += 2 * error / SAMPLES;
        }
    }
    return loss;
}

/* 2. Hand the tensors over, by the names that lesson.cz gives them, then seal:
 * from here on everything is allocated. */
static czr_status bind(czr_engine *engine, layer *params, layer *grads)
{
    const int64_t shape[] = {OUTPUTS, INPUTS}; /* the vector's: the first */
    const czr_tensor weight = {params->weight, CZR_F32, 2, shape, NULL};
    const czr_tensor weight_grad = {grads->weight, CZR_F32, 2, shape, NULL};
    const czr_tensor bias = {params->bias, CZR_F32, 1, shape, NULL};
    const czr_tensor bias_grad = {grads->bias, CZR_F32, 1, shape, NULL};
    czr_status status = czr_bind(engine, "weight", &weight, &weight_grad);

    if (status == CZR_OK)
        status = czr_bind(engine, "bias", &bias, &bias_grad);
    return status == CZR_OK ? czr_seal(engine) : status;
}

/* 3. Train: every rank fills its own gradients; czr_step averages them, updates
 * each parameter once, and leaves the new values on all ranks.  Values that
 * are not given (NaN) keep the defaults of the .cz files. */
static czr_status steps(czr_world *world, czr_engine *engine, layer *params,
                        layer *grads, float *losses)
{
    for (int step = 0; step < STEPS; step++) {
        const double rate = 0.2 * (STEPS - step) / STEPS;
        double values[LESSON_N_HYPERS];
        czr_result result;

        for (int i = 0; i < LESSON_N_HYPERS; i++)
            values[i] = NAN;
        values[LESSON_MATRICES_LR] = values[LESSON_REST_LR] = rate;
        losses[step] = backward(params, grads, czr_world_rank(world));
        const czr_hyper hyper = {values, LESSON_N_HYPERS};
        const czr_status status = czr_step(engine, &hyper, NULL, &result);
        if (status != CZR_OK)
            return status;
    }
    return CZR_OK;
}

/* 4. What runs on each rank.  A failure has a sentence: czr_error. */
static czr_status train(czr_world *world, void *user)
{
    float(*losses)[STEPS] = user; /* of all ranks */
    layer params = {0}, grads;
    czr_engine *engine = NULL;
    czr_status status = czr_open(&lesson_program, world, NULL, &engine);

    if (status == CZR_OK)
        status = bind(engine, &params, &grads);
    if (status == CZR_OK)
        status = steps(world, engine, &params, &grads,
                       losses[czr_world_rank(world)]);
    if (status != CZR_OK && engine)
        fprintf(stderr, "%s\n", czr_error(engine));
    if (engine)
        czr_close(engine);
    return status;
}

/* 5. Ranks are threads here; your launcher may have its own. */
int main(void)
{
    static float losses[RANKS][STEPS];
    const czr_status status = czr_world_threads_run(RANKS, train, losses);

    if (status != CZR_OK) {
        fprintf(stderr, "lesson: %s\n", czr_status_text(status));
        return 1;
    }
    for (int step = 0; step < STEPS; step += 20)
        printf("step %3d  loss %8.5f\n", step,
               (double)(losses[0][step] + losses[1][step]) / RANKS);
    const float last = losses[0][STEPS - 1] + losses[1][STEPS - 1];
    printf("step %3d  loss %8.5f\n", STEPS - 1, (double)last / RANKS);
    return last < (losses[0][0] + losses[1][0]) / 1000 ? 0 : 1;
}
