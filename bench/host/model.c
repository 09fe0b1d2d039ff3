/* A model's Muon step, generated and plain, turn by turn. */
#include "bench/host/bench.h"

#include <stdio.h>
#include <stdlib.h>

/* A model while it is measured. */
typedef struct model {
    ours generated;
    int n;
    size_t largest;      /* elements of a matrix */
    bench_matrix *plain; /* [n], our matrices' equals */
    float *space;
    double full, necessary; /* operations of products */
} model;

static void count(model *self, const bench_matrix *m)
{
    enum { ITERATIONS = 5 };
    const double side = (double)(m->rows < m->columns ? m->rows : m->columns);
    const double all = (double)m->rows * (double)m->columns * side;
    const double square = side * side * side;

    self->full += ITERATIONS * (4 * all + 2 * square);
    self->necessary += ITERATIONS * (3 * all + square);
}

/* Random values for our matrix, and an equal one for the plain step. */
static czr_status make_matrix(model *self, int i)
{
    bench_matrix theirs, *m = &self->plain[i];
    const czr_status status = ours_matrix(&self->generated, i, &theirs);
    const size_t n = theirs.rows * theirs.columns;

    if (status != CZR_OK)
        return status;
    *m = theirs;
    m->param = bench_random(n, (uint32_t)i);
    m->grad = bench_random(n, (uint32_t)(self->n + i));
    m->momentum = calloc(n, sizeof(float));
    if (!m->param || !m->grad || !m->momentum)
        return CZR_ERR_NO_MEMORY;
    memcpy(theirs.param, m->param, n * sizeof(float));
    memcpy(theirs.grad, m->grad, n * sizeof(float));
    count(self, m);
    return CZR_OK;
}

static czr_status open_model(model *self, const czr_program *program,
                             czr_world *world)
{
    czr_status status;

    *self = (model){.n = program->n_params};
    self->plain = calloc((size_t)self->n, sizeof *self->plain);
    status = self->plain ? ours_open(&self->generated, program, world)
                         : CZR_ERR_NO_MEMORY;
    for (int i = 0; i < self->n && status == CZR_OK; i++) {
        status = make_matrix(self, i);
        if (self->plain[i].rows * self->plain[i].columns > self->largest)
            self->largest = self->plain[i].rows * self->plain[i].columns;
    }
    self->space = malloc(BENCH_SPACES * self->largest * sizeof(float));
    return status == CZR_OK && !self->space ? CZR_ERR_NO_MEMORY : status;
}

static void close_model(model *self)
{
    ours_close(&self->generated);
    for (int i = 0; self->plain && i < self->n; i++) {
        free(self->plain[i].param);
        free(self->plain[i].grad);
        free(self->plain[i].momentum);
    }
    free(self->plain);
    free(self->space);
}

/* Largest difference of a parameter in units of the learning rate, so that it
 * is plain that both computed the same. */
static double difference(const model *self)
{
    double worst = 0;

    for (int i = 0; i < self->n; i++) {
        bench_matrix theirs;
        const bench_matrix *m = &self->plain[i];
        if (ours_matrix(&self->generated, i, &theirs) != CZR_OK)
            return (double)INFINITY;
        for (size_t k = 0; k < m->rows * m->columns; k++) {
            const double d =
                fabs((double)theirs.param[k] - (double)m->param[k]);
            worst = d > worst ? d : worst;
        }
    }
    return worst / BENCH_LR;
}

/* Bytes of an element in the slots of a kind that a stage writes, at most. */
static size_t slot_bytes(const czr_program *program, int kind)
{
    size_t most = 0;

    for (int i = 0; i < program->n_stages; i++) {
        const czr_stage *stage = &program->stages[i];
        size_t bytes = 0;
        for (int k = 0; k < stage->n_out; k++)
            if (stage->out[k].kind == kind)
                bytes += czr_dtype_bytes(stage->out[k].dtype);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Bytes of what is gathered and scattered of the largest matrix: on one rank,
 * which takes one matrix after the other, its micro-group's buffers. */
static size_t micro_group_bytes(const model *self)
{
    const czr_program *program = self->generated.program;

    return self->largest * (slot_bytes(program, CZR_SLOT_GATHER) +
                            slot_bytes(program, CZR_SLOT_SCATTER));
}

static void print_row(const model *self, const char *name, double *generated,
                      double *plain, double *products, int n)
{
    double faster[BENCH_REPEATS], rate[BENCH_REPEATS];
    czr_counters counters = {0};

    for (int i = 0; i < n; i++) {
        faster[i] = plain[i] / generated[i];
        rate[i] = (self->necessary / generated[i]) / (self->full / products[i]);
    }
    czr_counters_get(self->generated.engine, &counters);
    const double scratch = (double)counters.peak_scratch_bytes;
    printf("| %s | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f | %.1f | %.1f | "
           "%.2f | %.0e |\n",
           name, 1e3 * bench_median(generated, n), 1e3 * bench_median(plain, n),
           1e-9 * self->full / bench_median(products, n),
           bench_median(faster, n), self->full / self->necessary,
           bench_median(rate, n), 1e-6 * scratch,
           1e-6 * (double)(self->largest * sizeof(float)),
           scratch / (double)micro_group_bytes(self), difference(self));
}

czr_status bench_model(czr_world *world, const bench_case *what, int repeats)
{
    double generated[BENCH_REPEATS], plain[BENCH_REPEATS],
        products[BENCH_REPEATS];
    model self;
    czr_status status = open_model(&self, what->program, world);

    for (int i = 0; status == CZR_OK && i < repeats; i++) {
        double start = bench_now();
        status = ours_step(&self.generated);
        generated[i] = bench_now() - start;
        start = bench_now();
        products[i] = what->plain(self.plain, self.n, self.space);
        plain[i] = bench_now() - start;
    }
    if (status == CZR_OK)
        print_row(&self, what->name, generated, plain, products, repeats);
    close_model(&self);
    return status;
}
