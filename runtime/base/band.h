/* The band of a symmetric matrix: what of it travels between ranks, where every
 * element outside is that at its mirrored place.  Its rows are cut into
 * `blocks` equal blocks; a block of rows has the block of columns on the
 * diagonal and the next blocks / 2 behind it, after the last those from the
 * first on (a circulant band).  The members of a group have the blocks of rows
 * in equal parts, in order. */
#ifndef CZR_BASE_BAND_H
#define CZR_BASE_BAND_H

#include <stddef.h>

typedef struct czr_band {
    size_t side;   /* rows, and columns */
    size_t blocks; /* divides side; 0: no band, all of the matrix travels */
} czr_band;

/* Elements next to each other. */
typedef struct czr_run {
    size_t first, n;
} czr_run;

/* Elements of each row that lie in the band. */
size_t czr_band_width(const czr_band *band);
/* The runs of a row that lie in the band; how many, 1 or 2. */
int czr_band_runs(const czr_band *band, size_t row, czr_run runs[2]);

/* Elements outside the band become those at their mirrored places, which lie in
 * it; an element has so many bytes. */
void czr_band_mirror(const czr_band *band, void *matrix, size_t element_bytes);

#endif
