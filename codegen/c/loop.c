/* Loops: one function per distinct map or product epilogue, whatever the
 * shape.  All sums are f64 in an order that depends on the shape alone. */
#include "codegen/common/internal.h"

#include <stdio.h>
#include <string.h>

/* Independent partial sums let the additions of a row overlap. */
enum { SUM_LANES = 8 };

int cz_loop_n_blocks(const cz_view_step *step)
{
    return (int)(step->blocks.rows > 1      ? step->blocks.rows
                 : step->blocks.columns > 1 ? step->blocks.columns
                                            : 1);
}

bool cz_loop_runs_through(const cz_view_step *step)
{
    if (step->n_generated > 0)
        return false;
    for (int i = 0; i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_ROW ||
            step->access[i] == CZ_ACCESS_COLUMN ||
            step->access[i] == CZ_ACCESS_TRANSPOSED)
            return false;
    for (int i = 0; i < step->n_out; i++)
        if (step->out_access[i] != CZ_ACCESS_ELEMENT &&
            step->out_access[i] != CZ_SUM_ALL &&
            step->out_access[i] != CZ_MAX_ALL)
            return false;
    return true;
}

bool cz_loop_is_flat(const cz_view_step *step)
{
    return cz_loop_n_blocks(step) == 1 && cz_loop_runs_through(step);
}

/* What stands in the innermost loop is indented by its depth. */
static const char *inner_indent(const cz_loop *loop)
{
    static const char spaces[] = "                ";
    const size_t depth = 2u + !loop->flat + loop->in_lanes;

    return spaces + sizeof spaces - 1 - 4 * depth;
}

const char *cz_loop_index(cz_access access, bool flat)
{
    switch (access) {
    case CZ_ACCESS_ELEMENT:
        return flat ? "[i]" : "[i * columns + j]";
    case CZ_ACCESS_ROW:
        return "[i]";
    case CZ_ACCESS_COLUMN:
        return "[j]";
    case CZ_ACCESS_TRANSPOSED:
        return "[j * rows + i]";
    case CZ_ACCESS_ALL:
        return "[0]";
    case CZ_ACCESS_SCALAR:
    case CZ_SUM_ALL:
    case CZ_SUM_ROWS:
    case CZ_SUM_COLUMNS:
    case CZ_MAX_ALL:
    case CZ_MAX_ROWS:
    case CZ_MAX_COLUMNS:
    case CZ_N_ACCESSES:
        break;
    }
    return "";
}

int cz_loop_written_by(const cz_loop *loop, int in)
{
    for (int i = 0; i < loop->step->n_out; i++)
        if (loop->in_place[i] == in)
            return i;
    return -1;
}

static void put_parameters(cz_text *out, const cz_loop *loop, int first_in)
{
    const cz_view_step *step = loop->step;

    cz_text_puts(out, loop->flat ? "size_t n" : "size_t rows, size_t columns");
    for (int i = first_in; i < step->n_in; i++) {
        const char *type = cz_c_type(loop->in_dtype[i]);
        if (step->access[i] == CZ_ACCESS_SCALAR)
            cz_text_printf(out, ",\n    %s x%d", type, i);
        else if (cz_loop_written_by(loop, i) < 0)
            cz_text_printf(out, ",\n    const %s *restrict x%d", type, i);
    }
    for (int i = 0; i < step->n_out; i++)
        cz_text_printf(out, ",\n    %s *restrict y%d",
                       cz_c_type(step->out_dtype[i]), i);
    cz_text_puts(out, loop->checked < 0 ? ")\n{\n"
                                        : ",\n    czr_status *status)\n{\n"
                                          "    uint32_t wild = 0;\n");
}

static void put_operand(cz_text *out, const cz_loop *loop, int in)
{
    const int overwritten = cz_loop_written_by(loop, in);

    if (overwritten >= 0)
        cz_text_printf(out, "y%d", overwritten);
    else
        cz_text_printf(out, "x%d", in);
    cz_text_puts(out, cz_loop_index(loop->step->access[in], loop->flat));
}

static void put_target(cz_text *out, const cz_loop *loop, int i)
{
    if (cz_access_is_reduction(loop->step->out_access[i]))
        cz_text_printf(out, "term%d", i);
    else
        cz_text_printf(out, "y%d%s", i,
                       cz_loop_index(loop->step->out_access[i], loop->flat));
}

/* A flag of bits, which compilers can make vectors of. */
static void put_check(cz_text *out, const cz_loop *loop)
{
    if (loop->checked < 0)
        return;
    cz_text_printf(out, "%swild |= czr_nonfinite_%s(", inner_indent(loop),
                   cz_dtype_name(loop->step->out_dtype[loop->checked]));
    put_target(out, loop, loop->checked);
    cz_text_puts(out, ");\n");
}

static void put_check_end(cz_text *out, const cz_loop *loop)
{
    if (loop->checked >= 0)
        cz_text_puts(out, "    if (wild)\n"
                          "        *status = CZR_ERR_PARAM;\n");
}

/* By way of int32_t, from which conversions are vectors. */
static const char *const generators[CZ_N_GENERATORS] = {
    [CZ_GENERATE_ROW] = "(float)(int32_t)i",
    [CZ_GENERATE_COLUMN] = "(float)(int32_t)j",
};

/* The call of the body for one element. */
static void put_call(cz_text *out, const cz_loop *loop, int first_in,
                     const char *first)
{
    const cz_view_step *step = loop->step;
    const char *comma = "";

    cz_text_puts(out, inner_indent(loop));
    if (step->n_out == 1) {
        put_target(out, loop, 0);
        cz_text_puts(out, " = ");
    }
    cz_text_printf(out, "body_%d(%s", step->body, first);
    comma = *first ? ", " : "";
    for (int i = first_in; i < step->n_in; i++, comma = ", ") {
        cz_text_puts(out, comma);
        put_operand(out, loop, i);
    }
    for (int i = 0; i < step->n_generated; i++, comma = ", ")
        cz_text_printf(out, "%s%s", comma, generators[step->generated[i]]);
    for (int i = 0; step->n_out > 1 && i < step->n_out; i++, comma = ", ") {
        cz_text_printf(out, "%s&", comma);
        put_target(out, loop, i);
    }
    cz_text_puts(out, ");\n");
}

/* ---- sums, and the largest of many ---- */

bool cz_loop_reduces_to(const cz_loop *loop, int i, cz_access reach)
{
    const cz_access access = loop->step->out_access[i];

    return cz_access_is_reduction(access) && cz_access_reach(access) == reach;
}

static bool is_largest(const cz_loop *loop, int i)
{
    return cz_access_is_largest(loop->step->out_access[i]);
}

/* What a reduction starts from. */
static const char *start_of(const cz_loop *loop, int i)
{
    return is_largest(loop, i) ? "-INFINITY" : "0";
}

/* One more term of result i; NaN is larger than anything. */
static void put_more(cz_text *out, const cz_loop *loop, int i,
                     const char *target, const char *term)
{
    if (is_largest(loop, i))
        cz_text_printf(out, "%s = %s > %s || %s != %s ? %s : %s;\n", target,
                       term, target, term, term, term, target);
    else
        cz_text_printf(out, "%s += %s;\n", target, term);
}

static void put_reduction_begin(cz_text *out, const cz_loop *loop,
                                cz_access reach, const char *indent)
{
    const int n = cz_loop_n_blocks(loop->step) * SUM_LANES;

    for (int i = 0; i < loop->step->n_out; i++) {
        if (!cz_loop_reduces_to(loop, i, reach))
            continue;
        cz_text_printf(out, "%sdouble sum%d[%d]%s;\n", indent, i, n,
                       is_largest(loop, i) ? "" : " = {0}");
        if (is_largest(loop, i))
            cz_text_printf(out,
                           "%sfor (int lane = 0; lane < %d; lane++)\n%s    "
                           "sum%d[lane] = %s;\n",
                           indent, n, indent, i, start_of(loop, i));
    }
}

/* Where an element is added in a sum of blocks.  Lanes are counted from the
 * start of a block, so that one alone is summed as it is among others. */
static void put_place(cz_text *out, const cz_loop *loop)
{
    const cz_view_step *step = loop->step;
    const bool by_rows = step->blocks.rows > 1,
               runs = cz_loop_runs_through(step);
    const char *indent = inner_indent(loop);
    const char *at = by_rows ? runs ? "i % length * columns + j" : "j"
                     : runs  ? "i * length + j % length"
                             : "j % length";

    if (cz_loop_n_blocks(step) == 1)
        return;
    cz_text_printf(out, "%sconst size_t length = %s / %d;\n", indent,
                   by_rows ? "rows" : "columns", cz_loop_n_blocks(step));
    cz_text_printf(out,
                   "%sconst size_t lane = %s / length * %d + (%s) %% %d;\n",
                   indent, by_rows ? "i" : "j", SUM_LANES, at, SUM_LANES);
}

/* Sums down a column are the results themselves; others have lanes. */
static void put_reduction_term(cz_text *out, const cz_loop *loop, int i)
{
    const bool by_column = cz_loop_reduces_to(loop, i, CZ_ACCESS_COLUMN);
    char target[48], term[16];

    snprintf(target, sizeof target, by_column ? "y%d[j]" : "sum%d[lane]", i);
    snprintf(term, sizeof term, "term%d", i);
    cz_text_puts(out, inner_indent(loop));
    put_more(out, loop, i, target, term);
}

static void put_reduction_terms(cz_text *out, const cz_loop *loop)
{
    for (int i = 0; i < loop->step->n_out; i++)
        if (cz_access_is_reduction(loop->step->out_access[i]))
            put_reduction_term(out, loop, i);
}

/* Lanes of one block one after the other, blocks as a tree; the largest does
 * not mind the order. */
static void put_reduction_end(cz_text *out, const cz_loop *loop,
                              cz_access reach, const char *indent,
                              const char *index)
{
    char target[24], lane[24];

    for (int i = 0; i < loop->step->n_out; i++) {
        const bool in_blocks =
            cz_loop_n_blocks(loop->step) > 1 && !is_largest(loop, i);
        if (!cz_loop_reduces_to(loop, i, reach))
            continue;
        if (in_blocks) {
            cz_text_printf(out, "%sy%d[%s] = czr_sum_blocks(sum%d, %d, %d);\n",
                           indent, i, index, i, cz_loop_n_blocks(loop->step),
                           SUM_LANES);
            continue;
        }
        snprintf(target, sizeof target, "y%d[%s]", i, index);
        snprintf(lane, sizeof lane, "sum%d[lane]", i);
        cz_text_printf(out, "%s%s = %s;\n", indent, target, start_of(loop, i));
        cz_text_printf(out, "%sfor (int lane = 0; lane < %d; lane++)\n%s    ",
                       indent, cz_loop_n_blocks(loop->step) * SUM_LANES,
                       indent);
        put_more(out, loop, i, target, lane);
    }
}

static void put_terms(cz_text *out, const cz_loop *loop)
{
    for (int i = 0; i < loop->step->n_out; i++)
        if (cz_access_is_reduction(loop->step->out_access[i]))
            cz_text_printf(out, "%sdouble term%d;\n", inner_indent(loop), i);
}

/* What is done with one element. */
static void put_element(cz_text *out, const cz_loop *loop)
{
    put_place(out, loop);
    put_terms(out, loop);
    put_call(out, loop, 0, "");
    put_check(out, loop);
    put_reduction_terms(out, loop);
}

/* Whether results are reduced in lanes that the innermost index counts. */
static bool has_lanes(const cz_loop *loop)
{
    for (int i = 0; i < loop->step->n_out; i++)
        if (cz_access_is_reduction(loop->step->out_access[i]) &&
            !cz_loop_reduces_to(loop, i, CZ_ACCESS_COLUMN))
            return cz_loop_n_blocks(loop->step) == 1;
    return false;
}

/* The innermost loop, whose index is `index` below `end`. */
static void put_innermost(cz_text *out, const cz_loop *loop, const char *index,
                          const char *end)
{
    const char *indent = loop->flat ? "    " : "        ";

    cz_text_printf(out, "%sfor (size_t %s = 0; %s < %s; %s++) {\n", indent,
                   index, index, end, index);
    put_element(out, loop);
    cz_text_printf(out, "%s}\n", indent);
}

/* The same with all lanes side by side, so that compilers make vectors of
 * them, and then the elements that are left. */
static void put_in_lanes(cz_text *out, const cz_loop *loop, const char *index,
                         const char *end)
{
    const char *indent = loop->flat ? "    " : "        ";
    cz_loop lanes = *loop;

    lanes.in_lanes = true;
    cz_text_printf(out, "%sfor (size_t at = 0; at < %s / %d; at++)\n", indent,
                   end, SUM_LANES);
    cz_text_printf(out,
                   "%s    for (size_t lane = 0; lane < %d; lane++) {\n"
                   "%sconst size_t %s = at * %d + lane;\n",
                   indent, SUM_LANES, inner_indent(&lanes), index, SUM_LANES);
    put_element(out, &lanes);
    cz_text_printf(out, "%s    }\n", indent);
    cz_text_printf(out,
                   "%sfor (size_t %s = %s / %d * %d; %s < %s; %s++) {\n"
                   "%sconst size_t lane = %s %% %d;\n",
                   indent, index, end, SUM_LANES, SUM_LANES, index, end, index,
                   inner_indent(loop), index, SUM_LANES);
    put_element(out, loop);
    cz_text_printf(out, "%s}\n", indent);
}

static void put_loops(cz_text *out, const cz_loop *loop)
{
    const char *index = loop->flat ? "i" : "j";
    const char *end = loop->flat ? "n" : "columns";

    for (int i = 0; i < loop->step->n_out; i++)
        if (cz_loop_reduces_to(loop, i, CZ_ACCESS_COLUMN))
            cz_text_printf(out,
                           "    for (size_t j = 0; j < columns; j++)\n"
                           "        y%d[j] = %s;\n",
                           i, start_of(loop, i));
    put_reduction_begin(out, loop, CZ_ACCESS_ALL, "    ");
    if (!loop->flat) {
        cz_text_puts(out, "    for (size_t i = 0; i < rows; i++) {\n");
        put_reduction_begin(out, loop, CZ_ACCESS_ROW, "        ");
    }
    if (has_lanes(loop))
        put_in_lanes(out, loop, index, end);
    else
        put_innermost(out, loop, index, end);
    if (!loop->flat) {
        put_reduction_end(out, loop, CZ_ACCESS_ROW, "        ", "i");
        cz_text_puts(out, "    }\n");
    }
    put_reduction_end(out, loop, CZ_ACCESS_ALL, "    ", "0");
}

static int find_loop(const cz_emitter *emitter, const cz_text *text)
{
    for (int i = 0; i < emitter->n_loops; i++)
        if (strcmp(emitter->loops[i], cz_text_string(text)) == 0)
            return i;
    return -1;
}

static int add_loop(cz_emitter *emitter, const cz_text *text)
{
    const char *copy;

    copy = cz_arena_copy(emitter->arena, cz_text_string(text), text->n);
    *CZ_PUSH(emitter->arena, emitter->loops, emitter->n_loops) = copy;
    cz_text_printf(emitter->out, "static void loop_%d(%s}\n\n",
                   emitter->n_loops - 1, copy);
    return emitter->n_loops - 1;
}

/* Number of the loop with this text; emits it unless it is there. */
static int emit_once(cz_emitter *emitter, const cz_text *text,
                     const cz_loop *loop, bool is_epilogue)
{
    const int found = find_loop(emitter, text);
    const int number = found < 0 ? add_loop(emitter, text) : found;

    if (emitter->on_loop)
        emitter->on_loop(emitter, loop, number, found < 0, is_epilogue);
    return number;
}

int cz_emit_map_loop(cz_emitter *emitter, const cz_loop *loop)
{
    cz_text text = {0};
    int number;

    put_parameters(&text, loop, 0);
    put_loops(&text, loop);
    put_check_end(&text, loop);
    number = emit_once(emitter, &text, loop, false);
    cz_text_fini(&text);
    return number;
}

int cz_emit_epilogue_loop(cz_emitter *emitter, const cz_loop *loop)
{
    cz_text text = {0};
    int number;

    cz_text_puts(&text, "const float *restrict acc, ");
    put_parameters(&text, loop, 2);
    if (loop->flat)
        cz_text_puts(&text, "    for (size_t i = 0; i < n; i++) {\n");
    else
        cz_text_puts(&text, "    for (size_t i = 0; i < rows; i++) {\n"
                            "        for (size_t j = 0; j < columns; j++) {\n");
    put_call(&text, loop, 2, loop->flat ? "acc[i]" : "acc[i * columns + j]");
    put_check(&text, loop);
    cz_text_puts(&text, loop->flat ? "    }\n" : "        }\n    }\n");
    put_check_end(&text, loop);
    number = emit_once(emitter, &text, loop, true);
    cz_text_fini(&text);
    return number;
}

/* The slot that a trainer reads: of a parameter with a master what it is
 * rounded to, which may overflow where the master does not; -1: none. */
static int checked_slot(const cz_view_stage *stage)
{
    int found = -1;

    for (int i = 0; i < stage->n_out; i++)
        if (stage->out[i].kind == CZ_SLOT_STORED ||
            (stage->out[i].kind == CZ_SLOT_PARAM && found < 0))
            found = i;
    return found;
}

int cz_loop_checked_result(const cz_view_stage *stage, const cz_view_step *step,
                           int first_result)
{
    const int slot = checked_slot(stage);

    for (int o = 0; slot >= 0 && o < step->n_out; o++)
        if (stage->out_value[slot] == first_result + o)
            return o;
    return -1;
}
