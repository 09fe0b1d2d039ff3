/* The layers of the model, forward and backward, as functions on arrays.
 * They know neither the model nor its parameters.
 *
 * Arrays are dense and row-major: activations [n, width] with n = batch *
 * context rows, weights [out, in].  Backward functions add to every gradient
 * they are given, so that a value with two uses needs no care. */
#ifndef EXAMPLES_TRAIN_GPT_LAYERS_H
#define EXAMPLES_TRAIN_GPT_LAYERS_H

#include <stdint.h>

#include "real.h"

/* y = x w'; x [n, in], w [out, in], y [n, out]. */
void linear_forward(gpt_real *y, const gpt_real *x, const gpt_real *w, int n,
                    int in, int out);
void linear_backward(gpt_real *dx, gpt_real *dw, const gpt_real *dy,
                     const gpt_real *x, const gpt_real *w, int n, int in,
                     int out);

/* y = w * x / rms(x), row by row; 1 / rms is kept in scale [n]. */
void norm_forward(gpt_real *y, gpt_real *scale, const gpt_real *x,
                  const gpt_real *w, int n, int width);
void norm_backward(gpt_real *dx, gpt_real *dw, const gpt_real *dy,
                   const gpt_real *x, const gpt_real *scale, const gpt_real *w,
                   int n, int width);

/* y = max(x, 0)^2. */
void relu2_forward(gpt_real *y, const gpt_real *x, int count);
void relu2_backward(gpt_real *dx, const gpt_real *dy, const gpt_real *x,
                    int count);

/* What one attention layer works on: `batch` sequences of `context` rows, each
 * row `heads` slices side by side. */
typedef struct attention_shape {
    int batch, context, width, heads;
} attention_shape;

/* Causal softmax attention; q, k, v, y [n, width].  probs keeps the weights
 * [batch, heads, context, context]. */
void attention_forward(gpt_real *y, gpt_real *probs, const gpt_real *q,
                       const gpt_real *k, const gpt_real *v,
                       attention_shape shape);

/* scratch: [context, context]. */
void attention_backward(gpt_real *dq, gpt_real *dk, gpt_real *dv,
                        const gpt_real *dy, const gpt_real *probs,
                        const gpt_real *q, const gpt_real *k, const gpt_real *v,
                        gpt_real *scratch, attention_shape shape);

/* Mean negative log-likelihood in nats of targets[n] under softmax(logits);
 * logits [n, vocab] become the gradient of that mean. */
double cross_entropy(gpt_real *logits, const uint8_t *targets, int n,
                     int vocab);

#endif
