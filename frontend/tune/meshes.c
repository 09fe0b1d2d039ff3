/* Which meshes there are, and what none of their plans is below: from a few
 * compilations without a plan, each on one axis alone. */
#include "frontend/tune/internal.h"

#include <stdlib.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "passes/cost/op_time.h"

/* ---- which sizes an axis may have ---- */

static const cz_compiled_model *compile_on(cz_tune_space *s,
                                           const int64_t *mesh, cz_diags *diags)
{
    cz_compiled_model *out = CZ_NEW(s->arena, cz_compiled_model, 1);
    cz_tune_candidate candidate = {.bound_ps = 0};
    cz_text text = {0};
    memcpy(candidate.mesh, mesh, sizeof candidate.mesh);
    cz_tune_text(s->arena, s->source, s->file, &candidate, s->has_experts,
                 &text);
    const cz_text kept = {
        cz_arena_copy(s->arena, cz_text_string(&text), text.n), text.n, text.n};
    cz_text_fini(&text);
    const cz_compile_options compile = {.path = s->options->path,
                                        .text = &kept,
                                        .defines = s->options->defines,
                                        .n_defines = s->options->n_defines,
                                        .allowed = s->options->allowed};
    return cz_compile_model(s->arena, &compile, diags, out) ? out : NULL;
}

static const int64_t one_rank[CZ_TUNE_N_AXES] = {1, 1, 1, 1, 1, 1, 1, 1};

/* A mesh with one axis, and what of the others that takes. */
static void set_axis(int64_t *mesh, int axis, int64_t size)
{
    memcpy(mesh, one_rank, sizeof one_rank);
    mesh[axis] = size;
    if (axis == CZ_TUNE_EP || axis == CZ_TUNE_ETP)
        mesh[CZ_TUNE_DP] = size;
    else if (axis != CZ_TUNE_PP)
        mesh[CZ_TUNE_EDP] = size;
}

/* Whether the model says something of the axis. */
static bool is_cut(const cz_compiled_model *m, const cz_pattern *p, int axis)
{
    int64_t set = 0, shard = 0;
    cz_mesh_find(&m->mesh, cz_mesh_name(axis), &set);
    for (int d = 0; d < p->n_dims; d++)
        shard |= p->shard[d];
    return axis == CZ_TUNE_PP   ? p->residents != 0
           : axis == CZ_TUNE_EP ? ((p->expert_axes | shard) & set) != 0
                                : (shard & set) != 0;
}

static bool knows(const cz_tune_space *s, const cz_compiled_model *m, int axis)
{
    bool is_known = axis == CZ_TUNE_DP   ? s->base.sums_dp
                    : axis == CZ_TUNE_CP ? s->base.sums_cp
                                         : false;
    for (int i = 0; i < m->model.n && axis != CZ_TUNE_DP && axis != CZ_TUNE_CP;
         i++)
        is_known |= is_cut(m, &m->model.patterns[i], axis);
    return is_known;
}

static const cz_compiled_model *try_size(cz_tune_space *s, int axis,
                                         int64_t size)
{
    int64_t mesh[CZ_TUNE_N_AXES];
    cz_diags diags;
    cz_diags_init(&diags, s->arena);
    set_axis(mesh, axis, size);
    const cz_compiled_model *m = compile_on(s, mesh, &diags);
    return m && knows(s, m, axis) ? m : NULL;
}

static void find_sizes(cz_tune_space *s, int axis,
                       const cz_compiled_model **smallest)
{
    const bool is_of_data = axis == CZ_TUNE_DP || axis == CZ_TUNE_EDP;
    *CZ_PUSH(s->arena, s->sizes[axis], s->n_sizes[axis]) = 1;
    *smallest = NULL;
    for (int64_t size = 2; size <= s->options->n_ranks; size++) {
        const cz_compiled_model *m = NULL;
        if (s->options->n_ranks % size != 0 ||
            (axis == CZ_TUNE_PP && size > CZ_MAX_STAGES))
            continue;
        if (is_of_data ? axis == CZ_TUNE_EDP || s->base.sums_dp
                       : (m = try_size(s, axis, size)) != NULL)
            *CZ_PUSH(s->arena, s->sizes[axis], s->n_sizes[axis]) = size;
        if (!*smallest)
            *smallest = m;
    }
    s->is_known[axis] = s->n_sizes[axis] > 1;
}

/* ---- parameters ---- */

/* The pattern of the base that has this member of another one. */
static int find_pattern(const cz_compiled_model *base, const cz_pattern *p)
{
    for (int i = 0; i < base->model.n; i++)
        if (cz_pattern_overlaps(&base->model.patterns[i], p))
            return i;
    return -1;
}

static const char *name_of(cz_arena *arena, const cz_pattern *p,
                           const int64_t *index)
{
    const char *words[CZ_MAX_WORDS], *name = "";
    cz_pattern_words(arena, p, index, words);
    for (int i = 0; i < p->n_words; i++)
        name =
            cz_arena_printf(arena, "%s%s%s", name, *name ? "." : "", words[i]);
    return name;
}

/* What single axes do to a pattern. */
typedef struct cuts {
    int cut_by[CZ_DOCUMENT_DIMS];
    bool is_sharded[CZ_DOCUMENT_DIMS];
    int expert_index; /* -1: none */
    bool is_expert;
} cuts;

static cuts cuts_of(const cz_compiled_model *const *alone, const cz_pattern *p)
{
    static const int axes[] = {CZ_TUNE_TP, CZ_TUNE_ETP, CZ_TUNE_EP,
                               CZ_TUNE_FSDP};
    cuts out = {{-1, -1, -1}, {false, false, false}, -1, false};
    for (int k = 0; k < 4; k++) {
        const cz_compiled_model *m = alone[axes[k]];
        const int i = m ? find_pattern(m, p) : -1;
        if (i < 0)
            continue;
        const cz_pattern *of = &m->model.patterns[i];
        int64_t set = 0;
        cz_mesh_find(&m->mesh, cz_mesh_name(axes[k]), &set);
        for (int d = 0; d < of->n_dims; d++)
            if (axes[k] == CZ_TUNE_FSDP)
                out.is_sharded[d] = (of->shard[d] & set) != 0;
            else if (of->shard[d] & set)
                out.cut_by[d] = axes[k];
        out.is_expert |= of->expert;
        if (axes[k] == CZ_TUNE_EP && (of->expert_axes & set))
            out.expert_index = of->expert_index;
    }
    return out;
}

static void add_params(cz_tune_space *s, struct cz_tune_stages *into,
                       const cz_pattern *p, const cuts *cut,
                       const int64_t *index, int64_t n_experts)
{
    const int n_strips = p->blocks ? p->blocks->n_strips : 1;
    for (int k = 0; k < n_strips; k++) {
        cz_tune_param *param = CZ_PUSH(s->arena, into->list, into->n);
        *param = (cz_tune_param){.stages = p->residents,
                                 .is_expert = cut->is_expert};
        memcpy(param->cut_by, cut->cut_by, sizeof cut->cut_by);
        memcpy(param->is_sharded, cut->is_sharded, sizeof cut->is_sharded);
        cz_document_param *d = &param->param;
        d->name = name_of(s->arena, p, index);
        d->dtype = cz_dtype_name(p->dtype);
        d->grad = s->base.grad_bytes < 4 ? "bf16" : "f32";
        d->bucket = p->frozen ? -1 : 0;
        d->n_dims = p->n_dims;
        d->n_names = (int)n_experts;
        d->is_expert_partitioned = cut->is_expert;
        memcpy(d->dims, p->shape, sizeof p->shape);
        if (p->blocks) {
            d->name = cz_arena_printf(s->arena, "%s[%s]", d->name,
                                      p->blocks->strips[k].name);
            d->dims[cz_matrix_dim(p, 0)] =
                p->blocks->n * p->blocks->strips[k].size;
            s->has_storage = true;
        }
        d->elements = 1;
        for (int i = 0; i < d->n_dims; i++)
            d->elements *= d->dims[i];
    }
}

/* All members of a pattern, those of an expert's index as one. */
static void expand(cz_tune_space *s, struct cz_tune_stages *into,
                   const cz_pattern *p, const cuts *cut)
{
    int64_t index[CZ_MAX_INDICES];
    memcpy(index, p->first, sizeof index);
    for (bool is_more = true; is_more;) {
        const int e = cut->expert_index;
        add_params(s, into, p, cut, index, e < 0 ? 1 : p->extents[e]);
        is_more = false;
        for (int i = p->n_indices - 1; i >= 0 && !is_more; i--) {
            if (i == e)
                continue;
            is_more = ++index[i] < p->first[i] + p->extents[i];
            if (!is_more)
                index[i] = p->first[i];
        }
    }
}

/* ---- what no plan on a mesh is below ---- */

static void fill_param(const cz_tune_space *s, const cz_mesh *mesh,
                       const cz_tune_param *from, int64_t pp_set,
                       cz_document_param *out)
{
    int64_t fsdp = 0, etp = 0;
    *out = from->param;
    cz_mesh_find(mesh, "fsdp", &fsdp);
    if (from->is_expert) { /* FSDP has what their own axes leave */
        cz_mesh_find(mesh, "ep", &out->expert_set);
        cz_mesh_find(mesh, "etp", &etp);
        fsdp &= ~(out->expert_set | etp);
    }
    for (int d = 0; d < out->n_dims; d++) {
        int64_t set = 0;
        if (from->is_sharded[d])
            out->cuts[d] = fsdp;
        if (from->cut_by[d] >= 0 &&
            cz_mesh_find(mesh, cz_mesh_name(from->cut_by[d]), &set))
            out->cuts[d] |= set;
    }
    if (from->stages != 0 && pp_set != 0) {
        int64_t *at = CZ_NEW(s->arena, int64_t, CZ_MAX_STAGES);
        for (int i = 0; i < CZ_MAX_STAGES; i++)
            if (from->stages >> i & 1)
                at[out->residents.n++] = i;
        out->residents.set = pp_set;
        out->residents.coordinates = at;
    }
}

/* Bytes of a rank of each stage, and picoseconds of its links. */
static void bound(cz_tune_space *s, const cz_document *d, const cz_mesh *mesh,
                  cz_tune_candidate *candidate)
{
    cz_op_prices prices = cz_op_prices_make(s->arena, d, &s->machine,
                                            ((int64_t)1 << d->n_axes) - 1);
    const cz_simulate_model model = cz_simulate_passes(d, &s->simulate);
    const int64_t n_stages = candidate->mesh[CZ_TUNE_PP];
    int64_t dp = 0, edp = 0, most_ps = 0, most_bytes = 0;
    cz_mesh_find(mesh, "dp", &dp);
    cz_mesh_find(mesh, "edp", &edp);
    for (int stage = 0; stage < n_stages; stage++) {
        cz_wide params[2] = {0}, masters[2] = {0}, reduced[2] = {0}, kept = 0;
        for (int i = 0; i < d->n_params; i++) {
            const cz_document_param *p = &d->params[i];
            bool is_here = p->residents.set == 0;
            for (int k = 0; k < p->residents.n; k++)
                is_here |= p->residents.coordinates[k] == stage;
            if (!is_here)
                continue;
            int64_t cut = p->expert_set;
            cz_dtype dtype = CZ_F32;
            for (int k = 0; k < p->n_dims; k++)
                cut |= p->cuts[k];
            cz_dtype_find(p->dtype, &dtype);
            const int64_t bytes = cz_dtype_bytes(dtype);
            const cz_wide n =
                (cz_wide)p->elements * p->n_names / cz_op_extent(&prices, cut);
            const bool is_expert = s->has_experts && p->is_expert_partitioned;
            kept += n * bytes;
            if (p->bucket < 0)
                continue;
            params[is_expert] += n * bytes;
            reduced[is_expert] += n * s->base.grad_bytes;
            masters[is_expert] += bytes < 4 ? 4 * n : 0;
            kept += n * s->base.grad_bytes;
        }
        int64_t ps = 0;
        for (int k = 0; k < 2; k++) {
            const int64_t set = k ? edp : dp;
            if (!s->base.sums_dp)
                continue;
            kept += masters[k] / cz_op_extent(&prices, set);
            ps = cz_time_add(ps,
                             cz_op_gather_ps(&prices, params[k], set, false));
            ps = cz_time_add(ps,
                             cz_op_gather_ps(&prices, reduced[k], set, false));
        }
        most_ps = ps > most_ps ? ps : most_ps;
        if (kept > most_bytes)
            most_bytes = cz_time_limit(kept);
    }
    const int64_t passes =
        cz_time_add(cz_time_add(model.forward, model.backward), model.bubble);
    candidate->bound_ps = passes > most_ps ? passes : most_ps;
    candidate->bound_bytes =
        cz_time_add(most_bytes, s->has_storage ? 0 : model.activation_bytes);
}

/* The mesh of a candidate as the compiler factors it; false where it cannot. */
static bool factor(cz_arena *arena, const cz_tune_candidate *candidate,
                   bool has_experts, cz_mesh *out)
{
    static const char start[] = "mesh a = 1";
    cz_text text = {0};
    const cz_source nothing = {"mesh", start, sizeof start - 1};
    cz_diags diags;
    cz_env globals;
    cz_options defines;
    cz_diags_init(&diags, arena);
    cz_env_init(&globals, arena, NULL);
    cz_options_build(arena, NULL, 0, &diags, &defines);
    cz_tune_text(arena, &nothing, cz_parse(arena, &nothing, &diags), candidate,
                 has_experts, &text);
    cz_source *source = CZ_NEW(arena, cz_source, 1);
    *source = (cz_source){
        "mesh", cz_arena_copy(arena, cz_text_string(&text), text.n), text.n};
    cz_text_fini(&text);
    cz_mesh_build(cz_parse(arena, source, &diags), &defines, false, &globals,
                  &diags, out);
    return diags.n_errors == 0;
}

/* Its bound; false where its axes do not nest. */
static bool look_at(cz_tune_space *s, int pp, cz_tune_candidate *candidate)
{
    cz_arena scratch, *arena = s->arena;
    cz_mesh mesh;
    cz_document d = {.n_ranks = (int)s->options->n_ranks};
    cz_arena_init(&scratch);
    s->arena = &scratch;
    const bool ok = factor(&scratch, candidate, s->has_experts, &mesh);
    if (ok) {
        cz_document_axis *axes = CZ_NEW(&scratch, cz_document_axis, mesh.n);
        cz_document_param *params =
            CZ_NEW(&scratch, cz_document_param, s->params[pp].n);
        int64_t dp = 0;
        for (int a = 0; a < mesh.n; a++)
            axes[a] = (cz_document_axis){mesh.axes[a], mesh.sizes[a]};
        cz_mesh_find(&mesh, "dp", &dp);
        cz_mesh_find(&mesh, "cp", &d.sequence_set);
        cz_mesh_find(&mesh, "fsdp", &d.shard_set);
        cz_mesh_find(&mesh, "pp", &d.pipeline_set);
        cz_mesh_find(&mesh, "ep", &d.ep_set);
        d.data_set = dp | d.sequence_set | d.shard_set;
        for (int i = 0; i < s->params[pp].n; i++)
            fill_param(s, &mesh, &s->params[pp].list[i], d.pipeline_set,
                       &params[i]);
        d.n_axes = mesh.n;
        d.axes = axes;
        d.n_params = s->params[pp].n;
        d.params = params;
        bound(s, &d, &mesh, candidate);
    }
    cz_arena_fini(&scratch);
    s->arena = arena;
    return ok;
}

/* ---- all ---- */

static void add_candidate(cz_tune_space *s, int pp, const int64_t *mesh)
{
    const int64_t replicas = mesh[CZ_TUNE_DP] * mesh[CZ_TUNE_FSDP];
    const int64_t tokens = replicas * s->simulate.sequence;
    cz_tune_candidate candidate = {.bound_ps = 0};
    memcpy(candidate.mesh, mesh, sizeof candidate.mesh);
    if (tokens > s->simulate.tokens ||
        mesh[CZ_TUNE_CP] > s->simulate.sequence) {
        s->n_meshes++;
        s->n_short++;
        if (tokens < s->least_tokens)
            s->least_tokens = tokens;
        return;
    }
    if (!look_at(s, pp, &candidate))
        return;
    s->n_meshes++;
    if (candidate.bound_bytes > s->memory_bytes) {
        *CZ_PUSH(s->arena, s->full, s->n_full) = candidate;
        return;
    }
    *CZ_PUSH(s->arena, s->candidates, s->n_candidates) = candidate;
}

/* Experts' axes factor what the stages leave. */
static void add_experts(cz_tune_space *s, int pp, int64_t *mesh)
{
    const int64_t n = s->options->n_ranks / mesh[CZ_TUNE_PP];
    for (int e = 0; e < s->n_sizes[CZ_TUNE_EP]; e++)
        for (int t = 0; t < s->n_sizes[CZ_TUNE_ETP]; t++) {
            mesh[CZ_TUNE_EP] = s->sizes[CZ_TUNE_EP][e];
            mesh[CZ_TUNE_ETP] = s->sizes[CZ_TUNE_ETP][t];
            if (n % (mesh[CZ_TUNE_EP] * mesh[CZ_TUNE_ETP]) != 0)
                continue;
            mesh[CZ_TUNE_EDP] = n / mesh[CZ_TUNE_EP] / mesh[CZ_TUNE_ETP];
            add_candidate(s, pp, mesh);
        }
}

static void add_meshes(cz_tune_space *s, int axis, int64_t left, int pp,
                       int64_t *mesh)
{
    static const int order[] = {CZ_TUNE_PP, CZ_TUNE_TP, CZ_TUNE_CP,
                                CZ_TUNE_FSDP, CZ_TUNE_DP};
    if (axis == 5) {
        if (left == 1)
            add_experts(s, pp, mesh);
        return;
    }
    const int of = order[axis];
    for (int i = 0; i < s->n_sizes[of]; i++)
        if (left % s->sizes[of][i] == 0) {
            mesh[of] = s->sizes[of][i];
            add_meshes(s, axis + 1, left / mesh[of], of == CZ_TUNE_PP ? i : pp,
                       mesh);
        }
}

static int by_bound(const void *left, const void *right)
{
    const cz_tune_candidate *a = left, *b = right;
    if (a->bound_ps != b->bound_ps)
        return a->bound_ps < b->bound_ps ? -1 : 1;
    return memcmp(a->mesh, b->mesh, sizeof a->mesh);
}

static int by_bytes(const void *left, const void *right)
{
    const cz_tune_candidate *a = left, *b = right;
    if (a->bound_bytes != b->bound_bytes)
        return a->bound_bytes < b->bound_bytes ? -1 : 1;
    return memcmp(a->mesh, b->mesh, sizeof a->mesh);
}

bool cz_tune_read_base(cz_tune_space *s, cz_diags *diags)
{
    const cz_compiled_model *base = compile_on(s, one_rank, diags);
    if (base)
        s->base = *base;
    return base != NULL;
}

bool cz_tune_find_meshes(cz_tune_space *s, cz_diags *diags)
{
    const cz_compiled_model *alone[CZ_TUNE_N_AXES] = {NULL};
    int64_t mesh[CZ_TUNE_N_AXES];
    /* Whether there are experts is asked with a mesh for them. */
    s->has_experts = true;
    for (int axis = 0; axis < CZ_TUNE_N_AXES; axis++)
        find_sizes(s, axis, &alone[axis]);
    s->has_experts = s->is_known[CZ_TUNE_EP] || s->is_known[CZ_TUNE_ETP];
    s->params = CZ_NEW(s->arena, struct cz_tune_stages, s->n_sizes[CZ_TUNE_PP]);
    for (int i = 0; i < s->n_sizes[CZ_TUNE_PP]; i++) {
        set_axis(mesh, CZ_TUNE_PP, s->sizes[CZ_TUNE_PP][i]);
        const cz_compiled_model *of = compile_on(s, mesh, diags);
        for (int p = 0; of && p < of->model.n; p++) {
            const cuts cut = cuts_of(alone, &of->model.patterns[p]);
            expand(s, &s->params[i], &of->model.patterns[p], &cut);
        }
    }
    s->least_tokens = INT64_MAX;
    memcpy(mesh, one_rank, sizeof mesh);
    add_meshes(s, 0, s->options->n_ranks, 0, mesh);
    if (s->n_candidates > 0)
        qsort(s->candidates, (size_t)s->n_candidates, sizeof *s->candidates,
              by_bound);
    if (s->n_full > 0)
        qsort(s->full, (size_t)s->n_full, sizeof *s->full, by_bytes);
    return true;
}
