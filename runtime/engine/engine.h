/* An engine inside: one program on one rank.  All memory is taken by
 * czr_open; all that steps need is here. */
#ifndef CZR_ENGINE_ENGINE_H
#define CZR_ENGINE_ENGINE_H

#include "runtime/czr.h"
#include "runtime/device/device.h"
#include "runtime/math/norm.h"
#include "runtime/math/product.h"
#include "runtime/program/program.h"
#include "runtime/world/world.h"

#include <pthread.h>

enum { CZR_ERROR_BYTES = 320, CZR_MAX_SLOTS = 255, CZR_ENGINE_COUNTS = 2 };

/* The spaces of a bucket (dsl/IR.md, "Memory of a rank").  REDUCED and MASTER
 * hold the slice alone: element `offset` of the bucket lies at offset -
 * slice.first there.  All NULL where the bucket is not resident. */
typedef struct czr_spaces {
    czr_range slice;
    czr_range equal_part; /* of an equal bucket; else the slice */
    unsigned char *param, *grad;
    float *reduced; /* the slice; of an equal bucket, behind it the part */
    czr_box *rows;  /* of an exchange; NULL: the rank has none */
    unsigned char *master; /* NULL: the parameter is its own */
    unsigned char *states; /* of its parameters, as they lie in the slice */
    size_t state_bytes;
    unsigned char *kept; /* to undo a step: czr_undo_find's, one behind the
                          * other; NULL: no step is undone */
    /* Whether parameters, or gradients, always lie here, as some travel from
     * here, or the device has them.  Else the trainer's memory may be used. */
    bool holds_param, holds_grad;
} czr_spaces;

/* What the rank has in a transfer. */
typedef struct czr_op_boxes {
    czr_box *v; /* [n] */
    int64_t n;
} czr_op_boxes;

/* What of a parameter this rank updates: elements of its bucket, whether it
 * owns the matrix, and the byte of the bucket's states at which its own begin,
 * one state behind the other, each rounded up. */
typedef struct czr_held {
    czr_range range;
    bool owns;
    int64_t at;
} czr_held;

/* How a dimension of a loose tensor is reached that holds other things too:
 * its element i is at element (phase + i) / block * jump + (phase + i) % block
 * * stride of the tensor.  block 0: at i * stride. */
typedef struct czr_blocks {
    int64_t phase, block, jump;
} czr_blocks;

/* A tensor that lies elsewhere; NULL data: in place. */
typedef struct czr_loose {
    unsigned char *data;
    unsigned char *used; /* the first element, where operations use it there, as
                          * it is one run and travels nowhere; NULL: copied */
    int64_t origin;      /* added to the place of each element */
    int n_dims;
    int64_t shape[9], strides[9]; /* elements */
    czr_blocks blocks[9];
} czr_loose;

/* What a rule did wrong on this rank, or all zero. */
typedef struct czr_fault {
    int32_t status, param; /* czr_status */
    int64_t update;        /* t */
} czr_fault;

/* One that this rank's trainer gives, of a parameter resident. */
typedef struct czr_extern {
    int param, state;
    bool is_given; /* since the last step */
} czr_extern;

typedef struct czr_binding {
    bool is_bound;
    bool is_ready;   /* czr_grad_ready came since the last step */
    bool is_reduced; /* since the last step, and where `largest` is noted */
    int32_t largest; /* bits of the gradient's largest magnitude */
    bool is_absent;  /* it has no gradient in this step */
    int64_t n_skips; /* steps that left it out: its t is less by so many */
    float *scalars;  /* [n_scalars] at its t, once it has any */
    czr_loose param, grad;
} czr_binding;

/* An operation is one turn or several: work of the rank's own, then, where it
 * says so, a unit for the world, which is complete before the next turn. */
typedef struct czr_segment {
    int number;   /* from 0 */
    bool is_last; /* the operation is over behind it */
    bool has_collective;
    czr_collective collective;
    int64_t record;       /* of the operation, in the recorder of the world */
    int64_t bytes_before; /* counted of the operation */
} czr_segment;

/* How a kind of operation is carried out; sets is_last, and the unit. */
typedef czr_status (*czr_op_body)(czr_engine *engine, int op,
                                  czr_segment *segment);

/* Bytes of an element of each slot that lies in scratch, per stage. */
typedef struct czr_slot_sizes {
    uint8_t bytes[CZR_SLOT_TEMP - CZR_SLOT_GATHER + 1][CZR_MAX_SLOTS + 1];
} czr_slot_sizes;

struct czr_engine {
    const czr_program *program;
    czr_world *world;
    czr_device *device;
    const czr_op_body *bodies; /* [CZR_N_OP_KINDS] of that device */
    void *stream; /* of the operation under way; NULL: the host's memory */
    struct czr_cuda_rank *cuda; /* NULL: the host; else whoever steps all ranks
                                 * of the device steps this one */
    czr_host_math math;
    int rank, number;         /* of the world's engines, from 1 */
    pthread_mutex_t lock;     /* guards all below: hooks come from any thread */
    pthread_mutex_t *lock_at; /* that one, or of another rank, which is stepped
                               * by the same thread */
    bool has_lock;
    /* With `cuda`: the gradient of a parameter is there behind what the
     * producer has; lock held.  NULL: the host. */
    czr_status (*arrive)(czr_engine *engine, int param, czr_stream producer);
    /* With `cuda`: the consumer waits for the parameter; lock held.  NULL: the
     * host. */
    czr_status (*await)(czr_engine *engine, int param, czr_stream consumer);
    /* With `cuda`: so many updates were applied; lock held.  NULL: the host. */
    czr_status (*set_steps)(czr_engine *engine, int64_t steps);
    bool is_sealed;
    bool has_masters; /* no parameter was written elsewhere since they were made
                       */
    czr_status status; /* not OK: poisoned */
    char error[CZR_ERROR_BYTES];

    czr_comm **comms;       /* [n_ops], NULL where none */
    czr_record_work *works; /* [n_ops], for the recorder */
    czr_spaces *spaces;     /* [n_buckets] */
    czr_held *held;         /* [n_params] */
    unsigned char *scratch;
    int64_t scratch_bytes; /* of the plan's */
    int64_t batch_bytes;   /* behind them, where matrices of a batch have what
                            * they use in turn; 0: none */
    czr_slot_sizes *slot_sizes; /* [n_stages] */
    uint8_t *phases;            /* [n_params], at the update under way */
    czr_op_boxes *boxes;        /* [n_ops], of transfers */
    czr_box *moving; /* those of one transfer that travel then; NULL: always
                      * all */
    czr_binding *bindings; /* [n_params] */
    int n_states;
    czr_state *states;
    bool has_given_states; /* since the last step: a caller may have written */
    int n_externs;
    czr_extern *externs;
    /* Of checkpoint.c: the parameter that was asked for last, and the number of
     * its first tensor. */
    int checkpoint_param, checkpoint_first;

    /* The step under way. */
    int next_op;     /* all before it have been submitted */
    int *n_awaited;  /* [buckets] parameters that are not ready */
    int32_t largest; /* bits of the largest magnitude of any reduced gradient */
    int32_t *largest_at; /* that one, or the device's */
    /* What ranks add up to decide, one behind the other: the norm, a word of
     * each rank (identity.c), counts of the guard. */
    czr_norm *norm;
    int64_t *rank_words; /* [ranks] */
    int64_t *counts;     /* [CZR_ENGINE_COUNTS] */
    int beyond;          /* the parameter that the guard has found */
    czr_status refusal;  /* why nothing is written, where no policy says so */
    bool is_faulty;      /* a rule failed in an earlier step, on some rank */
    double grad_norm, clip; /* the coefficient */
    bool is_skipped;
    bool assumes_finite; /* of gradients that nothing else reads */
    double *hypers;      /* [n_hypers] */
    float *scalars;      /* [n_scalars] */
    float *call_scalars; /* [n_scalars + CZR_NAME_SCALARS], one stage's */
    float (*names)[CZR_NAME_SCALARS]; /* [n_params] */
    const void **call_in;             /* [CZR_MAX_SLOTS] */
    void **call_out;

    /* Every so many steps copies of a parameter are compared; 0: never. */
    int64_t replica_check, since_replica;
    int next_replica, replica; /* in this step; -1: none */
    uint64_t *hash;            /* the device's: of this rank's copy of it */
    int64_t *copies;           /* [ranks] */

    uint64_t *param_hashes; /* [n_params] as the last step left them; NULL: no
                             * debug build */

    bool undoes;
    czr_fault fault;   /* the first that ranks have not agreed on */
    czr_fault *faults; /* [ranks] while they do */

    int64_t steps, skips; /* applied updates, with those that a trainer has set;
                           * steps that changed nothing */
    int64_t *updates, *full_matrix, *sent, *received;
    int64_t step_allocations;
};

/* Keeps a failure with its place and returns it.  A poisoning failure stays,
 * and the other ranks are told. */
czr_status czr_engine_refuse(czr_engine *engine, czr_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether the trainer may speak of this parameter: the engine is sealed, and
 * the parameter one of this rank's. */
czr_status czr_engine_check_param(czr_engine *engine, int param);
czr_status czr_engine_poison(czr_engine *engine, czr_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Poisons where all ranks do so by themselves: nobody is told. */
czr_status czr_engine_stop(czr_engine *engine, czr_status status,
                           const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* How an engine comes to its device, bodies, and what largest_at is. */
typedef struct czr_device_source {
    czr_status (*open)(const void *user, czr_engine *engine,
                       const czr_options *options);
    const void *user;
} czr_device_source;
/* What a rank does alone of czr_open, of which the rest follows; as there. */
czr_status czr_engine_open(const czr_program *program, czr_world *world,
                           const czr_options *options,
                           const czr_device_source *source, czr_engine **out);
/* The rest when ranks have agreed: its members of communicators. */
czr_status czr_engine_join(czr_engine *engine);

void czr_engine_lock(czr_engine *engine);
void czr_engine_unlock(czr_engine *engine);

/* spaces.c: memory of the rank. */
czr_status czr_spaces_open(czr_engine *engine);
void czr_spaces_close(czr_engine *engine);
/* Masters from parameters, for the slices that this rank owns, unless it has
 * them. */
void czr_spaces_take_masters(czr_engine *engine);
/* The same between steps: of what the trainer has bound. */
void czr_spaces_take_masters_now(czr_engine *engine);
int64_t czr_spaces_peak_scratch(const czr_engine *engine);
/* states.c: theirs, and the list of them.  Needs the slices of the spaces. */
czr_status czr_states_open(czr_engine *engine);
/* Before a step: where callers had states, symmetric ones become so by what is
 * below their diagonals. */
void czr_states_mirror(czr_engine *engine);
/* State `k` of element `offset` of a bucket, which is the parameter's and this
 * rank's; of one that is whole, its first element. */
unsigned char *czr_spaces_state(const czr_engine *engine, int param, int k,
                                int64_t offset);

/* bind.c: the parameter that has the name on this rank, or a refusal that says
 * why there is none. */
czr_status czr_bind_find(czr_engine *engine, const char *name, int *param);

/* written.c, of a debug build's host: notes what parameters with masters are,
 * behind a step of all, and says which of them the trainer has written since,
 * but for those whose masters it was lent. */
czr_status czr_written_open(czr_engine *engine);
void czr_written_note(czr_engine *engine, bool is_step);
void czr_written_allow(czr_engine *engine, int param);
czr_status czr_written_check(czr_engine *engine);

/* extern.c: what the trainer gives.  Whether all was given since the last step;
 * a step that ended takes it. */
czr_status czr_externs_open(czr_engine *engine);
czr_status czr_externs_check(czr_engine *engine);
void czr_externs_take(czr_engine *engine);

/* phase.c: the phase of every parameter at update t; the body of a stage for a
 * parameter then. */
czr_kernel czr_phase_body(const czr_engine *engine, int stage, int param);
czr_status czr_phase_choose(czr_engine *engine, int64_t t);

/* Of parameters that were left out of updates: their scalars; those that this
 * step has left out; whether there are any. */
void czr_phase_fill_scalars(czr_engine *engine);
void czr_phase_note_absent(czr_engine *engine);
bool czr_phase_any_absent(const czr_engine *engine);
void czr_phase_close(czr_engine *engine);

/* handshake.c: all ranks learn whether all can go on; `own` is what this rank
 * found alone. */
czr_status czr_handshake(czr_engine *engine, czr_status own);
/* words[n] become their sums over all ranks: of what executors agree on, apart
 * from the plan. */
czr_status czr_handshake_sum(czr_engine *engine, int64_t *words, size_t n);

/* threads.c: how many of the engine's threads share so many elements that may
 * be cut anywhere, at least one, and which ones a thread has.  Runs
 * body(user, thread) for all of them, on the caller's where the system has no
 * more, and returns when all are done. */
enum { CZR_MAX_THREADS = 64 };
typedef void (*czr_thread_body)(void *user, int thread);
int czr_threads_worth(const czr_engine *engine, int64_t elements);
czr_range czr_thread_range(int64_t elements, int n_threads, int thread);
void czr_threads_run(int n_threads, czr_thread_body body, void *user);

/* loose.c: tensors of the caller that lie elsewhere.  Of which buckets they may
 * be used where they are; and whether those of a binding are. */
void czr_loose_prepare(czr_engine *engine);
void czr_loose_use(czr_engine *engine, int param);
/* Where an element of a bucket lies that is the parameter's and this rank's:
 * of the parameter, and of its reduced gradient. */
unsigned char *czr_param_at(const czr_engine *engine, int param,
                            int64_t offset);
float *czr_reduced_at(const czr_engine *engine, int param, int64_t offset);
/* The reduction of a bucket whose gradients do not travel; of one of its
 * parameters before that, or nothing where they do. */
void czr_loose_reduce(czr_engine *engine, int bucket);
void czr_loose_reduce_early(czr_engine *engine, int param);
bool czr_loose_find_overlap(const czr_engine *engine, int *param, int *other,
                            czr_status *status);
void czr_loose_copy_in(czr_engine *engine, int param);
void czr_loose_copy_grad(czr_engine *engine, int param);
void czr_loose_copy_out(czr_engine *engine, int param);

/* step.c: no parameter is ready; one is that was not; whether operation `op` is
 * a reduction whose gradients are there; what precedes the list of a step; all
 * of the next step is open. */
void czr_step_await(czr_engine *engine);
void czr_step_note_ready(czr_engine *engine, int param);
bool czr_step_is_ready(const czr_engine *engine, int op);
czr_status czr_step_begin(czr_engine *engine, const czr_hyper *hyper);
void czr_step_restart(czr_engine *engine);

/* guard.c: bits of the least magnitude that is too large for a rule; NULL: for
 * all, as it is not finite. */
int32_t czr_guard_limit(const czr_states *rule);
/* Skips the step, and says why unless the plan's policy is to skip. */
void czr_guard_skip(czr_engine *engine, const char *why);
/* For the gradient of a parameter; -1: of another rank. */
void czr_guard_skip_for(czr_engine *engine, int param);
/* The turn's unit: sums of words[n] over the operation's ranks. */
void czr_guard_sum(int64_t *words, int n, czr_segment *segment);

/* identity.c: the word of a rank, not negative, that makes this update of an
 * engine by hypers[n]. */
int64_t czr_identity_word(int number, int64_t update, const double *hypers,
                          int n);
/* Before the sum: this rank's word among those of none.  Behind it: stops the
 * engine, as all ranks do, where they are not alike. */
void czr_identity_put(czr_engine *engine);
czr_status czr_identity_check(czr_engine *engine);
/* Of words[n] of all ranks, 0 of one that has none: a rank that differs from
 * most, and one of these. */
bool czr_identity_find(const int64_t *words, int n, int ranks[2]);
/* Says in what two ranks differ. */
czr_status czr_identity_stop(czr_engine *engine, const int ranks[2],
                             const int64_t words[2]);

/* replica.c: before a step, the hash of the copy that is compared behind it.
 * Behind it: compares, alone or by what all put into words[ranks], which are 0
 * before, and then add up. */
void czr_replica_hash(czr_engine *engine);
czr_status czr_replica_check(czr_engine *engine);
void czr_replica_put(czr_engine *engine, int64_t *words);
czr_status czr_replica_compare(czr_engine *engine, const int64_t *words);

/* fault.c: a rule failed for a parameter; false: the step cannot go on, as it
 * is not undone. */
bool czr_fault_note(czr_engine *engine, czr_status status, int param);

/* undo.c: what a step writes, kept before it and put back.  Memory is taken
 * where options ask for it; to put it back is collective. */
czr_status czr_undo_open(czr_engine *engine);
/* What updates write of a bucket resident, and where it is kept, NULL before
 * there is memory: states, masters, parameters. */
enum { CZR_UNDO_REGIONS = 3 };
typedef struct czr_undo_region {
    unsigned char *at, *kept;
    size_t bytes;
} czr_undo_region;
typedef struct czr_undo_regions {
    czr_undo_region of[CZR_UNDO_REGIONS];
} czr_undo_regions;
void czr_undo_find(const czr_engine *engine, int b, czr_undo_regions *out);
czr_status czr_undo_restore(czr_engine *engine);

/* op.c: one operation on this rank; op_*.c: the kinds. */
bool czr_op_is_skipped(const czr_engine *engine, int op);
czr_status czr_op_run(void *engine, int op);
/* The next turn of an operation that is not skipped: its own work alone.  With
 * the first the operation begins in the recorder, and it ends when the last,
 * with its unit, is over. */
czr_status czr_op_run_segment(czr_engine *engine, int op, czr_segment *segment);
void czr_op_end(czr_engine *engine, int op, const czr_segment *segment);
/* What an operation is about on this rank: its first stage, as generated C
 * calls it, and a bucket, or the first parameter of its table; and how much of
 * it there is: entries, but of what is cut anywhere, and their flops. */
czr_record_work czr_op_record_work(const czr_engine *engine, int op);
/* All turns, each with its unit. */
czr_status czr_op_carry_out(czr_engine *engine, int op);
extern const czr_op_body czr_op_host_bodies[CZR_N_OP_KINDS];
czr_status czr_op_reduce_scatter(czr_engine *engine, int op,
                                 czr_segment *segment);
czr_status czr_op_all_gather(czr_engine *engine, int op, czr_segment *segment);
/* Between the parts and the slices of an equal bucket: element e of it lies
 * e + shift elements behind `base`. */
typedef struct czr_exchange {
    int bucket;
    bool to_owners; /* else from them */
    unsigned char *base;
    int64_t element; /* bytes */
    int64_t equal_part_shift, slice_shift;
} czr_exchange;
/* The turn's unit, where anything travels. */
void czr_op_exchange(czr_engine *engine, int op, const czr_exchange *exchange,
                     czr_segment *segment);
czr_status czr_op_all_reduce(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_transfer(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_group_sum(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_kernel(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_square_sum(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_decide(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_prologue(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_guard(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_keep(czr_engine *engine, int op, czr_segment *segment);
czr_status czr_op_undo(czr_engine *engine, int op, czr_segment *segment);
/* Where the slots of a row lie, in order of the stage's; and its counters. */
void czr_op_find_slots(const czr_engine *engine, const czr_kernel_entry *row,
                       const void **in, void **out);
void czr_op_count_row(czr_engine *engine, const czr_kernel_entry *row);

#endif
