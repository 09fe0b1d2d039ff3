/* The list of operations while it grows; what computes is slowed down here. */
#include "passes/simulate/internal.h"

/* SplitMix64: a number for each key, with no state. */
static uint64_t mix(uint64_t key)
{
    key += 0x9e3779b97f4a7c15U;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9U;
    key = (key ^ key >> 27) * 0x94d049bb133111ebU;
    return key ^ key >> 31;
}

static uint64_t draw(const cz_simulation *s, uint64_t op, uint64_t rank)
{
    return mix(mix(mix((uint64_t)s->options->seed) ^ op) ^ rank);
}

/* Stragglers are the ranks with the least draws. */
void cz_simulate_pick_stragglers(cz_simulation *s)
{
    const int n = s->document->n_ranks;
    s->is_slow = CZ_NEW(s->arena, bool, n);
    for (int i = 0; i < s->options->n_stragglers && i < n; i++) {
        int least = -1;
        for (int r = 0; r < n; r++)
            if (!s->is_slow[r] &&
                (least < 0 || draw(s, UINT64_MAX, (uint64_t)r) <
                                  draw(s, UINT64_MAX, (uint64_t)least)))
                least = r;
        s->is_slow[least] = true;
    }
}

/* Between 1 and 1 + jitter times as long, and a straggler slower yet. */
static int64_t slowed(const cz_simulation *s, int op, int rank, int64_t ps)
{
    const uint64_t million = CZ_SIMULATE_MILLION;
    cz_wide longer = ps;
    if (ps < 0)
        return ps;
    if (s->options->jitter > 0) {
        const uint64_t part =
            draw(s, (uint64_t)op, (uint64_t)rank) % (million + 1);
        longer += longer * s->options->jitter / CZ_SIMULATE_MILLION *
                  (int64_t)part / CZ_SIMULATE_MILLION;
    }
    if (s->is_slow[rank])
        longer = longer * s->options->slowdown / CZ_SIMULATE_MILLION;
    return longer < s->cap_ps ? (int64_t)longer : s->cap_ps;
}

static const int64_t *times_of(cz_simulation *s, cz_timeline_stream stream,
                               const int64_t *ps)
{
    const bool is_slowed =
        stream == CZ_TIMELINE_COMPUTE &&
        (s->options->jitter > 0 || s->options->n_stragglers > 0);
    const int n = s->document->n_ranks;
    bool fits = true;
    for (int r = 0; r < n; r++)
        fits = fits && ps[r] <= s->cap_ps;
    if (fits && !is_slowed)
        return ps;
    int64_t *out = CZ_NEW(s->arena, int64_t, n);
    for (int r = 0; r < n; r++) {
        const int64_t capped = ps[r] < s->cap_ps ? ps[r] : s->cap_ps;
        out[r] = is_slowed ? slowed(s, s->list.n_ops, r, capped) : capped;
    }
    return out;
}

int64_t *cz_simulate_alike(cz_simulation *s, int64_t ps)
{
    int64_t *all = CZ_NEW(s->arena, int64_t, s->document->n_ranks);
    for (int r = 0; r < s->document->n_ranks; r++)
        all[r] = ps;
    return all;
}

int cz_simulate_append(cz_simulation *s, cz_simulate_part part,
                       cz_timeline_stream stream, int64_t set,
                       const int64_t *ps, const int *waits, int n_waits)
{
    const int number = s->list.n_ops;
    const cz_timeline_op op = {
        .stream = stream,
        .of = -1,
        .comm = set != 0 ? cz_simulate_comm(s, set, (cz_block){0, 0})
                         : (cz_timeline_comm){0, NULL},
        .ps = times_of(s, stream, ps),
        .waits = waits,
        .n_waits = n_waits};
    *CZ_PUSH(s->arena, s->list.ops, s->list.n_ops) = op;
    *CZ_PUSH(s->arena, s->marks, s->n_marks) =
        (cz_simulate_mark){part, s->iteration};
    return number;
}

int cz_simulate_append_op(cz_simulation *s, cz_simulate_part part,
                          const cz_document_op *op, const int64_t *ps,
                          const int *waits, int n_waits)
{
    const int number = cz_simulate_append(
        s, part, (cz_timeline_stream)op->stream, op->comm, ps, waits, n_waits);
    if (op->block.size > 0)
        s->list.ops[number].comm = cz_simulate_comm(s, op->comm, op->block);
    return number;
}

/* ---- passes of the model ---- */

void cz_simulate_list_forward(cz_simulation *s, int *const *waits,
                              const int *n_waits)
{
    for (int layer = 0; layer < s->layers.n; layer++)
        cz_simulate_append(s, CZ_PART_FORWARD, CZ_TIMELINE_COMPUTE, 0,
                           s->layers.forward[layer], waits[layer],
                           n_waits[layer]);
}

void cz_simulate_list_backward(cz_simulation *s, int *ops)
{
    for (int layer = s->layers.n - 1; layer >= 0; layer--)
        ops[layer] =
            cz_simulate_append(s, CZ_PART_BACKWARD, CZ_TIMELINE_COMPUTE, 0,
                               s->layers.backward[layer], NULL, 0);
}
