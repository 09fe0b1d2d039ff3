/* The model of tiles.  Knows nothing of devices but figures. */
#include "passes/gpu/tile_model.h"

#include "dsl/base/checked.h"
#include "dsl/base/arithmetic.h"

/* Clocks of one SM of sm_90a.  Tensor cores: 989 Tflop/s of the data sheet on
 * 132 SMs at 1.83 GHz.  Shared memory: 128 bytes, by the programming guide. L2:
 * what a public library of matrix products reckons with, 8 TB/s at 1.3 GHz for
 * all SMs. What follows the last step: products of 1024 and 5120 along k lose
 * 25 to 33 % and 6 to 8 % to it, as public kernels do that do not overlap it.
 * One SM reads 64 bytes of L2, by the same guide; a launch behind another takes
 * 3 us.
 */
enum {
    TENSOR_OPERATIONS = 4096,
    SHARED_BYTES = 128,
    L2_BYTES = 6154,
    SM_BYTES = 64,
    EPILOGUE_ELEMENTS = 6,
    LAUNCH_CLOCKS = 5000,
    SUM_BYTES = 4,
    /* So that sums stay in L2. */
    MAX_PARTS = 8,
    MAX_ROUNDS = 2,
    ELEMENT_BYTES = 2,
    CONSUMER_ROWS = 64,
    STEP_BYTES = CZ_TILE_STEP * ELEMENT_BYTES,
    /* Of cuBLASLt's speed, in hundredths: below it ours is not taken. */
    LIBRARY_SHARE = 97
};

const cz_tile_shape cz_tile_shapes[CZ_TILE_SHAPES] = {
    {128, 256, 4}, {192, 192, 3}, {128, 192, 4}, {128, 128, 5}};

bool cz_tile_machine_of(int sms, int64_t bf16_rate, int64_t memory_rate,
                        cz_tile_machine *out)
{
    int64_t bytes;

    if (sms <= 0 || bf16_rate <= 0 || memory_rate <= 0 ||
        !cz_checked_mul(memory_rate, (int64_t)TENSOR_OPERATIONS * sms, &bytes))
        return false;
    out->sms = sms;
    out->memory_bytes = cz_solve_max(bytes / bf16_rate, 1);
    return true;
}

/* Each consumer reads its rows of x and all columns of y; copies from global
 * memory write each once. */
static int64_t shared_clocks(cz_tile_shape s)
{
    const int64_t n_consumers = s.rows / CONSUMER_ROWS;
    const int64_t lines = s.rows + n_consumers * s.cols + s.rows + s.cols;

    return cz_ceil_div(lines * STEP_BYTES, SHARED_BYTES);
}

static int64_t l2_clocks(cz_tile_shape s, int64_t n_busy)
{
    return cz_ceil_div((s.rows + s.cols) * STEP_BYTES * n_busy, L2_BYTES);
}

static int64_t tensor_clocks(cz_tile_shape s)
{
    return (int64_t)s.rows * s.cols * CZ_TILE_STEP * 2 / TENSOR_OPERATIONS;
}

/* Each operand once, and c. */
static bool memory_clocks(const cz_tile_product *p, const cz_tile_machine *m,
                          int64_t *clocks)
{
    int64_t x, y, c, elements;

    if (!cz_checked_mul(p->m, p->k, &x) || !cz_checked_mul(p->n, p->k, &y) ||
        !cz_checked_mul(p->m, p->n, &c) ||
        !cz_checked_mul(c, p->has_addend ? 2 : 1, &c) ||
        !cz_checked_add(x, p->is_gram ? 0 : y, &elements) ||
        !cz_checked_add(elements, c, &elements) ||
        !cz_checked_mul(elements, p->batch, &elements) ||
        elements > CZ_MAX_BYTES / ELEMENT_BYTES)
        return false;
    *clocks = cz_ceil_div(elements * ELEMENT_BYTES, m->memory_bytes);
    return true;
}

/* So many rows of tiles that what runs at once is as wide as it is high. */
static int group_of(const cz_tile_product *p, int sms, cz_tile_shape s)
{
    const int64_t n_rows = cz_ceil_div(p->m, s.rows);
    int64_t group = 1;

    while (group < n_rows &&
           (group + 1) * (group + 1) * s.rows <= (int64_t)sms * s.cols)
        group++;
    return (int)group;
}

static cz_tiling tiling_of(const cz_tile_product *p, int sms, cz_tile_shape s)
{
    const cz_tiling t = {.rows = p->m,
                         .cols = p->n,
                         .batch = p->batch,
                         .tile_rows = s.rows,
                         .tile_cols = s.cols,
                         .is_symmetric = p->is_symmetric,
                         .order_rows = group_of(p, sms, s)};
    return t;
}

static int64_t epilogue_clocks(cz_tile_shape s)
{
    return cz_ceil_div((int64_t)s.rows * s.cols, EPILOGUE_ELEMENTS);
}

/* n_split tiles in parts of k, one after the other where blocks are few; their
 * sums to L2 and back; a second launch that ends them. */
static int64_t last_wave_clocks(cz_tile_shape s, int64_t n_split,
                                int64_t n_blocks, int64_t steps,
                                int64_t step_clocks, int64_t splits)
{
    const int64_t sums = (int64_t)s.rows * s.cols * SUM_BYTES;
    const int64_t put = cz_ceil_div(sums * n_blocks, L2_BYTES);
    const int64_t get =
        cz_solve_max(cz_ceil_div(sums * splits * n_split, L2_BYTES),
                     cz_ceil_div(sums * splits, SM_BYTES));
    const int64_t part = cz_ceil_div(steps, splits) * step_clocks + put;

    return cz_ceil_div(n_split * splits, n_blocks) * part + LAUNCH_CLOCKS +
           get + epilogue_clocks(s);
}

/* The number of parts that is fastest; 1: none are. */
static int64_t split_last_wave(cz_tile_shape s, int64_t n_split,
                               int64_t n_blocks, int64_t steps,
                               int64_t step_clocks)
{
    int64_t least = steps * step_clocks + epilogue_clocks(s);
    int64_t best = 1;

    for (int64_t splits = 2;
         n_split && splits <= MAX_PARTS && splits <= steps &&
         n_split * splits <= MAX_ROUNDS * n_blocks;
         splits++) {
        const int64_t clocks =
            last_wave_clocks(s, n_split, n_blocks, steps, step_clocks, splits);
        if (clocks < least) {
            least = clocks;
            best = splits;
        }
    }
    return best;
}

bool cz_tile_cost_of(const cz_tile_product *product,
                     const cz_tile_machine *machine, cz_tile_shape shape,
                     cz_tile_cost *out)
{
    const cz_tiling tiling = tiling_of(product, machine->sms, shape);
    int64_t memory;
    cz_tile_cost c;

    if (product->k <= 0 || product->k > CZ_MAX_DIM ||
        !cz_tile_count(&tiling, &c.n_tiles) ||
        !memory_clocks(product, machine, &memory))
        return false;
    const int64_t n_blocks = machine->sms;
    c.n_waves = cz_ceil_div(c.n_tiles, n_blocks);
    c.step_clocks =
        cz_solve_max(cz_solve_max(tensor_clocks(shape), shared_clocks(shape)),
                     l2_clocks(shape, cz_solve_min(c.n_tiles, n_blocks)));
    const int64_t steps = cz_ceil_div(product->k, CZ_TILE_STEP);
    const int64_t tile = steps * c.step_clocks + epilogue_clocks(shape);
    const int64_t n_split = c.n_tiles % n_blocks;
    if (!cz_checked_mul(tile, c.n_waves, &c.clocks))
        return false;
    c.splits = split_last_wave(shape, n_split, n_blocks, steps, c.step_clocks);
    if (c.splits > 1)
        c.clocks -= tile - last_wave_clocks(shape, n_split, n_blocks, steps,
                                            c.step_clocks, c.splits);
    c.clocks = cz_solve_max(c.clocks, memory);
    *out = c;
    return true;
}

int cz_tile_filled(const cz_tiling *tiling, int sms)
{
    int64_t n_tiles;

    if (sms <= 0 || !cz_tile_count(tiling, &n_tiles))
        return 0;
    const cz_wide all = (cz_wide)tiling->rows * tiling->cols;
    const cz_wide wanted =
        tiling->is_symmetric ? (all + tiling->rows) / 2 : all;
    const cz_wide room = (cz_wide)cz_ceil_div(n_tiles, sms) * sms *
                         tiling->tile_rows * tiling->tile_cols;
    return (int)((wanted * tiling->batch * 1000 + room / 2) / room);
}

static bool is_same(const cz_tile_product *a, const cz_tile_product *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k &&
           a->batch == b->batch && a->is_symmetric == b->is_symmetric;
}

/* Whether one of these rows tells of the product in this shape; the least time.
 */
static bool find_measured(const cz_tile_product *p, int sms, cz_tile_shape s,
                          const cz_tile_measured *rows, int n, int64_t *time)
{
    bool is_found = false;

    for (int i = 0; i < n; i++)
        if (rows[i].sms == sms && rows[i].rows == s.rows &&
            rows[i].cols == s.cols && is_same(&rows[i].product, p) &&
            (!is_found || rows[i].time < *time)) {
            *time = rows[i].time;
            is_found = true;
        }
    return is_found;
}

/* A row of no shape is the library's.  Where ours was not measured its time is
 * 0, and never too long. */
static const cz_tile_shape of_library = {0, 0, 0};

static void compare_library(const cz_tile_product *p, int sms,
                            const cz_tile_measured *rows, int n,
                            cz_tile_choice *choice)
{
    if (p->is_symmetric ||
        !find_measured(p, sms, of_library, rows, n, &choice->time_of_library))
        return;
    choice->is_library = (cz_wide)choice->time_of_library * 100 <
                         (cz_wide)choice->time * LIBRARY_SHARE;
}

bool cz_tile_choose(const cz_tile_product *product,
                    const cz_tile_machine *machine,
                    const cz_tile_measured *measured, int n_measured,
                    cz_tile_choice *out)
{
    int64_t best = INT64_MAX;
    bool is_found = false, is_measured = false;

    for (int i = 0; i < CZ_TILE_SHAPES; i++) {
        const cz_tile_shape shape = cz_tile_shapes[i];
        cz_tile_cost cost;
        int64_t time = 0;
        if (!cz_tile_cost_of(product, machine, shape, &cost))
            continue;
        const bool has_time = find_measured(product, machine->sms, shape,
                                            measured, n_measured, &time);
        const int64_t value = has_time ? time : cost.clocks;
        if (has_time < is_measured ||
            (has_time == is_measured && is_found && value >= best))
            continue;
        best = value;
        is_found = true;
        is_measured = has_time;
        *out =
            (cz_tile_choice){.shape = shape,
                             .tiling = tiling_of(product, machine->sms, shape),
                             .cost = cost,
                             .is_measured = has_time,
                             .time = time};
    }
    if (is_found)
        compare_library(product, machine->sms, measured, n_measured, out);
    return is_found;
}
