/* The model's parameters and memory: a table of tensors, and everything
 * allocated when it opens. */
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gpt_internal.h"
#include "random.h"

enum { TENSORS_PER_LAYER = 8, TENSORS_OUTSIDE = 4 };

/* --- parameters --- */

static void add_tensor(gpt *model, const char *name, int rows, int cols,
                       int shard_dim)
{
    gpt_tensor *tensor = &model->tensors[model->n_tensors++];

    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    tensor->n_dims = cols ? 2 : 1;
    tensor->rows = rows;
    tensor->cols = cols ? cols : 1;
    tensor->shard_dim = shard_dim;
    tensor->offset = model->n_values;
    model->n_values += gpt_tensor_size(tensor);
}

static void add_layer_tensors(gpt *model, int layer)
{
    const int width = model->shape.width, hidden = MLP_FACTOR * width;
    const struct {
        const char *name;
        int rows, cols, shard_dim;
    } rows[TENSORS_PER_LAYER] = {
        {"attn.q", width, width, 0},   {"attn.k", width, width, 0},
        {"attn.v", width, width, 0},   {"attn.o", width, width, 1},
        {"mlp.fc1", hidden, width, 0}, {"mlp.fc2", width, hidden, 1},
        {"norm1", width, 0, -1},       {"norm2", width, 0, -1},
    };
    for (int i = 0; i < TENSORS_PER_LAYER; i++) {
        char name[sizeof model->tensors->name];
        snprintf(name, sizeof name, "h.%d.%s", layer, rows[i].name);
        add_tensor(model, name, rows[i].rows, rows[i].cols, rows[i].shard_dim);
    }
}

/* The order is the one gpt_layer_view and the walks below count on. */
static void add_tensors(gpt *model)
{
    const gpt_shape *shape = &model->shape;

    add_tensor(model, "wte", shape->vocab, shape->width, 0);
    add_tensor(model, "wpe", shape->context, shape->width, -1);
    for (int layer = 0; layer < shape->layers; layer++)
        add_layer_tensors(model, layer);
    add_tensor(model, "norm", shape->width, 0, -1);
    add_tensor(model, "lm_head", shape->vocab, shape->width, 0);
}

gpt_real *gpt_view(const gpt *model, gpt_real *base, int tensor)
{
    return base + model->tensors[tensor].offset;
}

layer_values gpt_layer_view(const gpt *model, gpt_real *base, int layer)
{
    gpt_real *at[TENSORS_PER_LAYER];
    for (int i = 0; i < TENSORS_PER_LAYER; i++)
        at[i] = gpt_view(model, base, 2 + layer * TENSORS_PER_LAYER + i);
    return (layer_values){at[0], at[1], at[2], at[3],
                          at[4], at[5], at[6], at[7]};
}

int gpt_tensor_count(const gpt *model)
{
    return model->n_tensors;
}

const gpt_tensor *gpt_tensor_get(const gpt *model, int tensor)
{
    return &model->tensors[tensor];
}

size_t gpt_tensor_size(const gpt_tensor *tensor)
{
    return (size_t)tensor->rows * (size_t)tensor->cols;
}

size_t gpt_value_count(const gpt *model)
{
    return model->n_values;
}

gpt_real *gpt_values(gpt *model)
{
    return model->values;
}

gpt_real *gpt_grads(gpt *model)
{
    return model->grads;
}

static void init_tensor(gpt *model, const gpt_tensor *tensor, uint64_t seed)
{
    const double deviation = 1 / sqrt(tensor->cols);

    for (size_t i = 0; i < gpt_tensor_size(tensor); i++) {
        const uint64_t counter = tensor->offset + i;
        model->values[tensor->offset + i] =
            tensor->n_dims == 1
                ? 1
                : (gpt_real)(deviation * random_normal(seed, counter));
    }
}

void gpt_init(gpt *model, uint64_t seed)
{
    for (int i = 0; i < model->n_tensors; i++)
        init_tensor(model, &model->tensors[i], seed);
}

/* --- memory --- */

/* The next `count` values of the arena; only counts while it is NULL. */
static gpt_real *take(gpt_real *arena, size_t *used, size_t count)
{
    gpt_real *at = arena ? arena + *used : NULL;
    *used += count;
    return at;
}

static void place_layer(layer_activations *layer, gpt_real *arena, size_t *used,
                        size_t n, size_t width, size_t n_probs)
{
    gpt_real **narrow[] = {&layer->x, &layer->n1,    &layer->q,   &layer->k,
                           &layer->v, &layer->mixed, &layer->mid, &layer->n2};
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        *narrow[i] = take(arena, used, n * width);
    layer->scale1 = take(arena, used, n);
    layer->scale2 = take(arena, used, n);
    layer->fc1 = take(arena, used, n * width * MLP_FACTOR);
    layer->hidden = take(arena, used, n * width * MLP_FACTOR);
    layer->probs = take(arena, used, n_probs);
}

/* Points every buffer into the arena and returns the values needed. */
static size_t place(gpt *model, gpt_real *arena)
{
    const size_t context = (size_t)model->shape.context;
    const size_t width = (size_t)model->shape.width;
    const size_t n = (size_t)model->max_batch * context;
    const size_t n_probs = n * context * (size_t)model->shape.heads;
    gpt_real **narrow[] = {&model->top, &model->normed, &model->dx,
                           &model->dn,  &model->dq,     &model->dk,
                           &model->dv,  &model->dmixed};
    size_t used = 0;

    for (int i = 0; i < model->shape.layers; i++)
        place_layer(&model->layers[i], arena, &used, n, width, n_probs);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        *narrow[i] = take(arena, &used, n * width);
    model->scale = take(arena, &used, n);
    model->logits = take(arena, &used, n * (size_t)model->shape.vocab);
    model->dwide = take(arena, &used, n * width * MLP_FACTOR);
    model->dfc1 = take(arena, &used, n * width * MLP_FACTOR);
    model->scratch = take(arena, &used, context * context);
    return used;
}

static int allocate(gpt *model)
{
    const size_t n = (size_t)model->max_batch * (size_t)model->shape.context;
    const size_t n_layers = (size_t)model->shape.layers;

    model->tensors = calloc(n_layers * TENSORS_PER_LAYER + TENSORS_OUTSIDE,
                            sizeof *model->tensors);
    model->layers = calloc(n_layers, sizeof *model->layers);
    if (!model->tensors || !model->layers)
        return 0;
    add_tensors(model);
    model->values = calloc(model->n_values, sizeof *model->values);
    model->grads = calloc(model->n_values, sizeof *model->grads);
    model->arena = calloc(place(model, NULL), sizeof *model->arena);
    model->inputs = calloc(n, 1);
    model->targets = calloc(n, 1);
    if (!model->values || !model->grads || !model->arena || !model->inputs ||
        !model->targets)
        return 0;
    place(model, model->arena);
    return 1;
}

gpt *gpt_open(const gpt_shape *shape, int batch)
{
    gpt *model = calloc(1, sizeof *model);

    if (!model)
        return NULL;
    model->shape = *shape;
    model->max_batch = batch;
    if (allocate(model))
        return model;
    gpt_close(model);
    return NULL;
}

void gpt_close(gpt *model)
{
    if (!model)
        return;
    free(model->targets);
    free(model->inputs);
    free(model->arena);
    free(model->grads);
    free(model->values);
    free(model->layers);
    free(model->tensors);
    free(model);
}
