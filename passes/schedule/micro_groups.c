/* Which micro-groups: every number that is tried becomes a list of operations,
 * the executor is simulated on it, and of those that keep the cap on memory, or
 * are the least above it, the fastest is taken.  Equal times: the one with
 * fewer groups, which is tried first. */
#include "passes/schedule/internal.h"

#include <string.h>

/* Each number of groups up to the first, then a quarter more at a time: every
 * group is two messages more. */
enum { EACH_NUMBER = 8, MOST_GROUPS = 32 };

/* Groups of shared matrices wait for each other segment by segment: their order
 * says as much as their number.  A hundredth of what the order of the one that
 * is taken is worth. */
enum { TRIAL_EFFORT = 3000000 };

typedef struct chooser {
    cz_scheduler *s;
    cz_arena scratch; /* of one list */
    int n_seen;
    int **seen;          /* groups of matrices that have a time already */
    int best;            /* groups of each class */
    int64_t effort;      /* to put each list in order */
    int64_t best_ps;     /* -1: nothing is tried yet */
    int64_t best_excess; /* bytes above the cap on memory */
    int n_tried, n_times;
    int64_t *tried, *times;
} chooser;

static bool is_seen(chooser *c, const cz_matrix_set *set)
{
    int *micro_groups = CZ_NEW(c->s->arena, int, set->n);
    for (int i = 0; i < set->n; i++)
        micro_groups[i] = set->list[i].micro_group;
    for (int k = 0; k < c->n_seen; k++)
        if (memcmp(c->seen[k], micro_groups,
                   (size_t)set->n * sizeof *micro_groups) == 0)
            return true;
    *CZ_PUSH(c->s->arena, c->seen, c->n_seen) = micro_groups;
    return false;
}

/* For who asks why. */
static void note(chooser *c, int n_micro_groups, int64_t ps)
{
    *CZ_PUSH(c->s->arena, c->tried, c->n_tried) = n_micro_groups;
    *CZ_PUSH(c->s->arena, c->times, c->n_times) = ps;
}

/* What of a listed trial the fullest rank has above the cap. */
static int64_t excess_of(cz_scheduler *trial)
{
    if (!trial->caps_micro_groups)
        return 0;
    cz_schedule_scratch(trial);
    cz_schedule_tables(trial);
    cz_schedule_waits(trial);
    return cz_schedule_excess(trial);
}

/* How long the list would take.  The scheduler itself stays as it is. */
static void try_number(chooser *c, int n_of_each)
{
    cz_scheduler trial = *c->s;
    const size_t n = (size_t)trial.sharded.n;
    trial.arena = &c->scratch;
    trial.sharded.list = CZ_NEW(&c->scratch, cz_matrix, n);
    memcpy(trial.sharded.list, c->s->sharded.list, n * sizeof(cz_matrix));
    const int n_micro_groups = cz_schedule_cut_classes(&trial, n_of_each);
    if (!is_seen(c, &trial.sharded)) {
        cz_schedule_sort(&trial, &trial.sharded, n_micro_groups);
        cz_schedule_list(&trial);
        const int64_t ps = cz_schedule_order(&trial, c->effort);
        note(c, n_micro_groups, ps);
        const int64_t excess = excess_of(&trial);
        if (c->best_ps < 0 || excess < c->best_excess ||
            (excess == c->best_excess && ps < c->best_ps)) {
            c->best_ps = ps;
            c->best_excess = excess;
            c->best = n_of_each;
        }
    }
    cz_arena_clear(&c->scratch);
}

static void try_numbers(chooser *c)
{
    int most = 1;
    for (int l = 0; l < c->s->n_micro_group_classes; l++)
        most = c->s->micro_group_classes[l].most > most
                   ? c->s->micro_group_classes[l].most
                   : most;
    most = most < MOST_GROUPS ? most : MOST_GROUPS;
    for (int n = 1; n <= most; n += n < EACH_NUMBER ? 1 : n / 4)
        try_number(c, n);
}

bool cz_schedule_has_subgroups(const cz_scheduler *s)
{
    for (int l = 0; l < s->n_micro_group_classes; l++)
        if (s->micro_group_classes[l].block.size > 1)
            return true;
    return false;
}

static bool has_choice(const cz_scheduler *s)
{
    for (int l = 0; l < s->n_micro_group_classes; l++)
        if (s->micro_group_classes[l].most > 1)
            return true;
    return false;
}

void cz_schedule_micro_groups(cz_scheduler *s)
{
    chooser c = {.s = s, .best = 1, .best_ps = -1};
    s->prices = cz_schedule_price(s->arena, s->view);
    cz_schedule_find_classes(s);
    c.effort = cz_schedule_has_subgroups(s) ? TRIAL_EFFORT : 0;
    cz_arena_init(&c.scratch);
    if (s->prices && has_choice(s))
        try_numbers(&c);
    cz_arena_fini(&c.scratch);
    s->micro_group_choice = (cz_fact_micro_group_choice){{c.tried, c.n_tried},
                                                         {c.times, c.n_times}};
    const int n_micro_groups = cz_schedule_cut_classes(s, c.best);
    cz_schedule_sort(s, &s->sharded, n_micro_groups > 0 ? n_micro_groups : 1);
}
