/* Shared stages: each segment of a body is a stage of its own. */
#include "dsl/plan/build/internal.h"

#include <string.h>

static int count_segments(const cz_view_stage *stage)
{
    return stage->n_steps ? stage->steps[stage->n_steps - 1].segment + 1 : 1;
}

static bool has_exchanges(const cz_view_stage *stage)
{
    for (int s = 0; s < stage->n_steps; s++)
        if (stage->steps[s].partial || stage->steps[s].partition > 1 ||
            stage->steps[s].scatter || stage->steps[s].band != 0)
            return true;
    return false;
}

/* ---- what is scattered, dealt out, or travels as a band ---- */

/* What a rank has of a value before all have gathered. */
typedef struct piece {
    bool is_exchanged;
    bool is_scattered; /* a rank has its rows alone */
    int64_t band;
} piece;

/* Whoever shares the stage takes part in all that is dealt out; maps make
 * elements of their rows, and no sums. */
static bool is_dealt_well(const cz_view_step *step, int64_t subgroup_size)
{
    bool ok = step->partition <= 1 || step->partition == subgroup_size;

    for (int i = 0; step->partition > 1 && i < step->n_out; i++)
        ok = ok && step->out_access[i] == CZ_ACCESS_ELEMENT;
    if (step->scatter)
        ok = ok && step->is_product && step->partial == 1 &&
             step->partition <= 1 && step->rows % subgroup_size == 0;
    return ok;
}

/* Every rank has whole blocks of a symmetric matrix. */
static bool is_banded_well(const cz_view_step *step, int64_t subgroup_size)
{
    const int64_t rows = cz_view_all_rows(step);

    if (step->band == 0)
        return step->partition <= 1 || !step->symmetric;
    return (step->scatter || step->partition > 1) && step->band > 0 &&
           step->band % subgroup_size == 0 && rows % step->band == 0 &&
           rows == step->columns && (!step->is_product || step->symmetric);
}

/* Rows of a sum, and the band of one, are read element by element by steps that
 * are dealt out alike; a step makes a band of nothing else. */
static bool reads_well(const cz_view_step *step, int i, const piece *operand)
{
    const cz_access access = step->access[i];
    const bool is_same =
        access == CZ_ACCESS_ELEMENT && step->band == operand->band;

    if (operand->is_scattered)
        return step->partition > 1 && is_same && !(step->is_product && i < 2);
    return step->partition <= 1 || step->band == 0 || is_same ||
           (step->is_product && i < 2) || access == CZ_ACCESS_ALL ||
           access == CZ_ACCESS_SCALAR;
}

static bool check_step(const cz_view_step *step, int64_t subgroup_size,
                       const piece *pieces)
{
    for (int i = 0; i < step->n_in; i++)
        if (!reads_well(step, i, &pieces[step->in[i]]))
            return false;
    return is_dealt_well(step, subgroup_size) &&
           is_banded_well(step, subgroup_size);
}

static bool check_exchanges(cz_view_builder *b, const cz_view_stage *stage,
                            int64_t subgroup_size)
{
    int next = stage->n_in + stage->fact->scalars.n, n = next;
    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    piece *pieces = CZ_NEW(b->arena, piece, n + 1);

    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        cz_exchange how;
        if (!check_step(step, subgroup_size, pieces))
            return false;
        for (int i = 0; i < step->n_out; i++)
            pieces[next++] = (piece){cz_view_is_exchanged(step, i, &how),
                                     step->scatter, step->band};
    }
    for (int i = 0; i < stage->n_out; i++)
        if (pieces[stage->out_value[i]].is_exchanged)
            return false;
    return true;
}

static bool read_fact(cz_view_builder *b, cz_view_stage *stage,
                      const cz_fact_subgroup *fact)
{
    stage->subgroup = fact;
    stage->n_segments = count_segments(stage);
    if (strcmp(fact->stage, stage->fact->sym_name) != 0)
        return cz_view_fail(b, "stage '%s' has no place among shared ones",
                            stage->fact->sym_name);
    if (!cz_view_in(b, "shared: segment", fact->segment, 0,
                    stage->n_segments - 1))
        return false;
    return check_exchanges(b, stage, fact->size) ||
           cz_view_fail(b,
                        "stage '%s' deals out or reads rows that the ranks who "
                        "share it do not have",
                        stage->fact->sym_name);
}

/* ---- sums of parts ---- */

static const cz_view_stage *whole_of(const cz_view_stage *stages, int n,
                                     int rule)
{
    for (int i = 0; i < n; i++)
        if (stages[i].rule == rule && stages[i].where == CZ_WHERE_FULL_MATRIX)
            return &stages[i];
    return NULL;
}

/* The next product from step `s` on; n_steps: there is none. */
static int next_product(const cz_view_stage *stage, int s)
{
    while (s < stage->n_steps && !stage->steps[s].is_product)
        s++;
    return s;
}

/* One rank's sum of a product is made of the parts that all ranks together
 * make, and rounded where theirs are. */
static bool has_parts_of(const cz_view_step *whole, const cz_view_step *part,
                         int64_t subgroup_size, bool is_strict)
{
    const int64_t ranks = part->partial ? subgroup_size : 1;

    return whole->narrow == part->narrow &&
           (!is_strict || whole->blocks.inner == part->blocks.inner * ranks);
}

static bool has_same_parts(const cz_view_stage *whole,
                           const cz_view_stage *shared, bool is_strict)
{
    int w = next_product(whole, 0), s = next_product(shared, 0);

    for (; w < whole->n_steps && s < shared->n_steps;
         w = next_product(whole, w + 1), s = next_product(shared, s + 1))
        if (!has_parts_of(&whole->steps[w], &shared->steps[s],
                          shared->subgroup->size, is_strict))
            return false;
    return w == whole->n_steps && s == shared->n_steps;
}

static bool check_parts(cz_view_builder *b, const cz_view_stage *stages, int n)
{
    for (int i = 0; i < n; i++) {
        const cz_view_stage *whole =
            stages[i].subgroup ? whole_of(stages, n, stages[i].rule) : NULL;
        if (whole &&
            !has_same_parts(whole, &stages[i], b->view->program->strict != 0))
            return cz_view_fail(b,
                                "stage '%s' has other sums than '%s', or in "
                                "other parts",
                                stages[i].fact->sym_name,
                                whole->fact->sym_name);
    }
    return true;
}

/* Segments of one body stand behind each other, from the first to the last. */
static bool follows(const cz_view_stage *stage, const cz_view_stage *before)
{
    const cz_fact_subgroup *own = stage->subgroup, *last = before->subgroup;
    const bool ends = !last || last->segment + 1 == before->n_segments;

    if (own && own->segment > 0)
        return last && last->segment + 1 == own->segment &&
               last->size == own->size && last->dim == own->dim &&
               strcmp(before->fact->body, stage->fact->body) == 0;
    return ends;
}

static bool check_order(cz_view_builder *b, const cz_view_stage *stages, int n)
{
    static const cz_view_stage none = {.n_segments = 1};

    for (int i = 0; i <= n; i++)
        if (!follows(i < n ? &stages[i] : &none,
                     i > 0 ? &stages[i - 1] : &none))
            return cz_view_fail(b,
                                "stage '%s' is not followed by its next "
                                "segment",
                                stages[i > 0 ? i - 1 : 0].fact->sym_name);
    return true;
}

bool cz_view_read_subgroups(cz_view_builder *b, cz_view_stage *stages, int n)
{
    int n_facts, next = 0;
    const cz_fact_subgroup *facts = CZ_VIEW_FACTS(b, subgroup, &n_facts);

    for (int i = 0; i < n; i++) {
        if (stages[i].where != CZ_WHERE_SUBGROUP) {
            if (count_segments(&stages[i]) > 1 || has_exchanges(&stages[i]))
                return cz_view_fail(
                    b,
                    "stage '%s' has values to exchange, and nobody "
                    "shares it",
                    stages[i].fact->sym_name);
            continue;
        }
        if (next == n_facts)
            return cz_view_fail(b, "stage '%s' does not say who shares it",
                                stages[i].fact->sym_name);
        if (!read_fact(b, &stages[i], &facts[next++]))
            return false;
    }
    if (next < n_facts)
        return cz_view_fail(b, "'%s' is no shared stage", facts[next].stage);
    return check_order(b, stages, n) && check_parts(b, stages, n);
}
