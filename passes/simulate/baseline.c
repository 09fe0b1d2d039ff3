/* An iteration of a baseline: messages as the backward pass completes them, the
 * optimizer as one piece of work on each rank, and gathers. */
#include "passes/simulate/internal.h"

enum { GRADIENT_BYTES = 4 }; /* of a reduced one */

typedef struct lister {
    const cz_document_baseline *baseline;
    cz_simulate_buckets messages;
    int *order; /* [n_messages] as they become complete */
    /* Operations of every iteration, without what they wait for. */
    cz_timeline_op *reduce, *squares, *gather; /* [n_messages] */
    cz_timeline_op agree, launch, update;
} lister;

void *cz_simulate_baseline_lister(cz_simulation *s, int baseline)
{
    lister *l = CZ_NEW(s->arena, lister, 1);
    l->baseline = &s->document->baselines[baseline];
    const int n = l->baseline->n_messages;
    int n_ordered = 0;
    l->messages = cz_simulate_buckets_make(s, n);
    l->order = CZ_NEW(s->arena, int, n);
    for (int m = 0; m < n; m++) {
        const cz_document_message *message = &l->baseline->messages[m];
        for (int i = 0; i < message->n_params; i++)
            cz_simulate_put(s, &l->messages, m, (int)message->params[i]);
    }
    for (int layer = s->layers.n - 1; layer >= 0; layer--)
        for (int m = 0; m < n; m++) {
            if (l->messages.first_layer[m] == layer)
                l->order[n_ordered++] = m;
            if (l->baseline->is_exposed)
                l->messages.has[layer * n + m] = true;
        }
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

bool cz_simulate_is_even(const cz_document_baseline *baseline)
{
    bool even = true;
    for (int m = 0; m < baseline->n_messages; m++)
        even = even && !is_uneven(&baseline->messages[m]);
    return even;
}

static int64_t reduce_ps(cz_simulation *s, const lister *l,
                         const cz_document_message *message)
{
    const cz_document_reduction *how =
        &s->document->reductions[message->reduction];
    const cz_wide bytes = (cz_wide)message->elements * how->grad_bytes;
    if (cz_op_extent(&s->prices, how->reduce_set) == 1)
        return cz_time_map(s->prices.machine,
                           bytes + (cz_wide)message->elements * GRADIENT_BYTES);
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

static int64_t gather_ps(cz_simulation *s, const cz_document_baseline *baseline,
                         const cz_document_message *message)
{
    const int64_t set = s->document->reductions[message->reduction].split_set;
    return baseline->gathers ? cz_op_gather_ps(&s->prices, message->bytes, set,
                                               is_uneven(message))
                             : 0;
}

/* Together over a set of axes, on the ranks that have it. */
static cz_timeline_op over(cz_simulation *s, int64_t set,
                           const cz_document_residents *residents, int64_t ps)
{
    int64_t *of_rank = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    for (int r = 0; r < s->document->n_ranks; r++)
        of_rank[r] = cz_op_is_resident(&s->prices, residents, r) ? ps : -1;
    return (cz_timeline_op){.stream = CZ_TIMELINE_LINK,
                            .comm =
                                cz_op_comm(&s->prices, set, (cz_block){0, 0}),
                            .ps = of_rank};
}

/* Each rank sums up the squares of its own slice of a message, as plans do
 * bucket by bucket. */
static cz_timeline_op squares_of(cz_simulation *s,
                                 const cz_document_message *message)
{
    const int64_t set = s->document->reductions[message->reduction].split_set;
    int64_t *ps = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    cz_op_fill_own(&s->prices, message->own, set, GRADIENT_BYTES, ps);
    for (int r = 0; r < s->document->n_ranks; r++)
        if (!cz_op_is_resident(&s->prices, &message->residents, r))
            ps[r] = -1;
    return (cz_timeline_op){.ps = ps};
}

/* On each rank: its kernels, and a launch for each that is element-wise. */
static const int64_t *update_ps(cz_simulation *s,
                                const cz_document_baseline *baseline)
{
    int64_t *ps = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    for (int r = 0; r < s->document->n_ranks; r++) {
        const cz_wide launches = baseline->launches ? baseline->launches[r] : 0;
        ps[r] =
            cz_time_add(baseline->time_ps[r],
                        cz_time_limit(launches * s->options->machine->launch));
    }
    return ps;
}

void cz_simulate_make_ops(cz_simulation *s, void *kept)
{
    lister *l = kept;
    const int n = l->messages.n;
    const cz_document_residents all = {0};
    const int64_t set = s->prices.apart;
    l->reduce = CZ_NEW(s->arena, cz_timeline_op, n);
    l->squares = CZ_NEW(s->arena, cz_timeline_op, n);
    l->gather = CZ_NEW(s->arena, cz_timeline_op, n);
    for (int m = 0; m < n; m++) {
        const cz_document_message *message = &l->baseline->messages[m];
        const cz_document_reduction *how =
            &s->document->reductions[message->reduction];
        l->reduce[m] = over(s, how->reduce_set, &message->residents,
                            reduce_ps(s, l, message));
        l->squares[m] = squares_of(s, message);
        l->gather[m] = over(s, how->split_set, &message->residents,
                            gather_ps(s, l->baseline, message));
    }
    l->agree = over(s, set, &all, cz_op_agree_ps(&s->prices, set));
    l->launch = over(s, 0, &all, s->options->machine->launch);
    l->launch.stream = CZ_TIMELINE_COMPUTE;
    l->update = (cz_timeline_op){.ps = update_ps(s, l->baseline)};
}

/* Behind n operations. */
static int append(cz_simulation *s, cz_simulate_role role, cz_timeline_op op,
                  const int *behind, int n)
{
    op.waits = behind;
    op.n_waits = n;
    return cz_simulate_append(s, role, op);
}

/* The guard, the decision and the prologue, as plans have them, behind n
 * operations, which become what the update waits for. */
static void list_decision(cz_simulation *s, const lister *l, const int **behind,
                          int *n)
{
    int *last = CZ_NEW(s->arena, int, 4);
    for (int i = 0; i < s->document->guards + s->document->decides; i++) {
        last[i] = append(s, CZ_SIMULATE_DECIDE, l->agree, *behind, *n);
        *behind = &last[i];
        *n = 1;
    }
    if (s->document->decides) {
        last[2] = append(s, CZ_SIMULATE_DECIDE, l->launch, *behind, *n);
        *behind = &last[2];
    }
    last[3] = append(s, CZ_SIMULATE_UPDATE, l->launch, *behind, *n);
    *behind = &last[3];
    *n = 1;
}

void cz_simulate_list_baseline(cz_simulation *s, void *kept)
{
    lister *l = kept;
    const int n = l->messages.n;
    int n_waits = n;
    int *reduced = CZ_NEW(s->arena, int, n);
    int *squared = CZ_NEW(s->arena, int, n);
    const int *waits = reduced;
    int *updated = CZ_NEW(s->arena, int, 1);
    int *backward = CZ_NEW(s->arena, int, s->layers.n);
    cz_simulate_list_forward(s, &l->messages);
    cz_simulate_list_backward(s, backward);
    for (int i = 0; i < n; i++)
        reduced[i] = append(s, CZ_SIMULATE_REDUCE, l->reduce[l->order[i]],
                            &backward[l->messages.first_layer[l->order[i]]], 1);
    for (int i = 0; s->document->decides > 0 && i < n; i++) {
        squared[i] = append(s, CZ_SIMULATE_DECIDE, l->squares[l->order[i]],
                            &reduced[i], 1);
        waits = squared;
    }
    list_decision(s, l, &waits, &n_waits);
    updated[0] = append(s, CZ_SIMULATE_UPDATE, l->update, waits, n_waits);
    for (int i = n - 1; l->baseline->gathers && i >= 0; i--) {
        const int m = l->order[i];
        const int64_t set =
            s->document->reductions[l->baseline->messages[m].reduction]
                .split_set;
        if (cz_op_extent(&s->prices, set) > 1)
            l->messages.gather_of[m] =
                append(s, CZ_SIMULATE_GATHER, l->gather[m], updated, 1);
    }
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* On a rank a pass from the last layer to the first, and each message behind
 * its first layer and the message before: reductions, or seen from the end of
 * the forward pass, gathers. */
static int64_t chain_of(const cz_simulation *s, const lister *l,
                        int64_t *const *passes, const int64_t *links, int rank)
{
    int64_t pass = 0, end = 0;
    for (int i = 0, layer = s->layers.n - 1; layer >= 0; layer--) {
        pass = cz_time_add(pass, larger(passes[layer][rank], 0));
        for (; i < l->messages.n; i++) {
            const int m = l->order[i];
            if (l->messages.first_layer[m] != layer)
                break;
            if (cz_op_is_resident(&s->prices,
                                  &l->baseline->messages[m].residents, rank))
                end = cz_time_add(larger(end, pass), links[m]);
        }
    }
    return larger(end, pass);
}

bool cz_simulate_may_be_shorter(cz_simulation *s, void *kept, int64_t ps)
{
    const lister *l = kept;
    const cz_document_baseline *of = l->baseline;
    const int n = l->messages.n, n_ranks = s->document->n_ranks;
    const int64_t *update = update_ps(s, of);
    int64_t *reduce = CZ_NEW(s->arena, int64_t, n);
    int64_t *gather = CZ_NEW(s->arena, int64_t, n);
    int busiest = 0;
    for (int m = 0; m < n; m++) {
        reduce[m] = reduce_ps(s, l, &of->messages[m]);
        gather[m] = gather_ps(s, of, &of->messages[m]);
    }
    for (int r = 1; r < n_ranks; r++)
        busiest = update[r] > update[busiest] ? r : busiest;
    bool may = true;
    for (int i = 0; i < n_ranks && may; i++) {
        const int r = (busiest + i) % n_ranks;
        const int64_t chains =
            cz_time_add(chain_of(s, l, s->layers.backward, reduce, r),
                        chain_of(s, l, s->layers.forward, gather, r));
        may = cz_time_add(cz_time_add(chains, update[r]),
                          cz_time_add(s->layers.fill, s->layers.drain)) < ps;
    }
    return may;
}
