/* Canzona runtime: executes one static plan inside somebody's trainer.
 *
 * First part: what a trainer calls.  Second part: what generated C is made of.
 * Nothing here prints or exits; every failure is a status, and the first one
 * of a rank is kept with its place (czr_error).  Needs libc and libm only. */
#ifndef CZR_H
#define CZR_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CZR_ABI 23u /* of the tables in the second part */

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
    X(ERR_MISMATCH, "ranks run different plans")                               \
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
    X(ERR_SAME_DEVICE, "two ranks on one GPU")

typedef enum czr_status {
#define CZR_STATUS(name, text) CZR_##name,
    CZR_STATUSES(CZR_STATUS)
#undef CZR_STATUS
        CZR_N_STATUSES
} czr_status;

/* "CZR_ERR_TIMEOUT" and the sentence above, for messages. */
const char *czr_status_name(czr_status status);
const char *czr_status_text(czr_status status);

typedef enum czr_dtype { CZR_F64, CZR_F32, CZR_BF16, CZR_N_DTYPES } czr_dtype;
size_t czr_dtype_bytes(czr_dtype dtype);

typedef struct czr_program czr_program;
typedef struct czr_world czr_world;
typedef struct czr_engine czr_engine;
typedef void *czr_stream; /* of the device; NULL on the host */

/* A tensor of the caller: `data` stays the caller's.  Strides in elements;
 * NULL means contiguous, row-major. */
typedef struct czr_tensor {
    void *data;
    czr_dtype dtype;
    int n_dims;
    const int64_t *shape, *strides;
} czr_tensor;

typedef struct czr_options {
    int late_device;         /* run each stream as late as its waits allow */
    int fixed_order_product; /* our own product even where not strict */
    int64_t deadline_ms;     /* of one wait for other ranks; 0: 600,000 */
    int threads; /* of a matrix library in one call; 0: the processors that this
                  * process may use, shared among the ranks, at least one */
    int undo; /* a step whose rules fail is undone on all ranks, alike: takes a
               * second copy of this rank's states and masters, and of its slice
               * of the parameters, on a GPU of all that it has of them.  All
               * ranks have to agree */
} czr_options;

/* Run-time values in the order of NAME.h's enum; NaN or beyond n: default. */
typedef struct czr_hyper {
    const double *values;
    size_t n;
} czr_hyper;

typedef struct czr_result {
    double grad_norm; /* before clipping; 0 when the plan takes no norm */
    int skipped;      /* 1: nothing was changed, see czr_step */
    int64_t step;     /* applied updates so far */
} czr_result;

/* Where a parameter lies in the engine's buffers.  `param` and `grad` point
 * at this rank's shard; leaf k of the gradient lies k * leaf_stride elements
 * further.  They are valid from czr_open to czr_close.  A stored tensor that
 * holds several matrices, or padding, has no place there: NULL, and bucket and
 * offset -1.  n may be 0 where shards are of unequal length. */
typedef struct czr_layout_info {
    int bucket;
    int64_t offset; /* elements */
    int64_t n;      /* elements of this rank's shard */
    void *param, *grad;
    czr_dtype param_dtype, grad_dtype;
    int64_t leaves, leaf_stride;
    int n_dims;
    int64_t shape[8];  /* of the shard */
    int64_t global[8]; /* of the whole tensor */
    int64_t start[8];  /* of the shard in it */
} czr_layout_info;

/* One state tensor (externs are none), this rank's part: elements [first, first
 * + n) of the shard of parameter `param`, flat; or, with rows > 0, all of a
 * matrix of that shape, by rows, which the owner of the parameter's alone has:
 * of a parameter that is `stored transposed` the transpose of what its rule
 * has, a vector as it is.  A symmetric one stays equal to its transpose: of
 * what a caller writes to `data` the triangle below the diagonal counts and the
 * diagonal, and the first czr_step behind czr_state_get makes the rest its
 * mirror image. */
typedef struct czr_state {
    const char *name; /* "mom" */
    int param;
    czr_dtype dtype;
    int64_t first, n, rows, columns;
    int symmetric;
    void *data;
} czr_state;

/* An extern of a parameter that this rank has: `name` of its rule, rows times
 * columns elements, as stored. */
typedef struct czr_extern_info {
    const char *name; /* "max_logit" */
    int param;
    int64_t rows, columns;
} czr_extern_info;

typedef struct czr_counters {
    int64_t steps, skips;
    const int64_t *updates; /* [n_params] elements updated here in all steps */
    const int64_t *whole;   /* [n_params] whole-matrix stages run here */
    const int64_t *bytes_sent, *bytes_received; /* [n_ops] over all steps */
    int64_t peak_scratch_bytes; /* written so far, rounded up to 64; without
                                 * what a GPU has for equal matrices that it
                                 * computes as one */
    int64_t step_allocations;   /* by us, inside czr_step: 0 */
} czr_counters;

/* Run `body` on `ranks` threads, rank 0 on the calling one.  Returns the
 * first failure of the lowest rank that did not merely follow another's. */
czr_status czr_world_threads_run(int ranks,
                                 czr_status (*body)(czr_world *, void *),
                                 void *user);
int czr_world_rank(const czr_world *world);
int czr_world_size(const czr_world *world);
/* For trainers, over one axis of a mesh that the engine told the world of
 * (czr_open), or over all ranks with axis NULL.  all_reduce sums in rank
 * order.  all_gather: `send` of count elements from each, `receive` of
 * size * count. */
czr_status czr_world_all_reduce(czr_world *world, const char *axis, void *data,
                                size_t count, czr_dtype dtype);
czr_status czr_world_all_gather(czr_world *world, const char *axis,
                                const void *send, void *receive, size_t count,
                                czr_dtype dtype);
czr_status czr_world_barrier(czr_world *world);
/* This rank's coordinate on an axis, and the axis' size. */
int czr_world_coordinate(const czr_world *world, const char *axis);
int czr_world_extent(const czr_world *world, const char *axis);

/* Open one plan on this rank: all memory is taken here.  Collective: all
 * ranks compare plan hash and versions, and fail alike.  options may be NULL.
 * A failure leaves an engine that says why (czr_error) and wants to be closed,
 * or NULL. */
czr_status czr_open(const czr_program *program, czr_world *world,
                    const czr_options *options, czr_engine **out);
int czr_param_count(const czr_engine *engine);
/* Name that parameter `param` has on this rank, into `name` of `n` bytes. */
czr_status czr_param_name(const czr_engine *engine, int param, char *name,
                          size_t n);
/* A tied parameter is found by each of its names.  CZR_ERR_FROZEN: the model
 * has it, but nobody trains it; keep it where it is, and do not bind it.
 * CZR_ERR_ELSEWHERE: other ranks have it, and they bind it: those that hold
 * this expert, or the stages of a pipeline that hold this layer. */
czr_status czr_layout(const czr_engine *engine, const char *name,
                      czr_layout_info *out);
/* Bind this rank's shards.  A tensor whose data is exactly where czr_layout
 * says is used in place; any other is copied in and out by each step.  NULL
 * data or NULL tensor: in place.  With leaves > 1 a loose gradient has one
 * more leading dimension.
 *
 * Fused or padded storage is bound by its own name, "linear_qkv.weight", which
 * binds every matrix in it, "linear_qkv.weight[q]" and the like; its padding is
 * never read nor written.  It has no place, so both tensors must be there.
 * Each matrix may be bound by its name instead, as any parameter. */
czr_status czr_bind(czr_engine *engine, const char *name,
                    const czr_tensor *param, const czr_tensor *grad);
/* All bound, nothing overlaps; masters are taken from the parameters. */
czr_status czr_seal(czr_engine *engine);
/* Give a rule's extern `name` of a matrix, `n` elements by rows, which are
 * copied; of a parameter that is `stored transposed` the transpose of what its
 * rule has, a vector as it is.  From czr_seal on, before each step, also one
 * that is skipped, and on every rank that has the parameter, alike: those that
 * do not compute the matrix look at n alone.  Of fused storage and of a batch
 * each matrix has its own, "linear_qkv.weight[q]", "experts.weight[3]".
 * CZR_ERR_SHAPE: not as many elements; CZR_ERR_NOT_FOUND, CZR_ERR_FROZEN and
 * CZR_ERR_ELSEWHERE as in czr_layout.  None of these changes anything. */
czr_status czr_extern_set(czr_engine *engine, const char *param,
                          const char *name, const float *values, size_t n);
/* All that this rank has to be given, by parameter. */
int czr_extern_count(const czr_engine *engine);
czr_status czr_extern_get(czr_engine *engine, int number, czr_extern_info *out);
/* Collective.  Gradients that are not finite, or without `clip` too large for
 * their rule, are found before anything is written, by all ranks alike: the
 * step is skipped where the plan says `skip nonfinite`; else it is
 * CZR_ERR_GRADIENT, and the engine goes on at the same t with the next.
 *
 * A rule may fail where gradients do not: a factorisation that cannot be
 * (CZR_ERR_NOT_FINITE to CZR_ERR_NO_CONVERGENCE), or a parameter that becomes
 * infinite or NaN, by 0 / 0 or a rate of 1e38 (CZR_ERR_PARAM).
 *   With czr_options.undo all ranks return that status from this very step,
 *   with the parameter and its rank in czr_error; parameters, states and t are
 *   bit for bit what they were, on all ranks, and the engine goes on.
 *   Without, the engine is poisoned, and of parameters and states that a rule
 *   writes nothing is known to be what it was: what is bound elsewhere than in
 *   place still is, of this step.  A factorisation is said at once: the ranks
 *   that it did not fail on return CZR_ERR_ABORTED.  CZR_ERR_PARAM is what all
 *   ranks return from the next step, which writes nothing; czr_error says since
 *   which update.
 * Any other failure poisons the engine: later calls return the same.
 * CZR_ERR_EXTERN: something that czr_extern_set gives was not given. */
czr_status czr_step(czr_engine *engine, const czr_hyper *hyper,
                    czr_stream stream, czr_result *result);
/* Any thread: this parameter's gradient is complete (of fused storage: call it
 * for each of its matrices).  Buckets start in plan
 * order whatever the order of calls; optional. */
czr_status czr_grad_ready(czr_engine *engine, int param, czr_stream producer);
/* What is put on the consumer's stream later finds the parameter as the last
 * step leaves it; on the host all of that is done when czr_step returns. */
czr_status czr_param_wait(czr_engine *engine, int param, czr_stream consumer);
int czr_state_count(const czr_engine *engine);
czr_status czr_state_get(czr_engine *engine, int state, czr_state *out);
czr_status czr_counters_get(const czr_engine *engine, czr_counters *out);
/* The first failure, as a sentence with rank and operation; "" if none. */
const char *czr_error(const czr_engine *engine);
void czr_close(czr_engine *engine);

/* ---- 2. For generated C ------------------------------------------------- */

#include "czr_math.h"

typedef enum czr_slot_kind {
    CZR_SLOT_GRAD,
    CZR_SLOT_PARAM,
    CZR_SLOT_STATE,
    CZR_SLOT_STORED,
    CZR_SLOT_GATHER,
    CZR_SLOT_SCATTER,
    CZR_SLOT_TEMP
} czr_slot_kind;

typedef struct czr_slot {
    uint8_t kind, index, dtype;
} czr_slot;

enum { CZR_NAME_SCALAR = 0xfffe, CZR_NAME_SCALARS = 2 };

typedef struct czr_stage {
    const char *name;
    czr_kernel run;
    const czr_slot *in, *out;
    const uint16_t *scalars; /* of the program, or CZR_NAME_SCALAR + part */
    uint8_t n_in, n_out;
    uint16_t n_scalars;
    uint8_t is_whole;
} czr_stage;

/* Updates start, start + period, ... from 1; with period 0 `start` alone.
 * Staggered: `start`, and t > start where (t - start + turn) % period = 0. */
typedef struct czr_event {
    int64_t start, period;
    int32_t staggered;
} czr_event;

/* A rule that does different things at different updates: a phase is a set of
 * events that fire together. */
typedef struct czr_phases {
    int n_events, n_phases;
    const czr_event *events;
    const uint32_t *fires; /* [n_phases]: bit e, event e */
} czr_phases;

/* The bodies of a stage; phases NULL: czr_stage.run in all. */
typedef struct czr_variants {
    const czr_phases *phases;
    const czr_kernel *run; /* [n_phases] */
} czr_variants;

typedef struct czr_family {
    const char *pattern; /* "model.layers.{0}.mlp.up_proj.weight" */
    int32_t first_param;
    uint8_t n_indices, n_dims, dtype;
    int32_t first[4], extents[4];
    uint32_t spread;      /* each coordinate over these axes holds others: */
    uint8_t spread_index; /* coordinate c the values c * extent + ... of it */
    int64_t shape[8];     /* global */
    uint32_t shard[8];    /* per dimension, bit a: axis a cuts it */
    /* Per dimension the first element and the end of each coordinate's shard.
     * NULL: equal parts, in order of the coordinate. */
    const int64_t *bounds[8];
} czr_family;

/* A family that lies in a stored tensor: its element r along dimension d is
 * the tensor's base + r / block * stride + r % block. */
typedef struct czr_piece {
    int32_t family;
    int32_t batch;     /* 1: dimension 0 counts its last index; else 0 */
    int64_t map[8][3]; /* base, block, stride */
} czr_piece;

/* A stored tensor: member i of `of` holds member i of each piece. */
typedef struct czr_storage {
    czr_family of; /* first_param means nothing */
    int32_t n_pieces;
    const czr_piece *pieces;
} czr_storage;

typedef struct czr_place {
    int32_t bucket, rule;
    int64_t offset, turn;       /* turn: of the rule's staggered events */
    int32_t owner, shard_owner; /* over split axes, over shards; -1: none */
} czr_place;

typedef struct czr_state_desc {
    const char *name;
    czr_dtype dtype;
    float init;
    int32_t diagonal;      /* 1: init stands on it alone, zeros elsewhere */
    int64_t rows, columns; /* of one that the owner has whole; else 0, 0 */
    int32_t is_extern;     /* 1: czr_extern_set writes it, and no stage does */
    int32_t symmetric;     /* 1: equal to its transpose, bit by bit */
} czr_state_desc;

typedef struct czr_states { /* of a rule */
    int n;
    const czr_state_desc *of;
    int32_t limit; /* elements of gradients stay below 2^limit in magnitude; 0:
                    * whatever is finite */
} czr_states;

typedef struct czr_bucket {
    czr_dtype dtype, grad_dtype;
    uint8_t has_master; /* 0: the parameter is its own master */
    int64_t length;
    uint32_t split_axes;   /* bit a: axis a */
    int32_t leaves;        /* gradients that a rank hands over */
    int64_t terms;         /* by which their sum is divided */
    const int64_t *slices; /* [extent of split_axes + 1] */
    uint32_t home_axes;    /* bit a: axis a.  0: every rank has the bucket */
    int32_t n_home;        /* else those whose coordinate over these axes is */
    const int32_t *home;   /* among these, which ascend; no other rank has it */
    uint8_t is_equal;      /* 1: it is reduced to, and gathered from, parts */
} czr_bucket;

typedef struct czr_hyper_desc {
    const char *group, *name;
    double value; /* default */
    int has_default;
} czr_hyper_desc;

typedef enum czr_row_kind {
    CZR_ROW_KERNEL,
    CZR_ROW_TRANSFER,
    CZR_ROW_SUM,
    CZR_ROW_SPAN
} czr_row_kind;

typedef struct czr_kernel_row {
    int32_t stage, param;
    int64_t offset, count, gather, scatter, temp, work;
} czr_kernel_row;

typedef struct czr_transfer_row {
    int32_t param;
    int16_t is_recv, peer;
    int64_t offset, n_rows, row_bytes, stride_bytes;
    uint32_t phases; /* bit p: it travels in phase p of its parameter's rule */
} czr_transfer_row;

typedef enum czr_exchange_kind {
    CZR_EXCHANGE_SUM,     /* all ranks of the block get all sums */
    CZR_EXCHANGE_GATHER,  /* each has an equal part, and all get all of them */
    CZR_EXCHANGE_SCATTER, /* each gets the sums of an equal part */
    CZR_N_EXCHANGES
} czr_exchange_kind;

typedef struct czr_sum_row {
    int32_t param;
    czr_dtype dtype;   /* sums in BF16 are rounded after each addition */
    int32_t how, band; /* czr_exchange_kind; blocks of the band, 0: all moves */
    int64_t offset, count, side; /* of the matrix with a band: its rows */
} czr_sum_row;

typedef struct czr_span_row {
    int32_t param;
    int64_t offset, count;
} czr_span_row;

typedef struct czr_table {
    czr_row_kind kind;
    uint32_t selector;     /* bit a: axis a */
    const int32_t *starts; /* [coordinates over selector + 1] */
    const void *rows;
} czr_table;

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
    CZR_N_OP_KINDS
} czr_op_kind;

typedef enum czr_section {
    CZR_SECTION_REDUCE,
    CZR_SECTION_DECIDE,
    CZR_SECTION_UPDATE
} czr_section;

typedef struct czr_op {
    uint8_t kind, stream, section;
    uint32_t comm;         /* bit a: axis a */
    int32_t group, stride; /* each block of so many positions, so far apart,
                            * communicates by itself; 0, 0: all together */
    int32_t bucket, table; /* or -1 */
    int32_t n_waits;
    const int32_t *waits; /* earlier operations */
} czr_op;

struct czr_program {
    uint32_t abi;
    const char *name, *compiler, *plan_hash; /* hash: 64 hex digits */
    int strict;
    int n_axes;
    const char *const *axes; /* major to minor */
    const int32_t *sizes;
    int n_names; /* of axes and of sets of them, as users call them */
    const char *const *names;
    const uint32_t *sets;
    czr_dtype master_dtype;
    double clip;
    int skip;
    int n_hypers;
    const czr_hyper_desc *hypers;
    int n_scalars;
    /* scalars of one step; hypers in the order of the table above */
    void (*prologue)(double t, double clip, const double *hypers,
                     float *scalars);
    int n_families;
    const czr_family *families;
    int n_params;
    const czr_place *places;
    int n_rules;
    const czr_states *states; /* [n_rules] */
    /* [n_rules], NULL of a rule whose updates are all alike; NULL: all are */
    const czr_phases *const *phases;
    int n_storages;
    const czr_storage *storages;
    int n_frozen; /* families; first_param means nothing */
    const czr_family *frozen;
    int n_ties; /* families of names; all mean parameter first_param */
    const czr_family *ties;
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
    const int64_t *arena_bytes; /* per coordinate over arena_selector */
};

#endif
