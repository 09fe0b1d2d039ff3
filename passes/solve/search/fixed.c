/* Plans in the trainer's order. */
#include "passes/solve/choice.h"
#include "passes/solve/search/line.h"

#include "dsl/base/arithmetic.h"

enum {
    WORK = 1 << 24,         /* shares that a narrow beam looks at, */
    WIDE_WORK = 1 << 20,    /* and a wider one */
    MAX_SEARCHED = 1 << 13, /* items times ranks, for a beam, */
    MAX_WIDE = 1 << 12,     /* and for a wide one */
    MAX_THOROUGH = 1 << 20  /* items times ranks: above, one plan that keeps
                             * the caps is enough */
};

/* Equal weight for all ranks in each bucket: where descent begins. */
static void cut_by_weight(const cz_line *line, cz_cut *cuts)
{
    const int n = line->n_ranks;
    for (int b = 0; b < line->n_buckets; b++) {
        cz_cut *row = cuts + (size_t)b * ((size_t)n + 1);
        const int64_t all =
            line->before[line->start[b + 1]] - line->before[line->start[b]];
        row[0] = cz_line_begin(line, b);
        for (int r = 1; r < n; r++)
            row[r] = cz_line_extend(line, b, cz_line_begin(line, b),
                                    cz_solve_fraction(all, r, n));
        row[n] = cz_line_end(line, b);
    }
}

static void offer_cuts(cz_arena *arena, const cz_solve_problem *problem,
                       cz_solved *best, const cz_line *line, const cz_cut *cuts,
                       const char *method)
{
    const cz_solve_plan plan = cz_line_plan(arena, problem, line, cuts);
    cz_choice_offer(arena, problem, best, &plan, method);
}

/* By beams of rising width: narrow ones come through where the work for wide
 * ones does not do. */
static void offer_beams(cz_arena *arena, const cz_solve_problem *problem,
                        cz_solved *best, const cz_line *line, cz_cut *cuts,
                        int64_t high)
{
    static const int widths[] = {8, 32, 256};
    const int64_t size = (int64_t)line->start[line->n_buckets] * line->n_ranks;
    if (size > MAX_SEARCHED)
        return;
    for (int i = 0; i < (size > MAX_WIDE ? 2 : 3); i++) {
        if (!cz_line_search(arena, line, cuts, high, widths[i],
                            i == 0 ? WORK : WIDE_WORK))
            continue;
        offer_cuts(arena, problem, best, line, cuts, "beam search");
        high = cz_line_max(arena, line, cuts);
    }
}

static void offer_line(cz_arena *arena, const cz_solve_problem *problem,
                       cz_solved *best, cz_weigh weigh)
{
    cz_line line = cz_line_make(arena, problem, weigh);
    const size_t n = (size_t)line.n_buckets * ((size_t)line.n_ranks + 1) + 1;
    cz_cut *cuts = CZ_NEW(arena, cz_cut, n);
    cut_by_weight(&line, cuts);
    cz_line_descend(arena, &line, cuts);
    offer_cuts(arena, problem, best, &line, cuts, "coordinate descent");
    if (weigh.elements > 0 || weigh.state > 0)
        return;
    if (problem->state.denominator == 0) {
        offer_beams(arena, problem, best, &line, cuts,
                    cz_line_max(arena, &line, cuts));
        return;
    }
    cz_line_limit(arena, problem, &line);
    offer_beams(arena, problem, best, &line, cuts,
                2 * cz_line_max(arena, &line, cuts));
}

void cz_solve_fixed(cz_arena *arena, const cz_solve_problem *problem,
                    cz_solved *best)
{
    static const cz_weigh weighs[] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0},
                                      {2, 0, 1}, {1, 0, 1}, {1, 0, 4},
                                      {0, 0, 1}};
    const bool is_large =
        (int64_t)problem->n_items * problem->n_ranks > MAX_THOROUGH;
    const int n = problem->state.denominator > 0 ? 7 : 3;
    for (int i = 0; i < n; i++) {
        if (i > 0 && is_large && cz_solve_excess(problem, &best->score) == 0)
            return;
        offer_line(arena, problem, best, weighs[i]);
    }
    cz_choice_offer_baselines(arena, problem, best);
}
