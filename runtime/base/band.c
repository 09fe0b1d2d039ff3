/* Blocks of the band, and the rest of the matrix from them. */
#include "runtime/base/band.h"

#include <string.h>

/* Blocks of columns in the band of each block of rows. */
static size_t width_of(const czr_band *band)
{
    return band->blocks / 2 + 1;
}

size_t czr_band_width(const czr_band *band)
{
    return width_of(band) * (band->side / band->blocks);
}

int czr_band_runs(const czr_band *band, size_t row, czr_run runs[2])
{
    const size_t block = band->side / band->blocks;
    const size_t start = row / block * block;
    const size_t width = czr_band_width(band);
    const size_t room = band->side - start;
    const size_t head = width < room ? width : room;

    runs[0] = (czr_run){row * band->side + start, head};
    runs[1] = (czr_run){row * band->side, width - head};
    return head < width ? 2 : 1;
}

/* The block at (i, j) becomes the transposed one at (j, i). */
static void mirror_block(const czr_band *band, unsigned char *matrix,
                         size_t bytes, size_t i, size_t j)
{
    const size_t n = band->side / band->blocks;

    for (size_t row = i * n; row < (i + 1) * n; row++)
        for (size_t column = j * n; column < (j + 1) * n; column++)
            memcpy(matrix + (row * band->side + column) * bytes,
                   matrix + (column * band->side + row) * bytes, bytes);
}

void czr_band_mirror(const czr_band *band, void *matrix, size_t element_bytes)
{
    for (size_t i = 0; i < band->blocks; i++)
        for (size_t k = width_of(band); k < band->blocks; k++)
            mirror_block(band, matrix, element_bytes, i,
                         (i + k) % band->blocks);
}
