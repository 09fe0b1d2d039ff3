/* What the checks share.  Private to passes/verify/. */
#ifndef CZ_PASSES_VERIFY_INTERNAL_H
#define CZ_PASSES_VERIFY_INTERNAL_H

#include "dsl/plan/box.h"
#include "passes/verify/rank_maps.h"
#include "passes/verify/region.h"
#include "passes/verify/verify.h"

typedef struct verifier {
    const cz_plan_view *view;
    cz_diags *diags;
    rank_maps maps;
    cz_arena *arena;        /* of the check that runs */
    cz_arena *kept;         /* of all of them */
    struct op_pairs *pairs; /* [n_ops] of transfers, once they are paired up */
    bool **moves; /* [n_ops] of transfers: has a rank boxes there, [n_ranks] */
    int n_errors;
} verifier;

enum { MAX_STREAMS = 32 };

/* Rows [first, end) of an operation on one rank; none for an operation
 * without table. */
typedef struct row_range {
    int64_t first, end;
} row_range;

row_range rows_of(const verifier *v, const cz_view_op *op, int64_t rank);
/* Its position in the communicator of a transfer; else -1. */
int64_t position_of(const verifier *v, const cz_view_op *op, int64_t rank);
/* Whether row i of these is the rank's that has the position: an entry of a
 * transfer says which members have its boxes. */
static inline bool has_row(const cz_view_table *table, int64_t i,
                           int64_t position)
{
    return table->kind != CZ_ENTRY_TRANSFER ||
           cz_view_has_member(&table->rows.transfer[i], position);
}
/* An operation with a table and no row on this rank is skipped there, and so is
 * a collective of a bucket that is not resident. */
bool is_skipped(const verifier *v, const cz_view_op *op, int64_t rank);

/* Fills `moves`, which is_skipped() asks time and again. */
void find_moves(verifier *v);

/* Where a mistake shows.  Numbers of the view; -1 only for an operation or a
 * parameter where the plan has none at all. */
typedef struct place {
    int op;
    int64_t rank, param;
} place;

/* Report what is wrong there: "operation 3 (kernel) on rank 1, h.0.w: ...". */
void reject(verifier *v, place at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For a mistake of a whole operation: the first rank that has rows in it, and
 * its first row's parameter; without rows, the first parameter of its bucket,
 * and the rank that owns it; without a bucket, the first that it serves. */
place place_of(const verifier *v, int op);
/* The same on a given rank. */
place place_on(const verifier *v, int op, int64_t rank);
/* For a mistake of a bucket: its first operation, one of its parameters (-1:
 * the first), and the first rank that owns of that. */
place place_in_bucket(const verifier *v, int bucket, int64_t param);

/* Rows to look for in operations from..to, backwards where to < from. */
typedef struct row_filter {
    int from, to;
    int kind; /* of the operation; here and below -1: any */
    int64_t rank, bucket, param;
} row_filter;

/* The first that fits; false, and *found as it was, if none does. */
bool find_row(const verifier *v, row_filter wanted, place *found);

/* The rank whose slice an element of a bucket lies in; of all such ranks the
 * one that agrees with `near` on all axes that nothing is split over. */
int64_t owner_of(const verifier *v, int bucket, int64_t element, int64_t near);
/* How many elements of a parameter that a rank holds lie in [lo, hi) of its
 * bucket. */
int64_t overlap_of(const verifier *v, int64_t param, int64_t rank, int64_t lo,
                   int64_t hi);

/* The slice [lo, hi) of a bucket that a rank owns. */
void slice_of(const verifier *v, int bucket, int64_t rank, int64_t *lo,
              int64_t *hi);
/* The last operation of a bucket, for what comes too late; -1: none. */
int last_op_of(const verifier *v, int64_t bucket);
/* The last that has rows of a parameter, or is about its bucket. */
int last_to_touch(const verifier *v, int64_t param);
int rule_of_param(const verifier *v, int64_t param);
bool is_resident(const verifier *v, int64_t param, int64_t rank);
bool has_bucket(const verifier *v, int bucket, int64_t rank);
/* The first rank that has a bucket. */
int64_t first_resident(const verifier *v, int bucket);
/* Elements of a parameter on a rank; 0 where it is not resident. */
int64_t elements_on(const verifier *v, int64_t param, int64_t rank);
/* Offset of slot `slot` (an element of stage->in or ->out) behind the row's
 * scratch offset of its kind, and its length, both in bytes. */
void slot_extent(const cz_view_stage *stage, const cz_view_slot *slot,
                 int64_t count, int64_t *offset, int64_t *bytes);
/* The row's scratch offset for a kind of slot; -1 for kinds elsewhere. */
int64_t scratch_of(const cz_view_kernel_entry *row, cz_slot_kind kind);

/* Bytes of scratch that a rank has. */
int64_t arena_of(const verifier *v, int64_t rank);

/* Scratch that one row touches: a slot, rounded up, or the workspace; `base` is
 * the number that the row has for its kind. */
typedef struct extent {
    int64_t base, lo, hi;
    bool writes;
} extent;

enum { MAX_EXTENTS = 65 };

/* How many there are in `out` [MAX_EXTENTS]. */
int scratch_extents(const cz_view_kernel_entry *row, const cz_view_stage *stage,
                    extent *out);

/* A GPU gives a batch's matrices bytes of their own: what the rows of a matrix
 * have there is nobody's in front of its first row and behind its last.  Does
 * that for the one of them that `row` is; else nothing. */
void forget_moved(const verifier *v, const cz_view_table *table, row_range rows,
                  int64_t row, bool is_behind, region_list *scratch);

/* What a row leaves behind in its workspace is nothing that was there before,
 * nor is it in a slot that results lay in after it was gathered. */
void forget_reused(const cz_view_stage *stage, const cz_view_kernel_entry *row,
                   region_list *scratch);

/* What is wrong with where a body's steps leave their results, and in which
 * step; NULL: nothing. */
const char *find_lost_value(cz_arena *arena, const cz_view_stage *body,
                            int *step);

/* A pair of boxes that meet: a send and the receive it goes to. */
typedef struct transfer_pair {
    int source, target;              /* ranks */
    int sent_in, received_in;        /* operations */
    int send_number, receive_number; /* of the boxes of their entries */
    int place; /* of the receive, by its rank, entry and box */
    const cz_view_transfer_entry *send, *receive;
} transfer_pair;

typedef struct op_pairs {
    const transfer_pair *v; /* NULL: not yet */
    int n;
} op_pairs;

/* Pair up all boxes of a transfer, once for all checks; *n pairs.  NULL: they
 * do not pair, which is reported if the caller wants that. */
const transfer_pair *pair_transfers(verifier *v, int op, bool reports, int *n);
/* The k-th send from a to b with the k-th receive at b from a, counted over
 * the whole list, whichever operations they belong to: what a communication
 * library would make of it.  Left out where there are not as many of both. */
const transfer_pair *pair_over_list(verifier *v, int *n);

/* Which operations complete before which start on one rank, by streams and
 * waits alone: bit b of before[a] is set if b completes before a starts. */
typedef struct order {
    int n_words;
    uint64_t *before;
} order;

order order_of_rank(verifier *v, int64_t rank);
bool is_before(const order *o, int first, int second);

/* The first rank of those with which a rank adds up the partial sums of an
 * operation: the block of its position. */
int64_t first_of_block(const verifier *v, const cz_view_op *op, int64_t rank);
/* Which of those that own or share a parameter a rank is; -1: none. */
int64_t member_of(const verifier *v, int64_t param, int64_t rank);

/* Run a check of operation `op` on every rank until one rejects; what it takes
 * from the arena is given back after each. */
void for_each_rank(verifier *v, int op,
                   void (*check)(verifier *, int, int64_t));

bool same_axes(const cz_ints *a, const cz_ints *b);

static inline int by_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* A sorted copy, in the arena, of n elements of `size` bytes.  `compare` puts
 * first the int64_t at byte key_at of each, which is in [0, n_keys); NULL: by
 * that alone, and otherwise in the order that they had. */
void *sort_by_key(cz_arena *arena, const void *list, int n, size_t size,
                  size_t key_at, int64_t n_keys,
                  int (*compare)(const void *, const void *));

/* The checks, in order; each may rely on those before it. */
void check_form(verifier *v);
void check_meaning(verifier *v);
void check_once(verifier *v);
void check_owned(verifier *v);
void check_norm(verifier *v);
void check_uniform(verifier *v);
void check_group_sums(verifier *v);
void check_deadlock(verifier *v);
void check_matched(verifier *v);
void check_exchanges(verifier *v);
void check_races(verifier *v);
void check_batches(verifier *v);
void check_provenance(verifier *v);
void check_values(verifier *v);
void check_tilings(verifier *v);

#endif
