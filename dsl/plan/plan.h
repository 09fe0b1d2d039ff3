/* The plan view: a read-only projection of a module to flat arrays.  Code
 * generators, the verifier and the printers see the plan through this alone;
 * it knows nothing of MLIR.  Everything belongs to the arena it was built in.
 *
 * Numbers: a parameter number counts patterns in module order and, inside a
 * pattern, its indices row-major.  Where a pattern is spread (experts over ep),
 * one number means another parameter at each coordinate of the spread: they
 * are alike but for their names.  Frozen parameters are counted apart: no
 * number in a plan can mean one.  Rule, stage, bucket, table and op numbers
 * count module order.  A coordinate over a set of axes counts row-major in
 * mesh order.  A rank is the coordinate over all axes. */
#ifndef CZ_DSL_PLAN_PLAN_H
#define CZ_DSL_PLAN_PLAN_H

#include "dsl/base/arena.h"
#include "dsl/base/block.h"
#include "dsl/base/diag.h"
#include "dsl/plan/axes.h"
#include "dsl/plan/phase.h"
#include "dsl/plan/update.h"
#include "dsl/vocab/abi.h"
#include "dsl/vocab/access.h"
#include "dsl/vocab/dtype.h"
#include "dsl/vocab/factor.h"
#include "dsl/vocab/facts.h"
#include "dsl/vocab/opcode.h"

#include <stdbool.h>

enum { CZ_VIEW_MAX_AXES = 8, CZ_VIEW_MAX_DIMS = 8, CZ_VIEW_MAX_BLOCKS = 8 };

enum { CZ_VIEW_MAX_ARGS = 3 };

/* One scalar operation of a body.  Arguments are value numbers: the body's
 * inputs first, then its expressions in order. */
typedef struct cz_view_expr {
    cz_opcode op;
    cz_dtype dtype; /* of the result; for COMPARE of the operands */
    int args[CZ_VIEW_MAX_ARGS];
    double constant;       /* CONSTANT */
    const char *predicate; /* COMPARE: "olt" and the like */
    const char *name;      /* as cz_ir_op_value_name(); NULL: none */
} cz_view_expr;

/* A scalar function: a kernel body or a prologue. */
typedef struct cz_view_body {
    const char *name;
    int n_in;
    const cz_dtype *in;
    int n_exprs;
    const cz_view_expr *exprs;
    int n_out;
    const int *out; /* value numbers */
    const cz_dtype *out_dtype;
} cz_view_body;

/* One step of a stage in kernel form.  Values are numbered: the stage's
 * inputs, then its scalars, then the results of its steps in order. */
typedef struct cz_view_step {
    bool is_product;
    cz_factor factor; /* not NONE: a call of it, neither map nor product: its
                       * operands and results are whole, of the shapes that
                       * `size` says, all ELEMENT; rows and columns are those of
                       * operand 0 */
    cz_factor_size size;
    const double *parameters; /* of the factorisation */
    int body;                 /* number of the map's body or the product's
                               * epilogue; -1: none */
    int n_in;
    const int *in;           /* product: a, b, then epilogue operands */
    const cz_access *access; /* of every operand; a and b: ELEMENT */
    int n_generated; /* inputs of the body behind the operands; whole stages
                      * alone have any */
    const cz_generator *generated;
    int n_out;
    const cz_access *out_access;
    const cz_dtype *out_dtype;
    const int64_t *offsets; /* byte of each result; -1: it is a stage output;
                             * product: one more entry, the f32 accumulator, of
                             * cz_view_accumulator_rows, or -1 for none; call:
                             * one more, its workspace, or -1 for none */
    const int64_t *within;  /* what each entry is a byte of; NULL: workspace */
    int64_t rows, columns;  /* space of the map, shape of the product */
    /* Parts of equal length that the rows, the columns and the contracted
     * length are cut to, powers of two: sums over these dimensions are made
     * part by part and added up as a tree, neighbours first.  1: one after the
     * other. */
    struct {
        int64_t rows, columns, inner;
    } blocks;
    int segment;      /* of a shared stage, else 0; ascends */
    uint32_t partial; /* bit i: result i is a partial sum, which the ranks that
                       * share the matrix add up behind the segment */
    bool scatter; /* product with a partial sum: each rank gets its equal part
                   * of the rows alone, which steps that are dealt out read */
    int64_t partition; /* of a shared stage: the rows of the results are dealt
                        * out to so many ranks, in equal parts, and all get all
                        * of them behind the segment; `rows` are those of a
                        * rank. 0 and 1: not so */
    int64_t band; /* of what is dealt out or scattered: it is symmetric, and
                   * of so many blocks of rows the band alone travels (IR.md);
                   * 0: all of it does */
    /* product: result = alpha * op(a) @ op(b) + beta * s, accumulated in f32,
     * rounded once; with beta != 0, s is in[2].  With an epilogue body the
     * result is body(acc, in[2], in[3], ...) instead. */
    bool transpose_a, transpose_b, symmetric;
    bool narrow; /* sums of blocks, and of ranks' parts, may travel as bf16:
                  * each is rounded to it, and so is every sum of two of them.
                  * The result is bf16 */
    double alpha, beta;
    int64_t inner; /* contracted length */
} cz_view_step;

typedef struct cz_view_slot {
    cz_slot_kind kind;
    int index;
    cz_dtype dtype;
} cz_view_slot;

typedef struct cz_view_stage {
    const cz_fact_stage *fact;
    int rule;
    cz_where where;
    int n_in, n_out;
    const cz_view_slot *in, *out;
    int n_steps;
    const cz_view_step *steps;
    const int *out_value;             /* value number behind each output */
    const cz_fact_subgroup *subgroup; /* of a shared stage, whose steps are
                                       * those of all segments; else NULL */
    int n_segments;                   /* of its body; else 1 */
    const int64_t *capacity; /* whole: bytes of each slot, see within.h */
    /* The stage in each phase of its rule: same slots and scalars, but a body
     * of its own; [0] has that of the stage.  0: the rule has no phases. */
    int n_variants;
    const struct cz_view_stage *variants;
} cz_view_stage;

/* A rule at the updates at which the same of its events fire. */
typedef struct cz_view_phase {
    const cz_fact_phase *fact;
    uint32_t fires; /* bit e: event e */
} cz_view_phase;

/* What a prologue takes, f64: t, clip, then the run-time values of the use. */
enum { CZ_PROLOGUE_T, CZ_PROLOGUE_CLIP, CZ_PROLOGUE_HYPERS };

/* An update that asks for its parameter's name takes it behind the results of
 * the prologue: two parts of a hash (IR.md). */
enum { CZ_NAME_SCALARS = 2 };

typedef struct cz_view_rule {
    const cz_fact_rule *fact;
    int use;
    const cz_dtype *states; /* [fact->states.n] */
    cz_ints settled;        /* states of the matrix's shape that are whole
                             * because less travels then */
    int prologue;           /* body number; outputs f32 */
    int first_scalar;       /* its first output among all rules' outputs */
    int n_scalars; /* that stages may take: its outputs, and perhaps the name */
    int first_stage, n_stages;
    int n_events;
    const cz_event *events;
    int n_phases; /* 0: all updates are alike */
    const cz_view_phase *phases;
    const cz_view_update *updates; /* what each phase says, or all updates do;
                                    * NULL before scheduling */
} cz_view_rule;

/* How dimensions are cut: the first element and the end of each coordinate's
 * shard; NULL: to equal parts, in order of the coordinate. */
typedef struct cz_view_cuts {
    const int64_t *of[CZ_VIEW_MAX_DIMS];
} cz_view_cuts;

typedef struct cz_view_pattern {
    const cz_fact_pattern *fact;
    int rule, reduction;
    int first_param, n_params;
    int64_t expert_extent; /* parameters behind each number; 1: not spread */
    cz_dtype dtype;
    int n_dims;
    const cz_fact_stagger
        *stagger;                 /* NULL: no event of its rule is staggered */
    const cz_fact_stored *stored; /* NULL: stored as it is */
    int storage;                  /* that it is a piece of */
    cz_view_cuts bounds;
    int64_t elements;       /* of one whole parameter */
    int64_t local_elements; /* of the largest shard: its slot in a bucket,
                             * on all ranks alike */
} cz_view_pattern;

/* What one rank holds of a parameter: a box, perhaps without elements. */
typedef struct cz_view_shard {
    int64_t start[CZ_VIEW_MAX_DIMS], shape[CZ_VIEW_MAX_DIMS];
    int64_t elements;
} cz_view_shard;

/* A tensor of the trainer that several patterns are pieces of, or one that
 * leaves padding out.  Member i holds member i of each of its pieces. */
typedef struct cz_view_storage {
    const cz_fact_storage *fact;
    cz_view_cuts bounds;
    cz_dtype dtype;
    int n_dims;
    int n_members;
    int64_t expert_extent, n_names;
    const char *const
        *names; /* [n_names = n_members * expert_extent] the names that
                 * a member has, by coordinate of the spread */
    int n_patterns;
    const int *patterns; /* patterns */
} cz_view_storage;

/* Other names of one parameter. */
typedef struct cz_view_tie {
    const cz_fact_tie *fact;
    int param; /* that they all stand for */
    int n_names;
    const char *const *names;
} cz_view_tie;

typedef struct cz_view_param {
    int pattern;
    const char *name;       /* at coordinate 0 of the spread */
    const char **names;     /* [expert_extent] */
    int bucket;             /* -1 before assignment */
    int64_t offset;         /* element in the bucket */
    int64_t split_owner;    /* coordinate over the split axes, or -1 */
    int64_t shard_owner;    /* coordinate over the shard axes, or -1 */
    int64_t subgroup_size;  /* ranks that share it, shard_owner the first; 1 */
    int64_t stride;         /* from one of them to the next */
    int64_t stagger_offset; /* of the staggered events of its rule, else 0 */
} cz_view_param;

typedef struct cz_view_bucket {
    const cz_fact_bucket *fact;
    int reduction;
    int pattern; /* one whose parameters it holds: its home is the bucket's;
                  * -1: it is empty */
    cz_dtype dtype;
    bool has_master; /* false: the parameter is its own master */
} cz_view_bucket;

/* Equal matrices of kernel rows that a GPU computes as one: each is n_rows
 * neighbours of one parameter.  Scratch bytes [scratch, scratch + bytes) each
 * has for itself, behind the arena. */
typedef struct cz_view_batch {
    int64_t first; /* row that the first matrix begins with */
    int64_t n_rows, n_matrices;
    int64_t scratch, bytes;
} cz_view_batch;

typedef struct cz_view_table {
    const cz_fact_table *fact;
    cz_entry_kind kind;
    int n_coordinates;     /* over the selector */
    const int64_t *starts; /* [n_coordinates + 1] */
    int n_batches;
    const cz_view_batch *batches;
    const int64_t *batch_of_row; /* from 1, 0 of rows alone; NULL: all are */
    cz_view_rows rows;
} cz_view_table;

typedef struct cz_view_op {
    const cz_fact_op *fact;
    cz_step_kind kind;
    cz_section section;
    int table; /* -1: none */
} cz_view_op;

typedef struct cz_plan_view {
    const cz_fact_program *program;
    const cz_fact_mesh *mesh;
    const cz_fact_policy *policy;
    const cz_fact_machine *machine; /* NULL: nothing is timed */
    int n_timings;
    const cz_fact_timing *timings;
    int n_uneven_reduces;
    const cz_fact_uneven_reduce *uneven_reduces;
    const cz_fact_gpu *gpu; /* NULL: no GPU is a target; nor has it what is
                             * said of one below, or in tables */
    int n_tile_times;
    const cz_fact_tile_time *tile_times;
    int n_tilings;
    const cz_fact_tiling *tilings;
    const cz_fact_batch_arena *batch_arena; /* NULL: there are no batches */
    const cz_fact_arena *arena;             /* NULL before scheduling */
    int n_ranks;
    int n_reductions;
    const cz_fact_reduction *reductions;
    int n_uses;
    const cz_fact_use *const *uses;
    int n_rewrites;
    const cz_fact_rewrite *rewrites; /* of updates, for people */
    int n_rules;
    const cz_view_rule *rules;
    int n_scalars; /* outputs of all prologues */
    int n_patterns;
    const cz_view_pattern *patterns;
    int n_params;
    const cz_view_param *params;
    int n_storages;
    const cz_view_storage *storages;
    int n_frozen_patterns;
    const cz_view_pattern *frozen_patterns; /* no rule (-1); first_param counts
                                             * frozen_params */
    int n_frozen_params;
    const cz_view_param *frozen_params; /* in no bucket, without owner */
    int n_ties;
    const cz_view_tie *ties;
    int n_stages;
    const cz_view_stage *stages;
    int n_bodies;
    const cz_view_body *bodies;
    int n_buckets;
    const cz_view_bucket *buckets;
    const cz_fact_micro_group_choice
        *micro_group_choice; /* NULL: there was nothing to choose */
    int n_tables;
    const cz_view_table *tables;
    int n_ops;
    const cz_view_op *ops;
} cz_plan_view;

/* A stage that knows the shape of its matrix, all of it or a part. */
bool cz_view_is_shaped(const cz_view_stage *stage);
/* Rows of a product that its accumulator has room for: all where a body
 * follows, else a strip, since scaling, adding and rounding go strip by strip.
 */
int64_t cz_view_accumulator_rows(const cz_view_step *product);
/* The elements of a value that step `step` makes as its result i. */
int64_t cz_view_result_elements(const cz_view_step *step, int i);
/* Whether result `result` of step `at`, written where argument `in` lies, would
 * change what a later step reads, or elements that the step itself reads for
 * others. */
bool cz_view_conflicts(const cz_view_step *steps, int n_steps, int in, int at,
                       int result);
/* Rows of a step's results, also those that other ranks make. */
int64_t cz_view_all_rows(const cz_view_step *step);
/* Whether ranks that share the matrix exchange result i of the step behind its
 * segment, and how. */
bool cz_view_is_exchanged(const cz_view_step *step, int i, cz_exchange *how);
/* How many of the elements travel if of so many blocks of rows the band does
 * (IR.md); 0 blocks: all.  `elements` are those of whole blocks. */
int64_t cz_view_band_elements(int64_t elements, int64_t blocks);
/* Operations of one rank on one parameter, of which it has so many elements
 * besides the whole; as one of the ranks that share it where `subgroup` is a
 * stage of theirs, else NULL. */
int64_t cz_view_rule_flops(const cz_plan_view *view, int rule,
                           const cz_view_stage *subgroup, int64_t elements);
/* The first segment of the stages that the ranks run which share a parameter:
 * of those for so many ranks the ones that cut it as its shards do, if there
 * are such.  NULL: there is none, or nobody shares it. */
const cz_view_stage *cz_view_subgroup_stage(const cz_plan_view *view,
                                            int param);
/* Whether each of the ranks that share a parameter has its own shard as its
 * part of the matrix; and exchanges nothing, so that nothing of it travels. */
bool cz_view_keeps_shards(const cz_plan_view *view, int param);
bool cz_view_is_apart(const cz_plan_view *view, int param);
/* Whether a stage on matrices, or on parts, is one of those that are run for a
 * parameter of its rule. */
bool cz_view_runs(const cz_plan_view *view, const cz_view_stage *stage,
                  int param);
/* Which of the ranks that own or share a matrix has a coordinate over its shard
 * axes; -1: none of them. */
int64_t cz_view_member_at(const cz_view_param *param, int64_t shard);
/* The block of an operation's positions that communicate together. */
cz_block cz_view_op_block(const cz_plan_view *view, const cz_view_op *op);
/* What member `member` of the ranks that share an owned matrix has of it: all,
 * where it is the only one. */
cz_view_shard cz_view_subgroup_shard(const cz_plan_view *view, int param,
                                     int64_t member);
/* The elements that two boxes of so many dimensions have in common. */
cz_view_shard cz_view_overlap(const cz_view_shard *a, const cz_view_shard *b,
                              int n_dims);
/* The phase of update t, counted from 1, for parameters with that turn; 0 where
 * all updates are alike. */
int cz_view_phase_at(const cz_view_rule *rule, int64_t stagger_offset,
                     int64_t t);
/* How many bodies a stage has, one without phases, and the stage with that
 * body.  Variants may share one: the first of those that do. */
int cz_view_n_bodies(const cz_view_stage *stage);
const cz_view_stage *cz_view_variant(const cz_view_stage *stage, int i);
int cz_view_first_alike(const cz_view_stage *stage, int i);
/* Bit p: phase p of a rule reads slot `index` of a kind that passes between its
 * stages; bit 0 alone where all updates are alike.  What is not read need not
 * travel. */
uint32_t cz_view_slot_phases(const cz_plan_view *view, int rule,
                             cz_slot_kind kind, int index);

/* Coordinate of a rank over some axes, which ascend, and how many coordinates
 * there are. */
cz_axes cz_view_mesh_axes(const cz_plan_view *view);
int64_t cz_view_coordinate(const cz_plan_view *view, const cz_ints *axes,
                           int64_t rank);
int64_t cz_view_extent(const cz_plan_view *view, const cz_ints *axes);
/* The rank that has `coordinate` over `axes` and agrees with `rank` on all
 * other axes. */
int64_t cz_view_rank_at(const cz_plan_view *view, const cz_ints *axes,
                        int64_t coordinate, int64_t rank);
/* How gradients of a pattern or of a bucket are reduced. */
const cz_fact_reduction *cz_view_pattern_reduction(const cz_plan_view *view,
                                                   int pattern);
const cz_fact_reduction *cz_view_bucket_reduction(const cz_plan_view *view,
                                                  int bucket);
/* Whether a rank has the parameters of a pattern, of a bucket, of a storage,
 * and whether two patterns have the same ranks.  A rank where a bucket is not
 * resident has none of its memory. */
bool cz_view_is_resident(const cz_plan_view *view, int pattern, int64_t rank);
bool cz_view_bucket_is_resident(const cz_plan_view *view, int bucket,
                                int64_t rank);
bool cz_view_same_residents(const cz_fact_pattern *a, const cz_fact_pattern *b);
/* Of the ranks that have a pattern and agree with `near` on all axes but those
 * of its home: the k-th, k < cz_view_n_residents. */
int64_t cz_view_resident_rank(const cz_plan_view *view, int pattern, int k,
                              int64_t near);
int cz_view_n_residents(const cz_plan_view *view, int pattern);
/* The name that a parameter has on a rank. */
const char *cz_view_name_at(const cz_plan_view *view, int param, int64_t rank);
/* The axes whose coordinates hold other elements of the pattern: those that
 * shard it and those that it is spread over, as a set. */
int64_t cz_view_distinct_set(const cz_plan_view *view, int pattern);
/* The axes of a set (bit a: axis a), in mesh order; storage of at least
 * mesh->axes.n entries is the caller's. */
cz_ints cz_view_axes_of(const cz_plan_view *view, int64_t set,
                        int64_t *storage);
/* The axes that users call so ("dp"), and those of a list, as sets; 0: none. */
int64_t cz_view_named_set(const cz_plan_view *view, const char *name);
int64_t cz_view_set_of(const cz_ints *axes);
/* How many coordinates a set of axes has. */
int64_t cz_view_set_extent(const cz_plan_view *view, int64_t set);
/* The axes a pattern is sharded over: as a set, and in mesh order. */
int64_t cz_view_shard_set(const cz_plan_view *view, int pattern);
int64_t cz_view_shard_set_of(const cz_ints *shard);
cz_ints cz_view_shard_axes(const cz_plan_view *view, int pattern,
                           int64_t *storage);
/* The shard of each of the pattern's parameters on a rank, and its elements
 * alone; of frozen patterns too. */
cz_view_shard cz_view_shard_of(const cz_plan_view *view,
                               const cz_view_pattern *pattern, int64_t rank);
/* Whether its shards may be of unequal length. */
bool cz_view_is_uneven(const cz_view_pattern *pattern);
int64_t cz_view_shard_elements(const cz_plan_view *view,
                               const cz_view_pattern *pattern, int64_t rank);
/* How many of `size` elements along one dimension are stored before element
 * `stored`; `map` is that dimension's base, block and stride. */
int64_t cz_view_before(const int64_t map[3], int64_t size, int64_t stored);
/* Elements of the shard that the owner of a matrix has itself; where all ranks
 * compute alike, of any one's. */
int64_t cz_view_owner_elements(const cz_plan_view *view, int param);
/* Whether the rank is the one that computes a matrix, in its row of replicas;
 * of a matrix that is shared, the first of those. */
bool cz_view_is_owner(const cz_plan_view *view, int param, int64_t rank);
/* Bytes that a stage's slots of one kind take for `count` elements: in order of
 * index, each rounded up to CZ_ALIGN_BYTES; offsets[index] (may be NULL) gets
 * each slot's start. */
enum { CZ_ALIGN_BYTES = 64 };
int64_t cz_view_slot_bytes(const cz_view_stage *stage, cz_slot_kind kind,
                           int64_t count, int64_t *offsets);
/* Bytes of one element in all of a list's slots of a kind. */
int64_t cz_view_element_bytes(const cz_view_slot *slots, int n,
                              cz_slot_kind kind);

#endif
