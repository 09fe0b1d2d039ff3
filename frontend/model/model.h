/* A model: its mesh, the stages of its pipeline, and its parameters as
 * patterns, from its instance. */
#ifndef CZ_FRONTEND_MODEL_MODEL_H
#define CZ_FRONTEND_MODEL_MODEL_H

#include "dsl/base/diag.h"
#include "dsl/syntax/ast.h"
#include "dsl/vocab/dtype.h"
#include "frontend/names/config.h"
#include "frontend/names/eval.h"
#include "frontend/names/options.h"
#include "frontend/names/sources.h"

#include <stdbool.h>

/* ---- the mesh ---- */

/* The mesh: axes and sizes.  Rank numbers follow from the order: the last
 * axis is contiguous.
 *
 * Experts may factor the same ranks differently.  The mesh then consists of the
 * pieces that both factorings are made of, and every axis that the user names
 * is a set of pieces: dp = 4, tp = 2 with edp = 2, ep = 4 is dp.0 = 2 (edp),
 * dp.1 = 2 and tp = 2 (together ep). */

enum {
    CZ_MAX_AXES = 8,
    CZ_MAX_RANKS = 1 << 20,
    CZ_MAX_STAGES = 64,
    CZ_MAX_CHUNKS = 64 /* of a stage */
};

typedef struct cz_mesh {
    const char *axes[CZ_MAX_AXES]; /* the pieces, major to minor */
    int64_t sizes[CZ_MAX_AXES];
    int n;
    const char *names[CZ_MAX_AXES]; /* what the user calls them; dp is always
                                     * there, the experts' axes stand last */
    int64_t sets[CZ_MAX_AXES];      /* bit a: piece a */
    int n_names;
    bool has_experts; /* factored in a way of their own */
} cz_mesh;

/* The axes of the main file that -D can set. */
void cz_mesh_allow(const cz_node *file, cz_options *options);
/* From the MESH statements of the main file and -D options; `one_rank` makes
 * every axis 1.  What is wrong is reported; an axis whose size is wrong has
 * size 1. */
void cz_mesh_build(const cz_node *file, const cz_options *options,
                   bool one_rank, cz_env *globals, cz_diags *diags,
                   cz_mesh *out);
/* The pieces of an axis; false when the mesh does not have it.  Without a mesh
 * of their own, experts follow the dense axes: edp is dp, etp is tp, and ep is
 * no piece at all. */
bool cz_mesh_find(const cz_mesh *mesh, const char *axis, int64_t *set);
/* How many coordinates a set of pieces has. */
int64_t cz_mesh_extent(const cz_mesh *mesh, int64_t set);
/* A set of pieces in the user's words: "dp x tp". */
const char *cz_mesh_text(cz_arena *arena, const cz_mesh *mesh, int64_t set);
/* Name i of those that an axis may have, the experts' last; NULL behind them.
 */
const char *cz_mesh_name(int i);
/* Coordinates over pp; at most CZ_MAX_STAGES. */
int64_t cz_mesh_stages(const cz_mesh *mesh);
/* Make `inner`, in which axes are names of their sizes (1 where absent). */
void cz_mesh_bind(const cz_mesh *mesh, cz_env *outer, cz_env *inner);
/* Whether some mesh could have an axis of this name, the experts' too. */
bool cz_mesh_is_axis(const char *name);
bool cz_mesh_is_expert_axis(const char *name);

/* ---- patterns ---- */

/* Parameter patterns: parameters alike but for their indices, such as one
 * projection of all layers.  A pattern is a name with places for indices, a box
 * of index values, and one shape. */

enum { CZ_MAX_INDICES = 4, CZ_MAX_WORDS = 32, CZ_MAX_NDIM = 3 };

/* What the schedule may shard over, the inner axis last. */
enum { CZ_CHUNK_TP, CZ_CHUNK_FSDP, CZ_N_CHUNKS };

/* A dimension, cut inside the shards that other axes make of it. */
typedef struct cz_chunk {
    int64_t axes; /* pieces of the mesh; 0: not cut */
    int dim;
    bool ceil; /* to ceil-chunks, as torch does; else equally */
} cz_chunk;

/* One segment of the name: `text`, or, when that is NULL, index `index`. */
typedef struct cz_word {
    const char *text;
    int index;
} cz_word;

/* Rows [base, base + size) of each repetition. */
typedef struct cz_strip {
    const char *name;
    int64_t base, size;
} cz_strip;

/* What fused storage holds: n times `period` rows. */
typedef struct cz_blocks {
    int64_t n, period;
    int n_strips;
    const cz_strip *strips;
} cz_blocks;

typedef struct cz_pattern {
    const cz_word *words;
    int n_words;
    int64_t first[CZ_MAX_INDICES], extents[CZ_MAX_INDICES];
    int n_indices;
    int64_t shape[CZ_MAX_NDIM];  /* global, stored layout */
    int64_t stored[CZ_MAX_NDIM]; /* the same with padding */
    bool is_padded;              /* by the text, if by nothing on this mesh */
    int64_t shard[CZ_MAX_NDIM];  /* pieces of the mesh: bit a, axis a */
    int n_dims;
    cz_chunk chunks[CZ_N_CHUNKS]; /* each inside the one before it; their axes
                                   * are in `shard`, too */
    cz_dtype dtype;
    int64_t expert_axes;  /* pieces of the mesh whose coordinates hold other */
    int expert_index;     /* values of this index: coordinate c the c-th part */
    unsigned partitioned; /* bit i: index i is one that the text shares out over
                           * ranks, or counts a batch, of whatever mesh */
    int64_t held_axes;  /* pieces of the mesh; ranks at coordinate `held_at` */
    int64_t held_at;    /* over them have it.  0: all have */
    uint64_t residents; /* stages that have it: bit s, coordinate s over pp; 0
                         * where pp is 1, or nothing was said */
    bool expert;        /* sharded or spread over the experts' axes */
    bool folded;        /* the text has more dimensions: all behind the first
                         * lie in the rows of a matrix */
    bool transposed;    /* the optimizer sees the other order */
    bool frozen;        /* nobody trains it */
    const cz_blocks *blocks; /* storage of several matrices, or NULL */
    const cz_node *node;     /* PARAM, for messages */
} cz_pattern;

/* "model.layers.{0}.weight". */
const char *cz_pattern_name(cz_arena *arena, const cz_pattern *pattern);
/* The segments of one member's name; `index` has n_indices values. */
void cz_pattern_words(cz_arena *arena, const cz_pattern *pattern,
                      const int64_t *index, const char **words);
/* The first member's name. */
const char *cz_pattern_first_name(cz_arena *arena, const cz_pattern *pattern);
/* How many parameters; 0 when that does not fit. */
int64_t cz_pattern_count(const cz_pattern *pattern);
/* Whether the PATH matches the first `n` words of some member's name. */
bool cz_pattern_is_matched(const cz_pattern *pattern, const cz_node *path,
                           int n);
/* Elements of one parameter. */
int64_t cz_pattern_numel(const cz_pattern *pattern);
/* Alike in everything but the values of index `k`. */
bool cz_pattern_is_alike(const cz_pattern *a, const cz_pattern *b, int k);
/* Whether some name belongs to both. */
bool cz_pattern_overlaps(const cz_pattern *a, const cz_pattern *b);

/* `tie A = B`: more names for one parameter.  A is written like a parameter's
 * name, in its place; B is one whole name. */

typedef struct cz_tie {
    cz_pattern names;  /* A: words and indices alone; its node is the TIE */
    cz_pattern target; /* B: words alone, without indices */
} cz_tie;

/* B of a TIE node.  False after reporting: a tie means one parameter. */
bool cz_tie_target(cz_arena *arena, const cz_node *node, cz_diags *diags,
                   cz_pattern *target);
/* Whether the pattern has the parameter that the tie means; `index` (may be
 * NULL) gets its indices there. */
bool cz_tie_finds(const cz_tie *tie, const cz_pattern *pattern, int64_t *index);

/* ---- stages ---- */

/* Stages of a pipeline: which coordinates over pp have which parameters.
 *
 * `[i < n/pp]` deals the values of an index out, in order, to the chunks of the
 * clause `pipeline`; chunk k lives on stage k mod pp.  `stage E, ...` names
 * stages.  What is said nearest to a parameter counts.  Where pp is 1, both
 * mean nothing. */

/* The clause `pipeline`. */
typedef struct cz_pipeline {
    const cz_node *node;   /* PIPELINE; NULL: equal parts, one chunk a stage */
    const int64_t *layers; /* [n_chunks]; NULL: equal parts */
    int n_chunks;          /* of all stages; pp or a multiple of it */
    bool broken;           /* what is wrong with it was reported */
} cz_pipeline;

/* Values [first, first + extent) of an index live on stage `home`. */
typedef struct cz_run {
    int64_t first, extent;
    uint64_t residents; /* bit s: stage s; 0 where pp is 1 */
} cz_run;

typedef struct cz_runs {
    cz_run *list; /* ascending, none of them empty */
    int n;
} cz_runs;

/* Read the clause, or take the default where `node` is NULL.  False after
 * reporting. */
bool cz_pipeline_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                      cz_diags *diags, cz_pipeline *out);

/* Whether a bound deals its index out: `n/pp`, or `n/pp + m`, which has m
 * further values on the last stage. */
bool cz_stage_is_partitioned(const cz_node *bound);
/* Deal out.  False after reporting. */
bool cz_stage_partition(const cz_node *bound, const cz_pipeline *pipeline,
                        const cz_mesh *mesh, cz_env *env, cz_diags *diags,
                        int64_t high, cz_runs *out);

/* The stages that a STAGE node names, which is a child of `node`; *home stays
 * as it is where there is none, or pp is 1.  False after reporting. */
bool cz_stage_read(const cz_node *node, const cz_mesh *mesh, cz_env *env,
                   cz_diags *diags, uint64_t *residents);

/* ---- the instance ---- */

/* Which model a program is about, and the values of its formals: from the
 * configuration, the call's arguments, defaults and -D options. */

typedef struct cz_instance {
    const cz_node *model; /* MODEL */
    const cz_node *from;  /* MODEL_FROM, MODEL_CALL, or the MODEL itself */
    cz_env env;           /* formals, once bound */
    cz_config config;     /* source is NULL when there is none */
} cz_instance;

/* The one model that the main file instantiates: `model NAME from`,
 * `model NAME(args)`, or the only model that it defines.  False after
 * reporting. */
bool cz_instance_find(cz_scope *scope, const cz_node *file, cz_diags *diags,
                      cz_instance *out);
/* The formals are what -D can set. */
void cz_instance_allow(const cz_instance *instance, cz_options *options);
/* Give every formal its value: -D first, then the configuration or the
 * argument, then the default.  What is wrong is reported and the formal
 * poisoned, so that nothing more is said about it. */
void cz_instance_bind(cz_instance *instance, cz_scope *scope,
                      const cz_options *options, cz_env *globals,
                      cz_diags *diags);

/* Does the name end as those of a trainer's storage do: qwen3_megatron? */
bool cz_architecture_has_storage(const char *name);
/* The architecture of a model_type: that of its name, but for one whose
 * parameters are another's. */
const char *cz_architecture_of(const char *model_type);
/* The i-th model_type that has another's architecture; NULL behind the last. */
const char *cz_architecture_alias(size_t i);
/* May a configuration of this model_type give the architecture its values?  So
 * it may when that is its architecture, with a trainer's storage or without. */
bool cz_architecture_serves(const char *name, const char *model_type);

/* ---- the model ---- */

enum { CZ_MAX_PATTERNS = 4096, CZ_MAX_PARAMS = 1 << 20 };

typedef struct cz_model {
    cz_pattern *patterns; /* in the order of the text */
    int n;
    int64_t n_params, n_elements; /* frozen ones too; nothing for a tie */
    cz_tie *ties;
    int n_ties;
} cz_model;

/* Walk the model's params blocks, and say which stages have what.  An index
 * that nothing inside its braces reads stays symbolic; else its values are
 * walked one by one, and neighbours that come out alike are joined.  False
 * after reporting. */
bool cz_model_build(cz_instance *instance, const cz_mesh *mesh,
                    const cz_pipeline *pipeline, cz_diags *diags,
                    cz_model *out);

/* The pattern that is nearest to the path, counted in edits of characters,
 * with `*` and `**` free; the first of equals.  NULL for a model without
 * parameters. */
const cz_pattern *cz_suggest_pattern(cz_arena *arena, const cz_node *path,
                                     const cz_model *model);
/* Whether each of the PATHS, and each with any one alternative of its braces
 * alone, matches a parameter; with `frozen`, frozen
 * ones are some.  Reports what does not, with the nearest names. */
bool cz_paths_check(cz_arena *arena, cz_diags *diags, const cz_node *paths,
                    const cz_model *model, bool frozen);

/* ---- fused storage ---- */

/* Fused storage: what a stored tensor holds, and the parts that rules see.
 * Along the rows that an optimizer sees, a list of pieces repeats. */

/* Evaluate `pad(V, multiple)` to V and the next multiple of it; axes of the
 * mesh are names of their sizes there.  False after reporting. */
bool cz_pad_read(const cz_node *call, cz_env *env, const cz_mesh *mesh,
                 cz_diags *diags, int64_t *size, int64_t *stored);
/* The BLOCKS of a pattern whose shape is known, into pattern->blocks.  Sizes
 * must add up and names differ.  False after reporting. */
bool cz_blocks_build(const cz_node *node, cz_env *env, const cz_mesh *mesh,
                     cz_diags *diags, cz_pattern *pattern);

/* What a rule sees as one: the stored tensor (strip -1), a piece joined from
 * all repetitions (repeat -1), or one repetition of it; of a batch of matrices,
 * each one for itself; and of that a tile. */
typedef struct cz_storage_view {
    int strip;
    int64_t repeat;
    bool batch;    /* the first of three dimensions counts matrices */
    int64_t tile;  /* rows and columns of a tile, the last ones less; 0: all */
    int64_t at[2]; /* the tile's row and column among the tiles */
} cz_storage_view;

/* The whole tensor, without padding. */
cz_storage_view cz_storage_view_all(void);
/* The stored dimension that the optimizer sees as rows (0) or columns (1) of a
 * matrix, or of each one of a batch. */
int cz_matrix_dim(const cz_pattern *pattern, int k);
bool cz_storage_view_equal(const cz_storage_view *a, const cz_storage_view *b);
/* The pattern as a rule sees the part: its shape, and no blocks.  A batch has
 * one index more, its last; ranks that cut the batch share out its values. */
cz_pattern cz_storage_view_pattern(const cz_pattern *pattern,
                                   cz_storage_view view);
/* Whether that is the tensor as the trainer holds it. */
bool cz_storage_view_is_stored(const cz_pattern *pattern, cz_storage_view view);
/* What tells its name from the stored tensor's: "", "[q]", "[q.3]",
 * "[unpadded]", and in a batch "[{1}]", "[{1}.q]", "[{1}.q.3]"; of a tile
 * "[0,1]", "[q.0,1]", "[q.3.0,1]" and so on. */
const char *cz_storage_view_suffix(cz_arena *arena, const cz_pattern *pattern,
                                   cz_storage_view view);
/* Base, block and stride of each stored dimension (dsl/vocab/facts.def, piece).
 */
void cz_storage_view_map(const cz_pattern *pattern, cz_storage_view view,
                         int64_t map[CZ_MAX_NDIM][3]);

#endif
