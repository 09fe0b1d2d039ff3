/* V12: tiles that a GPU computes products in.  Each is of a product that the
 * plan has, and of a kernel that there is. */
#include "passes/verify/internal.h"

/* What the kernels of sm_90a can be: blocks of 64 rows and columns, of 16-bit
 * elements; two or three warpgroups that multiply, one that copies; two stages
 * or more in the shared memory of a block, beside what is on its way out. */
enum {
    BLOCK = 64,
    ELEMENT_BYTES = 2,
    MIN_GROUPS = 2,
    MAX_GROUPS = 3,
    MAX_COLUMNS = 4 * BLOCK,
    MIN_STAGES = 2,
    BARRIER_BYTES = 16,
    ALIGN_ROOM = 1024,
    SHARED_BYTES = 232448,
    OTHER_REGISTERS = 40,
    INDEX_BITS = 20,
    BATCH_BITS = 24,
    TILES_BITS = 30,
    ROW_ELEMENTS = 8
};

static bool is_kernel(const cz_fact_tiling *t)
{
    /* That a thread which multiplies may have, by their groups. */
    static const int64_t registers[] = {232, 160};
    const int64_t groups = t->rows / BLOCK;
    const int64_t stage =
        (t->rows + t->columns) * BLOCK * ELEMENT_BYTES + BARRIER_BYTES;
    const int64_t out = groups * 2 * BLOCK * BLOCK * ELEMENT_BYTES;

    return t->rows % BLOCK == 0 && groups >= MIN_GROUPS &&
           groups <= MAX_GROUPS && t->columns % BLOCK == 0 &&
           t->columns >= BLOCK && t->columns <= MAX_COLUMNS &&
           t->stages >= MIN_STAGES &&
           t->stages <= (SHARED_BYTES - ALIGN_ROOM - out) / stage &&
           t->columns / 2 + OTHER_REGISTERS <= registers[groups - MIN_GROUPS];
}

static int64_t divide_up(int64_t n, int64_t by)
{
    return n / by + (n % by != 0);
}

/* ---- products ----------------------------------------------------------- */

static cz_dtype type_of(const cz_view_stage *stage, int value)
{
    const int n_given = stage->n_in + stage->fact->scalars.n;
    int first = n_given;

    if (value < n_given)
        return value < stage->n_in ? stage->in[value].dtype : CZ_F32;
    for (int s = 0; s < stage->n_steps; first += stage->steps[s++].n_out)
        if (value < first + stage->steps[s].n_out)
            return stage->steps[s].out_dtype[value - first];
    return CZ_F32;
}

static bool is_product_of(const cz_view_stage *stage, const cz_view_step *step,
                          const cz_fact_tiling *t)
{
    if (stage->subgroup && step->segment != stage->subgroup->segment)
        return false;
    /* Products of bf16 or f16 alone that end in themselves, whose rows begin at
     * multiples of 16 bytes. */
    const int n_operands = step->beta != 0 ? 3 : 2;
    const cz_dtype dtype = step->out_dtype[0];

    if (!step->is_product || step->body >= 0 || step->offsets[1] < 0 ||
        step->blocks.inner > 1 || !cz_dtype_is_narrow(dtype) ||
        step->inner % ROW_ELEMENTS || step->columns % ROW_ELEMENTS ||
        (step->transpose_a && step->rows % ROW_ELEMENTS))
        return false;
    for (int i = 0; i < n_operands; i++)
        if (type_of(stage, step->in[i]) != dtype)
            return false;
    return step->rows == t->m && step->columns == t->n && step->inner == t->k &&
           (step->beta != 0) == (t->addend != 0) &&
           (step->symmetric && step->partition <= 1) == (t->symmetric != 0);
}

static bool has_product(const cz_view_stage *stage, const cz_fact_tiling *t)
{
    for (int i = 0; i < cz_view_n_bodies(stage); i++) {
        const cz_view_stage *body = cz_view_variant(stage, i);
        for (int s = 0; s < body->n_steps; s++)
            if (is_product_of(body, &body->steps[s], t))
                return true;
    }
    return false;
}

/* The most matrices of a batch that the stage has a part in; 1: of none. */
static int64_t batch_of(const verifier *v, int stage)
{
    int64_t most = 1;

    for (int t = 0; t < v->view->n_tables; t++)
        for (int b = 0; b < v->view->tables[t].n_batches; b++) {
            const cz_view_batch *batch = &v->view->tables[t].batches[b];
            const cz_view_kernel_entry *row =
                &v->view->tables[t].rows.kernel[batch->first];
            for (int64_t i = 0; i < batch->n_rows; i++, row++)
                if (row->stage == stage && batch->n_matrices > most)
                    most = batch->n_matrices;
        }
    return most;
}

/* The first stage whose product it is; -1: none. */
static int stage_of(const verifier *v, const cz_fact_tiling *t)
{
    for (int i = 0; i < v->view->n_stages; i++)
        if (has_product(&v->view->stages[i], t))
            return i;
    return -1;
}

/* Alone, or in the largest batch of one of these stages. */
static bool is_batch_of(const verifier *v, const cz_fact_tiling *t)
{
    if (t->batch == 1)
        return true;
    for (int i = 0; i < v->view->n_stages; i++)
        if (has_product(&v->view->stages[i], t) && t->batch == batch_of(v, i))
            return true;
    return false;
}

/* ---- all of them -------------------------------------------------------- */

/* The first row of a stage; without one, of any. */
static place place_of_stage(const verifier *v, int stage)
{
    place at = place_of(v, v->view->n_ops > 0 ? 0 : -1);

    find_row(v, (row_filter){0, v->view->n_ops - 1, CZ_STEP_KERNEL, -1, -1, -1},
             &at);
    for (int op = 0; op < v->view->n_ops; op++)
        for (int64_t rank = 0;
             v->view->ops[op].kind == CZ_STEP_KERNEL && rank < v->view->n_ranks;
             rank++) {
            const row_range rows = rows_of(v, &v->view->ops[op], rank);
            for (int64_t i = rows.first; i < rows.end; i++) {
                const cz_view_kernel_entry *row =
                    &v->view->tables[v->view->ops[op].table].rows.kernel[i];
                if (row->stage == stage)
                    return (place){op, rank, row->param};
            }
        }
    return at;
}

static bool is_same(const cz_fact_tiling *a, const cz_fact_tiling *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->symmetric == b->symmetric &&
           a->addend == b->addend;
}

static bool is_repeated(const verifier *v, int number)
{
    for (int i = 0; i < number; i++)
        if (is_same(&v->view->tilings[i], &v->view->tilings[number]))
            return true;
    return false;
}

/* NULL: it is right. */
static const char *find_fault(const verifier *v, int number, int stage)
{
    const cz_fact_tiling *t = &v->view->tilings[number];

    if (v->view->program->strict)
        return "are of a strict plan, whose order of sums is another";
    if (stage < 0)
        return "are of a product that no stage computes";
    if (!is_batch_of(v, t))
        return "are of another number of them than the largest batch";
    if (is_repeated(v, number))
        return "are of a product that has tiles";
    if (!is_kernel(t))
        return "are of no kernel";
    if (v->view->gpu->sms < 1)
        return "want more processors than there are";
    /* A table of them has room for all, of a symmetric product for those with
     * an element on or above the diagonal. */
    const int64_t rows = divide_up(t->m, t->rows);
    const int64_t columns = divide_up(t->n, t->columns);
    const int64_t most = (int64_t)1 << TILES_BITS;
    int64_t n = 0;

    if (rows > (int64_t)1 << INDEX_BITS || columns > (int64_t)1 << INDEX_BITS ||
        t->batch > (int64_t)1 << BATCH_BITS)
        return "are too many";
    for (int64_t i = 0; i < rows; i++)
        n += columns - (t->symmetric ? i * t->rows / t->columns : 0);
    if (n > most / t->batch)
        return "are too many";
    if (t->splits < 1 || t->splits > divide_up(t->k, BLOCK))
        return "are cut to other parts of k than it has";
    if (t->library && t->symmetric)
        return "go to a library that does not keep a product symmetric";
    return NULL;
}

void check_tilings(verifier *v)
{
    for (int i = 0; i < v->view->n_tilings && v->n_errors == 0; i++) {
        const cz_fact_tiling *t = &v->view->tilings[i];
        const int stage = stage_of(v, t);
        const char *why = find_fault(v, i, stage);
        if (why)
            reject(v, place_of_stage(v, stage),
                   "tiles of %lld x %lld of bf16 [%lld, %lld, %lld], %lld at "
                   "once, %s",
                   (long long)t->rows, (long long)t->columns, (long long)t->m,
                   (long long)t->n, (long long)t->k, (long long)t->batch, why);
    }
}
