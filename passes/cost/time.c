/* Times of kernels and collectives. */
#include "passes/cost/time.h"

#define PS_PER_SECOND ((cz_wide)1000000000000)

int64_t cz_time_limit(cz_wide amount)
{
    return amount > CZ_MAX_PS ? CZ_MAX_PS : (int64_t)amount;
}

int64_t cz_time_add(int64_t a_ps, int64_t b_ps)
{
    return cz_time_limit((cz_wide)a_ps + b_ps);
}

/* The product of two non-negative numbers, at most `limit`. */
static cz_wide times(cz_wide a, cz_wide b, cz_wide limit)
{
    return a && b > limit / a ? limit : a * b;
}

int64_t cz_time_of(cz_wide amount, int64_t rate)
{
    const cz_wide most = times(CZ_MAX_PS, rate, (cz_wide)1 << 126);
    const cz_wide scaled = times(amount, PS_PER_SECOND, most);
    return cz_time_limit((scaled + rate - 1) / rate);
}

/* ---- products ---- */

/* Tiles of a result; of a symmetric one those that touch the triangle below
 * and with the diagonal. */
static cz_wide tiles_of(const cz_machine *m, const cz_product_size *size)
{
    const int64_t rows = cz_ceil_div(size->rows, m->tile_rows);
    const int64_t columns = cz_ceil_div(size->columns, m->tile_columns);
    cz_wide tiles = 0;
    if (!size->symmetric || !m->symmetric)
        return (cz_wide)rows * columns;
    for (int64_t r = 0; r < rows; r++) {
        const cz_wide end = (cz_wide)(r + 1) * m->tile_rows;
        const cz_wide reach = (end + m->tile_columns - 1) / m->tile_columns;
        tiles += reach < columns ? reach : columns;
    }
    return tiles;
}

int64_t cz_time_product(const cz_machine *m, const cz_product_size *size)
{
    const cz_wide most = (cz_wide)1 << 100;
    const cz_wide tiles = times(tiles_of(m, size), size->batch, most);
    const cz_wide waves = (tiles + m->sms - 1) / m->sms;
    const cz_wide tile_flops =
        times(2 * (cz_wide)m->tile_rows * m->tile_columns, size->inner, most);
    const cz_wide flops = times(times(tile_flops, m->sms, most), waves, most);
    const int64_t compute = cz_time_of(
        flops, cz_dtype_is_narrow(size->dtype) ? m->bf16_rate : m->f32_rate);
    const int64_t move =
        cz_time_of(times(size->bytes, size->batch, most), m->memory_rate);
    return cz_time_add(compute > move ? compute : move, m->launch);
}

int64_t cz_time_call(const cz_machine *m, const cz_call_size *size,
                     int64_t batch)
{
    const cz_wide most = (cz_wide)1 << 100;
    const int64_t compute =
        cz_time_of(times(size->effort, batch, most), m->f32_rate);
    const int64_t move =
        cz_time_of(times(size->bytes, batch, most), m->memory_rate);
    const int64_t launch = cz_time_limit((cz_wide)m->launch * size->launches);
    return cz_time_add(compute > move ? compute : move, launch);
}

int64_t cz_time_batches(const int64_t *batch_ps, int most, int64_t n)
{
    const int64_t left = n % most;
    return cz_time_limit((cz_wide)(n / most) * batch_ps[most - 1] +
                         (left > 0 ? batch_ps[left - 1] : 0));
}

int64_t cz_time_map(const cz_machine *m, cz_wide bytes)
{
    return cz_time_add(cz_time_of(bytes, m->memory_rate), m->launch);
}

/* ---- collectives ---- */

/* `passes` times (n - 1) / n of the bytes through each rank's link. */
static int64_t ring(const cz_link_speed *link, int64_t n, int64_t bytes,
                    int passes)
{
    if (n <= 1)
        return 0;
    const cz_wide through = ((cz_wide)bytes * passes * (n - 1) + n - 1) / n;
    return cz_time_add(cz_time_of(through, link->rate), link->latency);
}

int64_t cz_time_reduce_scatter(const cz_link_speed *link, int64_t n,
                               int64_t bytes)
{
    return ring(link, n, bytes, 1);
}

int64_t cz_time_all_gather(const cz_link_speed *link, int64_t n, int64_t bytes)
{
    return ring(link, n, bytes, 1);
}

int64_t cz_time_all_reduce(const cz_link_speed *link, int64_t n, int64_t bytes)
{
    return ring(link, n, bytes, 2);
}

int64_t cz_time_send(const cz_link_speed *link, cz_wide bytes)
{
    return cz_time_add(cz_time_of(bytes, link->rate), link->latency);
}
