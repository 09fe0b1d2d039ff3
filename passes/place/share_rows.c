/* From blocks of rows back to owners and blocks of ranks. */
#include "passes/place/share_internal.h"

#include "dsl/base/checked.h"
#include "passes/cost/candidates.h"
#include "passes/solve/choice.h"

#include <stdlib.h>

typedef struct dealer {
    const cz_place_subgroup *s;
    const cz_subgroup_plan *plan;
    int *place_of; /* [rows] where slots are those of places one behind the
                    * other */
} dealer;

/* ---- matrices that their shards' ranks update ---- */

static bool stays(const cz_place_subgroup *s, int item)
{
    const int of = s->view->params[s->placement->params[item]].pattern;
    return s->placement->shard_ps[of] >= 0;
}

/* State bytes of all of them, evenly over the split coordinates. */
static int64_t staying_bytes(const cz_place_subgroup *s)
{
    const cz_solve_problem *problem = &s->placement->problem;
    int64_t bytes = 0;
    for (int i = 0; i < problem->n_items; i++)
        if (stays(s, i))
            bytes += problem->classes[problem->class_of[i]].state_bytes;
    return cz_ceil_div(bytes, problem->n_ranks);
}

/* Each to the split coordinate that has least state. */
static void put_staying(const cz_place_subgroup *s, cz_counts *counts)
{
    const cz_solve_problem *problem = &s->placement->problem;
    for (int i = 0; i < problem->n_items; i++) {
        int best = 0;
        if (!stays(s, i))
            continue;
        for (int split = 1; split < problem->n_ranks; split++)
            if (counts->state[split] < counts->state[best])
                best = split;
        cz_counts_put(counts, 0, best * problem->n_hosts,
                      counts->kind_of[problem->class_of[i]], 1);
    }
}

/* ---- rows ---- */

typedef struct full_row {
    int row;
    int64_t state_bytes; /* that it adds to a rank of its split coordinate */
} full_row;

static int by_falling_state(const void *left, const void *right)
{
    const full_row *a = left, *b = right;
    if (a->state_bytes != b->state_bytes)
        return a->state_bytes > b->state_bytes ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int find_lightest(const int64_t *bytes, const int *n, int n_splits,
                         int room)
{
    int best = -1;
    for (int split = 0; split < n_splits; split++)
        if (n[split] < room && (best < 0 || bytes[split] < bytes[best]))
            best = split;
    return best;
}

/* Rows are all alike: the fullest first, each to the split coordinate that has
 * least.  States lie on the ranks of all its rows.  Returns the fullest
 * rank's. */
static int64_t deal_rows(dealer *d)
{
    const int n_splits = d->s->placement->problem.n_ranks;
    const int n_rows = d->s->n_rows, room = n_rows / n_splits;
    full_row *rows = CZ_NEW(d->s->arena, full_row, n_rows);
    int64_t *bytes = CZ_NEW(d->s->arena, int64_t, n_splits), most = 0;
    int *n = CZ_NEW(d->s->arena, int, n_splits);
    for (int row = 0; row < n_rows; row++)
        rows[row] =
            (full_row){row, d->plan->rows[row].state_bytes / d->s->width};
    if (room > 1)
        qsort(rows, (size_t)n_rows, sizeof *rows, by_falling_state);
    for (int i = 0; i < n_rows; i++) {
        const int split =
            room > 1 ? find_lightest(bytes, n, n_splits, room) : i;
        d->place_of[rows[i].row] = split * room + n[split]++;
        bytes[split] += rows[i].state_bytes;
        most = bytes[split] > most ? bytes[split] : most;
    }
    return most;
}

/* All that shard a matrix, in one node. */
static bool is_near(const cz_place_subgroup *s)
{
    return s->width == s->placement->problem.n_hosts && s->width <= s->n_near;
}

/* The rank of a position in its row, of odd * 2^k ranks.  The solver's blocks
 * are aligned and nest; blocks of ranks that are width / g apart nest alike,
 * where position q * 2^k + p is the rank odd * p' + q, p' being p with its k
 * bits reversed. */
static int rank_at(const cz_place_subgroup *s, int position)
{
    int rank = 0, odd = s->width;
    if (!is_near(s))
        return position;
    for (; odd % 2 == 0; odd /= 2) {
        rank = rank * 2 + position % 2;
        position /= 2;
    }
    return rank * odd + position;
}

static int slot_of(const dealer *d, int row, const cz_subgroup_job *job)
{
    return d->place_of[row] * d->s->width + rank_at(d->s, job->first);
}

static cz_block block_of(const cz_place_subgroup *s, int g)
{
    return (cz_block){g, g > 1 ? cz_candidates_stride(s->width, is_near(s), g)
                               : 1};
}

/* ---- items ---- */

static int kind_of(const cz_place_subgroup *s, const cz_counts *counts,
                   int class)
{
    return counts->kind_of[s->solve_class[class]];
}

/* Items of each class on each slot, then the plan of the solver's layout. */
static cz_solve_plan lay_out(const dealer *d)
{
    const cz_place_subgroup *s = d->s;
    const cz_solve_problem *problem = &s->placement->problem;
    cz_solved best = {.n_tried = 0};
    cz_counts counts = cz_counts_make(s->arena, problem, false);
    for (int row = 0; row < s->n_rows; row++)
        for (int i = 0; i < d->plan->rows[row].n_jobs; i++) {
            const cz_subgroup_job *job = &d->plan->rows[row].jobs[i];
            cz_counts_put(&counts, 0, slot_of(d, row, job),
                          kind_of(s, &counts, job->of), 1);
        }
    put_staying(s, &counts);
    cz_choice_offer_counts(s->arena, problem, &best, &counts, "sub-groups");
    return best.plan;
}

/* The next item of the class on the slot that has no block yet. */
static int find_item(const cz_place_subgroup *s, const cz_solve_plan *laid_out,
                     const cz_block *blocks, int slot, int class)
{
    const cz_solve_problem *problem = &s->placement->problem;
    int i = 0;
    while (blocks[i].size != 0 ||
           laid_out->owner[i] * problem->n_hosts + laid_out->host[i] != slot ||
           problem->class_of[i] != s->solve_class[class])
        i++;
    return i;
}

/* Each slot's items of a class take the ways of its jobs in order. */
static cz_block *find_blocks(const dealer *d, const cz_solve_plan *laid_out)
{
    const cz_place_subgroup *s = d->s;
    const int n = s->placement->problem.n_items;
    cz_block *blocks = CZ_NEW(s->arena, cz_block, n + 1);
    for (int row = 0; row < s->n_rows; row++)
        for (int k = 0; k < d->plan->rows[row].n_jobs; k++) {
            const cz_subgroup_job *job = &d->plan->rows[row].jobs[k];
            const int slot = slot_of(d, row, job);
            blocks[find_item(s, laid_out, blocks, slot, job->of)] =
                block_of(s, s->classes[job->of].candidates[job->candidate].g);
        }
    for (int i = 0; i < n; i++)
        blocks[i] = blocks[i].size == 0 ? block_of(s, 1) : blocks[i];
    return blocks;
}

/* What may be cut anywhere fills up ranks whose rows compute less, as long as
 * their states are no more than so much of the mean. */
static const cz_solve_cap even_states = {105, 100};

bool cz_place_put_back(const cz_place_subgroup *s, const cz_subgroup_plan *plan,
                       cz_place_subgroups *out)
{
    dealer d = {s, plan, CZ_NEW(s->arena, int, s->n_rows)};
    const int64_t fullest = deal_rows(&d) + staying_bytes(s);
    if (fullest > cz_solve_state_cap(&s->placement->problem) &&
        fullest > s->state_bytes)
        return false;
    s->placement->problem.state = even_states;
    out->plan = lay_out(&d);
    out->blocks = find_blocks(&d, &out->plan);
    return true;
}
