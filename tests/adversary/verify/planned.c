/* What both tests of the verifier do with a program. */
#include "tests/adversary/verify/planned.h"

#include "dsl/plan/build/build.h"
#include "dsl/plan/state.h"
#include "frontend/program/compile.h"
#include "passes/gpu/gpu.h"
#include "passes/passes.h"
#include "tests/adversary/verify/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The third is the first at which what comes every other update comes again. */
enum { N_STEPS = 3, DEADLINE_MS = 10000 };

/* What is rounded otherwise: bf16, and f32 a few times. */
static const double NEAR_HALF = 0x1p-7, NEAR = 0x1p-18;

/* Shards of a dimension cut to n parts, dealt out from a random one on; some
 * without elements are likely. */
static cz_ints random_bounds(cz_arena *arena, randoms *r, int64_t n,
                             int64_t size)
{
    int64_t *bounds = CZ_NEW(arena, int64_t, 2 * n);
    const int64_t from = draw(r, n);
    int64_t first = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t *own = bounds + 2 * ((from + i) % n);
        own[0] = first;
        own[1] = first = i < n - 1 ? draw_in(r, first, size) : size;
    }
    return (cz_ints){bounds, 2 * (int)n};
}

/* Padding has cut it, or the tensor that holds it has. */
static bool is_cut(cz_ir *ir, cz_arena *arena, const char *pattern)
{
    int n_pieces, n_uneven;
    const cz_fact_stored *pieces = cz_ir_read_stored(ir, arena, &n_pieces);
    const cz_fact_uneven *uneven = cz_ir_read_uneven(ir, arena, &n_uneven);

    for (int i = 0; i < n_pieces; i++)
        if (strcmp(pieces[i].pattern, pattern) == 0)
            return true;
    for (int i = 0; i < n_uneven; i++)
        if (strcmp(uneven[i].pattern, pattern) == 0)
            return true;
    return false;
}

static int64_t parts_of(const cz_fact_mesh *mesh, int64_t set)
{
    int64_t parts = 1;
    for (int a = 0; a < mesh->sizes.n; a++)
        parts *= set >> a & 1 ? mesh->sizes.v[a] : 1;
    return parts;
}

/* Give about half of the patterns that one axis cuts uneven shards. */
static void make_uneven(cz_ir *ir, cz_arena *arena, uint64_t seed)
{
    int n, n_meshes;
    randoms r = {seed};
    const cz_fact_mesh *mesh = cz_ir_read_mesh(ir, arena, &n_meshes);
    const cz_fact_pattern *patterns = cz_ir_read_pattern(ir, arena, &n);

    draw(&r, 2);
    for (int f = 0; f < n; f++) {
        int64_t parts = 1, dim = 0;
        for (int d = 0; d < patterns[f].shard.n; d++)
            if (patterns[f].shard.v[d] > 0) {
                parts = parts_of(mesh, patterns[f].shard.v[d]);
                dim = d;
            }
        if (parts == 1 || chance(&r, 2) ||
            is_cut(ir, arena, patterns[f].sym_name))
            continue;
        const cz_fact_uneven fact = {
            patterns[f].sym_name, "", "", dim,
            random_bounds(arena, &r, parts, patterns[f].shape.v[dim])};
        cz_ir_add_uneven(ir, &fact);
    }
}

/* Another home for about two of three patterns, over axes that nothing else of
 * a plan uses: some coordinates of them, never all. */
static cz_ints random_home(cz_arena *arena, randoms *r, int64_t extent)
{
    int64_t *home = CZ_NEW(arena, int64_t, extent);
    const int64_t left_out = draw(r, extent);
    int n = 0;

    for (int64_t c = 0; c < extent; c++)
        if (c != left_out && chance(r, 2))
            home[n++] = c;
    if (n == 0)
        home[n++] = left_out;
    return (cz_ints){home, n};
}

static const char *storage_of(const cz_fact_stored *pieces, int n,
                              const char *pattern)
{
    for (int i = 0; i < n; i++)
        if (strcmp(pieces[i].pattern, pattern) == 0)
            return pieces[i].storage;
    return pattern;
}

/* Families resident on some coordinates of the axis `name`, those of one stored
 * tensor alike. */
static void make_homes(cz_ir *ir, cz_arena *arena, const char *name,
                       uint64_t seed)
{
    int n, n_meshes, n_pieces, axis = 0;
    const cz_fact_mesh *mesh = cz_ir_read_mesh(ir, arena, &n_meshes);
    const cz_fact_pattern *patterns = cz_ir_read_pattern(ir, arena, &n);
    const cz_fact_stored *pieces = cz_ir_read_stored(ir, arena, &n_pieces);

    while (axis < mesh->axes.n && strcmp(mesh->axes.v[axis], name) != 0)
        axis++;
    if (axis == mesh->axes.n || mesh->sizes.v[axis] == 1)
        return;
    for (int f = 0; f < n; f++) {
        cz_fact_pattern fact = patterns[f];
        randoms r = {seed};
        for (const char *c = storage_of(pieces, n_pieces, fact.sym_name); *c;
             c++)
            r.state = r.state * 31u + (unsigned char)*c;
        draw(&r, 2);
        if (chance(&r, 3))
            continue;
        fact.resident_axes = (int64_t)1 << axis;
        fact.residents = random_home(arena, &r, mesh->sizes.v[axis]);
        cz_ir_replace_pattern(ir, f, &fact);
    }
}

/* The module of a text; NULL: see diags. */
static cz_ir *compile(planned *p, const char *text, cz_compile_options options)
{
    cz_text source = {0};

    cz_arena_init(&p->arena);
    cz_diags_init(&p->diags, &p->arena);
    p->view = NULL;
    cz_text_puts(&source, text);
    options.path = "random.cz";
    options.compiler = "test";
    options.text = &source;
    while (options.defines && options.defines[options.n_defines])
        options.n_defines++;
    cz_ir *ir = cz_compile(&p->arena, &options, &p->diags);
    cz_text_fini(&source);
    return ir;
}

void planned_open(planned *p, const char *text, const char *const *defines,
                  int64_t microbatches, uint64_t uneven)
{
    cz_ir *ir = compile(p, text,
                        (cz_compile_options){.defines = defines,
                                             .strict = true,
                                             .microbatches = microbatches});

    if (ir && uneven)
        make_uneven(ir, &p->arena, uneven);
    if (ir)
        make_homes(ir, &p->arena, "cp", uneven + 1);
    if (ir && cz_passes_run(ir, NULL, &p->diags))
        p->view = cz_plan_view_build(&p->arena, ir, &p->diags);
    cz_ir_close(ir);
}

void planned_open_gpu(planned *p, const char *text)
{
    cz_ir *ir = compile(p, text, (cz_compile_options){0});

    if (ir && cz_passes_run(ir, "schedule", &p->diags) &&
        cz_gpu_target(ir, "", &p->diags) && cz_passes_gpu(ir, NULL, &p->diags))
        p->view = cz_plan_view_build(&p->arena, ir, &p->diags);
    cz_ir_close(ir);
}

bool planned_is_shared(const cz_plan_view *view)
{
    for (int i = 0; view && i < view->n_params; i++)
        if (view->params[i].subgroup_size > 1)
            return true;
    return false;
}

static bool adds_bf16(const cz_view_table *table)
{
    const int64_t n =
        table->kind == CZ_ENTRY_SUM ? table->starts[table->n_coordinates] : 0;

    for (int64_t i = 0; i < n; i++)
        if (table->rows.sum[i].how != CZ_EXCHANGE_GATHER &&
            table->rows.sum[i].width == cz_dtype_bytes(CZ_BF16))
            return true;
    return false;
}

bool planned_is_narrow(const cz_plan_view *view)
{
    for (int i = 0; view && i < view->n_tables; i++)
        if (adds_bf16(&view->tables[i]))
            return true;
    return false;
}

bool planned_has_whole_states(const cz_plan_view *view)
{
    for (int f = 0; view && f < view->n_patterns; f++) {
        const cz_fact_rule *rule = view->rules[view->patterns[f].rule].fact;
        for (int k = 0; k < rule->states.n; k++)
            if (cz_state_is_owned(rule, k))
                return true;
    }
    return false;
}

bool planned_has_strides(const cz_plan_view *view)
{
    for (int i = 0; view && i < view->n_params; i++)
        if (view->params[i].stride > 1)
            return true;
    return false;
}

bool planned_can_share(planned *p, const char *text, int64_t microbatches,
                       uint64_t uneven, bool in_pairs)
{
    static const char *const gram[] = {"tp_strategy=gram", NULL};
    static const char *const pairs[] = {"tp_strategy=gram", "tp_subgroup=2",
                                        NULL};

    planned_open(p, text, in_pairs ? pairs : gram, microbatches, uneven);
    if (in_pairs ? planned_has_strides(p->view) : planned_is_shared(p->view))
        return true;
    planned_close(p);
    return false;
}

void planned_open_shared(planned *p, const char *text, int64_t microbatches,
                         uint64_t uneven, bool in_pairs)
{
    if (!(in_pairs && planned_can_share(p, text, microbatches, uneven, true)) &&
        !planned_can_share(p, text, microbatches, uneven, false))
        planned_open(p, text, NULL, microbatches, uneven);
}

void planned_close(planned *p)
{
    cz_arena_fini(&p->arena);
}

void planned_print(const planned *p, const char *text)
{
    cz_text out = {0};

    cz_diags_print(&p->diags, &out, false);
    printf("%s\n%s\n", text, cz_text_string(&out));
    cz_text_fini(&out);
}

czr_status planned_run(const cz_plan_view *view, const czr_program *program,
                       int64_t microbatches, bool late_device, cz_arena *arena,
                       cz_run_result *result)
{
    const cz_run_request request = {.view = view,
                                    .program = program,
                                    .seed = 1,
                                    .steps = N_STEPS,
                                    .microbatches = (int)microbatches,
                                    .deadline_ms = DEADLINE_MS,
                                    .late_device = late_device};

    return cz_run_ranks(&request, arena, result);
}

/* Element i of a tensor whose elements have so many bytes: f32, or bf16. */
static double element(const cz_run_tensor *tensor, int64_t bytes, int64_t i)
{
    const bool is_half = bytes == 2;
    uint32_t bits = 0;
    float value;

    memcpy((unsigned char *)&bits + (is_half ? 2 : 0),
           tensor->bytes + i * bytes, (size_t)bytes);
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static bool is_near(const cz_run_tensor *a, const cz_run_tensor *b,
                    int64_t bytes)
{
    for (int64_t i = 0; i < a->n_bytes / bytes; i++) {
        const double x = element(a, bytes, i), y = element(b, bytes, i);
        if (!(fabs(x - y) <= (bytes == 2 ? NEAR_HALF : NEAR) * (1.0 + fabs(x))))
            return false;
    }
    return true;
}

bool planned_is_near(const cz_plan_view *view, const cz_run_result *a,
                     const cz_run_result *b)
{
    if (a->n_tensors != b->n_tensors || a->replica_mismatches ||
        b->replica_mismatches)
        return false;
    for (int i = 0; i < a->n_tensors; i++) {
        const cz_run_tensor *tensor = &a->tensors[i];
        int64_t n = 0;
        for (int p = 0; p < view->n_params; p++)
            if (strcmp(view->params[p].name, tensor->name) == 0)
                n = view->patterns[view->params[p].pattern].elements;
        if (tensor->n_bytes != b->tensors[i].n_bytes ||
            !is_near(tensor, &b->tensors[i], tensor->n_bytes == 2 * n ? 2 : 4))
            return false;
    }
    return true;
}

bool planned_same_bits(const cz_run_result *a, const cz_run_result *b)
{
    if (a->n_tensors != b->n_tensors || a->replica_mismatches ||
        b->replica_mismatches ||
        memcmp(a->norms, b->norms, N_STEPS * sizeof *a->norms) != 0)
        return false;
    for (int i = 0; i < a->n_tensors; i++)
        if (a->tensors[i].n_bytes != b->tensors[i].n_bytes ||
            memcmp(a->tensors[i].bytes, b->tensors[i].bytes,
                   (size_t)a->tensors[i].n_bytes) != 0)
            return false;
    return true;
}
