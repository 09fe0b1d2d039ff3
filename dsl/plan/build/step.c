/* The steps of a stage: maps, products and calls of kernel form as flat arrays,
 * with every number, shape and type checked. */
#include "dsl/base/checked.h"
#include "dsl/plan/error_bound.h"
#include "dsl/plan/build/internal.h"
#include "dsl/plan/within.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_STEPS = 4096 };

/* What is known while the steps of one stage are read. */
typedef struct reader {
    cz_view_builder *b;
    cz_view_stage *stage;
    const char *name;
    int n_first; /* values that are the stage's inputs and scalars */
    int n_values;
    struct value {
        cz_ir_value value;
        int64_t offset; /* workspace byte, or -1 */
        int64_t sum_of; /* the segment behind which the ranks that share it add
                         * it up, or gather it; or -1 */
    } * values;
    int64_t segment; /* of the last step */
} reader;

static bool fail(reader *r, const char *what)
{
    return cz_view_fail(r->b, "stage '%s', step %d: %s", r->name,
                        r->stage->n_steps, what);
}

static void add_value(reader *r, cz_ir_value value, int64_t offset,
                      int64_t sum_of)
{
    *CZ_PUSH(r->b->arena, r->values, r->n_values) =
        (struct value){value, offset, sum_of};
}

static int number_of(const reader *r, cz_ir_value value)
{
    int i = r->n_values - 1;
    while (i >= 0 && r->values[i].value.p != value.p)
        i--;
    return i;
}

/* ---- operands ---- */

static bool read_ints(reader *r, cz_ir_op op, const char *name, int n,
                      const int64_t **out)
{
    const cz_ints list = cz_ir_op_ints(op, name, r->b->arena);
    *out = list.v;
    return list.n == n || fail(r, "an array of the wrong length");
}

static const cz_access *read_access(reader *r, cz_ir_op op, const char *name,
                                    int n)
{
    const int64_t *numbers;
    cz_access *access = CZ_NEW(r->b->arena, cz_access, n + 1);

    if (!read_ints(r, op, name, n, &numbers))
        return NULL;
    for (int i = 0; i < n; i++) {
        if (numbers[i] < 0 || numbers[i] >= CZ_N_ACCESSES) {
            fail(r, "a way of access that does not exist");
            return NULL;
        }
        access[i] = (cz_access)numbers[i];
    }
    return access;
}

static int64_t elements_of(cz_ir_type type)
{
    int64_t n = 1;
    for (int i = 0; i < type.rank; i++)
        if (!cz_checked_mul(n, type.shape[i], &n))
            return -1;
    return n;
}

static bool is_shape(cz_ir_type type, int64_t rows, int64_t columns)
{
    if (type.rank == 2)
        return type.shape[0] == rows && type.shape[1] == columns;
    return type.rank >= 0 && elements_of(type) == rows * columns;
}

/* Whether a value of this type can be reached so in the step's space. */
static bool fits(const cz_view_step *step, cz_access access, cz_ir_type type)
{
    if (type.is_bool)
        return false;
    switch (access) {
    case CZ_ACCESS_ELEMENT:
        return is_shape(type, cz_view_all_rows(step), step->columns);
    case CZ_ACCESS_TRANSPOSED:
        return step->partition <= 1 &&
               is_shape(type, step->columns, step->rows);
    case CZ_ACCESS_ROW:
        return type.rank >= 0 && elements_of(type) == cz_view_all_rows(step);
    case CZ_ACCESS_COLUMN:
        return type.rank >= 0 && elements_of(type) == step->columns;
    case CZ_ACCESS_ALL:
        return type.rank >= 0 && elements_of(type) == 1;
    case CZ_ACCESS_SCALAR:
        return type.rank == CZ_IR_SCALAR;
    case CZ_SUM_ALL:
    case CZ_MAX_ALL:
        return type.dtype == CZ_F64 && elements_of(type) == 1;
    case CZ_SUM_ROWS:
    case CZ_MAX_ROWS:
        return type.dtype == CZ_F64 && elements_of(type) == step->rows;
    case CZ_SUM_COLUMNS:
    case CZ_MAX_COLUMNS:
        return type.dtype == CZ_F64 && elements_of(type) == step->columns;
    case CZ_N_ACCESSES:
        break;
    }
    return false;
}

static const int *read_numbers(reader *r, cz_ir_op op)
{
    const int n = cz_ir_op_n_operands(op);
    int *in = CZ_NEW(r->b->arena, int, n + 1);

    for (int i = 0; i < n; i++)
        in[i] = number_of(r, cz_ir_op_operand(op, i));
    return in;
}

static bool read_operands(reader *r, cz_ir_op op, cz_view_step *step)
{
    step->n_in = cz_ir_op_n_operands(op);
    step->in = read_numbers(r, op);
    step->access = read_access(r, op, "access", step->n_in);
    return step->access != NULL;
}

/* Operands from `first` on, which are reached over the step's space. */
static bool check_operands(reader *r, cz_ir_op op, const cz_view_step *step,
                           int first)
{
    for (int i = first; i < step->n_in; i++) {
        const cz_ir_type type = cz_ir_value_type(cz_ir_op_operand(op, i));
        if (cz_access_is_reduction(step->access[i]) ||
            !fits(step, step->access[i], type))
            return fail(r, "an operand that its access does not fit");
    }
    return true;
}

/* ---- what is generated ---- */

/* A run of elements has no rows and columns, and a rank's part of a matrix
 * not those of the matrix. */
static bool read_generated(reader *r, cz_ir_op op, cz_view_step *step)
{
    if (!cz_ir_op_has(op, "generated"))
        return true;
    const cz_ints list = cz_ir_op_ints(op, "generated", r->b->arena);
    cz_generator *generated = CZ_NEW(r->b->arena, cz_generator, list.n);
    for (int i = 0; i < list.n; i++) {
        if (list.v[i] < 0 || list.v[i] >= CZ_N_GENERATORS)
            return fail(r, "an input that nothing generates");
        generated[i] = (cz_generator)list.v[i];
    }
    if (list.n == 0 || r->stage->where != CZ_WHERE_FULL_MATRIX)
        return fail(r, "generated inputs of what is no whole matrix");
    if (step->rows > CZ_IR_MAX_INDEX || step->columns > CZ_IR_MAX_INDEX)
        return fail(r, "numbers of rows that f32 cannot tell apart");
    step->n_generated = list.n;
    step->generated = generated;
    return true;
}

/* ---- results ---- */

static bool read_results(reader *r, cz_ir_op op, cz_view_step *step)
{
    cz_dtype *dtypes = CZ_NEW(r->b->arena, cz_dtype, step->n_out + 1);

    for (int i = 0; i < step->n_out; i++) {
        const cz_ir_type type = cz_ir_value_type(cz_ir_op_result(op, i));
        const cz_access access = step->out_access[i];
        const bool is_stored = access == CZ_ACCESS_ELEMENT ||
                               access == CZ_ACCESS_TRANSPOSED ||
                               cz_access_is_reduction(access);
        dtypes[i] = type.dtype;
        if (!is_stored || !fits(step, access, type))
            return fail(r, "a result that its access does not fit");
    }
    step->out_dtype = dtypes;
    return true;
}

/* ---- bodies ---- */

/* A body takes the operands (of a product: the accumulator, then those behind
 * the factors), then what is generated; its results have the types of the
 * step's. */
static bool check_body(reader *r, cz_ir_op op, const cz_view_step *step,
                       bool has_acc)
{
    const cz_view_body *body = &r->b->bodies[step->body];
    const int from = has_acc ? 2 : 0, shift = has_acc ? 1 : 0;
    const int n_given = step->n_in - from + shift;
    bool ok =
        body->n_in == n_given + step->n_generated && body->n_out == step->n_out;

    if (ok && has_acc)
        ok = body->in[0] == CZ_F32;
    for (int i = from; ok && i < step->n_in; i++)
        ok = body->in[i - from + shift] ==
             cz_ir_value_type(cz_ir_op_operand(op, i)).dtype;
    for (int i = 0; ok && i < step->n_generated; i++)
        ok = body->in[n_given + i] == CZ_F32;
    for (int i = 0; ok && i < step->n_out; i++)
        ok = body->out_dtype[i] == step->out_dtype[i];
    return ok || fail(r, "the body does not take its operands and give its "
                         "results");
}

/* ---- what ranks share ---- */

static int64_t optional_int(cz_ir_op op, const char *name)
{
    return cz_ir_op_has(op, name) ? cz_ir_op_int(op, name) : 0;
}

static bool take_flag(reader *r, int64_t value, bool *flag)
{
    *flag = value == 1;
    return value == 0 || value == 1 || fail(r, "a flag that is not 0 or 1");
}

/* From now on the rows are those of one rank.  What else has to hold is seen
 * where all steps are there (shared.c). */
static bool read_deal(reader *r, cz_ir_op op, cz_view_step *step)
{
    step->partition = optional_int(op, "deal");
    step->band = optional_int(op, "band");
    if (step->partition == 0)
        return true;
    if (step->partition < 2 || step->rows % step->partition != 0 ||
        step->transpose_a)
        return fail(r, "a step whose rows cannot be dealt out like that");
    step->rows /= step->partition;
    return true;
}

/* ---- maps ---- */

static bool read_space(reader *r, cz_ir_op op, cz_view_step *step)
{
    const int64_t *space;
    int64_t n;
    if (!read_ints(r, op, "space", 2, &space))
        return false;
    step->rows = space[0];
    step->columns = space[1];
    if (space[0] < 1 || space[1] < 1 || !cz_checked_product(space, 2, &n) ||
        n > CZ_VIEW_MAX_NUMBER)
        return fail(r, "a space that is empty or too large");
    return true;
}

static bool read_map(reader *r, cz_ir_op op, cz_view_step *step)
{
    const int n_out = cz_ir_op_n_results(op);

    step->n_out = n_out;
    if (!read_space(r, op, step) || !read_deal(r, op, step) ||
        !read_operands(r, op, step) || !check_operands(r, op, step, 0) ||
        !read_generated(r, op, step) ||
        !read_ints(r, op, "offsets", n_out, &step->offsets))
        return false;
    step->out_access = read_access(r, op, "out_access", n_out);
    return step->out_access && read_results(r, op, step) &&
           cz_view_read_body(r->b, cz_ir_op_string(op, "body"), &step->body) &&
           check_body(r, op, step, false);
}

/* ---- products ---- */

/* Space and contracted length from the shapes of a and b. */
static bool read_shapes(reader *r, cz_ir_op op, cz_view_step *step)
{
    const cz_ir_type a = cz_ir_value_type(cz_ir_op_operand(op, 0));
    const cz_ir_type b = cz_ir_value_type(cz_ir_op_operand(op, 1));

    if (a.rank != 2 || b.rank != 2 || a.dtype == CZ_F64 || b.dtype == CZ_F64 ||
        step->access[0] != CZ_ACCESS_ELEMENT ||
        step->access[1] != CZ_ACCESS_ELEMENT)
        return fail(r, "factors that are not matrices of f32 or bf16");
    step->rows = a.shape[step->transpose_a ? 1 : 0];
    step->inner = a.shape[step->transpose_a ? 0 : 1];
    step->columns = b.shape[step->transpose_b ? 0 : 1];
    if (b.shape[step->transpose_b ? 1 : 0] != step->inner)
        return fail(r, "factors whose lengths differ");
    if (elements_of(a) > CZ_VIEW_MAX_NUMBER || elements_of(a) < 1 ||
        elements_of(b) > CZ_VIEW_MAX_NUMBER || elements_of(b) < 1)
        return fail(r, "factors that are empty or too large");
    int64_t n;
    if (!cz_checked_mul(step->rows, step->columns, &n) ||
        n > CZ_VIEW_MAX_NUMBER)
        return fail(r, "a product that is too large");
    return (!step->symmetric || step->rows == step->columns ||
            fail(r, "a symmetric product that is not square")) &&
           read_deal(r, op, step);
}

/* Without a body: alpha and beta, and the s that beta weighs. */
static bool check_plain(reader *r, cz_ir_op op, const cz_view_step *step)
{
    const int n_in = step->beta == 0.0 ? 2 : 3;
    if (!isfinite(step->alpha) || !isfinite(step->beta))
        return fail(r, "a factor that is not finite");
    if (step->n_in != n_in || step->n_generated > 0)
        return fail(r, "the wrong number of operands");
    if (n_in == 2)
        return true;
    const cz_ir_type s = cz_ir_value_type(cz_ir_op_operand(op, 2));
    return (step->access[2] == CZ_ACCESS_ELEMENT && s.dtype != CZ_F64) ||
           fail(r, "a summand that is no matrix");
}

static bool read_epilogue(reader *r, cz_ir_op op, cz_view_step *step)
{
    const char *body = cz_ir_op_string(op, "body");
    step->alpha = cz_ir_op_real(op, "alpha");
    step->beta = cz_ir_op_real(op, "beta");
    step->body = -1;
    if (!*body)
        return check_plain(r, op, step);
    return cz_view_read_body(r->b, body, &step->body) &&
           check_body(r, op, step, true);
}

static bool read_product(reader *r, cz_ir_op op, cz_view_step *step)
{
    static const cz_access element[] = {CZ_ACCESS_ELEMENT};

    step->is_product = true;
    step->n_out = 1;
    step->out_access = element;
    if (cz_ir_op_n_operands(op) < 2 || cz_ir_op_n_results(op) != 1)
        return fail(r, "a product that is not of two factors to one result");
    return take_flag(r, cz_ir_op_int(op, "transpose_a"), &step->transpose_a) &&
           take_flag(r, cz_ir_op_int(op, "transpose_b"), &step->transpose_b) &&
           take_flag(r, cz_ir_op_int(op, "symmetric"), &step->symmetric) &&
           take_flag(r, optional_int(op, "scatter"), &step->scatter) &&
           take_flag(r, optional_int(op, "narrow"), &step->narrow) &&
           read_operands(r, op, step) && read_shapes(r, op, step) &&
           check_operands(r, op, step, 2) && read_generated(r, op, step) &&
           read_ints(r, op, "offsets", 2, &step->offsets) &&
           read_results(r, op, step) && read_epilogue(r, op, step);
}

/* ---- calls of factorisations ---- */

/* The schema has seen to name, parameters and types. */
static bool read_call(reader *r, cz_ir_op op, cz_view_step *step)
{
    static const cz_access access[] = {CZ_ACCESS_ELEMENT, CZ_ACCESS_ELEMENT};
    static const cz_dtype dtypes[] = {CZ_F32, CZ_F32};
    cz_ir_type types[CZ_FACTOR_OPERANDS];

    if (r->stage->where != CZ_WHERE_FULL_MATRIX)
        return fail(r, "a factorisation of what is no whole matrix");
    step->body = -1;
    step->factor = cz_factor_find(cz_ir_op_string(op, "factor"));
    step->parameters = cz_ir_op_reals(op, "parameters", r->b->arena).v;
    step->n_in = cz_ir_op_n_operands(op);
    step->n_out = cz_ir_op_n_results(op);
    for (int i = 0; i < step->n_in; i++)
        types[i] = cz_ir_value_type(cz_ir_op_operand(op, i));
    step->size = cz_ir_factor_size(types, step->n_in);
    step->rows = step->size.m;
    step->columns = step->size.n;
    step->in = read_numbers(r, op);
    step->access = step->out_access = access;
    step->out_dtype = dtypes;
    return read_ints(r, op, "offsets", step->n_out + 1, &step->offsets);
}

/* ---- places ---- */

static int64_t bytes_of(cz_ir_value value)
{
    const cz_ir_type type = cz_ir_value_type(value);
    int64_t bytes = cz_dtype_bytes(type.dtype);

    for (int d = 0; d < type.rank; d++)
        if (!cz_checked_mul(bytes, type.shape[d], &bytes))
            return 0;
    return bytes;
}

/* The bytes of slots that results may lie in. */
static void read_rooms(cz_view_builder *b, cz_view_stage *stage,
                       cz_ir_op function)
{
    int64_t *room = CZ_NEW(b->arena, int64_t, stage->n_in + stage->n_out + 1);

    for (int i = 0; i < stage->n_in; i++)
        if (stage->in[i].kind == CZ_SLOT_GATHER)
            room[i] = bytes_of(cz_ir_function_in(function, i));
    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZ_SLOT_SCATTER)
            room[stage->n_in + i] = bytes_of(cz_ir_function_out(function, i));
    stage->capacity = stage->where == CZ_WHERE_FULL_MATRIX ? room : NULL;
}

/* Whether the entry's bytes are of the room that it names. */
static bool is_inside(const cz_view_stage *stage, const cz_view_step *step,
                      int i)
{
    const int64_t offset = step->offsets[i];
    const int64_t within = cz_view_within(step, i);

    if (offset == -1)
        return within == CZ_WITHIN_WORK;
    if (within < 0 || within > stage->n_in + stage->n_out)
        return false;
    const int64_t room = cz_view_capacity(stage, within);
    return offset >= 0 && offset <= room && offset % CZ_ALIGN_BYTES == 0 &&
           cz_view_place_bytes(step, i) <= room - offset;
}

/* Where results and accumulator, or workspace, lie. */
static bool read_places(reader *r, cz_ir_op op, cz_view_step *step)
{
    const int n = cz_view_n_places(step);

    if (cz_ir_op_has(op, "within") &&
        !read_ints(r, op, "within", n, &step->within))
        return false;
    for (int i = 0; i < n; i++)
        if (!is_inside(r->stage, step, i))
            return fail(r, step->within && step->within[i] != CZ_WITHIN_WORK
                               ? "a result that does not lie in the slot it "
                                 "names"
                               : "a result that does not lie in the workspace");
    if (step->factor && cz_ir_count(r->b->ir, CZ_FACT_bucket) > 0 &&
        step->offsets[n - 1] == -1 && cz_view_place_bytes(step, n - 1) > 0)
        return fail(r, "a factorisation without its workspace");
    return true;
}

/* ---- all steps ---- */

/* Parts are of equal length. */
static bool read_blocks(reader *r, cz_ir_op op, cz_view_step *step)
{
    const int64_t lengths[] = {step->rows, step->columns,
                               step->is_product ? step->inner : 1};
    const int64_t *blocks;

    step->blocks.rows = step->blocks.columns = step->blocks.inner = 1;
    if (!cz_ir_op_has(op, "blocks"))
        return true;
    if (!read_ints(r, op, "blocks", 3, &blocks))
        return false;
    for (int i = 0; i < 3; i++)
        if (blocks[i] < 1 || blocks[i] > CZ_VIEW_MAX_BLOCKS ||
            (blocks[i] & (blocks[i] - 1)) != 0 || lengths[i] % blocks[i] != 0)
            return fail(r, "blocks that are not equal, or no power of two");
    step->blocks.rows = blocks[0];
    step->blocks.columns = blocks[1];
    step->blocks.inner = blocks[2];
    return true;
}

/* Segments count up from 0, and what the ranks add up or gather waits for the
 * end of its own before it is read. */
static bool read_segment(reader *r, cz_ir_op op, cz_view_step *step)
{
    const int64_t segment = optional_int(op, "segment");
    const int64_t partial = optional_int(op, "partial");

    if (segment < r->segment || segment > r->segment + 1 ||
        (segment > 0 && r->stage->n_steps == 0))
        return fail(r, "a segment out of order");
    if (partial < 0 || partial >> step->n_out != 0)
        return fail(r, "partial sums that are no results");
    assert(r->values || step->n_in == 0);
    for (int i = 0; i < step->n_in; i++)
        if (r->values[step->in[i]].sum_of == segment)
            return fail(r, "an operand that is not added up or gathered yet");
    step->segment = (int)segment;
    step->partial = (uint32_t)partial;
    r->segment = segment;
    return true;
}

/* Sums are in bf16 where the program tolerates it, each as narrow as the sums
 * that it is made of. */
static bool check_narrow(reader *r, const cz_view_step *step)
{
    for (int i = 0; i < step->n_out; i++) {
        const bool is_bf16 = step->out_dtype[i] == CZ_BF16;
        if (step->partial >> i & 1 && is_bf16 && !step->narrow)
            return fail(r, "partial sums in bf16 whose parts are not");
        if (step->narrow && !is_bf16)
            return fail(r, "sums in bf16 of a result that is not");
    }
    return !step->narrow || cz_error_admits_bf16(r->b->view->policy) ||
           fail(r, "sums in bf16 that no tolerance admits");
}

static bool read_step(reader *r, cz_ir_op op, cz_view_step *step)
{
    const cz_ir_kind kind = cz_ir_op_kind(op);
    if (kind == CZ_IR_MAP)
        return read_map(r, op, step);
    if (kind == CZ_IR_PRODUCT)
        return read_product(r, op, step);
    if (kind == CZ_IR_CALL)
        return read_call(r, op, step);
    return fail(r, "an operation that kernel form does not have");
}

/* Before assignment the workspace may not be laid out yet. */
static bool all_have_places(reader *r, const bool *is_out)
{
    if (cz_ir_count(r->b->ir, CZ_FACT_bucket) == 0)
        return true;
    assert(r->values || r->n_values == 0);
    for (int i = r->n_first; i < r->n_values; i++)
        if (r->values[i].offset == -1 && !is_out[i])
            return fail(r, "a result without a place");
    return true;
}

/* A stage output is a step's result, written to its slot as it comes: not a
 * value of the workspace, and not the output of two slots. */
static bool read_outputs(reader *r, cz_ir_op function)
{
    int *out = CZ_NEW(r->b->arena, int, r->stage->n_out + 1);
    bool *is_out = CZ_NEW(r->b->arena, bool, r->n_values + 1);

    for (int i = 0; i < r->stage->n_out; i++) {
        const int value = number_of(r, cz_ir_function_out(function, i));
        if (value < r->n_first || r->values[value].offset != -1 ||
            is_out[value])
            return fail(r, "an output that is not a result of its own");
        is_out[value] = true;
        out[i] = value;
    }
    r->stage->out_value = out;
    return all_have_places(r, is_out);
}

bool cz_view_read_steps(cz_view_builder *b, cz_view_stage *stage,
                        cz_ir_op function)
{
    reader r = {.b = b, .stage = stage, .name = stage->fact->sym_name};
    cz_view_step *steps = NULL;

    read_rooms(b, stage, function);
    for (int i = 0; i < cz_ir_function_n_in(function); i++)
        add_value(&r, cz_ir_function_in(function, i), -1, -1);
    r.n_first = r.n_values;
    for (cz_ir_op op = cz_ir_first_op(function);
         cz_ir_op_kind(op) != CZ_IR_RETURN; op = cz_ir_next_op(op)) {
        cz_view_step step = {0};
        cz_exchange how;
        if (stage->n_steps == MAX_STEPS)
            return fail(&r, "too many steps");
        if (!read_step(&r, op, &step) || !read_blocks(&r, op, &step) ||
            !read_segment(&r, op, &step) || !check_narrow(&r, &step) ||
            !read_places(&r, op, &step))
            return false;
        for (int i = 0; i < step.n_out; i++)
            add_value(&r, cz_ir_op_result(op, i), step.offsets[i],
                      cz_view_is_exchanged(&step, i, &how) ? step.segment : -1);
        *CZ_PUSH(b->arena, steps, stage->n_steps) = step;
    }
    stage->steps = steps;
    return read_outputs(&r, function);
}
