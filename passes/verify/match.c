/* V2: in every transfer, the k-th send from a to b meets the k-th receive at b
 * from a, and both have the same form.  So it is where equal buckets travel
 * between their parts and their slices, each element once. */
#include "passes/verify/internal.h"

/* A box on a rank, as the pair (source, target) sees it. */
typedef struct end {
    int64_t source, target;
    int place;      /* among all of the list, by rank, entry and box */
    int op, number; /* of the entry's boxes */
    const cz_view_transfer_entry *row;
} end;

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
        const int64_t position = position_of(v, op, rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const cz_view_transfer_entry *row =
                &v->view->tables[op->table].rows.transfer[i];
            end_list *list = row->is_recv ? receives : sends;
            const int64_t n =
                cz_view_has_member(row, position) ? row->n_peers : 0;
            for (int k = 0; k < n; k++) {
                const int64_t peer =
                    cz_view_rank_at(v->view, &op->fact->comm,
                                    row->peer + k * row->peer_step, rank);
                const int at = list->n;
                *CZ_PUSH(v->arena, list->v, list->n) =
                    (end){row->is_recv ? peer : rank,
                          row->is_recv ? rank : peer,
                          at,
                          number,
                          k,
                          row};
            }
        }
    }
}

static bool comes_before(const end *a, const end *b)
{
    return a->source != b->source ? a->source < b->source
                                  : a->target < b->target;
}

static int64_t key_of(const end *e, size_t at)
{
    return at == offsetof(end, target) ? e->target : e->source;
}

/* By source and target; those of both are in the order of the list.  It mostly
 * is by one of the two. */
static void sort(const verifier *v, end_list *list)
{
    const size_t keys[] = {offsetof(end, target), offsetof(end, source)};
    bool is_sorted = true;

    for (int i = 1; i < list->n && is_sorted; i++)
        is_sorted = !comes_before(&list->v[i], &list->v[i - 1]);
    for (int k = 0; k < 2 && !is_sorted; k++) {
        bool ascends = true;
        for (int i = 1; i < list->n && ascends; i++)
            ascends = key_of(&list->v[i - 1], keys[k]) <=
                      key_of(&list->v[i], keys[k]);
        if (!ascends)
            list->v = sort_by_key(v->arena, list->v, list->n, sizeof *list->v,
                                  keys[k], v->view->n_ranks, NULL);
    }
}

static void report_odd(verifier *v, int op, const end *odd)
{
    const bool is_recv = odd->row->is_recv != 0;

    reject(v, (place){op, is_recv ? odd->target : odd->source, odd->row->param},
           is_recv ? "a receive from rank %lld that nobody sends"
                   : "a send to rank %lld that nobody receives",
           (long long)(is_recv ? odd->source : odd->target));
}

static bool same_ends(const end *a, const end *b)
{
    return a->source == b->source && a->target == b->target;
}

static bool have_one_form(const cz_view_transfer_entry *a,
                          const cz_view_transfer_entry *b)
{
    return a->n_rows == b->n_rows && a->row_bytes == b->row_bytes;
}

static void report_pair(verifier *v, int op, const end *send,
                        const end *receive)
{
    const cz_view_transfer_entry *from = send->row, *to = receive->row;

    if (!same_ends(send, receive))
        report_odd(v, op, comes_before(send, receive) ? send : receive);
    else if (have_one_form(from, to))
        reject(v, (place){op, send->source, from->param},
               "is sent in other phases of its rule than rank %lld expects it "
               "in",
               (long long)send->target);
    else
        reject(v, (place){op, send->source, from->param},
               "sends %lld x %lld bytes to rank %lld, which expects %lld x "
               "%lld",
               (long long)from->n_rows, (long long)from->row_bytes,
               (long long)send->target, (long long)to->n_rows,
               (long long)to->row_bytes);
}

static transfer_pair pair_of(const end *send, const end *receive)
{
    return (transfer_pair){
        (int)send->source, (int)send->target, send->op,
        receive->op,       send->number,      receive->number,
        receive->place,    send->row,         receive->row};
}

/* NULL, and which are the first that do not pair. */
static const transfer_pair *pair_ends(verifier *v, const end_list *sends,
                                      const end_list *receives, int *odd)
{
    const int n = sends->n > receives->n ? sends->n : receives->n;
    transfer_pair *pairs = CZ_NEW(v->kept, transfer_pair, n + 1);

    for (*odd = 0; *odd < n; ++*odd) {
        const end *send = &sends->v[*odd], *receive = &receives->v[*odd];
        if (*odd >= sends->n || *odd >= receives->n ||
            !same_ends(send, receive) ||
            !have_one_form(send->row, receive->row) ||
            send->row->phases != receive->row->phases)
            return NULL;
        pairs[*odd] = pair_of(send, receive);
    }
    return pairs;
}

const transfer_pair *pair_transfers(verifier *v, int op, bool reports, int *n)
{
    cz_arena *const outer = v->arena;
    end_list sends = {NULL, 0}, receives = {NULL, 0};
    op_pairs *of = &v->pairs[op];
    cz_arena arena;
    int odd = 0;

    *n = of->n;
    if (of->v)
        return of->v;
    cz_arena_init(&arena);
    v->arena = &arena;
    collect(v, op, &sends, &receives);
    sort(v, &sends);
    sort(v, &receives);
    of->v = pair_ends(v, &sends, &receives, &odd);
    if (of->v)
        *n = of->n = sends.n;
    else if (reports && odd < sends.n && odd < receives.n)
        report_pair(v, op, &sends.v[odd], &receives.v[odd]);
    else if (reports)
        report_odd(v, op, odd < sends.n ? &sends.v[odd] : &receives.v[odd]);
    cz_arena_fini(&arena);
    v->arena = outer;
    return of->v;
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
    pairs = CZ_NEW(v->kept, transfer_pair, sends.n + 1);
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
            pair_transfers(v, op, true, &n);
    }
}

/* ---- equal buckets ------------------------------------------------------ */

/* What lies in the part of one rank and in the slice of another travels between
 * the two (dsl/SCHEDULE.md).  A reduction sends from parts to slices, and a
 * rank's own, too; an all_gather from slices to parts, and what lies in both
 * stays. */

/* As SCHEDULE.md has equal parts. */
enum { PART_ALIGN = 16 };

typedef struct run {
    int64_t lo, hi;
} run;

/* The exchange of one operation, as one rank sees it. */
typedef struct seen {
    verifier *v;
    int op, bucket;
    bool to_owners;
    int64_t rank;
    const cz_view_exchange_entry *rows; /* [n] */
    int64_t n;
} seen;

static run slice_at(const seen *s, int64_t rank)
{
    run r;

    slice_of(s->v, s->bucket, rank, &r.lo, &r.hi);
    return r;
}

static run part_at(const seen *s, int64_t rank)
{
    const cz_view_bucket *bucket = &s->v->view->buckets[s->bucket];
    const int64_t length = bucket->fact->length;
    const int64_t n = bucket->fact->slices.n - 1;
    const int64_t least = (length + n - 1) / n;
    const int64_t step = (least + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    const int64_t c = s->v->maps.of_split[bucket->reduction][rank];
    const run r = {c * step, (c + 1) * step};

    return (run){r.lo < length ? r.lo : length, r.hi < length ? r.hi : length};
}

/* What a rank has to give, and what it is to have. */
static run given(const seen *s, int64_t rank)
{
    return s->to_owners ? part_at(s, rank) : slice_at(s, rank);
}

static run wanted(const seen *s, int64_t rank)
{
    return s->to_owners ? slice_at(s, rank) : part_at(s, rank);
}

/* The parameter that an element lies in, or the last before it. */
static place place_at(const seen *s, int64_t element)
{
    const cz_fact_bucket *fact = s->v->view->buckets[s->bucket].fact;
    place at = {s->op, s->rank, -1};

    for (int i = 0; i < fact->params.n; i++)
        if (i == 0 || fact->offsets.v[i] <= element)
            at.param = fact->params.v[i];
    return at;
}

static seen seen_by(const seen *s, int64_t rank)
{
    const cz_view_op *op = &s->v->view->ops[s->op];
    const row_range rows = rows_of(s->v, op, rank);
    seen other = *s;

    other.rank = rank;
    other.rows = s->v->view->tables[op->table].rows.exchange + rows.first;
    other.n = rows.end - rows.first;
    return other;
}

static int64_t rank_of_peer(const seen *s, int64_t peer)
{
    return cz_view_rank_at(s->v->view, &s->v->view->ops[s->op].fact->comm, peer,
                           s->rank);
}

/* ---- rows by themselves ------------------------------------------------- */

/* The two differ in nothing but what the bucket is split over. */
static bool shares_bucket(const seen *s, int64_t other)
{
    const cz_plan_view *view = s->v->view;
    const cz_ints *split =
        &cz_view_bucket_reduction(view, s->bucket)->split_axes;

    return cz_view_rank_at(view, split, cz_view_coordinate(view, split, other),
                           s->rank) == other;
}

static void check_row(const seen *s, const cz_view_exchange_entry *row)
{
    const cz_plan_view *view = s->v->view;
    const cz_ints *comm = &view->ops[s->op].fact->comm;
    const bool has_peer =
        row->peer >= 0 && row->peer < cz_view_extent(view, comm);
    const int64_t other = has_peer ? rank_of_peer(s, row->peer) : s->rank;
    const int64_t from = row->is_recv ? other : s->rank;
    const int64_t to = row->is_recv ? s->rank : other;
    const run moved = {row->offset, row->offset + row->count};
    const run has = given(s, from), wants = wanted(s, to);

    if (!has_peer || (row->is_recv != 0 && row->is_recv != 1) ||
        row->count < 1 || row->offset < 0 ||
        row->offset > view->buckets[s->bucket].fact->length - row->count)
        reject(s->v, place_at(s, row->offset),
               "a row of its exchange is no run of bucket %d to or from a rank "
               "of its own",
               s->bucket);
    else if (!shares_bucket(s, other))
        reject(s->v, place_at(s, row->offset),
               "exchanges elements with rank %lld, which shares no slices of "
               "bucket %d with it",
               (long long)other, s->bucket);
    else if (moved.lo < has.lo || moved.hi > has.hi)
        reject(s->v, place_at(s, row->offset),
               "moves elements [%lld, %lld) of bucket %d from rank %lld, which "
               "does not have them all",
               (long long)moved.lo, (long long)moved.hi, s->bucket,
               (long long)from);
    else if (moved.lo < wants.lo || moved.hi > wants.hi)
        reject(s->v, place_at(s, row->offset),
               "moves elements [%lld, %lld) of bucket %d to rank %lld, which "
               "is not to have them all",
               (long long)moved.lo, (long long)moved.hi, s->bucket,
               (long long)to);
}

/* ---- partners ----------------------------------------------------------- */

/* The row of the other rank that a row meets; NULL: it meets none. */
static const cz_view_exchange_entry *partner_of(const seen *s, int64_t number)
{
    const cz_view_exchange_entry *row = &s->rows[number];
    const cz_ints *comm = &s->v->view->ops[s->op].fact->comm;
    const int64_t self = cz_view_coordinate(s->v->view, comm, s->rank);
    const seen other = seen_by(s, rank_of_peer(s, row->peer));
    /* The number of a row among those one way between it and its peer. */
    int64_t left = 0;

    for (int64_t i = 0; i < number; i++)
        left += s->rows[i].peer == s->rows[number].peer &&
                s->rows[i].is_recv == s->rows[number].is_recv;

    for (int64_t i = 0; i < other.n; i++)
        if (other.rows[i].peer == self &&
            other.rows[i].is_recv != row->is_recv && left-- == 0)
            return &other.rows[i];
    return NULL;
}

static void check_partner(const seen *s, int64_t number)
{
    const cz_view_exchange_entry *row = &s->rows[number];
    const cz_view_exchange_entry *other = partner_of(s, number);

    if (!other)
        reject(s->v, place_at(s, row->offset),
               row->is_recv ? "receives elements [%lld, %lld) that rank %lld "
                              "never sends"
                            : "sends elements [%lld, %lld) that rank %lld "
                              "never receives",
               (long long)row->offset, (long long)(row->offset + row->count),
               (long long)rank_of_peer(s, row->peer));
    else if (other->offset != row->offset || other->count != row->count)
        reject(s->v, place_at(s, row->offset),
               "moves elements [%lld, %lld) of bucket %d, where rank %lld "
               "moves [%lld, %lld)",
               (long long)row->offset, (long long)(row->offset + row->count),
               s->bucket, (long long)rank_of_peer(s, row->peer),
               (long long)other->offset,
               (long long)(other->offset + other->count));
}

/* ---- what arrives ------------------------------------------------------- */

/* The first element from `element` on that does not arrive as often as it
 * should; the end of what is wanted: all do. */
static bool arrives_once(const seen *s, int64_t element, int64_t *next)
{
    const run wants = wanted(s, s->rank);
    const run a = given(s, s->rank);
    const run r = {a.lo > wants.lo ? a.lo : wants.lo,
                   a.hi < wants.hi ? a.hi : wants.hi};

    const run stays = r.lo < r.hi ? r : (run){r.lo, r.lo};
    const bool is_there =
        !s->to_owners && element >= stays.lo && element < stays.hi;
    int n = is_there;

    *next = is_there ? stays.hi : wants.hi;
    if (!is_there && !s->to_owners && stays.lo > element && stays.lo < stays.hi)
        *next = stays.lo;
    for (int64_t i = 0; i < s->n; i++) {
        const cz_view_exchange_entry *row = &s->rows[i];
        const int64_t hi = row->offset + row->count;
        if (!row->is_recv || hi <= element)
            continue;
        n += row->offset <= element;
        if (row->offset > element && row->offset < *next)
            *next = row->offset;
        else if (row->offset <= element && hi < *next)
            *next = hi;
    }
    return n == 1;
}

static void check_arrivals(const seen *s)
{
    const run wants = wanted(s, s->rank);

    for (int64_t element = wants.lo, next; element < wants.hi; element = next)
        if (!arrives_once(s, element, &next)) {
            reject(s->v, place_at(s, element),
                   "element %lld of bucket %d, and on up to %lld, does not "
                   "arrive there once",
                   (long long)element, s->bucket, (long long)next);
            return;
        }
}

static void check_rank(verifier *v, int number, int64_t rank)
{
    const cz_view_op *op = &v->view->ops[number];
    const seen any = {.v = v,
                      .op = number,
                      .bucket = (int)op->fact->bucket,
                      .to_owners = op->kind == CZ_STEP_REDUCE_SCATTER};
    const seen s = seen_by(&any, rank);

    if (!has_bucket(v, s.bucket, rank))
        return;
    for (int64_t i = 0; i < s.n && v->n_errors == 0; i++)
        check_row(&s, &s.rows[i]);
    for (int64_t i = 0; i < s.n && v->n_errors == 0; i++)
        check_partner(&s, i);
    if (v->n_errors == 0)
        check_arrivals(&s);
}

/* ---- operations --------------------------------------------------------- */

/* An equal bucket, and a communicator that has all of its split. */
static bool is_exchanged(const verifier *v, const cz_view_op *op)
{
    const int bucket = (int)op->fact->bucket;
    const int64_t split =
        cz_view_set_of(&cz_view_bucket_reduction(v->view, bucket)->split_axes);

    return v->view->buckets[bucket].fact->geometry == CZ_GEOMETRY_EQUAL &&
           (split & ~cz_view_set_of(&op->fact->comm)) == 0;
}

void check_exchanges(verifier *v)
{
    for (int i = 0; i < v->view->n_ops && v->n_errors == 0; i++) {
        const cz_view_op *op = &v->view->ops[i];
        if (op->kind != CZ_STEP_REDUCE_SCATTER &&
            op->kind != CZ_STEP_ALL_GATHER)
            continue;
        const bool has_rows = op->table >= 0;
        if (is_exchanged(v, op) && !has_rows)
            reject(v, place_of(v, i),
                   "has no table of what travels between equal parts and "
                   "slices");
        else if (!is_exchanged(v, op) && has_rows)
            reject(v, place_of(v, i),
                   "has a table of equal parts, which its bucket has not");
        else if (has_rows)
            for_each_rank(v, i, check_rank);
    }
}
