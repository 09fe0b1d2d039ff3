/* The model: a table of parameters, and one walk up and one walk down the
 * layers.  Everything is allocated when it opens. */
#include "gpt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "random.h"

enum { TENSORS_PER_LAYER = 8, TENSORS_OUTSIDE = 4, MLP_FACTOR = 4 };

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

/* The order is the one layer_view and the walks below count on. */
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

static gpt_real *view(const gpt *model, gpt_real *base, int tensor)
{
    return base + model->tensors[tensor].offset;
}

static layer_values layer_view(const gpt *model, gpt_real *base, int layer)
{
    gpt_real *at[TENSORS_PER_LAYER];
    for (int i = 0; i < TENSORS_PER_LAYER; i++)
        at[i] = view(model, base, 2 + layer * TENSORS_PER_LAYER + i);
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

/* --- forward --- */

static int rows_of(const gpt *model)
{
    return model->batch * model->shape.context;
}

static attention_shape attention_of(const gpt *model)
{
    return (attention_shape){model->batch, model->shape.context,
                             model->shape.width, model->shape.heads};
}

static void add(gpt_real *sum, const gpt_real *a, const gpt_real *b, int count)
{
    for (int i = 0; i < count; i++)
        sum[i] = a[i] + b[i];
}

static void read_windows(gpt *model, const uint8_t *windows)
{
    const size_t context = (size_t)model->shape.context;

    for (size_t i = 0; i < (size_t)model->batch; i++) {
        const uint8_t *window = windows + i * (context + 1);
        memcpy(model->inputs + i * context, window, context);
        memcpy(model->targets + i * context, window + 1, context);
    }
}

/* x = the token's row plus the position's row. */
static void embed(const gpt *model, gpt_real *x)
{
    const int width = model->shape.width;
    const gpt_real *wte = view(model, model->values, 0);
    const gpt_real *wpe = view(model, model->values, 1);

    for (int row = 0; row < rows_of(model); row++, x += width)
        add(x, wte + model->inputs[row] * width,
            wpe + row % model->shape.context * width, width);
}

/* From a->x to out, which is the next layer's x. */
static void forward_layer(const gpt *model, int layer, gpt_real *out)
{
    const int n = rows_of(model), width = model->shape.width;
    const int hidden = MLP_FACTOR * width;
    const layer_values w = layer_view(model, model->values, layer);
    const layer_activations *a = &model->layers[layer];

    norm_forward(a->n1, a->scale1, a->x, w.norm1, n, width);
    linear_forward(a->q, a->n1, w.q, n, width, width);
    linear_forward(a->k, a->n1, w.k, n, width, width);
    linear_forward(a->v, a->n1, w.v, n, width, width);
    attention_forward(a->mixed, a->probs, a->q, a->k, a->v,
                      attention_of(model));
    linear_forward(a->mid, a->mixed, w.o, n, width, width);
    add(a->mid, a->mid, a->x, n * width);

    norm_forward(a->n2, a->scale2, a->mid, w.norm2, n, width);
    linear_forward(a->fc1, a->n2, w.fc1, n, width, hidden);
    relu2_forward(a->hidden, a->fc1, n * hidden);
    linear_forward(out, a->hidden, w.fc2, n, hidden, width);
    add(out, out, a->mid, n * width);
}

double gpt_forward(gpt *model, const uint8_t *windows, int batch)
{
    const int layers = model->shape.layers, width = model->shape.width;
    const int vocab = model->shape.vocab;

    model->batch = batch;
    read_windows(model, windows);
    embed(model, model->layers[0].x);
    for (int i = 0; i < layers; i++)
        forward_layer(model, i,
                      i + 1 < layers ? model->layers[i + 1].x : model->top);
    norm_forward(model->normed, model->scale, model->top,
                 view(model, model->values, model->n_tensors - 2),
                 rows_of(model), width);
    linear_forward(model->logits, model->normed,
                   view(model, model->values, model->n_tensors - 1),
                   rows_of(model), width, vocab);
    return cross_entropy(model->logits, model->targets, rows_of(model), vocab);
}

/* --- backward --- */

static void clear(gpt_real *values, int count)
{
    memset(values, 0, (size_t)count * sizeof *values);
}

/* dx holds the gradient of the layer's output, and then that of `mid`: the
 * residual passes it on, and the branch adds its own. */
static void backward_mlp(const gpt *model, int layer)
{
    const int n = rows_of(model), width = model->shape.width;
    const int hidden = MLP_FACTOR * width;
    const layer_values w = layer_view(model, model->values, layer);
    const layer_values d = layer_view(model, model->grads, layer);
    const layer_activations *a = &model->layers[layer];

    clear(model->dwide, n * hidden);
    clear(model->dfc1, n * hidden);
    clear(model->dn, n * width);
    linear_backward(model->dwide, d.fc2, model->dx, a->hidden, w.fc2, n, hidden,
                    width);
    relu2_backward(model->dfc1, model->dwide, a->fc1, n * hidden);
    linear_backward(model->dn, d.fc1, model->dfc1, a->n2, w.fc1, n, width,
                    hidden);
    norm_backward(model->dx, d.norm2, model->dn, a->mid, a->scale2, w.norm2, n,
                  width);
}

static void backward_attention(const gpt *model, int layer)
{
    const int n = rows_of(model), width = model->shape.width;
    const layer_values w = layer_view(model, model->values, layer);
    const layer_values d = layer_view(model, model->grads, layer);
    const layer_activations *a = &model->layers[layer];
    gpt_real *const zeroed[] = {model->dmixed, model->dq, model->dk, model->dv,
                                model->dn};

    for (size_t i = 0; i < sizeof zeroed / sizeof *zeroed; i++)
        clear(zeroed[i], n * width);
    linear_backward(model->dmixed, d.o, model->dx, a->mixed, w.o, n, width,
                    width);
    attention_backward(model->dq, model->dk, model->dv, model->dmixed, a->probs,
                       a->q, a->k, a->v, model->scratch, attention_of(model));
    linear_backward(model->dn, d.q, model->dq, a->n1, w.q, n, width, width);
    linear_backward(model->dn, d.k, model->dk, a->n1, w.k, n, width, width);
    linear_backward(model->dn, d.v, model->dv, a->n1, w.v, n, width, width);
    norm_backward(model->dx, d.norm1, model->dn, a->x, a->scale1, w.norm1, n,
                  width);
}

static void backward_head(const gpt *model)
{
    const int n = rows_of(model), width = model->shape.width;
    const int norm = model->n_tensors - 2, head = model->n_tensors - 1;

    clear(model->dn, n * width);
    clear(model->dx, n * width);
    linear_backward(model->dn, view(model, model->grads, head), model->logits,
                    model->normed, view(model, model->values, head), n, width,
                    model->shape.vocab);
    norm_backward(model->dx, view(model, model->grads, norm), model->dn,
                  model->top, model->scale, view(model, model->values, norm), n,
                  width);
}

static void backward_embed(const gpt *model)
{
    const int width = model->shape.width;
    gpt_real *dwte = view(model, model->grads, 0);
    gpt_real *dwpe = view(model, model->grads, 1);
    const gpt_real *dx = model->dx;

    for (int row = 0; row < rows_of(model); row++, dx += width) {
        gpt_real *token = dwte + model->inputs[row] * width;
        gpt_real *position = dwpe + row % model->shape.context * width;
        add(token, token, dx, width);
        add(position, position, dx, width);
    }
}

void gpt_backward(gpt *model)
{
    memset(model->grads, 0, model->n_values * sizeof *model->grads);
    backward_head(model);
    for (int layer = model->shape.layers - 1; layer >= 0; layer--) {
        backward_mlp(model, layer);
        backward_attention(model, layer);
    }
    backward_embed(model);
}
