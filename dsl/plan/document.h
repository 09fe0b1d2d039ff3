/* A plan as its JSON says it (tests/plan/plan.schema.json), in flat arrays:
 * what the simulator, the reports, the page, the trace and the comparison of
 * plans read.  Whoever fills it in has checked every number against the others.
 *
 * A set of axes has bit a for axis a of the mesh.  A coordinate over a set
 * counts row-major in mesh order; a rank is the coordinate over all axes.
 * Times are picoseconds, sizes bytes unless a name says otherwise.  -1 where a
 * plan has none of something. */
#ifndef CZ_DSL_PLAN_DOCUMENT_H
#define CZ_DSL_PLAN_DOCUMENT_H

#include "dsl/plan/metrics.h"
#include "dsl/vocab/dtype.h"

#include <stdbool.h>
#include <stdint.h>

/* Work of an element-wise stage is given for so many elements. */
#define CZ_DOCUMENT_ELEMENTS ((int64_t)1 << 20)

enum { CZ_DOCUMENT_DIMS = 3 };

typedef struct cz_document_axis {
    const char *name;
    int64_t size;
} cz_document_axis;

/* One kernel of a stage. */
typedef struct cz_document_step {
    bool is_product, symmetric;
    int64_t effort, launches;     /* of a factorisation, else 0 */
    cz_dtype dtype;               /* of a product's operands */
    int64_t rows, columns, inner; /* of a product */
    int64_t bytes;                /* read and written */
} cz_document_step;

/* What a stage does in another way than its formula says, of one matrix. */
typedef struct cz_document_rewrite {
    const char *name, *unit; /* "symmetric"; "flops" or "bytes" */
    int64_t count, before, after;
} cz_document_rewrite;

typedef struct cz_document_stage {
    const char *name;
    bool is_full_matrix; /* of one rank's matrices */
    bool is_shaped;   /* of those, or of a subgroup's; else element-wise: steps
                       * are of CZ_DOCUMENT_ELEMENTS elements */
    bool is_measured; /* its time */
    int64_t flops;    /* is_shaped: of one matrix, or of a rank's part of it;
                       * else of an element; of the costliest phase */
    int64_t time_ps;  /* is_shaped: of one matrix on the plan's machine, where
                       * `batch` equal ones are computed together */
    int64_t batch;
    /* Those of an operation are in batches, the last one of what is left; 0:
     * each is computed by itself, in time_ps. */
    int n_batches;           /* the largest */
    const int64_t *batch_ps; /* [n_batches] of 1, 2, ... matrices */
    int n_steps, n_rewrites;
    const cz_document_step *steps;
    const cz_document_rewrite *rewrites;
} cz_document_stage;

/* Who has something: ranks whose coordinate over `set` is one of these. */
typedef struct cz_document_residents {
    int64_t set; /* 0: every rank */
    int n;
    const int64_t *coordinates;
} cz_document_residents;

/* A trained or frozen parameter, or another name of one. */
typedef struct cz_document_param {
    const char *name, *dtype;
    const char *param_group, *optimizer; /* "" of a frozen one */
    const char *grad, *master;           /* types; "" of a frozen one */
    const char *shape;                   /* "8192 x 5120" */
    const char *layout;                  /* "8192/tp x 5120" */
    int n_dims;
    int64_t dims[CZ_DOCUMENT_DIMS]; /* as stored, on all ranks */
    int64_t cuts[CZ_DOCUMENT_DIMS]; /* sets of axes that shard each of them */
    int64_t expert_set;             /* axes along which ranks have others */
    const char *stages;             /* "0, 3"; "" where all have it */
    int64_t elements;               /* of one name, on all ranks */
    int n_names;                    /* on ranks that have others in its place */
    bool is_expert_partitioned;     /* there are such ranks */
    cz_document_residents residents;
    int bucket; /* -1: frozen */
} cz_document_param;

/* Another way that was looked at. */
typedef struct cz_document_candidate {
    const char *strategy, *why; /* why not; "" where it is not said */
    int64_t subgroup_size;
    int64_t time_ps;    /* of kernels on each of them; -1: not possible */
    int64_t wire_bytes; /* gather, sums and scatter, of all ranks; or -1 */
    bool is_measured;
} cz_document_candidate;

typedef struct cz_document_matrix {
    int param;
    int64_t rows, columns, batch, subgroup_size, micro_group;
    const char *strategy;
    int64_t split, shard; /* the owner's coordinates */
    int64_t stride;       /* of shard coordinates, from one of a subgroup to
                           * the next */
    int64_t flops, time_ps, wire_bytes;
    int n_candidates;
    const cz_document_candidate *candidates;
} cz_document_matrix;

typedef struct cz_document_state {
    const char *rule, *name;
    const char *shape; /* "48 x 1", as stored; "" that of the parameter */
    bool is_extern;
} cz_document_state;

typedef struct cz_document_reduction {
    const char *name;
    int64_t reduce_set, split_set;
    int64_t grad_bytes; /* of an element of all leaves of a rank */
} cz_document_reduction;

typedef struct cz_document_bucket {
    const char *param_groups, *dtype, *kind, *geometry;
    int reduction;
    int64_t element_bytes; /* of parameters */
    bool is_uneven;        /* slices of unequal length, as they are */
    bool is_padded;        /* slices travel as long as the longest */
    bool is_equal;         /* equal parts travel, and what of them is not in
                            * their ranks' slices once more each way */
    int64_t exchanged;     /* is_equal: the most elements of one part that are
                            * not in its slice, or of one slice not in its
                            * part */
    int message;           /* buckets of one message are reduced together */
    int64_t length;        /* elements */
    cz_document_residents residents;
    int n_params, n_slices;
    const int64_t *own; /* [n_slices] elements of each split coordinate */
    int64_t longest, shortest; /* of them */
} cz_document_bucket;

typedef struct cz_document_work {
    int stage;
    const int64_t *rows, *elements; /* by coordinate over the op's `over` */
} cz_document_work;

typedef struct cz_document_op {
    cz_step_kind kind;
    cz_section section;
    int stream;
    int bucket;       /* -1: none */
    int64_t comm;     /* set */
    cz_block block;   /* of positions over comm that are a communicator; of 0:
                       * all are */
    const char *axes; /* of comm: "dp x tp"; "" for none */
    int n_waits;
    const int64_t *waits;
    int64_t over; /* set */
    int n_work;
    const cz_document_work *work;
    const int64_t *sent, *received; /* bytes by coordinate; NULL: none */
    int64_t sent_bytes;             /* of all ranks */
} cz_document_op;

typedef struct cz_document_bound {
    const char *name, *of;        /* "links" or "kernels" */
    int64_t value, plan, witness; /* plan: its own; witness: a parameter */
    int64_t n_ranks, bytes;
    bool is_of_links;
    int n_admits;          /* 0: whatever plans do */
    const int64_t *admits; /* ranks that may share a matrix */
} cz_document_bound;

/* Parameters that travel together in a baseline. */
typedef struct cz_document_message {
    int reduction;
    int64_t elements, bytes; /* of parameters on a rank */
    cz_document_residents residents;
    int n_params, n_slices;
    const int64_t *params; /* [n_params] */
    const int64_t *own;    /* [n_slices] elements, as they travel */
} cz_document_message;

typedef struct cz_document_baseline {
    const char *name;
    int64_t bucket_elements; /* in buckets of so many */
    bool is_variant;         /* of one before it: in micro-groups, or in other
                              * buckets */
    bool is_grouped; /* its matrices travel, in micro-groups: what it executes
                      * are the variants of its name that follow */
    const int64_t *time_ps;     /* [n_ranks] the optimizer's compute */
    const int64_t *launches;    /* [n_ranks] of element-wise kernels beside
                                 * its matrices */
    const int64_t *state_bytes; /* [n_ranks] */
    bool all_reduces;           /* gradients go to every rank whole */
    bool gathers;               /* parameters come from their owners */
    bool is_exposed;            /* forward waits for all parameters */
    int n_messages;
    const cz_document_message *messages;
} cz_document_baseline;

typedef struct cz_document_constant {
    const char *name, *unit, *source;
    int64_t value; /* in the unit of dsl/vocab/machine.def */
    bool is_measured;
} cz_document_constant;

/* A way to cut matrices to micro-groups that was simulated. */
typedef struct cz_document_micro_groups {
    int64_t n, time_ps;
} cz_document_micro_groups;

/* What the document says of something by name, for comparisons alone. */
typedef struct cz_document_fact {
    const char *section, *name; /* "hypers", "matrices momentum" */
    const char *key;            /* both */
    const char *text;           /* "0.95"; of what is long a digest */
} cz_document_fact;

/* Members of the document that plans can differ in: all but its header. */
enum { CZ_DOCUMENT_N_MEMBERS = 20, CZ_DOCUMENT_DIGEST = 65 };

typedef struct cz_document {
    const char *name, *compiler, *source_hash, *plan_hash, *objective;
    bool is_strict;
    int n_axes, n_names, n_ranks;
    const cz_document_axis *axes;  /* their coordinates are a rank's */
    const cz_document_axis *names; /* as the source says them; experts' too */
    int64_t data_set; /* axes over which tokens are dealt out: dp, fsdp, cp */
    int64_t sequence_set, shard_set, pipeline_set,
        ep_set;           /* cp, fsdp, pp, ep */
    bool decides;         /* clips or skips */
    bool guards;          /* does not clip */
    int64_t tokens;       /* of an iteration, over all ranks */
    int64_t active;       /* millionths of experts that work on a token */
    int n_params, n_ties; /* params: names of ties stand behind */
    int n_constants, n_uneven_reduces, n_reductions, n_matrices, n_states;
    int n_stages, n_buckets, n_ops, n_bounds, n_baselines;
    int n_micro_groups;
    const cz_document_constant *constants;
    const cz_fact_uneven_reduce *uneven_reduces;
    const cz_document_reduction *reductions;
    const cz_document_param *params;
    const cz_document_matrix *matrices;
    const cz_document_state *states;
    const cz_document_stage *stages;
    const cz_document_bucket *buckets;
    const cz_document_op *ops;
    const cz_document_bound *bounds;
    const cz_document_baseline *baselines;
    const cz_document_micro_groups *micro_groups;
    int n_facts;
    cz_document_fact *facts;
    /* [n_ranks] each */
    const int64_t *time_ps, *flops, *n_updates, *memory[CZ_N_MEMORIES];
    const int64_t *sent[CZ_N_STEPS]; /* NULL of kinds that send nothing */
    /* that the trainer sends itself, of all ranks */
    int64_t trainer_gradient_bytes, trainer_parameter_bytes;
    bool has_longest; /* updates differ; whole matrices at the longest: */
    int64_t longest_ps, together_ps; /* of a rank; if all had one turn */
    /* SHA-256 of each part, hex; "" where nobody asked */
    char digests[CZ_DOCUMENT_N_MEMBERS][CZ_DOCUMENT_DIGEST];
} cz_document;

/* What follows from the bounds of a bucket's slices, [n_slices + 1] ascending,
 * besides its length and geometry: own, longest, shortest, exchanged and
 * is_uneven.  `own` has room for n_slices. */
void cz_document_measure_slices(cz_document_bucket *bucket,
                                const int64_t *bounds, int64_t *own);

/* How many ranks, or groups of ranks that hold the model together, work on
 * tokens of their own. */
int64_t cz_document_replicas(const cz_document *document);

#endif
