/* Sums over members, and memory. */
#include "tests/gpu/plan/host_collect.h"

#include "runtime/base/memory.h"
#include "runtime/math/product.h"
#include "runtime/world/sum.h"
#include "tests/gpu/plan/host_move.h"

#include <stdlib.h>

enum { MAX_MEMBERS = 64 };

czr_status czr_collect_open(czr_context *context, czr_nvrtc *nvrtc,
                            czr_cache *cache, czr_collect **out,
                            char message[CZR_DRIVER_MESSAGE])
{
    czr_collect *collect = calloc(1, sizeof *collect);

    (void)nvrtc;
    (void)cache;
    *out = NULL;
    if (!collect)
        return CZR_ERR_NO_MEMORY;
    const czr_status status = deferred_open(context, &collect->deferred);
    if (status != CZR_OK) {
        memcpy(message, context->error, CZR_DRIVER_MESSAGE);
        deferred_close(&collect->deferred);
        free(collect);
        return status;
    }
    *out = collect;
    return CZR_OK;
}

void czr_collect_close(czr_collect *collect)
{
    if (!collect)
        return;
    deferred_close(&collect->deferred);
    free(collect);
}

/* ---- sums over members -------------------------------------------------- */

static void sum_leaves(const void *given)
{
    const czr_collect_grads *of = given;
    const size_t n = (size_t)of->n_members;
    const void *const *grads = deferred_at(of->grads, n * sizeof *grads);
    const size_t reach =
        (size_t)((of->n_grads - 1) * of->grad_stride + of->first + of->n) *
        czr_dtype_bytes(of->dtype);
    czr_collective units[MAX_MEMBERS];
    const czr_collective *members[MAX_MEMBERS];

    if (!grads || of->n_members > MAX_MEMBERS)
        return;
    for (size_t m = 0; m < n; m++) {
        units[m] = (czr_collective){
            .of.reduce_scatter = {.grad = deferred_at(grads[m], reach),
                                  .dtype = of->dtype,
                                  .n_grads = of->n_grads,
                                  .grad_stride = of->grad_stride}};
        members[m] = &units[m];
        if (!units[m].of.reduce_scatter.grad)
            return;
    }
    czr_reduce_scatter mine = units[0].of.reduce_scatter;
    mine.first = of->first;
    mine.n = of->n;
    mine.out = deferred_at(of->out, (size_t)of->n * sizeof *mine.out);
    mine.scale = of->scale;
    mine.largest = deferred_at(of->largest, sizeof *mine.largest);
    if (mine.out && mine.largest)
        czr_sum_grads(&mine, members, of->n_members, false);
}

czr_status czr_collect_sum_grads(czr_collect *collect,
                                 const czr_collect_grads *sum, void *stream)
{
    return sum->n ? PUT(collect, sum_leaves, *sum, stream) : CZR_OK;
}

typedef struct sums {
    czr_collect_members members;
    czr_sum type;
    size_t n, element_bytes;
    czr_band band;
    bool is_parts;
} sums;

/* Every member's data on the host; `bytes` from the start of each. */
static bool find_members(const sums *of, size_t bytes, czr_collective *units,
                         const czr_collective **members)
{
    const size_t n = (size_t)of->members.n_members;
    void *const *data = deferred_at(of->members.data, n * sizeof *data);

    for (size_t m = 0; data && m < n; m++) {
        units[m] = (czr_collective){
            .of.all_reduce = {.data = deferred_at(data[m], bytes),
                              .count = of->n,
                              .type = of->type,
                              .band = of->band}};
        members[m] = &units[m];
        if (!units[m].of.all_reduce.data)
            return false;
    }
    return data != NULL && n <= MAX_MEMBERS;
}

/* Those who get nothing are read elsewhere, of so many bytes. */
static void sum_slice(const sums *of, czr_collective *units,
                      const czr_collective **members, size_t bytes)
{
    void *copies[MAX_MEMBERS] = {NULL};

    for (int m = 0; m < of->members.n_members; m++) {
        if (m >= of->members.to && m < of->members.to_end)
            continue;
        copies[m] = malloc(bytes);
        if (!copies[m])
            abort();
        memcpy(copies[m], units[m].of.all_reduce.data, bytes);
        units[m].of.all_reduce.data = copies[m];
    }
    czr_sum_slice(members, of->members.n_members, 0, of->n);
    for (int m = 0; m < of->members.n_members; m++)
        free(copies[m]);
}

static void sum_members(const void *given)
{
    const sums *of = given;
    const size_t bytes = of->n * czr_sum_bytes(of->type);
    czr_collective units[MAX_MEMBERS];
    const czr_collective *members[MAX_MEMBERS];

    if (!find_members(of, bytes, units, members))
        return;
    if (!of->is_parts)
        sum_slice(of, units, members, bytes);
    for (int m = of->members.to; of->is_parts && m < of->members.to_end; m++)
        czr_sum_equal_part(members, of->members.n_members, m);
}

czr_status czr_collect_sum_slice(czr_collect *collect,
                                 const czr_collect_members *members,
                                 czr_sum type, size_t n, void *stream)
{
    const sums given = {.members = *members, .type = type, .n = n};

    return PUT(collect, sum_members, given, stream);
}

czr_status czr_collect_sum_equal_parts(czr_collect *collect,
                                       const czr_collect_members *members,
                                       czr_sum type, size_t count,
                                       czr_band band, void *stream)
{
    const sums given = {.members = *members,
                        .type = type,
                        .n = count,
                        .band = band,
                        .is_parts = true};

    return PUT(collect, sum_members, given, stream);
}

static void gather_band(const void *given)
{
    const sums *of = given;
    const size_t side = of->band.side, element = of->element_bytes;
    const size_t rows = side / (size_t)of->members.n_members;
    czr_collective units[MAX_MEMBERS];
    const czr_collective *members[MAX_MEMBERS];

    if (!find_members(of, side * side * element, units, members))
        return;
    for (int m = of->members.to; m < of->members.to_end; m++)
        for (size_t row = 0; row < side; row++) {
            unsigned char *to = units[m].of.all_reduce.data;
            const unsigned char *from = units[row / rows].of.all_reduce.data;
            czr_run runs[2];
            const int n = to == from ? 0 : czr_band_runs(&of->band, row, runs);
            for (int i = 0; i < n; i++)
                memcpy(to + runs[i].first * element,
                       from + runs[i].first * element, runs[i].n * element);
        }
}

czr_status czr_collect_band_gather(czr_collect *collect,
                                   const czr_collect_members *members,
                                   size_t element_bytes, czr_band band,
                                   void *stream)
{
    const sums given = {
        .members = *members, .element_bytes = element_bytes, .band = band};

    return PUT(collect, gather_band, given, stream);
}

/* ---- memory ------------------------------------------------------------- */

typedef struct memory {
    void *to;
    const void *from;
    czr_dtype to_dtype, from_dtype;
    double value;
    size_t n, element_bytes;
    czr_band band;
    double values[CZR_COLLECT_HYPERS];
    const int32_t *skip;
} memory;

static void put_hypers(const void *given)
{
    const memory *of = given;
    void *to = deferred_at(of->to, of->n * sizeof(double));

    if (to)
        memcpy(to, of->values, of->n * sizeof(double));
}

czr_status czr_collect_hypers(czr_collect *collect, double *to,
                              const double *values, size_t n, void *stream)
{
    czr_status status = CZR_OK;

    for (size_t done = 0; done < n && status == CZR_OK;
         done += CZR_COLLECT_HYPERS) {
        memory given = {.to = to + done, .n = n - done};
        if (given.n > CZR_COLLECT_HYPERS)
            given.n = CZR_COLLECT_HYPERS;
        memcpy(given.values, values + done, given.n * sizeof *values);
        status = PUT(collect, put_hypers, given, stream);
    }
    return status;
}

static void fill(const void *given)
{
    const memory *of = given;
    void *to = deferred_at(of->to, of->n * czr_dtype_bytes(of->to_dtype));

    if (to)
        czr_fill(to, of->to_dtype, of->value, of->n);
}

czr_status czr_collect_fill(czr_collect *collect, void *to, czr_dtype dtype,
                            double value, size_t n, void *stream)
{
    const memory given = {.to = to, .to_dtype = dtype, .value = value, .n = n};

    return n ? PUT(collect, fill, given, stream) : CZR_OK;
}

static void fill_diagonal(const void *given)
{
    const memory *of = given;
    const size_t bytes = czr_dtype_bytes(of->to_dtype);
    unsigned char *to = deferred_at(of->to, of->n * of->n * bytes);

    for (size_t i = 0; to && i < of->n; i++)
        czr_fill(to + i * (of->n + 1) * bytes, of->to_dtype, of->value, 1);
}

czr_status czr_collect_fill_diagonal(czr_collect *collect, void *to,
                                     czr_dtype dtype, double value, size_t n,
                                     void *stream)
{
    const memory given = {.to = to, .to_dtype = dtype, .value = value, .n = n};

    return n ? PUT(collect, fill_diagonal, given, stream) : CZR_OK;
}

static void convert(const void *given)
{
    const memory *of = given;
    void *to = deferred_at(of->to, of->n * czr_dtype_bytes(of->to_dtype));
    const void *from =
        deferred_at(of->from, of->n * czr_dtype_bytes(of->from_dtype));

    if (to && from && !is_skipped(of->skip))
        czr_convert(to, of->to_dtype, from, of->from_dtype, of->n);
}

czr_status czr_collect_convert(czr_collect *collect, void *to,
                               czr_dtype to_dtype, const void *from,
                               czr_dtype from_dtype, size_t n,
                               const int32_t *skip, void *stream)
{
    const memory given = {.to = to,
                          .from = from,
                          .to_dtype = to_dtype,
                          .from_dtype = from_dtype,
                          .n = n,
                          .skip = skip};

    return n ? PUT(collect, convert, given, stream) : CZR_OK;
}

static void hash(const void *given)
{
    const memory *of = given;
    uint64_t *to = deferred_at(of->to, sizeof *to);
    const void *from = deferred_at(of->from, of->n * of->element_bytes);

    if (to && from)
        *to += czr_hash(from, of->element_bytes, of->n);
}

czr_status czr_collect_hash(czr_collect *collect, uint64_t *to,
                            const void *from, size_t element_bytes, size_t n,
                            void *stream)
{
    const memory given = {
        .to = to, .from = from, .element_bytes = element_bytes, .n = n};

    return n ? PUT(collect, hash, given, stream) : CZR_OK;
}

static void mirror_lower(const void *given)
{
    const memory *of = given;
    void *to =
        deferred_at(of->to, of->n * of->n * czr_dtype_bytes(of->to_dtype));

    if (to)
        czr_mirror_lower(to, of->to_dtype, of->n);
}

czr_status czr_collect_mirror_lower(czr_collect *collect, void *matrix,
                                    czr_dtype dtype, size_t n, void *stream)
{
    const memory given = {.to = matrix, .to_dtype = dtype, .n = n};

    return PUT(collect, mirror_lower, given, stream);
}

static void mirror_band(const void *given)
{
    const memory *of = given;
    const size_t side = of->band.side;
    void *to = deferred_at(of->to, side * side * of->element_bytes);

    if (to)
        czr_band_mirror(&of->band, to, of->element_bytes);
}

czr_status czr_collect_band_mirror(czr_collect *collect, void *matrix,
                                   size_t element_bytes, czr_band band,
                                   void *stream)
{
    const memory given = {
        .to = matrix, .element_bytes = element_bytes, .band = band};

    return PUT(collect, mirror_band, given, stream);
}

/* ---- boxes -------------------------------------------------------------- */

typedef struct boxes {
    int n;
    czr_move_table moves;
} boxes;

static void pack(const void *given)
{
    const boxes *of = given;

    for (int i = 0; i < of->n; i++)
        move_on_host(&of->moves.of[i]);
}

czr_status czr_collect_pack(czr_collect *collect, czr_move_table *moves, int n,
                            void *stream)
{
    const boxes given = {.n = n, .moves = *moves};

    return n ? PUT(collect, pack, given, stream) : CZR_OK;
}
