/* A plan built, loaded and run on the ranks of this machine: on threads, or all
 * of them on one GPU in loop-back, or one of them in a world of processes,
 * which may each have a GPU; with gradients that do not depend on the mesh; and
 * what came out, collected and compared. */
#ifndef CZ_FRONTEND_RUN_RUN_H
#define CZ_FRONTEND_RUN_RUN_H

#include "codegen/emit.h"
#include "dsl/base/diag.h"
#include "dsl/plan/plan.h"
#include "frontend/document/tensors.h"
#include "runtime/cuda/driver/cache.h"
#include "runtime/cuda/driver/context.h"
#include "runtime/cuda/library/nvrtc.h"
#include "runtime/czr_cuda.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ---- from a plan to a program in this process: emit C, compile, load ---- */

typedef struct cz_loaded {
    void *library; /* dlopen handle; NULL: nothing loaded */
    const czr_program *program;
    const czr_cuda_program *cuda; /* NULL: it is the host's alone */
} cz_loaded;

/* Emit the plan into a fresh private folder, compile it with $CC (else cc)
 * without a shell, load it, and remove the folder.  Reports what fails. */
bool cz_loaded_open(const cz_plan_view *view, const char *plan_hash,
                    cz_diags *diags, cz_loaded *out);
/* The same for a GPU, with NAME_cuda.c. */
bool cz_loaded_open_cuda(const cz_plan_view *view, const char *plan_hash,
                         cz_diags *diags, cz_loaded *out);
void cz_loaded_close(cz_loaded *loaded);

/* Flags that generated C wants, for --print-cflags. */
extern const char *const cz_program_cflags[];

/* A line for each library: linked, found on this machine, or why not. */
void cz_found_print(FILE *out);

/* ---- the GPU of a run, and what drives it and compiles for it ---- */

typedef struct cz_run_gpu {
    czr_driver *driver;
    czr_context *context;
    czr_nvrtc *nvrtc;
    czr_cache *cache;      /* of the user's own; NULL without memory */
    void *copier;          /* stream: tensors to the GPU and back */
    unsigned char *buffer; /* of the host: a tensor on its way */
    size_t buffer_bytes;
} cz_run_gpu;

/* GPU `number` of those that the driver shows, counted on from the first behind
 * the last, and libraries where the loader finds them.  Reports what is not
 * there, and a GPU that runs other code than the target's; nothing is held
 * then. Processes of a machine that have one GPU are hosts of their own to
 * NCCL, which gives each process of a host a GPU. */
bool cz_run_gpu_open(const char *target, int number, cz_diags *diags,
                     cz_run_gpu *out);
void cz_run_gpu_close(cz_run_gpu *gpu);

/* At least so many bytes of the host's, until it is asked again; NULL without
 * memory. */
unsigned char *cz_run_gpu_buffer(cz_run_gpu *gpu, size_t bytes);
/* Between the two, in either direction, waited for. */
czr_status cz_run_gpu_copy(cz_run_gpu *gpu, void *to, const void *from,
                           size_t bytes);

/* ---- ranks ---- */

typedef struct cz_run_request {
    const cz_plan_view *view;
    const czr_program *program;
    const czr_cuda_program *cuda; /* of a GPU's run */
    struct cz_run_gpu *gpu;       /* the caller's, open; NULL: the host */
    czr_world *world; /* this process is a rank of it; NULL: it has all */
    /* NAME: what a parameter begins with; NAME#grad: its gradient in each step,
     * or, with a dimension in front, that of each microbatch; NAME#EXTERN.  All
     * are there, of the plan's shapes and types.  NULL: drawn from the seed. */
    const cz_tensors *given;
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
    cz_dtype dtype;
    int n_dims;
    const int64_t *shape;
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
    int64_t *full_matrix;     /* [n_ranks * n_params] */
    int64_t *sent, *received; /* [n_ranks * n_ops] */
    int64_t *peak_scratch;    /* [n_ranks] */
    int64_t allocations;      /* inside steps, all ranks */
    char error[512];          /* of the rank that failed first */
} cz_run_result;

/* Results live in the arena; of a world of processes, all ranks have them, but
 * norms and times, which are rank 0's.  On failure result->error says what
 * happened. */
czr_status cz_run_ranks(const cz_run_request *request, cz_arena *arena,
                        cz_run_result *result);

/* ---- values: a counter-based generator, the same on any mesh ---- */

/* What a value belongs to.  Initial parameters have microbatch and step -1,
 * externs microbatch -1. */
typedef struct cz_sample {
    uint64_t seed;
    uint64_t tensor; /* of its name */
    int64_t microbatch, step;
} cz_sample;

uint64_t cz_sample_tensor(const char *name);
uint64_t cz_sample_extern(const char *param, const char *name);

/* Standard normal values of elements [first, first + n) of the whole tensor
 * (row-major), as f32 with full mantissa.  Marsaglia's polar method on
 * SplitMix64 hashes of the counter. */
void cz_sample_fill(const cz_sample *sample, int64_t first, int64_t n,
                    float *out);

/* ---- values: what a run gives its ranks, not rounded yet ---- */

/* Elements [first, first + n) of a parameter at the start. */
void cz_run_initial(const cz_run_request *request, const char *param,
                    int64_t first, int64_t n, float *out);
/* The same of one of the gradients that all ranks have of it together, which is
 * the sum of its microbatches, or their mean where the reduction wants that,
 * such that it gives the mean of all.  `param` is of the view; `scratch` has n
 * elements. */
void cz_run_gradient(const cz_run_request *request, int param, const char *name,
                     int step, int64_t gradient, int64_t first, int64_t n,
                     float *scratch, float *out);
/* An extern at a step, all of its n elements; drawn, they are absolute values
 * of normal ones, so that they have roots and logarithms. */
void cz_run_extern(const cz_run_request *request, const char *param,
                   const char *name, int step, int64_t n, float *out);

/* ---- states of a step, beside what the interpreter makes of them ---- */

typedef struct cz_run_state {
    int64_t rows, columns;
    const double *got;  /* [rows, columns]: the run's */
    const double *want; /* the interpreter's */
    double rounding;    /* norm of what rounding may add to that;
                         * infinite: it may leave nothing of it */
} cz_run_state;

/* Whether state k of n is what it ought to be, all relative to `bound`:
 *
 *   no further from the interpreter's than that and, where this is no basis,
 *   its spread; or
 *   if it is symmetric and its spread a tenth of it, as of a root of a singular
 *   matrix: instead, S^-4 no further from the interpreter's than that; or
 *   a basis: columns orthonormal in both, and what is beside the diagonal of
 *   Q' S Q as large for the run's Q as for the interpreter's, for each state S
 *   that is symmetric and of that size.  Signs, and what stands for a null
 *   space, are anybody's; or
 *   of the interpreter's norm, or the same but for signs if it is symmetric,
 *   where some state is such a basis and no nearer: moments that were turned to
 *   bases of their own. */
bool cz_run_state_agrees(const cz_run_state *states, int n, int k,
                         double bound);

#endif
