/* Happens-before on one rank, from streams and waits alone. */
#include "passes/verify/internal.h"

enum { WORD_BITS = 64 };

static uint64_t *row_of(const order *o, int op)
{
    return &o->before[(int64_t)op * o->n_words];
}

/* `earlier`, and, where it is there in every step, what comes before it. */
static void add_before(const order *o, int op, int earlier, bool is_always)
{
    uint64_t *mine = row_of(o, op);
    const uint64_t *theirs = row_of(o, earlier);

    for (int w = 0; w < o->n_words && is_always; w++)
        mine[w] |= theirs[w];
    mine[earlier / WORD_BITS] |= (uint64_t)1 << (earlier % WORD_BITS);
}

/* Steps are undone if the trainer says so, and kept for that: nothing may be
 * ordered through KEEP alone.  UNDO is there in every step. */
static bool is_always_there(const verifier *v, int op)
{
    return v->view->ops[op].kind != CZ_STEP_KEEP;
}

order order_of_rank(verifier *v, int64_t rank)
{
    const int n_ops = v->view->n_ops;
    order o = {(n_ops + WORD_BITS - 1) / WORD_BITS, NULL};
    int last[MAX_STREAMS], keep = -1; /* there is one (V9) */

    o.before = CZ_NEW(v->arena, uint64_t, (int64_t)n_ops * o.n_words + 1);
    for (int s = 0; s < MAX_STREAMS; s++)
        last[s] = -1;
    for (int i = 0; i < n_ops; i++) {
        const cz_view_op *op = &v->view->ops[i];
        const int64_t stream = op->fact->stream;
        if (is_skipped(v, op, rank))
            continue;
        if (last[stream] >= 0)
            add_before(&o, i, last[stream], true);
        if (keep >= 0 && v->view->ops[keep].fact->stream == stream)
            add_before(&o, i, keep, false);
        for (int w = 0; w < op->fact->waits.n; w++) {
            const int earlier = (int)op->fact->waits.v[w];
            if (!is_skipped(v, &v->view->ops[earlier], rank))
                add_before(&o, i, earlier, is_always_there(v, earlier));
        }
        if (is_always_there(v, i))
            last[stream] = i;
        else
            keep = i;
    }
    return o;
}

bool is_before(const order *o, int first, int second)
{
    return (row_of(o, second)[first / WORD_BITS] >> (first % WORD_BITS)) & 1;
}
