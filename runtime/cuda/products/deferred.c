#include "runtime/cuda/products/deferred.h"

#include "runtime/cuda/products/multiply.h"

#include <stdlib.h>

typedef enum what { LOOP, COPY, PRODUCT, FACTOR } what;

typedef struct loop {
    int number;
    size_t rows, columns;
    const void *const *pointers;
} loop;

typedef struct copy {
    void *to;
    const void *from;
    size_t bytes;
} copy;

/* A step of a unit. */
typedef struct note {
    what kind;
    czr_cuda_call call; /* of which slots and scalars have been looked up */
    union {
        loop loop;
        copy copy;
        czr_product product;
        czr_factor factor;
    } of;
} note;

typedef struct filled {
    size_t n_deferred, n_pointers;
} filled;

struct czr_cuda_deferred {
    size_t n_units, most_deferred, most_pointers;
    filled *units;         /* as many as there is room for */
    note *notes;           /* [most_deferred] of each */
    const void **pointers; /* [most_pointers] of each */
};

/* ---- open and close ----------------------------------------------------- */

czr_status czr_cuda_deferred_open(czr_context *context, size_t n_units,
                                  size_t n_deferred, size_t n_pointers,
                                  czr_cuda_deferred **out)
{
    czr_cuda_deferred *notes = *out = calloc(1, sizeof *notes);

    if (notes) {
        *notes = (czr_cuda_deferred){.most_deferred = n_deferred,
                                     .most_pointers = n_pointers};
        notes->units = calloc(n_units + 1, sizeof *notes->units);
        notes->notes = calloc(n_units * n_deferred + 1, sizeof *notes->notes);
        notes->pointers =
            calloc(n_units * n_pointers + 1, sizeof *notes->pointers);
        if (notes->units && notes->notes && notes->pointers)
            return CZR_OK;
    }
    return czr_context_check(context, CZR_CUDA_OUT_OF_MEMORY,
                             "steps of %zu matrices", n_units);
}

void czr_cuda_deferred_close(czr_cuda_deferred *notes)
{
    if (!notes)
        return;
    free(notes->units);
    free(notes->notes);
    free(notes->pointers);
    free(notes);
}

/* ---- noting ------------------------------------------------------------- */

void czr_cuda_deferred_begin(czr_cuda_deferred *notes)
{
    notes->units[notes->n_units++] = (filled){0, 0};
}

static filled *last_of(czr_cuda_deferred *notes)
{
    return &notes->units[notes->n_units - 1];
}

/* The next step of the unit; NULL: it has more than were counted. */
static note *add(const czr_cuda_call *call, what kind, size_t n_pointers)
{
    czr_cuda_deferred *notes = call->notes;
    filled *last = last_of(notes);

    if (last->n_deferred == notes->most_deferred ||
        n_pointers > notes->most_pointers - last->n_pointers)
        return NULL;
    note *added = notes->notes + (notes->n_units - 1) * notes->most_deferred +
                  last->n_deferred++;
    *added = (note){.kind = kind, .call = *call};
    added->call.in = NULL;
    added->call.out = NULL;
    added->call.scalars = NULL;
    added->call.notes = NULL;
    return added;
}

static const void *const *keep(czr_cuda_deferred *notes,
                               const void *const *pointers, size_t n)
{
    filled *last = last_of(notes);
    const void **kept = notes->pointers +
                        (notes->n_units - 1) * notes->most_pointers +
                        last->n_pointers;

    for (size_t i = 0; i < n; i++)
        kept[i] = pointers[i];
    last->n_pointers += n;
    return kept;
}

static czr_status count(czr_cuda_stages *stages, size_t n_pointers)
{
    stages->n_deferred++;
    stages->n_pointers += n_pointers;
    return CZR_OK;
}

static czr_status refuse(const czr_cuda_call *call)
{
    return czr_context_check(call->stages->context, CZR_CUDA_INVALID_VALUE,
                             "a stage with more steps than it had when it was "
                             "opened");
}

czr_status czr_cuda_defer_loop(const czr_cuda_call *call, int number,
                               size_t rows, size_t columns,
                               const void *const *pointers, size_t n_pointers)
{
    if (call->stages->is_opening)
        return count(call->stages, n_pointers);
    note *added = add(call, LOOP, n_pointers);
    if (!added)
        return refuse(call);
    added->of.loop =
        (loop){number, rows, columns, keep(call->notes, pointers, n_pointers)};
    return CZR_OK;
}

czr_status czr_cuda_defer_copy(const czr_cuda_call *call, void *to,
                               const void *from, size_t bytes)
{
    if (call->stages->is_opening)
        return count(call->stages, 0);
    note *added = add(call, COPY, 0);
    if (!added)
        return refuse(call);
    added->of.copy = (copy){to, from, bytes};
    return CZR_OK;
}

czr_status czr_cuda_defer_product(const czr_cuda_call *call,
                                  const czr_product *product)
{
    if (call->stages->is_opening)
        return count(call->stages, 0);
    note *added = add(call, PRODUCT, 0);
    if (!added)
        return refuse(call);
    added->of.product = *product;
    return CZR_OK;
}

czr_status czr_cuda_defer_factor(const czr_cuda_call *call,
                                 const czr_factor *factor)
{
    if (call->stages->is_opening)
        return count(call->stages, 0);
    note *added = add(call, FACTOR, 0);
    if (!added)
        return refuse(call);
    added->of.factor = *factor;
    return CZR_OK;
}

/* ---- putting ------------------------------------------------------------ */

/* Step `step` of a unit; NULL: it has fewer. */
static const note *find(const czr_cuda_deferred *notes, size_t unit,
                        size_t step)
{
    return unit < notes->n_units && step < notes->units[unit].n_deferred
               ? &notes->notes[unit * notes->most_deferred + step]
               : NULL;
}

static int64_t distance(const void *from, const void *to)
{
    return (int64_t)(czr_address_of(to) - czr_address_of(from));
}

static czr_cuda_apart apart(const czr_product *a, const czr_product *b)
{
    return (czr_cuda_apart){distance(a->a, b->a), distance(a->b, b->b),
                            distance(a->addend, b->addend),
                            distance(a->out, b->out)};
}

static bool is_as_far(czr_cuda_apart x, czr_cuda_apart y)
{
    return x.a == y.a && x.b == y.b && x.addend == y.addend && x.out == y.out;
}

/* Whether both are one product of two matrices. */
static bool is_next(const note *a, const note *b)
{
    const czr_product *x = a ? &a->of.product : NULL;
    const czr_product *y = b ? &b->of.product : NULL;

    return x && y && a->kind == PRODUCT && b->kind == PRODUCT &&
           (x->a == x->b) == (y->a == y->b) && x->alpha == y->alpha &&
           x->beta == y->beta && czr_cuda_product_is_alike(x, y);
}

/* Units from `first` on whose products are alike and as far apart. */
static size_t count_alike(const czr_cuda_deferred *notes, size_t first,
                          size_t step, czr_cuda_apart *by)
{
    const note *a = find(notes, first, step);
    const note *b = find(notes, first + 1, step);
    size_t n = 1;

    if (!is_next(a, b))
        return n;
    *by = apart(&a->of.product, &b->of.product);
    for (;
         is_next(a, b) && is_as_far(*by, apart(&a->of.product, &b->of.product));
         n++) {
        a = b;
        b = find(notes, first + n + 1, step);
    }
    return n;
}

static czr_status put_one(const note *n)
{
    const czr_cuda_call *call = &n->call;

    switch (n->kind) {
    case LOOP:
        return czr_cuda_loop(call, n->of.loop.number, n->of.loop.rows,
                             n->of.loop.columns, n->of.loop.pointers);
    case COPY:
        return czr_cuda_copy(call, n->of.copy.to, n->of.copy.from,
                             n->of.copy.bytes);
    case PRODUCT:
        return czr_cuda_multiply(call, &n->of.product);
    case FACTOR:
        return czr_cuda_factorise(call, &n->of.factor);
    }
    return CZR_OK;
}

/* Step `step` of unit `first`, and of those behind it that go with it; returns
 * how many units these are. */
static size_t put_some(const czr_cuda_deferred *notes, size_t first,
                       size_t step, czr_status *status)
{
    const note *n = find(notes, first, step);
    czr_cuda_apart by;
    const size_t n_alike = n ? count_alike(notes, first, step, &by) : 1;

    *status = CZR_OK;
    if (n_alike > 1 &&
        czr_cuda_multiply_batch(&n->call, &n->of.product, n_alike, &by, status))
        return n_alike;
    if (n)
        *status = put_one(n);
    return 1;
}

static czr_status put_step(const czr_cuda_deferred *notes, size_t step,
                           bool *any)
{
    czr_status status = CZR_OK;

    *any = false;
    for (size_t u = 0; u < notes->n_units && status == CZR_OK;) {
        *any |= find(notes, u, step) != NULL;
        u += put_some(notes, u, step, &status);
    }
    return status;
}

czr_status czr_cuda_deferred_put(czr_cuda_deferred *notes)
{
    czr_status status = CZR_OK;
    bool any = true;

    for (size_t step = 0; any && status == CZR_OK; step++)
        status = put_step(notes, step, &any);
    notes->n_units = 0;
    return status;
}
