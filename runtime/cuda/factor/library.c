/* Factorisations by cuSOLVER.  The host waits twice: before, for whether the
 * step is skipped and the operands are finite, so that the library is given
 * neither; and after, for whether it came to an end: eigenvalues that do not
 * converge in f32 are sought once more in f64, for which there is room always.
 */
#include "runtime/cuda/factor/internal.h"

#include "runtime/math/factor.h"
#include "runtime/base/memory.h"

#include <stdio.h>

/* ---- room --------------------------------------------------------------- */

/* Where things lie in the call's room, behind what is said. */
typedef struct places {
    float *matrix; /* that the library works on; of EIGH, QR and ROOT */
    float *values; /* of ROOT; of QR: tau */
    float *scales; /* of ROOT; of QR: signs */
    size_t bytes;  /* behind them is the library's own room */
    /* Of EIGH and ROOT in f64, where that room was: what the library works on,
     * and again its own. */
    double *wide, *wide_values;
    size_t wide_bytes;
} places;

static float *take(unsigned char *base, size_t *bytes, size_t n)
{
    return czr_cuda_work_take(base, bytes, n * sizeof(float));
}

static bool has_eigenvalues(const czr_factor *f)
{
    return f->kind == CZR_FACTOR_EIGH || f->kind == CZR_FACTOR_ROOT;
}

static size_t least(const czr_factor *f)
{
    return f->m < f->n ? f->m : f->n;
}

/* base NULL: for the bytes alone. */
static places lay_out(unsigned char *base, const czr_factor *f)
{
    const bool is_qr = f->kind == CZR_FACTOR_QR;
    const bool is_root = f->kind == CZR_FACTOR_ROOT;
    const size_t order = is_qr ? least(f) : is_root ? f->n : 0;
    places p = {.bytes = CZR_CUDA_WORK_ALIGN};

    p.matrix =
        take(base, &p.bytes,
             is_qr || has_eigenvalues(f) ? (is_qr ? f->m : f->n) * f->n : 0);
    p.values = take(base, &p.bytes, order);
    p.scales = take(base, &p.bytes, order);
    p.wide_bytes = p.bytes;
    if (has_eigenvalues(f)) {
        p.wide = czr_cuda_work_take(base, &p.wide_bytes,
                                    f->n * f->n * sizeof(double));
        p.wide_values =
            czr_cuda_work_take(base, &p.wide_bytes, f->n * sizeof(double));
    }
    return p;
}

/* ---- while stages are opened -------------------------------------------- */

static bool is_solve(czr_factor_kind kind)
{
    return kind == CZR_FACTOR_SOLVE_LOWER || kind == CZR_FACTOR_SOLVE_LOWER_T ||
           kind == CZR_FACTOR_SOLVE_UPPER || kind == CZR_FACTOR_SOLVE_UPPER_T;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* False: not by the library. */
static bool ask_room(const czr_cusolver *library, const czr_factor *f,
                     czr_cusolver_workspace *out, czr_cusolver_workspace *wide)
{
    *out = *wide = (czr_cusolver_workspace){0, 0};
    switch (f->kind) {
    case CZR_FACTOR_EIGH:
    case CZR_FACTOR_ROOT:
        return czr_cusolver_eigh_workspace(library, false, f->n, out) &&
               czr_cusolver_eigh_workspace(library, true, f->n, wide);
    case CZR_FACTOR_QR:
        return czr_cusolver_qr_workspace(library, f->m, f->n, out);
    case CZR_FACTOR_CHOLESKY:
        return czr_cusolver_cholesky_workspace(library, f->n, out);
    case CZR_FACTOR_SOLVE_LOWER:
    case CZR_FACTOR_SOLVE_LOWER_T:
    case CZR_FACTOR_SOLVE_UPPER:
    case CZR_FACTOR_SOLVE_UPPER_T:
        return true;
    case CZR_FACTOR_NEWTON_ROOT:
    case CZR_N_FACTORS:
        break;
    }
    return false;
}

/* Once; what is missing stays missing, and is no failure. */
static czr_cusolver *open_library(czr_cuda_stages *stages)
{
    czr_cuda_solver *solver = &stages->products->solver;
    char message[CZR_CUSOLVER_MESSAGE];

    if (!solver->is_tried &&
        czr_cusolver_open(stages->cusolver, &solver->cusolver, message) !=
            CZR_OK)
        snprintf(solver->warning, sizeof solver->warning, "%s", message);
    solver->is_tried = true;
    return solver->cusolver;
}

/* Memory of the host for the largest call so far. */
static czr_status make_room(czr_cuda_stages *stages, const czr_factor *f,
                            size_t host_bytes)
{
    czr_cuda_solver *solver = &stages->products->solver;

    if (solver->host_bytes < host_bytes) {
        czr_free(solver->host);
        solver->host_bytes = host_bytes;
        solver->host = czr_alloc(host_bytes, 1);
        if (!solver->host)
            return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                     "%zu bytes of the host for cuSOLVER",
                                     host_bytes);
    }
    return czr_cuda_work_prepare(
        stages, (f->kind == CZR_FACTOR_ROOT ? f->n : 0) * sizeof(float));
}

czr_status czr_cuda_solver_prepare(czr_cuda_stages *stages,
                                   czr_cuda_factored *known)
{
    const czr_factor *f = &known->shape;
    czr_cusolver *library;

    if (stages->program->program->strict || !(library = open_library(stages)))
        return CZR_OK;
    if (!ask_room(library, f, &known->workspace, &known->wide_workspace)) {
        snprintf(stages->products->solver.warning, CZR_CUSOLVER_MESSAGE,
                 "cuSOLVER has nothing for [%zu, %zu]", f->m, f->n);
        return CZR_OK;
    }
    known->is_solved = true;
    const places at = lay_out(NULL, f);
    czr_cuda_stages_need(stages, at.bytes + known->workspace.device);
    czr_cuda_stages_need(stages, at.wide_bytes + known->wide_workspace.device);
    return make_room(stages, f,
                     larger(known->workspace.host, known->wide_workspace.host));
}

void czr_cuda_solver_close(czr_cuda_stages *stages)
{
    czr_cuda_solver *solver = &stages->products->solver;

    czr_cusolver_close(solver->cusolver);
    czr_free(solver->host);
    czr_context_free_pinned(stages->context, solver->pinned);
}

/* ---- one call ----------------------------------------------------------- */

typedef struct work {
    czr_cuda_work base;
    const czr_factor *f;
    const czr_cusolver *cusolver;
    places at;
    czr_cusolver_call of_library, of_wide;
} work;

/* What the library says of a call. */
static bool agree(work *w, bool is_put)
{
    return is_put ||
           czr_cuda_work_note(
               &w->base, czr_context_check(w->base.call->stages->context,
                                           CZR_CUDA_INVALID_VALUE,
                                           "cuSOLVER: a factorisation of [%zu, "
                                           "%zu]",
                                           w->f->m, w->f->n));
}

static bool copy(work *w, void *to, const void *from, size_t bytes)
{
    return czr_cuda_work_copy(&w->base, to, from, bytes);
}

static bool look(work *w)
{
    return czr_cuda_work_read(&w->base);
}

static bool tell(work *w, czr_status failure)
{
    return czr_cuda_work_tell(&w->base, failure);
}

static int32_t said(const work *w, int what)
{
    return w->base.seen->reported[what];
}

static bool check(work *w, const float *x, size_t n, size_t stride)
{
    uint64_t count = n, apart = stride;
    int32_t *words = w->base.reported;
    void *arguments[] = {&x, &count, &apart, &words};

    return czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_CHECK, n, arguments);
}

static bool turn(work *w, const float *from, float *to, size_t rows,
                 size_t columns, const float *signs)
{
    uint64_t m = rows, n = columns;
    void *arguments[] = {&from, &to, &m, &n, &signs};

    return czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_TRANSPOSE,
                             rows * columns, arguments);
}

static bool finish_square(work *w, czr_cuda_factor_kernel kernel, float *x)
{
    uint64_t n = w->f->n;
    void *arguments[] = {&x, &n};

    return czr_cuda_work_put(&w->base, kernel, w->f->n * w->f->n, arguments);
}

/* ---- what each kind is -------------------------------------------------- */

/* Whether there are vectors at w->at.matrix now, and values; it waits. */
static bool has_converged(work *w, const float *values)
{
    const size_t n = w->f->n;

    return check(w, w->at.matrix, n * n, 0) && check(w, values, n, 0) &&
           (w->f->kind != CZR_FACTOR_ROOT ||
            copy(w, w->base.numbers, values, n * sizeof *values)) &&
           look(w) && said(w, CZR_REPORT_INFO) == 0 &&
           !said(w, CZR_REPORT_NOT_FINITE);
}

static bool find_in_f32(work *w, float *values)
{
    const size_t n = w->f->n;

    return copy(w, w->at.matrix, w->f->a, n * n * sizeof(float)) &&
           agree(w, czr_cusolver_eigh(w->cusolver, false, n, w->at.matrix,
                                      values, &w->of_library)) &&
           has_converged(w, values);
}

static bool narrow(work *w, const double *from, float *to, size_t n)
{
    uint64_t count = n;
    void *arguments[] = {&from, &to, &count};

    return czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_NARROW, n, arguments);
}

static bool find_in_f64(work *w, float *values)
{
    const size_t n = w->f->n;
    const float *a = w->f->a;
    uint64_t count = n * n;
    void *widen[] = {&a, &w->at.wide, &count};

    return czr_cuda_work_clear(&w->base) &&
           czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_WIDEN, n * n, widen) &&
           agree(w, czr_cusolver_eigh(w->cusolver, true, n, w->at.wide,
                                      w->at.wide_values, &w->of_wide)) &&
           narrow(w, w->at.wide, w->at.matrix, n * n) &&
           narrow(w, w->at.wide_values, values, n) && has_converged(w, values);
}

/* Vectors in rows at w->at.matrix.  False, with a status that may be CZR_OK: no
 * more is to be done. */
static bool find_rows(work *w, float *values)
{
    if (find_in_f32(w, values) ||
        (w->base.status == CZR_OK && find_in_f64(w, values)))
        return true;
    if (w->base.status == CZR_OK)
        tell(w, CZR_ERR_NO_CONVERGENCE);
    return false;
}

static void run_eigh(work *w)
{
    const size_t n = w->f->n;

    if (find_rows(w, w->f->out[0]))
        turn(w, w->at.matrix, w->f->out[1], n, n, NULL);
}

static void run_root(work *w)
{
    const size_t n = w->f->n;
    uint64_t order = n;
    float *const numbers = w->base.numbers;
    void *arguments[] = {&w->at.matrix, &w->at.scales, &order};

    if (!find_rows(w, w->at.values))
        return;
    if (!czr_factor_root_scales(w->f, numbers, numbers)) {
        tell(w, CZR_ERR_NOT_POSITIVE);
        return;
    }
    if (copy(w, w->at.scales, numbers, n * sizeof *numbers) &&
        czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_SCALE, n * n, arguments) &&
        agree(w, czr_cusolver_gram(w->cusolver, n, w->at.matrix, w->f->out[0],
                                   w->base.call->stream)))
        finish_square(w, CZR_CUDA_FACTOR_MIRROR, w->f->out[0]);
    /* For the scales: they are the next call's room. */
    czr_cuda_work_wait(&w->base);
}

static void run_cholesky(work *w)
{
    const size_t n = w->f->n;
    float *l = w->f->out[0];

    if (!copy(w, l, w->f->a, n * n * sizeof *l) ||
        !agree(w, czr_cusolver_cholesky(w->cusolver, n, l, &w->of_library)) ||
        !look(w))
        return;
    if (said(w, CZR_REPORT_INFO) != 0)
        tell(w, CZR_ERR_NOT_POSITIVE);
    else
        finish_square(w, CZR_CUDA_FACTOR_LOWER, l);
}

static void run_qr(work *w)
{
    const czr_factor *f = w->f;
    const size_t s = least(f);
    const float *a = w->at.matrix;
    uint64_t m = f->m, n = f->n, rows = s;
    float *r = f->out[1], *signs = w->at.scales;
    void *arguments[] = {&a, &m, &n, &rows, &r, &signs};

    if (turn(w, f->a, w->at.matrix, f->m, f->n, NULL) &&
        agree(w, czr_cusolver_qr(w->cusolver, f->m, f->n, w->at.matrix,
                                 w->at.values, &w->of_library)) &&
        czr_cuda_work_put(&w->base, CZR_CUDA_FACTOR_ROWS, s * f->n,
                          arguments) &&
        agree(w, czr_cusolver_qr_vectors(w->cusolver, f->m, f->n, w->at.matrix,
                                         w->at.values, &w->of_library)) &&
        turn(w, w->at.matrix, f->out[0], s, f->m, signs) && look(w))
        agree(w, said(w, CZR_REPORT_INFO) == 0);
}

static void run_solve(work *w)
{
    const czr_factor *f = w->f;
    const bool is_upper = f->kind == CZR_FACTOR_SOLVE_UPPER ||
                          f->kind == CZR_FACTOR_SOLVE_UPPER_T;
    const bool is_transposed = f->kind == CZR_FACTOR_SOLVE_LOWER_T ||
                               f->kind == CZR_FACTOR_SOLVE_UPPER_T;

    if (copy(w, f->out[0], f->b, f->n * f->k * sizeof *f->b))
        agree(w, czr_cusolver_solve(w->cusolver, f->n, f->k, f->a, is_upper,
                                    is_transposed, f->out[0],
                                    w->base.call->stream));
}

static void run(work *w)
{
    static void (*const routines[CZR_N_FACTORS])(work *) = {
        [CZR_FACTOR_EIGH] = run_eigh,
        [CZR_FACTOR_QR] = run_qr,
        [CZR_FACTOR_CHOLESKY] = run_cholesky,
        [CZR_FACTOR_SOLVE_LOWER] = run_solve,
        [CZR_FACTOR_SOLVE_LOWER_T] = run_solve,
        [CZR_FACTOR_SOLVE_UPPER] = run_solve,
        [CZR_FACTOR_SOLVE_UPPER_T] = run_solve,
        [CZR_FACTOR_ROOT] = run_root,
    };

    routines[w->f->kind](w);
}

/* ---- what stages call --------------------------------------------------- */

/* Whether the step is not skipped; and of the operands what factor_check says.
 */
static bool begin(work *w)
{
    const czr_factor *f = w->f;
    const bool has_b = is_solve(f->kind);
    const size_t rows = f->kind == CZR_FACTOR_QR ? f->m : f->n;

    return czr_cuda_work_clear(&w->base) &&
           check(w, f->a, rows * f->n, has_b ? f->n + 1 : 0) &&
           (!has_b || check(w, f->b, f->n * f->k, 0)) &&
           czr_cuda_work_begin(&w->base);
}

czr_status czr_cuda_solver_put(const czr_cuda_call *call,
                               const czr_cuda_factored *known,
                               const czr_factor *f)
{
    const czr_cuda_solver *solver = &call->stages->products->solver;
    work w = {.base = czr_cuda_work_of(call),
              .f = f,
              .cusolver = solver->cusolver,
              .at = lay_out(call->workspace, f)};

    w.of_library =
        (czr_cusolver_call){.workspace = known->workspace,
                            .device = call->workspace + w.at.bytes,
                            .host = solver->host,
                            .info = w.base.reported + CZR_REPORT_INFO,
                            .stream = call->stream};
    w.of_wide = w.of_library;
    w.of_wide.workspace = known->wide_workspace;
    w.of_wide.device = call->workspace + w.at.wide_bytes;
    if (!begin(&w))
        return w.base.status;
    if (said(&w, CZR_REPORT_NOT_FINITE))
        tell(&w, CZR_ERR_NOT_FINITE);
    else if (said(&w, CZR_REPORT_ZERO))
        tell(&w, CZR_ERR_SINGULAR);
    else
        run(&w);
    return w.base.status;
}
