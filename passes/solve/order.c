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

/* What an order costs, and what is least: their sum. */
typedef enum measure { MAKESPAN, MICRO_GROUPS_END, N_MEASURES } measure;

typedef struct cost {
    int64_t ps[N_MEASURES];
} cost;

/* Who waits for an operation, in `dependents`. */
typedef struct dependents {
    int first, n;
} dependents;

/* When operations end. */
typedef struct ends {
    int64_t *of_rank; /* [ops][ranks] */
    int64_t *free_ps; /* [ops][ranks] when its stream was free before */
    int64_t *last;    /* [ops] on all ranks */
} ends;

typedef struct search {
    cz_arena *arena;
    const cz_order_problem *problem;
    int n_ops;
    cz_timeline_list folded;
    cz_timeline_times times; /* of that, in the order */
    ends found, kept;        /* those, and those before the last move */
    int64_t *kept_free;      /* [streams][ranks] as free_ps of times, of those
                              * before the last move */
    /* [ops][ranks] How long it takes from the start of an operation until all
     * is done, or the last of groups, in the kept order; where a rank skips it,
     * from the next one that it has in the stream.  -1: nothing does. */
    cost *left;
    cost *then;         /* [ranks + communicators] of an operation meanwhile */
    cost *until;        /* [places] what stands before */
    dependents *behind; /* [ops] */
    int *dependents;
    /* [ops] Numbers of the list, before the last move too. */
    int *order, *before;
    int *place;                            /* [ops] of each in the order */
    bool *is_marked;                       /* [ops] while one is moved */
    bool is_parted[CZ_TIMELINE_N_STREAMS]; /* something of it was moved past
                                            * something else of it */
    bool *is_changed;                      /* [ops] by the last move */
    int *timed;  /* [ops] those that were timed behind it */
    int *size;   /* [groups] operations */
    int *n_left; /* [groups] of them, while groups are counted */
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

static bool is_more(cost a, cost b)
{
    return a.ps[MAKESPAN] + a.ps[MICRO_GROUPS_END] >
           b.ps[MAKESPAN] + b.ps[MICRO_GROUPS_END];
}

static void later(cost *a, cost b)
{
    for (int k = 0; k < N_MEASURES; k++)
        a->ps[k] = cz_solve_max(a->ps[k], b.ps[k]);
}

static bool counts(const search *s, int number, measure k)
{
    return k == MAKESPAN || s->folded.ops[number].of >= 0;
}

static void add_end(const search *s, int number, cost *sum)
{
    for (int k = 0; k < N_MEASURES; k++)
        if (counts(s, number, (measure)k))
            sum->ps[k] = cz_solve_max(sum->ps[k], s->found.last[number]);
}

static int64_t *of_rank(const search *s, int64_t *list, int number)
{
    return list + (int64_t)number * s->folded.n_ranks;
}

static bool are_other(const search *s, const int64_t *a, const int64_t *b)
{
    return memcmp(a, b, (size_t)s->folded.n_ranks * sizeof *a) != 0;
}

static void let_run(const search *s, int64_t *is_free, const int64_t *end)
{
    for (int r = 0; r < s->folded.n_ranks; r++)
        is_free[r] = cz_solve_max(is_free[r], end[r]);
}

static void time_op(search *s, int number)
{
    const int64_t *end = of_rank(s, s->found.of_rank, number);
    int64_t last = 0;
    cz_timeline_append(&s->folded, number, &s->times);
    for (int r = 0; r < s->folded.n_ranks; r++)
        last = cz_solve_max(last, end[r]);
    s->found.last[number] = last;
}

static void copy_times(const search *s, int64_t *to, const int64_t *from)
{
    memcpy(to, from, (size_t)s->folded.n_ranks * sizeof *to);
}

static void copy_ends(const search *s, ends *to, const ends *from, int number)
{
    copy_times(s, of_rank(s, to->of_rank, number),
               of_rank(s, from->of_rank, number));
    to->last[number] = from->last[number];
}

static cost cost_of(search *s)
{
    cost sum = {{0, 0}};
    memset(s->times.free_ps, 0,
           CZ_TIMELINE_N_STREAMS * (size_t)s->folded.n_ranks *
               sizeof *s->times.free_ps);
    for (int i = 0; i < s->n_ops; i++) {
        time_op(s, s->order[i]);
        add_end(s, s->order[i], &sum);
    }
    return sum;
}

static bool waits_for(const search *s, int number, const bool *any_of)
{
    const cz_timeline_op *op = &s->problem->list->ops[number];
    bool any = false;
    for (int i = 0; i < op->n_waits; i++)
        any |= any_of[op->waits[i]];
    return any;
}

static bool is_waited_for(const search *s, int number, const bool *any_of)
{
    const dependents behind = s->behind[number];
    bool any = false;
    for (int i = 0; i < behind.n; i++)
        any |= any_of[s->dependents[behind.first + i]];
    return any;
}

/* The first operation of a stream in places [place, end); -1: none. */
static int next_in(const search *s, const int *order, int which, int place,
                   int end)
{
    while (place < end && (int)s->folded.ops[order[place]].stream != which)
        place++;
    return place < end ? order[place] : -1;
}

/* ---- what is left ---- */

/* Of an operation before `next` in its stream (-1: it is the last there);
 * whether that is another time than it was. */
static bool time_left(search *s, int number, int next)
{
    const int n = s->folded.n_ranks;
    const cz_timeline_op *op = &s->folded.ops[number];
    const dependents behind = s->behind[number];
    const cost nothing = {{-1, -1}};
    const cost own = {{0, op->of >= 0 ? 0 : -1}};
    cost *left = s->left + (int64_t)number * n;
    cost *then = s->then, *joint = s->then + n;
    for (int r = 0; r < n; r++) {
        then[r] = next >= 0 ? s->left[(int64_t)next * n + r] : nothing;
        if (op->ps[r] >= 0)
            later(&then[r], own);
    }
    for (int i = 0; i < behind.n; i++) {
        const int by = s->dependents[behind.first + i];
        const int64_t *ps = s->folded.ops[by].ps;
        for (int r = 0; r < n; r++)
            if (ps[r] >= 0 && op->ps[r] >= 0)
                later(&then[r], s->left[(int64_t)by * n + r]);
    }
    for (int c = 0; c < op->comm.n; c++)
        joint[c] = nothing;
    for (int r = 0; r < n; r++)
        for (int k = 0; k < N_MEASURES; k++)
            if (op->ps[r] >= 0 && then[r].ps[k] >= 0)
                then[r].ps[k] = cz_solve_end(then[r].ps[k], op->ps[r]);
    for (int r = 0; r < n && op->comm.n > 0; r++)
        if (op->ps[r] >= 0)
            later(&joint[op->comm.of[r]], then[r]);
    for (int r = 0; r < n && op->comm.n > 0; r++)
        if (op->ps[r] >= 0)
            then[r] = joint[op->comm.of[r]];
    const size_t bytes = (size_t)n * sizeof *then;
    const bool is_changed = memcmp(left, then, bytes) != 0;
    memcpy(left, then, bytes);
    return is_changed;
}

/* The order is kept, of which places [first, end) are others. */
static void keep(search *s, int first, int end)
{
    int next[CZ_TIMELINE_N_STREAMS];
    bool is_other[CZ_TIMELINE_N_STREAMS] = {false};
    for (int k = 0; k < CZ_TIMELINE_N_STREAMS; k++)
        next[k] = next_in(s, s->order, k, end, s->n_ops);
    for (int i = end - 1; i >= 0; i--) {
        const int number = s->order[i];
        const cz_timeline_stream which = s->folded.ops[number].stream;
        if ((s->is_parted[which] && i >= first) || is_other[which] ||
            is_waited_for(s, number, s->is_changed)) {
            s->is_changed[number] = time_left(s, number, next[which]);
            is_other[which] =
                s->is_changed[number] || (s->is_parted[which] && i >= first);
        }
        next[which] = number;
    }
    for (int i = 0; i < end; i++)
        s->is_changed[s->order[i]] = false;
    for (int i = first; i < s->n_ops; i++) {
        s->until[i + 1] = s->until[i];
        add_end(s, s->order[i], &s->until[i + 1]);
    }
}

/* A bound, where an operation may not start before `start`. */
static void add_left(const search *s, const int64_t *start, int number,
                     bool is_waiting, cost *sum)
{
    const int n = s->folded.n_ranks;
    const int64_t *ps = s->folded.ops[number].ps;
    const cost *left = s->left + (int64_t)number * n;
    for (int r = 0; r < n; r++)
        for (int k = 0; k < N_MEASURES; k++)
            if (left[r].ps[k] >= 0 && (!is_waiting || ps[r] >= 0))
                sum->ps[k] = cz_solve_max(
                    sum->ps[k], cz_solve_end(start[r], left[r].ps[k]));
}

/* The same of all places from `end` on, which are as they were, behind what is
 * changed. */
static void add_rest(const search *s, int end, const bool *is_other,
                     int n_timed, cost *sum)
{
    for (int k = 0; k < CZ_TIMELINE_N_STREAMS; k++) {
        const int next =
            is_other[k] ? next_in(s, s->order, k, end, s->n_ops) : -1;
        if (next >= 0)
            add_left(s, s->times.free_ps + k * s->folded.n_ranks, next, false,
                     sum);
    }
    for (int i = 0; i < n_timed; i++) {
        const int number = s->timed[i];
        const dependents behind = s->behind[number];
        for (int b = 0; s->is_changed[number] && b < behind.n; b++) {
            const int by = s->dependents[behind.first + b];
            if (s->place[by] >= end)
                add_left(s, of_rank(s, s->found.of_rank, number), by, true,
                         sum);
        }
    }
}

/* ---- a move ---- */

static void set_free(search *s, cz_timeline_stream which, int number)
{
    const int n = s->folded.n_ranks;
    const int64_t *is_free = of_rank(s, s->kept.free_ps, number);
    copy_times(s, s->times.free_ps + (int)which * n, is_free);
    copy_times(s, s->kept_free + (int)which * n, is_free);
}

/* Times an operation behind a move; whether its stream is then free at another
 * time than before the move. */
static bool time_moved(search *s, int number)
{
    const cz_timeline_stream which = s->folded.ops[number].stream;
    int64_t *is_free = s->times.free_ps + (int)which * s->folded.n_ranks;
    int64_t *kept_free = s->kept_free + (int)which * s->folded.n_ranks;
    const int64_t *kept = of_rank(s, s->kept.of_rank, number);
    copy_times(s, of_rank(s, s->found.free_ps, number), is_free);
    time_op(s, number);
    let_run(s, kept_free, kept);
    s->is_changed[number] =
        are_other(s, of_rank(s, s->found.of_rank, number), kept);
    return are_other(s, is_free, kept_free);
}

/* Whether the order, of which places [first, end) are others, is no worse; its
 * cost is then the least, and its ends are kept.  Timed is what stands there in
 * a stream that is parted, and what waits for something that ends at another
 * time, or is behind it in its stream. */
static bool is_kept(search *s, int first, int end, cost *least)
{
    bool is_other[CZ_TIMELINE_N_STREAMS] = {false};
    cost sum = s->until[first];
    int n_timed = 0;
    for (int k = 0; k < CZ_TIMELINE_N_STREAMS; k++)
        if (s->is_parted[k])
            set_free(s, (cz_timeline_stream)k,
                     next_in(s, s->before, k, first, end));
    for (int i = first; i < s->n_ops && !is_more(sum, *least); i++) {
        const int number = s->order[i];
        const cz_timeline_stream which = s->folded.ops[number].stream;
        const bool is_moved = s->is_parted[which] && i < end;
        if (is_moved || is_other[which] ||
            waits_for(s, number, s->is_changed)) {
            if (!is_moved && !is_other[which])
                set_free(s, which, number);
            is_other[which] = time_moved(s, number);
            s->timed[n_timed++] = number;
        }
        add_end(s, number, &sum);
        if (i + 1 == end)
            add_rest(s, end, is_other, n_timed, &sum);
    }
    const bool is_taken = !is_more(sum, *least);
    for (int i = 0; i < n_timed; i++) {
        const int number = s->timed[i];
        s->is_changed[number] = false;
        if (is_taken) {
            copy_ends(s, &s->kept, &s->found, number);
            copy_times(s, of_rank(s, s->kept.free_ps, number),
                       of_rank(s, s->found.free_ps, number));
        } else
            copy_ends(s, &s->found, &s->kept, number);
    }
    if (!is_taken)
        return false;
    *least = sum;
    keep(s, first, end);
    return true;
}

/* Behind the ends that are found. */
static void begin_moves(search *s)
{
    const int n = s->folded.n_ranks;
    memset(s->times.free_ps, 0,
           CZ_TIMELINE_N_STREAMS * (size_t)n * sizeof *s->times.free_ps);
    for (int i = 0; i < s->n_ops; i++) {
        const int number = s->order[i];
        int64_t *is_free =
            s->times.free_ps + (int)s->folded.ops[number].stream * n;
        s->place[number] = i;
        copy_ends(s, &s->kept, &s->found, number);
        copy_times(s, of_rank(s, s->kept.free_ps, number), is_free);
        let_run(s, is_free, of_rank(s, s->kept.of_rank, number));
    }
    for (int k = 0; k < CZ_TIMELINE_N_STREAMS; k++)
        s->is_parted[k] = true;
    keep(s, 0, s->n_ops);
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
                .folded = cz_timeline_fold(arena, list, NULL),
                .behind = CZ_NEW(arena, dependents, list->n_ops + 1),
                .order = CZ_NEW(arena, int, list->n_ops + 1),
                .before = CZ_NEW(arena, int, list->n_ops + 1),
                .place = CZ_NEW(arena, int, list->n_ops + 1),
                .until = CZ_NEW(arena, cost, list->n_ops + 1),
                .timed = CZ_NEW(arena, int, list->n_ops + 1),
                .is_changed = CZ_NEW(arena, bool, list->n_ops + 1),
                .is_marked = CZ_NEW(arena, bool, list->n_ops + 1),
                .n_left = CZ_NEW(arena, int, problem->n_micro_groups + 1),
                .size = CZ_NEW(arena, int, problem->n_micro_groups + 1)};
    const int64_t n_times = (int64_t)list->n_ops * s.folded.n_ranks + 1;
    s.times = cz_timeline_times_make(arena, &s.folded);
    s.found = (ends){s.times.end, CZ_NEW(arena, int64_t, n_times),
                     CZ_NEW(arena, int64_t, list->n_ops + 1)};
    s.kept =
        (ends){CZ_NEW(arena, int64_t, n_times), CZ_NEW(arena, int64_t, n_times),
               CZ_NEW(arena, int64_t, list->n_ops + 1)};
    s.kept_free =
        CZ_NEW(arena, int64_t, CZ_TIMELINE_N_STREAMS * s.folded.n_ranks + 1);
    s.left = CZ_NEW(arena, cost, n_times);
    s.then = CZ_NEW(arena, cost, 2 * s.folded.n_ranks + 1);
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
    const cz_timeline_list *list = s->problem->list;
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
        s->is_marked[number] = is_back ? is_waited_for(s, number, s->is_marked)
                                       : waits_for(s, number, s->is_marked);
    }
    append(s, low, high, !is_back, append(s, low, high, is_back, low));
    bool has[2][CZ_TIMELINE_N_STREAMS] = {{false}, {false}};
    for (int i = low; i <= high; i++) {
        const int number = s->order[i];
        has[s->is_marked[number]][list->ops[number].stream] = true;
        s->is_marked[number] = false;
        s->place[number] = i;
    }
    for (int k = 0; k < CZ_TIMELINE_N_STREAMS; k++)
        s->is_parted[k] = has[false][k] && has[true][k];
    if (memcmp(s->before, s->order, (size_t)s->n_ops * sizeof(int)) == 0 ||
        (most_open(s) <= open && is_kept(s, low, high + 1, least)))
        return true;
    memcpy(s->order, s->before, (size_t)s->n_ops * sizeof(int));
    for (int i = low; i <= high; i++)
        s->place[s->order[i]] = i;
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
        const int64_t start = of_rank(s, s->found.of_rank, number)[rank] - ps;
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
    if (problem->effort > 0) {
        const ends listed = s.found;
        memcpy(s.before, s.order, (size_t)s.n_ops * sizeof(int));
        order_by_need(&s);
        s.found = s.kept;
        s.times.end = s.found.of_rank;
        const cost needed_first = cost_of(&s);
        s.kept = listed;
        if (!is_more(needed_first, least) && most_open(&s) <= open)
            least = needed_first;
        else {
            memcpy(s.order, s.before, (size_t)s.n_ops * sizeof(int));
            s.kept = s.found;
            s.found = listed;
            s.times.end = s.found.of_rank;
        }
    }
    int64_t n_tries = count_tries(&s);
    if (n_tries > 0)
        begin_moves(&s);
    for (; n_tries > 0; n_tries--)
        try_move(&s, open, &least);
    /* [places][ranks] the latest end of what stands there and before. */
    const int n_ranks = s.folded.n_ranks;
    int64_t *latest = CZ_NEW(&scratch, int64_t, (int64_t)n_ops * n_ranks + 1);
    for (int place = 0; place < n_ops; place++)
        for (int rank = 0; rank < n_ranks; rank++) {
            const int64_t at = (int64_t)place * n_ranks + rank;
            const int64_t end =
                of_rank(&s, s.found.of_rank, s.order[place])[rank];
            latest[at] =
                place > 0 ? cz_solve_max(latest[at - n_ranks], end) : end;
        }
    for (int i = 0; i < n_ops; i++) {
        order[i] = s.order[i];
        since[i] = since_of(&s, latest, i);
    }
    cz_arena_fini(&scratch);
    return (cz_order){least.ps[MAKESPAN], least.ps[MICRO_GROUPS_END], order,
                      since};
}
