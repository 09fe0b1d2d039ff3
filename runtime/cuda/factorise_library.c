/* Factorisations by cuSOLVER.  The host waits twice: before, for whether the
 * step is skipped and the operands are finite, so that the library is given
 * neither; and after, for whether it came to an end. */
#include "runtime/cuda/multiply_internal.h"

#include "runtime/factor.h"
#include "runtime/library.h"
#include "runtime/memory.h"

#include <stdio.h>

enum { ALIGN = 256, THREADS = 256, BLOCKS_AT_ONCE = 8 };

/* What the device says of a call: of factor_check, and the library's info. */
enum { NOT_FINITE, ZERO, INFO, N_SAID };

/* Pinned: what was said, a flag and a status, then n numbers. */
typedef struct seen {
    int32_t said[N_SAID], skip, word;
} seen;

/* ---- room --------------------------------------------------------------- */

/* Where things lie in the call's room. */
typedef struct places {
    int32_t *said;
    float *matrix; /* that the library works on; of EIGH, QR and ROOT */
    float *values; /* of ROOT; of QR: tau */
    float *scales; /* of ROOT; of QR: signs */
    size_t bytes;  /* behind them is the library's own room */
} places;

static float *take(unsigned char *base, size_t *bytes, size_t n)
{
    float *const at = base ? (void *)(base + *bytes) : NULL;

    *bytes += (n * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
    return at;
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
    places p = {.said = (void *)base, .bytes = ALIGN};

    p.matrix = take(base, &p.bytes,
                    is_qr || is_root || f->kind == CZR_FACTOR_EIGH
                        ? (is_qr ? f->m : f->n) * f->n
                        : 0);
    p.values = take(base, &p.bytes, order);
    p.scales = take(base, &p.bytes, order);
    return p;
}

static size_t pinned_bytes(const czr_factor *f)
{
    return sizeof(seen) +
           (f->kind == CZR_FACTOR_ROOT ? f->n : 0) * sizeof(float);
}

/* ---- while stages are opened -------------------------------------------- */

static bool is_solve(czr_factor_kind kind)
{
    return kind == CZR_FACTOR_SOLVE_LOWER || kind == CZR_FACTOR_SOLVE_LOWER_T ||
           kind == CZR_FACTOR_SOLVE_UPPER || kind == CZR_FACTOR_SOLVE_UPPER_T;
}

/* False: not by the library. */
static bool ask_room(const czr_cusolver *library, const czr_factor *f,
                     czr_cusolver_room *out)
{
    *out = (czr_cusolver_room){0, 0};
    switch (f->kind) {
    case CZR_FACTOR_EIGH:
    case CZR_FACTOR_ROOT:
        return czr_cusolver_eigh_room(library, f->n, out);
    case CZR_FACTOR_QR:
        return czr_cusolver_qr_room(library, f->m, f->n, out);
    case CZR_FACTOR_CHOLESKY:
        return czr_cusolver_cholesky_room(library, f->n, out);
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

static czr_status load_kernels(czr_cuda_stages *stages)
{
    static const char *const names[CZR_CUDA_N_FACTOR_KERNELS] = {
        [CZR_CUDA_FACTOR_CHECK] = "factor_check",
        [CZR_CUDA_FACTOR_TURN] = "factor_turn",
        [CZR_CUDA_FACTOR_LOWER] = "factor_lower",
        [CZR_CUDA_FACTOR_MIRROR] = "factor_mirror",
        [CZR_CUDA_FACTOR_ROWS] = "factor_rows",
        [CZR_CUDA_FACTOR_SCALE] = "factor_scale",
    };
    czr_module *module;
    czr_status status = czr_cuda_products_load(stages, CZR_SOURCE_FACTOR,
                                               "factor", "", &module);

    for (int i = 0; i < CZR_CUDA_N_FACTOR_KERNELS && status == CZR_OK; i++)
        status = czr_module_find(module, names[i], 0,
                                 &stages->products->solver.kernels[i]);
    return status;
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
    const size_t bytes = pinned_bytes(f);

    if (solver->host_bytes < host_bytes) {
        czr_free(solver->host);
        solver->host_bytes = host_bytes;
        solver->host = czr_alloc(host_bytes, 1);
        if (!solver->host)
            return czr_context_check(stages->context, CZR_CUDA_OUT_OF_MEMORY,
                                     "%zu bytes of the host for cuSOLVER",
                                     host_bytes);
    }
    if (solver->pinned_bytes >= bytes)
        return CZR_OK;
    czr_context_free_pinned(stages->context, solver->pinned);
    solver->pinned = NULL;
    solver->pinned_bytes = bytes;
    return czr_context_alloc_pinned(stages->context, bytes, &solver->pinned);
}

czr_status czr_cuda_solver_prepare(czr_cuda_stages *stages,
                                   czr_cuda_factored *known)
{
    const czr_factor *f = &known->shape;
    czr_cusolver *library;

    if (stages->program->program->strict || f->kind == CZR_FACTOR_NEWTON_ROOT ||
        !(library = open_library(stages)))
        return CZR_OK;
    if (!ask_room(library, f, &known->room)) {
        snprintf(stages->products->solver.warning, CZR_CUSOLVER_MESSAGE,
                 "cuSOLVER has nothing for [%zu, %zu]", f->m, f->n);
        return CZR_OK;
    }
    known->is_solved = true;
    czr_cuda_stages_need(stages, lay_out(NULL, f).bytes + known->room.device);
    const czr_status status = load_kernels(stages);
    return status == CZR_OK ? make_room(stages, f, known->room.host) : status;
}

bool czr_cuda_solver_repeats(const czr_factor *f)
{
    return f->kind == CZR_FACTOR_EIGH || f->kind == CZR_FACTOR_ROOT;
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
    const czr_cuda_call *call;
    const czr_factor *f;
    const czr_cusolver *cusolver;
    seen *seen;
    float *numbers; /* pinned, behind seen */
    places at;
    czr_cusolver_call of_library;
    czr_status status; /* the first failure; nothing is put behind it */
} work;

static bool note(work *w, czr_status status)
{
    if (w->status == CZR_OK)
        w->status = status;
    return w->status == CZR_OK;
}

/* What the library says of a call. */
static bool agree(work *w, bool is_put)
{
    return is_put ||
           note(w, czr_context_check(w->call->stages->context,
                                     CZR_CUDA_INVALID_VALUE,
                                     "cuSOLVER: a factorisation of [%zu, %zu]",
                                     w->f->m, w->f->n));
}

/* n: numbers that it goes over. */
static bool put(work *w, czr_cuda_factor_kernel kernel, size_t n,
                void **arguments)
{
    czr_context *context = w->call->stages->context;
    const size_t most = (size_t)context->n_processors * BLOCKS_AT_ONCE;
    const size_t blocks = (n + THREADS - 1) / THREADS;
    const czr_launch launch = {
        .grid = {(unsigned)(blocks < most ? blocks : most), 1, 1},
        .block = {THREADS, 1, 1}};

    if (w->status != CZR_OK || n == 0)
        return w->status == CZR_OK;
    return note(
        w, czr_module_launch(context,
                             w->call->stages->products->solver.kernels[kernel],
                             &launch, arguments, w->call->stream));
}

static bool copy(work *w, void *to, const void *from, size_t bytes)
{
    return w->status == CZR_OK &&
           note(w,
                czr_context_copy(w->call->stages->context, czr_address_of(to),
                                 czr_address_of(from), bytes, w->call->stream));
}

static bool wait(work *w)
{
    return w->status == CZR_OK &&
           note(w, czr_context_synchronize(w->call->stages->context,
                                           w->call->stream, 0));
}

/* Waits for what the device has to say. */
static bool look(work *w)
{
    return copy(w, w->seen->said, w->at.said, sizeof w->seen->said) && wait(w);
}

static bool check(work *w, const float *x, size_t n, size_t stride)
{
    uint64_t count = n, apart = stride;
    int32_t *said = w->at.said;
    void *arguments[] = {&x, &count, &apart, &said};

    return put(w, CZR_CUDA_FACTOR_CHECK, n, arguments);
}

static bool turn(work *w, const float *from, float *to, size_t rows,
                 size_t columns, const float *signs)
{
    uint64_t m = rows, n = columns;
    void *arguments[] = {&from, &to, &m, &n, &signs};

    return put(w, CZR_CUDA_FACTOR_TURN, rows * columns, arguments);
}

static bool finish_square(work *w, czr_cuda_factor_kernel kernel, float *x)
{
    uint64_t n = w->f->n;
    void *arguments[] = {&x, &n};

    return put(w, kernel, w->f->n * w->f->n, arguments);
}

/* ---- what each kind is -------------------------------------------------- */

static bool tell(work *w, czr_status failure)
{
    return note(w, czr_cuda_factor_tell(w->call, &w->seen->word, failure));
}

/* Vectors in rows at w->at.matrix.  False, with a status that may be CZR_OK: no
 * more is to be done. */
static bool find_rows(work *w, float *values)
{
    const size_t n = w->f->n;

    if (!copy(w, w->at.matrix, w->f->a, n * n * sizeof(float)) ||
        !agree(w, czr_cusolver_eigh(w->cusolver, n, w->at.matrix, values,
                                    &w->of_library)) ||
        !check(w, w->at.matrix, n * n, 0) || !check(w, values, n, 0) ||
        (w->f->kind == CZR_FACTOR_ROOT &&
         !copy(w, w->numbers, values, n * sizeof *values)) ||
        !look(w))
        return false;
    if (w->seen->said[INFO] == 0 && !w->seen->said[NOT_FINITE])
        return true;
    /* The host has another routine, and one in f64. */
    if (czr_library_has_lapack())
        note(w, czr_cuda_host_put(w->call, w->f));
    else
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
    void *arguments[] = {&w->at.matrix, &w->at.scales, &order};

    if (!find_rows(w, w->at.values))
        return;
    if (!czr_factor_root_scales(w->f, w->numbers, w->numbers)) {
        tell(w, CZR_ERR_NOT_POSITIVE);
        return;
    }
    if (copy(w, w->at.scales, w->numbers, n * sizeof *w->numbers) &&
        put(w, CZR_CUDA_FACTOR_SCALE, n * n, arguments) &&
        agree(w, czr_cusolver_gram(w->cusolver, n, w->at.matrix, w->f->out[0],
                                   w->call->stream)))
        finish_square(w, CZR_CUDA_FACTOR_MIRROR, w->f->out[0]);
    wait(w); /* for the scales: they are the next call's room */
}

static void run_cholesky(work *w)
{
    const size_t n = w->f->n;
    float *l = w->f->out[0];

    if (!copy(w, l, w->f->a, n * n * sizeof *l) ||
        !agree(w, czr_cusolver_cholesky(w->cusolver, n, l, &w->of_library)) ||
        !look(w))
        return;
    if (w->seen->said[INFO] != 0)
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
        put(w, CZR_CUDA_FACTOR_ROWS, s * f->n, arguments) &&
        agree(w, czr_cusolver_qr_vectors(w->cusolver, f->m, f->n, w->at.matrix,
                                         w->at.values, &w->of_library)) &&
        turn(w, w->at.matrix, f->out[0], s, f->m, signs) && look(w))
        agree(w, w->seen->said[INFO] == 0);
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
                                    is_transposed, f->out[0], w->call->stream));
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

    w->seen->skip = 0;
    if (!note(w, czr_context_fill(w->call->stages->context,
                                  czr_address_of(w->at.said), 0, ALIGN,
                                  w->call->stream)) ||
        !check(w, f->a, rows * f->n, has_b ? f->n + 1 : 0) ||
        (has_b && !check(w, f->b, f->n * f->k, 0)) ||
        (w->call->skip &&
         !copy(w, &w->seen->skip, w->call->skip, sizeof w->seen->skip)))
        return false;
    return look(w) && w->seen->skip == 0;
}

czr_status czr_cuda_solver_put(const czr_cuda_call *call,
                               const czr_cuda_factored *known,
                               const czr_factor *f)
{
    const czr_cuda_solver *solver = &call->stages->products->solver;
    work w = {.call = call,
              .f = f,
              .cusolver = solver->cusolver,
              .seen = solver->pinned,
              .numbers =
                  (void *)((unsigned char *)solver->pinned + sizeof(seen)),
              .at = lay_out(call->room, f)};

    w.of_library = (czr_cusolver_call){.room = known->room,
                                       .device = call->room + w.at.bytes,
                                       .host = solver->host,
                                       .info = w.at.said + INFO,
                                       .stream = call->stream};
    if (!begin(&w))
        return w.status;
    if (w.seen->said[NOT_FINITE])
        tell(&w, CZR_ERR_NOT_FINITE);
    else if (w.seen->said[ZERO])
        tell(&w, CZR_ERR_SINGULAR);
    else
        run(&w);
    return w.status;
}
