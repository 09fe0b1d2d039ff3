/* Parts of bench_host: one rank, one thread, processor time. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include "runtime/czr.h"

/* Seconds of processor time that all threads of this process have used: other
 * processes do not count. */
double bench_now(void);

/* Hyperparameters of Muon, alike everywhere. */
#define BENCH_LR 0.02
#define BENCH_MOMENTUM 0.95
#define BENCH_DECAY 0.1

/* A matrix of a model; the arrays are the caller's, row-major. */
typedef struct bench_matrix {
    size_t rows, columns;
    float *param, *grad, *momentum;
} bench_matrix;

/* Work space of one matrix, all of rows * columns elements of four bytes. */
enum { BENCH_SPACES = 5 };

/* One step of Muon in float32 or bfloat16 as one would write it: a loop or a
 * product for each line of the formula, all products in full.  `space` is room
 * for BENCH_SPACES matrices of the largest size.  Returns the seconds that
 * products took. */
double plain_muon_f32(const bench_matrix *matrices, int n, float *space);
double plain_muon_bf16(const bench_matrix *matrices, int n, float *space);

/* A generated program on one rank. */
typedef struct ours {
    const czr_program *program;
    czr_engine *engine;
    double *hypers; /* [n_hypers] */
} ours;

czr_status ours_open(ours *self, const czr_program *program, czr_world *world);
void ours_close(ours *self);
czr_status ours_step(ours *self);
/* Its parameters, in order: matrices that lie where the engine has them. */
czr_status ours_matrix(const ours *self, int param, bench_matrix *out);

/* A model's Muon step: generated, and plain beside it. */
typedef struct bench_case {
    const char *name;
    const czr_program *program;
    double (*plain)(const bench_matrix *matrices, int n, float *space);
} bench_case;

/* Each prints a row of its table: medians of turns. */
enum { BENCH_REPEATS = 64 };
czr_status bench_model(czr_world *world, const bench_case *what, int repeats);
czr_status bench_vector(size_t n);

double bench_median(const double *values, int n);
/* n values between -1 and 1, the caller's to free; NULL without memory. */
float *bench_random(size_t n, uint32_t seed);

#endif
