/* The product in a fixed order.  Operands are packed block by block to f32,
 * which settles types and transposes; every element of c then takes its terms
 * in order of k, so that blocks are invisible in the result. */
#include "runtime/math/product.h"

#include <stdbool.h>

enum {
    ROWS = CZR_BLOCK_ROWS,
    COLUMNS = CZR_BLOCK_COLUMNS,
    DEPTH = CZR_BLOCK_DEPTH,
    LANES = 16,
    STRIP = 4
};

/* One operand as stored: element (row, column) of op(x). */
typedef struct operand {
    const void *data;
    czr_dtype dtype;
    size_t row_stride, column_stride;
} operand;

static operand operand_of(const void *data, czr_dtype dtype, int transposed,
                          size_t rows, size_t columns)
{
    return (operand){data, dtype, transposed ? 1 : columns,
                     transposed ? rows : 1};
}

/* n elements of a row of op(x) from (row, column) on, to f32. */
static void pack_row(const operand *x, size_t row, size_t column, size_t n,
                     float *packed)
{
    const size_t step = x->column_stride;
    const size_t start = row * x->row_stride + column * step;

    if (x->dtype == CZR_BF16) {
        const czr_bf16 *data = (const czr_bf16 *)x->data + start;
        for (size_t j = 0; j < n; j++)
            packed[j] = czr_bf16_to_f32(data[j * step]);
    } else if (x->dtype == CZR_F16) {
        const czr_f16 *data = (const czr_f16 *)x->data + start;
        for (size_t j = 0; j < n; j++)
            packed[j] = czr_f16_to_f32(data[j * step]);
    } else {
        const float *data = (const float *)x->data + start;
        for (size_t j = 0; j < n; j++)
            packed[j] = data[j * step];
    }
}

/* Rows [row, row + n_rows) and columns likewise, to f32, zero up to width. */
static void pack(const operand *x, size_t row, size_t n_rows, size_t column,
                 size_t n_columns, float *packed, size_t width)
{
    for (size_t i = 0; i < n_rows; i++, packed += width) {
        pack_row(x, row + i, column, n_columns, packed);
        memset(packed + n_columns, 0, (width - n_columns) * sizeof *packed);
    }
}

/* STRIP rows by LANES columns of c, over one block's depth. */
static void multiply_tile(const float *a, const float *b, size_t depth,
                          float c[STRIP][LANES])
{
    for (size_t k = 0; k < depth; k++)
        for (size_t i = 0; i < STRIP; i++)
            for (size_t j = 0; j < LANES; j++)
                c[i][j] += a[i * DEPTH + k] * b[k * COLUMNS + j];
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Adds one packed block's terms to a tile of c. */
static void add_tile(const czr_host_math *math, const czr_block *here, size_t i,
                     size_t j)
{
    float tile[STRIP][LANES] = {{0}};
    const size_t n_rows = least(STRIP, here->n_rows - i);
    const size_t n_columns = least(LANES, here->n_columns - j);
    float *c = here->c + i * here->stride + j;

    for (size_t r = 0; r < n_rows; r++)
        memcpy(tile[r], c + r * here->stride, n_columns * sizeof *c);
    multiply_tile(math->packed_a + i * DEPTH, math->packed_b + j, here->n_depth,
                  tile);
    for (size_t r = 0; r < n_rows; r++)
        memcpy(c + r * here->stride, tile[r], n_columns * sizeof *c);
}

static void add_block(const czr_product *p, const czr_host_math *math,
                      const czr_block *here)
{
    for (size_t i = 0; i < here->n_rows; i += STRIP)
        for (size_t j = 0; j < here->n_columns; j += LANES)
            if (!p->symmetric || here->column + j < here->row + i + STRIP)
                add_tile(math, here, i, j);
}

typedef struct operands {
    operand a, b;
} operands;

static operands operands_of(const czr_product *p)
{
    return (operands){operand_of(p->a, p->a_dtype, p->transpose_a, p->m, p->k),
                      operand_of(p->b, p->b_dtype, p->transpose_b, p->k, p->n)};
}

static void pack_a(const czr_host_math *math, const operands *x,
                   const czr_block *here)
{
    pack(&x->a, here->row, here->n_rows, here->depth, here->n_depth,
         math->packed_a, DEPTH);
}

static void pack_b(const czr_host_math *math, const operands *x,
                   const czr_block *here)
{
    pack(&x->b, here->depth, here->n_depth, here->column, here->n_columns,
         math->packed_b, COLUMNS);
}

/* Whether nothing of a block is wanted, as its mirror image is computed. */
static bool is_above(const czr_product *p, const czr_block *here)
{
    return p->symmetric && here->column >= here->row + here->n_rows;
}

/* Adds the blocks of some rows and columns; packed_b holds what is wanted. */
static void add_rows(const czr_host_math *math, const czr_product *p,
                     const czr_rows *rows, czr_block *here, czr_add_block add)
{
    const operands x = operands_of(p);
    const size_t end = rows->first + rows->n_rows;

    for (here->row = rows->first; here->row < end; here->row += ROWS) {
        here->n_rows = least(ROWS, end - here->row);
        here->c =
            rows->c + (here->row - rows->first) * rows->stride + here->column;
        if (is_above(p, here))
            continue;
        pack_a(math, &x, here);
        add(p, math, here);
    }
}

void czr_product_blocks(const czr_host_math *math, const czr_product *p,
                        const czr_rows *rows, czr_add_block add)
{
    const operands x = operands_of(p);
    czr_block here = {.stride = rows->stride};

    for (size_t i = 0; i < rows->n_rows; i++)
        memset(rows->c + i * rows->stride, 0, rows->n_columns * sizeof *p->c);
    for (here.column = 0; here.column < rows->n_columns;
         here.column += COLUMNS) {
        here.n_columns = least(COLUMNS, rows->n_columns - here.column);
        for (here.depth = 0; here.depth < p->k; here.depth += DEPTH) {
            here.n_depth = least(DEPTH, p->k - here.depth);
            pack_b(math, &x, &here);
            add_rows(math, p, rows, &here, add);
        }
    }
}

/* ---- in parts ---- */

static float *level_of(const czr_host_math *math, int level)
{
    return math->partials + (size_t)level * ROWS * COLUMNS;
}

/* What is left of sums of parts, where they may have to travel as bf16. */
static void round_parts(const czr_product *p, float *sums, size_t n)
{
    for (size_t i = 0; p->narrow && i < n; i++)
        sums[i] = czr_bf16_to_f32(czr_f32_to_bf16(sums[i]));
}

/* Parts [first, first + n) of k of the block `here`, into a level. */
static void add_parts(const czr_product *p, const czr_host_math *math,
                      czr_block *here, size_t first, size_t n, int level)
{
    const operands x = operands_of(p);
    const size_t length = p->k / (size_t)p->blocks;
    float *sum = level_of(math, level);

    if (n > 1) {
        const float *other = level_of(math, level + 1);
        add_parts(p, math, here, first, n / 2, level);
        add_parts(p, math, here, first + n / 2, n / 2, level + 1);
        for (size_t i = 0; i < here->n_rows * COLUMNS; i++)
            sum[i] += other[i];
        round_parts(p, sum, here->n_rows * COLUMNS);
        return;
    }
    memset(sum, 0, here->n_rows * COLUMNS * sizeof *sum);
    here->c = sum;
    for (size_t done = 0; done < length; done += DEPTH) {
        here->depth = first * length + done;
        here->n_depth = least(DEPTH, length - done);
        pack_a(math, &x, here);
        pack_b(math, &x, here);
        add_block(p, math, here);
    }
    round_parts(p, sum, here->n_rows * COLUMNS);
}

static void multiply_in_parts(const czr_host_math *math, const czr_product *p,
                              const czr_rows *rows)
{
    const size_t end = rows->first + rows->n_rows;
    czr_block here = {.stride = COLUMNS};

    for (here.column = 0; here.column < rows->n_columns;
         here.column += COLUMNS) {
        here.n_columns = least(COLUMNS, rows->n_columns - here.column);
        for (here.row = rows->first; here.row < end; here.row += ROWS) {
            here.n_rows = least(ROWS, end - here.row);
            if (is_above(p, &here))
                continue;
            add_parts(p, math, &here, 0, (size_t)p->blocks, 0);
            for (size_t i = 0; i < here.n_rows; i++)
                memcpy(rows->c + (here.row - rows->first + i) * rows->stride +
                           here.column,
                       math->partials + i * COLUMNS,
                       here.n_columns * sizeof *p->c);
        }
    }
}

static void make_rows(const czr_host_math *math, const czr_product *p,
                      const czr_rows *rows)
{
    if (p->blocks > 1 && math->partials)
        multiply_in_parts(math, p, rows);
    else
        czr_product_blocks(math, p, rows, add_block);
}

void czr_product_fixed_order(const czr_math *math, const czr_product *p)
{
    czr_product_by_strips((const czr_host_math *)math, p, 1, make_rows);
}
