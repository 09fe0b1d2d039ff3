/* Following a cut through the steps of a stage. */
#include "passes/cost/step_cut.h"

#include "dsl/base/checked.h"

/* Blocks of rows of a rank at most: with 16 a band of eight ranks has 65 of
 * each 128 elements, of two ranks 17 of 32. */
enum { MOST_BLOCKS = 16 };

/* What a step asks of its space; conflicts make it impossible. */
typedef struct wanted {
    cz_cut_of space;
    bool is_of_vectors; /* one row, whose columns are elements that are cut */
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
        want(w, w->is_of_vectors ? CZ_CUT_COLUMNS : operand);
    else if (access == CZ_ACCESS_TRANSPOSED)
        want(w, flipped(operand));
    else if (access == CZ_ACCESS_ROW)
        want(w, CZ_CUT_ROWS);
    else if (access == CZ_ACCESS_COLUMN)
        want(w, CZ_CUT_COLUMNS);
    else
        w->impossible = true;
}

/* The cut of what lies as the space does. */
static cz_cut_of element_of(const wanted *w)
{
    return w->is_of_vectors && w->space != CZ_CUT_NONE ? CZ_CUT_ROWS : w->space;
}

/* The cut of a result, and the elements whose sums are partial. */
static cz_cut_of result_of(const cz_view_step *step, cz_access access,
                           const wanted *w, int64_t *partial)
{
    const cz_cut_of space = w->space;
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
    return access == CZ_ACCESS_TRANSPOSED ? flipped(space) : element_of(w);
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
static cz_cut_of operand_of(cz_access access, const wanted *w)
{
    const cz_cut_of space = w->space;
    if (access == CZ_ACCESS_ELEMENT)
        return element_of(w);
    if (access == CZ_ACCESS_TRANSPOSED)
        return flipped(space);
    return (access == CZ_ACCESS_ROW && space == CZ_CUT_ROWS) ||
                   (access == CZ_ACCESS_COLUMN && space == CZ_CUT_COLUMNS)
               ? CZ_CUT_ROWS
               : CZ_CUT_NONE;
}

/* Whether ranks can make any part of a map's results alone, cut so: what it
 * reads is the same all along that dimension. */
static bool is_repeated(const cz_view_step *step, cz_cut_of cut)
{
    const cz_access along =
        cut == CZ_CUT_COLUMNS ? CZ_ACCESS_ROW : CZ_ACCESS_COLUMN;
    if (step->is_product)
        return false;
    for (int i = 0; i < step->n_in; i++)
        if (step->access[i] != along && step->access[i] != CZ_ACCESS_ALL &&
            step->access[i] != CZ_ACCESS_SCALAR)
            return false;
    for (int i = 0; i < step->n_out; i++)
        if (step->out_access[i] != CZ_ACCESS_ELEMENT)
            return false;
    return true;
}

/* `asked`: the cut that a result must have; NONE: any. */
static bool share_step(const cz_view_step *step, int first_result,
                       cz_cut_of asked, cz_cut_of *cut_of, cz_step_cut *share)
{
    /* A part does not know which rows of the matrix it has. */
    wanted w = {CZ_CUT_NONE, false, step->n_generated > 0};
    *share = (cz_step_cut){0};
    if (step->factor)
        return false; /* of a whole matrix, on one rank */
    if (step->is_product)
        want_product(&w, step, cut_of, &share->inner);
    for (int i = 0; !step->is_product && i < step->n_in; i++)
        w.is_of_vectors |= step->rows == 1 &&
                           step->access[i] == CZ_ACCESS_ELEMENT &&
                           cut_of[step->in[i]] == CZ_CUT_ROWS;
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        want_operand(&w, step->access[i], cut_of[step->in[i]]);
    if (share->inner && w.space != CZ_CUT_NONE)
        w.impossible = true;
    if (w.space == CZ_CUT_NONE && asked != CZ_CUT_NONE &&
        is_repeated(step, asked))
        w.space = asked;
    for (int i = step->is_product ? 2 : 0; i < step->n_in; i++)
        if (cut_of[step->in[i]] != operand_of(step->access[i], &w))
            w.impossible = true;
    share->space = w.space;
    for (int i = 0; i < step->n_out; i++) {
        int64_t partial;
        const int bytes = cz_dtype_bytes(step->out_dtype[i]);
        cut_of[first_result + i] =
            result_of(step, step->out_access[i], &w, &partial);
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

static bool is_output(const cz_view_stage *stage, int value, int n)
{
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out_value[i] >= value && stage->out_value[i] < value + n)
            return true;
    return false;
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
        const int n = stage->steps[s].n_out;
        if (!share_step(&stage->steps[s], next,
                        is_output(stage, next, n) ? cut : CZ_CUT_NONE, cut_of,
                        &step_cuts[s]))
            return false;
        next += n;
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
                      cz_cut_of cut, bool is_apart)
{
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        cz_step_cut *step_cuts = CZ_NEW(scratch, cz_step_cut, body->n_steps);
        if (!cz_step_cuts_find(scratch, body, cut, step_cuts, NULL))
            return false;
        for (int s = 0; is_apart && s < body->n_steps; s++)
            if (step_cuts[s].partial)
                return false;
    }
    return true;
}

cz_cut_of cz_share_find(cz_arena *scratch, const cz_view_stage *stage)
{
    static const cz_cut_of cuts[] = {CZ_CUT_COLUMNS, CZ_CUT_ROWS};
    for (int i = 0; i < 2; i++)
        if (can_share(scratch, stage, cuts[i], false))
            return cuts[i];
    return CZ_CUT_NONE;
}

/* Products that are not cut are dealt out, and gathered. */
static bool has_products(const cz_view_stage *stage)
{
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        for (int s = 0; s < body->n_steps; s++)
            if (body->steps[s].is_product)
                return true;
    }
    return false;
}

bool cz_share_is_apart(cz_arena *scratch, const cz_view_stage *stage,
                       cz_cut_of cut)
{
    return cut != CZ_CUT_NONE && !has_products(stage) &&
           can_share(scratch, stage, cut, true);
}

cz_cut_of cz_share_along(cz_arena *scratch, const cz_plan_view *view,
                         const cz_view_stage *stage, cz_cut_of sharded)
{
    return sharded != CZ_CUT_NONE && !has_products(stage) &&
                   can_share(scratch, stage, sharded, view->program->strict)
               ? sharded
               : cz_share_find(scratch, stage);
}

bool cz_share_keeps_shards(cz_arena *scratch, const cz_plan_view *view,
                           const cz_view_stage *stage, cz_cut_of sharded)
{
    return sharded != CZ_CUT_NONE && !has_products(stage) &&
           cz_share_along(scratch, view, stage, sharded) == sharded;
}
