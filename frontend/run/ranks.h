/* Executing a loaded program on the ranks of a threads world, or of one GPU in
 * loop-back, with gradients that do not depend on the mesh, and collecting what
 * came out. */
#ifndef CZ_FRONTEND_RUN_RANKS_H
#define CZ_FRONTEND_RUN_RANKS_H

#include "dsl/plan/plan.h"

#include "runtime/czr_cuda.h"

typedef struct cz_run_request {
    const cz_plan_view *view;
    const czr_program *program;
    const czr_cuda_program *cuda; /* of a GPU's run */
    struct cz_run_gpu *gpu;       /* the caller's, open; NULL: threads */
    uint64_t seed;
    int steps, microbatches; /* of one step, over all ranks */
    int64_t deadline_ms;     /* of one wait; 0: the runtime's */
    bool late_device;
    bool planted; /* tests: the naive reduction, to be found out */
    /* called by rank 0 after each step; may be NULL */
    void (*progress)(int step, const czr_result *result, void *user);
    /* called when a GPU's ranks are open, with lines for a log; may be NULL */
    void (*say)(void *user, const char *line);
    void *user;
} cz_run_request;

/* One whole tensor after the run: a parameter or one state of it. */
typedef struct cz_run_tensor {
    const char *name;  /* of the parameter */
    const char *state; /* NULL: the parameter itself */
    int64_t n_bytes;
    unsigned char *bytes;
} cz_run_tensor;

typedef struct cz_run_result {
    int n_tensors;
    cz_run_tensor *tensors; /* parameters first, then states in rule order */
    int *first_tensor;      /* [n_params] the parameter at the first coordinate
                             * of its spread; the others follow */
    int64_t replica_mismatches; /* bytes that differ between replicas */
    czr_result last;
    double *norms;        /* [steps] */
    double seconds;       /* wall time of all steps, on rank 0 */
    double first_seconds; /* of the first of them */
    int graphs;           /* that a GPU has of steps behind the first */
    bool is_unopened;     /* what failed is opening a GPU's ranks */
    /* per rank, over all steps */
    int64_t *updates;         /* [n_ranks * n_params] */
    int64_t *whole;           /* [n_ranks * n_params] */
    int64_t *sent, *received; /* [n_ranks * n_ops] */
    int64_t *peak_scratch;    /* [n_ranks] */
    int64_t allocations;      /* inside steps, all ranks */
    char error[512];          /* of the rank that failed first */
} cz_run_result;

/* What a gradient leaf is times the sum of its microbatches: their mean where
 * it stands for several, such that the reduction gives the mean of all. */
double cz_run_leaf_scale(const cz_plan_view *view,
                         const cz_fact_reduction *reduction,
                         int64_t microbatches);

/* Results live in the arena.  On failure result->error says what happened. */
czr_status cz_run_ranks(const cz_run_request *request, cz_arena *arena,
                        cz_run_result *result);

#endif
