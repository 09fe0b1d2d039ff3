/* Descent over orders of a list: an operation that is drawn goes to a place
 * that is drawn, and takes what it waits for, or what waits for it, along; what
 * is no worse is kept. */
#include "passes/solve/order.h"

#include "dsl/base/arithmetic.h"
#include "passes/solve/partition.h"
#include "passes/timeline/fold.h"

#include <stdlib.h>
#include <string.h>

/* Half of all moves are by at most so many places. */
enum { NEAR = 8 };

enum { TRIES_OF_PAIR = 2 };

typedef struct cost {
    int64_t makespan, micro_groups_end;
} cost;

/* Who waits for an operation, in `dependents`. */
typedef struct dependents {
    int first, n;
} dependents;

/* When operations end. */
typedef struct ends {
    int64_t *of_rank; /* [ops][ranks] */
    int64_t *last;    /* [ops] on all ranks */
} ends;

typedef struct search {
    cz_arena *arena;
    const cz_order_problem *problem;
    int n_ops;
    cz_timeline_list folded;
    cz_timeline_times times; /* of that, in the order */
    ends found, kept;        /* those, and those before the last move */
    dependents *behind;      /* [ops] */
    int *dependents;
    /* [ops] Numbers of the list, before the last move too. */
    int *order, *before;
    bool *is_marked; /* [ops] while one is moved */
    int *size;       /* [groups] operations */
    int *n_left;     /* [groups] of them, while groups are counted */
    uint64_t random;
} search;

/* ---- operations ---- */

static void find_dependents(search *s)
{
    const cz_timeline_list *list = s->problem->list;
    int n = 0;
    for (int o = 0; o < s->n_ops; o++)
        for (int w = 0; w < list->ops[o].n_waits; w++)
            s->behind[list->ops[o].waits[w]].n++;
    for (int o = 0; o < s->n_ops; o++) {
        s->behind[o].first = n;
        n += s->behind[o].n;
        s->behind[o].n = 0;
    }
    s->dependents = CZ_NEW(s->arena, int, n + 1);
    for (int o = 0; o < s->n_ops; o++)
        for (int w = 0; w < list->ops[o].n_waits; w++) {
            dependents *behind = &s->behind[list->ops[o].waits[w]];
            s->dependents[behind->first + behind->n++] = o;
        }
}

/* ---- time ---- */

static int64_t end_of(const search *s, int number, int rank)
{
    return s->times.end[(int64_t)number * s->folded.n_ranks + rank];
}

static bool is_more(cost a, cost b)
{
    return a.makespan + a.micro_groups_end > b.makespan + b.micro_groups_end;
}

static void add_end(const search *s, int number, cost *sum)
{
    const int64_t end = s->found.last[number];
    sum->makespan = cz_solve_max(sum->makespan, end);
    if (s->folded.ops[number].of >= 0)
        sum->micro_groups_end = cz_solve_max(sum->micro_groups_end, end);
}

/* What operations in places before `first` leave: streams free and ends. */
static cost begin_at(search *s, int first)
{
    const int n = s->folded.n_ranks;
    cost sum = {0, 0};
    memset(s->times.free_ps, 0,
           CZ_TIMELINE_N_STREAMS * (size_t)n * sizeof *s->times.free_ps);
    for (int i = 0; i < first; i++) {
        const int number = s->order[i];
        const int64_t *end = s->times.end + (int64_t)number * n;
        int64_t *is_free =
            s->times.free_ps + (int)s->folded.ops[number].stream * n;
        for (int r = 0; r < n; r++)
            is_free[r] = cz_solve_max(is_free[r], end[r]);
        add_end(s, number, &sum);
    }
    s->times.makespan = sum.makespan;
    return sum;
}

/* Goes on with the places before `end`, until it is more than `most`; how many
 * places then have their ends. */
static int run_places(search *s, int first, int end, cost most, cost *sum)
{
    const int n = s->folded.n_ranks;
    int i = first;
    while (i < end && !is_more(*sum, most)) {
        const int number = s->order[i++];
        cz_timeline_append(&s->folded, number, &s->times);
        int64_t last = 0;
        for (int r = 0; r < n; r++)
            last = cz_solve_max(last, end_of(s, number, r));
        s->found.last[number] = last;
        add_end(s, number, sum);
    }
    return i;
}

/* Ends of the operations in places [first, end). */
static void copy_ends(const search *s, ends *to, const ends *from, int first,
                      int end)
{
    const size_t n = (size_t)s->folded.n_ranks;
    for (int i = first; i < end; i++) {
        const size_t number = (size_t)s->order[i];
        memcpy(to->of_rank + number * n, from->of_rank + number * n,
               n * sizeof *to->of_rank);
        to->last[number] = from->last[number];
    }
}

static cost cost_of(search *s)
{
    cost sum = begin_at(s, 0);
    run_places(s, 0, s->n_ops, (cost){INT64_MAX / 2, INT64_MAX / 2}, &sum);
    copy_ends(s, &s->kept, &s->found, 0, s->n_ops);
    return sum;
}

static bool have_same_ends(const search *s, int first, int end)
{
    const size_t n = (size_t)s->folded.n_ranks;
    for (int i = first; i < end; i++) {
        const size_t at = (size_t)s->order[i] * n;
        if (memcmp(s->found.of_rank + at, s->kept.of_rank + at,
                   n * sizeof *s->found.of_rank) != 0)
            return false;
    }
    return true;
}

/* Whether the order, of which places [first, end) are others, is no worse; its
 * cost is then the least, and its ends are kept.  Where these places end as
 * they did, all behind them do. */
static bool is_kept(search *s, int first, int end, cost *least)
{
    cost sum = begin_at(s, first);
    int n = run_places(s, first, end, *least, &sum);
    if (n == end && !is_more(sum, *least)) {
        if (have_same_ends(s, first, end))
            return true;
        n = run_places(s, end, s->n_ops, *least, &sum);
    }
    if (is_more(sum, *least)) {
        copy_ends(s, &s->found, &s->kept, first, n);
        return false;
    }
    copy_ends(s, &s->kept, &s->found, first, n);
    *least = sum;
    return true;
}

/* ---- moves ---- */

static int draw(search *s, int n)
{
    return (int)(cz_partition_random(&s->random) % (uint64_t)n);
}

/* Where an operation is to go. */
static int draw_place(search *s, int from)
{
    int low = 0, high = s->problem->n_moved - 1;
    if (draw(s, 2) == 0) {
        low = low < from - NEAR ? from - NEAR : low;
        high = high > from + NEAR ? from + NEAR : high;
    }
    return low + draw(s, high - low + 1);
}

static bool waits_for_marked(const search *s, int number)
{
    const cz_timeline_op *op = &s->problem->list->ops[number];
    bool any = false;
    for (int i = 0; i < op->n_waits; i++)
        any |= s->is_marked[op->waits[i]];
    return any;
}

static bool is_waited_for(const search *s, int number)
{
    const dependents behind = s->behind[number];
    bool any = false;
    for (int i = 0; i < behind.n; i++)
        any |= s->is_marked[s->dependents[behind.first + i]];
    return any;
}

/* Of the places from the one to the other what is marked, or is not. */
static int append(search *s, int low, int high, bool marked, int at)
{
    for (int i = low; i <= high; i++)
        if (s->is_marked[s->before[i]] == marked)
            s->order[at++] = s->before[i];
    return at;
}

static int most_open(search *s)
{
    const cz_timeline_list *list = s->problem->list;
    int n = 0, most = 0;
    memcpy(s->n_left, s->size,
           (size_t)s->problem->n_micro_groups * sizeof(int));
    for (int i = 0; i < s->n_ops; i++) {
        const int of = list->ops[s->order[i]].of;
        if (of < 0)
            continue;
        n += s->n_left[of] == s->size[of];
        most = n > most ? n : most;
        n -= --s->n_left[of] == 0;
    }
    return most;
}

/* ---- all ---- */

static search make(cz_arena *arena, const cz_order_problem *problem)
{
    const cz_timeline_list *list = problem->list;
    search s = {.arena = arena,
                .problem = problem,
                .n_ops = list->n_ops,
                .folded = cz_timeline_fold(arena, list),
                .behind = CZ_NEW(arena, dependents, list->n_ops + 1),
                .order = CZ_NEW(arena, int, list->n_ops + 1),
                .before = CZ_NEW(arena, int, list->n_ops + 1),
                .is_marked = CZ_NEW(arena, bool, list->n_ops + 1),
                .n_left = CZ_NEW(arena, int, problem->n_micro_groups + 1),
                .size = CZ_NEW(arena, int, problem->n_micro_groups + 1)};
    s.times = cz_timeline_times_make(arena, &s.folded);
    s.found = (ends){s.times.end, CZ_NEW(arena, int64_t, list->n_ops + 1)};
    s.kept = (ends){
        CZ_NEW(arena, int64_t, (int64_t)list->n_ops * s.folded.n_ranks + 1),
        CZ_NEW(arena, int64_t, list->n_ops + 1)};
    for (int o = 0; o < list->n_ops; o++) {
        s.order[o] = o;
        if (list->ops[o].of >= 0)
            s.size[list->ops[o].of]++;
    }
    find_dependents(&s);
    return s;
}

/* How many orders may be tried: more than a few for each pair of operations
 * gain little. */
static int64_t count_tries(const search *s)
{
    const cz_order_problem *problem = s->problem;
    const int64_t n_moved = problem->n_moved;
    int64_t each = s->n_ops;
    for (int o = 0; o < s->n_ops; o++)
        for (int r = 0; r < s->folded.n_ranks; r++)
            if (s->folded.ops[o].ps[r] >= 0)
                each += 1 + s->folded.ops[o].n_waits;
    return n_moved > 1 ? cz_solve_min(problem->effort / each,
                                      n_moved * n_moved * TRIES_OF_PAIR)
                       : 0;
}

/* Whether a move is kept; false: it is taken back. */
static bool try_move(search *s, int open, cost *least)
{
    const int from = draw(s, s->problem->n_moved);
    /* Moves the operation at `from` to `to`, and what it waits for, or what
     * waits for it, along. */
    const int to = draw_place(s, from);
    const bool is_back = to < from;
    const int low = is_back ? to : from, high = is_back ? from : to;
    memcpy(s->before, s->order, (size_t)s->n_ops * sizeof(int));
    s->is_marked[s->order[from]] = true;
    for (int i = 1; i <= high - low; i++) {
        const int number = s->order[is_back ? from - i : from + i];
        s->is_marked[number] =
            is_back ? is_waited_for(s, number) : waits_for_marked(s, number);
    }
    append(s, low, high, !is_back, append(s, low, high, is_back, low));
    for (int i = low; i <= high; i++)
        s->is_marked[s->order[i]] = false;
    if (memcmp(s->before, s->order, (size_t)s->n_ops * sizeof(int)) == 0 ||
        (most_open(s) <= open && is_kept(s, low, high + 1, least)))
        return true;
    memcpy(s->order, s->before, (size_t)s->n_ops * sizeof(int));
    return false;
}

/* ---- where to begin ---- */

typedef struct needed {
    int need, number;
} needed;

static int sooner(const void *left, const void *right)
{
    const needed *a = left, *b = right;
    return a->need != b->need
               ? (a->need > b->need) - (a->need < b->need)
               : (a->number > b->number) - (a->number < b->number);
}

/* In order of need: by the first operation behind the moved ones that waits for
 * it, at last. */
static void order_by_need(search *s)
{
    const int n = s->problem->n_moved;
    needed *list = CZ_NEW(s->arena, needed, s->n_ops + 1);
    for (int o = s->n_ops - 1; o >= 0; o--) {
        list[o] = (needed){o >= n ? o : s->n_ops, o};
        for (int i = 0; i < s->behind[o].n; i++) {
            const int by = s->dependents[s->behind[o].first + i];
            list[o].need =
                list[by].need < list[o].need ? list[by].need : list[o].need;
        }
    }
    if (n > 0)
        qsort(list, (size_t)n, sizeof *list, sooner);
    for (int i = 0; i < n; i++)
        s->order[i] = list[i].number;
}

/* ---- what still runs ---- */

/* The first place before `place` that still runs when that starts. */
static int since_of(const search *s, const int64_t *latest, int place)
{
    const int n_ranks = s->folded.n_ranks, number = s->order[place];
    int since = place;
    for (int rank = 0; rank < n_ranks; rank++) {
        const int64_t ps = s->folded.ops[number].ps[rank];
        const int64_t start = end_of(s, number, rank) - ps;
        int low = 0;
        while (ps >= 0 && low < since) {
            const int middle = low + (since - low) / 2;
            if (latest[(int64_t)middle * n_ranks + rank] > start)
                since = middle;
            else
                low = middle + 1;
        }
    }
    return since;
}

cz_order cz_order_find(cz_arena *arena, const cz_order_problem *problem)
{
    const int n_ops = problem->list->n_ops;
    int *order = CZ_NEW(arena, int, n_ops + 1);
    int *since = CZ_NEW(arena, int, n_ops + 1);
    cz_arena scratch;
    cz_arena_init(&scratch);
    search s = make(&scratch, problem);
    cost least = cost_of(&s);
    const int open = most_open(&s);
    memcpy(s.before, s.order, (size_t)s.n_ops * sizeof(int));
    if (problem->effort > 0)
        order_by_need(&s);
    const cost needed_first = cost_of(&s);
    if (!is_more(needed_first, least) && most_open(&s) <= open)
        least = needed_first;
    else {
        memcpy(s.order, s.before, (size_t)s.n_ops * sizeof(int));
        least = cost_of(&s);
    }
    for (int64_t left = count_tries(&s); left > 0; left--)
        try_move(&s, open, &least);
    least = cost_of(&s);
    /* [places][ranks] the latest end of what stands there and before. */
    const int n_ranks = s.folded.n_ranks;
    int64_t *latest = CZ_NEW(&scratch, int64_t, (int64_t)n_ops * n_ranks + 1);
    for (int place = 0; place < n_ops; place++)
        for (int rank = 0; rank < n_ranks; rank++) {
            const int64_t at = (int64_t)place * n_ranks + rank;
            const int64_t end = end_of(&s, s.order[place], rank);
            latest[at] =
                place > 0 ? cz_solve_max(latest[at - n_ranks], end) : end;
        }
    for (int i = 0; i < n_ops; i++) {
        order[i] = s.order[i];
        since[i] = since_of(&s, latest, i);
    }
    cz_arena_fini(&scratch);
    return (cz_order){least.makespan, least.micro_groups_end, order, since};
}
