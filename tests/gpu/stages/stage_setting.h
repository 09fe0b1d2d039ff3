/* What stages_run.c runs: the plan that PROGRAM names, its stages loaded,
 * memory for one call, and the call of a stage on the host and on the device.
 */
#ifndef TESTS_CUDA_STAGE_SETTING_H
#define TESTS_CUDA_STAGE_SETTING_H

#include "runtime/base/memory.h"
#include "runtime/cuda/products/stage.h"
#include "runtime/math/product.h"
#include "runtime/program/program.h"
#include "tests/gpu/driver/bench.h"
#include "tests/gpu/bodies/plain_bodies.h"

#include <math.h>
#include <string.h>

#define PASTE_(name, end) name##_##end
#define PASTE(name, end) PASTE_(name, end)
#define plan PASTE(PROGRAM, program)
#define plan_cuda PASTE(PROGRAM, cuda)
#define register_kernels PASTE(PROGRAM, kernels)
extern const czr_program plan;
extern const czr_cuda_program plan_cuda;
void register_kernels(void);
void factor_kernels(void); /* of factor.cu, where a test is built with them */

enum { MAX_SLOTS = 64, MAX_SCALARS = 4096, SPARE = 1 << 14, ALIGN = 256 };
enum { MAX_CALLS = 256 };

/* The NVRTC that tests open. */
static const char *setting_nvrtc = NVRTC_PATH;

/* ---- one call's memory -------------------------------------------------- */

/* Where each slot lies in one piece of memory; slots that are in and out lie
 * once.  Behind each there is room that nobody writes. */
typedef struct layout {
    int n;
    czr_slot slots[MAX_SLOTS];
    size_t at[MAX_SLOTS], elements, work, bytes;
} layout;

typedef struct setting {
    test_bench bench;
    czr_nvrtc *nvrtc;
    czr_cuda_stages stages;
    void *stream;
    czr_address memory, room, scalars, flags, values;
    float host_scalars[MAX_SCALARS];
} setting;

static inline size_t place_of(const layout *l, czr_slot slot)
{
    for (int i = 0; i < l->n; i++)
        if (l->slots[i].kind == slot.kind && l->slots[i].index == slot.index)
            return l->at[i];
    return 0;
}

static inline void add_slots(layout *l, const czr_slot *slots, int n)
{
    for (int i = 0; i < n; i++) {
        bool is_there = false;
        for (int k = 0; k < l->n; k++)
            is_there = is_there || (l->slots[k].kind == slots[i].kind &&
                                    l->slots[k].index == slots[i].index);
        if (is_there)
            continue;
        l->slots[l->n] = slots[i];
        l->at[l->n++] = l->bytes;
        l->bytes += (l->elements * sizeof(double) + ALIGN - 1) / ALIGN * ALIGN;
    }
}

static inline layout lay_out(const czr_stage *stage,
                             const czr_kernel_entry *row)
{
    layout l = {.elements = (size_t)row->count + SPARE};

    add_slots(&l, stage->in, stage->n_in);
    add_slots(&l, stage->out, stage->n_out);
    assert_true(l.n < MAX_SLOTS);
    l.work = l.bytes;
    l.bytes += (size_t)plan.arena_bytes[0] + SPARE;
    return l;
}

static inline double draw(czr_slot_kind kind)
{
    const double x = (rand() % 200001) / 100000.0;
    const bool is_signed = kind == CZR_SLOT_GRAD || kind == CZR_SLOT_PARAM ||
                           kind == CZR_SLOT_GATHER;

    return is_signed ? x - 1 : x;
}

static inline void put(unsigned char *to, czr_dtype dtype, size_t i, double x)
{
    czr_convert(to + i * czr_dtype_bytes(dtype), dtype, &x, CZR_F64, 1);
}

static inline double get(const unsigned char *from, czr_dtype dtype, size_t i)
{
    double x;

    czr_convert(&x, CZR_F64, from + i * czr_dtype_bytes(dtype), dtype, 1);
    return x;
}

/* A NaN in the first gradient where is_wild. */
static inline unsigned char *draw_memory(const layout *l, bool is_wild)
{
    unsigned char *memory = calloc(1, l->bytes);

    assert_non_null(memory);
    for (int s = 0; s < l->n; s++)
        for (size_t i = 0; i < l->elements; i++)
            put(memory + l->at[s], l->slots[s].dtype, i,
                draw((czr_slot_kind)l->slots[s].kind));
    for (int s = 0; is_wild && s < l->n; s++)
        if (l->slots[s].kind == CZR_SLOT_GRAD ||
            l->slots[s].kind == CZR_SLOT_GATHER ||
            l->slots[s].kind == CZR_SLOT_SCATTER)
            put(memory + l->at[s], l->slots[s].dtype, 0, (double)NAN);
    return memory;
}

/* ---- both sides --------------------------------------------------------- */

static inline czr_status run_host(const setting *s, const layout *l, int stage,
                                  czr_kernel body, const czr_kernel_entry *row,
                                  unsigned char *memory)
{
    const czr_stage *of = &plan.stages[stage];
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
    float scalars[MAX_SCALARS];
    czr_status status = CZR_OK;
    czr_host_math math;

    assert_int_equal(czr_host_math_open(&math, 1, 1), CZR_OK);
    for (int i = 0; i < of->n_in; i++)
        in[i] = memory + place_of(l, of->in[i]);
    for (int i = 0; i < of->n_out; i++)
        out[i] = memory + place_of(l, of->out[i]);
    for (int i = 0; i < of->n_scalars; i++)
        scalars[i] = s->host_scalars[of->scalars[i] % MAX_SCALARS];
    body(&(czr_call){.in = in,
                     .out = out,
                     .scalars = scalars,
                     .count = (size_t)row->count,
                     .equal_part = (size_t)row->offset,
                     .work = memory + l->work,
                     .math = &math.math,
                     .status = &status});
    czr_host_math_close(&math);
    return status;
}

/* One of the calls that a row is cut into, element by element. */
typedef struct part {
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
} part;

static inline void *slot_at(const setting *s, const layout *l, czr_slot slot,
                            size_t first)
{
    return czr_pointer_of(s->memory + place_of(l, slot) +
                          first * czr_dtype_bytes((czr_dtype)slot.dtype));
}

/* How a row is cut into calls: of an element-wise stage; scalars of every other
 * one lie elsewhere. */
typedef struct cutting {
    size_t n_calls;
    bool has_other_scalars;
} cutting;

/* Flags on the device: the status, and whether to skip. */
static inline czr_status run_calls(setting *s, const layout *l, int stage,
                                   czr_cuda_stage body,
                                   const czr_kernel_entry *row,
                                   unsigned char *memory, int32_t flags[2],
                                   cutting how)
{
    static part parts[MAX_CALLS];
    static czr_cuda_call calls[MAX_CALLS];
    const czr_stage *of = &plan.stages[stage];
    const size_t n = (size_t)row->count, n_calls = how.n_calls;
    czr_context *context = s->bench.context;
    const float *scalars[2][MAX_SCALARS];

    for (int i = 0; i < of->n_scalars; i++) {
        const size_t at = of->scalars[i] % MAX_SCALARS;
        scalars[0][i] = czr_pointer_of(s->scalars + at * sizeof(float));
        scalars[1][i] = czr_pointer_of(
            s->scalars + (at + MAX_SCALARS / 2) % MAX_SCALARS * sizeof(float));
    }
    for (size_t c = 0; c < n_calls; c++) {
        const size_t first = c * n / n_calls;
        const size_t which = how.has_other_scalars ? c % 2 : 0;
        for (int i = 0; i < of->n_in; i++)
            parts[c].in[i] = slot_at(s, l, of->in[i], first);
        for (int i = 0; i < of->n_out; i++)
            parts[c].out[i] = slot_at(s, l, of->out[i], first);
        calls[c] =
            (czr_cuda_call){.next = body,
                            .in = parts[c].in,
                            .out = parts[c].out,
                            .scalars = scalars[which],
                            .count = (c + 1) * n / n_calls - first,
                            .equal_part = (size_t)row->offset,
                            .work = czr_pointer_of(s->memory + l->work),
                            .workspace = czr_pointer_of(s->room),
                            .status = czr_pointer_of(s->flags),
                            .skip = czr_pointer_of(s->flags + sizeof(int32_t)),
                            .stream = s->stream,
                            .stages = &s->stages};
    }
    const size_t bytes = 2 * sizeof *flags;
    czr_status status = czr_context_copy(
        context, s->memory, czr_address_of(memory), l->bytes, s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, s->flags, czr_address_of(flags),
                                  bytes, s->stream);
    if (status == CZR_OK)
        status = czr_cuda_stages_put(calls, n_calls);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(memory), s->memory,
                                  l->bytes, s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(flags), s->flags,
                                  bytes, s->stream);
    return status == CZR_OK ? czr_context_synchronize(context, s->stream, 0)
                            : status;
}

static inline czr_status run_device(setting *s, const layout *l, int stage,
                                    czr_cuda_stage body,
                                    const czr_kernel_entry *row,
                                    unsigned char *memory, int32_t flags[2])
{
    return run_calls(s, l, stage, body, row, memory, flags,
                     (cutting){1, false});
}

/* ---- opening ------------------------------------------------------------ */

static inline size_t memory_needed(void)
{
    size_t most = 0;

    for (int t = 0; t < plan.n_tables; t++) {
        const czr_kernel_entry *rows = plan.tables[t].rows;
        const int64_t n = plan.tables[t].kind == CZR_ENTRY_KERNEL
                              ? czr_program_all_rows(&plan, t)
                              : 0;
        for (int64_t i = 0; i < n; i++) {
            const size_t bytes =
                lay_out(&plan.stages[rows[i].stage], &rows[i]).bytes;
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* A GPU has exponentials of its own. */
static inline void compare_scalars(int i, float x, float y)
{
    const float room = bench_path ? 0 : 4e-7f * fabsf(y);

    if (!(fabsf(x - y) <= room) && (x == x || y == y))
        fail_msg("scalar %d is %.9g, C says %.9g", i, (double)x, (double)y);
}

/* What both sides go on with. */
static inline czr_status send_scalars(setting *s)
{
    czr_context *context = s->bench.context;

    const czr_status status =
        czr_context_copy(context, s->scalars, czr_address_of(s->host_scalars),
                         sizeof s->host_scalars, s->stream);
    return status == CZR_OK ? czr_context_synchronize(context, s->stream, 0)
                            : status;
}

/* The step's scalars by both; doubles lie as t, clip and hyperparameters. */
static inline czr_status make_scalars(setting *s)
{
    czr_context *context = s->bench.context;
    double values[2 + MAX_SCALARS] = {3, 0.5};
    float made[MAX_SCALARS] = {0};
    const double *at = czr_pointer_of(s->values);

    for (int i = 0; i < plan.n_hypers; i++)
        values[2 + i] = plan.hypers[i].value;
    for (int i = 0; i < MAX_SCALARS; i++)
        s->host_scalars[i] = 0.25f;
    memcpy(made, s->host_scalars, sizeof made);
    plan.prologue(values[0], values[1], values + 2, s->host_scalars);
    czr_status status = czr_context_copy(
        context, s->values, czr_address_of(values), sizeof values, s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, s->scalars, czr_address_of(made),
                                  sizeof made, s->stream);
    if (status == CZR_OK)
        status = czr_cuda_prologue(&s->stages, at, at + 1, at + 2,
                                   czr_pointer_of(s->scalars), s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(made), s->scalars,
                                  sizeof made, s->stream);
    if (status == CZR_OK)
        status = czr_context_synchronize(context, s->stream, 0);
    for (int i = 0; i < MAX_SCALARS && status == CZR_OK; i++)
        compare_scalars(i, made[i], s->host_scalars[i]);
    memcpy(s->host_scalars + MAX_SCALARS / 2, s->host_scalars,
           sizeof s->host_scalars / 2);
    return status == CZR_OK ? send_scalars(s) : status;
}

static inline czr_status take(setting *s)
{
    const struct {
        czr_address *address;
        size_t bytes;
    } wanted[] = {
        {&s->memory, memory_needed()},
        {&s->room, czr_cuda_stages_workspace(&s->stages) + 1},
        {&s->scalars, MAX_SCALARS * sizeof(float)},
        {&s->flags, 2 * sizeof(int32_t)},
        {&s->values, (2 + MAX_SCALARS) * sizeof(double)},
    };
    czr_status status = czr_context_open_stream(s->bench.context, &s->stream);

    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == CZR_OK;
         i++)
        status = czr_context_alloc(s->bench.context, wanted[i].bytes,
                                   wanted[i].address);
    return status;
}

static inline czr_status open_setting(setting *s, const czr_cuda_program *of)
{
    char message[CZR_NVRTC_MESSAGE];

    if (czr_nvrtc_open(setting_nvrtc, &s->nvrtc, message) != CZR_NVRTC_OK)
        fail_msg("%s", message);
    czr_status status =
        czr_cuda_stages_open(s->bench.context, NULL, s->nvrtc, of, &s->stages);
    if (status == CZR_OK)
        status = take(s);
    return status == CZR_OK ? make_scalars(s) : status;
}

static inline void close_setting(setting *s)
{
    const czr_address taken[] = {s->memory, s->room, s->scalars, s->flags,
                                 s->values};

    if (s->stream)
        czr_context_synchronize(s->bench.context, s->stream, 0);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        czr_context_free(s->bench.context, taken[i]);
    czr_context_close_stream(s->bench.context, s->stream);
    czr_cuda_stages_close(&s->stages);
    czr_nvrtc_close(s->nvrtc);
    bench_close(&s->bench);
    assert_int_equal(bench_leftovers(), 0);
}

static inline void start(setting *s, unsigned seed)
{
    *s = (setting){.nvrtc = NULL};
    assert_true(plan.n_scalars < MAX_SCALARS / 2 &&
                plan.n_hypers <= MAX_SCALARS);
    srand(seed);
    bench_reset(seed, (int)(seed * 37 % 100));
    fake_share_addresses();
    register_kernels();
#ifdef WITH_FACTORS
    factor_kernels();
#endif
    plain_bodies_register();
    assert_int_equal(bench_open(&s->bench), CZR_OK);
}

#endif
