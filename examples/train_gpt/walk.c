/* One walk up the layers and one down. */
#include <string.h>

#include "gpt_internal.h"
#include "layers.h"

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

/* The rows of wte and wpe in `base` that row `row` of the batch looks up. */
static gpt_real *token_row(const gpt *model, gpt_real *base, int row)
{
    const size_t token = model->inputs[row];
    return gpt_view(model, base, 0) + token * (size_t)model->shape.width;
}

static gpt_real *position_row(const gpt *model, gpt_real *base, int row)
{
    const size_t position = (size_t)(row % model->shape.context);
    return gpt_view(model, base, 1) + position * (size_t)model->shape.width;
}

/* x = the token's row plus the position's row. */
static void embed(const gpt *model, gpt_real *x)
{
    const int width = model->shape.width;

    for (int row = 0; row < rows_of(model); row++, x += width)
        add(x, token_row(model, model->values, row),
            position_row(model, model->values, row), width);
}

/* From a->x to out, which is the next layer's x. */
static void forward_layer(const gpt *model, int layer, gpt_real *out)
{
    const int n = rows_of(model), width = model->shape.width;
    const int hidden = MLP_FACTOR * width;
    const layer_values w = gpt_layer_view(model, model->values, layer);
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
                 gpt_view(model, model->values, model->n_tensors - 2),
                 rows_of(model), width);
    linear_forward(model->logits, model->normed,
                   gpt_view(model, model->values, model->n_tensors - 1),
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
    const layer_values w = gpt_layer_view(model, model->values, layer);
    const layer_values d = gpt_layer_view(model, model->grads, layer);
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
    const layer_values w = gpt_layer_view(model, model->values, layer);
    const layer_values d = gpt_layer_view(model, model->grads, layer);
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
    linear_backward(model->dn, gpt_view(model, model->grads, head),
                    model->logits, model->normed,
                    gpt_view(model, model->values, head), n, width,
                    model->shape.vocab);
    norm_backward(model->dx, gpt_view(model, model->grads, norm), model->dn,
                  model->top, model->scale,
                  gpt_view(model, model->values, norm), n, width);
}

static void backward_embed(const gpt *model)
{
    const int width = model->shape.width;
    const gpt_real *dx = model->dx;

    for (int row = 0; row < rows_of(model); row++, dx += width) {
        gpt_real *token = token_row(model, model->grads, row);
        gpt_real *position = position_row(model, model->grads, row);
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
