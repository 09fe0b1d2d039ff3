/* The model's own work: forward and backward passes, layer by layer. */
#include "passes/simulate/internal.h"

#include <stdlib.h>
#include <string.h>

/* Floating-point operations for each element and token. */
enum { FORWARD = 2, BACKWARD = 4, BACKWARD_FROZEN = 2 };

/* ---- which layer ---- */

enum {
    NO_LAYER = -1,
    MAX_DIGITS = 9,
    MAX_LAYERS = 512 /* more are taken together, as many at a time */
};

/* The first segment of a name that is a number; NO_LAYER: there is none. */
static int number_in(const char *name)
{
    while (*name) {
        const size_t n = strspn(name, "0123456789");
        if (n > 0 && n <= MAX_DIGITS && (name[n] == '.' || !name[n]))
            return (int)strtol(name, NULL, 10);
        name += strcspn(name, ".");
        name += *name == '.';
    }
    return NO_LAYER;
}

/* What is called a head or an output is behind the layers, wherever it is
 * defined; all else without a layer is where it is defined. */
static bool is_behind(const char *name, bool layers_seen)
{
    return layers_seen || strstr(name, "head") || strstr(name, "output");
}

static int ascending(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

/* The place of a number among those that ascend. */
static int place_of(const int *sorted, int n, int number)
{
    int low = 0;
    while (low < n && sorted[low] < number) {
        const int middle = low + (n - low) / 2;
        if (sorted[middle] < number)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static void find_layers(cz_simulation *s)
{
    const cz_document *f = s->document;
    int *of = CZ_NEW(s->arena, int, f->n_params);
    int *sorted = CZ_NEW(s->arena, int, f->n_params);
    int n = 0, n_distinct = 0;
    bool seen = false;
    for (int p = 0; p < f->n_params; p++)
        if ((of[p] = number_in(f->params[p].name)) != NO_LAYER)
            sorted[n++] = of[p];
    if (n > 0)
        qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    for (int i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            sorted[n_distinct++] = sorted[i];
    const int together = n_distinct / MAX_LAYERS + 1;
    const int behind = (n_distinct + together - 1) / together + 1;
    for (int p = 0; p < f->n_params; p++) {
        seen |= of[p] != NO_LAYER;
        if (of[p] != NO_LAYER)
            of[p] = 1 + place_of(sorted, n_distinct, of[p]) / together;
        else
            of[p] = is_behind(f->params[p].name, seen) ? behind : 0;
    }
    s->layers.n = behind + 1;
    s->layers.of_param = of;
}

/* ---- how much work ---- */

/* Parameters of one layer that the same ranks have. */
typedef struct share {
    const cz_document_residents *residents;
    int n_ranks;
    int layer;
    cz_wide trained, frozen; /* elements that work on a token, in millionths */
    /* With a length of sequences, for each of an iteration's tokens and ranks:
     * sizes of inputs and outputs of matrices, in millionths; */
    cz_wide activations;
    int64_t forward_ps, backward_ps;  /* links */
    cz_wide gather_bytes, grad_bytes; /* of a rank, cut over fsdp */
    cz_wide expert_bytes;             /* outputs of a rank's experts */
    int64_t expert_set, expert_cut;   /* between whom they travel */
    int attention, key;               /* parameters; -1: none */
} share;

static bool same_residents(const cz_document_residents *a,
                           const cz_document_residents *b)
{
    return a->set == b->set && a->n == b->n &&
           (a->n == 0 || memcmp(a->coordinates, b->coordinates,
                                (size_t)a->n * sizeof *a->coordinates) == 0);
}

static share *find_share(cz_simulation *s, share **shares, int *n,
                         const cz_document_residents *residents, int layer)
{
    for (int i = *n - 1; i >= 0; i--)
        if ((*shares)[i].layer == layer &&
            same_residents((*shares)[i].residents, residents))
            return &(*shares)[i];
    share *added = CZ_PUSH(s->arena, *shares, *n);
    *added = (share){
        .residents = residents, .layer = layer, .attention = -1, .key = -1};
    for (int r = 0; r < s->prices.n_ranks; r++)
        added->n_ranks += cz_op_is_resident(&s->prices, residents, r);
    added->n_ranks *= s->document->n_ranks / s->prices.n_ranks;
    return added;
}

/* ---- what products of parameters leave out ---- */

enum { ACTIVATION_BYTES = 2 };

/* The size that most matrices of layers have, the least of equals: what is
 * between two of them. */
static int64_t width_of(const cz_simulation *s)
{
    struct size {
        int64_t size, n;
    } *sizes = NULL;
    int n_sizes = 0;
    int64_t width = 0, most = 0;
    for (int p = 0; p < s->document->n_params; p++) {
        const cz_document_param *param = &s->document->params[p];
        const int64_t *dims =
            param->dims + (param->n_dims > 2 ? param->n_dims - 2 : 0);
        const int n_sides = param->n_dims < 2 ? 0 : dims[0] == dims[1] ? 1 : 2;
        for (int d = 0; d < n_sides; d++) {
            int i = 0;
            while (i < n_sizes && sizes[i].size != dims[d])
                i++;
            if (i == n_sizes)
                *CZ_PUSH(s->arena, sizes, n_sizes) = (struct size){dims[d], 0};
            sizes[i].n++;
        }
    }
    for (int i = 0; i < n_sizes; i++)
        if (sizes[i].n > most ||
            (sizes[i].n == most && sizes[i].size < width)) {
            most = sizes[i].n;
            width = sizes[i].size;
        }
    return width;
}

/* Whether a segment of the name is one of the words; c_proj is that of
 * attention where `attn` stands before it. */
static bool has_word(const char *name, const char *const *words)
{
    bool is_of_attention = false;
    while (*name) {
        const size_t n = strcspn(name, ".[]");
        for (int i = 0; words[i]; i++)
            if (strlen(words[i]) == n && strncmp(name, words[i], n) == 0 &&
                (strcmp(words[i], "c_proj") != 0 || is_of_attention))
                return true;
        is_of_attention = n == 4 && strncmp(name, "attn", n) == 0;
        name += n;
        name += *name != 0;
    }
    return false;
}

/* Also where no axis makes ranks have different ones. */
static bool is_expert(const cz_document_param *param)
{
    static const char *const words[] = {"experts", NULL};
    return param->is_expert_partitioned || has_word(param->name, words);
}

/* In so many messages, one for each microbatch. */
static int64_t ring_ps(cz_simulation *s, int64_t set, cz_wide bytes)
{
    const int64_t agree = cz_op_agree_ps(&s->prices, set);
    const cz_wide more = (cz_wide)agree * (s->layers.microbatches - 1);
    return cz_time_add(cz_op_gather_ps(&s->prices, bytes, set, false),
                       cz_time_limit(more));
}

/* Bytes of so many numbers for each token that one replica of a parameter
 * works on, `part` millionths of its share: every n_parts ranks are one. */
static cz_wide bytes_of(const cz_simulation *s, const share *of,
                        int64_t n_parts, cz_wide numbers, int64_t part)
{
    const cz_wide bytes = (cz_wide)cz_time_limit(numbers) * ACTIVATION_BYTES *
                          s->options->tokens * part / CZ_TIME_MILLION;
    return (cz_wide)cz_time_limit(bytes) * n_parts / of->n_ranks;
}

static void add_terms(cz_simulation *s, share *of, int p, int64_t width,
                      int64_t part)
{
    static const char *const outputs[] = {"o_proj",      "wo",     "o",
                                          "linear_proj", "c_proj", NULL};
    static const char *const keys[] = {"k_proj", "wk", "k", NULL};
    const cz_document_param *param = &s->document->params[p];
    /* Experts' own axes may be parts of fsdp. */
    const int64_t spread = param->expert_set,
                  fsdp = s->document->shard_set &
                         ~(is_expert(param) ? s->document->ep_set : 0);
    int64_t cut = 0;
    for (int d = 0; d < param->n_dims; d++)
        cut |= param->cuts[d];
    const int n_parts = cz_op_extent(&s->prices, cut & ~fsdp);
    if (cut & fsdp) {
        cz_dtype dtype = CZ_F32, grad = CZ_F32;
        const int64_t elements = param->elements / n_parts;
        cz_dtype_find(param->dtype, &dtype);
        cz_dtype_find(param->grad, &grad);
        of->gather_bytes += (cz_wide)elements * cz_dtype_bytes(dtype);
        if (param->bucket >= 0)
            of->grad_bytes += (cz_wide)elements * cz_dtype_bytes(grad);
    }
    if (param->n_dims < 2)
        return;
    const int64_t rows = param->dims[param->n_dims - 2];
    const int64_t columns = param->dims[param->n_dims - 1];
    const int64_t batch = param->n_dims > 2 ? param->dims[0] : 1;
    const int64_t columns_cut = param->cuts[param->n_dims - 1] & ~fsdp;
    const cz_wide outputs_of_all = (cz_wide)rows * batch;
    if (of->layer > 0) {
        const cz_wide both = (cz_wide)(rows + columns) * batch;
        of->activations += (cz_wide)cz_time_limit(both) * param->n_names * part;
    }
    if (is_expert(param) && rows == width) {
        of->expert_bytes += bytes_of(s, of, (int64_t)n_parts * param->n_names,
                                     outputs_of_all, part);
        of->expert_set |= spread;
        of->expert_cut |= columns_cut;
    } else if (columns_cut != 0 && !is_expert(param)) {
        const int64_t ps = ring_ps(
            s, columns_cut, bytes_of(s, of, n_parts, outputs_of_all, part));
        of->forward_ps = cz_time_add(of->forward_ps, cz_time_add(ps, ps));
        of->backward_ps = cz_time_add(of->backward_ps, cz_time_add(ps, ps));
    }
    if (of->layer > 0 && has_word(param->name, outputs))
        of->attention = p;
    else if (of->layer > 0 && has_word(param->name, keys))
        of->key = p;
}

/* Of what is known only when all parameters of the share are. */
static void end_terms(cz_simulation *s, share *of)
{
    const cz_document *d = s->document;
    if (of->expert_bytes > 0) {
        const int64_t ps =
            cz_time_add(ring_ps(s, of->expert_set,
                                of->expert_bytes /
                                    cz_op_extent(&s->prices, of->expert_cut)),
                        ring_ps(s, of->expert_cut, of->expert_bytes));
        of->forward_ps = cz_time_add(of->forward_ps, cz_time_add(ps, ps));
        of->backward_ps = cz_time_add(of->backward_ps, cz_time_add(ps, ps));
    }
    if (of->attention < 0)
        return;
    const cz_document_param *out = &d->params[of->attention];
    const int64_t heads = out->dims[out->n_dims - 1];
    of->trained += (cz_wide)s->options->sequence * heads * CZ_TIME_MILLION;
    if (cz_op_extent(&s->prices, d->sequence_set) > 1) {
        const cz_document_param *key = of->key < 0 ? NULL : &d->params[of->key];
        const int64_t kept = key ? key->dims[key->n_dims - 2] : heads;
        const int64_t ps =
            ring_ps(s, d->sequence_set,
                    bytes_of(s, of, cz_op_extent(&s->prices, d->sequence_set),
                             2 * (cz_wide)kept, CZ_TIME_MILLION));
        of->forward_ps = cz_time_add(of->forward_ps, ps);
        of->backward_ps = cz_time_add(of->backward_ps, cz_time_add(ps, ps));
    }
}

static share *find_shares(cz_simulation *s, int *n, int64_t width)
{
    const cz_document *f = s->document;
    share *shares = NULL;
    *n = 0;
    for (int p = 0; p < f->n_params; p++) {
        const cz_document_param *param = &f->params[p];
        const int64_t part =
            is_expert(param) ? s->options->active : CZ_TIME_MILLION;
        share *of =
            find_share(s, &shares, n, &param->residents, s->layers.of_param[p]);
        *(param->bucket < 0 ? &of->frozen : &of->trained) +=
            (cz_wide)param->elements * param->n_names * part;
        if (s->options->sequence > 0)
            add_terms(s, of, p, width, part);
    }
    for (int i = 0; i < *n && s->options->sequence > 0; i++)
        end_terms(s, &shares[i]);
    return shares;
}

/* ---- times ---- */

/* On each rank that has them, as the work is dealt out evenly. */
static cz_wide flops_of(const cz_simulation *s, const share *of, int trained,
                        int frozen)
{
    const cz_wide by = (cz_wide)of->n_ranks * CZ_TIME_MILLION;
    const cz_wide flops = (of->trained * trained + of->frozen * frozen) / by;
    const cz_wide most = (cz_wide)1 << 62;
    return (flops < most ? flops : most) * s->options->tokens;
}

/* What a rank does of one layer in one pass. */
typedef struct layer_work {
    cz_wide flops; /* -1: it has nothing of it */
    int64_t links, gathers;
} layer_work;

static void add_share(cz_simulation *s, const share *of, layer_work *forward,
                      layer_work *backward)
{
    const int64_t fsdp = s->document->shard_set;
    int64_t gather = 0, scatter = 0;
    if (of->gather_bytes > 0)
        gather = ring_ps(s, fsdp, of->gather_bytes);
    if (of->grad_bytes > 0)
        scatter = ring_ps(s, fsdp, of->grad_bytes);
    for (int r = 0; r < s->prices.n_ranks; r++) {
        layer_work *f = &forward[r], *b = &backward[r];
        if (!cz_op_is_resident(&s->prices, of->residents, r))
            continue;
        if (f->flops < 0)
            f->flops = b->flops = 0;
        f->flops += flops_of(s, of, FORWARD, FORWARD);
        b->flops += flops_of(s, of, BACKWARD, BACKWARD_FROZEN);
        f->links = cz_time_add(f->links, of->forward_ps);
        b->links = cz_time_add(b->links, of->backward_ps);
        f->gathers = cz_time_add(f->gathers, gather);
        b->gathers = cz_time_add(b->gathers, cz_time_add(gather, scatter));
    }
}

/* Gathers of shards run beside what computes; activations are waited for. */
static int64_t *times_of(cz_simulation *s, const layer_work *work)
{
    const cz_wide rate = (cz_wide)s->options->machine->bf16_rate *
                         s->options->mfu / CZ_TIME_MILLION;
    int64_t *ps = CZ_NEW(s->arena, int64_t, s->prices.n_ranks);
    cz_wide timed = 0; /* many ranks have as much */
    int64_t products = 0;
    for (int r = 0; r < s->prices.n_ranks; r++) {
        const layer_work *w = &work[r];
        ps[r] = -1;
        if (w->flops < 0)
            continue;
        if (w->flops != timed)
            products = cz_time_of(w->flops, rate > 1 ? (int64_t)rate : 1);
        timed = w->flops;
        const int64_t computes = cz_time_add(products, w->links);
        ps[r] = computes > w->gathers ? computes : w->gathers;
        s->layers.links[r] = cz_time_add(s->layers.links[r], ps[r] - products);
    }
    return ps;
}

static void time_layer(cz_simulation *s, int layer, const share *shares, int n)
{
    const int n_ranks = s->prices.n_ranks;
    layer_work *forward = CZ_NEW(s->arena, layer_work, n_ranks);
    layer_work *backward = CZ_NEW(s->arena, layer_work, n_ranks);
    for (int r = 0; r < n_ranks; r++)
        forward[r].flops = backward[r].flops = -1;
    for (int i = 0; i < n; i++)
        if (shares[i].layer == layer)
            add_share(s, &shares[i], forward, backward);
    s->layers.forward[layer] = times_of(s, forward);
    s->layers.backward[layer] = times_of(s, backward);
}

/* ---- microbatches ---- */

static int64_t busiest(const cz_simulation *s, int64_t *const *layers)
{
    int64_t most = 0;
    for (int r = 0; r < s->prices.n_ranks; r++) {
        int64_t all = 0;
        for (int layer = 0; layer < s->layers.n; layer++)
            all = cz_time_add(all, layers[layer][r] > 0 ? layers[layer][r] : 0);
        most = all > most ? all : most;
    }
    return most;
}

/* The first microbatch reaches the last stage, and the last one comes back,
 * while the busiest stage waits for all others; and each goes from stage to
 * stage. */
static int64_t bubble_of(cz_simulation *s, int64_t *const *layers,
                         int64_t width)
{
    const cz_document *d = s->document;
    const int64_t m = s->layers.microbatches;
    const int64_t n_stages = cz_op_extent(&s->prices, d->pipeline_set);
    const cz_wide bytes = (cz_wide)s->options->tokens * width *
                          ACTIVATION_BYTES * n_stages / d->n_ranks;
    if (n_stages <= 1)
        return 0;
    const cz_wide waits =
        (cz_wide)(n_stages - 1) * cz_ceil_div(busiest(s, layers), m);
    return cz_time_add(
        cz_time_limit(waits),
        cz_time_add(
            cz_op_send_ps(&s->prices, bytes, d->pipeline_set),
            cz_time_limit((cz_wide)(m - 1) *
                          cz_op_send_ps(&s->prices, 0, d->pipeline_set))));
}

/* What is alive of an iteration's activations. */
static int64_t activation_bytes_of(cz_simulation *s, const share *shares, int n)
{
    const int64_t n_stages =
        cz_op_extent(&s->prices, s->document->pipeline_set);
    const int64_t m = s->layers.microbatches;
    cz_wide most = 0;
    for (int r = 0; r < s->prices.n_ranks; r++) {
        cz_wide bytes = 0;
        for (int i = 0; i < n; i++)
            if (cz_op_is_resident(&s->prices, shares[i].residents, r))
                bytes += shares[i].activations * ACTIVATION_BYTES *
                         s->options->tokens / shares[i].n_ranks /
                         CZ_TIME_MILLION;
        most = bytes > most ? bytes : most;
    }
    return cz_time_limit(most * (m < n_stages ? m : n_stages) / m);
}

void cz_simulate_make_layers(cz_simulation *s)
{
    cz_simulate_layers *l = &s->layers;
    int n_shares;
    find_layers(s);
    const int64_t width = s->options->sequence > 0 ? width_of(s) : 0;
    if (s->options->sequence > 0) {
        const int64_t set = s->document->data_set & ~s->document->sequence_set;
        const int64_t n = s->options->tokens / s->options->sequence /
                          cz_op_extent(&s->prices, set);
        l->microbatches = n > 1 ? n : 1;
    }
    const share *shares = find_shares(s, &n_shares, width);
    l->forward = CZ_NEW(s->arena, int64_t *, l->n);
    l->backward = CZ_NEW(s->arena, int64_t *, l->n);
    l->links = CZ_NEW(s->arena, int64_t, s->prices.n_ranks);
    for (int layer = 0; layer < l->n; layer++)
        time_layer(s, layer, shares, n_shares);
    if (s->options->sequence > 0) {
        l->fill = bubble_of(s, l->forward, width);
        l->drain = bubble_of(s, l->backward, width);
        l->activation_bytes = activation_bytes_of(s, shares, n_shares);
    }
}
