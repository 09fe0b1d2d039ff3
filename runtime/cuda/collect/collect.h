/* The engine's own arithmetic on a device: what world.h, sum.h, norm.h, guard.c
 * and op_norm.c do with memory of the host, to the same bits but for those of
 * NaN.  All code is loaded by czr_collect_open; each call below it puts one
 * kernel behind what a stream has, takes no memory and waits for nothing.
 *
 * All pointers are the device's unless they say otherwise, aligned to their
 * elements; tables lie on the device, too, and stay there while work is under
 * way.  Calls without elements do nothing.  What fails is said by the context,
 * but for CZR_ERR_ARGUMENT. */
#ifndef CZR_CUDA_COLLECT_COLLECT_H
#define CZR_CUDA_COLLECT_COLLECT_H

#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/module.h"
#include "runtime/cuda/collect/pack.h"
#include "runtime/math/norm.h"
#include "runtime/world/world.h"

typedef struct czr_collect czr_collect;

/* Compiles for the context's device, by NVRTC or from the cache (which may be
 * NULL), and loads.  If it fails, *out is NULL and `message` says why:
 * CZR_ERR_DEVICE_CODE, CZR_ERR_NO_MEMORY, or what the driver says.  The context
 * is the caller's, open as long as this; many ranks may share one. */
czr_status czr_collect_open(czr_context *context, czr_nvrtc *nvrtc,
                            czr_cache *cache, czr_collect **out,
                            char message[CZR_DRIVER_MESSAGE]);
/* What was started has ended before.  NULL is allowed. */
void czr_collect_close(czr_collect *collect);

/* ---- sums over members -------------------------------------------------- */

enum { CZR_COLLECT_MAX_MEMBERS = 1 << 16 };

/* czr_sum_grads: out[i] = scale * the sum of element first + i of all members'
 * leaves, in order; `dtype` is f32 or bf16, else CZR_ERR_ARGUMENT. */
typedef struct czr_collect_grads {
    const void *const *grads; /* [n_members], each leaf 0 of a whole bucket */
    int n_members, n_grads;
    czr_dtype dtype;
    int64_t grad_stride, first, n; /* elements */
    float *out;                    /* [n] */
    float scale;
    int32_t *largest; /* raised; ranks of one device may share it */
} czr_collect_grads;
czr_status czr_collect_sum_grads(czr_collect *collect,
                                 const czr_collect_grads *sum, void *stream);

/* Members' data, of which those from `to` to before `to_end` get something.
 * data[m] is where element 0 would lie: where only a part is read, no more than
 * that need be there. */
typedef struct czr_collect_members {
    void *const *data; /* [n_members] */
    int n_members, to, to_end;
} czr_collect_members;

/* czr_sum_slice: the first n elements become the members' sums. */
czr_status czr_collect_sum_slice(czr_collect *collect,
                                 const czr_collect_members *members,
                                 czr_sum type, size_t n, void *stream);
/* czr_sum_equal_part, of `count` elements, for each of `to` to `to_end`: its
 * part or, with a band, its rows of that. */
czr_status czr_collect_sum_equal_parts(czr_collect *collect,
                                       const czr_collect_members *members,
                                       czr_sum type, size_t count,
                                       czr_band band, void *stream);
/* Each member's rows of the band from where it has them, elements of 2, 4 or 8
 * bytes. */
czr_status czr_collect_band_gather(czr_collect *collect,
                                   const czr_collect_members *members,
                                   size_t element_bytes, czr_band band,
                                   void *stream);
/* czr_band_mirror. */
czr_status czr_collect_band_mirror(czr_collect *collect, void *matrix,
                                   size_t element_bytes, czr_band band,
                                   void *stream);

/* ---- gradients of parameters -------------------------------------------- */

/* Elements of REDUCED that a parameter has on this rank. */
typedef struct czr_collect_span {
    const float *data;
    uint64_t n;
    uint64_t first; /* units of work of all spans before; see below */
    int32_t param;
    int32_t limit; /* bits of the least magnitude that is too large */
} czr_collect_span;

/* Sets `first` of n_spans rows (of the host), whose units go to *n_jobs; then
 * they may be copied to the device. */
void czr_collect_number(czr_collect_span *spans, size_t n_spans,
                        uint64_t *n_jobs);

/* A table that was copied there. */
typedef struct czr_collect_spans {
    const czr_collect_span *rows;
    int n;
    uint64_t n_jobs;
} czr_collect_spans;

/* What a step decides by, in device memory of each rank; zero before the first
 * step. */
enum {
    CZR_COLLECT_MAY_BE_BEYOND, /* 1: `largest` reaches the limit of some rule */
    CZR_COLLECT_FAULTY,        /* 1: a rule failed in an earlier step */
    CZR_COLLECT_BEYOND,        /* 1: a span has an element at its limit */
    CZR_COLLECT_COUNTS
};
typedef struct czr_collect_decision {
    int64_t norm[CZR_NORM_WORDS];       /* carried or not; summed over ranks */
    int64_t counts[CZR_COLLECT_COUNTS]; /* summed over ranks */
    int64_t steps;                      /* applied updates */
    int64_t sequence;                   /* decisions */
    double t;         /* of the update under way: steps, behind a decision */
    double clip;      /* the coefficient */
    double grad_norm; /* 0: the plan takes none */
    int32_t largest;  /* as runtime/world/world.h has it */
    int32_t beyond;   /* the first param with such a span, or INT32_MAX */
    int32_t skip;     /* 1: updates write nothing */
    int32_t status;   /* czr_status of the first rule that failed; stays */
    int32_t sound;    /* 0: what the update wrote is undone */
    int32_t mark;     /* of `status`: the row that failed, */
    int64_t update;   /* and when */
    int64_t undone;   /* updates so far */
    int64_t refused;  /* steps so far, by their gradients or their norm; */
    int32_t refusal;  /* the reason of the last of them, */
    int32_t refused_beyond; /* and what was `beyond` then */
    int32_t stopped; /* 1: a decision was FAULT, and all that follow are */
    int32_t unused;
} czr_collect_decision;

/* What ranks tell each other: words[rank] of [n_ranks] is this rank's, the
 * others are 0, and sums over ranks have them all.  A word tells how a rule
 * failed, with CZR_COLLECT_FAULT_WORD, or who the rank is: czr_identity_word.
 */
#define CZR_COLLECT_FAULT_WORD INT64_MIN
typedef struct czr_collect_rank_words {
    int64_t *words;
    int rank, n_ranks;
    int number, n_hypers;
    const double *hypers; /* [n_hypers] */
} czr_collect_rank_words;

/* Before the first gradient of a step is added up: norm, counts and what is
 * decided begin anew; `status` makes the words that tell of faults. */
czr_status czr_collect_begin(czr_collect *collect,
                             czr_collect_decision *decision, void *stream);
/* czr_norm_add of all spans to decision->norm; carried, its words are those of
 * the host. */
czr_status czr_collect_norm(czr_collect *collect,
                            const czr_collect_spans *spans,
                            czr_collect_decision *decision, void *stream);
/* *word, of the decision's, becomes whether `largest` reaches the limit: for
 * counts[MAY_BE_BEYOND] the least of all rules, for norm[NONFINITE] that of
 * finite numbers.  And the words of ranks, by the decision's `status` and
 * `steps`. */
czr_status czr_collect_ask(czr_collect *collect,
                           const czr_collect_decision *decision, int64_t *word,
                           int32_t limit,
                           const czr_collect_rank_words *rank_words,
                           void *stream);
/* counts[BEYOND] and `beyond`; looks at no span where counts[MAY_BE_BEYOND],
 * summed over ranks by now, is 0. */
czr_status czr_collect_guard(czr_collect *collect,
                             const czr_collect_spans *spans,
                             czr_collect_decision *decision, void *stream);

/* Why a step is skipped. */
typedef enum czr_collect_reason {
    CZR_COLLECT_APPLIED,
    CZR_COLLECT_FAULT,    /* a rule failed in an earlier step, on some rank; or
                           * ranks are not in the same step */
    CZR_COLLECT_GRADIENT, /* one is beyond its limit, on some rank */
    CZR_COLLECT_NORM,     /* is not finite */
    CZR_COLLECT_UNDONE    /* a rule failed in this one, on some rank */
} czr_collect_reason;

/* In pinned memory of the host, zero before the first step. */
typedef struct czr_collect_result {
    double grad_norm;
    int64_t step; /* applied updates */
    int32_t reason;
    int32_t beyond; /* a parameter of this rank, or INT32_MAX */
    int32_t status; /* of this rank; with FAULT and of an update that was undone
                     * of the lowest that failed; CZR_ERR_MISMATCH */
    int32_t mark;   /* of `status`, */
    int64_t update;
    int32_t rank;           /* and, with FAULT or undone, where; else 0 */
    int32_t refusal;        /* as in the decision, */
    int32_t refused_beyond; /* too, */
    int32_t other;          /* of a mismatch: `rank` differs from this one, */
    int64_t words[2];       /* and the words of both; */
    int64_t refused;        /* as in the decision: of all so far */
    int64_t undone;         /* updates so far */
    int64_t sequence;       /* written last */
} czr_collect_result;

/* The decision, from the norm, counts and words that are summed over all ranks:
 * decision's grad_norm, clip, skip, steps, t and sequence, then *result. */
czr_status czr_collect_decide(czr_collect *collect,
                              czr_collect_decision *decision, bool has_norm,
                              double clip /* the plan's; 0: none */,
                              const czr_collect_rank_words *rank_words,
                              czr_collect_result *result, void *stream);
/* On the host: whether decision `sequence` (from 1) has come; then *out is it.
 */
bool czr_collect_read(const czr_collect_result *result, int64_t sequence,
                      czr_collect_result *out);
/* On the host: whether a decision has come that was FAULT, as are all that may
 * come behind it. */
bool czr_collect_has_fault(const czr_collect_result *result);

/* Kernel rows of a rank, in list order, each with a word that says how it
 * failed in the update, or 0. */
typedef struct czr_collect_marks {
    int32_t *words;
    uint64_t n;
} czr_collect_marks;

/* The first row that failed to decision's status, mark and update, unless an
 * update before had one, and to the word of this rank, or 0; all rows begin
 * anew. */
czr_status czr_collect_note(czr_collect *collect,
                            const czr_collect_marks *marks,
                            czr_collect_decision *decision,
                            const czr_collect_rank_words *rank_words,
                            void *stream);
/* From words that are summed over all ranks: decision's `sound`, and where
 * that is 0 one step less and no status; then *reported, which says what
 * *decided does, or that the update is undone and who failed first. */
czr_status czr_collect_settle(czr_collect *collect,
                              czr_collect_decision *decision,
                              const czr_collect_rank_words *rank_words,
                              const czr_collect_result *decided,
                              czr_collect_result *reported, void *stream);

/* ---- memory ------------------------------------------------------------- */

enum { CZR_COLLECT_HYPERS = 32 };

/* values[n] of the host to `to`: one launch for each 32. */
czr_status czr_collect_hypers(czr_collect *collect, double *to,
                              const double *values, size_t n, void *stream);
/* czr_fill. */
czr_status czr_collect_fill(czr_collect *collect, void *to, czr_dtype dtype,
                            double value, size_t n, void *stream);
/* The diagonal of a matrix [n, n]. */
czr_status czr_collect_fill_diagonal(czr_collect *collect, void *to,
                                     czr_dtype dtype, double value, size_t n,
                                     void *stream);
/* czr_convert.  `skip` may be NULL; where it is not and *skip is not 0 when the
 * stream comes there, nothing is written. */
czr_status czr_collect_convert(czr_collect *collect, void *to,
                               czr_dtype to_dtype, const void *from,
                               czr_dtype from_dtype, size_t n,
                               const int32_t *skip, void *stream);
/* *to rises by czr_hash. */
czr_status czr_collect_hash(czr_collect *collect, uint64_t *to,
                            const void *from, size_t element_bytes, size_t n,
                            void *stream);
/* czr_mirror_lower of a matrix [n, n]. */
czr_status czr_collect_mirror_lower(czr_collect *collect, void *matrix,
                                    czr_dtype dtype, size_t n, void *stream);

/* ---- boxes -------------------------------------------------------------- */

/* The first n moves of a table, whose `first` it sets; the table is copied.  No
 * move writes what another reads or writes.  CZR_ERR_ARGUMENT: there are
 * too many, or a move has more elements than 64 bits count. */
czr_status czr_collect_pack(czr_collect *collect, czr_move_table *moves, int n,
                            void *stream);

#endif
