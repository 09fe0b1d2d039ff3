/* Tensor parallelism as this trainer does it: a rank owns its shard of every
 * parameter, gathers the whole before the forward pass, and cuts its shard out
 * of the gradients after the backward pass. */
#ifndef EXAMPLES_TRAIN_GPT_SHARDS_H
#define EXAMPLES_TRAIN_GPT_SHARDS_H

#include <stddef.h>

#include "gpt.h"
#include "runtime/czr.h"

/* All shards of one rank lie one behind the other, in the model's order, in
 * `params` and `grads`, `count` elements each. */
typedef struct shards {
    czr_world *world;
    const gpt *model;
    int size, coordinate; /* along tp */
    size_t count;
    float *params, *grads;
    float *gathered; /* [size, count] */
} shards;

/* The axes of `world` must be known: open the engine first.  Needs memory
 * only; shards_close accepts what failed to open. */
czr_status shards_open(shards *, czr_world *world, const gpt *model);
void shards_close(shards *);

/* Dimensions of this rank's shard of `tensor`; its elements. */
size_t shards_shape(const shards *, const gpt_tensor *tensor, int64_t shape[2]);

/* whole: the model's values or gradients; local: `params` or `grads`. */
void shards_cut(const shards *, const float *whole, float *local);

/* Collective: all ranks' `params`, joined into `whole`. */
czr_status shards_gather(shards *, float *whole);

#endif
