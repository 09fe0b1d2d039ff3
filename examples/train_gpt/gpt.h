/* A small GPT on bytes: its parameters, forward and backward.  It knows
 * nothing of ranks, shards or optimizers; examples/gpt.cz describes the same
 * parameters to the compiler.
 *
 * Pre-norm blocks, learned positions, RMS norms with weights, squared ReLU, no
 * biases, a head of its own. */
#ifndef EXAMPLES_TRAIN_GPT_GPT_H
#define EXAMPLES_TRAIN_GPT_GPT_H

#include <stddef.h>
#include <stdint.h>

#include "real.h"

/* Tokens are bytes, so vocab is at most 256; heads divides width. */
typedef struct gpt_shape {
    int vocab, width, layers, heads, context;
} gpt_shape;

/* One parameter: `rows` x `cols`, or a vector of `rows` where n_dims is 1, at
 * `offset` in the model's values and gradients. */
typedef struct gpt_tensor {
    char name[32];
    int n_dims, rows, cols;
    int shard_dim; /* the dimension tensor parallelism cuts; -1: none */
    size_t offset;
} gpt_tensor;

typedef struct gpt gpt;

/* A model for up to `batch` sequences at a time, values and gradients zero;
 * NULL without memory.  gpt_close accepts NULL. */
gpt *gpt_open(const gpt_shape *shape, int batch);
void gpt_close(gpt *);

/* Weights from the seed, the same on every rank: normal with deviation
 * 1 / sqrt(columns), norms 1. */
void gpt_init(gpt *, uint64_t seed);

int gpt_tensor_count(const gpt *);
const gpt_tensor *gpt_tensor_get(const gpt *, int tensor);
size_t gpt_tensor_size(const gpt_tensor *);

/* All parameters, and all gradients, as one array each; owned by the model. */
size_t gpt_value_count(const gpt *);
gpt_real *gpt_values(gpt *);
gpt_real *gpt_grads(gpt *);

/* Mean loss in nats per byte over `batch` windows of context + 1 bytes. */
double gpt_forward(gpt *, const uint8_t *windows, int batch);

/* Overwrites the gradients with those of the last forward's loss. */
void gpt_backward(gpt *);

#endif
