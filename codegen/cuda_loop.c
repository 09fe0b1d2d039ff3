/* Loops as CUDA kernels: runs of elements, rows, and columns.  Which thread
 * adds what depends on the shape alone, never on the grid or on where arrays
 * lie; each part of a sum is made as it is by a rank that has it alone. */
#include "codegen/cuda_internal.h"

#include <stdio.h>

/* A wide access, and neighbours of a thread that adds them up. */
enum { WIDE_BYTES = 16, SUM_WIDTH = 8 };

static const cz_view_step *step_of(const cz_cuda_kernel *k)
{
    return k->loop->step;
}

static bool is_reduction(const cz_cuda_kernel *k, int i)
{
    return cz_cuda_makes(k, i) &&
           cz_access_is_reduction(step_of(k)->out_access[i]);
}

static bool is_largest(const cz_cuda_kernel *k, int i)
{
    return cz_access_is_largest(step_of(k)->out_access[i]);
}

/* Neighbours that are 16 bytes of the narrowest array.  Where there are sums it
 * is one number for all: types must not decide their order. */
static int width_of(const cz_cuda_kernel *k)
{
    const cz_view_step *step = step_of(k);
    int narrowest = cz_dtype_bytes(CZ_F64);

    if (cz_cuda_reduces(k))
        return SUM_WIDTH;
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_ELEMENT &&
            cz_dtype_bytes(k->loop->in_dtype[i]) < narrowest)
            narrowest = cz_dtype_bytes(k->loop->in_dtype[i]);
    for (int i = 0; i < step->n_out; i++)
        if (step->out_access[i] == CZ_ACCESS_ELEMENT &&
            cz_dtype_bytes(step->out_dtype[i]) < narrowest)
            narrowest = cz_dtype_bytes(step->out_dtype[i]);
    return WIDE_BYTES / narrowest;
}

/* ---- signature ---- */

static void put_operands(const cz_cuda_kernel *k)
{
    const cz_view_step *step = step_of(k);

    if (k->is_epilogue)
        cz_text_puts(k->out, ",\n    const float *__restrict__ acc");
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++) {
        const char *type = cz_c_type(k->loop->in_dtype[i]);
        if (step->access[i] == CZ_ACCESS_SCALAR)
            cz_text_printf(k->out, ",\n    %s x%d", type, i);
        else if (cz_loop_written_by(k->loop, i) < 0)
            cz_text_printf(k->out, ",\n    const %s *__restrict__ x%d", type,
                           i);
    }
}

/* Results; of what is overwritten, too, where the kernel only reads it. */
static void put_results(const cz_cuda_kernel *k)
{
    const cz_view_step *step = step_of(k);

    for (int i = 0; i < step->n_out; i++) {
        const char *type = cz_c_type(step->out_dtype[i]);
        if (is_reduction(k, i) &&
            !cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            cz_text_printf(k->out, ",\n    double *__restrict__ partial%d", i);
        else if (cz_cuda_makes(k, i))
            cz_text_printf(k->out, ",\n    %s *__restrict__ y%d", type, i);
        else if (k->loop->in_place[i] >= 0)
            cz_text_printf(k->out, ",\n    const %s *__restrict__ y%d", type,
                           i);
    }
}

static bool is_checked(const cz_cuda_kernel *k)
{
    return k->loop->checked >= 0 && !k->by_columns;
}

static void put_signature(const cz_cuda_kernel *k, int number)
{
    cz_text_printf(k->out,
                   "extern \"C\" __global__ void __launch_bounds__(THREADS) "
                   "loop_%d%s(%s",
                   number, k->by_columns ? "_columns" : "",
                   k->loop->flat ? "u64 n" : "u64 rows, u64 columns");
    put_operands(k);
    put_results(k);
    if (is_checked(k))
        cz_text_puts(k->out, ",\n    u32 *status");
    cz_text_puts(k->out, ")\n{\n");
    if (is_checked(k))
        cz_cuda_line(k, "u32 wild = 0;");
}

static void put_end(const cz_cuda_kernel *k)
{
    if (is_checked(k))
        cz_text_puts(k->out, "    if (wild)\n        *status = 1;\n");
    cz_text_puts(k->out, "}\n\n");
}

static void put_sums_begin(const cz_cuda_kernel *k)
{
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (is_reduction(k, i))
            cz_cuda_line(k, "double sum%d = %s;", i,
                         is_largest(k, i) ? "-INFINITY" : "0");
}

/* ---- runs ---- */

/* An array of elements, named as in the signature. */
typedef struct array {
    char name[16];
    cz_dtype dtype;
    bool is_read, is_written;
    int number; /* among the kernel's */
} array;

typedef void array_printer(const cz_cuda_kernel *k, const array *a);

/* Calls `put` for each array of elements. */
static void for_arrays(const cz_cuda_kernel *k, array_printer *put)
{
    const cz_view_step *step = step_of(k);
    array a = {"acc", CZ_F32, true, false, 0};

    if (k->is_epilogue) {
        put(k, &a);
        a.number++;
    }
    for (int i = cz_cuda_first_in(k); i < step->n_in; i++) {
        if (step->access[i] != CZ_ACCESS_ELEMENT ||
            cz_loop_written_by(k->loop, i) >= 0)
            continue;
        snprintf(a.name, sizeof a.name, "x%d", i);
        a.dtype = k->loop->in_dtype[i];
        put(k, &a);
        a.number++;
    }
    a.is_written = true;
    for (int i = 0; i < step->n_out; i++) {
        if (step->out_access[i] != CZ_ACCESS_ELEMENT)
            continue;
        snprintf(a.name, sizeof a.name, "y%d", i);
        a.dtype = step->out_dtype[i];
        a.is_read = k->loop->in_place[i] >= 0;
        put(k, &a);
        a.number++;
    }
}

static void put_name(const cz_cuda_kernel *k, const array *a)
{
    cz_text_printf(k->out, "%s%s", a->number ? ", " : "", a->name);
}

static void put_read(const cz_cuda_kernel *k, const array *a)
{
    if (a->is_read)
        cz_cuda_line(
            k, "wide<%s, %d> w%s = read_wide<%d>(%s + at, left, is_wide);",
            cz_c_type(a->dtype), k->width, a->name, k->width, a->name);
    else
        cz_cuda_line(k, "wide<%s, %d> w%s;", cz_c_type(a->dtype), k->width,
                     a->name);
}

static void put_write(const cz_cuda_kernel *k, const array *a)
{
    if (a->is_written)
        cz_cuda_line(k, "write_wide(%s + at, w%s, left, is_wide);", a->name,
                     a->name);
}

/* Neighbours, of which the last thread may have fewer. */
static void put_neighbours(cz_cuda_kernel *k, const char *left)
{
    cz_cuda_line(k, "const int left = left_of<%d>(%s);", k->width, left);
    if (cz_cuda_is_wide(k))
        for_arrays(k, put_read);
    cz_text_puts(k->out, "#pragma unroll\n");
    cz_cuda_line(k, "for (int k = 0; k < %d; k++) {", k->width);
    k->depth++;
    cz_cuda_line(k, "if (k >= left)");
    cz_cuda_line(k, "    continue;");
    if (!cz_cuda_is_wide(k))
        cz_cuda_line(k,
                     "const u64 at = at_in_part(e + k, part, columns / %d, "
                     "columns);",
                     k->parts);
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    if (cz_cuda_is_wide(k))
        for_arrays(k, put_write);
}

static void put_wide(const cz_cuda_kernel *k)
{
    if (!k->loop->flat)
        cz_cuda_line(k, "const u64 n = rows * columns;");
    if (!cz_cuda_is_wide(k))
        return;
    cz_text_puts(k->out, "    const bool is_wide = ");
    if (k->parts > 1)
        cz_text_printf(k->out, "n / %d %% %d == 0 && ", k->parts, k->width);
    cz_text_puts(k->out, "are_aligned(");
    for_arrays(k, put_name);
    cz_text_puts(k->out, ");\n\n");
}

static void put_run_sums(const cz_cuda_kernel *k)
{
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (is_reduction(k, i))
            cz_cuda_line(k, "sum%d = block_%s(sum%d);", i,
                         is_largest(k, i) ? "largest" : "sum", i);
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (is_reduction(k, i))
            cz_cuda_line(k,
                         "if (threadIdx.x == 0)\n            partial%d[c] = "
                         "sum%d;",
                         i, i);
}

/* From the start of a chunk of `length` elements to its end. */
static void put_chunk(cz_cuda_kernel *k, const char *index, const char *length)
{
    char left[32];

    put_sums_begin(k);
    cz_cuda_line(k,
                 "for (u64 %s = start + %d * threadIdx.x; %s < end_of(start, "
                 "%s); %s += %d * THREADS) {",
                 index, k->width, index, length, index, k->width);
    k->depth++;
    if (k->parts > 1 && cz_cuda_is_wide(k))
        cz_cuda_line(k, "const u64 at = part * length + e;");
    snprintf(left, sizeof left, "%s - %s", length, index);
    put_neighbours(k, left);
    k->depth--;
    cz_cuda_line(k, "}");
    put_run_sums(k);
}

/* A block of threads for each chunk, of each part. */
static void put_chunks(cz_cuda_kernel *k)
{
    const bool has_parts = k->parts > 1;

    if (has_parts) {
        cz_cuda_line(k,
                     "const u64 length = n / %d, chunks = chunks_of(length);",
                     k->parts);
        cz_cuda_line(
            k, "for (u64 c = blockIdx.x; c < %d * chunks; c += gridDim.x) {",
            k->parts);
    } else {
        cz_cuda_line(
            k, "for (u64 c = blockIdx.x; c < chunks_of(n); c += gridDim.x) {");
    }
    k->depth++;
    if (has_parts)
        cz_cuda_line(
            k, "const u64 part = c / chunks, start = c %% chunks * CHUNK;");
    else
        cz_cuda_line(k, "const u64 start = c * CHUNK;");
    put_chunk(k, has_parts ? "e" : "at", has_parts ? "length" : "n");
    k->depth--;
    cz_cuda_line(k, "}");
}

static void put_run(cz_cuda_kernel *k)
{
    put_wide(k);
    if (cz_cuda_reduces(k)) {
        put_chunks(k);
        return;
    }
    cz_cuda_line(k,
                 "for (u64 at = %d * thread_in_grid(); at < n; "
                 "at += %d * threads_in_grid()) {",
                 k->width, k->width);
    k->depth++;
    put_neighbours(k, "n - at");
    k->depth--;
    cz_cuda_line(k, "}");
}

/* ---- rows ---- */

/* The parts of a row that sums of it are made in. */
static int row_parts(const cz_cuda_kernel *k)
{
    return cz_cuda_reduces(k) && step_of(k)->blocks.columns > 1 ? k->parts : 1;
}

/* A result for each row, or one more partial sum of all. */
static void put_row_sum(const cz_cuda_kernel *k, int i)
{
    const char *verb = is_largest(k, i) ? "largest" : "sum";

    if (!cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
        cz_cuda_line(k, "team_%s(t, sum%d, partial%d + %si);", verb, i, i,
                     row_parts(k) > 1 ? "part * rows + " : "");
    else if (row_parts(k) > 1)
        cz_cuda_line(k,
                     "team_%s(t, sum%d, parts%d[threadIdx.x / WARP] + part);",
                     verb, i, i);
    else
        cz_cuda_line(k, "team_%s(t, sum%d, y%d + i);", verb, i, i);
}

/* The part sums of a row as a tree, by the thread that has them. */
static void put_row_trees(const cz_cuda_kernel *k)
{
    for (int i = 0; row_parts(k) > 1 && i < step_of(k)->n_out; i++)
        if (is_reduction(k, i) &&
            cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW)) {
            cz_cuda_line(k, "if (t.lane == 0)");
            cz_cuda_line(
                k, "    y%d[i] = tree_%s(parts%d[threadIdx.x / WARP], %d);", i,
                is_largest(k, i) ? "largest" : "sum", i, k->parts);
        }
}

static void put_row(cz_cuda_kernel *k)
{
    const bool has_parts = row_parts(k) > 1;

    for (int i = 0; has_parts && i < step_of(k)->n_out; i++)
        if (is_reduction(k, i) && cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            cz_cuda_line(k, "__shared__ double parts%d[WARPS][MAX_PARTS];", i);
    if (has_parts) {
        cz_cuda_line(k, "for (int part = 0; part < %d; part++) {", k->parts);
        k->depth++;
    }
    put_sums_begin(k);
    cz_cuda_line(k, has_parts
                        ? "for (u64 j = part * length + t.lane; "
                          "j < (part + 1) * length; j += t.size) {"
                        : "for (u64 j = t.lane; j < columns; j += t.size) {");
    k->depth++;
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (is_reduction(k, i))
            put_row_sum(k, i);
    if (has_parts) {
        k->depth--;
        cz_cuda_line(k, "}");
    }
    put_row_trees(k);
}

/* A team of threads for each row. */
static void put_rows(cz_cuda_kernel *k)
{
    const bool has_parts = row_parts(k) > 1;

    if (has_parts)
        cz_cuda_line(k, "const u64 length = columns / %d;", k->parts);
    cz_cuda_line(k, "const team t = team_of(%s);",
                 has_parts ? "length" : "columns");
    cz_text_puts(k->out, "\n");
    cz_cuda_line(k, "for (u64 i = t.first; i < rows; i += t.step) {");
    k->depth++;
    put_row(k);
    k->depth--;
    cz_cuda_line(k, "}");
}

/* ---- columns ---- */

/* A thread for each column of a strip of rows. */
static void put_columns(cz_cuda_kernel *k)
{
    cz_cuda_line(k, "for (strip s = first_strip(rows, columns); "
                    "s.row < rows; next_strip(s, columns)) {");
    k->depth++;
    cz_cuda_line(k, "const u64 j = s.column;");
    cz_cuda_line(k, "if (j >= columns)");
    cz_cuda_line(k, "    continue;");
    put_sums_begin(k);
    cz_cuda_line(k, "for (u64 i = s.row; i < s.end; i++) {");
    k->depth++;
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (is_reduction(k, i))
            cz_cuda_line(k, "partial%d[s.number * columns + j] = sum%d;", i, i);
    k->depth--;
    cz_cuda_line(k, "}");
}

/* ---- kernels ---- */

static bool makes_any(const cz_cuda_kernel *k)
{
    for (int i = 0; i < step_of(k)->n_out; i++)
        if (cz_cuda_makes(k, i))
            return true;
    return false;
}

/* What of the kernel's arguments is not yet a result. */
static void put_finish(const cz_cuda_kernel *k)
{
    for (int i = 0; i < step_of(k)->n_out; i++) {
        const char *verb = is_largest(k, i) ? "largest" : "sum";
        if (!is_reduction(k, i) ||
            cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            continue;
        if (k->by_columns)
            cz_text_printf(k->out, "// y%d: %s_strips of partial%d.\n", i, verb,
                           i);
        else
            cz_text_printf(k->out,
                           "// y%d: %s_parts of partial%d, %d of them.\n", i,
                           verb, i, k->parts);
    }
}

static void put_kernel(cz_cuda_kernel *k, int number)
{
    if (!makes_any(k))
        return;
    put_finish(k);
    put_signature(k, number);
    if (k->by_columns)
        put_columns(k);
    else if (k->is_run)
        put_run(k);
    else
        put_rows(k);
    put_end(k);
}

/* What is reduced down columns comes first: the other kernel may overwrite what
 * that is made of. */
void cz_emit_cuda_loop(cz_text *out, const cz_loop *loop, int number,
                       bool is_epilogue)
{
    cz_cuda_kernel k = {.out = out,
                        .loop = loop,
                        .is_epilogue = is_epilogue,
                        .by_columns = true,
                        .is_run = cz_loop_runs_through(loop->step),
                        .parts = cz_loop_n_blocks(loop->step),
                        .depth = 1};

    put_kernel(&k, number);
    k.by_columns = false;
    k.width = width_of(&k);
    put_kernel(&k, number);
}
