/* Following a cut through the steps of a stage. */
#include "passes/cost/step_cut.h"

#include "dsl/base/checked.h"

/* Blocks of rows of a rank at most: with 16 a band of eight ranks has 65 of
 * each 128 elements, of two ranks 17 of 32. */
enum { MOST_BLOCKS = 16 };

/* What a step asks of its space; conflicts make it impossible. */
typedef struct wanted {
    cz_cut_of space;
    bool impossible;
} wanted;

static void want(wanted *w, cz_cut_of cut)
{
    if (w->space != CZ_CUT_NONE && w->space != cut)
        w->impossible = true;
    w->space = cut;
}

static cz_cut_of flipped(cz_cut_of cut)
{
    return cut == CZ_CUT_ROWS      ? CZ_CUT_COLUMNS
           : cut == CZ_CUT_COLUMNS ? CZ_CUT_ROWS
                                   : CZ_CUT_NONE;
}

/* How an operand that is cut must cut the space it is reached from. */
static void want_operand(wanted *w, cz_access access, cz_cut_of operand)
{
    if (operand == CZ_CUT_NONE)
        return;
    if (access == CZ_ACCESS_ELEMENT)
        want(w, operand);
    else if (access == CZ_ACCESS_TRANSPOSED)
        want(w, flipped(operand));
    else if (access == CZ_ACCESS_ROW)
        want(w, CZ_CUT_ROWS);
    else if (access == CZ_ACCESS_COLUMN)
        want(w, CZ_CUT_COLUMNS);
    else
        w->impossible = true;
}

/* The cut of a result, and the elements whose sums are partial. */
static cz_cut_of result_of(const cz_view_step *step, cz_access access,
                           cz_cut_of space, int64_t *partial)
{
    const bool reduces = cz_access_is_reduction(access);
    const cz_access reach = cz_access_reach(access);
    *partial = 0;
    if (reduces && reach == CZ_ACCESS_ALL) {
        *partial = space != CZ_CUT_NONE;
        return CZ_CUT_NONE;
    }
    if (reduces && reach == CZ_ACCESS_ROW) {
        *partial = space == CZ_CUT_COLUMNS ? step->rows : 0;
        return space == CZ_CUT_ROWS ? CZ_CUT_ROWS : CZ_CUT_NONE;
    }
    if (reduces && reach == CZ_ACCESS_COLUMN) {
        *partial = space == CZ_CUT_ROWS ? step->columns : 0;
        return space == CZ_CUT_COLUMNS ? CZ_CUT_ROWS : CZ_CUT_NONE;
    }
    return access == CZ_ACCESS_TRANSPOSED ? flipped(space) : space;
}

/* Which part of the product each operand's cut is: its own dimension of the
 * result, or the contracted one. */
static void want_product(wanted *w, const cz_view_step *step,
                         const cz_cut_of *cut_of, bool *inner)
{
    const cz_cut_of a =
        step->transpose_a ? flipped(cut_of[step->in[0]]) : cut_of[step->in[0]];
    const cz_cut_of b =
        step->transpose_b ? flipped(cut_of[step->in[1]]) : cut_of[step->in[1]];
    *inner = a == CZ_CUT_COLUMNS;
    if (*inner != (b == CZ_CUT_ROWS))
        w->impossible = true;
    if (a == CZ_CUT_ROWS)
        want(w, CZ_CUT_ROWS);
    if (b == CZ_CUT_COLUMNS)
        want(w, CZ_CUT_COLUMNS);
    if (*inner && w->space != CZ_CUT_NONE)
        w->impossible = true;
}

/* The cut that an operand must have where its space is cut: a rank has no more
 * of it than its part, and no less. */
static cz_cut_of operand_of(cz_access access, cz_cut_of space)
{
    if (access == CZ_ACCESS_ELEMENT)
        return space;
    if (access == CZ_ACCESS_TRANSPOSED)
        return flipped(space);
    return (access == CZ_ACCESS_ROW && space == CZ_CUT_ROWS) ||
                   (access == CZ_ACCESS_COLUMN && space == CZ_CUT_COLUMNS)
               ? CZ_CUT_ROWS
               : CZ_CUT_NONE;
}

static bool share_step(const cz_view_step *step, int first_result,
                       cz_cut_of *cut_of, cz_step_cut *share)
{
    /* A part does not know which rows of the matrix it has. */
    wanted w = {CZ_CUT_NONE, step->n_generated > 0};
    *share = (cz_step_cut){0};
    if (step->factor)
        return false; /* of a whole matrix, on one rank */
    if (step->is_product)
        want_product(&w, step, cut_of, &share->inner);
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        want_operand(&w, step->access[i], cut_of[step->in[i]]);
    if (share->inner && w.space != CZ_CUT_NONE)
        w.impossible = true;
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        if (cut_of[step->in[i]] != operand_of(step->access[i], w.space))
            w.impossible = true;
    share->space = w.space;
    for (int i = 0; i < step->n_out; i++) {
        int64_t partial;
        const int bytes = cz_dtype_bytes(step->out_dtype[i]);
        cut_of[first_result + i] =
            result_of(step, step->out_access[i], w.space, &partial);
        if (share->inner)
            partial = step->rows * step->columns;
        /* Ranks add up; they do not look for the largest. */
        if (partial > 0 && cz_access_is_largest(step->out_access[i]))
            w.impossible = true;
        share->partial |= (uint32_t)(partial > 0) << i;
        share->sum_bytes += partial * bytes;
    }
    return !w.impossible;
}

int cz_step_cuts_n_values(const cz_view_stage *stage)
{
    int n = stage->n_in + stage->fact->scalars.n;
    for (int s = 0; s < stage->n_steps; s++)
        n += stage->steps[s].n_out;
    return n;
}

bool cz_step_cuts_find(cz_arena *scratch, const cz_view_stage *stage,
                       cz_cut_of cut, cz_step_cut *step_cuts, cz_cut_of *values)
{
    int next = stage->n_in + stage->fact->scalars.n;
    cz_cut_of *cut_of =
        values ? values
               : CZ_NEW(scratch, cz_cut_of, cz_step_cuts_n_values(stage));
    for (int i = 0; i < next; i++)
        cut_of[i] = i < stage->n_in ? cut : CZ_CUT_NONE;
    for (int s = 0; s < stage->n_steps; s++) {
        if (!share_step(&stage->steps[s], next, cut_of, &step_cuts[s]))
            return false;
        next += stage->steps[s].n_out;
    }
    for (int i = 0; i < stage->n_out; i++)
        if (cut_of[stage->out_value[i]] != cut)
            return false;
    return true;
}

/* Whether rows of what a product does with its sums need no more than rows of
 * what it reads there. */
static bool has_rows(const cz_view_step *step, int64_t subgroup_size)
{
    if (!step->is_product || step->rows % subgroup_size != 0)
        return false;
    for (int i = 2; i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_TRANSPOSED)
            return false;
    return true;
}

static bool can_deal(const cz_view_step *step, const cz_step_cut *share,
                     int64_t subgroup_size)
{
    return !share->inner && share->space == CZ_CUT_NONE && !step->transpose_a &&
           has_rows(step, subgroup_size);
}

static int64_t result_bytes(const cz_view_step *step)
{
    return step->rows * step->columns * cz_dtype_bytes(step->out_dtype[0]);
}

bool cz_step_cuts_partition(const cz_view_stage *stage, int64_t subgroup_size,
                            cz_step_cut *step_cuts)
{
    bool any = false;
    for (int s = 0; s < stage->n_steps; s++) {
        const cz_view_step *step = &stage->steps[s];
        if (!can_deal(step, &step_cuts[s], subgroup_size))
            continue;
        step_cuts[s].gather_bytes = result_bytes(step);
        any = true;
    }
    return any;
}

bool cz_share_is_plain(const cz_view_step *step)
{
    return step->body < 0 && step->alpha == 1 && step->beta == 0 &&
           step->out_dtype[0] == CZ_F32;
}

cz_dtype cz_share_sum_dtype(const cz_view_step *product)
{
    return product->narrow ? CZ_BF16 : CZ_F32;
}

/* More blocks for each rank make the band narrower, and its pieces smaller. */
static int64_t band_of(int64_t rows, int64_t subgroup_size)
{
    int64_t blocks = MOST_BLOCKS * subgroup_size;
    while (rows % blocks != 0)
        blocks -= subgroup_size;
    return blocks;
}

/* Of a matrix that is symmetric in each place, made of bands of as many blocks:
 * outside the band there is nothing that counts. */
static bool is_of_bands(const cz_view_step *step, int64_t band,
                        const int64_t *band_of_value)
{
    if (!step->symmetric)
        return false;
    for (int i = 2; i < step->n_in; i++)
        if (step->access[i] != CZ_ACCESS_ALL &&
            step->access[i] != CZ_ACCESS_SCALAR &&
            (step->access[i] != CZ_ACCESS_ELEMENT ||
             band_of_value[step->in[i]] != band))
            return false;
    return true;
}

void cz_share_scatter(cz_arena *scratch, const cz_view_stage *stage,
                      int64_t subgroup_size, cz_step_cut *step_cuts)
{
    int64_t *band_of_value =
        CZ_NEW(scratch, int64_t, cz_step_cuts_n_values(stage));
    int next = stage->n_in + stage->fact->scalars.n;
    for (int s = 0; s < stage->n_steps; next += stage->steps[s++].n_out) {
        const cz_view_step *step = &stage->steps[s];
        cz_step_cut *share = &step_cuts[s];
        if (share->inner && !cz_share_is_plain(step) &&
            has_rows(step, subgroup_size)) {
            share->scatter = true;
            share->gather_bytes = result_bytes(step);
        }
        if (share->gather_bytes == 0)
            continue;
        const int64_t band = band_of(step->rows, subgroup_size);
        if (is_of_bands(step, band, band_of_value))
            share->band = band_of_value[next] = band;
    }
}

/* In all phases. */
static bool can_share(cz_arena *scratch, const cz_view_stage *stage,
                      cz_cut_of cut)
{
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        cz_step_cut *step_cuts = CZ_NEW(scratch, cz_step_cut, body->n_steps);
        if (!cz_step_cuts_find(scratch, body, cut, step_cuts, NULL))
            return false;
    }
    return true;
}

cz_cut_of cz_share_find(cz_arena *scratch, const cz_view_stage *stage)
{
    static const cz_cut_of cuts[] = {CZ_CUT_COLUMNS, CZ_CUT_ROWS};
    for (int i = 0; i < 2; i++)
        if (can_share(scratch, stage, cuts[i]))
            return cuts[i];
    return CZ_CUT_NONE;
}
