/* CUDA kernels of a matrix: teams of threads for rows, squares of what is
 * transposed, strips of columns. */
#include "codegen/cuda/internal.h"

/* The parts of a row that sums of it are made in. */
static int row_blocks(const cz_cuda_kernel *k)
{
    return cz_cuda_reduces(k) && cz_cuda_step(k)->blocks.columns > 1 ? k->blocks
                                                                     : 1;
}

/* A result for each row, or one more partial sum of all. */
static void put_row_sum(const cz_cuda_kernel *k, int i)
{
    const char *verb = cz_cuda_is_largest(k, i) ? "largest" : "sum";

    if (!cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
        cz_cuda_line(k, "team_%s(t, sum%d, partial%d + %si);", verb, i, i,
                     row_blocks(k) > 1 ? "part * rows + " : "");
    else if (row_blocks(k) > 1)
        cz_cuda_line(k,
                     "team_%s(t, sum%d, parts%d[threadIdx.x / WARP] + part);",
                     verb, i, i);
    else
        cz_cuda_line(k, "team_%s(t, sum%d, y%d + i);", verb, i, i);
}

/* The part sums of a row as a tree, by the thread that has them. */
static void put_row_trees(const cz_cuda_kernel *k)
{
    for (int i = 0; row_blocks(k) > 1 && i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i) &&
            cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW)) {
            cz_cuda_line(k, "if (t.lane == 0)");
            cz_cuda_line(
                k, "    y%d[i] = tree_%s(parts%d[threadIdx.x / WARP], %d);", i,
                cz_cuda_is_largest(k, i) ? "largest" : "sum", i, k->blocks);
        }
}

static void put_row(cz_cuda_kernel *k)
{
    const bool has_parts = row_blocks(k) > 1;

    for (int i = 0; has_parts && i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i) &&
            cz_loop_reduces_to(k->loop, i, CZ_ACCESS_ROW))
            cz_cuda_line(k, "__shared__ double parts%d[WARPS][MAX_PARTS];", i);
    if (has_parts) {
        cz_cuda_line(k, "for (int part = 0; part < %d; part++) {", k->blocks);
        k->depth++;
    }
    cz_cuda_sums_begin(k);
    if (has_parts)
        cz_cuda_line(k,
                     "for (u64 e = part * length + %d * t.lane; "
                     "e < (part + 1) * length; e += %d * t.size) {",
                     k->width, k->width);
    else
        cz_cuda_line(
            k, "for (u64 e = %d * t.lane; e < columns; e += %d * t.size) {",
            k->width, k->width);
    k->depth++;
    cz_cuda_neighbours(k,
                       has_parts ? "(part + 1) * length - e" : "columns - e");
    k->depth--;
    cz_cuda_line(k, "}");
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i))
            put_row_sum(k, i);
    if (has_parts) {
        k->depth--;
        cz_cuda_line(k, "}");
    }
    put_row_trees(k);
}

void cz_cuda_rows(cz_cuda_kernel *k)
{
    const bool has_parts = row_blocks(k) > 1;

    if (has_parts)
        cz_cuda_line(k, "const u64 length = columns / %d;", k->blocks);
    cz_cuda_line(k, "const team t = team_of(%s);",
                 has_parts ? "length" : "columns");
    cz_cuda_alignment(k, has_parts ? "length" : "columns");
    cz_cuda_line(k, "for (u64 i = t.first; i < rows; i += t.step) {");
    k->depth++;
    put_row(k);
    k->depth--;
    cz_cuda_line(k, "}");
}

/* ---- squares ---- */

/* What is transposed goes to shared memory, square by square. */
static void put_loads(const cz_cuda_kernel *k)
{
    const cz_view_step *step = cz_cuda_step(k);

    for (int i = cz_cuda_first_in(k); i < step->n_in; i++)
        if (step->access[i] == CZ_ACCESS_TRANSPOSED) {
            cz_cuda_line(k, "__shared__ %s t%d[SIDE][SIDE + 1];",
                         cz_c_type(k->loop->in_dtype[i]), i);
            cz_cuda_line(k, "load_transposed(t%d, x%d, s, rows, columns);", i,
                         i);
        }
    cz_cuda_line(k, "__syncthreads();");
}

void cz_cuda_squares(cz_cuda_kernel *k)
{
    cz_cuda_line(k, "for (square s = first_square(columns); s.row < rows; "
                    "next_square(s, columns)) {");
    k->depth++;
    put_loads(k);
    cz_cuda_line(k, "for (u32 y = threadIdx.x / SIDE; y < SIDE; "
                    "y += THREADS / SIDE) {");
    k->depth++;
    cz_cuda_line(k, "const u32 x = threadIdx.x %% SIDE;");
    cz_cuda_line(k, "const u64 i = s.row + y, j = s.column + x;");
    cz_cuda_line(k, "if (i >= rows || j >= columns)");
    cz_cuda_line(k, "    continue;");
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    cz_cuda_line(k, "__syncthreads();");
    k->depth--;
    cz_cuda_line(k, "}");
}

/* ---- columns ---- */

void cz_cuda_columns(cz_cuda_kernel *k)
{
    cz_cuda_line(k, "for (strip s = first_strip(rows, columns); "
                    "s.row < rows; next_strip(s, columns)) {");
    k->depth++;
    cz_cuda_line(k, "const u64 j = s.column;");
    cz_cuda_line(k, "if (j >= columns)");
    cz_cuda_line(k, "    continue;");
    cz_cuda_sums_begin(k);
    cz_cuda_line(k, "for (u64 i = s.row; i < s.end; i++) {");
    k->depth++;
    cz_cuda_element(k);
    k->depth--;
    cz_cuda_line(k, "}");
    for (int i = 0; i < cz_cuda_step(k)->n_out; i++)
        if (cz_cuda_is_sum(k, i))
            cz_cuda_line(k, "partial%d[s.number * columns + j] = sum%d;", i, i);
    k->depth--;
    cz_cuda_line(k, "}");
}
