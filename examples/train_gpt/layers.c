/* Layers on arrays.  All products are one CBLAS call each; the rest is loops
 * simple enough for the compiler to vectorise. */
#include "layers.h"

#include <cblas.h>
#include <stddef.h>
#include <tgmath.h>

static const gpt_real NORM_EPSILON = (gpt_real)1e-5;

/* A row-major operand: its elements and the distance between its rows. */
typedef struct matrix {
    const gpt_real *data;
    int stride;
    CBLAS_TRANSPOSE transpose;
} matrix;

static matrix plain(const gpt_real *data, int stride)
{
    return (matrix){data, stride, CblasNoTrans};
}

static matrix transposed(const gpt_real *data, int stride)
{
    return (matrix){data, stride, CblasTrans};
}

/* c = alpha a b + beta c; c [m, n] with rows `stride` apart, k contracted. */
static void product(gpt_real *c, int stride, int m, int n, int k,
                    gpt_real alpha, matrix a, matrix b, gpt_real beta)
{
    GPT_GEMM(CblasRowMajor, a.transpose, b.transpose, m, n, k, alpha, a.data,
             a.stride, b.data, b.stride, beta, c, stride);
}

void linear_forward(gpt_real *y, const gpt_real *x, const gpt_real *w, int n,
                    int in, int out)
{
    product(y, out, n, out, in, 1, plain(x, in), transposed(w, in), 0);
}

void linear_backward(gpt_real *dx, gpt_real *dw, const gpt_real *dy,
                     const gpt_real *x, const gpt_real *w, int n, int in,
                     int out)
{
    product(dx, in, n, in, out, 1, plain(dy, out), plain(w, in), 1);
    product(dw, in, out, in, n, 1, transposed(dy, out), plain(x, in), 1);
}

static gpt_real dot(const gpt_real *a, const gpt_real *b, int count)
{
    gpt_real sum = 0;
    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

void norm_forward(gpt_real *y, gpt_real *scale, const gpt_real *x,
                  const gpt_real *w, int n, int width)
{
    for (int row = 0; row < n; row++, x += width, y += width) {
        const gpt_real square = dot(x, x, width) / (gpt_real)width;
        scale[row] = 1 / sqrt(square + NORM_EPSILON);
        for (int i = 0; i < width; i++)
            y[i] = w[i] * x[i] * scale[row];
    }
}

/* With h = x * s and s = 1 / rms(x):  dx = s * (w dy - h * mean(w dy h)). */
void norm_backward(gpt_real *dx, gpt_real *dw, const gpt_real *dy,
                   const gpt_real *x, const gpt_real *scale, const gpt_real *w,
                   int n, int width)
{
    for (int row = 0; row < n; row++, x += width, dx += width, dy += width) {
        const gpt_real s = scale[row];
        gpt_real mean = 0;
        for (int i = 0; i < width; i++)
            mean += w[i] * dy[i] * x[i] * s;
        mean /= (gpt_real)width;
        for (int i = 0; i < width; i++) {
            dx[i] += s * (w[i] * dy[i] - x[i] * s * mean);
            dw[i] += dy[i] * x[i] * s;
        }
    }
}

/* max(x, 0), exact and without a branch, since signs of activations cannot be
 * predicted. */
static gpt_real positive(gpt_real x)
{
    return (x + fabs(x)) / 2;
}

void relu2_forward(gpt_real *y, const gpt_real *x, int count)
{
    for (int i = 0; i < count; i++)
        y[i] = positive(x[i]) * positive(x[i]);
}

void relu2_backward(gpt_real *dx, const gpt_real *dy, const gpt_real *x,
                    int count)
{
    for (int i = 0; i < count; i++)
        dx[i] += 2 * positive(x[i]) * dy[i];
}

/* row[0 .. length) becomes its softmax. */
static void softmax(gpt_real *row, int length)
{
    gpt_real top = row[0], sum = 0;
    for (int i = 1; i < length; i++)
        top = row[i] > top ? row[i] : top;
    for (int i = 0; i < length; i++) {
        row[i] = exp(row[i] - top);
        sum += row[i];
    }
    for (int i = 0; i < length; i++)
        row[i] /= sum;
}

/* Row i of scores [context, context] sees columns 0 to i. */
static void causal_softmax(gpt_real *scores, int context)
{
    for (int i = 0; i < context; i++) {
        gpt_real *row = scores + (size_t)i * (size_t)context;
        softmax(row, i + 1);
        for (int j = i + 1; j < context; j++)
            row[j] = 0;
    }
}

/* Gradient of the weights, in place, to that of the scores. */
static void softmax_backward(gpt_real *d, const gpt_real *probs, int context)
{
    for (int i = 0; i < context; i++, d += context, probs += context) {
        const gpt_real mean = dot(d, probs, i + 1);
        for (int j = 0; j < context; j++)
            d[j] = probs[j] * (d[j] - mean);
    }
}

static size_t probs_offset(attention_shape shape, int sequence, int head)
{
    const size_t square = (size_t)shape.context * (size_t)shape.context;
    return square * ((size_t)sequence * (size_t)shape.heads + (size_t)head);
}

static size_t slice_offset(attention_shape shape, int sequence, int head)
{
    const size_t row = (size_t)sequence * (size_t)shape.context;
    return row * (size_t)shape.width +
           (size_t)head * (size_t)(shape.width / shape.heads);
}

void attention_forward(gpt_real *y, gpt_real *probs, const gpt_real *q,
                       const gpt_real *k, const gpt_real *v,
                       attention_shape shape)
{
    const int c = shape.context, w = shape.width, head = w / shape.heads;
    const gpt_real scale = 1 / sqrt((gpt_real)head);

    for (int i = 0; i < shape.batch * shape.heads; i++) {
        const int sequence = i / shape.heads, h = i % shape.heads;
        const size_t at = slice_offset(shape, sequence, h);
        gpt_real *p = probs + probs_offset(shape, sequence, h);
        product(p, c, c, c, head, scale, plain(q + at, w),
                transposed(k + at, w), 0);
        causal_softmax(p, c);
        product(y + at, w, c, head, c, 1, plain(p, c), plain(v + at, w), 0);
    }
}

void attention_backward(gpt_real *dq, gpt_real *dk, gpt_real *dv,
                        const gpt_real *dy, const gpt_real *probs,
                        const gpt_real *q, const gpt_real *k, const gpt_real *v,
                        gpt_real *scratch, attention_shape shape)
{
    const int c = shape.context, w = shape.width, head = w / shape.heads;
    const gpt_real scale = 1 / sqrt((gpt_real)head);

    for (int i = 0; i < shape.batch * shape.heads; i++) {
        const int sequence = i / shape.heads, h = i % shape.heads;
        const size_t at = slice_offset(shape, sequence, h);
        const gpt_real *p = probs + probs_offset(shape, sequence, h);
        const matrix d = plain(dy + at, w), ds = plain(scratch, c);
        product(dv + at, w, c, head, c, 1, transposed(p, c), d, 1);
        product(scratch, c, c, c, head, 1, d, transposed(v + at, w), 0);
        softmax_backward(scratch, p, c);
        product(dq + at, w, c, head, c, scale, ds, plain(k + at, w), 1);
        product(dk + at, w, c, head, c, scale, transposed(scratch, c),
                plain(q + at, w), 1);
    }
}

double cross_entropy(gpt_real *logits, const uint8_t *targets, int n, int vocab)
{
    double sum = 0;

    for (int row = 0; row < n; row++, logits += vocab) {
        softmax(logits, vocab);
        sum -= log((double)logits[targets[row]]);
        logits[targets[row]] -= 1;
        for (int i = 0; i < vocab; i++)
            logits[i] /= (gpt_real)n;
    }
    return sum / n;
}
