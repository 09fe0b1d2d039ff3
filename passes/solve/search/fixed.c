/* Plans in the trainer's order. */
#include "passes/solve/choice.h"
#include "passes/solve/search/line.h"

#include "dsl/base/arithmetic.h"

/* Items times ranks: above, one plan that keeps the caps is enough. */
enum { MAX_THOROUGH = 1 << 20 };

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

static void offer_line(cz_arena *arena, const cz_solve_problem *problem,
                       cz_solved *best, cz_weigh weigh)
{
    cz_line line = cz_line_make(arena, problem, weigh);
    const size_t n = (size_t)line.n_buckets * ((size_t)line.n_ranks + 1) + 1;
    cz_cut *cuts = CZ_NEW(arena, cz_cut, n);
    cut_by_weight(&line, cuts);
    cz_line_descend(arena, &line, cuts);
    offer_cuts(arena, problem, best, &line, cuts, "coordinate descent");
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
