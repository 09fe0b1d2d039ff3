/* One rank's engine on a device: what its operations and steps need there,
 * taken when it is opened.  Who steps several of them puts each operation's
 * turns on the streams of all, and the world puts the units. */
#ifndef CZR_CUDA_EXEC_RANK_H
#define CZR_CUDA_EXEC_RANK_H

#include "runtime/cuda/collect/collect.h"
#include "runtime/cuda/exec/param_ready.h"
#include "runtime/cuda/exec/device.h"
#include "runtime/cuda/products/stage.h"
#include "runtime/engine/engine.h"

/* What the ranks of a device share; the caller's, open as long as they are. */
typedef struct czr_cuda_device_common {
    czr_context *context;
    czr_collect *collect;
    czr_cuda_stages *stages;
} czr_cuda_device_common;

typedef struct czr_cuda_rank {
    czr_cuda_device_common device;
    czr_engine *engine;
    struct czr_cuda_rank_group
        *rank_group;                /* that it is stepped with; NULL: not yet */
    czr_collect_decision *decision; /* the device's, as are those below it */
    double *hypers;                 /* [n_hypers] */
    float *scalars;                 /* [n_scalars], then CZR_NAME_SCALARS for
                                     * each parameter */
    unsigned char *workspaces;      /* of stages, for each stream */
    size_t workspace_bytes;         /* of one */
    czr_collect_span *spans;
    czr_collect_spans guarded; /* of them, gradients of all parameters */
    czr_collect_spans *summed; /* [n_ops] of them, those of a square_sum */
    czr_collect_marks marks;   /* of this rank's kernel rows */
    int64_t *first_marks;      /* [n_ops] the first of each, on the host */
    czr_collect_rank_words rank_words; /* right before the decision, so that
                                        * one sum has them and the norm */
    /* Of one row, or of a batch, as many matrices as it may have: for each a
     * call, CZR_MAX_SLOTS of slots, n_scalars + CZR_NAME_SCALARS of scalars. */
    czr_cuda_call *calls;
    const void **call_in;
    void **call_out;
    const float **call_scalars;
    czr_collect_result *result; /* pinned */
    czr_collect_result *draft;  /* pinned, of a decision on an update that may
                                 * be undone; else the same */
    void *main; /* stream: what precedes and follows a list, and guards */
    void *poll; /* stream that waits for decisions */
    void *event, *decided, *ended; /* at hand; behind a decision; a step */
    czr_cuda_param_ready param_ready;
    bool has_decision; /* an operation of the list decides; else the guard */
    int64_t sequence;  /* decisions that were asked for */
    int64_t polled;    /* those that the engine has learned */
    int64_t set_steps; /* updates of no decision's, which a trainer has set */
    int64_t undone;    /* updates that it has learned of, */
    int64_t refused;   /* and steps */
    bool has_more;     /* to say of what it has learned */
} czr_cuda_rank;

/* An engine of `world` whose memory and operations are the device's.  If it
 * fails, *out wants to be closed and its engine, where there is one, or the
 * context says why; or it is NULL. */
czr_status czr_cuda_rank_open(const czr_cuda_device_common *device,
                              czr_world *world, const czr_options *options,
                              czr_cuda_rank **out);
/* Waits for all its streams, failed or not: before memory that others read
 * goes. NULL is allowed. */
void czr_cuda_rank_drain(czr_cuda_rank *rank);
/* With its engine.  NULL is allowed. */
void czr_cuda_rank_close(czr_cuda_rank *rank);

/* The failure of a call that the context knows of; others are reported. */
czr_status czr_cuda_rank_check(czr_cuda_rank *rank, czr_status status,
                               const char *what);
/* This thread's calls are the device's from here on. */
czr_status czr_cuda_rank_enter(czr_cuda_rank *rank);

/* op.c: how kinds of operations are carried out. */
extern const czr_op_body czr_op_cuda_bodies[CZR_N_OP_KINDS];
/* rank->calls[matrix] becomes that of row `number` of this rank's in a kernel
 * operation, which lies where `row` says. */
void czr_cuda_make_call(czr_cuda_rank *rank, size_t matrix, int op,
                        int64_t number, const czr_kernel_entry *row);

/* op_batch.c: rows of an operation that run as one; list NULL: none. */
czr_cuda_batches czr_cuda_batches_of(const czr_cuda_program *program, int op);
/* Bytes behind its scratch that a rank wants for them. */
int64_t czr_cuda_batch_bytes(const czr_cuda_program *program, int rank);
/* Memory for calls; also where it fails, it is to be closed. */
czr_status czr_cuda_calls_open(czr_cuda_rank *rank);
void czr_cuda_calls_close(czr_cuda_rank *rank);
/* All units of batch `number`, from 1, of those that an operation has. */
czr_status czr_cuda_run_batch(czr_cuda_rank *rank, int op,
                              const czr_cuda_batches *of, int32_t number);

/* fault.c: memory for what rules do wrong. */
czr_status czr_cuda_faults_open(czr_cuda_rank *rank);
/* The end of a step: who failed, and where steps are undone what was kept is
 * put back. */
czr_status czr_cuda_undo(czr_engine *engine, int op, czr_segment *segment);
/* The parameter of a row that failed on rank `number`, any of the plan's. */
int czr_cuda_fault_param(const czr_program *program, int number, int mark);

#endif
