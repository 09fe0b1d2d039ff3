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

static int64_t longest_of(const cz_document_message *message)
{
    int64_t longest = 0;
    for (int i = 0; i < message->n_slices; i++)
        if (message->own[i] > longest)
            longest = message->own[i];
    return longest;
}

static bool is_uneven(const cz_document_message *message)
{
    const int64_t longest = longest_of(message);
    return message->n_slices > 0 &&
           longest > cz_round_up(
                         cz_ceil_div(message->elements, message->n_slices), 64);
}

static int64_t reduce_ps(cz_simulation *s, const lister *l,
                         const cz_document_message *message)
{
    const cz_document_reduction *how =
        &s->document->reductions[l->like->reduction];
    const cz_wide bytes = (cz_wide)message->elements * how->grad_bytes;
    const cz_document_reduction undivided = {.reduce_set = how->reduce_set};
    const int64_t ps = cz_op_reduce_ps(
        &s->prices, bytes, (cz_wide)longest_of(message) * GRADIENT_BYTES,
        l->baseline->all_reduces ? &undivided : how, is_uneven(message));
    return l->baseline->all_reduces
               ? cz_time_add(ps,
                             cz_op_gather_ps(&s->prices, bytes, how->reduce_set,
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

/* The same on all ranks, together over a set of axes unless that is empty, and
 * behind another operation unless that is -1. */
static int append(cz_simulation *s, cz_simulate_role role, int64_t set,
                  int64_t ps, int behind)
{
    const int n_ranks = s->document->n_ranks;
    int64_t *all = CZ_NEW(s->arena, int64_t, n_ranks);
    int *wait = CZ_NEW(s->arena, int, 1);
    cz_timeline_op op = {.ps = all, .waits = wait, .n_waits = behind >= 0};
    for (int r = 0; r < n_ranks; r++)
        all[r] = ps;
    wait[0] = behind;
    if (set != 0) {
        op.stream = CZ_TIMELINE_LINK;
        op.comm = cz_op_comm(&s->prices, set, (cz_block){0, 0});
    }
    return cz_simulate_append(s, role, op);
}

/* The guard and the decision, as plans have them; what the update waits for. */
static int list_decision(cz_simulation *s, int behind)
{
    const int64_t all = s->prices.apart;
    const int64_t agree_ps = cz_op_agree_ps(&s->prices, all);
    if (s->document->guards)
        behind = append(s, CZ_SIMULATE_DECIDE, all, agree_ps, behind);
    if (s->document->decides)
        append(s, CZ_SIMULATE_DECIDE, 0, s->options->machine->launch,
               append(s, CZ_SIMULATE_DECIDE, all, agree_ps, behind));
    return behind;
}

void cz_simulate_list_baseline(cz_simulation *s, void *kept)
{
    lister *l = kept;
    const cz_document_baseline *baseline = l->baseline;
    const cz_document_reduction *how =
        &s->document->reductions[l->like->reduction];
    int *wait = CZ_NEW(s->arena, int, 1);
    wait[0] = -1;
    list_forward(s, l);
    cz_simulate_list_backward(s, l->backward);
    for (int m = 0; m < baseline->n_messages; m++)
        wait[0] = append(s, CZ_SIMULATE_REDUCE, how->reduce_set,
                         reduce_ps(s, l, &baseline->messages[m]),
                         l->backward[l->layer_of[m]]);
    wait[0] = list_decision(s, wait[0]);
    const int update = cz_simulate_append(
        s, CZ_SIMULATE_UPDATE,
        (cz_timeline_op){
            .ps = baseline->time_ps, .waits = wait, .n_waits = wait[0] >= 0});
    if (!baseline->gathers || cz_op_extent(&s->prices, how->split_set) == 1)
        return;
    for (int m = baseline->n_messages - 1; m >= 0; m--) {
        const cz_document_message *message = &baseline->messages[m];
        const cz_wide bytes =
            (cz_wide)message->elements * l->like->element_bytes;
        l->gather_of[m] =
            append(s, CZ_SIMULATE_GATHER, how->split_set,
                   cz_op_gather_ps(&s->prices, bytes, how->split_set,
                                   is_uneven(message)),
                   update);
    }
}
