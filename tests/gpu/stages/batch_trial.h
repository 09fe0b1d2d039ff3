/* What tests of equal products have in common: some that are drawn, in all
 * forms that tensor cores take, with numbers of which sums are exact; by the
 * host and on the device. */
#ifndef TESTS_CUDA_BATCH_TRIAL_H
#define TESTS_CUDA_BATCH_TRIAL_H

#include "runtime/base/memory.h"
#include "runtime/math/product.h"
#include "tests/gpu/stages/stages.h"

#include <string.h>

enum { MOST = 6, UNIT = 8, DEEP = 40, MOST_BATCH = 5, GAP = 64 };
enum { A, B, ADDEND, OUT, N_OPERANDS };

/* Bytes: where operands of the first matrix are, and how far from the next. */
typedef struct trial {
    czr_product p;
    bool is_own; /* b is a */
    bool has_addend;
    int64_t most, n; /* prepared, and put */
    int32_t skipped; /* 1: nothing is written */
    size_t bytes[N_OPERANDS];
    size_t at[N_OPERANDS];
    int64_t apart[N_OPERANDS];
    size_t all_bytes;
    unsigned char *memory;
} trial;

/* ---- a drawn batch ------------------------------------------------------ */

/* Symmetric ones are x x' or x' x, by one matrix or by two that are equal. */
static inline void draw_form(trial *t)
{
    /* What is 0 has a sign that kernels may lose: alpha is above 0. */
    static const float factors[] = {0.5F, 1, 2, 0.25F};
    czr_product *p = &t->p;

    *p = (czr_product){.symmetric = stages_draw(0, 1),
                       .transpose_a = stages_draw(0, 1),
                       .alpha = factors[stages_draw(0, 3)],
                       .beta = -factors[stages_draw(0, 3)]};
    p->transpose_b = p->symmetric ? !p->transpose_a : stages_draw(0, 1);
    p->n = (size_t)stages_draw(1, MOST) * UNIT;
    p->m = p->symmetric ? p->n : (size_t)stages_draw(1, MOST) * UNIT;
    p->k = (size_t)stages_draw(1, MOST) * UNIT *
           (size_t)(stages_draw(0, 5) ? 1 : DEEP);
    t->is_own = p->symmetric && stages_draw(0, 1);
    t->has_addend = stages_draw(0, 1);
    t->most = stages_draw(2, MOST_BATCH);
    t->n = stages_draw(2, (int)t->most);
    p->a_dtype = stages_draw(0, 1) ? CZR_F16 : CZR_BF16;
    p->b_dtype = p->out_dtype = p->addend_dtype = p->a_dtype;
}

/* Matrices one behind the other, or all operands of the first, then those of
 * the next; with gaps between. */
static inline void lay_out(trial *t)
{
    const czr_product *p = &t->p;
    const size_t elements[] = {p->m * p->k, p->k * p->n, p->m * p->n,
                               p->m * p->n};
    const bool is_in_turn = stages_draw(0, 1);
    size_t at = 0;

    for (int i = 0; i < N_OPERANDS; i++) {
        t->bytes[i] = elements[i] * sizeof(uint16_t);
        t->at[i] = at;
        const size_t room = (t->bytes[i] + GAP - 1) / GAP * GAP +
                            (size_t)stages_draw(0, 2) * GAP;
        t->apart[i] = (int64_t)room;
        at += is_in_turn ? room : room * (size_t)t->n;
    }
    for (int i = 0; is_in_turn && i < N_OPERANDS; i++)
        t->apart[i] = (int64_t)at;
    t->all_bytes = is_in_turn ? at * (size_t)t->n : at;
}

static inline uint16_t *matrix(const trial *t, int operand, int64_t z)
{
    return (void *)(t->memory + t->at[operand] +
                    (size_t)(t->apart[operand] * z));
}

/* op(b) becomes op(a)', and the addend its own transpose. */
static inline void make_symmetric(const trial *t, int64_t z)
{
    const czr_product *p = &t->p;
    uint16_t *s = matrix(t, ADDEND, z);

    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j < i; j++)
            s[i * p->n + j] = s[j * p->n + i];
    memcpy(matrix(t, B, z), matrix(t, A, z), t->bytes[A]);
}

static inline void draw_trial(trial *t, unsigned seed)
{
    *t = (trial){.most = 0};
    srand(seed);
    draw_form(t);
    lay_out(t);
    t->memory = calloc(1, t->all_bytes);
    assert_non_null(t->memory);
    uint16_t *x = (void *)t->memory;
    for (size_t i = 0; i < t->all_bytes / sizeof *x; i++) {
        const float number = (float)stages_draw(-8, 8) / 4;
        czr_convert(&x[i], t->p.a_dtype, &number, CZR_F32, 1);
    }
    for (int64_t z = 0; z < t->n && t->p.symmetric; z++)
        make_symmetric(t, z);
}

/* That of matrix z, where memory is. */
static inline czr_product product_at(const trial *t,
                                     const unsigned char *memory, int64_t z)
{
    const czr_address base = czr_address_of(memory);
    czr_address of[N_OPERANDS];
    czr_product p = t->p;

    for (int i = 0; i < N_OPERANDS; i++)
        of[i] = base + t->at[i] + (czr_address)(t->apart[i] * z);
    p.a = czr_pointer_of(of[A]);
    p.b = czr_pointer_of(of[t->is_own ? A : B]);
    p.addend = t->has_addend ? czr_pointer_of(of[ADDEND]) : NULL;
    p.beta = t->has_addend ? p.beta : 0;
    p.out = czr_pointer_of(of[OUT]);
    return p;
}

static inline czr_cuda_apart apart_of(const trial *t)
{
    return (czr_cuda_apart){t->apart[A], t->apart[t->is_own ? A : B],
                            t->has_addend ? t->apart[ADDEND] : 0,
                            t->apart[OUT]};
}

/* ---- both sides --------------------------------------------------------- */

static inline void multiply_on_host(const trial *t)
{
    float *c = calloc(t->p.m * t->p.n, sizeof *c);
    czr_host_math math;

    assert_non_null(c);
    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    for (int64_t z = 0; z < t->n && !t->skipped; z++) {
        czr_product p = product_at(t, t->memory, z);
        p.c = c;
        math.math.product(&math.math, &p);
    }
    czr_host_math_close(&math);
    free(c);
}

typedef struct device {
    test_stages s;
    czr_address memory, room, skip;
    czr_cuda_call call;
} device;

/* Stages that are being opened; behind stages_restart. */
static inline czr_status start_device(device *d, bool is_strict)
{
    *d = (device){.memory = 0};
    return stages_open(&d->s, is_strict);
}

/* Prepared for as many as the trial says. */
static inline czr_status prepare_device(device *d, const trial *t)
{
    czr_product shape = t->p;

    if (!t->has_addend)
        shape.beta = 0;
    d->call.stages = &d->s.stages;
    czr_status status =
        czr_cuda_product_prepare(&d->s.stages, &shape, t->most, NULL);
    if (status == CZR_OK)
        status = czr_context_alloc(d->s.bench.context,
                                   d->s.stages.workspace_bytes + 1, &d->room);
    if (status == CZR_OK)
        status = stages_send(&d->s, &d->memory, t->memory, t->all_bytes);
    if (status == CZR_OK)
        status = stages_send(&d->s, &d->skip, &t->skipped, sizeof t->skipped);
    d->call.stream = d->s.stream;
    d->call.skip = czr_pointer_of(d->skip);
    d->call.workspace = czr_pointer_of(d->room);
    return status;
}

static inline void close_device(device *d)
{
    const czr_address taken[] = {d->memory, d->room, d->skip};

    if (d->s.stream)
        czr_context_synchronize(d->s.bench.context, d->s.stream, 0);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (taken[i])
            czr_context_free(d->s.bench.context, taken[i]);
    stages_close(&d->s);
    assert_int_equal(bench_leftovers(), 0);
}

#endif
