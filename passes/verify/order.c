/* Happens-before on one rank, from streams and waits alone. */
#include "passes/verify/verify_internal.h"

enum { WORD_BITS = 64 };

static uint64_t *row_of(const order *o, int op)
{
    return &o->before[(int64_t)op * o->n_words];
}

static void add_before(const order *o, int op, int earlier)
{
    uint64_t *mine = row_of(o, op);
    const uint64_t *theirs = row_of(o, earlier);

    for (int w = 0; w < o->n_words; w++)
        mine[w] |= theirs[w];
    mine[earlier / WORD_BITS] |= (uint64_t)1 << (earlier % WORD_BITS);
}

order order_of_rank(verifier *v, int64_t rank)
{
    const int n_ops = v->view->n_ops;
    order o = {(n_ops + WORD_BITS - 1) / WORD_BITS, NULL};
    int last[MAX_STREAMS];

    o.before = CZ_NEW(v->arena, uint64_t, (int64_t)n_ops * o.n_words + 1);
    for (int s = 0; s < MAX_STREAMS; s++)
        last[s] = -1;
    for (int i = 0; i < n_ops; i++) {
        const cz_view_op *op = &v->view->ops[i];
        const int64_t stream = op->fact->stream;
        if (is_skipped(v, op, rank))
            continue;
        if (last[stream] >= 0)
            add_before(&o, i, last[stream]);
        for (int w = 0; w < op->fact->waits.n; w++) {
            const int earlier = (int)op->fact->waits.v[w];
            if (!is_skipped(v, &v->view->ops[earlier], rank))
                add_before(&o, i, earlier);
        }
        last[stream] = i;
    }
    return o;
}

bool is_before(const order *o, int first, int second)
{
    return (row_of(o, second)[first / WORD_BITS] >> (first % WORD_BITS)) & 1;
}
