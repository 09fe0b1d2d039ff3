/* Which mesh?  A search over the meshes that a model's text can express, and
 * over the policies of its schedule, by the time of a simulated iteration
 * (dsl/SIMULATE.md).  Every candidate is a text: the source with other mesh and
 * schedule lines, compiled, planned and simulated as its own file would be. */
#ifndef CZ_FRONTEND_TUNE_TUNE_H
#define CZ_FRONTEND_TUNE_TUNE_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "frontend/names/below.h"
#include "passes/simulate/simulate.h"

/* Axes of a mesh, in the order of cz_mesh_name(). */
enum {
    CZ_TUNE_PP,
    CZ_TUNE_DP,
    CZ_TUNE_FSDP,
    CZ_TUNE_CP,
    CZ_TUNE_TP,
    CZ_TUNE_EDP,
    CZ_TUNE_EP,
    CZ_TUNE_ETP,
    CZ_TUNE_N_AXES
};

/* Clauses of the schedule that are chosen, too. */
enum {
    CZ_TUNE_GEOMETRY,
    CZ_TUNE_BUCKET,
    CZ_TUNE_LAYOUT,
    CZ_TUNE_FORM,
    CZ_TUNE_WIRE,
    CZ_TUNE_STRATEGY,
    CZ_TUNE_N_CLAUSES
};

typedef struct cz_tune_candidate {
    int64_t mesh[CZ_TUNE_N_AXES];
    const char *clauses[CZ_TUNE_N_CLAUSES]; /* "padded"; NULL: the source's */
    int64_t bound_ps, bound_bytes;          /* no plan on this mesh is below */
    /* Of what was planned: */
    cz_simulate_times times;
    cz_simulate_model model;
    int64_t memory_bytes; /* of the fullest rank's plan and activations */
} cz_tune_candidate;

typedef struct cz_tune_options {
    const char *path;
    const cz_text *text; /* of the source */
    const char *const *defines;
    int n_defines;
    cz_allowed allowed;
    const char *compiler;
    int64_t n_ranks, memory_bytes; /* 0: as the source says, else 80 GB */
    cz_simulate_options simulate;  /* active -1: as the source says; no
                                    * machine: the source's */
    void (*progress)(const char *what, int done, int n); /* or NULL */
} cz_tune_options;

enum { CZ_TUNE_BEST = 10 };

/* Everything belongs to the arena. */
typedef struct cz_tune_result {
    const char *machine;
    bool is_known[CZ_TUNE_N_AXES]; /* the source's model has the axis */
    bool has_experts, is_default_memory;
    int64_t n_ranks, memory_bytes;
    cz_simulate_options simulate; /* as they were used */
    int n_meshes; /* that divide the ranks and the model; of these */
    int n_short, n_full, n_slow; /* have replicas without a whole sequence; are
                                  * above the memory; above the best */
    int n_planned,
        n_refused; /* candidates; without a plan, or with too much memory
                    */
    int n_best;    /* the quickest of each mesh, in order */
    const cz_tune_candidate *best;
    int n_candidates; /* all that have a plan, for a picture */
    const cz_tune_candidate *candidates;
    const char *text; /* of the first of the best */
} cz_tune_result;

/* False after reporting: the source is wrong, or no mesh is feasible. */
bool cz_tune(cz_arena *arena, const cz_tune_options *options, cz_diags *diags,
             cz_tune_result *out);

/* "dp 32 x tp 8", the axes that are not 1. */
const char *cz_tune_mesh_text(cz_arena *arena, const int64_t *mesh);
/* "geometry padded, bucket 100M"; "" where all is the source's. */
const char *cz_tune_clauses_text(cz_arena *arena, const char *const *clauses);

void cz_tune_screen(cz_arena *arena, const cz_tune_result *result,
                    cz_text *out);
/* By tests/tune/tune.schema.json. */
void cz_tune_json(cz_arena *arena, const cz_tune_result *result, cz_text *out);

#endif
