/* Canzona runtime: runs one static plan inside a trainer.
 *
 *     czr_open(&NAME_program, world, NULL, &engine);
 *     czr_bind(engine, "weight", &param, &grad);    for every parameter
 *     czr_seal(engine);
 *     czr_step(engine, &hyper, NULL, &result);      after every backward pass
 *     czr_close(engine);
 *
 * Part 1 is what a trainer calls, part 2 what generated C is made of.
 * examples/embed/lesson.c is a whole trainer.
 *
 * - Nothing here prints or exits.  It needs libc and libm only.
 * - At a failure that ends the world, ranks write their last operations into
 *   the folder that the environment names as CZR_TRACE_FOLDER, if it does:
 * ranks that are threads canzona.trace.json, others canzona-rankN.trace.json.
 *   `canzona trace` reads it, and so does a viewer of trace events.
 * - Every failure is a status, and czr_error has a sentence about it.
 *   CZR_ERR_ARGUMENT of any call: a number is out of range, or a pointer NULL
 *   that may not be.  Of a NULL engine or world counts, numbers and extents are
 *   0, and czr_error is "".
 * - Any thread may call czr_step, czr_grad_ready, czr_param_wait and
 *   czr_extern_set: they lock the engine.  Of all other calls an engine takes
 *   one at a time. */
#ifndef CZR_H
#define CZR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CZR_ABI 32u /* version of the tables of part 2 */

/* ---- 1. For trainers ---------------------------------------------------- */

#define CZR_STATUSES(X)                                                        \
    X(OK, "ok")                                                                \
    X(ERR_NO_MEMORY, "out of memory")                                          \
    X(ERR_ARGUMENT, "an argument that makes no sense")                         \
    X(ERR_NOT_FOUND, "no tensor of that name")                                 \
    X(ERR_FROZEN, "a frozen parameter: the engine has no part in it")          \
    X(ERR_ELSEWHERE,                                                           \
      "a parameter of other ranks, as experts may be, or layers")              \
    X(ERR_SHAPE, "a tensor's shape, type or place is not the plan's")          \
    X(ERR_UNBOUND, "a tensor was not bound")                                   \
    X(ERR_OVERLAP, "two bound tensors share memory")                           \
    X(ERR_STATE, "called in the wrong order")                                  \
    X(ERR_VERSION, "program and runtime do not fit together")                  \
    X(ERR_MISMATCH, "ranks differ where they must be alike")                   \
    X(ERR_WORLD_SIZE, "the world has another size than the mesh")              \
    X(ERR_HYPER, "a run-time value without default was not given")             \
    X(ERR_EXTERN, "an extern was not given since the last step")               \
    X(ERR_TIMEOUT, "a rank did not come in time")                              \
    X(ERR_ABORTED, "another rank failed first")                                \
    X(ERR_UNSUPPORTED, "not supported yet")                                    \
    X(ERR_NO_LIBRARY,                                                          \
      "no library for factorisations (LAPACK) on this machine")                \
    X(ERR_NOT_FINITE, "a matrix to factorise is not finite")                   \
    X(ERR_NOT_POSITIVE, "a matrix that must be positive definite is not")      \
    X(ERR_SINGULAR, "a triangular matrix with a zero on its diagonal")         \
    X(ERR_NO_CONVERGENCE, "eigenvalues did not converge, in float64 neither")  \
    X(ERR_GRADIENT, "a gradient is not finite, or too large for its rule")     \
    X(ERR_PARAM, "a rule made a parameter that is not finite")                 \
    X(ERR_NO_DEVICE, "no GPU, or no driver for one that is new enough")        \
    X(ERR_DEVICE, "the GPU or its driver failed")                              \
    X(ERR_DEVICE_CODE, "machine code or a kernel that this GPU does not have") \
    X(ERR_NO_NCCL, "no NCCL, or one that is too old")                          \
    X(ERR_NCCL, "NCCL failed")                                                 \
    X(ERR_ENDED, "a rank has ended, and others wait for it")                   \
    X(ERR_MPI, "MPI failed, or is finalised")                                  \
    X(ERR_MPI_THREADS, "MPI is not initialised with MPI_THREAD_MULTIPLE")      \
    X(ERR_WRITTEN, "a parameter was written under its master")                 \
    X(ERR_FILE, "a checkpoint's file is not there, or not whole, or none")

typedef enum czr_status {
#define CZR_STATUS(name, text) CZR_##name,
    CZR_STATUSES(CZR_STATUS)
#undef CZR_STATUS
        CZR_N_STATUSES
} czr_status;

/* "CZR_ERR_TIMEOUT", and its sentence above.  Static text, for any number. */
const char *czr_status_name(czr_status status);
const char *czr_status_text(czr_status status);

/* CZR_F16 is of values between the steps of a rule: nothing that a trainer
 * binds or reduces has it. */
typedef enum czr_dtype {
    CZR_F64,
    CZR_F32,
    CZR_BF16,
    CZR_F16,
    CZR_N_DTYPES
} czr_dtype;
/* Bytes of an element; 0 of what is no type. */
size_t czr_dtype_bytes(czr_dtype dtype);

typedef struct czr_program czr_program; /* a plan, from generated C */
typedef struct czr_world czr_world;     /* all ranks, as one of them has them */
typedef struct czr_engine czr_engine;   /* a plan on one rank */
/* Of a GPU.  NULL is a stream, too: the legacy default one, on which PyTorch
 * works unless a trainer makes others.  The host ignores streams. */
typedef void *czr_stream;
/* None: nothing is waited for, and nothing waits. */
#define CZR_NO_STREAM ((czr_stream)(intptr_t)-1)

/* A tensor of the caller.  czr_bind copies shape and strides.  The data stays
 * the caller's, and every step uses it. */
typedef struct czr_tensor {
    void *data;
    czr_dtype dtype;
    int n_dims;
    const int64_t *shape, *strides; /* elements; NULL strides: row-major */
} czr_tensor;

/* All zero is the default.  `late_device`, `fixed_order_product`, `threads` and
 * `assume_finite` are for the host; a GPU ignores them. */
typedef struct czr_options {
    int late_device;         /* 1: streams run as late as their waits allow */
    int fixed_order_product; /* 1: our own products, as in a `strict` plan */
    int64_t deadline_ms;     /* of one wait for other ranks; 0: 600,000 */
    /* Threads of a matrix library in one call, and of large element-wise
     * updates.  0: an equal share of the processors that this process may use,
     * at least one. */
    int threads;
    /* 1: a step in which a rule fails is undone on all ranks (czr_step), which
     * must all ask for it.  It takes a second copy of this rank's states,
     * masters and slice of the parameters.  A GPU copies all of the rank's
     * parameters. */
    int undo;
    /* Every so many steps one parameter, in turn, is compared among ranks that
     * have copies of it.  If one had another before the step, czr_step returns
     * CZR_ERR_MISMATCH on all ranks.  0: never.  All ranks must ask for the
     * same.  A GPU waits for the device in such a step. */
    int64_t replica_check;
    /* 1: of gradients that are used where they lie nobody looks whether rules
     * can compute with them.  What is not finite then makes such a parameter:
     * CZR_ERR_PARAM (czr_step).  What is too large for a rule may leave
     * infinite states.  Not with `skip nonfinite`. */
    int assume_finite;
} czr_options;

/* A run-time value of a param group: of `use muon(lr) as matrices` "lr" of
 * "matrices".  One of a tuple has its place behind it, "betas_0". */
typedef struct czr_hyper_desc {
    const char *param_group, *name;
    double value; /* default */
    int has_default;
} czr_hyper_desc;

/* Run-time values of a step, in the order of the enum in NAME.h.  NaN, or no
 * value at all, means the default.  The call reads them and keeps nothing.
 * czr_hyper_get says at run time which there are. */
typedef struct czr_hyper {
    const double *values; /* [n] */
    size_t n;
} czr_hyper;

typedef struct czr_result {
    /* Euclidean norm of all reduced gradients before clipping, each logical
     * element once; 0: the plan takes no norm. */
    double grad_norm;
    int skipped;  /* 1: the step changed nothing, see czr_step */
    int64_t step; /* updates applied so far */
} czr_result;

/* Where a parameter lies in the engine's buffers on this rank.
 *
 * `param` and `grad` point at this rank's shard.  They are the engine's, from
 * czr_open to czr_close.  Microbatch gradient k lies k * grad_stride
 * elements behind `grad`.
 *
 * A stored tensor with several matrices, or with padding, has no place there.
 * Its pointers are NULL, its bucket and offset are -1. */
typedef struct czr_layout_info {
    int bucket;
    int64_t offset; /* of the shard in the bucket, elements */
    int64_t n;      /* elements of the shard; may be 0 if shards are unequal */
    void *param, *grad;
    czr_dtype param_dtype, grad_dtype;
    int64_t n_grads, grad_stride; /* microbatch gradients; elements apart */
    int n_dims;
    int64_t shape[8];  /* of the shard */
    int64_t global[8]; /* of the whole tensor */
    int64_t start[8];  /* of the shard in it */
} czr_layout_info;

/* This rank's part of one state tensor.  Externs are no states.
 *
 * - rows = 0: the state is sharded like its parameter.  `data` holds elements
 *   [first, first + n) of this rank's shard, flat.
 * - rows > 0: the state is a matrix [rows, columns], row-major.  The owner of
 *   the parameter has all of it, other ranks nothing.  If the parameter is
 *   `stored transposed`, it is the transpose of the state in the rule.  A
 *   vector lies as in the rule.
 *
 * A symmetric state equals its transpose.  To change one, write the diagonal
 * and the triangle below it.  The first czr_step after czr_state_get mirrors
 * that triangle. */
typedef struct czr_state {
    const char *name; /* "mom" */
    int param;
    czr_dtype dtype;
    int64_t first, n, rows, columns; /* elements */
    int symmetric;
    void *data; /* the engine's, until czr_close */
} czr_state;

/* An extern of a parameter on this rank: rows * columns elements, as stored. */
typedef struct czr_extern_info {
    const char *name; /* in the rule: "max_logit" */
    int param;
    int64_t rows, columns;
} czr_extern_info;

/* What this rank did since czr_open (dsl/SCHEDULE.md, "Counters").  Arrays are
 * the engine's, until czr_close. */
typedef struct czr_counters {
    int64_t steps, skips;   /* czr_result.step; steps that changed nothing */
    const int64_t *updates; /* [n_params] elements updated */
    const int64_t *full_matrix; /* [n_params] full-matrix stages run */
    const int64_t *bytes_sent, *bytes_received; /* [n_ops] */
    /* Bytes of scratch that were ever written, rounded up to 64, without the
     * scratch that a GPU takes for batches. */
    int64_t peak_scratch_bytes;
    int64_t step_allocations; /* by the runtime, inside steps: 0 */
} czr_counters;

/* Runs `body` on one thread for each rank, rank 0 on the calling thread.  Each
 * gets `user` and a world of its own, which ends with the call.  Returns the
 * failure of the lowest rank with one of its own: CZR_ERR_ABORTED follows
 * another's.  CZR_ERR_ENDED: the thread of a rank has ended within `body`, by
 * pthread_exit or because it was cancelled.  If that is the calling thread, the
 * call ends the others and does not return.  CZR_ERR_NO_MEMORY: no memory, or
 * no thread for a rank. */
czr_status czr_world_threads_run(int ranks,
                                 czr_status (*body)(czr_world *, void *),
                                 void *user);
/* Ranks that are processes: czr_transport.h, and of MPI czr_mpi.h.
 * Checkpoints: czr_checkpoint.h. */
int czr_world_rank(const czr_world *world);
int czr_world_size(const czr_world *world);

/* Collectives for trainers, for instance of a loss:
 *
 *     czr_world_all_reduce(world, "dp", &loss, 1, CZR_F32);
 *
 * `axis` names an axis of the mesh, which czr_open makes known; NULL: all
 * ranks.  Members are in order of their coordinate.
 * - all_reduce: data[count] becomes the sum over the members, alike on all to
 *   the bit.  Neighbours are added first, as a tree; bf16 in f32, rounded once.
 * - all_gather: send[count] of member k goes to receive + k * count elements;
 *   `receive` has size * count.
 * - barrier: returns when all ranks have come.
 *
 * A rank makes one such call at a time.  Another thread may call czr_grad_ready
 * meanwhile.  CZR_ERR_NOT_FOUND: no such axis.  CZR_ERR_MISMATCH: members make
 * unequal calls.  CZR_ERR_TIMEOUT: a member does not come.  CZR_ERR_ENDED: a
 * member has ended and never will.  CZR_ERR_ABORTED: a rank has failed.  The
 * world of a rank that failed is lost, and with it the engines in it. */
czr_status czr_world_all_reduce(czr_world *world, const char *axis, void *data,
                                size_t count, czr_dtype dtype);
czr_status czr_world_all_gather(czr_world *world, const char *axis,
                                const void *send, void *receive, size_t count,
                                czr_dtype dtype);
czr_status czr_world_barrier(czr_world *world);
/* One sentence about the last of these calls that other ranks made fail; "" if
 * none did.  The text is the world's. */
const char *czr_world_error(const czr_world *world);
/* This rank's coordinate on an axis, and the size of the axis.  NULL: its rank
 * and the number of ranks.  An unknown axis: 0 and 1. */
int czr_world_coordinate(const czr_world *world, const char *axis);
int czr_world_extent(const czr_world *world, const char *axis);

/* Opens a plan on this rank, and takes the memory of all its steps.
 * Collective: all ranks compare plan, versions, `undo` and `replica_check`, and
 * all open or all fail.  NULL options are the default.
 *
 * The caller closes the engine, and keeps program and world until then.  A
 * failure leaves *out NULL, or an engine that must be closed.
 *
 * CZR_ERR_ARGUMENT: assume_finite, and the plan skips what is not.
 * CZR_ERR_VERSION: the program has tables of another version or form.
 * CZR_ERR_WORLD_SIZE: the mesh has another number of ranks.  CZR_ERR_MISMATCH:
 * ranks differ in what they compare.  CZR_ERR_ABORTED: another rank cannot
 * open.  CZR_ERR_TIMEOUT: a rank does not come.  CZR_ERR_NO_MEMORY. */
czr_status czr_open(const czr_program *program, czr_world *world,
                    const czr_options *options, czr_engine **out);

/* Parameters have numbers from 0, alike on all ranks: also those of others. */
int czr_param_count(const czr_engine *engine);
/* The parameter's name on this rank, with its final zero, into name[n].
 * CZR_ERR_ARGUMENT: it needs more than n bytes. */
czr_status czr_param_name(const czr_engine *engine, int param, char *name,
                          size_t n);
/* The `use` that took it, "matrices".  NULL: no such parameter. */
const char *czr_param_group(const czr_engine *engine, int param);
/* The values of czr_hyper, in its order.  Texts are the program's. */
int czr_hyper_count(const czr_engine *engine);
czr_status czr_hyper_get(const czr_engine *engine, int number,
                         czr_hyper_desc *out);
/* Where the tensor of that name lies.  Each name of a tied parameter finds it.
 * - CZR_ERR_NOT_FOUND: the model has no such tensor.
 * - CZR_ERR_FROZEN: nobody trains it.  Keep it where it is, and do not bind it.
 * - CZR_ERR_ELSEWHERE: other ranks have it, and bind it.  They hold this
 *   expert, or are the pipeline stages that hold this layer. */
czr_status czr_layout(const czr_engine *engine, const char *name,
                      czr_layout_info *out);

/* Binds this rank's shard of a parameter, and its gradient:
 *
 *     czr_bind(engine, "weight", &param, &grad);    the trainer's own memory
 *     czr_bind(engine, "weight", NULL, NULL);       where czr_layout says
 *
 * - A tensor whose data is where czr_layout says is used in place.  So is NULL,
 *   and a tensor with NULL data.
 * - So is, on the host, a tensor whose elements lie one behind the other, if
 *   nothing of it travels: a parameter that no other rank needs from this one,
 *   as on one rank and with shards; a gradient that no other rank adds to.
 *   With czr_options.undo parameters are copied all the same.
 * - Every step copies any other tensor in, and the new parameter out.
 * - With leaves > 1 a gradient has one leading dimension more: [leaves, ...].
 *
 * Fused or padded storage is bound by its own name, "linear_qkv.weight".  This
 * binds every matrix in it, such as "linear_qkv.weight[q]".  It has no place in
 * the engine, so both tensors must be given.  Its padding is neither read nor
 * written.  Each matrix may be bound by its own name instead, like any
 * parameter.
 *
 * CZR_ERR_SHAPE: type, shape or strides are not the plan's, or fused storage
 * lacks a tensor.  CZR_ERR_STATE: the engine is sealed.  Names fail as in
 * czr_layout.  A failure binds nothing. */
czr_status czr_bind(czr_engine *engine, const char *name,
                    const czr_tensor *param, const czr_tensor *grad);
/* Where a bound parameter's gradient lies from here on, for trainers that make
 * new ones in each backward pass: before czr_step, and before czr_grad_ready of
 * the parameter.  What czr_grad_check has found is forgotten.  The rest is as
 * in czr_bind, of which NULL stays what it was; but nobody looks whether the
 * gradient shares memory with other tensors.
 *
 * CZR_ERR_SHAPE and names as in czr_bind.  CZR_ERR_UNBOUND: the parameter is
 * not bound.  CZR_ERR_STATE: czr_grad_ready has come.  A failure changes
 * nothing. */
czr_status czr_grad_bind(czr_engine *engine, const char *name,
                         const czr_tensor *grad);
/* czr_grad_bind of many: parameter i has its gradient at data[i] from here on,
 * with type, shape and strides of the last one.  NULL, or where it is already:
 * nothing is done, and what czr_grad_check has found holds.  Of fused storage
 * each matrix has the tensor's address.
 *
 * CZR_ERR_ARGUMENT: n is not czr_param_count.  CZR_ERR_UNBOUND: the parameter
 * is not bound, or its gradient lies in the engine.  CZR_ERR_STATE as in
 * czr_grad_bind.  A failure changes nothing. */
czr_status czr_grads_move(czr_engine *engine, void *const *data, int n);
/* Ends binding.  After a failure the caller may bind more and seal again.  The
 * first czr_step makes the masters from the parameters, so that weights may be
 * loaded before or behind this.
 *
 * CZR_ERR_UNBOUND: a parameter of this rank is not bound.  CZR_ERR_OVERLAP: two
 * tensors share memory, or one shares the engine's.  CZR_ERR_STATE: it is
 * sealed.  CZR_ERR_NO_MEMORY. */
czr_status czr_seal(czr_engine *engine);

/* Gives one extern of a matrix for the next step.  The call copies values[n]:
 *
 *     czr_extern_set(engine, "q.weight", "max_logit", values, n_heads);
 *
 * - It comes after czr_seal and before every step, also after a skipped one.
 * - All ranks that have the parameter give the same values.  Those that do not
 *   compute the matrix check only n.
 * - Values are row-major.  If the parameter is `stored transposed`, they are
 *   the transpose of what the rule reads.  A vector lies as in the rule.
 * - Each matrix of fused storage and of a batch has its own:
 *   "linear_qkv.weight[q]", "experts.weight[3]".
 *
 * CZR_ERR_SHAPE: n is not its number of elements.  CZR_ERR_NOT_FOUND: no such
 * extern, or no single matrix.  CZR_ERR_STATE: the engine is not sealed.  Names
 * fail as in czr_layout.  A failure changes nothing. */
czr_status czr_extern_set(czr_engine *engine, const char *param,
                          const char *name, const float *values, size_t n);
/* All externs that this rank has to give, in order of parameters. */
int czr_extern_count(const czr_engine *engine);
czr_status czr_extern_get(czr_engine *engine, int number, czr_extern_info *out);

/* One step: reduces gradients, updates every parameter once, and leaves the new
 * values on all ranks that have it.  Collective.  NULL `hyper` means all
 * defaults.  `result` may be NULL; a step that is skipped, refused or undone
 * writes it, too.  The host ignores `stream`.  A GPU has other calls
 * (runtime/cuda/world/).
 *
 * Gradients may be infinite or NaN, or, without `clip`, too large for their
 * rule (dsl/LANGUAGE.md, "Rounding and types").  All ranks find that alike
 * before they write a parameter or state.
 * - With `skip nonfinite` they skip the step and return CZR_OK.
 * - Otherwise they return CZR_ERR_GRADIENT.
 * Either way nothing changes, and the next step goes on at the same t.
 *
 * A rule may fail although its gradients are fine:
 * - a factorisation that cannot be: CZR_ERR_NO_LIBRARY to
 *   CZR_ERR_NO_CONVERGENCE;
 * - a parameter that becomes infinite or NaN, by 0 / 0 or a rate that is far
 *   too large: CZR_ERR_PARAM.
 * With czr_options.undo the step is undone, and the engine goes on:
 * - All ranks return that status from this very step.  czr_error names the
 *   parameter and its rank.
 * - Parameters, states and t are bit for bit what they were, on all ranks.
 * Without undo the engine is poisoned and must be closed:
 * - A failed factorisation ends the step at once.  Ranks on which nothing
 *   failed return CZR_ERR_ABORTED.
 * - CZR_ERR_PARAM comes from the next step, on all ranks, and that step writes
 *   nothing.  czr_error names the parameter, its rank and the update.
 * - Parameters and states are undefined, except tensors that steps copy
 *   (czr_bind).  These keep the values from before the call that failed: with
 *   CZR_ERR_PARAM, those of the failed update.
 *
 * Any other failure poisons the engine, too, and later calls return the same:
 * - CZR_ERR_HYPER: a value without default was not given.
 * - CZR_ERR_EXTERN: an extern was not given since the last step.
 * - CZR_ERR_MISMATCH: ranks are not in the same step.  One steps another engine
 *   of its world, is at another t, or was given other run-time values.  All
 *   return it before they write anything, and czr_error says which rank differs
 *   in what.  Or copies of a parameter differed (czr_options.replica_check).
 * - CZR_ERR_WRITTEN: see czr_masters_renew.
 * - CZR_ERR_TIMEOUT, CZR_ERR_ENDED, CZR_ERR_ABORTED: another rank did not
 *   come, has ended, or failed.  czr_error names the rank that nobody holds up,
 *   or ranks that wait for each other, and where it was last seen.
 * CZR_ERR_STATE poisons nothing: the engine is not sealed, or is a GPU's. */
czr_status czr_step(czr_engine *engine, const czr_hyper *hyper,
                    czr_stream stream, czr_result *result);
/* Optional: this parameter's gradient is complete, behind what `producer` has,
 * and stays as it is until the step is over.  Its bucket may be reduced while
 * the backward pass still runs.  Call it in any order; buckets start in plan
 * order.  A second call does nothing.  For fused storage, call it for each
 * matrix.  The host ignores `producer`, and may wait for other ranks here.
 *
 * CZR_ERR_ELSEWHERE: other ranks have the parameter.  CZR_ERR_STATE: the engine
 * is not sealed.  A reduction that fails poisons the engine. */
czr_status czr_grad_ready(czr_engine *engine, int param, czr_stream producer);
/* Optional: looks whether rules can compute with this gradient as it is, so
 * that czr_step need not read all gradients before it writes.  That pays while
 * a cache still holds what the backward pass has made.  A later call looks
 * again.  Who writes the gradient behind the last one calls this or
 * czr_grad_bind before the step.  A gradient that travels or is copied is left
 * to the step, and so it is on a GPU.  Errors as in czr_grad_ready. */
czr_status czr_grad_check(czr_engine *engine, int param);
/* The next step has no gradient of this parameter: it leaves parameter and
 * states as they are, and so does its t, which from there on is less than
 * others'. czr_grad_bind takes it back.  CZR_ERR_STATE: the world has several
 * ranks, the engine is not sealed or a GPU's, or czr_grad_ready has come.
 * CZR_ERR_NO_MEMORY. */
czr_status czr_grad_absent(czr_engine *engine, int param);
/* Work put on `consumer` later finds the parameter as the last step leaves it.
 * On the host czr_step returns when all is done. */
czr_status czr_param_wait(czr_engine *engine, int param, czr_stream consumer);
/* All states of this rank, in order of parameters.  A caller may read and write
 * their data between steps. */
int czr_state_count(const czr_engine *engine);
czr_status czr_state_get(czr_engine *engine, int state, czr_state *out);
/* The master of a parameter's slice on this rank, as a state without rows.  n
 * is 0 and data NULL where there is none, as with parameters in f32.  A caller
 * may read and write the data between steps.  CZR_ERR_STATE: the engine is not
 * sealed. */
czr_status czr_master_get(czr_engine *engine, int param, czr_state *out);
/* The trainer has written parameters since the first czr_step or
 * czr_master_get, as one that loads weights: the next of these makes the
 * masters from them.  Without this call a step goes on from the older
 * masters, and what was written is lost: on the host debug builds, and all with
 * CZR_DEBUG=1 in the environment, return CZR_ERR_WRITTEN instead. */
czr_status czr_masters_renew(czr_engine *engine);
/* So many updates were applied: the next one is number step + 1, for rules,
 * their phases and their random numbers.  All ranks set the same.
 *
 * A training goes on after a restart, bit by bit, by
 *
 *     czr_bind, with the parameters of the checkpoint; czr_seal
 *     czr_state_get and czr_master_get, to write what was saved; or
 *     czr_load of czr_checkpoint.h, which has parameters, too, of any mesh
 *     czr_step_set(engine, step)                     czr_result.step
 *
 * On a GPU it waits for the device, and may return what czr_step would return
 * of an earlier step; then nothing is set. */
czr_status czr_step_set(czr_engine *engine, int64_t step);
/* As czr_result.step; of a GPU, of the steps whose results were asked for. */
czr_status czr_step_get(const czr_engine *engine, int64_t *step);
/* Updates of one parameter, fewer than czr_step_get's where czr_grad_absent has
 * come: to be saved and set besides, behind czr_step_set.  CZR_ERR_ARGUMENT:
 * more than those.  CZR_ERR_STATE: fewer, in a world of several ranks; or not
 * sealed yet.  CZR_ERR_ELSEWHERE: this rank does not have the parameter. */
czr_status czr_param_step_get(czr_engine *engine, int param, int64_t *step);
czr_status czr_param_step_set(czr_engine *engine, int param, int64_t step);
czr_status czr_counters_get(const czr_engine *engine, czr_counters *out);
/* One sentence about a failure, with rank and operation or tensor; "" if none.
 * The failure that poisons the engine stays; others replace each other.  Calls
 * that take a const engine leave no sentence.  The text is the engine's. */
const char *czr_error(const czr_engine *engine);
/* Gives the engine's memory back, and waits for no other rank.  NULL is
 * allowed. */
void czr_close(czr_engine *engine);

/* ---- 2. For generated C ------------------------------------------------- */

#include "czr_math.h"

/* dsl/IR.md and dsl/SCHEDULE.md say what these tables mean.  In a set of axes
 * bit a is axis a of the mesh.  Coordinates over a set count row-major. */

/* Where a slot of a stage lies.  Slots of one kind in scratch lie one behind
 * the other, each start rounded up to 64 bytes. */
typedef enum czr_slot_kind {
    CZR_SLOT_GRAD,    /* the reduced gradient, in f32 */
    CZR_SLOT_PARAM,   /* the master; without one, the parameter */
    CZR_SLOT_STATE,   /* state number `index` of the rule */
    CZR_SLOT_STORED,  /* the parameter, rounded from its master */
    CZR_SLOT_GATHER,  /* scratch: shards, gathered for the owner */
    CZR_SLOT_SCATTER, /* scratch: the owner's results, for the shards */
    CZR_SLOT_TEMP     /* scratch: from stage to stage on a shard */
} czr_slot_kind;

typedef struct czr_slot {
    uint8_t kind, index, dtype;
} czr_slot;

/* Scalars of a parameter's name: CZR_NAME_SCALAR is the first 24 bits of its
 * 64-bit FNV-1a hash, and the next one the 24 bits behind them. */
enum { CZR_NAME_SCALAR = 0xfffe, CZR_NAME_SCALARS = 2 };

/* One stage of a rule, for every parameter of the rule. */
typedef struct czr_stage {
    const char *name;
    czr_kernel run;
    const czr_slot *in, *out; /* [n_in], [n_out] */
    const uint16_t *scalars;  /* of the program, or CZR_NAME_SCALAR + part */
    uint8_t n_in, n_out;
    uint16_t n_scalars;
    uint8_t is_full_matrix; /* 1: full-matrix */
    /* Of the costliest phase: of an entry, and of each of its elements.  One of
     * them is 0. */
    int64_t flops, element_flops;
} czr_stage;

/* An event fires at updates start, start + period, ...; updates count from 1.
 * With period 0 it fires at `start` alone.  A staggered event fires at `start`,
 * then at each later t with (t - start + stagger offset) % period = 0. */
typedef struct czr_event {
    int64_t start, period;
    int32_t staggered;
} czr_event;

/* Of a rule whose updates differ.  A phase: events that fire together. */
typedef struct czr_phases {
    int n_events, n_phases;
    const czr_event *events;
    const uint32_t *fires; /* [n_phases], bit e: event e */
} czr_phases;

/* The bodies of a stage.  With NULL phases all are czr_stage.run. */
typedef struct czr_variants {
    const czr_phases *phases;
    const czr_kernel *run; /* [n_phases] */
} czr_variants;

/* A parameter pattern: all parameters whose names differ in their indices
 * alone.  They are numbered from first_param on, the last index fastest. */
typedef struct czr_pattern {
    const char *name; /* "model.layers.{0}.mlp.up_proj.weight" */
    int32_t first_param;
    uint8_t n_indices, n_dims, dtype;
    int32_t first[4], extents[4]; /* of each index: lowest value, how many */
    /* Axes that partition the parameters, as experts.  Coordinate c has
     * `extent` values of index expert_index, from first + c * extent on. */
    uint32_t expert_axes;
    uint8_t expert_index;
    int64_t shape[8];  /* of the whole tensor */
    uint32_t shard[8]; /* of each dimension the axes that shard it */
    /* Of each dimension: first element and end of each coordinate's shard.
     * NULL: equal shards, in order of the coordinate. */
    const int64_t *bounds[8];
} czr_pattern;

/* A parameter pattern inside a stored tensor.  Along dimension d of the tensor,
 * element r lies at base + r / block * stride + r % block. */
typedef struct czr_stored_pattern {
    int32_t pattern;
    int32_t batch;     /* 1: dimension 0 is the pattern's last index; else 0 */
    int64_t map[8][3]; /* base, block, stride */
} czr_stored_pattern;

/* Stored tensors of several matrices.  Tensor i of the pattern `of` holds
 * matrix i of each piece, and of a batch those of every last index. */
typedef struct czr_storage {
    czr_pattern of; /* without first_param */
    int32_t n_patterns;
    const czr_stored_pattern *patterns;
} czr_storage;

/* Where a parameter lies, and who updates it. */
typedef struct czr_place {
    int32_t bucket, rule;
    int64_t offset,
        stagger_offset; /* element of the bucket; stagger offset of events */
    /* Coordinates of the owner: over split_axes of the bucket, and over the
     * axes that shard the parameter.  -1: none. */
    int32_t owner, shard_owner;
} czr_place;

typedef struct czr_state_desc {
    const char *name;
    czr_dtype dtype;
    float init;
    int32_t diagonal;      /* 1: init is on the diagonal, 0 elsewhere */
    int64_t rows, columns; /* a matrix that the owner has; 0, 0: as the shard */
    int32_t is_extern;     /* 1: czr_extern_set writes it, and no stage does */
    int32_t symmetric;     /* 1: equal to its transpose, bit by bit */
} czr_state_desc;

/* The states of a rule. */
typedef struct czr_states {
    int n;
    const czr_state_desc *of;
    /* Elements of gradients must stay below 2^limit in magnitude.  0: they must
     * be finite. */
    int32_t limit;
    const char *param_group; /* whose rule it is */
} czr_states;

/* Parameters in one buffer, which ranks reduce and gather together. */
typedef struct czr_bucket {
    czr_dtype dtype, grad_dtype;
    uint8_t has_master;    /* 0: the parameter is its own master */
    int64_t length;        /* elements */
    uint32_t split_axes;   /* whose coordinates have a slice each */
    int32_t n_grads;       /* microbatch gradients of a rank */
    int64_t divisor;       /* divisor of the sum of all of them */
    const int64_t *slices; /* [extent of split_axes + 1] elements, from 0 */
    /* Resident ranks have one of residents[n_residents] as coordinate over
     * resident_axes. These ascend.  resident_axes 0: all ranks. */
    uint32_t resident_axes;
    int32_t n_residents;
    const int32_t *residents;
    uint8_t is_equal; /* 1: it travels in equal parts, not in slices */
} czr_bucket;

/* What the entries of a table are: czr_kernel_entry and so on. */
typedef enum czr_entry_kind {
    CZR_ENTRY_KERNEL,
    CZR_ENTRY_TRANSFER,
    CZR_ENTRY_SUM,
    CZR_ENTRY_SPAN,
    CZR_ENTRY_EXCHANGE
} czr_entry_kind;

/* One stage on one parameter.  From `gather` on: bytes of scratch, or -1. */
typedef struct czr_kernel_entry {
    int32_t stage, param;
    /* Elements [offset, offset + count) of the bucket.  Full-matrix: offset 0.
     * Subgroup: offset is the number of this rank's part. */
    int64_t offset, count, gather, scatter, temp, work;
} czr_kernel_entry;

/* Boxes of members member, member + member_step, ..., n_members of them: each
 * has one to or from each of n_peers peers.  That of peer + k * peer_step is
 * n_rows runs of row_bytes, stride_bytes apart, from byte offset + k *
 * offset_step of scratch on.  Members and peers are positions in the
 * communicator. */
typedef struct czr_transfer_entry {
    int32_t param, is_recv, peer;
    int64_t offset, n_rows, row_bytes, stride_bytes;
    uint32_t phases; /* bit p: it travels in phase p of its parameter's rule */
    int32_t member, n_members, member_step, n_peers, peer_step;
    int64_t offset_step;
} czr_transfer_entry;

/* What a subgroup exchanges. */
typedef enum czr_exchange_kind {
    CZR_EXCHANGE_SUM,     /* all members get all sums */
    CZR_EXCHANGE_GATHER,  /* each has an equal part, and all get all of them */
    CZR_EXCHANGE_SCATTER, /* each gets the sums of an equal part */
    CZR_N_EXCHANGES
} czr_exchange_kind;

/* `count` elements from byte `offset` of scratch on.  With a band they are a
 * symmetric matrix of `side` rows, of which only the band travels. */
typedef struct czr_sum_entry {
    int32_t param;
    czr_dtype dtype;   /* sums in BF16 are rounded after each addition */
    int32_t how, band; /* czr_exchange_kind; blocks of the band, 0: none */
    int64_t offset, count, side;
} czr_sum_entry;

/* Elements [offset, offset + count) of the bucket, which the norm counts. */
typedef struct czr_span_entry {
    int32_t param;
    int64_t offset, count;
} czr_span_entry;

/* Elements of an equal bucket that go between its parts and its slices. */
typedef struct czr_exchange_entry {
    int16_t is_recv, peer;
    int64_t offset, count; /* in the bucket */
} czr_exchange_entry;

/* What an operation does on each rank: entries [starts[l], starts[l + 1]) on
 * ranks with coordinate c over the axes `selector`, whose list is lists[c].
 * Coordinates of equal entries share a list; lists are numbered by the first
 * coordinates that have them. */
typedef struct czr_table {
    czr_entry_kind kind;
    uint32_t selector;
    const int32_t *lists;  /* [coordinates over selector]; NULL: each has its
                            * own */
    const int32_t *starts; /* [lists + 1] */
    const void *rows;
} czr_table;

/* dsl/SCHEDULE.md, "The kinds". */
typedef enum czr_op_kind {
    CZR_REDUCE_SCATTER,
    CZR_ALL_GATHER,
    CZR_ALL_REDUCE,
    CZR_TRANSFER,
    CZR_GROUP_SUM,
    CZR_KERNEL,
    CZR_SQUARE_SUM,
    CZR_DECIDE,
    CZR_PROLOGUE,
    CZR_GUARD,
    CZR_KEEP,
    CZR_UNDO,
    CZR_N_OP_KINDS
} czr_op_kind;

typedef enum czr_section {
    CZR_SECTION_REDUCE,
    CZR_SECTION_DECIDE,
    CZR_SECTION_UPDATE,
    CZR_SECTION_RECOVER, /* of the guard and of undo, around the others */
    CZR_N_SECTIONS
} czr_section;

/* One operation of the list that all ranks walk. */
typedef struct czr_op {
    uint8_t kind, stream, section;
    uint32_t comm; /* axes: ranks that differ in these alone communicate */
    /* Each block of `block_size` positions, `stride` apart, is a communicator
     * of its own.  0, 0: all positions are one. */
    int32_t block_size, stride;
    int32_t bucket, table; /* or -1 */
    int32_t n_waits;
    const int32_t *waits; /* earlier operations, completed before it starts */
} czr_op;

/* One plan, as generated C exports it: NAME_program of NAME.h. */
struct czr_program {
    uint32_t abi;
    const char *name, *compiler, *plan_hash; /* hash: 64 hex digits */
    int strict;                              /* 1: same bits on any mesh */
    int n_axes;
    const char *const *axes; /* major to minor */
    const int32_t *sizes;
    int n_names; /* axes as users call them: a name for a set of axes */
    const char *const *names;
    const uint32_t *sets;
    czr_dtype master_dtype;
    double clip; /* largest norm of all gradients; 0: none */
    int skip;    /* 1: `skip nonfinite` */
    int n_hypers;
    const czr_hyper_desc *hypers;
    int n_scalars;
    /* Scalars of update t, from 1.  `clip` is the coefficient min(1,
     * program.clip / (norm + 1e-6)); hypers are in the order above. */
    void (*prologue)(double t, double clip, const double *hypers,
                     float *scalars);
    int n_patterns;
    const czr_pattern *patterns;
    int n_params;
    const czr_place *places; /* [n_params] */
    int n_rules;
    const czr_states *states; /* [n_rules] */
    /* [n_rules], NULL of a rule whose updates are alike.  NULL: all are. */
    const czr_phases *const *phases;
    int n_storages;
    const czr_storage *storages;
    int n_frozen; /* patterns that nobody trains, without first_param */
    const czr_pattern *frozen;
    int n_ties; /* patterns of more names for parameter first_param */
    const czr_pattern *ties;
    int n_buckets;
    const czr_bucket *buckets;
    int n_stages;
    const czr_stage *stages;
    const czr_variants *variants; /* [n_stages]; NULL: no rule has phases */
    int n_tables;
    const czr_table *tables;
    int n_ops;
    const czr_op *ops;
    uint32_t arena_selector;
    const int64_t *arena_bytes; /* scratch of each coordinate; NULL: none */
};

#endif
