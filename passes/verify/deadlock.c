/* V4: with zero buffering, every run completes if and only if this one does.  A
 * rank's operations start in list order, each after the one before it
 * completed: the strictest executor, and the order that communication libraries
 * ask for. What has started stays started, so it does not matter which rank
 * goes first: one run stands for all.  Operations that meet no other rank
 * complete at once and are left out. */
#include "passes/verify/internal.h"

/* One side of a pair of rows that meet: who has to start what before this
 * rank's operation can complete. */
typedef struct meeting {
    int64_t rank, op, partner, param, partner_op;
} meeting;

/* All communicators over one set of axes, or all blocks of them. */
typedef struct comm {
    const cz_ints *axes;
    cz_block block; /* of positions */
    int size;
    int *first;   /* [n_ranks] member 0 of a rank's communicator */
    int *next;    /* [n_ranks] the member behind it; behind the last one, 0 */
    int *started; /* [n_ranks] by member 0: members that have started what they
                   * are in.  A communicator skips a collective as a whole or
                   * not at all (V3): all are in the same one */
} comm;

typedef struct run {
    verifier *v;
    int *at;           /* [n_ranks] the operation that a rank has started and
                        * not completed; -1: none yet; n_ops: all are done */
    int *n_missing;    /* [n_ranks] meetings whose partner has not started */
    int64_t *first;    /* [n_ranks + 1] each rank's meetings, */
    meeting *meetings; /* in order of operations */
    int64_t *next;     /* [n_ranks] the first that is still to come */
    comm *comms;
    int n_comms;
    const comm **comm_of; /* [n_ops] of collectives */
    int *ready;           /* [n_ranks] whose operation has completed */
    int n_ready;
} run;

static bool is_collective(cz_step_kind kind)
{
    return kind == CZ_STEP_REDUCE_SCATTER || kind == CZ_STEP_ALL_GATHER ||
           kind == CZ_STEP_ALL_REDUCE || kind == CZ_STEP_GROUP_SUM ||
           kind == CZ_STEP_GUARD || kind == CZ_STEP_UNDO;
}

/* ---- who meets whom ---- */

/* Whether all partners are in the same operation.  Then a rank waits in a
 * transfer for such as have not come to it, and one of those that are least far
 * waits for nobody: no meeting holds up anything. */
static bool meet_in_place(verifier *v)
{
    for (int op = 0; op < v->view->n_ops; op++) {
        int n;
        if (v->view->ops[op].kind == CZ_STEP_TRANSFER &&
            !pair_transfers(v, op, false, &n))
            return false;
    }
    return true;
}

/* Pairs over the whole list: where partners are in different operations, which
 * V2 does not allow either, it matters whether they would wait for ever. */
static void find_meetings(run *r)
{
    const int n_ranks = r->v->view->n_ranks;
    int n = 0;
    const transfer_pair *pairs = pair_over_list(r->v, &n);
    meeting *list = CZ_NEW(r->v->arena, meeting, 2 * (int64_t)n + 1);

    for (int i = 0; i < n; i++) {
        const transfer_pair *p = &pairs[i];
        list[2 * i] = (meeting){p->source, p->sent_in, p->target,
                                p->send->param, p->received_in};
        list[2 * i + 1] = (meeting){p->target, p->received_in, p->source,
                                    p->receive->param, p->sent_in};
        r->first[p->source + 1]++;
        r->first[p->target + 1]++;
    }
    for (int rank = 0; rank < n_ranks; rank++) {
        r->first[rank + 1] += r->first[rank];
        r->next[rank] = r->first[rank];
    }
    list = sort_by_key(r->v->arena, list, 2 * n, sizeof *list,
                       offsetof(meeting, op), r->v->view->n_ops, NULL);
    r->meetings = sort_by_key(r->v->arena, list, 2 * n, sizeof *list,
                              offsetof(meeting, rank), n_ranks, NULL);
}

static const comm *find_comm(run *r, const cz_view_op *op)
{
    const cz_plan_view *view = r->v->view;
    const cz_ints *axes = &op->fact->comm;
    const cz_block block = cz_view_op_block(view, op);
    comm *c = NULL;

    for (int i = 0; i < r->n_comms; i++)
        if (same_axes(r->comms[i].axes, axes) &&
            r->comms[i].block.size == block.size &&
            r->comms[i].block.stride == block.stride)
            return &r->comms[i];
    c = &r->comms[r->n_comms++];
    c->axes = axes;
    c->block = block;
    c->size = (int)block.size;
    c->first = CZ_NEW(r->v->arena, int, view->n_ranks);
    c->next = CZ_NEW(r->v->arena, int, view->n_ranks);
    c->started = CZ_NEW(r->v->arena, int, view->n_ranks);
    for (int rank = 0; rank < view->n_ranks; rank++) {
        const int64_t at = cz_view_coordinate(view, axes, rank);
        const int64_t first = cz_block_first(block, at);
        const int64_t next = (cz_block_place(block, at) + 1) % block.size;
        c->first[rank] = (int)cz_view_rank_at(view, axes, first, rank);
        c->next[rank] =
            (int)cz_view_rank_at(view, axes, first + next * block.stride, rank);
    }
    return c;
}

/* ---- the run ---- */

static void complete(run *r, int rank)
{
    r->ready[r->n_ready++] = rank;
}

/* Neither side completes before both have started.  A copy to oneself waits
 * for nobody. */
static void start_transfer(run *r, int op, int rank)
{
    int64_t i = r->next[rank];
    int n_missing = 0;

    for (; i < r->first[rank + 1] && r->meetings[i].op == op; i++) {
        const meeting *m = &r->meetings[i];
        if (m->partner == rank && m->partner_op == op)
            continue;
        if (r->at[m->partner] < m->partner_op)
            n_missing++;
        else if (--r->n_missing[m->partner] == 0)
            complete(r, (int)m->partner);
    }
    r->next[rank] = i;
    r->n_missing[rank] = n_missing;
    if (n_missing == 0)
        complete(r, rank);
}

/* On to the next operation that meets others. */
static void advance(run *r, int rank)
{
    const cz_plan_view *view = r->v->view;
    int op = r->at[rank] + 1;

    while (op < view->n_ops &&
           ((!r->comm_of[op] && view->ops[op].kind != CZ_STEP_TRANSFER) ||
            is_skipped(r->v, &view->ops[op], rank)))
        op++;
    r->at[rank] = op;
    if (op < view->n_ops && r->comm_of[op]) {
        /* Completes nowhere before it has started everywhere. */
        const comm *c = r->comm_of[op];
        int *started = &c->started[c->first[rank]];

        if (++*started >= c->size) {
            *started = 0;
            for (int i = 0, member = rank; i < c->size;
                 i++, member = c->next[member])
                complete(r, member);
        }
    } else if (op < view->n_ops)
        start_transfer(r, op, rank);
}

/* The first rank in the first operation that never completes; -1: none. */
static int find_stuck(const run *r)
{
    int stuck = -1;

    for (int rank = 0; rank < r->v->view->n_ranks; rank++)
        if (r->at[rank] < r->v->view->n_ops &&
            (stuck < 0 || r->at[rank] < r->at[stuck]))
            stuck = rank;
    return stuck;
}

/* Named is the parameter of a row whose partner never starts. */
static void report_stuck(run *r, int rank)
{
    place at = place_on(r->v, r->at[rank], rank);

    for (int64_t i = r->first[rank]; i < r->next[rank]; i++) {
        const meeting *m = &r->meetings[i];
        if (m->op == at.op && r->at[m->partner] < m->partner_op) {
            at.param = m->param;
            break;
        }
    }
    reject(r->v, at,
           "never completes unless sends are buffered: it waits, through other "
           "ranks, for an operation behind it");
}

void check_deadlock(verifier *v)
{
    const int n_ranks = v->view->n_ranks;
    run r = {.v = v};

    r.at = CZ_NEW(v->arena, int, n_ranks);
    r.n_missing = CZ_NEW(v->arena, int, n_ranks);
    r.first = CZ_NEW(v->arena, int64_t, n_ranks + 1);
    r.next = CZ_NEW(v->arena, int64_t, n_ranks);
    r.ready = CZ_NEW(v->arena, int, n_ranks);
    if (!meet_in_place(v))
        find_meetings(&r);
    const int n_ops = r.v->view->n_ops;

    r.comms = CZ_NEW(r.v->arena, comm, n_ops);
    r.comm_of = CZ_NEW(r.v->arena, const comm *, n_ops);
    for (int op = 0; op < n_ops; op++)
        if (is_collective(r.v->view->ops[op].kind))
            r.comm_of[op] = find_comm(&r, &r.v->view->ops[op]);
    for (int rank = n_ranks - 1; rank >= 0; rank--) {
        r.at[rank] = -1;
        complete(&r, rank);
    }
    while (r.n_ready > 0)
        advance(&r, r.ready[--r.n_ready]);
    if (find_stuck(&r) >= 0)
        report_stuck(&r, find_stuck(&r));
}
