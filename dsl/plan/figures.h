/* The figures of a plan: flat arrays of what plan JSON says
 * (tests/plan/plan.schema.json), as far as a simulation needs it.  Whoever
 * fills them in has checked every number against the others.
 *
 * A set of axes has bit a for axis a of the mesh.  A coordinate over a set
 * counts row-major in mesh order; a rank is the coordinate over all axes.
 * Times are picoseconds. */
#ifndef CZ_DSL_PLAN_FIGURES_H
#define CZ_DSL_PLAN_FIGURES_H

#include "dsl/vocab/dtype.h"
#include "dsl/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* Work of an element-wise stage is given for so many elements. */
#define CZ_FIGURES_UNIT ((int64_t)1 << 20)

/* One kernel of a stage. */
typedef struct cz_figures_step {
    bool is_product, symmetric;
    int64_t effort, launches;     /* of a factorisation, else 0 */
    cz_dtype dtype;               /* of a product's operands */
    int64_t rows, columns, inner; /* of a product */
    int64_t bytes;                /* read and written */
} cz_figures_step;

typedef struct cz_figures_stage {
    bool is_whole; /* or shared; else element-wise: steps are of CZ_FIGURES_UNIT
                    * elements */
    int64_t time_ps; /* whole: of one matrix on the plan's machine, where
                      * `batch` equal ones are computed together */
    int64_t batch;
    int n_steps;
    const cz_figures_step *steps;
} cz_figures_stage;

/* Who has something: ranks whose coordinate over `set` is one of these. */
typedef struct cz_figures_home {
    int64_t set; /* 0: every rank */
    int n;
    const int64_t *coordinates;
} cz_figures_home;

/* A trained or frozen parameter; of a spread one, all of its names. */
typedef struct cz_figures_param {
    const char *name;
    int64_t elements; /* whole, of one name */
    int64_t n_names;
    bool is_spread;
    cz_figures_home home;
    int bucket; /* -1: frozen */
} cz_figures_param;

typedef struct cz_figures_reduction {
    int64_t reduce_set, split_set;
    int64_t leaf_bytes; /* of an element of all leaves of a rank */
} cz_figures_reduction;

typedef struct cz_figures_bucket {
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
    int64_t length;
    cz_figures_home home;
    int n_slices;
    const int64_t *own; /* [n_slices] elements of each split coordinate */
} cz_figures_bucket;

typedef struct cz_figures_work {
    int stage;
    const int64_t *rows, *elements; /* by coordinate over the op's `over` */
} cz_figures_work;

typedef struct cz_figures_op {
    cz_step_kind kind;
    cz_section section;
    int stream;
    int bucket;     /* -1: none */
    int64_t comm;   /* set */
    cz_block block; /* of positions over comm that are a communicator; of 0:
                     * all are */
    int n_waits;
    const int64_t *waits;
    int64_t over; /* set */
    int n_work;
    const cz_figures_work *work;
    const int64_t *sent, *received; /* bytes by coordinate; NULL: none */
} cz_figures_op;

typedef struct cz_figures_message {
    int64_t elements;
    int n_slices;
    const int64_t *own; /* [n_slices] */
} cz_figures_message;

typedef struct cz_figures_baseline {
    const char *name;
    const int64_t *time_ps; /* [n_ranks] the optimizer's compute */
    bool all_reduces;       /* gradients go to every rank whole */
    bool gathers;           /* parameters come from their owners */
    bool is_exposed;        /* forward waits for all parameters */
    int n_messages;         /* in the order of gradients */
    const cz_figures_message *messages;
} cz_figures_baseline;

typedef struct cz_figures_constant {
    const char *name;
    int64_t value; /* in the unit of dsl/vocab/machine.def */
} cz_figures_constant;

typedef struct cz_figures {
    const char *name, *plan_hash;
    int n_axes;
    int64_t sizes[CZ_VIEW_MAX_AXES];
    int n_ranks;
    int64_t data_set; /* axes over which tokens are dealt out: dp, fsdp, cp */
    bool decides;     /* clips or skips */
    int n_constants;
    const cz_figures_constant *constants;
    int n_uneven_reduces;
    const cz_fact_uneven_reduce *uneven_reduces;
    int n_stages;
    const cz_figures_stage *stages;
    int n_params;
    const cz_figures_param *params;
    int n_reductions;
    const cz_figures_reduction *reductions;
    int n_buckets;
    const cz_figures_bucket *buckets;
    int n_ops;
    const cz_figures_op *ops;
    int n_baselines;
    const cz_figures_baseline *baselines;
} cz_figures;

#endif
