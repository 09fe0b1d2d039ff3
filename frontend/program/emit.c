/* Facts from what the front end found out. */
#include "frontend/program/internal.h"

#include "dsl/plan/plan.h"

#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>

typedef struct emitter {
    cz_ir *ir;
    const cz_compilation *compilation;
    cz_arena *arena;
    cz_diags *diags;
    struct lowered {
        int use;
        cz_rule_shape shape;
        const char *symbol; /* NULL: reported */
    } * lowered;
    int n_lowered;
    bool strict;
    cz_reduction *reductions;
    int n_reductions;
    int *reduction_of; /* [choices.n] */
} emitter;

/* ---- program ---- */

/* Each text with its length in front, so that no two lists of texts hash
 * alike. */
static void hash_text(struct sha256_ctx *context, const char *bytes, size_t n)
{
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)n >> (8 * i));
    sha256_update(context, sizeof length, length);
    sha256_update(context, n, (const uint8_t *)bytes);
}

static const char *source_hash(const emitter *e)
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    const cz_compile_options *options = e->compilation->options;
    char *hex = cz_arena_alloc(e->arena, 2 * sizeof digest + 1, 1);

    sha256_init(&context);
    for (int i = 0; i < cz_scope_n_files(e->compilation->scope); i++) {
        const cz_scope_file *file = cz_scope_file_at(e->compilation->scope, i);
        if (file->used)
            hash_text(&context, file->source->bytes, file->source->n);
    }
    if (e->compilation->config)
        hash_text(&context, e->compilation->config->bytes,
                  e->compilation->config->n);
    for (int i = 0; i < options->n_defines; i++)
        hash_text(&context, options->defines[i], strlen(options->defines[i]));
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++) {
        hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    return hex;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The stem of the main file, as a C identifier: it names generated files and
 * symbols. */
static const char *program_name(const emitter *e)
{
    enum { MAX_STEM = 64 };
    const char *file = cz_scope_file_at(e->compilation->scope, 0)->source->name;
    if (strcmp(e->compilation->options->path, "-") == 0)
        return "stdin";
    const char *dot = strrchr(file, '.');
    const size_t n = dot && dot > file ? (size_t)(dot - file) : strlen(file);
    char *name = cz_arena_copy(e->arena, file, n);
    bool good = n <= MAX_STEM && is_letter(name[0]);
    for (size_t i = 0; i < n; i++) {
        if (name[i] == '-' || name[i] == '.')
            name[i] = '_';
        good &= is_letter(name[i]) || (name[i] >= '0' && name[i] <= '9');
    }
    if (good && strncasecmp(name, "czr", 3) != 0)
        return name;
    cz_diag_error(e->diags, CZ_BAD_FILE_NAME, (cz_span){0},
                  "'%s' names generated C: its stem must be letters, digits, "
                  "'_', '-' and '.', with a letter but not 'czr' in front, at "
                  "most %d",
                  file, MAX_STEM);
    return NULL;
}

static bool emit_program(const emitter *e)
{
    cz_fact_program program = {.name = program_name(e), .format = CZ_IR_FORMAT};
    program.strict = e->strict;
    program.compiler = e->compilation->options->compiler;
    program.source_hash = source_hash(e);
    if (program.name)
        cz_ir_add_program(e->ir, &program);
    return program.name != NULL;
}

/* ---- mesh, policy, uses ---- */

/* `master none` says that there is nothing to keep apart. */
static bool check_master(const emitter *e)
{
    const cz_policy *policy = &e->compilation->policy;
    for (int i = 0; i < e->compilation->choices.n && policy->master_none.source;
         i++)
        if (e->compilation->choices.list[i].pattern.dtype != CZ_F32) {
            cz_diag_error(e->diags, CZ_UNSUPPORTED, policy->master_none,
                          "parameters narrower than f32 without a master are "
                          "not supported yet");
            return false;
        }
    return true;
}

/* ---- reductions ---- */

static int find_reduction(emitter *e, const cz_reduction *reduction)
{
    for (int i = 0; i < e->n_reductions; i++)
        if (cz_reduction_equal(&e->reductions[i], reduction))
            return i;
    *CZ_PUSH(e->arena, e->reductions, e->n_reductions) = *reduction;
    return e->n_reductions - 1;
}

static bool find_reductions(emitter *e)
{
    const cz_choices *choices = &e->compilation->choices;
    cz_reduction reduction;
    e->reduction_of = CZ_NEW(e->arena, int, choices->n);
    for (int i = 0; i < choices->n; i++) {
        if (!cz_reduction_find(e->compilation->options, &e->compilation->mesh,
                               &e->compilation->policy, e->strict,
                               &choices->list[i], e->arena, e->diags,
                               &reduction))
            return false;
        e->reduction_of[i] = find_reduction(e, &reduction);
    }
    return true;
}

static cz_ints axes_of(const emitter *e, int64_t set)
{
    int64_t *axes = CZ_NEW(e->arena, int64_t, e->compilation->mesh.n);
    int n = 0;
    for (int a = 0; a < e->compilation->mesh.n; a++)
        if (set >> a & 1)
            axes[n++] = a;
    return (cz_ints){axes, n};
}

static const char *reduction_name(const emitter *e, int number)
{
    return cz_arena_printf(e->arena, "reduction.%d", number);
}

static void emit_reductions(const emitter *e)
{
    for (int i = 0; i < e->n_reductions; i++) {
        const cz_reduction *r = &e->reductions[i];
        const cz_fact_reduction fact = {.sym_name = reduction_name(e, i),
                                        .dtype = r->dtype,
                                        .reduce_axes = axes_of(e, r->reduce),
                                        .split_axes = axes_of(e, r->split),
                                        .n_grads = r->n_grads,
                                        .divisor = r->divisor};
        cz_ir_add_reduction(e->ir, &fact);
    }
}

static void emit_uses(const emitter *e)
{
    for (int i = 0; i < e->compilation->uses.n; i++) {
        const cz_use *use = &e->compilation->uses.list[i];
        const cz_rule_signature *signature = &use->signature;
        const int n = signature->n_hypers;
        const cz_fact_use fact = {.sym_name = use->rule.name,
                                  .optimizer = use->rule.optimizer->text,
                                  .hypers = {signature->hypers, n},
                                  .defaults = {signature->defaults, n},
                                  .has_default = {signature->has_default, n}};
        if (use->taken)
            cz_ir_add_use(e->ir, &fact);
    }
}

/* ---- rules ---- */

static cz_rule_shape rule_shape(const cz_use *use, const cz_pattern *pattern)
{
    cz_rule_shape shape = {.master_dtype = CZ_F32};
    if (use->signature.n_dims < 0)
        return shape;
    shape.n_dims = pattern->n_dims;
    shape.transposed = pattern->transposed;
    /* the rule itself refuses more than two */
    for (int i = 0; i < pattern->n_dims && i < 2; i++)
        shape.shape[i] = pattern->shape[i];
    return shape;
}

static bool same_shape(const cz_rule_shape *a, const cz_rule_shape *b)
{
    return a->n_dims == b->n_dims && a->transposed == b->transposed &&
           a->shape[0] == b->shape[0] && a->shape[1] == b->shape[1];
}

static struct lowered *find_lowered(const emitter *e, int use,
                                    const cz_rule_shape *shape)
{
    for (int i = 0; i < e->n_lowered; i++)
        if (e->lowered[i].use == use && same_shape(&e->lowered[i].shape, shape))
            return &e->lowered[i];
    return NULL;
}

/* Uses in order, so that rules stand as dsl/IR.md says. */
static bool emit_rules(emitter *e, int number)
{
    const cz_use *use = &e->compilation->uses.list[number];
    bool good = true;
    /* what is wrong at one shape is mostly wrong at all */
    for (int i = 0; i < e->compilation->choices.n && good; i++) {
        const cz_choice *choice = &e->compilation->choices.list[i];
        const cz_pattern seen =
            cz_storage_view_pattern(&choice->pattern, choice->view);
        const cz_rule_shape shape = rule_shape(use, &seen);
        if (choice->use != number || find_lowered(e, number, &shape))
            continue;
        struct lowered *lowered = CZ_PUSH(e->arena, e->lowered, e->n_lowered);
        *lowered = (struct lowered){number, shape, NULL};
        good = cz_rule_lower(e->ir, &use->rule, &shape, e->diags,
                             &lowered->symbol);
    }
    return good;
}

/* ---- patterns ---- */

static cz_ints shard_of(const emitter *e, const cz_pattern *pattern)
{
    int64_t *shard = CZ_NEW(e->arena, int64_t, pattern->n_dims);
    for (int i = 0; i < pattern->n_dims; i++)
        shard[i] = pattern->shard[i];
    return (cz_ints){shard, pattern->n_dims};
}

/* How many values of each index a rank has. */
static cz_ints extents_of(const emitter *e, const cz_pattern *pattern)
{
    int64_t *extents = CZ_NEW(e->arena, int64_t, pattern->n_indices);
    for (int i = 0; i < pattern->n_indices; i++)
        extents[i] = pattern->extents[i];
    if (pattern->expert_axes)
        extents[pattern->expert_index] /=
            cz_mesh_extent(&e->compilation->mesh, pattern->expert_axes);
    return (cz_ints){extents, pattern->n_indices};
}

static const char *pattern_symbol(const emitter *e, int number)
{
    return cz_arena_printf(e->arena, "param.%d", number);
}

static void emit_pattern(const emitter *e, int number, const cz_choice *choice)
{
    const cz_pattern *stored = &choice->pattern;
    const cz_pattern pattern = cz_storage_view_pattern(stored, choice->view);
    const cz_use *use = &e->compilation->uses.list[choice->use];
    const cz_rule_shape shape = rule_shape(use, &pattern);
    int64_t resident_axes;
    const cz_ints residents = cz_residents_find(e->arena, &e->compilation->mesh,
                                                &pattern, &resident_axes);
    const cz_fact_pattern fact = {
        .sym_name = pattern_symbol(e, number),
        .name = cz_arena_printf(
            e->arena, "%s%s", cz_pattern_name(e->arena, stored),
            cz_storage_view_suffix(e->arena, stored, choice->view)),
        .first = {pattern.first, pattern.n_indices},
        .extents = extents_of(e, &pattern),
        .shape = {pattern.shape, pattern.n_dims},
        .shard = shard_of(e, &pattern),
        .dtype = stored->dtype,
        .rule = find_lowered(e, choice->use, &shape)->symbol,
        .reduction = reduction_name(e, e->reduction_of[number]),
        .expert_axes = pattern.expert_axes,
        .expert_index = pattern.expert_index,
        .resident_axes = resident_axes,
        .residents = residents,
    };
    cz_ir_add_pattern(e->ir, &fact);
}

/* ---- storage ---- */

/* Tensors that are cut unevenly, as parts or as storage. */
typedef struct uneven_names {
    const char *pattern, *frozen, *storage;
} uneven_names;

/* Where the shards of a part lie along dimension `d`; none where they are
 * equal parts in order of the coordinate. */
static cz_ints bounds_of(const emitter *e, const cz_pattern *stored,
                         cz_storage_view view, int d)
{
    const cz_mesh *mesh = &e->compilation->mesh;
    const cz_pattern seen = cz_storage_view_pattern(stored, view);
    const int64_t size = seen.shape[d - view.batch];
    const int64_t parts = cz_mesh_extent(mesh, stored->shard[d]);
    int64_t map[CZ_MAX_NDIM][3];
    int64_t *bounds = CZ_NEW(e->arena, int64_t, 2 * parts);
    bool equal = size % parts == 0;
    cz_storage_view_map(stored, view, map);
    for (int64_t p = 0; p < parts; p++) {
        int64_t *own = bounds + 2 * p, shard[2];
        cz_chunk_shard(mesh, stored, d, p, shard);
        for (int end = 0; end < 2; end++) {
            own[end] = cz_view_before(map[d], size, shard[end]);
            equal &= own[end] == size / parts * (p + end);
        }
    }
    return (cz_ints){bounds, equal ? 0 : 2 * (int)parts};
}

static void emit_uneven(const emitter *e, const cz_pattern *stored,
                        cz_storage_view view, uneven_names names)
{
    for (int d = view.batch; d < stored->n_dims; d++) {
        const cz_fact_uneven fact = {names.pattern, names.frozen, names.storage,
                                     d - view.batch,
                                     bounds_of(e, stored, view, d)};
        if (fact.bounds.n > 0)
            cz_ir_add_uneven(e->ir, &fact);
    }
}

static void emit_piece(const emitter *e, int number, const char *storage)
{
    const cz_choice *choice = &e->compilation->choices.list[number];
    int64_t map[CZ_MAX_NDIM][3];
    cz_storage_view_map(&choice->pattern, choice->view, map);
    const cz_fact_stored fact = {pattern_symbol(e, number),
                                 storage,
                                 {map[0], 3 * choice->pattern.n_dims},
                                 choice->view.batch};
    cz_ir_add_stored(e->ir, &fact);
}

/* Parts of one cell stand together: its storage comes with the first. */
static void emit_pieces(const emitter *e)
{
    const cz_choices *choices = &e->compilation->choices;
    const char *symbol = NULL;
    for (int i = 0; i < choices->n; i++) {
        const cz_choice *choice = &choices->list[i];
        emit_uneven(e, &choice->pattern, choice->view,
                    (uneven_names){pattern_symbol(e, i), "", ""});
        if (cz_storage_view_is_stored(&choice->pattern, choice->view))
            continue;
        if (i == 0 || choices->list[i - 1].members != choice->members) {
            cz_pattern padded = choice->pattern;
            memcpy(padded.shape, padded.stored, sizeof padded.shape);
            symbol = cz_arena_printf(e->arena, "storage.%d", choice->members);
            const cz_pattern *pattern = &choice->pattern;
            const cz_fact_storage fact = {
                .sym_name = symbol,
                .name = cz_pattern_name(e->arena, pattern),
                .first = {pattern->first, pattern->n_indices},
                .extents = extents_of(e, pattern),
                .shape = {pattern->stored, pattern->n_dims},
                .shard = shard_of(e, pattern),
                .dtype = pattern->dtype,
                .expert_axes = pattern->expert_axes,
                .expert_index = pattern->expert_index,
            };
            cz_ir_add_storage(e->ir, &fact);
            emit_uneven(e, &padded, cz_storage_view_all(),
                        (uneven_names){"", "", symbol});
        }
        emit_piece(e, i, symbol);
    }
}

static void emit_frozen(const emitter *e, int number, const cz_pattern *pattern)
{
    const cz_fact_frozen fact = {
        .sym_name = cz_arena_printf(e->arena, "frozen.%d", number),
        .name = cz_pattern_name(e->arena, pattern),
        .first = {pattern->first, pattern->n_indices},
        .extents = {pattern->extents, pattern->n_indices},
        .shape = {pattern->shape, pattern->n_dims},
        .shard = shard_of(e, pattern),
        .dtype = pattern->dtype,
    };
    cz_ir_add_frozen(e->ir, &fact);
    emit_uneven(e, pattern, cz_storage_view_all(),
                (uneven_names){"", fact.sym_name, ""});
}

/* The part of its pattern that has the parameter is named param.N. */
static void emit_tie(const emitter *e, const cz_tie *tie)
{
    int64_t index[CZ_MAX_INDICES] = {0};
    int i = 0;
    while (!cz_tie_finds(tie, &e->compilation->choices.list[i].pattern, index))
        i++;
    const cz_choice *target = &e->compilation->choices.list[i];
    const cz_pattern seen =
        cz_storage_view_pattern(&target->pattern, target->view);
    const cz_fact_tie fact = {
        .name = cz_pattern_name(e->arena, &tie->names),
        .first = {tie->names.first, tie->names.n_indices},
        .extents = {tie->names.extents, tie->names.n_indices},
        .pattern = pattern_symbol(e, i),
        .index = {index, seen.n_indices},
    };
    cz_ir_add_tie(e->ir, &fact);
}

bool cz_emit(cz_ir *ir, const cz_compilation *compilation, cz_arena *arena,
             cz_diags *diags)
{
    emitter e = {
        .ir = ir, .compilation = compilation, .arena = arena, .diags = diags};
    e.strict = compilation->options->strict || compilation->policy.strict;
    bool good = check_master(&e) && find_reductions(&e) && emit_program(&e);
    if (!good)
        return false;
    const cz_mesh *mesh = &e.compilation->mesh;
    const cz_fact_mesh fact = {.axes = {mesh->axes, mesh->n},
                               .sizes = {mesh->sizes, mesh->n},
                               .names = {mesh->names, mesh->n_names},
                               .sets = {mesh->sets, mesh->n_names}};
    cz_ir_add_mesh(e.ir, &fact);
    cz_ir_add_policy(ir, &compilation->policy.fact);
    const cz_machine_given *machine = &e.compilation->machine;
    cz_ir_add_machine(e.ir, &machine->fact);
    for (int i = 0; i < machine->n_timings; i++)
        cz_ir_add_timing(e.ir, &machine->timings[i]);
    for (int i = 0; i < machine->n_uneven_reduces; i++)
        cz_ir_add_uneven_reduce(e.ir, &machine->uneven_reduces[i]);
    emit_reductions(&e);
    emit_uses(&e);
    for (int i = 0; i < compilation->uses.n; i++)
        good &= emit_rules(&e, i);
    for (int i = 0; i < compilation->choices.n && good; i++)
        emit_pattern(&e, i, &compilation->choices.list[i]);
    if (good) {
        cz_stagger_emit(ir, arena, &compilation->choices);
        const cz_model *model = &e.compilation->model;
        for (int i = 0, n = 0; i < model->n; i++)
            if (model->patterns[i].frozen)
                emit_frozen(&e, n++, &model->patterns[i]);
        for (int i = 0; i < model->n_ties; i++)
            emit_tie(&e, &model->ties[i]);
        emit_pieces(&e);
    }
    return good;
}
