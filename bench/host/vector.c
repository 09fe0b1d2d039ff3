/* AdamW's generated loop beside a copy of as many bytes. */
#include "bench/host/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "adamw.h"

/* The loop reads gradient, parameter and two moments and writes all but the
 * gradient: 28 bytes per element, of which a copy would read half. */
enum { ARRAYS = 4, MAX_SLOTS = 8, MAX_SCALARS = 16, COPIED_BYTES = 14 };

typedef struct vector {
    size_t n;
    float *of[ARRAYS]; /* gradient, parameter, moments */
    char *from, *to;   /* of the copy */
    float scalars[MAX_SCALARS];
} vector;

static czr_status open_vector(vector *self, size_t n)
{
    static const double hypers[] = {1e-3, 0.9, 0.999, 1e-8, 0.01};

    *self = (vector){.n = n};
    for (int i = 0; i < ARRAYS; i++)
        self->of[i] = bench_random(n, (uint32_t)i);
    self->from = malloc(n * COPIED_BYTES);
    self->to = malloc(n * COPIED_BYTES);
    if (!self->of[0] || !self->of[1] || !self->of[2] || !self->of[3] ||
        !self->from || !self->to)
        return CZR_ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        self->of[3][i] = fabsf(self->of[3][i]); /* a mean of squares */
    memset(self->from, 1, n * COPIED_BYTES);
    adamw_program.prologue(1, 1, hypers, self->scalars);
    return CZR_OK;
}

static void close_vector(vector *self)
{
    for (int i = 0; i < ARRAYS; i++)
        free(self->of[i]);
    free(self->from);
    free(self->to);
}

static float *array_of(const vector *self, czr_slot slot)
{
    return self->of[slot.kind == CZR_SLOT_GRAD    ? 0
                    : slot.kind == CZR_SLOT_STATE ? 2 + slot.index
                                                  : 1];
}

static double time_loop(vector *self)
{
    const czr_stage *stage = &adamw_program.stages[0];
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
    float scalars[MAX_SCALARS];
    czr_status status = CZR_OK; /* of a parameter that is not finite */
    const czr_call call = {.in = in,
                           .out = out,
                           .scalars = scalars,
                           .count = self->n,
                           .status = &status};

    for (int i = 0; i < stage->n_in; i++)
        in[i] = array_of(self, stage->in[i]);
    for (int i = 0; i < stage->n_out; i++)
        out[i] = array_of(self, stage->out[i]);
    for (int i = 0; i < stage->n_scalars; i++)
        scalars[i] = self->scalars[stage->scalars[i]];
    const double start = bench_now();
    stage->run(&call);
    return bench_now() - start;
}

static double time_copy(const vector *self)
{
    const double start = bench_now();

    memcpy(self->to, self->from, self->n * COPIED_BYTES);
    return bench_now() - start;
}

czr_status bench_vector(size_t n)
{
    enum { REPEATS = 15 };
    double loop[REPEATS], copy[REPEATS], ratio[REPEATS];
    vector self;
    const czr_status status = open_vector(&self, n);

    for (int i = -1; status == CZR_OK && i < REPEATS; i++) {
        const int at = i < 0 ? 0 : i; /* the first round warms up */
        loop[at] = time_loop(&self);
        copy[at] = time_copy(&self);
        ratio[at] = loop[at] / copy[at];
    }
    if (status == CZR_OK)
        printf("| %zu | %.1f | %.1f | %.2f |\n", n,
               1e3 * bench_median(loop, REPEATS),
               1e3 * bench_median(copy, REPEATS), bench_median(ratio, REPEATS));
    close_vector(&self);
    return status;
}
