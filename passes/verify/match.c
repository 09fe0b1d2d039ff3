/* V2: in every transfer, the k-th send from a to b meets the k-th receive at b
 * from a, and both have the same form. */
#include "passes/verify/verify_internal.h"

/* A row on a rank, as the pair (source, target) sees it.  The source comes
 * first, see sort_groups(). */
typedef struct end {
    int64_t source, target, op, sequence;
    const cz_view_transfer_row *row;
} end;

static int compare(const void *left, const void *right)
{
    const end *a = left, *b = right;
    int c = by_number(a->source, b->source);

    c = c ? c : by_number(a->target, b->target);
    c = c ? c : by_number(a->op, b->op);
    c = c ? c : by_number(a->sequence, b->sequence);
    return c;
}

typedef struct end_list {
    end *v;
    int n;
} end_list;

static void collect(verifier *v, int number, end_list *sends,
                    end_list *receives)
{
    const cz_view_op *op = &v->view->ops[number];

    for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
        const row_range rows = rows_of(v, op, rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const cz_view_transfer_row *row =
                &v->view->tables[op->table].rows.transfer[i];
            const int64_t peer =
                cz_view_rank_at(v->view, &op->fact->comm, row->peer, rank);
            end_list *list = row->is_recv ? receives : sends;
            *CZ_PUSH(v->arena, list->v, list->n) =
                (end){row->is_recv ? peer : rank, row->is_recv ? rank : peer,
                      number, i, row};
        }
    }
}

static void sort(const verifier *v, end_list *list)
{
    list->v = sort_groups(v->arena, list->v, list->n, sizeof *list->v,
                          v->view->n_ranks, compare);
}

static bool report_odd(verifier *v, int op, const end *odd)
{
    const bool is_recv = odd->row->is_recv != 0;

    reject(v, (place){op, is_recv ? odd->target : odd->source, odd->row->param},
           is_recv ? "a receive from rank %lld that nobody sends"
                   : "a send to rank %lld that nobody receives",
           (long long)(is_recv ? odd->source : odd->target));
    return false;
}

static bool check_pair(verifier *v, int op, const end *send, const end *receive)
{
    const cz_view_transfer_row *from = send->row, *to = receive->row;
    const bool alike =
        from->n_rows == to->n_rows && from->row_bytes == to->row_bytes;

    if (send->source != receive->source || send->target != receive->target) {
        const int64_t x[] = {send->source, send->target};
        const int64_t y[] = {receive->source, receive->target};
        const bool send_first = x[0] != y[0] ? x[0] < y[0] : x[1] < y[1];
        return report_odd(v, op, send_first ? send : receive);
    }
    if (alike && from->phases != to->phases) {
        reject(v, (place){op, send->source, from->param},
               "is sent in other phases of its rule than rank %lld expects it "
               "in",
               (long long)send->target);
        return false;
    }
    if (!alike)
        reject(v, (place){op, send->source, from->param},
               "sends %lld x %lld bytes to rank %lld, which expects %lld x "
               "%lld",
               (long long)from->n_rows, (long long)from->row_bytes,
               (long long)send->target, (long long)to->n_rows,
               (long long)to->row_bytes);
    return alike;
}

static transfer_pair pair_of(const end *send, const end *receive)
{
    return (transfer_pair){send->source,     send->target, (int)send->op,
                           (int)receive->op, send->row,    receive->row};
}

const transfer_pair *pair_transfers(verifier *v, int op, int *n)
{
    end_list sends = {NULL, 0}, receives = {NULL, 0};
    transfer_pair *pairs;

    collect(v, op, &sends, &receives);
    sort(v, &sends);
    sort(v, &receives);
    pairs = CZ_NEW(v->arena, transfer_pair, sends.n + 1);
    *n = 0;
    for (int i = 0; i < sends.n || i < receives.n; i++) {
        bool ok;
        if (i >= sends.n || i >= receives.n)
            ok = report_odd(v, op, i < sends.n ? &sends.v[i] : &receives.v[i]);
        else
            ok = check_pair(v, op, &sends.v[i], &receives.v[i]);
        if (!ok)
            return NULL;
        pairs[(*n)++] = pair_of(&sends.v[i], &receives.v[i]);
    }
    return pairs;
}

static bool same_ends(const end *a, const end *b)
{
    return a->source == b->source && a->target == b->target;
}

/* How many from the first on have the same two ends. */
static int n_alike(const end_list *list, int first)
{
    int n = 0;

    while (first + n < list->n &&
           same_ends(&list->v[first], &list->v[first + n]))
        n++;
    return n;
}

static bool comes_before(const end *a, const end *b)
{
    return a->source != b->source ? a->source < b->source
                                  : a->target < b->target;
}

const transfer_pair *pair_over_list(verifier *v, int *n)
{
    end_list sends = {NULL, 0}, receives = {NULL, 0};
    transfer_pair *pairs;
    int s = 0, r = 0;

    for (int op = 0; op < v->view->n_ops; op++)
        if (v->view->ops[op].kind == CZ_STEP_TRANSFER)
            collect(v, op, &sends, &receives);
    sort(v, &sends);
    sort(v, &receives);
    pairs = CZ_NEW(v->arena, transfer_pair, sends.n + 1);
    *n = 0;
    while (s < sends.n && r < receives.n) {
        const int n_sends = n_alike(&sends, s);
        const int n_receives = n_alike(&receives, r);
        const bool meet = same_ends(&sends.v[s], &receives.v[r]);
        for (int i = 0; meet && n_sends == n_receives && i < n_sends; i++)
            pairs[(*n)++] = pair_of(&sends.v[s + i], &receives.v[r + i]);
        const bool send_first = comes_before(&sends.v[s], &receives.v[r]);
        s += meet || send_first ? n_sends : 0;
        r += meet || !send_first ? n_receives : 0;
    }
    return pairs;
}

void check_matched(verifier *v)
{
    for (int op = 0; op < v->view->n_ops; op++) {
        int n;
        if (v->view->ops[op].kind == CZ_STEP_TRANSFER)
            pair_transfers(v, op, &n);
    }
}
