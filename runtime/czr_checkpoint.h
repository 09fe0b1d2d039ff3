/* Checkpoints that any mesh loads: as boxes in memory, or as files.
 *
 *     czr_save(engine, "run/latest");
 *     ...
 *     czr_load(engine, "run/latest");           an engine of any mesh */
#ifndef CZR_CHECKPOINT_H
#define CZR_CHECKPOINT_H

#include "czr.h"

/* A tensor of a checkpoint: a parameter, its master, or a state of it, whole.
 */
typedef struct czr_checkpoint_tensor {
    int param;
    char name[512]; /* of the parameter; each expert has its own */
    const char
        *state; /* NULL: the parameter itself; "master"; else czr_state's */
    czr_dtype dtype;
    int n_dims;
    int64_t shape[8]; /* of the whole tensor */
    int symmetric;    /* as czr_state */
    int64_t n_boxes;  /* that this rank has */
    int is_main;      /* 1: of ranks with the same boxes it is the first */
} czr_checkpoint_tensor;

/* A box of it in memory of this rank: elements start to start + shape of the
 * whole.  Element i, counted from the box's first one, lies at the sum of
 * i[d] * strides[d] elements behind `data`. */
typedef struct czr_checkpoint_box {
    int64_t start[8], shape[8], strides[8];
    void
        *data; /* the engine's, or the trainer's where that has bound its own */
} czr_checkpoint_box;

/* All that a checkpoint holds: parameters, masters where there are any, states;
 * a program's list, which is the same on all ranks, also of tensors of which a
 * rank has no box.  Together the main boxes of all ranks cover each tensor
 * once:
 *
 *     for (i = 0; i < czr_checkpoint_count(engine); i++)
 *         czr_checkpoint_get(engine, i, &tensor);
 *         for (k = 0; k < tensor.n_boxes; k++)
 *             czr_checkpoint_get_box(engine, i, k, &box);
 *
 * Between steps a caller may read boxes and write them, also from a checkpoint
 * of another mesh of the same parameters and rules.  It writes all boxes, not
 * the main ones alone.  A state of its own shape is transposed where its
 * parameter is `stored transposed`.  Of a GPU's engine data are the device's.
 *
 * CZR_ERR_STATE: the engine is not sealed. */
int czr_checkpoint_count(const czr_engine *engine);
czr_status czr_checkpoint_get(czr_engine *engine, int number,
                              czr_checkpoint_tensor *out);
czr_status czr_checkpoint_get_box(czr_engine *engine, int number, int64_t box,
                                  czr_checkpoint_box *out);
/* All of that, and the step, to files in `folder`, which all ranks see; from
 * there into an engine of any mesh of the same parameters and rules that is
 * bound and sealed.
 *
 * Collective, between steps; the host's engines alone (CZR_ERR_UNSUPPORTED).
 * Each rank has a file, in the form of safetensors, of its main boxes: NAME, or
 * NAME#STATE, and behind it where the box begins, as NAME@0,64, unless it is
 * the whole tensor.  manifest.json comes last: before it is there, or where
 * anything fails, the checkpoint before stays as it was and can be loaded; then
 * its files go.  Run-time values and what the trainer has of its own it saves
 * itself.
 *
 * CZR_ERR_STATE of czr_save: parameters have missed updates (czr_grad_absent),
 * and files have one t for all; the trainer saves the boxes and
 * czr_param_step_get's.
 *
 * czr_load looks at all files before it writes anything.  CZR_ERR_FILE: a file
 * cannot be written or read, is cut, changed or none of ours, or has other
 * tensors, types or shapes than this plan; a sentence names it.
 * CZR_ERR_ABORTED: so it was on another rank. */
czr_status czr_save(czr_engine *engine, const char *folder);
czr_status czr_load(czr_engine *engine, const char *folder);

#endif
