/* What tests of products have in common: one that is drawn, by the host and on
 * the device, from opening to closing. */
#ifndef TESTS_CUDA_PRODUCT_TRIAL_H
#define TESTS_CUDA_PRODUCT_TRIAL_H

#include "runtime/base/memory.h"
#include "runtime/math/product.h"
#include "tests/gpu/stages/stages.h"

#include <string.h>

enum { MARGIN = 64 }; /* bytes behind each operand */
enum { A, B, ADDEND, OUT, C, N_OPERANDS };

typedef struct trial {
    czr_product p;                   /* its pointers are set where it runs */
    unsigned char *host[N_OPERANDS]; /* NULL: not there */
    size_t bytes[N_OPERANDS], shift[N_OPERANDS]; /* how far each begins */
    czr_address device[N_OPERANDS], skip, room;
    bool is_own;      /* b is a */
    bool is_in_place; /* the addend is the result */
    int32_t skipped;
} trial;

/* What a trial is run with. */
typedef struct trial_setting {
    bool is_strict;
    const char *cublas;
    const czr_cuda_tiling *tiling; /* that the program says, or NULL */
    int tiled_sms;
    int capability; /* of the double; 0: as it is */
} trial_setting;

/* From -3 to 3. */
static inline float any_number(void)
{
    return (float)stages_draw(-1000000, 1000000) / 333333;
}

static inline void draw_operand(trial *t, int which, size_t n, czr_dtype dtype,
                                float (*draw)(void))
{
    unsigned char *memory = calloc(1, n * czr_dtype_bytes(dtype) + MARGIN);

    assert_non_null(memory);
    for (size_t i = 0; i < n; i++) {
        const float x = draw();
        czr_convert(memory + i * czr_dtype_bytes(dtype), dtype, &x, CZR_F32, 1);
    }
    t->host[which] = memory;
    t->bytes[which] = n * czr_dtype_bytes(dtype);
}

static inline void drop_trial(trial *t)
{
    for (int i = 0; i < N_OPERANDS; i++)
        free(t->host[i]);
}

/* Where the result is. */
static inline int result_of(const trial *t)
{
    return t->host[OUT] ? OUT : C;
}

static inline czr_product product_at(const trial *t, void *const at[N_OPERANDS])
{
    czr_product p = t->p;

    p.a = at[A];
    p.b = at[t->is_own ? A : B];
    p.c = at[C];
    p.out = at[OUT];
    p.addend = at[t->is_in_place ? OUT : ADDEND];
    p.beta = t->host[ADDEND] || t->is_in_place ? p.beta : 0;
    if (t->is_in_place)
        p.addend_dtype = p.out_dtype;
    return p;
}

/* All results go to `out`. */
static inline czr_product on_device(const trial *t)
{
    void *at[N_OPERANDS] = {NULL};

    for (int i = 0; i < N_OPERANDS; i++)
        if (t->host[i])
            at[i] = czr_pointer_of(t->device[i] + t->shift[i]);
    czr_product p = product_at(t, at);
    if (!t->host[OUT]) {
        p.out = p.c;
        p.out_dtype = CZR_F32;
        p.alpha = 1;
    }
    return p;
}

/* With the results in t->host unless it is skipped. */
static inline void multiply_on_host(const trial *t)
{
    void *const at[] = {t->host[A], t->host[B], t->host[ADDEND], t->host[OUT],
                        t->host[C]};
    czr_product p = product_at(t, at);
    float *c = t->host[C] ? NULL : calloc(p.m * p.n + 1, sizeof *c);
    czr_host_math math;

    if (c)
        p.c = c;
    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    if (!t->skipped)
        math.math.product(&math.math, &p);
    czr_host_math_close(&math);
    free(c);
}

static inline czr_status send_all(test_stages *s, trial *t)
{
    czr_status status = czr_context_alloc(
        s->bench.context, s->stages.workspace_bytes + 1, &t->room);

    if (status == CZR_OK)
        status = stages_send(s, &t->skip, &t->skipped, sizeof t->skipped);
    for (int i = 0; i < N_OPERANDS && status == CZR_OK; i++) {
        unsigned char *memory = t->host[i];
        if (!memory)
            continue;
        memmove(memory + t->shift[i], memory, t->bytes[i]);
        status = stages_send(s, &t->device[i], memory, t->bytes[i] + MARGIN);
        memmove(memory, memory + t->shift[i], t->bytes[i]);
    }
    return status;
}

static inline czr_status open_trial(test_stages *s, const trial_setting *with)
{
    if (with->capability)
        fake_set_capability(with->capability);
    const czr_status status = stages_open(s, with->is_strict);
    s->stages.cublas = with->cublas;
    s->cuda.tilings = with->tiling;
    s->cuda.n_tilings = with->tiling != NULL;
    s->cuda.tiled_sms = with->tiled_sms;
    return status;
}

static inline czr_status multiply(test_stages *s, trial *t, void *result)
{
    czr_product p = on_device(t);
    czr_cuda_call call = {.stages = &s->stages};
    const int which = result_of(t);

    czr_status status = czr_cuda_product_prepare(&s->stages, &p, 1, NULL);
    if (status == CZR_OK)
        status = send_all(s, t);
    p = on_device(t);
    call.stream = s->stream;
    call.skip = czr_pointer_of(t->skip);
    call.workspace = czr_pointer_of(t->room);
    if (status == CZR_OK)
        status = czr_cuda_multiply(&call, &p);
    if (status == CZR_OK)
        status = stages_fetch(s, result, t->device[which] + t->shift[which],
                              t->bytes[which]);
    return status;
}

/* Nothing is left. */
static inline void close_trial(test_stages *s, const trial *t)
{
    if (s->stream) {
        czr_context_synchronize(s->bench.context, s->stream, 0);
        for (int i = 0; i < N_OPERANDS; i++)
            czr_context_free(s->bench.context, t->device[i]);
        czr_context_free(s->bench.context, t->skip);
        czr_context_free(s->bench.context, t->room);
    }
    stages_close(s);
    assert_int_equal(bench_leftovers(), 0);
}

/* From opening to closing; its result is the host's wherever there is one.
 * What computes it is in `lines`, if they are not NULL. */
static inline czr_status run_trial(trial *t, unsigned seed,
                                   const trial_setting *with, char *lines)
{
    const int which = result_of(t);
    void *const mine = calloc(t->bytes[which] + 1, 1);
    test_stages s;

    assert_non_null(mine);
    stages_restart(seed);
    assert_int_equal(open_trial(&s, with), CZR_OK);
    const czr_status status = multiply(&s, t, mine);
    if (lines) {
        lines[0] = '\0';
        czr_cuda_products_describe(&s.stages, keep_line, lines);
    }
    multiply_on_host(t);
    if (status == CZR_OK && memcmp(mine, t->host[which], t->bytes[which]) != 0)
        fail_msg("seed %u: another result than the host's", seed);
    close_trial(&s, t);
    free(mine);
    return status;
}

/* Each call of the driver fails in turn: a status, unless others take over
 * where the library fails, and nothing is left. */
static inline void fail_in_turn(void (*draw)(trial *, unsigned), unsigned seed,
                                const trial_setting *with)
{
    for (int64_t n = 1;; n++) {
        test_stages s;
        trial t;
        draw(&t, seed);
        stages_restart(seed);
        void *const mine = calloc(t.bytes[OUT] + t.bytes[C] + 1, 1);
        fake_fail(NULL, n, CZR_CUDA_OUT_OF_MEMORY);
        czr_status status = open_trial(&s, with);
        if (status == CZR_OK)
            status = multiply(&s, &t, mine);
        const bool has_failed = fake_has_failed();
        close_trial(&s, &t);
        const bool is_over = !fake_has_failed();
        free(mine);
        drop_trial(&t);
        if (has_failed && status == CZR_OK && !with->cublas &&
            strcmp(fake_symbol(n - 1), "cuStreamDestroy_v2") != 0)
            fail_msg("call %d fails, and nobody says so", (int)n);
        if (is_over)
            break;
    }
}

#endif
