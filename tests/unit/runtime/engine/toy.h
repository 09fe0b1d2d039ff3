/* A program as a compiler would write it, built by hand: AdamW with clipping
 * on a few tensors, dp x tp ranks, two buckets whose slices are cut anywhere.
 * Gradients have few bits, so that a plain double has the norm exactly. */
#ifndef TESTS_RUNTIME_TOY_H
#define TESTS_RUNTIME_TOY_H

#include "runtime/czr.h"

enum {
    TOY_PARAMS = 4, /* layers.0.w, layers.1.w [6, 8], bias [5], scale [7] */
    TOY_ELEMENTS = 48,
    TOY_MAX_ROWS = 64,
    TOY_OPS = 14,
    TOY_SCALARS = 4,
    TOY_LEAVES = 12 /* over all ranks */
};

typedef struct toy_options {
    int dp, tp;
    czr_dtype dtype; /* of parameters: CZR_F32, or CZR_BF16 with a master */
    czr_dtype grad_dtype;
    double clip;
    int skip;
} toy_options;

typedef struct toy {
    czr_program program;
    int32_t sizes[2];
    czr_pattern patterns[3];
    czr_place places[TOY_PARAMS];
    int64_t slices[2][8];
    czr_bucket buckets[2];
    czr_table tables[4];
    int32_t starts[4][16];
    czr_kernel_entry kernel_rows[2][TOY_MAX_ROWS];
    czr_span_entry span_rows[2][TOY_MAX_ROWS];
    czr_op ops[TOY_OPS];
} toy;

static const char *const names[TOY_PARAMS] = {"layers.0.w", "layers.1.w",
                                              "bias", "scale"};
static const double rates[] = {0.5};
static const czr_hyper hyper = {rates, 1};
static const czr_options quick = {.deadline_ms = 20000};

/* dp ranks, all in f32, clipped, skipping. */
static inline toy_options toy_usual(int dp)
{
    return (toy_options){dp, 1, CZR_F32, CZR_F32, 1, 1};
}

static const int64_t toy_shapes[TOY_PARAMS][2] = {
    {6, 8}, {6, 8}, {5, 1}, {7, 1}};

static inline int toy_is_matrix(int param)
{
    return param < 2;
}

static inline int64_t toy_elements(int param)
{
    return toy_shapes[param][0] * toy_shapes[param][1];
}

/* ---- the rule ----------------------------------------------------------- */

typedef struct toy_scalars {
    float clip, shrink, step, root; /* root: 1 / sqrt(1 - b2^t) */
} toy_scalars;

static inline void toy_prologue(double t, double clip, const double *hypers,
                                float *scalars)
{
    scalars[0] = (float)clip;
    scalars[1] = (float)(1 - hypers[0] * hypers[1]);
    scalars[2] = (float)(hypers[0] / (1 - pow(0.9, t)));
    scalars[3] = (float)(1 / sqrt(1 - pow(0.95, t)));
}

/* One element; states m and v are updated in place. */
static inline float toy_update(float grad, float param, float *m, float *v,
                               const float *scalars)
{
    const float g = grad * scalars[0];

    *m = 0.9f * *m + 0.1f * g;
    *v = 0.95f * *v + 0.05f * (g * g);
    return param * scalars[1] -
           scalars[2] * (*m / (sqrtf(*v) * scalars[3] + 1e-8f));
}

static inline void toy_kernel(const czr_call *call)
{
    const float *grad = call->in[0], *param = call->in[1];
    const float *m_in = call->in[2], *v_in = call->in[3];
    float *m = call->out[0], *v = call->out[1], *out = call->out[2];

    for (size_t i = 0; i < call->count; i++) {
        m[i] = m_in[i];
        v[i] = v_in[i];
        out[i] = toy_update(grad[i], param[i], &m[i], &v[i], call->scalars);
    }
}

static inline void toy_kernel_stored(const czr_call *call)
{
    const float *param = call->out[2];
    czr_bf16 *stored = call->out[3];

    toy_kernel(call);
    for (size_t i = 0; i < call->count; i++)
        stored[i] = czr_f32_to_bf16(param[i]);
}

static const czr_slot toy_in[] = {{CZR_SLOT_GRAD, 0, CZR_F32},
                                  {CZR_SLOT_PARAM, 0, CZR_F32},
                                  {CZR_SLOT_STATE, 0, CZR_F32},
                                  {CZR_SLOT_STATE, 1, CZR_F32}};
static const czr_slot toy_out[] = {{CZR_SLOT_STATE, 0, CZR_F32},
                                   {CZR_SLOT_STATE, 1, CZR_F32},
                                   {CZR_SLOT_PARAM, 0, CZR_F32},
                                   {CZR_SLOT_STORED, 0, CZR_BF16}};
static const uint16_t toy_scalar_numbers[] = {0, 1, 2, 3};
static const czr_stage toy_stages[] = {{"adamw", toy_kernel, toy_in, toy_out,
                                        toy_scalar_numbers, 4, 3, 4, 0, 0, 14},
                                       {"adamw_stored", toy_kernel_stored,
                                        toy_in, toy_out, toy_scalar_numbers, 4,
                                        4, 4, 0, 0, 15}};
static const czr_state_desc toy_state_list[] = {
    {"m", CZR_F32, 0, 0, 0, 0, 0, 0}, {"v", CZR_F32, 0, 0, 0, 0, 0, 0}};
static const czr_states toy_states = {2, toy_state_list, 0, "all"};
static const czr_hyper_desc toy_hypers[] = {{"all", "lr", 0, 0},
                                            {"all", "decay", 0.1, 1}};
static const char *const toy_axes[] = {"dp", "tp"};
static const uint32_t toy_sets[] = {1, 2};

/* ---- tables ------------------------------------------------------------- */

static inline int64_t toy_local(const toy_options *options, int param)
{
    return toy_elements(param) / (toy_is_matrix(param) ? options->tp : 1);
}

/* Kernel and span rows of one bucket: parameters cut by the slices. */
static inline void toy_fill_rows(toy *self, const toy_options *options, int b)
{
    const int kernel = b, span = 2 + b;
    int n_kernel = 0, n_span = 0;

    for (int rank = 0; rank < options->dp * options->tp; rank++) {
        const int dp = rank / options->tp, tp = rank % options->tp;
        self->starts[span][rank] = n_span;
        if (tp == 0)
            self->starts[kernel][dp] = n_kernel;
        for (int param = 0; param < TOY_PARAMS; param++) {
            const czr_place *place = &self->places[param];
            int64_t first = self->slices[b][dp], end = self->slices[b][dp + 1];
            const int64_t last = place->offset + toy_local(options, param);
            first = first < place->offset ? place->offset : first;
            end = end > last ? last : end;
            if (place->bucket != b || end <= first)
                continue;
            if (tp == 0)
                self->kernel_rows[b][n_kernel++] =
                    (czr_kernel_entry){options->dtype == CZR_BF16,
                                       param,
                                       first,
                                       end - first,
                                       -1,
                                       -1,
                                       -1,
                                       -1};
            if (tp == 0 || toy_is_matrix(param))
                self->span_rows[b][n_span++] =
                    (czr_span_entry){param, first, end - first};
        }
    }
    self->starts[kernel][options->dp] = n_kernel;
    self->starts[span][options->dp * options->tp] = n_span;
    self->tables[kernel] = (czr_table){
        CZR_ENTRY_KERNEL, 1, NULL, self->starts[kernel], self->kernel_rows[b]};
    self->tables[span] = (czr_table){CZR_ENTRY_SPAN, 3, NULL,
                                     self->starts[span], self->span_rows[b]};
}

static inline void toy_fill_bucket(toy *self, const toy_options *options, int b)
{
    const int64_t used =
        toy_local(options, 2 * b) + toy_local(options, 2 * b + 1);
    const int64_t length = used + 3; /* padding */

    self->places[2 * b] = (czr_place){b, 0, 0, 0, -1, -1};
    self->places[2 * b + 1] =
        (czr_place){b, 0, toy_local(options, 2 * b), 0, -1, -1};
    for (int i = 0; i <= options->dp; i++) /* uneven, some empty */
        self->slices[b][i] =
            i == options->dp ? length
                             : length * (i * i) / (options->dp * options->dp);
    self->buckets[b] = (czr_bucket){.dtype = options->dtype,
                                    .grad_dtype = options->grad_dtype,
                                    .split_axes = 1,
                                    .n_grads = TOY_LEAVES / options->dp,
                                    .divisor = TOY_LEAVES,
                                    .has_master = options->dtype == CZR_BF16,
                                    .length = length,
                                    .slices = self->slices[b]};
}

/* ---- operations --------------------------------------------------------- */

static inline void toy_fill_ops(toy *self)
{
    static const czr_op ops[TOY_OPS] = {
        {CZR_REDUCE_SCATTER, 1, CZR_SECTION_REDUCE, 1, 0, 0, 0, -1, 0, 0},
        {CZR_REDUCE_SCATTER, 1, CZR_SECTION_REDUCE, 1, 0, 0, 1, -1, 0, 0},
        {CZR_GUARD, 1, CZR_SECTION_RECOVER, 3, 0, 0, -1, -1, 0, 0},
        {CZR_KEEP, 0, CZR_SECTION_RECOVER, 0, 0, 0, -1, -1, 0, 0},
        {CZR_SQUARE_SUM, 0, CZR_SECTION_DECIDE, 0, 0, 0, 0, 2, 2, 0},
        {CZR_SQUARE_SUM, 0, CZR_SECTION_DECIDE, 0, 0, 0, 1, 3, 0, 0},
        {CZR_ALL_REDUCE, 1, CZR_SECTION_DECIDE, 3, 0, 0, -1, -1, 2, 0},
        {CZR_DECIDE, 0, CZR_SECTION_DECIDE, 0, 0, 0, -1, -1, 1, 0},
        {CZR_PROLOGUE, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, -1, 0, 0},
        {CZR_KERNEL, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, 0, 0, 0},
        {CZR_KERNEL, 0, CZR_SECTION_UPDATE, 0, 0, 0, -1, 1, 0, 0},
        {CZR_ALL_GATHER, 1, CZR_SECTION_UPDATE, 1, 0, 0, 0, -1, 2, 0},
        {CZR_ALL_GATHER, 1, CZR_SECTION_UPDATE, 1, 0, 0, 1, -1, 2, 0},
        {CZR_UNDO, 1, CZR_SECTION_RECOVER, 3, 0, 0, -1, -1, 2, 0},
    };
    static const int32_t norm_waits[] = {4, 5}, decide_waits[] = {6},
                         sum_waits[] = {0, 1},
                         gather_waits[2][2] = {{9, 7}, {10, 7}},
                         undo_waits[] = {9, 10};

    memcpy(self->ops, ops, sizeof ops);
    self->ops[4].waits = sum_waits;
    self->ops[6].waits = norm_waits;
    self->ops[7].waits = decide_waits;
    self->ops[11].waits = gather_waits[0];
    self->ops[12].waits = gather_waits[1];
    self->ops[13].waits = undo_waits;
}

static inline void toy_fill_patterns(toy *self)
{
    self->patterns[0] = (czr_pattern){.name = "layers.{0}.w",
                                      .n_indices = 1,
                                      .n_dims = 2,
                                      .extents = {2},
                                      .shape = {6, 8},
                                      .shard = {1 << 1, 0}};
    self->patterns[1] = (czr_pattern){.name = "bias",
                                      .first_param = 2,
                                      .n_dims = 1,
                                      .shape = {5},
                                      .shard = {0}};
    self->patterns[2] = (czr_pattern){.name = "scale",
                                      .first_param = 3,
                                      .n_dims = 1,
                                      .shape = {7},
                                      .shard = {0}};
}

/* dp * leaves is TOY_LEAVES; tp divides 6. */
static inline void toy_init(toy *self, const toy_options *options)
{
    memset(self, 0, sizeof *self);
    self->sizes[0] = options->dp;
    self->sizes[1] = options->tp;
    toy_fill_patterns(self);
    toy_fill_ops(self);
    self->program = (czr_program){
        .abi = CZR_ABI,
        .name = "toy",
        .compiler = "by hand",
        .plan_hash = "0123456789abcdef0123456789abcdef"
                     "0123456789abcdef0123456789abcdef",
        .strict = 1,
        .n_axes = 2,
        .axes = toy_axes,
        .sizes = self->sizes,
        .n_names = 2,
        .names = toy_axes,
        .sets = toy_sets,
        .master_dtype = CZR_F32,
        .clip = options->clip,
        .skip = options->skip,
        .n_hypers = 2,
        .hypers = toy_hypers,
        .n_scalars = TOY_SCALARS,
        .prologue = toy_prologue,
        .n_patterns = 3,
        .patterns = self->patterns,
        .n_params = TOY_PARAMS,
        .places = self->places,
        .n_rules = 1,
        .states = &toy_states,
        .n_buckets = 2,
        .buckets = self->buckets,
        .n_stages = 2,
        .stages = toy_stages,
        .n_tables = 4,
        .tables = self->tables,
        .n_ops = TOY_OPS,
        .ops = self->ops,
    };
    for (int b = 0; b < 2; b++)
        toy_fill_bucket(self, options, b);
    for (int b = 0; b < 2; b++)
        toy_fill_rows(self, options, b);
}

/* Opens an engine, binds all parameters in their places, and seals it. */
static inline czr_status toy_open(const toy *self, czr_world *world,
                                  const czr_options *options,
                                  czr_engine **engine)
{
    czr_status status = czr_open(&self->program, world, options, engine);

    for (int i = 0; i < TOY_PARAMS && status == CZR_OK; i++)
        status = czr_bind(*engine, names[i], NULL, NULL);
    return status == CZR_OK ? czr_seal(*engine) : status;
}

/* ---- values ------------------------------------------------------------- */

/* A few bits that depend on all arguments. */
static inline uint32_t toy_mix(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t x =
        a * 0x9e3779b1u ^ b * 0x85ebca6bu ^ c * 0xc2b2ae35u ^ d * 0x27d4eb2fu;

    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return x ^ x >> 12;
}

/* A multiple of 1 / 16 in (-4, 4): exact in bf16. */
static inline float toy_grad(int param, int64_t element, int leaf, int step)
{
    return ((float)(toy_mix((uint32_t)param, (uint32_t)element, (uint32_t)leaf,
                            (uint32_t)step) %
                    127) -
            63) /
           16;
}

static inline float toy_param(int param, int64_t element)
{
    return ((float)(toy_mix((uint32_t)param, (uint32_t)element, 77, 0) % 255) -
            127) /
           64;
}

/* One global state, updated with no ranks, buckets or engine. */
typedef struct toy_reference {
    float master[TOY_PARAMS][TOY_ELEMENTS];
    float m[TOY_PARAMS][TOY_ELEMENTS], v[TOY_PARAMS][TOY_ELEMENTS];
    double norm;
    int steps;
} toy_reference;

static inline void toy_reference_init(toy_reference *reference)
{
    memset(reference, 0, sizeof *reference);
    for (int param = 0; param < TOY_PARAMS; param++)
        for (int64_t i = 0; i < toy_elements(param); i++)
            reference->master[param][i] = toy_param(param, i);
}

static inline float toy_reduced(int param, int64_t i, int step)
{
    float sum = toy_grad(param, i, 0, step);

    for (int leaf = 1; leaf < TOY_LEAVES; leaf++)
        sum += toy_grad(param, i, leaf, step);
    return sum * (float)(1.0 / TOY_LEAVES);
}

static inline void toy_reference_step(toy_reference *reference, int step,
                                      double limit, double lr)
{
    const double hypers[] = {lr, 0.1};
    float scalars[TOY_SCALARS];
    double squares = 0, clip = 1;

    for (int param = 0; param < TOY_PARAMS; param++)
        for (int64_t i = 0; i < toy_elements(param); i++) {
            const double g = (double)toy_reduced(param, i, step);
            squares += g * g;
        }
    reference->norm = sqrt(squares);
    if (limit > 0 && limit / (reference->norm + 1e-6) < 1)
        clip = limit / (reference->norm + 1e-6);
    toy_prologue((double)++reference->steps, clip, hypers, scalars);
    for (int param = 0; param < TOY_PARAMS; param++)
        for (int64_t i = 0; i < toy_elements(param); i++)
            reference->master[param][i] = toy_update(
                toy_reduced(param, i, step), reference->master[param][i],
                &reference->m[param][i], &reference->v[param][i], scalars);
}

#endif
