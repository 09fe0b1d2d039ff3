/* Beam search for contiguous shares.  A state is the cut in each bucket up to
 * which ranks 0 .. r have taken all.  A state that is further along in every
 * bucket is at least as good, so only maximal shares are looked at. */
#include "passes/solve/search/line.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 14, PRECISION = 8192, CAPACITY = 8 };

typedef struct state {
    int64_t progress; /* weight of all that is taken */
    int parent;       /* among the states behind the rank before */
    int place;        /* of its cuts */
} state;

/* The states behind one rank. */
typedef struct front {
    int n;
    state *states; /* [capacity] */
    cz_cut *cuts;  /* [capacity * n_buckets] by place */
} front;

typedef struct beam {
    const cz_line *line;
    int width, capacity;
    int64_t t, work;
    int64_t need;  /* progress that leaves no more than the other ranks take */
    front *fronts; /* [n_ranks + 1] */
    front *next;
    cz_cut *spare; /* [width * n_buckets] */
    /* the state and share at hand */
    int parent;
    int64_t taken;      /* progress with all of the rank's budget */
    const cz_cut *from; /* [n_buckets] */
    cz_cut *to;
    int64_t *rest; /* [n_buckets + 1] weight left in this bucket and later */
} beam;

static cz_cut *cuts_of(const beam *s, const front *f, int i)
{
    return f->cuts + (size_t)f->states[i].place * (size_t)s->line->n_buckets;
}

static int by_falling_progress(const void *left, const void *right)
{
    const state *a = left, *b = right;
    if (a->progress != b->progress)
        return a->progress > b->progress ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool is_same(const beam *s, const front *f, int i, int j)
{
    const cz_cut *a = cuts_of(s, f, i), *b = cuts_of(s, f, j);
    for (int k = 0; k < s->line->n_buckets; k++)
        if (a[k].item != b[k].item || a[k].within != b[k].within)
            return false;
    return true;
}

static bool is_new(const beam *s, const front *f, int n_kept, int i)
{
    for (int j = n_kept;
         j-- > 0 && f->states[j].progress == f->states[i].progress;)
        if (is_same(s, f, i, j))
            return false;
    return true;
}

/* The furthest states, each once; their cuts move to the first places. */
static void narrow(const beam *s, front *f)
{
    const size_t n = (size_t)s->line->n_buckets;
    int n_kept = 0;
    qsort(f->states, (size_t)f->n, sizeof *f->states, by_falling_progress);
    for (int i = 0; i < f->n && n_kept < s->width; i++)
        if (is_new(s, f, n_kept, i))
            f->states[n_kept++] = f->states[i];
    for (int i = 0; i < n_kept; i++)
        memcpy(s->spare + (size_t)i * n, cuts_of(s, f, i),
               n * sizeof *s->spare);
    for (int i = 0; i < n_kept; i++)
        f->states[i].place = i;
    memcpy(f->cuts, s->spare, (size_t)n_kept * n * sizeof *s->spare);
    f->n = n_kept;
}

static void keep(beam *s, int64_t left)
{
    front *f = s->next;
    if (s->taken - left < s->need)
        return;
    if (f->n == s->capacity)
        narrow(s, f);
    f->states[f->n] = (state){s->taken - left, s->parent, f->n};
    memcpy(f->cuts + (size_t)f->n * (size_t)s->line->n_buckets, s->to,
           (size_t)s->line->n_buckets * sizeof *s->to);
    f->n++;
}

/* All buckets have their cut.  What is left of the budget goes into something
 * divisible that comes next, in each way; else the share must be maximal. */
static void finish(beam *s, int64_t left, int64_t capacity)
{
    const cz_line *line = s->line;
    bool is_maximal = true;
    for (int b = 0; b < line->n_buckets; b++) {
        const cz_cut cut = s->to[b], next = {cut.item + 1, 0};
        if (cut.item == line->start[b + 1])
            continue;
        const bool fits =
            cz_line_weight(line, next) - cz_line_weight(line, cut) <= left &&
            cz_line_state(line, next) - cz_line_state(line, cut) <= capacity;
        is_maximal = is_maximal && !fits;
        if (!line->items[cut.item].divisible || fits)
            continue;
        /* As far into a divisible item as budget and capacity allow. */
        const cz_line_item *item = &line->items[cut.item];
        const int64_t bytes =
            line->state_before[cut.item + 1] - line->state_before[cut.item];
        cz_cut end = cz_line_extend(line, b, cut, left);
        if (end.item > cut.item)
            end = (cz_cut){cut.item, item->end - item->begin};
        if (cz_line_state(line, end) - cz_line_state(line, cut) > capacity)
            end.within = cut.within + cz_solve_fraction(item->end - item->begin,
                                                        capacity, bytes) /
                                          line->align * line->align;
        s->to[b] = end.within == item->end - item->begin
                       ? (cz_cut){cut.item + 1, 0}
                       : end;
        keep(s, left - (cz_line_weight(line, s->to[b]) -
                        cz_line_weight(line, cut)));
        s->to[b] = cut;
    }
    if (is_maximal)
        keep(s, left);
}

/* What a divisible item right behind the cut could still take. */
static int64_t pourable(const beam *s, int b, cz_cut cut)
{
    if (cut.item == s->line->start[b + 1] ||
        !s->line->items[cut.item].divisible)
        return 0;
    return s->line->before[cut.item + 1] - cz_line_weight(s->line, cut);
}

/* The cuts that bucket b can have within what is left, furthest first.  `more`
 * is the most that something divisible behind an earlier cut could take. */
static void descend(beam *s, int b, int64_t left, int64_t capacity,
                    int64_t more)
{
    const cz_line *line = s->line;
    if (--s->work < 0 || s->taken - left + s->rest[b] + more < s->need)
        return;
    if (b == line->n_buckets) {
        finish(s, left, capacity);
        return;
    }
    const cz_cut from = s->from[b];
    const int64_t weight = cz_line_weight(line, from);
    const int64_t had = cz_line_state(line, from);
    for (int item = cz_line_extend(line, b, from, left).item; item > from.item;
         item--) {
        const int64_t bytes = line->state_before[item] - had;
        if (bytes > capacity)
            continue;
        s->to[b] = (cz_cut){item, 0};
        descend(s, b + 1, left - (line->before[item] - weight),
                capacity - bytes, cz_solve_max(more, pourable(s, b, s->to[b])));
    }
    s->to[b] = from;
    descend(s, b + 1, left, capacity, cz_solve_max(more, pourable(s, b, from)));
}

/* All shares of a rank from one state. */
static void expand(beam *s, const front *f, int i, int64_t budget,
                   int64_t capacity)
{
    const cz_line *line = s->line;
    s->parent = i;
    s->taken = f->states[i].progress + budget;
    s->from = cuts_of(s, f, i);
    for (int b = line->n_buckets; b-- > 0;)
        s->rest[b] = s->rest[b + 1] + line->before[line->start[b + 1]] -
                     cz_line_weight(line, s->from[b]);
    if (capacity >= 0)
        descend(s, 0, budget, capacity, 0);
}

/* Whether all is taken below T; the fronts then lead back to how. */
static bool fits(beam *s)
{
    const cz_line *line = s->line;
    int64_t later = 0;
    for (int r = 0; r < line->n_ranks; r++) {
        if (line->base[r] > s->t)
            return false;
        later += s->t - line->base[r];
    }
    s->fronts[0].n = 1;
    s->fronts[0].states[0] = (state){0, -1, 0};
    for (int b = 0; b < line->n_buckets; b++)
        s->fronts[0].cuts[b] = cz_line_begin(line, b);
    for (int r = 0; r < line->n_ranks; r++) {
        const int64_t budget = s->t - line->base[r];
        later -= budget;
        s->need = line->before[line->start[line->n_buckets]] - later;
        s->next = &s->fronts[r + 1];
        s->next->n = 0;
        for (int i = 0; i < s->fronts[r].n; i++)
            expand(s, &s->fronts[r], i, budget,
                   line->capacity ? line->capacity[r] : INT64_MAX);
        narrow(s, s->next);
        if (s->next->n == 0 || s->work < 0)
            return false;
    }
    return true;
}

static void trace(const beam *s, cz_cut *cuts)
{
    const cz_line *line = s->line;
    const size_t row = (size_t)line->n_ranks + 1;
    for (int r = line->n_ranks, i = 0; r >= 0; r--) {
        for (int b = 0; b < line->n_buckets; b++)
            cuts[(size_t)b * row + (size_t)r] = cuts_of(s, &s->fronts[r], i)[b];
        i = s->fronts[r].states[i].parent;
    }
}

static beam begin(cz_arena *arena, const cz_line *line, int width)
{
    const int capacity = CAPACITY * width;
    const size_t n = (size_t)line->n_buckets;
    beam s = {.line = line,
              .width = width,
              .capacity = capacity,
              .fronts = CZ_NEW(arena, front, line->n_ranks + 1),
              .spare = CZ_NEW(arena, cz_cut, (size_t)width * n + 1),
              .to = CZ_NEW(arena, cz_cut, n + 1),
              .rest = CZ_NEW(arena, int64_t, n + 1)};
    for (int r = 0; r <= line->n_ranks; r++) {
        s.fronts[r].states = CZ_NEW(arena, state, capacity);
        s.fronts[r].cuts = CZ_NEW(arena, cz_cut, (size_t)capacity * n + 1);
    }
    return s;
}

bool cz_line_search(cz_arena *arena, const cz_line *line, cz_cut *cuts,
                    int64_t high, int width, int64_t work)
{
    beam s = begin(arena, line, width);
    int64_t low = (line->total + line->n_ranks - 1) / line->n_ranks - 1;
    bool is_found = false;
    for (int step = 0; step < STEPS && high - low > 1 + high / PRECISION;
         step++) {
        s.t = low + (high - low) / 2;
        s.work = work / STEPS;
        if (fits(&s)) {
            trace(&s, cuts);
            is_found = true;
            high = cz_line_max(arena, line, cuts);
        } else {
            low = s.t;
        }
    }
    return is_found;
}
