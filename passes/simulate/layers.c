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
} share;

static bool same_residents(const cz_document_residents *a,
                           const cz_document_residents *b)
{
    return a->set == b->set && a->n == b->n &&
           memcmp(a->coordinates, b->coordinates,
                  (size_t)a->n * sizeof *a->coordinates) == 0;
}

static share *find_share(cz_simulation *s, share **shares, int *n,
                         const cz_document_residents *residents, int layer)
{
    for (int i = *n - 1; i >= 0; i--)
        if ((*shares)[i].layer == layer &&
            same_residents((*shares)[i].residents, residents))
            return &(*shares)[i];
    share *added = CZ_PUSH(s->arena, *shares, *n);
    *added = (share){residents, 0, layer, 0, 0};
    for (int r = 0; r < s->document->n_ranks; r++)
        added->n_ranks += cz_op_is_resident(&s->prices, residents, r);
    return added;
}

static share *find_shares(cz_simulation *s, int *n)
{
    const cz_document *f = s->document;
    share *shares = NULL;
    *n = 0;
    for (int p = 0; p < f->n_params; p++) {
        const cz_document_param *param = &f->params[p];
        const int64_t part =
            param->is_expert_partitioned ? s->options->active : CZ_TIME_MILLION;
        share *of =
            find_share(s, &shares, n, &param->residents, s->layers.of_param[p]);
        *(param->bucket < 0 ? &of->frozen : &of->trained) +=
            (cz_wide)param->elements * param->n_names * part;
    }
    return shares;
}

/* On each rank that has them, as the work is dealt out evenly. */
static cz_wide flops_of(const cz_simulation *s, const share *of, int trained,
                        int frozen)
{
    const cz_wide by = (cz_wide)of->n_ranks * CZ_TIME_MILLION;
    const cz_wide flops = (of->trained * trained + of->frozen * frozen) / by;
    const cz_wide most = (cz_wide)1 << 62;
    return (flops < most ? flops : most) * s->options->tokens;
}

static void add_share(cz_simulation *s, const share *of, cz_wide *forward,
                      cz_wide *backward)
{
    for (int r = 0; r < s->document->n_ranks; r++) {
        if (!cz_op_is_resident(&s->prices, of->residents, r))
            continue;
        if (forward[r] < 0)
            forward[r] = backward[r] = 0;
        forward[r] += flops_of(s, of, FORWARD, FORWARD);
        backward[r] += flops_of(s, of, BACKWARD, BACKWARD_FROZEN);
    }
}

static int64_t *times_of(cz_simulation *s, const cz_wide *flops)
{
    const cz_wide rate = (cz_wide)s->options->machine->bf16_rate *
                         s->options->mfu / CZ_TIME_MILLION;
    int64_t *ps = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    for (int r = 0; r < s->document->n_ranks; r++)
        ps[r] = flops[r] < 0
                    ? -1
                    : cz_time_of(flops[r], rate > 1 ? (int64_t)rate : 1);
    return ps;
}

static void time_layer(cz_simulation *s, int layer, const share *shares, int n)
{
    const int n_ranks = s->document->n_ranks;
    cz_wide *forward = CZ_NEW(s->arena, cz_wide, n_ranks);
    cz_wide *backward = CZ_NEW(s->arena, cz_wide, n_ranks);
    for (int r = 0; r < n_ranks; r++)
        forward[r] = backward[r] = -1;
    for (int i = 0; i < n; i++)
        if (shares[i].layer == layer)
            add_share(s, &shares[i], forward, backward);
    s->layers.forward[layer] = times_of(s, forward);
    s->layers.backward[layer] = times_of(s, backward);
}

void cz_simulate_make_layers(cz_simulation *s)
{
    int n_shares;
    find_layers(s);
    const int n = s->layers.n;
    const share *shares = find_shares(s, &n_shares);
    s->layers.forward = CZ_NEW(s->arena, int64_t *, n);
    s->layers.backward = CZ_NEW(s->arena, int64_t *, n);
    for (int layer = 0; layer < n; layer++)
        time_layer(s, layer, shares, n_shares);
}
