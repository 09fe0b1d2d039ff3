/* Private to frontend/tune.
 *
 *   edit    the text of a candidate
 *   meshes  which there are, and what none of their plans is below
 *   search  plans and simulates
 *   report  a table, a picture, JSON */
#ifndef CZ_FRONTEND_TUNE_INTERNAL_H
#define CZ_FRONTEND_TUNE_INTERNAL_H

#include "frontend/program/compile.h"
#include "frontend/syntax/parse.h"
#include "frontend/tune/tune.h"

/* Word and words to choose from of a clause; the first is the default. */
typedef struct cz_tune_clause {
    cz_kind kind;
    const char *word;
    const char *choices[6]; /* NULL ends them */
} cz_tune_clause;

extern const cz_tune_clause cz_tune_clauses[CZ_TUNE_N_CLAUSES];

/* The source with this mesh and these clauses. */
void cz_tune_text(cz_arena *arena, const cz_source *source, const cz_node *file,
                  const cz_tune_candidate *candidate, bool has_experts,
                  cz_text *out);
/* What the source's own clause says; NULL: it says nothing. */
const char *cz_tune_clause_text(const cz_node *file, int clause);

/* A pattern at one value of its layers' index, on meshes of one pp. */
typedef struct cz_tune_param {
    cz_document_param param;           /* all but what a mesh says of it */
    int cut_by[CZ_DOCUMENT_DIMS];      /* axis; -1: none */
    bool is_sharded[CZ_DOCUMENT_DIMS]; /* over fsdp, too */
    bool is_expert;                    /* its experts lie along ep */
    uint64_t stages;                   /* 0: all */
} cz_tune_param;

typedef struct cz_tune_space {
    cz_arena *arena;
    const cz_tune_options *options;
    const cz_source *source;
    const cz_node *file;
    cz_compiled_model base; /* on one rank */
    cz_machine machine;
    cz_simulate_options simulate;
    int64_t memory_bytes;
    bool is_known[CZ_TUNE_N_AXES], has_experts;
    bool has_storage; /* storage of several matrices: what is kept of these is
                       * not known before a plan is there */
    int64_t *sizes[CZ_TUNE_N_AXES]; /* that divide ranks and model, ascending */
    int n_sizes[CZ_TUNE_N_AXES];
    struct cz_tune_stages {
        cz_tune_param *list;
        int n;
    } * params;                    /* of each size of pp */
    cz_tune_candidate *candidates; /* the result, by bound */
    int n_candidates;
    cz_tune_candidate *full; /* above the memory, by what they take at least */
    int n_full;
    int n_meshes, n_short;
    int64_t least_tokens; /* that some mesh would do with */
} cz_tune_space;

/* The model on some mesh, without plan; NULL where it cannot be. */
/* The model on one rank, and what the source says besides. */
bool cz_tune_read_base(cz_tune_space *space, cz_diags *diags);
/* Sizes, params and candidates.  False after reporting. */
bool cz_tune_find_meshes(cz_tune_space *space, cz_diags *diags);

#endif
