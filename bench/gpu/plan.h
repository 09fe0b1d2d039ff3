/* Plans of the compiler's on a GPU: what a step takes, by the engine in
 * loop-back of one rank, and what a stage takes by itself. */
#ifndef BENCH_GPU_PLAN_H
#define BENCH_GPU_PLAN_H

#include "bench/gpu/gpu.h"
#include "runtime/cuda/world/loopback.h"

#include <stdio.h>

/* ---- peer.c: another process that measures on request ------------------- */

typedef struct gpu_peer {
    FILE *to, *from;
    long process;   /* 0: none */
    char said[256]; /* its answer to the request */
} gpu_peer;

/* Starts a program, NULL ends its arguments, and asks it to prepare `request`.
 * False: out->said has why not, behind "none", where it answered. */
bool gpu_peer_open(const char *const *command, const char *request,
                   gpu_peer *out);
/* Microseconds of one, by a turn of the peer's; negative: it failed. */
double gpu_peer_turn(gpu_peer *peer);
/* Waits until it has ended; once more does nothing. */
void gpu_peer_close(gpu_peer *peer);

/* ---- plan.c: an engine -------------------------------------------------- */

typedef struct gpu_plan {
    const gpu_machine *machine;
    const czr_program *program;
    czr_loopback *loopback;
    int64_t steps; /* that were put on the stream */
} gpu_plan;

/* Random parameters and gradients, in place; steps are captured as graphs, or,
 * `is_eager`, their operations launched one by one.  False: stderr says why. */
bool gpu_plan_open(const gpu_machine *machine, const czr_cuda_program *program,
                   bool is_eager, gpu_plan *out);
void gpu_plan_close(gpu_plan *plan);

/* Medians, microseconds: of a step where many follow one another; of the call
 * that puts one on idle streams; of the peer's, 0 without one. */
typedef struct gpu_step_times {
    double us, host_us, peer_us;
    int pairs, graphs; /* graphs: what steps are launched as; 0: not captured */
} gpu_step_times;

/* `pairs` turns in alternation, or as many as fit into `seconds`, one at least.
 * False: a step failed, or was skipped, or the peer failed. */
bool gpu_plan_time(gpu_plan *plan, gpu_peer *peer, int pairs, double seconds,
                   gpu_step_times *out);
/* `steps`, or as many as fit into `seconds`, after which *done were done and
 * *grown bytes of the device's memory were taken. */
bool gpu_plan_repeat(gpu_plan *plan, int64_t steps, double seconds,
                     int64_t *done, int64_t *grown);
/* Operations lie on more than one stream. */
bool gpu_plan_is_forked(const czr_program *program);

/* ---- stage.c: one stage ------------------------------------------------- */

/* Medians, microseconds: of the stage of the program that has most elements,
 * all of them, and of a copy on the device of so many bytes, which reads and
 * writes as many together as the stage: inputs are read, outputs read and
 * written, as those of AdamW are. */
typedef struct gpu_stage_times {
    double ours, copy;
    size_t copy_bytes;
} gpu_stage_times;
bool gpu_stage_time(const gpu_machine *machine, const czr_cuda_program *program,
                    int pairs, gpu_stage_times *out);

/* ---- floor.c: what cannot be less --------------------------------------- */

/* Five steps of Newton-Schulz for so many matrices, rows <= columns; none is of
 * no rows. */
typedef struct gpu_schulz {
    int rows, columns, batch;
} gpu_schulz;
/* Of an H200, microseconds: by operations or by bytes, whichever takes longer,
 * of the form that takes less, standard or by the Gram matrix. */
double gpu_schulz_floor_us(const gpu_schulz *of);

/* ---- rows.c: a table ---------------------------------------------------- */

typedef struct gpu_row {
    const char *name;
    const czr_cuda_program *program;
    bool is_stage;       /* beside a copy; else a step */
    bool is_eager;       /* operations are launched one by one */
    gpu_schulz schulz;   /* whose floor a step's time is compared with */
    double floors;       /* so many of them are wanted; 0: nothing is */
    const char *request; /* to the peer; NULL: there is none */
    double wanted;       /* the peer's time, or the copy's, over ours */
    double wanted_us;    /* of a step; 0: nothing, or what `floors` says */
    int64_t steps;       /* after which memory is as before; 0: not asked */
} gpu_row;

/* Each row in a process of its own, and as many peers; a row that fails says
 * so.  False: one did. */
bool gpu_rows_run(const gpu_paths *paths, const char *const *peer,
                  const gpu_row *rows, int n, int pairs);

#endif
