/* An iteration of a baseline: messages in the order of gradients, the
 * optimizer as one piece of work on each rank, and gathers. */
#include "passes/simulate/internal.h"

enum { GRADIENT_BYTES = 4 }; /* of a reduced one */

typedef struct lister {
    const cz_document_baseline *baseline;
    const cz_document_bucket *like; /* whose types and axes all messages have */
    int *layer_of;  /* [n_messages] whose gradients complete it */
    int *gather_of; /* [n_messages] in the iteration before; -1: none */
    int *backward;  /* [n_layers] operations */
} lister;

static int64_t elements_of(const cz_document_baseline *baseline)
{
    int64_t sum = 0;
    for (int m = 0; m < baseline->n_messages; m++)
        sum = cz_time_add(sum, baseline->messages[m].elements);
    return sum;
}

/* How far to shift elements to the right so that they are below 2^62. */
static int shift_of(cz_wide elements)
{
    int shift = 0;
    while (elements >> shift >= CZ_MAX_PS)
        shift++;
    return shift;
}

/* A message is complete when as large a part of the model's elements has
 * passed the backward pass as has been sent up to its end. */
static void find_layers(cz_simulation *s, lister *l)
{
    const int64_t all_sent = elements_of(l->baseline);
    cz_wide all = 0, passed = 0, sent = 0;
    int layer = s->layers.n;
    for (int i = 0; i < s->layers.n; i++)
        all += s->layers.elements[i];
    const int shift = shift_of(all);
    for (int m = 0; m < l->baseline->n_messages; m++) {
        sent += l->baseline->messages[m].elements;
        while (
            layer == s->layers.n ||
            (layer > 0 && (passed >> shift) * all_sent < sent * (all >> shift)))
            passed += s->layers.elements[--layer];
        l->layer_of[m] = layer;
        l->gather_of[m] = -1;
    }
}

void *cz_simulate_baseline_lister(cz_simulation *s, int baseline)
{
    lister *l = CZ_NEW(s->arena, lister, 1);
    l->baseline = &s->document->baselines[baseline];
    const int n = l->baseline->n_messages;
    l->like = &s->document->buckets[0];
    l->layer_of = CZ_NEW(s->arena, int, n);
    l->gather_of = CZ_NEW(s->arena, int, n);
    l->backward = CZ_NEW(s->arena, int, s->layers.n);
    find_layers(s, l);
    return l;
}

static bool is_uneven(const cz_document_message *message)
{
    const int64_t longest =
        cz_simulate_longest(message->own, message->n_slices);
    return message->n_slices > 0 &&
           longest > cz_round_up(
                         cz_ceil_div(message->elements, message->n_slices), 64);
}

static int64_t reduce_ps(const cz_simulation *s, const lister *l,
                         const cz_document_message *message)
{
    const cz_document_reduction *how =
        &s->document->reductions[l->like->reduction];
    const cz_wide bytes = (cz_wide)message->elements * how->leaf_bytes;
    const cz_document_reduction whole = {.reduce_set = how->reduce_set};
    const int64_t longest =
        cz_simulate_longest(message->own, message->n_slices);
    const int64_t ps = cz_simulate_reduce_ps(
        s, bytes, (cz_wide)longest * GRADIENT_BYTES,
        l->baseline->all_reduces ? &whole : how, is_uneven(message));
    return l->baseline->all_reduces
               ? cz_time_add(ps,
                             cz_simulate_gather_ps(s, bytes, how->reduce_set,
                                                   is_uneven(message)))
               : ps;
}

static void list_forward(cz_simulation *s, const lister *l)
{
    int **waits = CZ_NEW(s->arena, int *, s->layers.n);
    int *n_waits = CZ_NEW(s->arena, int, s->layers.n);
    for (int m = 0; m < l->baseline->n_messages; m++) {
        const int last = m > 0 ? l->layer_of[m - 1] : s->layers.n - 1;
        const int from = l->baseline->is_exposed ? 0 : l->layer_of[m];
        for (int layer = from; layer <= last && l->gather_of[m] >= 0; layer++)
            *CZ_PUSH(s->arena, waits[layer], n_waits[layer]) = l->gather_of[m];
    }
    cz_simulate_list_forward(s, waits, n_waits);
}

/* All ranks agree on something behind an operation, if there is one. */
static int list_agreement(cz_simulation *s, int behind)
{
    const int64_t all = ((int64_t)1 << s->document->n_axes) - 1;
    const cz_link_speed link = cz_machine_link(
        s->options->machine, cz_simulate_link(s->document, s->options->machine,
                                              all, (cz_block){0, 0}));
    int *wait = CZ_NEW(s->arena, int, 1);
    wait[0] = behind;
    return cz_simulate_append(
        s, CZ_PART_DECIDE, CZ_TIMELINE_LINK, all,
        cz_simulate_alike(s,
                          cz_time_all_reduce(&link, s->document->n_ranks, 0)),
        wait, behind >= 0);
}

/* The guard and the decision, as plans have them; what the update waits for. */
static int list_decision(cz_simulation *s, int last_reduce)
{
    const int64_t launch = s->options->machine->launch;
    const int behind =
        s->document->guards ? list_agreement(s, last_reduce) : last_reduce;
    if (!s->document->decides)
        return behind;
    int *wait = CZ_NEW(s->arena, int, 1);
    wait[0] = list_agreement(s, behind);
    cz_simulate_append(s, CZ_PART_DECIDE, CZ_TIMELINE_COMPUTE, 0,
                       cz_simulate_alike(s, launch), wait, 1);
    return behind;
}

static void list_gathers(cz_simulation *s, lister *l, int update)
{
    const int64_t set = s->document->reductions[l->like->reduction].split_set;
    int *wait = CZ_NEW(s->arena, int, 1);
    wait[0] = update;
    for (int m = l->baseline->n_messages - 1; m >= 0; m--) {
        const cz_document_message *message = &l->baseline->messages[m];
        const int64_t ps = cz_simulate_gather_ps(
            s, (cz_wide)message->elements * l->like->element_bytes, set,
            is_uneven(message));
        if (l->baseline->gathers && cz_simulate_extent(s->document, set) > 1)
            l->gather_of[m] =
                cz_simulate_append(s, CZ_PART_GATHER, CZ_TIMELINE_LINK, set,
                                   cz_simulate_alike(s, ps), wait, 1);
    }
}

void cz_simulate_list_baseline(cz_simulation *s, void *kept)
{
    lister *l = kept;
    const int64_t set = s->document->reductions[l->like->reduction].reduce_set;
    int *wait = CZ_NEW(s->arena, int, 1);
    wait[0] = -1;
    list_forward(s, l);
    cz_simulate_list_backward(s, l->backward);
    for (int m = 0; m < l->baseline->n_messages; m++) {
        int *ready = CZ_NEW(s->arena, int, 1);
        ready[0] = l->backward[l->layer_of[m]];
        wait[0] = cz_simulate_append(
            s, CZ_PART_REDUCE, CZ_TIMELINE_LINK, set,
            cz_simulate_alike(s, reduce_ps(s, l, &l->baseline->messages[m])),
            ready, 1);
    }
    wait[0] = list_decision(s, wait[0]);
    list_gathers(s, l,
                 cz_simulate_append(s, CZ_PART_UPDATE, CZ_TIMELINE_COMPUTE, 0,
                                    l->baseline->time_ps, wait, wait[0] >= 0));
}
