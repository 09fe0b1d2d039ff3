/* The operations, in an order to begin with.  Reduction follows the backward
 * pass bucket by bucket.  Micro-groups are a software pipeline: while those of
 * one wave compute, the next ones gather and the ones before scatter.  A bucket
 * is published right behind the last operation that writes it. */
#include "passes/schedule/internal.h"

const cz_role_fact *cz_schedule_role(cz_role role)
{
    static const cz_role_fact table[CZ_N_ROLES] = {
        [CZ_ROLE_REDUCE] = {CZ_STEP_REDUCE_SCATTER, CZ_SECTION_REDUCE, 1},
        [CZ_ROLE_GUARD] = {CZ_STEP_GUARD, CZ_SECTION_RECOVER, 1},
        [CZ_ROLE_KEEP] = {CZ_STEP_KEEP, CZ_SECTION_RECOVER, 0},
        [CZ_ROLE_SQUARES] = {CZ_STEP_SQUARE_SUM, CZ_SECTION_DECIDE, 0},
        [CZ_ROLE_SUM] = {CZ_STEP_ALL_REDUCE, CZ_SECTION_DECIDE, 1},
        [CZ_ROLE_DECIDE] = {CZ_STEP_DECIDE, CZ_SECTION_DECIDE, 0},
        [CZ_ROLE_PROLOGUE] = {CZ_STEP_PROLOGUE, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_ELEMENT_WISE] = {CZ_STEP_KERNEL, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_ALONE] = {CZ_STEP_KERNEL, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_PRE_GATHER] = {CZ_STEP_KERNEL, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_GATHER] = {CZ_STEP_TRANSFER, CZ_SECTION_UPDATE, 2},
        [CZ_ROLE_FULL_MATRIX] = {CZ_STEP_KERNEL, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_ADD] = {CZ_STEP_GROUP_SUM, CZ_SECTION_UPDATE, 2},
        [CZ_ROLE_SCATTER] = {CZ_STEP_TRANSFER, CZ_SECTION_UPDATE, 2},
        [CZ_ROLE_POST_SCATTER] = {CZ_STEP_KERNEL, CZ_SECTION_UPDATE, 0},
        [CZ_ROLE_ALL_GATHER] = {CZ_STEP_ALL_GATHER, CZ_SECTION_UPDATE, 1},
        [CZ_ROLE_UNDO] = {CZ_STEP_UNDO, CZ_SECTION_RECOVER, 1},
    };
    return &table[role];
}

static void append(cz_scheduler *s, cz_role role, int bucket, int micro_group)
{
    *CZ_PUSH(s->arena, s->ops, s->n_ops) =
        (cz_planned_op){role, bucket, 1, micro_group, 0, -1, NULL};
}

static void append_segment(cz_scheduler *s, cz_role role, int micro_group,
                           int segment)
{
    append(s, role, -1, micro_group);
    s->ops[s->n_ops - 1].segment = segment;
}

static void publish(cz_scheduler *s, int bucket)
{
    const cz_ints *split =
        &cz_view_bucket_reduction(s->view, bucket)->split_axes;
    if (cz_view_extent(s->view, split) > 1)
        append(s, CZ_ROLE_ALL_GATHER, bucket, -1);
}

static bool has_decision(const cz_plan_view *view)
{
    return view->policy->clip > 0 || view->policy->skip != 0;
}

int cz_schedule_bucket_order(const cz_plan_view *view, int i)
{
    return view->n_buckets - 1 - i;
}

/* Keeping is the first of its stream: nothing is ordered through it, for steps
 * may not be undone.  Where something clips, the norm says what a guard would.
 */
static void list_reduction(cz_scheduler *s)
{
    for (int b = 0; b < s->view->n_buckets; b++)
        append(s, CZ_ROLE_REDUCE, b, -1);
    if (s->view->policy->clip == 0)
        append(s, CZ_ROLE_GUARD, -1, -1);
    append(s, CZ_ROLE_KEEP, -1, -1);
    if (!has_decision(s->view))
        return;
    for (int b = 0; b < s->view->n_buckets; b++)
        append(s, CZ_ROLE_SQUARES, b, -1);
    append(s, CZ_ROLE_SUM, -1, -1);
    append(s, CZ_ROLE_DECIDE, -1, -1);
}

static void list_local(cz_scheduler *s)
{
    if (s->view->policy->joins_updates) {
        append(s, CZ_ROLE_ELEMENT_WISE, 0, -1);
        s->ops[s->n_ops - 1].n_buckets = s->view->n_buckets;
    }
    for (int i = 0; i < s->view->n_buckets; i++) {
        const int b = cz_schedule_bucket_order(s->view, i);
        if (cz_schedule_holds(s->view, b, true))
            continue;
        if (!s->view->policy->joins_updates)
            append(s, CZ_ROLE_ELEMENT_WISE, b, -1);
        publish(s, b);
    }
}

/* Behind all matrices of a bucket: what else lies beside them. */
static void finish(cz_scheduler *s, int bucket)
{
    if (cz_schedule_holds(s->view, bucket, false) &&
        !s->view->policy->joins_updates)
        append(s, CZ_ROLE_ELEMENT_WISE, bucket, -1);
    publish(s, bucket);
}

/* Whether a group is carried out behind another. */
static bool is_behind(const cz_matrix_set *set, int micro_group, int other)
{
    return set->wave[micro_group] != set->wave[other]
               ? set->wave[micro_group] > set->wave[other]
               : micro_group > other;
}

/* The last group that writes each bucket; -1: none does. */
static int *last_groups(cz_scheduler *s)
{
    int *last = CZ_NEW(s->arena, int, s->view->n_buckets);
    for (int b = 0; b < s->view->n_buckets; b++)
        last[b] = -1;
    for (int i = 0; i < s->sharded.n; i++) {
        const cz_matrix *m = &s->sharded.list[i];
        if (last[m->bucket] < 0 ||
            is_behind(&s->sharded, m->micro_group, last[m->bucket]))
            last[m->bucket] = m->micro_group;
    }
    return last;
}

static bool has_alone(const cz_scheduler *s, int bucket)
{
    for (int i = 0; i < s->alone.n; i++)
        if (s->alone.list[i].bucket == bucket)
            return true;
    return false;
}

/* What one operation updates is computed in larger batches, and gathered
 * later. */
static void list_alone(cz_scheduler *s, const int *last_group)
{
    const int n_buckets = s->view->n_buckets;
    for (int i = 0, end; i < n_buckets; i = end) {
        end = i + 1;
        if (!has_alone(s, cz_schedule_bucket_order(s->view, i)))
            continue;
        if (s->view->policy->joins_updates)
            end = n_buckets;
        append(s, CZ_ROLE_ALONE, cz_schedule_bucket_order(s->view, end - 1),
               -1);
        s->ops[s->n_ops - 1].n_buckets = end - i;
        for (int k = i; k < end; k++) {
            const int b = cz_schedule_bucket_order(s->view, k);
            if (last_group[b] < 0 && has_alone(s, b))
                finish(s, b);
        }
    }
}

static void list_fetch(cz_scheduler *s, int micro_group, const int *last_group)
{
    (void)last_group;
    append(s, CZ_ROLE_PRE_GATHER, -1, micro_group);
    if (s->sharded.moves[micro_group])
        append(s, CZ_ROLE_GATHER, -1, micro_group);
}

/* Whether those who share a matrix of the group add up or gather something
 * behind the segment. */
static bool has_sums(const cz_scheduler *s, int micro_group, int segment)
{
    for (int i = 0; i < s->sharded.n; i++) {
        const cz_matrix *m = &s->sharded.list[i];
        if (m->micro_group == micro_group && m->n_owners > 1 &&
            cz_schedule_sum_bytes(m, segment) > 0)
            return true;
    }
    return false;
}

static void list_scatter(cz_scheduler *s, int micro_group,
                         const int *last_group)
{
    (void)last_group;
    if (s->sharded.moves[micro_group])
        append(s, CZ_ROLE_SCATTER, -1, micro_group);
}

static void list_finish(cz_scheduler *s, int micro_group, const int *last_group)
{
    append(s, CZ_ROLE_POST_SCATTER, -1, micro_group);
    for (int i = 0; i < s->view->n_buckets; i++)
        if (last_group[cz_schedule_bucket_order(s->view, i)] == micro_group)
            finish(s, cz_schedule_bucket_order(s->view, i));
}

/* What is done to each group of a wave. */
typedef void (*to_group)(cz_scheduler *s, int micro_group,
                         const int *last_group);

static void for_wave(cz_scheduler *s, int wave, const int *last_group,
                     to_group visit)
{
    for (int g = 0; g < s->sharded.n_micro_groups; g++)
        if (s->sharded.wave[g] == wave)
            visit(s, g, last_group);
}

/* The next segment of each group of a wave in turn: the sums of one travel
 * while another computes.  What is not shared has one, and comes last: those
 * who share wait for each other. */
static void list_whole(cz_scheduler *s, int wave)
{
    bool any = true;
    for (int k = 0; any; k++) {
        any = false;
        for (int g = 0; g < s->sharded.n_micro_groups; g++) {
            const bool is_shared = s->sharded.blocks[g].size > 1;
            if (s->sharded.wave[g] != wave || !is_shared ||
                k >= cz_schedule_segments(s, g))
                continue;
            append_segment(s, CZ_ROLE_FULL_MATRIX, g, k);
            if (has_sums(s, g, k))
                append_segment(s, CZ_ROLE_ADD, g, k);
            any = true;
        }
    }
    for (int g = 0; g < s->sharded.n_micro_groups; g++)
        if (s->sharded.wave[g] == wave && s->sharded.blocks[g].size == 1)
            append_segment(s, CZ_ROLE_FULL_MATRIX, g, 0);
}

static int count_waves(const cz_matrix_set *set)
{
    int n = 0;
    for (int g = 0; g < set->n_micro_groups; g++)
        n = set->wave[g] >= n ? set->wave[g] + 1 : n;
    return n;
}

static void list_groups(cz_scheduler *s, const int *last_group)
{
    if (s->sharded.n == 0)
        return;
    const int n = count_waves(&s->sharded);
    for_wave(s, 0, last_group, list_fetch);
    for (int w = 0; w < n; w++) {
        for_wave(s, w + 1, last_group, list_fetch);
        list_whole(s, w);
        for_wave(s, w, last_group, list_scatter);
        for_wave(s, w - 1, last_group, list_finish);
    }
    for_wave(s, n - 1, last_group, list_finish);
}

/* Everything is there at once behind the guard or the decision, and buckets
 * without matrices go first, so that their gathers overlap with the matrices.
 */
void cz_schedule_list(cz_scheduler *s)
{
    const int *last_group = last_groups(s);
    list_reduction(s);
    append(s, CZ_ROLE_PROLOGUE, -1, -1);
    list_local(s);
    list_alone(s, last_group);
    list_groups(s, last_group);
    append(s, CZ_ROLE_UNDO, -1, -1);
}
