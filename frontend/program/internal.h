/* What the front end finds out about a program, and its way into the IR.
 * Private to frontend/program. */
#ifndef CZ_FRONTEND_PROGRAM_INTERNAL_H
#define CZ_FRONTEND_PROGRAM_INTERNAL_H

#include "dsl/ir/ir.h"
#include "dsl/vocab/dtype.h"
#include "dsl/vocab/facts.h"
#include "frontend/model/model.h"
#include "frontend/names/eval.h"
#include "frontend/names/options.h"
#include "frontend/program/compile.h"
#include "frontend/program/machine.h"
#include "frontend/rule/rule.h"

/* ---- the schedule block ---- */

/* A policy's `active` where all experts work on each token. */
enum { CZ_ALL_ACTIVE = 1000000 };

/* The schedule block: what is reduced, kept, clipped and cut, and how. */

/* How some gradients arrive. */
typedef struct cz_grads {
    const cz_node *node;  /* the clause; NULL: the default */
    const cz_node *paths; /* for which; NULL: all others */
    cz_dtype dtype;       /* f32 or bf16 */
    int64_t axes;         /* partial over these pieces of the mesh */
    bool sum, reduced;
} cz_grads;

/* Shards laid over an architecture. */
typedef struct cz_shards {
    const cz_node *node;  /* the clause; NULL: none without a path */
    const cz_node *paths; /* for which; NULL: all others */
    int over;             /* CZ_CHUNK_TP or CZ_CHUNK_FSDP */
    int dim;              /* stored */
    int64_t axes;         /* pieces of the mesh */
    bool chunk;           /* ceil-chunks; else it must divide */
} cz_shards;

typedef struct cz_policy {
    cz_fact_policy fact; /* arrays live in the arena */
    cz_grads *grads;     /* the first is that of all others */
    int n_grads;
    int64_t split;       /* pieces that states are split over */
    cz_span master_none; /* `master none`; source is NULL when not written */
    bool strict;
    cz_shards *shards; /* those of all others come first, one an axis */
    int n_shards;
    cz_pipeline pipeline;
} cz_policy;

/* From the SCHEDULE statement of the main file, or the defaults where it, or
 * a clause of it, is missing: gradients f32 and partial over dp and cp,
 * averaged; master and state f32 and split over dp; buckets of 400M elements;
 * no clipping.  False after reporting. */
bool cz_policy_build(const cz_node *file, const cz_mesh *mesh,
                     const cz_options *options, cz_env *globals,
                     cz_diags *diags, cz_policy *out);
/* What -D may set of it. */
void cz_policy_allow(cz_options *options);

/* ---- between the files of policy ---- */

typedef struct cz_clauses {
    cz_policy *policy;
    const cz_mesh *mesh;
    cz_env *env;
    cz_diags *diags;
    const cz_node *seen[CZ_AST_N_KINDS];
    bool failed;
} cz_clauses;

/* Reports "`what` not supported yet". */
void cz_clause_unsupported(cz_clauses *c, cz_span span, const char *what);
void cz_clause_repeated(cz_clauses *c, const cz_node *node,
                        const cz_node *before);
/* Whether it is one of `words`; what is not is reported. */
bool cz_clause_check_word(cz_clauses *c, const cz_node *node, const char *word,
                          const char *const *words, int n);
/* The enum of a word of the vocabulary; one that it lacks is reported. */
bool cz_clause_choice(cz_clauses *c, const cz_node *node, const char *word,
                      cz_vocabulary vocabulary, int *choice);
/* Pieces of the mesh.  `of_data`: axes that hold replicas of every dense
 * parameter. */
int64_t cz_clause_axes(cz_clauses *c, const cz_node *node, bool of_data);
/* The type that a clause names; with `narrow` it may be bf16. */
cz_dtype cz_clause_dtype(cz_clauses *c, const cz_node *node, const char *what,
                         bool narrow);

/* ---- use statements ---- */

/* Use statements: which optimizer with which arguments, as a named group. */

typedef struct cz_use {
    const cz_node *node; /* USE */
    cz_rule_use rule;
    cz_rule_signature signature;
    int64_t tile; /* rows and columns of its tiles (tile.h); 0: not cut */
    bool matches; /* some parameter's name and condition */
    bool taken;   /* some parameter follows it */
    bool broken;  /* reported: what depends on it stays silent */
} cz_use;

typedef struct cz_uses {
    cz_use *list; /* in the order of the text, in which they are tried */
    int n;
} cz_uses;

/* The main file's use statements with their optimizers; one with an index is a
 * use for each of its values, in order.  Unknown optimizers, groups of one name
 * and paths with other indices are reported; such uses are marked broken. */
void cz_uses_find(cz_scope *scope, const cz_node *file, cz_env *globals,
                  cz_diags *diags, cz_uses *out);
/* The formals of each group's optimizer are what -D can set. */
void cz_uses_allow(const cz_uses *uses, cz_options *options);
/* Apply -D options and ask for the signatures; a use that is wrong is marked
 * broken. */
void cz_uses_bind(cz_uses *uses, const cz_options *options, bool clip,
                  cz_diags *diags);

/* ---- which parameter follows which use ---- */

/* Which parameter follows which use.  Families are split where a path tells
 * their members apart, never expanded. */

/* One part of fused storage, or a tensor as it is. */
typedef struct cz_choice {
    cz_pattern pattern; /* as stored: some members of a pattern of the model */
    cz_storage_view view; /* of the view that its use chose */
    int use;
    int grads;   /* of the policy */
    int members; /* parts of the same members have one number */
} cz_choice;

typedef struct cz_choices {
    cz_choice *list; /* in the order of the model's patterns */
    int n;
} cz_choices;

/* The first use that matches takes a parameter, and the last
 * `grads ... on` clause.  Reports paths that match
 * nothing, parameters that no use covers, uses whose matches were all taken
 * (a warning) and optimizers for another number of dimensions.  `model_place`
 * is where the program names its model. */
void cz_choose(const cz_model *model, cz_uses *uses, const cz_policy *policy,
               const cz_mesh *mesh, cz_span model_place, cz_env *globals,
               cz_diags *diags, cz_choices *out);

/* Tiles: matrices of their own that a view cuts a matrix to, along rows and
 * columns alike. */

/* The rows and columns of the tiles that each use asks for, into use->tile; 0
 * where it asks for none.  Uses whose number is no size, or whose optimizer is
 * not for matrices, are reported and marked broken. */
void cz_tiles_read(cz_uses *uses, cz_env *globals, cz_diags *diags);
/* How many tiles of this size the part's rows and columns are cut to, as the
 * optimizer sees them: 1, 1 of what is no larger, or is no matrix. */
void cz_tile_grid(const cz_pattern *pattern, cz_storage_view view, int64_t tile,
                  int64_t grid[2]);
/* Whether each tile's rows are whole repetitions of a joined piece, or lie in
 * one of them: a piece's map (dsl/vocab/facts.def) says no other. */
bool cz_tile_is_mapped(const cz_pattern *pattern, cz_storage_view view,
                       int64_t tile);

/* `shard dim E over fsdp`, or over tp: one dimension of each tensor is cut over
 * an axis of its own, inside the shards that the architecture's axes leave of
 * it, fsdp inside those of tp: to equal parts, or, with `chunk`, as torch does:
 * ceil(n / N) elements to each of the first ranks, then a shorter shard, then
 * none.  FSDP cuts experts over what their own axes leave of fsdp. */

/* Cut all patterns that the clauses match and that have the dimension.  False
 * after reporting one that cannot be cut so, or a path that matches nothing. */
bool cz_chunk_model(const cz_policy *policy, const cz_mesh *mesh,
                    cz_arena *arena, cz_diags *diags, cz_model *model);
/* Warns of an axis fsdp, tp or ep over which nothing is cut. */
void cz_chunk_warn(const cz_model *model, const cz_mesh *mesh, cz_diags *diags);
/* The first stored element along dimension `d`, and the end, of the shard that
 * has `coordinate` over the axes which cut it. */
void cz_chunk_shard(const cz_mesh *mesh, const cz_pattern *pattern, int d,
                    int64_t coordinate, int64_t shard[2]);

/* Which ranks have a pattern: its stages, and, where paths tell apart what
 * ranks share out, those that hold this part of it. */

/* The coordinates over *axes, a set of pieces of the mesh, of the ranks that
 * have it, as in the fact; none, and no axes, where all have. */
cz_ints cz_residents_find(cz_arena *arena, const cz_mesh *mesh,
                          const cz_pattern *pattern, int64_t *axes);

/* How gradients of a pattern are reduced: what the clauses of the schedule and
 * the mesh make of it. */

typedef struct cz_reduction {
    int64_t reduce, split; /* sets of pieces of the mesh */
    cz_dtype dtype;
    int64_t n_grads, divisor; /* as in the fact */
} cz_reduction;

/* For a choice.  Experts reduce and split over edp, and are divided by as many
 * terms as the dense parameters.  Strict mode sums all microbatches as leaves,
 * in one order that no mesh changes.  False after reporting. */
bool cz_reduction_find(const cz_compile_options *options, const cz_mesh *mesh,
                       const cz_policy *policy, bool strict,
                       const cz_choice *choice, cz_arena *arena,
                       cz_diags *diags, cz_reduction *out);
bool cz_reduction_equal(const cz_reduction *a, const cz_reduction *b);

/* Turns of the parameters whose rules have staggered events: a function of the
 * model and its uses alone, so that every mesh has the same. */

/* Adds a `turn` for each pattern of such a rule.  The module has its events,
 * and pattern i is that of choice i. */
void cz_stagger_emit(cz_ir *ir, cz_arena *arena, const cz_choices *choices);

/* ---- into the IR ---- */

typedef struct cz_compilation {
    const cz_compile_options *options;
    cz_scope *scope;
    const cz_source *config; /* the model's, or NULL */
    cz_mesh mesh;
    cz_policy policy;
    cz_uses uses;
    cz_machine_given machine;
    cz_model model;
    cz_choices choices;
} cz_compilation;

/* Add program, mesh, policy, uses, rules (each shape once) and patterns, in
 * the order of dsl/IR.md.  False after reporting. */
bool cz_emit(cz_ir *ir, const cz_compilation *compilation, cz_arena *arena,
             cz_diags *diags);

/* ---- names that nothing reads ---- */

/* Warns of lets, arguments, bindings and states of the user's files that change
 * nothing.  Where there are rules alone, others may read their lets. */
void cz_names_warn(cz_scope *scope, bool rules_alone, cz_diags *diags);

#endif
