/* In which forms the matrices of a plan could be updated, and what each takes:
 * from rules, shards, schedule and machine alone, whatever the planner chose.
 * Bounds and candidates are made of this. */
#ifndef CZ_PASSES_BOUND_FORMS_H
#define CZ_PASSES_BOUND_FORMS_H

#include "passes/cost/plan_time.h"
#include "passes/cost/candidates.h"

/* Batches of 1, 2, 4, ... CZ_TIMED_BATCH equal matrices. */
enum { CZ_FORM_BATCHES = 5 };

/* Why ranks cannot share a matrix. */
typedef enum cz_form_obstacle {
    CZ_FORM_POSSIBLE,
    CZ_FORM_UNSHARDED, /* no ranks have parts of it */
    CZ_FORM_NO_CUT,    /* as cz_outline_status */
    CZ_FORM_PHASES,
    CZ_FORM_STATES,
    CZ_FORM_LENGTH,
    CZ_FORM_BLOCKS,
    CZ_FORM_N_OBSTACLES
} cz_form_obstacle;

/* Times in picoseconds, those of kernels of each rank for the whole batch. */
typedef struct cz_form {
    cz_subgroup_form form; /* owner, gram or shared */
    int64_t subgroup_size; /* ranks that share each matrix; 1: an owner */
    cz_form_obstacle obstacle;
    /* Of what is possible: */
    bool is_admitted; /* the schedule does not ask for another */
    int64_t time_ps[CZ_FORM_BATCHES];
    bool is_measured[CZ_FORM_BATCHES];
    int64_t link_ps;       /* one matrix: gather, sums, scatter of a rank */
    int64_t wire_bytes;    /* the same, sent by all ranks of its row */
    int64_t staging_bytes; /* the same, on a rank of the group */
} cz_form;

/* Matrices of one rule that are cut alike. */
typedef struct cz_form_class {
    int rule, first_pattern;
    int64_t n_shards;
    int64_t n_matrices;      /* of all patterns and places of their spread */
    int64_t n_of_rule;       /* likewise, of all classes of the rule */
    int n_batches;           /* as many as the rule has matrices for */
    cz_candidates_call call; /* of its stage; batches aside */
    int n_forms;             /* by group, the owner first.  Where no group is
                              * possible, one says why, of all that shard it */
    const cz_form *forms;
} cz_form_class;

typedef struct cz_forms {
    int n_classes;
    const cz_form_class *classes; /* in the order of their first patterns */
    const int *class_of;          /* [n_patterns]; -1: no owned matrix */
} cz_forms;

/* Of all owned matrices; lives in the arena. */
cz_forms cz_forms_find(cz_arena *arena, const cz_plan_view *view,
                       const cz_machine *machine);

/* Possible and admitted. */
bool cz_form_is_open(const cz_form *form);

/* The least over all admitted forms; `owner` times the rule's full_matrix
 * stage.  Work: rank-seconds of one matrix, as part of any batch.  Time: of
 * what a matrix is in, on each of *group ranks. */
int64_t cz_form_least_work(const cz_form_class *of, const cz_stage_time *owner);
int64_t cz_form_least_time(const cz_form_class *of, const cz_stage_time *owner,
                           int64_t *subgroup_size);
/* An owner's largest batch of a class with so many matrices in all. */
int cz_form_most_together(const cz_stage_time *owner, int64_t n_matrices);
/* [*n] all group sizes that some class admits, ascending; in the arena. */
int64_t *cz_forms_admitted(cz_arena *arena, const cz_forms *forms, int *n);
/* "a step needs elements of other ranks" */
const char *cz_form_obstacle_text(cz_form_obstacle obstacle);

#endif
