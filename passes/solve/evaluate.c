/* Scores are sums over slices; checks walk each bucket once. */
#include "passes/solve/evaluate.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"
#include "passes/solve/batch.h"

#include <string.h>

/* What of a bucket lies in memory by itself. */
typedef struct cz_buffer {
    int kind;
    bool divisible;
    int64_t *slices; /* [n_ranks + 1] bounds, from the buffer's start */
} cz_buffer;

static const cz_solve_class *class_of(const cz_solve_problem *problem, int item)
{
    return &problem->classes[problem->class_of[item]];
}

static const int64_t *bounds_of(const cz_solve_problem *problem,
                                const int64_t *bounds, int bucket)
{
    return bounds + (size_t)bucket * ((size_t)problem->n_ranks + 1);
}

static int64_t overlap(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return cz_solve_max(0, cz_solve_min(b, d) - cz_solve_max(a, c));
}

/* Nothing yet but initial loads and states. */
static cz_solve_score begin(cz_arena *arena, const cz_solve_problem *problem)
{
    const int slots = problem->n_ranks * problem->n_hosts;
    cz_solve_score score = {.load_ps = CZ_NEW(arena, int64_t, slots),
                            .state_bytes =
                                CZ_NEW(arena, int64_t, problem->n_ranks)};
    if (problem->initial_ps)
        memcpy(score.load_ps, problem->initial_ps,
               (size_t)slots * sizeof *score.load_ps);
    if (problem->initial_bytes)
        memcpy(score.state_bytes, problem->initial_bytes,
               (size_t)problem->n_ranks * sizeof *score.state_bytes);
    return score;
}

static void add_to_hosts(const cz_solve_problem *problem, cz_solve_score *score,
                         int rank, int64_t ps)
{
    for (int h = 0; h < problem->n_hosts; h++)
        score->load_ps[rank * problem->n_hosts + h] += ps;
}

/* The last rank whose slice begins at or before `offset`. */
static int slice_at(const int64_t *bounds, int n_ranks, int64_t offset)
{
    int low = 0, high = n_ranks;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (bounds[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* A divisible item costs each rank its part. */
static void add_parts(const cz_solve_problem *problem, cz_solve_score *score,
                      const int64_t *bounds, int item, int64_t offset)
{
    const cz_solve_class *c = class_of(problem, item);
    const int64_t n = c->elements;
    for (int r = slice_at(bounds, problem->n_ranks, offset);
         r < problem->n_ranks && bounds[r] < offset + n; r++) {
        const int64_t from = cz_solve_max(0, bounds[r] - offset);
        const int64_t to = cz_solve_min(bounds[r + 1] - offset, n);
        if (from >= to)
            continue;
        add_to_hosts(problem, score, r,
                     cz_solve_fraction(c->cost_ps, to, n) -
                         cz_solve_fraction(c->cost_ps, from, n));
        score->state_bytes[r] += cz_solve_fraction(c->state_bytes, to, n) -
                                 cz_solve_fraction(c->state_bytes, from, n);
    }
}

static void add_item(const cz_solve_problem *problem, const cz_solve_plan *plan,
                     cz_solve_score *score, int bucket, int item)
{
    const cz_solve_class *c = class_of(problem, item);
    const int64_t offset = plan->offset[item];
    if (c->divisible) {
        add_parts(problem, score, bounds_of(problem, plan->slices, bucket),
                  item, offset);
        add_parts(problem, score, bounds_of(problem, plan->fills, bucket), item,
                  offset);
        return;
    }
    const int owner = plan->owner[item];
    add_to_hosts(problem, score, owner, c->coordinate_ps);
    score->load_ps[owner * problem->n_hosts + plan->host[item]] += c->cost_ps;
    score->state_bytes[owner] += c->state_bytes;
}

/* Elements of a bucket that the longest slice has. */
static int64_t longest(const cz_solve_problem *problem,
                       const cz_solve_plan *plan, int bucket)
{
    const int64_t *slices = bounds_of(problem, plan->slices, bucket);
    const int64_t *fills = bounds_of(problem, plan->fills, bucket);
    int64_t most = 0;
    for (int r = 0; r < problem->n_ranks; r++)
        most = cz_solve_max(most, slices[r + 1] - slices[r] + fills[r + 1] -
                                      fills[r]);
    return most;
}

/* ---- buffers ---- */

static bool is_in(const cz_solve_problem *problem, const cz_buffer *buffer,
                  int item)
{
    const cz_solve_class *c = class_of(problem, item);
    return c->kind == buffer->kind && c->divisible == buffer->divisible;
}

static int64_t aligned(const cz_solve_problem *problem, int item)
{
    return cz_round_up(class_of(problem, item)->elements, problem->align);
}

static int64_t equal_part(const cz_solve_problem *problem, int64_t length)
{
    return cz_round_up(cz_ceil_div(length, problem->n_ranks), problem->align);
}

/* Slices of a buffer of a bucket: of owners, or equal ones.  Its length. */
static int64_t cut_buffer(const cz_solve_problem *problem,
                          const cz_solve_plan *plan, int bucket,
                          cz_buffer *buffer)
{
    const int n = problem->n_ranks;
    int64_t length = 0;
    for (int r = 0; r <= n; r++)
        buffer->slices[r] = 0;
    for (int at = problem->bucket_start[bucket];
         at < problem->bucket_start[bucket + 1]; at++) {
        const int item = plan->order[at];
        if (!is_in(problem, buffer, item))
            continue;
        length += aligned(problem, item);
        if (!buffer->divisible)
            buffer->slices[plan->owner[item] + 1] += aligned(problem, item);
    }
    for (int r = 1; r <= n; r++)
        buffer->slices[r] =
            buffer->divisible
                ? cz_solve_min(length, r * equal_part(problem, length))
                : buffer->slices[r] + buffer->slices[r - 1];
    return length;
}

/* Elements of the longest slice; the most that lie in the equal part of a rank
 * and not in its slice, or the other way: it holds up all. */
static void measure(const cz_solve_problem *problem, const cz_buffer *buffer,
                    int64_t length, int64_t *longest_slice, int64_t *moved)
{
    const int64_t part = equal_part(problem, length);
    *longest_slice = *moved = 0;
    for (int r = 0; r < problem->n_ranks; r++) {
        const int64_t from = buffer->slices[r], to = buffer->slices[r + 1];
        const int64_t start = cz_solve_min(length, r * part);
        const int64_t end = cz_solve_min(length, (r + 1) * part);
        const int64_t kept = overlap(from, to, start, end);
        *longest_slice = cz_solve_max(*longest_slice, to - from);
        *moved =
            cz_solve_max(*moved, cz_solve_max(to - from, end - start) - kept);
    }
}

static void add_buffer(const cz_solve_problem *problem,
                       const cz_solve_plan *plan, cz_solve_score *score,
                       int bucket, cz_buffer *buffer)
{
    const int64_t length = cut_buffer(problem, plan, bucket, buffer);
    const bool is_padded = problem->geometry == CZ_SLICES_PADDED;
    int64_t most, moved;
    if (length == 0)
        return;
    measure(problem, buffer, length, &most, &moved);
    score->padded_elements += most * problem->n_ranks;
    if (!buffer->divisible)
        score->owned_elements += most * problem->n_ranks;
    score->length_elements += length;
    score->wire_elements +=
        2 * ((problem->n_ranks - 1) *
                 (is_padded ? most * problem->n_ranks : length) +
             (is_padded ? 0 : moved * problem->n_ranks));
    int64_t offset = 0;
    for (int at = problem->bucket_start[bucket];
         at < problem->bucket_start[bucket + 1]; at++) {
        const int item = plan->order[at];
        if (!is_in(problem, buffer, item))
            continue;
        if (buffer->divisible)
            add_parts(problem, score, buffer->slices, item, offset);
        else
            add_item(problem, plan, score, bucket, item);
        offset += aligned(problem, item);
    }
}

/* Buffer by buffer; all of them, or what is divisible alone. */
static void add_buffers(cz_arena *arena, const cz_solve_problem *problem,
                        const cz_solve_plan *plan, bool with_whole,
                        cz_solve_score *score)
{
    cz_buffer buffer = {
        .slices = CZ_NEW(arena, int64_t, (size_t)problem->n_ranks + 1)};
    int n_kinds = 0;
    for (int c = 0; c < problem->n_classes; c++)
        n_kinds = problem->classes[c].kind >= n_kinds
                      ? problem->classes[c].kind + 1
                      : n_kinds;
    for (int b = 0; b < problem->n_buckets; b++)
        for (int k = 0; k < 2 * n_kinds; k++) {
            buffer.kind = k / 2;
            buffer.divisible = k % 2 != 0;
            if (buffer.divisible || with_whole)
                add_buffer(problem, plan, score, b, &buffer);
        }
}

cz_solve_problem cz_solve_evened(cz_arena *arena,
                                 const cz_solve_problem *problem)
{
    cz_solve_problem out = *problem;
    if (problem->geometry == CZ_SLICES_UNEVEN)
        return out;
    const cz_solve_plan plan = cz_solve_plan_make(arena, problem);
    cz_solve_score score = begin(arena, problem);
    cz_solve_class *classes =
        CZ_NEW(arena, cz_solve_class, problem->n_classes + 1);
    add_buffers(arena, problem, &plan, false, &score);
    for (int c = 0; c < problem->n_classes; c++) {
        classes[c] = problem->classes[c];
        if (classes[c].divisible)
            classes[c].cost_ps = classes[c].state_bytes = 0;
    }
    out.classes = classes;
    out.initial_ps = score.load_ps;
    out.initial_bytes = score.state_bytes;
    return out;
}

/* Ranks send alike on a ring: a rank's share is the mean. */
static int64_t wire_time(const cz_solve_problem *problem, int64_t elements)
{
    return cz_solve_fraction(problem->wire_ps, elements / problem->n_ranks,
                             1024);
}

static void add_batches(cz_arena *arena, const cz_solve_problem *problem,
                        const cz_solve_plan *plan, cz_solve_score *score)
{
    int *slot_of = CZ_NEW(arena, int, problem->n_items + 1);
    for (int i = 0; i < problem->n_items; i++)
        slot_of[i] = plan->owner[i] < 0
                         ? -1
                         : plan->owner[i] * problem->n_hosts + plan->host[i];
    cz_solve_batch_add(arena, problem, slot_of, score->load_ps);
}

cz_solve_score cz_solve_evaluate(cz_arena *arena,
                                 const cz_solve_problem *problem,
                                 const cz_solve_plan *plan)
{
    const int slots = problem->n_ranks * problem->n_hosts;
    cz_solve_score score = begin(arena, problem);
    if (problem->geometry != CZ_SLICES_UNEVEN)
        add_buffers(arena, problem, plan, true, &score);
    for (int b = 0;
         problem->geometry == CZ_SLICES_UNEVEN && b < problem->n_buckets; b++) {
        /* Where a bucket is laid out as a whole. */
        score.padded_elements += longest(problem, plan, b) * problem->n_ranks;
        score.length_elements += plan->length[b];
        score.wire_elements +=
            (int64_t)2 * (problem->n_ranks - 1) * plan->length[b];
        for (int at = problem->bucket_start[b];
             at < problem->bucket_start[b + 1]; at++)
            add_item(problem, plan, &score, b, plan->order[at]);
    }
    if (cz_solve_has_batches(problem))
        add_batches(arena, problem, plan, &score);
    for (int s = 0; s < slots; s++) {
        score.max_load_ps = cz_solve_max(score.max_load_ps, score.load_ps[s]);
        score.total_load_ps += score.load_ps[s];
    }
    for (int r = 0; r < problem->n_ranks; r++) {
        score.max_state_bytes =
            cz_solve_max(score.max_state_bytes, score.state_bytes[r]);
        score.total_state_bytes += score.state_bytes[r];
    }
    score.wire_ps = wire_time(problem, score.wire_elements);
    score.time_ps = score.max_load_ps + score.wire_ps;
    return score;
}

static const char *check_bounds(const cz_solve_problem *problem,
                                const int64_t *bounds, int64_t from, int64_t to)
{
    if (bounds[0] != from || bounds[problem->n_ranks] != to)
        return "slices do not cover the bucket";
    for (int r = 0; r < problem->n_ranks; r++)
        if (bounds[r] > bounds[r + 1])
            return "slices are not ascending";
        else if (bounds[r] % problem->align != 0)
            return "a cut is not aligned";
    return NULL;
}

static const char *check_owner(const cz_solve_problem *problem,
                               const cz_solve_plan *plan, int bucket, int item)
{
    const int owner = plan->owner[item], host = plan->host[item];
    const int64_t *slices = bounds_of(problem, plan->slices, bucket);
    if (class_of(problem, item)->divisible)
        return owner == -1 && host == -1 ? NULL : "a divisible item is owned";
    if (owner < 0 || owner >= problem->n_ranks || host < 0 ||
        host >= problem->n_hosts)
        return "an owner is out of range";
    if (plan->offset[item] < slices[owner] ||
        plan->offset[item] + class_of(problem, item)->elements >
            slices[owner + 1])
        return "an item is not inside its owner's slice";
    return NULL;
}

static const char *check_items(const cz_solve_problem *problem,
                               const cz_solve_plan *plan, bool *seen, int b)
{
    int64_t end = 0;
    for (int at = problem->bucket_start[b]; at < problem->bucket_start[b + 1];
         at++) {
        const int item = plan->order[at];
        if (item < problem->bucket_start[b] ||
            item >= problem->bucket_start[b + 1] || seen[item])
            return "an item is not in its bucket once";
        if (problem->order == CZ_ORDER_TRAINER && item != at)
            return "the trainer's order is changed";
        if (plan->offset[item] != end)
            return "an item is not behind the one before";
        const char *why = check_owner(problem, plan, b, item);
        if (why)
            return why;
        seen[item] = true;
        end = cz_round_up(end + class_of(problem, item)->elements,
                          problem->align);
    }
    return end == plan->length[b] ? NULL : "a bucket's length is wrong";
}

const char *cz_solve_check(cz_arena *scratch, const cz_solve_problem *problem,
                           const cz_solve_plan *plan)
{
    bool *seen = CZ_NEW(scratch, bool, problem->n_items + 1);
    for (int b = 0; b < problem->n_buckets; b++) {
        const int64_t *fills = bounds_of(problem, plan->fills, b);
        const char *why = check_items(problem, plan, seen, b);
        if (!why)
            why = check_bounds(problem, bounds_of(problem, plan->slices, b), 0,
                               fills[0]);
        if (!why)
            why = check_bounds(problem, fills, fills[0], plan->length[b]);
        if (why)
            return why;
    }
    return NULL;
}

/* What max * n / total exceeds the cap by, in millionths. */
static int64_t above(cz_solve_cap cap, int64_t top, int64_t bottom)
{
    if (cap.denominator == 0 || bottom == 0)
        return 0;
    const cz_wide excess =
        (cz_wide)top * cap.denominator - (cz_wide)bottom * cap.numerator;
    return excess <= 0 ? 0
                       : 1 + (int64_t)(excess * 1000000 /
                                       ((cz_wide)bottom * cap.denominator));
}

int64_t cz_solve_excess(const cz_solve_problem *problem,
                        const cz_solve_score *s)
{
    const int64_t state = problem->state_mean
                              ? problem->state_mean * problem->n_ranks
                              : s->total_state_bytes;
    const cz_solve_cap padded = {1, problem->most_padded > 0};
    return above(problem->state, s->max_state_bytes * problem->n_ranks, state) +
           above(padded, s->owned_elements, problem->most_padded);
}

static int compare(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int cz_solve_compare(const cz_solve_problem *problem, const cz_solve_score *a,
                     const cz_solve_score *b)
{
    int order =
        compare(cz_solve_excess(problem, a), cz_solve_excess(problem, b));
    if (order == 0)
        order = compare(a->time_ps, b->time_ps);
    if (order == 0)
        order = compare(a->padded_elements, b->padded_elements);
    if (order == 0)
        order = compare(a->max_state_bytes, b->max_state_bytes);
    return order;
}
