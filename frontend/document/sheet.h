/* A plan as people look at it: what the page, the explanation and the
 * comparison of plans show, read back from plan JSON
 * (tests/plan/plan.schema.json). What a simulation needs besides is in
 * dsl/plan/figures.h.
 *
 * Times are picoseconds, sizes bytes unless a name says otherwise.  -1 where a
 * plan has none of something. */
#ifndef CZ_FRONTEND_DOCUMENT_SHEET_H
#define CZ_FRONTEND_DOCUMENT_SHEET_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/plan/metrics.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cz_sheet_axis {
    const char *name;
    int64_t size;
} cz_sheet_axis;

/* "" for the group and optimizer of a frozen one. */
typedef struct cz_sheet_param {
    const char *name, *dtype, *group, *optimizer;
    const char *shape; /* "8192 x 5120" */
    int64_t elements;  /* of one name */
    int n_names;       /* on ranks that have others in its place */
    int bucket;
    bool is_tied;
} cz_sheet_param;

/* Another way that was looked at. */
typedef struct cz_sheet_candidate {
    const char *strategy, *why; /* why not; "" where it is not said */
    int64_t group_size, time_ps, wire_bytes; /* -1: not possible */
    bool is_measured;
} cz_sheet_candidate;

typedef struct cz_sheet_matrix {
    int param;
    int64_t rows, columns, batch, group_size, micro_group;
    const char *strategy;
    int64_t split, shard; /* the owner's coordinates */
    int64_t flops, time_ps, wire_bytes;
    int n_candidates;
    const cz_sheet_candidate *candidates;
} cz_sheet_matrix;

typedef struct cz_sheet_bucket {
    const char *groups, *reduction, *dtype, *kind, *geometry;
    int64_t length; /* elements */
    int n_params, n_slices;
    int64_t longest, shortest; /* slices, elements */
} cz_sheet_bucket;

typedef struct cz_sheet_state {
    const char *rule, *name;
    const char *shape; /* "48 x 1", as stored; "" that of the parameter */
    bool is_extern;
} cz_sheet_state;

/* What a stage does in another way than its formula says, of one matrix. */
typedef struct cz_sheet_rewrite {
    const char *name, *unit; /* "symmetric"; "flops" or "bytes" */
    int64_t count, before, after;
} cz_sheet_rewrite;

typedef struct cz_sheet_stage {
    const char *name;
    int64_t batch, time_ps;
    bool is_whole, is_measured;
    int n_rewrites;
    const cz_sheet_rewrite *rewrites;
} cz_sheet_stage;

typedef struct cz_sheet_op {
    const char *kind, *section;
    const char *axes; /* "dp x tp"; "" for none */
    int bucket;
    int stage;          /* that it runs first; -1: none */
    int64_t sent_bytes; /* of all ranks */
} cz_sheet_op;

typedef struct cz_sheet_constant {
    const char *name, *unit, *source;
    int64_t value;
    bool is_measured;
} cz_sheet_constant;

typedef struct cz_sheet_bound {
    const char *name;
    bool is_of_links;             /* else of kernels */
    int64_t value, plan, witness; /* plan: its own; witness: a parameter */
    int64_t n_ranks, n_items, bytes;
    int n_admits;          /* 0: whatever plans do */
    const int64_t *admits; /* ranks that may share a matrix */
} cz_sheet_bound;

/* A geometry of slices that the planner compared. */
typedef struct cz_sheet_option {
    const char *name;
    int64_t load_ps, wire_ps;
    bool is_kept; /* the cap on state is */
    int64_t best_ps,
        worst_ps;       /* predicted, over what uneven slices may reach */
    int64_t break_even; /* thousandths of the link's rate at which uneven slices
                         * take as long as this geometry; -1: at none, or these
                         * are the uneven ones */
} cz_sheet_option;

/* What it chose for buckets that were planned together. */
typedef struct cz_sheet_geometry {
    const char *chosen;
    int n_buckets;
    int64_t low, high; /* thousandths that uneven slices reach */
    int n_options;
    const cz_sheet_option *options;
} cz_sheet_geometry;

/* A way to cut matrices to micro-groups that was simulated. */
typedef struct cz_sheet_grouping {
    int64_t n_groups, time_ps;
} cz_sheet_grouping;

typedef struct cz_sheet_baseline {
    const char *name;
    const int64_t *time_ps, *state_bytes; /* [n_ranks]; NULL: not said */
} cz_sheet_baseline;

/* Members of the document that plans can differ in: all but its header. */
enum { CZ_SHEET_N_PARTS = 18, CZ_SHEET_DIGEST = 65 };
extern const char *const cz_sheet_parts[CZ_SHEET_N_PARTS];

typedef struct cz_sheet {
    const char *name, *compiler, *source_hash, *plan_hash, *objective;
    bool is_strict;
    int n_axes, n_names, n_ranks;
    const cz_sheet_axis *axes;  /* their coordinates are a rank's */
    const cz_sheet_axis *names; /* as the source says them; experts' too */
    int n_params, n_matrices, n_states, n_buckets, n_stages, n_ops;
    const cz_sheet_param *params;
    const cz_sheet_matrix *matrices;
    const cz_sheet_state *states;
    const cz_sheet_bucket *buckets;
    const cz_sheet_stage *stages;
    const cz_sheet_op *ops;
    /* [n_ranks] each */
    const int64_t *time_ps, *flops, *n_whole, *memory[CZ_N_MEMORIES];
    const int64_t *sent[CZ_N_STEPS]; /* NULL of kinds that send nothing */
    /* that the trainer sends itself, of all ranks */
    int64_t trainer_gradient_bytes, trainer_parameter_bytes;
    bool has_longest; /* updates differ; whole matrices at the longest: */
    int64_t longest_ps, together_ps; /* of a rank; if all had one turn */
    int n_bounds, n_baselines, n_constants, n_geometries, n_groupings;
    const cz_sheet_bound *bounds;
    const cz_sheet_baseline *baselines;
    const cz_sheet_constant *constants;
    const cz_sheet_geometry *geometries;
    const cz_sheet_grouping *groupings;
    /* SHA-256 of each part, hex */
    char digests[CZ_SHEET_N_PARTS][CZ_SHEET_DIGEST];
} cz_sheet;

/* False after reporting the first thing that is no plan.  `name` is that of
 * the document in messages.  Everything belongs to the arena. */
bool cz_plan_sheet_read(cz_arena *arena, const char *name, const cz_text *text,
                        cz_diags *diags, cz_sheet *out);

/* The busiest rank's time; the largest bound of it, and of a step by itself,
 * links included.  NULL without any. */
int64_t cz_sheet_time(const cz_sheet *sheet);
const cz_sheet_bound *cz_sheet_binding(const cz_sheet *sheet);
const cz_sheet_bound *cz_sheet_binding_step(const cz_sheet *sheet);

#endif
