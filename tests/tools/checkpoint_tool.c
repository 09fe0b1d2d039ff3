/* A checkpoint of one mesh, loaded on another.
 *
 *     checkpoint_tool A.so SYMBOL B.so SYMBOL [FOLDER]
 *
 * Both are strict programs of one source.  A trains for STEPS + MORE steps and
 * is saved after STEPS; B loads that and trains for MORE: all tensors have A's
 * bits. On the way: main boxes cover each tensor once, other boxes have the
 * same bytes, and all ranks have one list.  Ranks of odd number bind memory of
 * their own, fused storage too, whose elements lie backwards or transposed.
 * With FOLDER B loads files that A has saved there.
 *
 *     checkpoint_tool A.so SYMBOL save FOLDER     saves behind each of MANY
 * steps checkpoint_tool A.so SYMBOL resume FOLDER   goes on from what is there,
 * to the bits of a training that was not interrupted; exit status 3: it cannot
 * be loaded, and the sentence is printed */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/czr_checkpoint.h"
#include "runtime/engine/engine.h"

enum {
    STEPS = 3,
    MORE = 2,
    MANY = 12,
    UNREADABLE = 3,
    MOST_TENSORS = 4096,
    MOST_OWN = 1024
};

/* A whole tensor. */
typedef struct whole {
    char name[512], state[64];
    int64_t n;
    size_t element;
    unsigned char *bytes, *covered; /* of each element, how often */
} whole;

typedef struct store {
    int n;
    whole of[MOST_TENSORS];
} store;

typedef struct run {
    const czr_program *program;
    int n_steps, ranks; /* until so many steps were made */
    bool has_begun;     /* goes on from a checkpoint: of `from`, or of files */
    const store *from;
    bool saves_all; /* to files, behind each step */
    store *middle;  /* behind STEPS; NULL: not kept */
    store *end;
    const char *folder; /* of files; NULL: none */
    int wrong;
    pthread_mutex_t lock;
} run;

/* ---- values ------------------------------------------------------------- */

static uint64_t hash(const char *text)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return sum;
}

static double mix(uint64_t key)
{
    key ^= key >> 33;
    key *= UINT64_C(0xff51afd7ed558ccd);
    key ^= key >> 33;
    key *= UINT64_C(0xc4ceb9fe1a85ec53);
    key ^= key >> 33;
    return (double)(key >> 11) / 4503599627370496.0 - 1.0;
}

static void put(void *data, czr_dtype dtype, int64_t at, double value)
{
    if (dtype == CZR_BF16)
        ((czr_bf16 *)data)[at] = czr_f32_to_bf16((float)value);
    else
        ((float *)data)[at] = (float)value;
}

/* ---- tensors of the trainer's ------------------------------------------- */

typedef struct own {
    char name[512];
    czr_layout_info layout;
    unsigned char *param, *grad; /* NULL: in place */
    int64_t strides[9];
} own;

typedef struct rank_run {
    run *all;
    czr_engine *engine;
    int rank, n;
    own of[MOST_OWN];
} rank_run;

static uint64_t place_of(const czr_layout_info *layout, int64_t i)
{
    uint64_t at = 0, stride = 1;

    for (int d = layout->n_dims - 1; d >= 0; d--) {
        at += (uint64_t)(layout->start[d] + i % layout->shape[d]) * stride;
        stride *= (uint64_t)layout->global[d];
        i /= layout->shape[d];
    }
    return at;
}

/* Where element i of a shard lies: as it is, or with the first dimension
 * fastest. */
static int64_t lies_at(const own *t, int64_t i)
{
    int64_t at = 0;

    if (!t->param)
        return i;
    for (int d = t->layout.n_dims - 1; d >= 0; d--) {
        at += i % t->layout.shape[d] * t->strides[d + 1];
        i /= t->layout.shape[d];
    }
    return at;
}

/* The number among all leaves that leaf 0 of a rank has. */
static uint64_t first_leaf(const run *all, int bucket, int rank, int n_grads)
{
    const czr_program *program = all->program;

    for (int op = 0; op < program->n_ops; op++)
        if (program->ops[op].kind == CZR_REDUCE_SCATTER &&
            (bucket < 0 || program->ops[op].bucket == bucket))
            return (uint64_t)(czr_program_coordinate(
                                  program, program->ops[op].comm, rank) *
                              n_grads);
    return 0;
}

/* Fused storage lies as its mesh has it: each matrix in it has values by its
 * own name and places, found by its boxes.  Leaf -1: the parameter. */
static void fill_matrices(const rank_run *r, const own *t, int leaf,
                          uint64_t salt, double scale)
{
    const czr_layout_info *layout = &t->layout;
    const ptrdiff_t element = (ptrdiff_t)czr_dtype_bytes(layout->param_dtype);
    const czr_dtype dtype = leaf < 0 ? layout->param_dtype : layout->grad_dtype;
    unsigned char *to = leaf < 0
                            ? t->param
                            : t->grad + (size_t)(leaf * layout->n) *
                                            czr_dtype_bytes(layout->grad_dtype);

    for (int i = 0; i < czr_checkpoint_count(r->engine); i++) {
        czr_checkpoint_tensor tensor;
        czr_checkpoint_get(r->engine, i, &tensor);
        for (int64_t k = 0; !tensor.state && k < tensor.n_boxes; k++) {
            czr_checkpoint_box box;
            int64_t n = 1;
            czr_checkpoint_get_box(r->engine, i, k, &box);
            const ptrdiff_t first = (unsigned char *)box.data - t->param;
            if (first < 0 || first >= layout->n * element)
                break;
            for (int d = 0; d < tensor.n_dims; d++)
                n *= box.shape[d];
            for (int64_t e = 0; e < n; e++) {
                int64_t rest = e, at = first / element;
                uint64_t place = 0, stride = 1;
                for (int d = tensor.n_dims - 1; d >= 0; d--) {
                    const int64_t c = rest % box.shape[d];
                    at += c * box.strides[d];
                    place += (uint64_t)(box.start[d] + c) * stride;
                    stride *= (uint64_t)tensor.shape[d];
                    rest /= box.shape[d];
                }
                put(to, dtype, at,
                    scale * mix(hash(tensor.name) + place + salt));
            }
        }
    }
}

static void fill_params(const rank_run *r)
{
    for (int t = 0; t < r->n; t++) {
        const own *it = &r->of[t];
        const double scale = r->all->has_begun ? 0 : 0.05;
        if (it->layout.bucket < 0)
            fill_matrices(r, it, -1, 0, scale);
        for (int64_t i = 0; it->layout.bucket >= 0 && i < it->layout.n; i++)
            put(it->param ? it->param : it->layout.param,
                it->layout.param_dtype, lies_at(it, i),
                scale * mix(hash(it->name) + place_of(&it->layout, i)));
    }
}

static void fill_leaf(const rank_run *r, const own *t, int g, int step)
{
    const czr_layout_info *layout = &t->layout;
    const size_t element = czr_dtype_bytes(layout->grad_dtype);
    const uint64_t leaf =
        (uint64_t)g +
        first_leaf(r->all, layout->bucket, r->rank, (int)layout->n_grads);
    const uint64_t salt =
        (leaf * 100 + (uint64_t)step + 1) * UINT64_C(0x9e3779b97f4a7c15);
    unsigned char *to = t->grad
                            ? t->grad + (size_t)(g * layout->n) * element
                            : (unsigned char *)layout->grad +
                                  (size_t)(g * layout->grad_stride) * element;

    if (layout->bucket < 0)
        fill_matrices(r, t, g, salt, 0.1);
    for (int64_t i = 0; layout->bucket >= 0 && i < layout->n; i++)
        put(to, layout->grad_dtype, lies_at(t, i),
            0.1 * mix(hash(t->name) + place_of(layout, i) + salt));
}

static czr_status give(const rank_run *r, int step)
{
    czr_status status = CZR_OK;

    for (int t = 0; t < r->n; t++)
        for (int g = 0; g < r->of[t].layout.n_grads; g++)
            fill_leaf(r, &r->of[t], g, step);
    for (int i = 0; i < czr_extern_count(r->engine) && status == CZR_OK; i++) {
        czr_extern_info info;
        char name[512];
        czr_extern_get(r->engine, i, &info);
        czr_param_name(r->engine, info.param, name, sizeof name);
        const size_t n = (size_t)(info.rows * info.columns);
        float *values = malloc(n * sizeof *values);
        for (size_t k = 0; k < n; k++)
            values[k] =
                (float)fabs(mix(hash(name) + k + (uint64_t)step)) + 0.1f;
        status = czr_extern_set(r->engine, name, info.name, values, n);
        free(values);
    }
    return status;
}

static czr_status bind(rank_run *r, const char *name, bool has_place)
{
    own *t = &r->of[r->n];
    czr_tensor param, grad;
    const czr_layout_info *layout = &t->layout;
    int64_t stride = 1, shape[9];

    if (r->n == MOST_OWN || czr_layout(r->engine, name, &t->layout) != CZR_OK)
        return CZR_OK; /* other ranks have it */
    snprintf(t->name, sizeof t->name, "%s", name);
    r->n++;
    if (has_place && r->rank % 2 == 0)
        return czr_bind(r->engine, name, NULL, NULL);
    for (int d = 0; d < layout->n_dims; d++) {
        t->strides[d + 1] = stride;
        stride *= layout->shape[d];
        shape[d + 1] = layout->shape[d];
    }
    t->strides[0] = layout->n;
    shape[0] = layout->n_grads;
    t->param =
        calloc((size_t)layout->n + 1, czr_dtype_bytes(layout->param_dtype));
    t->grad = calloc((size_t)(layout->n * layout->n_grads) + 1,
                     czr_dtype_bytes(layout->grad_dtype));
    param = (czr_tensor){t->param, layout->param_dtype, layout->n_dims,
                         shape + 1, t->strides + 1};
    const int lead = layout->n_grads > 1;
    grad = (czr_tensor){t->grad, layout->grad_dtype, layout->n_dims + lead,
                        shape + 1 - lead, t->strides + 1 - lead};
    return czr_bind(r->engine, name, &param, &grad);
}

/* Fused storage by its own name: of each index in turn, up to one. */
static czr_status bind_storages(rank_run *r)
{
    const czr_program *program = r->all->program;
    czr_status status = CZR_OK;

    for (int s = 0; s < program->n_storages; s++) {
        const czr_pattern *of = &program->storages[s].of;
        const int n = of->n_indices ? of->extents[0] : 1;
        for (int i = 0; i < n && status == CZR_OK; i++) {
            const char *brace = strstr(of->name, "{0}");
            char name[512];
            if (brace)
                snprintf(name, sizeof name, "%.*s%d%s", (int)(brace - of->name),
                         of->name, of->first[0] + i, brace + 3);
            else
                snprintf(name, sizeof name, "%s", of->name);
            status = bind(r, name, false);
        }
    }
    return status;
}

static czr_status bind_all(rank_run *r)
{
    czr_status status = bind_storages(r);

    for (int p = 0; p < czr_param_count(r->engine) && status == CZR_OK; p++) {
        char name[512];
        if (r->engine->bindings[p].is_bound)
            continue;
        czr_param_name(r->engine, p, name, sizeof name);
        status = bind(r, name, true);
    }
    return status;
}

/* ---- checkpoints -------------------------------------------------------- */

static whole *find_whole(store *in, const czr_checkpoint_tensor *tensor)
{
    const char *state = tensor->state ? tensor->state : "";
    int i = 0;

    while (i < in->n && (strcmp(in->of[i].name, tensor->name) != 0 ||
                         strcmp(in->of[i].state, state) != 0))
        i++;
    if (i == MOST_TENSORS)
        return NULL;
    whole *it = &in->of[i];
    if (i < in->n)
        return it;
    in->n++;
    snprintf(it->name, sizeof it->name, "%s", tensor->name);
    snprintf(it->state, sizeof it->state, "%s", state);
    it->n = 1;
    for (int d = 0; d < tensor->n_dims; d++)
        it->n *= tensor->shape[d];
    it->element = czr_dtype_bytes(tensor->dtype);
    it->bytes = calloc((size_t)it->n, it->element);
    it->covered = calloc((size_t)it->n, 1);
    return it;
}

typedef enum work { SAVE, COMPARE, LOAD } work;

/* Elements of a box and of the whole; how many differ. */
static int64_t move(const czr_checkpoint_tensor *tensor,
                    const czr_checkpoint_box *box, whole *w, work what)
{
    int64_t n = 1, wrong = 0;

    for (int d = 0; d < tensor->n_dims; d++)
        n *= box->shape[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, at = 0, to = 0, stride = 1;
        for (int d = tensor->n_dims - 1; d >= 0; d--) {
            const int64_t k = rest % box->shape[d];
            at += k * box->strides[d];
            to += (box->start[d] + k) * stride;
            stride *= tensor->shape[d];
            rest /= box->shape[d];
        }
        unsigned char *mine =
            (unsigned char *)box->data + (ptrdiff_t)w->element * at;
        unsigned char *theirs = w->bytes + (size_t)to * w->element;
        if (what == SAVE)
            w->covered[to]++;
        if (what == COMPARE)
            wrong += memcmp(mine, theirs, w->element) != 0;
        else
            memcpy(what == SAVE ? theirs : mine, what == SAVE ? mine : theirs,
                   w->element);
    }
    return wrong;
}

static czr_status walk(rank_run *r, store *with, work what)
{
    int64_t wrong = 0;
    czr_status status = CZR_OK;

    pthread_mutex_lock(&r->all->lock);
    const int n = czr_checkpoint_count(r->engine);
    for (int i = 0; i < n && status == CZR_OK; i++) {
        czr_checkpoint_tensor tensor;
        status = czr_checkpoint_get(r->engine, i, &tensor);
        if (status != CZR_OK)
            break;
        whole *w = find_whole(with, &tensor);
        /* One list on all ranks, and none that the other mesh has not. */
        wrong += !w || (what == COMPARE && w != &with->of[i]);
        for (int64_t k = 0; w && k < tensor.n_boxes && status == CZR_OK; k++) {
            czr_checkpoint_box box;
            status = czr_checkpoint_get_box(r->engine, i, k, &box);
            if (status == CZR_OK && (what != SAVE || tensor.is_main))
                wrong += move(&tensor, &box, w, what);
        }
    }
    wrong += n != with->n;
    if (wrong)
        printf("rank %d: %s: %lld wrong\n", r->rank,
               what == SAVE      ? "saving"
               : what == COMPARE ? "comparing"
                                 : "loading",
               (long long)wrong);
    r->all->wrong |= wrong != 0;
    pthread_mutex_unlock(&r->all->lock);
    return status;
}

static czr_status save(rank_run *r, czr_world *world, store *to)
{
    czr_status status = walk(r, to, SAVE);

    if (status == CZR_OK)
        status = czr_world_barrier(world);
    if (status == CZR_OK)
        status = walk(r, to, COMPARE);
    return status == CZR_OK ? czr_world_barrier(world) : status;
}

static int count_uncovered(const store *in)
{
    int wrong = 0;

    for (int i = 0; i < in->n; i++)
        for (int64_t k = 0; k < in->of[i].n; k++)
            wrong += in->of[i].covered[k] != 1;
    return wrong;
}

/* ---- a run -------------------------------------------------------------- */

static czr_status load(rank_run *r)
{
    const run *all = r->all;

    if (all->folder)
        return czr_load(r->engine, all->folder);
    store *from = malloc(sizeof *from);
    *from = *all->from;
    const czr_status status = walk(r, from, LOAD);
    free(from);
    return status == CZR_OK ? czr_step_set(r->engine, STEPS) : status;
}

static czr_status train(czr_world *world, void *user)
{
    static double values[256];
    run *all = user;
    rank_run *r = calloc(1, sizeof *r);
    const czr_options options = {.fixed_order_product = 1, .threads = 1};
    const czr_hyper hyper = {values, (size_t)all->program->n_hypers};
    int64_t t = -1;

    r->all = all;
    r->rank = czr_world_rank(world);
    for (int i = 0; i < 256; i++)
        values[i] =
            i < all->program->n_hypers && !all->program->hypers[i].has_default
                ? 0.01
                : NAN;
    czr_status status = czr_open(all->program, world, &options, &r->engine);
    if (status == CZR_OK)
        status = bind_all(r);
    if (status == CZR_OK)
        status = czr_seal(r->engine);
    if (status == CZR_OK)
        fill_params(r);
    if (status == CZR_OK && all->has_begun)
        status = load(r);
    if (status == CZR_OK)
        status = czr_step_get(r->engine, &t);
    for (int step = (int)t; step < all->n_steps && status == CZR_OK; step++) {
        status = give(r, step);
        if (status == CZR_OK)
            status = czr_step(r->engine, &hyper, NULL, NULL);
        if (status == CZR_OK && all->middle && step + 1 == STEPS)
            status = save(r, world, all->middle);
        if (status == CZR_OK && all->folder && !all->has_begun &&
            (all->saves_all || step + 1 <= STEPS))
            status = czr_save(r->engine, all->folder);
    }
    if (status == CZR_OK)
        status = czr_step_get(r->engine, &t);
    all->wrong |= status == CZR_OK && t != all->n_steps;
    if (status == CZR_OK)
        status = save(r, world, all->end);
    if (status != CZR_OK)
        printf("rank %d: %s: %s\n", r->rank, czr_status_name(status),
               r->engine ? czr_error(r->engine) : "");
    czr_close(r->engine);
    for (int i = 0; i < r->n; i++) {
        free(r->of[i].param);
        free(r->of[i].grad);
    }
    free(r);
    return status;
}

static czr_status execute(run *r, const char *library, const char *symbol)
{
    void *handle = dlopen(library, RTLD_NOW);

    r->program = handle ? dlsym(handle, symbol) : NULL;
    if (!r->program)
        return CZR_ERR_NOT_FOUND;
    pthread_mutex_init(&r->lock, NULL);
    r->ranks = czr_program_ranks(r->program);
    const czr_status status = czr_world_threads_run(r->ranks, train, r);
    return status == CZR_OK && r->wrong ? CZR_ERR_MISMATCH : status;
}

/* How many tensors differ, or are not covered by main boxes. */
static int64_t compare(const store *end, store *found, int64_t *bytes)
{
    int64_t wrong =
        count_uncovered(end) + count_uncovered(found) + (found->n != end->n);

    if (wrong)
        printf("%lld elements are not in one main box\n", (long long)wrong);
    for (int i = 0; i < end->n; i++) {
        const whole *want = &end->of[i];
        czr_checkpoint_tensor tensor = {.state = want->state};
        memcpy(tensor.name, want->name, sizeof tensor.name);
        const whole *got = find_whole(found, &tensor);
        const size_t n = (size_t)want->n * want->element;
        if (!got || got->n != want->n || memcmp(got->bytes, want->bytes, n)) {
            printf("%s %s has other bytes\n", want->name, want->state);
            wrong++;
        }
        *bytes += (int64_t)n;
    }
    return wrong;
}

static int save_or_resume(char **argv, bool saves)
{
    static store end, found;
    int64_t bytes = 0;
    run b = {.n_steps = MANY,
             .has_begun = !saves,
             .saves_all = saves,
             .end = &found,
             .folder = argv[4]};
    run a = {.n_steps = MANY, .end = &end};

    const czr_status status = execute(&b, argv[1], argv[2]);
    if (status != CZR_OK)
        return status == CZR_ERR_FILE || status == CZR_ERR_ABORTED ? UNREADABLE
                                                                   : 1;
    return !saves && (execute(&a, argv[1], argv[2]) != CZR_OK ||
                      compare(&end, &found, &bytes) != 0);
}

int main(int argc, char **argv)
{
    static store middle, end, found;
    int64_t bytes = 0;

    if (argc == 5 && (!strcmp(argv[3], "save") || !strcmp(argv[3], "resume")))
        return save_or_resume(argv, !strcmp(argv[3], "save"));
    if (argc != 5 && argc != 6)
        return 2;
    run a = {.n_steps = STEPS + MORE,
             .middle = &middle,
             .end = &end,
             .folder = argv[5]};
    run b = {.n_steps = STEPS + MORE,
             .has_begun = true,
             .from = &middle,
             .end = &found,
             .folder = argv[5]};
    if (execute(&a, argv[1], argv[2]) != CZR_OK ||
        execute(&b, argv[3], argv[4]) != CZR_OK)
        return 1;
    const int64_t wrong =
        count_uncovered(&middle) + compare(&end, &found, &bytes);
    printf("%d ranks to %d: %d tensors, %lld bytes, %lld wrong\n", a.ranks,
           b.ranks, end.n, (long long)bytes, (long long)wrong);
    return wrong != 0 || bytes == 0;
}
