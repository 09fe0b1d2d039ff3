/* The inside of the model, shared by its parameters (gpt.c) and its two walks
 * (walk.c). */
#ifndef EXAMPLES_TRAIN_GPT_GPT_INTERNAL_H
#define EXAMPLES_TRAIN_GPT_GPT_INTERNAL_H

#include "gpt.h"

enum { MLP_FACTOR = 4 };

/* The parameters of one layer, or their gradients. */
typedef struct layer_values {
    gpt_real *q, *k, *v, *o, *fc1, *fc2, *norm1, *norm2;
} layer_values;

/* What the forward walk keeps of one layer for the backward walk.  `x` is the
 * layer's input, `mid` what stands after attention. */
typedef struct layer_activations {
    gpt_real *x, *n1, *scale1, *q, *k, *v, *probs, *mixed;
    gpt_real *mid, *n2, *scale2, *fc1, *hidden;
} layer_activations;

struct gpt {
    gpt_shape shape;
    int max_batch, batch;
    int n_tensors;
    gpt_tensor *tensors;
    size_t n_values;
    gpt_real *values, *grads;

    layer_activations *layers;
    gpt_real *top, *normed, *scale, *logits;
    gpt_real *dx, *dn, *dq, *dk, *dv, *dmixed, *dwide, *dfc1, *scratch;
    gpt_real *arena;
    uint8_t *inputs, *targets; /* [batch, context] each, of the last forward */
};

/* One parameter in `base`, the model's values or gradients. */
gpt_real *gpt_view(const gpt *, gpt_real *base, int tensor);
layer_values gpt_layer_view(const gpt *, gpt_real *base, int layer);

#endif
