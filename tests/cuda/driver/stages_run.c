/* Every stage of a plan on the double of the driver, whose launches run the
 * bodies of NAME.cu on the model of the device: results have the bits that the
 * stage of NAME.c makes, a step that is skipped writes nothing, and what is not
 * finite is told.  PROGRAM is NAME; cz_double_program made it.
 *
 * stages_run [TRIALS [SEED [STAGE...]]]: without stages of these numbers, whose
 * bits are not those of C. */
#include "runtime/cuda/stage.h"
#include "runtime/product.h"
#include "runtime/program.h"
#include "tests/cuda/driver/bench.h"
#include "tests/cuda/driver/plain_bodies.h"

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

enum { MAX_SLOTS = 64, MAX_SCALARS = 4096, SPARE = 1 << 14, ALIGN = 256 };

static int trials = 2;
static unsigned first_seed = 1;
static bool is_left_out[UINT16_MAX];
static int n_failed; /* calls whose operands have no factors */

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

static size_t place_of(const layout *l, czr_slot slot)
{
    for (int i = 0; i < l->n; i++)
        if (l->slots[i].kind == slot.kind && l->slots[i].index == slot.index)
            return l->at[i];
    return 0;
}

static void add_slots(layout *l, const czr_slot *slots, int n)
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

static layout lay_out(const czr_stage *stage, const czr_kernel_row *row)
{
    layout l = {.elements = (size_t)row->count + SPARE};

    add_slots(&l, stage->in, stage->n_in);
    add_slots(&l, stage->out, stage->n_out);
    assert_true(l.n < MAX_SLOTS);
    l.work = l.bytes;
    l.bytes += (size_t)plan.arena_bytes[0] + SPARE;
    return l;
}

static double draw(czr_slot_kind kind)
{
    const double x = (rand() % 200001) / 100000.0;
    const bool is_signed = kind == CZR_SLOT_GRAD || kind == CZR_SLOT_PARAM ||
                           kind == CZR_SLOT_GATHER;

    return is_signed ? x - 1 : x;
}

static void put(unsigned char *to, czr_dtype dtype, size_t i, double x)
{
    const float f = (float)x;
    const czr_bf16 b = czr_f32_to_bf16(f);

    if (dtype == CZR_F64)
        memcpy(to + i * sizeof x, &x, sizeof x);
    else if (dtype == CZR_F32)
        memcpy(to + i * sizeof f, &f, sizeof f);
    else
        memcpy(to + i * sizeof b, &b, sizeof b);
}

static double get(const unsigned char *from, czr_dtype dtype, size_t i)
{
    double x;
    float f;
    czr_bf16 b;

    memcpy(&x, from + i * (dtype == CZR_F64 ? sizeof x : 0), sizeof x);
    memcpy(&f, from + i * (dtype == CZR_F32 ? sizeof f : 0), sizeof f);
    memcpy(&b, from + i * sizeof b, sizeof b);
    return dtype == CZR_F64 ? x : dtype == CZR_F32 ? f : czr_bf16_to_f32(b);
}

/* A NaN in the first gradient where is_wild. */
static unsigned char *draw_memory(const layout *l, bool is_wild)
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

static czr_status run_host(const setting *s, const layout *l, int stage,
                           czr_kernel body, const czr_kernel_row *row,
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
                     .part = (size_t)row->offset,
                     .work = memory + l->work,
                     .math = &math.math,
                     .status = &status});
    czr_host_math_close(&math);
    return status;
}

/* Flags on the device: the status, and whether to skip. */
static czr_status run_device(setting *s, const layout *l, int stage,
                             czr_cuda_stage body, const czr_kernel_row *row,
                             unsigned char *memory, int32_t flags[2])
{
    const czr_stage *of = &plan.stages[stage];
    czr_context *context = s->bench.context;
    const void *in[MAX_SLOTS];
    void *out[MAX_SLOTS];
    const float *scalars[MAX_SCALARS];

    for (int i = 0; i < of->n_in; i++)
        in[i] = czr_pointer_of(s->memory + place_of(l, of->in[i]));
    for (int i = 0; i < of->n_out; i++)
        out[i] = czr_pointer_of(s->memory + place_of(l, of->out[i]));
    for (int i = 0; i < of->n_scalars; i++)
        scalars[i] = czr_pointer_of(s->scalars + of->scalars[i] % MAX_SCALARS *
                                                     sizeof(float));
    const czr_cuda_call call = {.in = in,
                                .out = out,
                                .scalars = scalars,
                                .count = (size_t)row->count,
                                .part = (size_t)row->offset,
                                .work = czr_pointer_of(s->memory + l->work),
                                .room = czr_pointer_of(s->room),
                                .status = czr_pointer_of(s->flags),
                                .skip =
                                    czr_pointer_of(s->flags + sizeof(int32_t)),
                                .stream = s->stream,
                                .stages = &s->stages};
    const size_t bytes = 2 * sizeof *flags;
    czr_status status = czr_context_copy(
        context, s->memory, czr_address_of(memory), l->bytes, s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, s->flags, czr_address_of(flags),
                                  bytes, s->stream);
    if (status == CZR_OK)
        status = body(&call);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(memory), s->memory,
                                  l->bytes, s->stream);
    if (status == CZR_OK)
        status = czr_context_copy(context, czr_address_of(flags), s->flags,
                                  bytes, s->stream);
    return status == CZR_OK ? czr_context_synchronize(context, s->stream, 0)
                            : status;
}

/* ---- opening ------------------------------------------------------------ */

static size_t memory_needed(void)
{
    size_t most = 0;

    for (int t = 0; t < plan.n_tables; t++) {
        const czr_kernel_row *rows = plan.tables[t].rows;
        const int n = czr_program_extent(&plan, plan.tables[t].selector);
        for (int i = 0; plan.tables[t].kind == CZR_ROW_KERNEL &&
                        i < plan.tables[t].starts[n];
             i++) {
            const size_t bytes =
                lay_out(&plan.stages[rows[i].stage], &rows[i]).bytes;
            most = bytes > most ? bytes : most;
        }
    }
    return most;
}

/* The step's scalars by both; doubles lie as t, clip and hyperparameters. */
static czr_status make_scalars(setting *s)
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
    if (status == CZR_OK)
        assert_memory_equal(made, s->host_scalars, sizeof made);
    return status;
}

static czr_status take(setting *s)
{
    const struct {
        czr_address *address;
        size_t bytes;
    } wanted[] = {
        {&s->memory, memory_needed()},
        {&s->room, czr_cuda_stages_room(&s->stages) + 1},
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

static czr_status open_setting(setting *s, const czr_cuda_program *of)
{
    char message[CZR_NVRTC_MESSAGE];

    if (czr_nvrtc_open(NVRTC_PATH, &s->nvrtc, message) != CZR_NVRTC_OK)
        fail_msg("%s", message);
    czr_status status =
        czr_cuda_stages_open(s->bench.context, NULL, s->nvrtc, of, &s->stages);
    if (status == CZR_OK)
        status = take(s);
    return status == CZR_OK ? make_scalars(s) : status;
}

static void close_setting(setting *s)
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

static void start(setting *s, unsigned seed)
{
    *s = (setting){.nvrtc = NULL};
    assert_true(plan.n_scalars < MAX_SCALARS / 2 &&
                plan.n_hypers <= MAX_SCALARS);
    srand(seed);
    bench_reset(seed, (int)(seed * 37 % 100));
    fake_share_addresses();
    register_kernels();
    plain_bodies_register();
    eigen_bodies_register();
    assert_int_equal(bench_open(&s->bench), CZR_OK);
}

/* ---- tests -------------------------------------------------------------- */

static void compare(const layout *l, int stage, const unsigned char *mine,
                    const unsigned char *wanted)
{
    const czr_stage *of = &plan.stages[stage];

    for (int o = 0; o < of->n_out; o++) {
        const czr_dtype dtype = (czr_dtype)of->out[o].dtype;
        const size_t at = place_of(l, of->out[o]);
        for (size_t i = 0; i < l->elements; i++) {
            const double x = get(mine + at, dtype, i);
            const double y = get(wanted + at, dtype, i);
            if ((x == y && !signbit(x) == !signbit(y)) || (x != x && y != y))
                continue;
            fail_msg("%s, output %d, element %zu: %.9g, C says %.9g", of->name,
                     o, i, x, y);
        }
    }
}

static void test_body(setting *s, const czr_kernel_row *row, czr_kernel body,
                      czr_cuda_stage mine, bool is_wild)
{
    const layout l = lay_out(&plan.stages[row->stage], row);
    unsigned char *wanted = draw_memory(&l, is_wild), *got = malloc(l.bytes);
    unsigned char *untouched = malloc(l.bytes);
    int32_t flags[2] = {CZR_OK, 0}, skips[2] = {CZR_OK, 1};

    assert_non_null(got);
    assert_non_null(untouched);
    memcpy(got, wanted, l.bytes);
    memcpy(untouched, wanted, l.bytes);
    if (run_device(s, &l, row->stage, mine, row, untouched, skips) != CZR_OK)
        fail_msg("%s", s->bench.context->error);
    assert_memory_equal(untouched, wanted, l.bytes);
    assert_int_equal(skips[0], CZR_OK);
    const czr_status status = run_host(s, &l, row->stage, body, row, wanted);
    const czr_status failure =
        run_device(s, &l, row->stage, mine, row, got, flags);
    if (s->bench.context->error[0])
        fail_msg("%s", s->bench.context->error);
    /* A factorisation by the host ends the call. */
    assert_int_equal(failure == CZR_OK ? flags[0] : (int)failure, status);
    n_failed += status != CZR_OK && status != CZR_ERR_PARAM;
    if (status == CZR_OK || status == CZR_ERR_PARAM)
        compare(&l, row->stage, got, wanted);
    free(untouched);
    free(got);
    free(wanted);
}

static void test_row(setting *s, const czr_kernel_row *row, bool is_wild)
{
    const czr_cuda_stage *bodies =
        plan_cuda.variants ? plan_cuda.variants[row->stage] : NULL;
    const int n = bodies ? plan.variants[row->stage].phases->n_phases : 0;

    test_body(s, row, plan.stages[row->stage].run, plan_cuda.stages[row->stage],
              is_wild);
    for (int i = 0; i < n; i++)
        test_body(s, row, plan.variants[row->stage].run[i], bodies[i], is_wild);
}

/* A row of each stage, of whatever rank has one. */
static void test_table(setting *s, int table, int rank, bool is_wild,
                       bool *is_tested)
{
    const czr_range range = czr_program_rows(&plan, table, rank);
    const czr_kernel_row *rows = plan.tables[table].rows;

    for (int64_t i = 0;
         plan.tables[table].kind == CZR_ROW_KERNEL && i < range.n; i++) {
        const czr_kernel_row *row = &rows[range.first + i];
        if (!is_tested[row->stage] && !is_left_out[row->stage])
            test_row(s, row, is_wild);
        is_tested[row->stage] = true;
    }
}

static void test_all(setting *s, bool is_wild)
{
    bool *is_tested = calloc((size_t)plan.n_stages, sizeof *is_tested);

    assert_non_null(is_tested);
    for (int t = 0; t < plan.n_tables; t++)
        for (int rank = 0; rank < czr_program_ranks(&plan); rank++)
            test_table(s, t, rank, is_wild, is_tested);
    for (int i = 0; i < plan.n_stages; i++)
        if (!is_tested[i])
            fail_msg("%s has no row", plan.stages[i].name);
    free(is_tested);
}

static void computes_what_c_does(void **state)
{
    (void)state;
    for (int i = 0; i < trials; i++) {
        const unsigned seed = first_seed + (unsigned)i;
        setting s;
        print_message("seed %u\n", seed);
        start(&s, seed);
        if (open_setting(&s, &plan_cuda) != CZR_OK)
            fail_msg("%s", s.bench.context->error);
        n_failed = 0;
        test_all(&s, i % 2);
        print_message("%d of %d stages and their variants fail\n", n_failed,
                      plan.n_stages);
        close_setting(&s);
    }
}

static void fails_cleanly_at_every_call(void **state)
{
    int64_t n = 0;

    (void)state;
    for (bool has_failed = true; has_failed; n++) {
        setting s;
        start(&s, first_seed);
        fake_fail(NULL, n + 1, CZR_CUDA_OUT_OF_MEMORY);
        const czr_status status = open_setting(&s, &plan_cuda);
        has_failed = fake_has_failed();
        /* What only gives back fails for the context alone. */
        assert_int_equal(has_failed ? s.bench.context->status : status,
                         has_failed ? CZR_ERR_NO_MEMORY : CZR_OK);
        assert_true(has_failed || !s.bench.context->error[0]);
        close_setting(&s);
    }
    print_message("%d calls failed in turn\n", (int)n - 1);
    assert_true(n > plan_cuda.n_kernels);
}

/* Also where a plan and its kernels do not fit together. */
static void names_what_is_missing(void **state)
{
    const czr_cuda_kernel nobody = {"nobody", NULL, 0, CZR_CUDA_RUN,
                                    1,        4,    1, 1};
    czr_cuda_program odd = plan_cuda;
    setting s;

    (void)state;
    odd.kernels = &nobody;
    odd.n_kernels = 1;
    start(&s, first_seed);
    assert_int_equal(open_setting(&s, &odd), CZR_ERR_DEVICE_CODE);
    assert_non_null(strstr(s.bench.context->error, "kernel nobody"));
    close_setting(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_what_c_does),
        cmocka_unit_test(fails_cleanly_at_every_call),
        cmocka_unit_test(names_what_is_missing),
    };

    if (argc > 1)
        trials = atoi(argv[1]);
    if (argc > 2)
        first_seed = (unsigned)atoi(argv[2]);
    for (int i = 3; i < argc; i++)
        is_left_out[(uint16_t)atoi(argv[i])] = true;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
