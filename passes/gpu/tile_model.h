/* Which tiles a product is computed in on sm_90a: a model of clocks, in
 * integers, and measured times where there are any (bench/tiles.txt). */
#ifndef CZ_PASSES_GPU_TILE_MODEL_H
#define CZ_PASSES_GPU_TILE_MODEL_H

#include "passes/gpu/tile_order.h"

/* Rows and columns of elements, and how many steps of 64 along k a block of
 * threads holds at once. */
typedef struct cz_tile_shape {
    int rows, cols, stages;
} cz_tile_shape;

enum { CZ_TILE_SHAPES = 4, CZ_TILE_STEP = 64 };
/* All that are tested; among equals the first is taken. */
extern const cz_tile_shape cz_tile_shapes[CZ_TILE_SHAPES];

/* c = alpha x y' + beta s of 16-bit elements, x [m, k], y [n, k];
 * tiles do not depend on which of them is transposed. */
typedef struct cz_tile_product {
    int64_t m, n, k, batch;
    bool is_symmetric; /* m = n, and c is: half of it is computed */
    bool is_gram;      /* y is x */
    bool has_addend;   /* beta is not 0 */
} cz_tile_product;

typedef struct cz_tile_machine {
    int sms;              /* that the product may have */
    int64_t memory_bytes; /* a clock, of all the device */
} cz_tile_machine;

/* A machine by the figures of dsl/std/machine, a second.  The clock is the one
 * at which tensor cores do 4096 operations an SM, and come to bf16_rate. False:
 * a figure is not positive, or too large. */
bool cz_tile_machine_of(int sms, int64_t bf16_rate, int64_t memory_rate,
                        cz_tile_machine *out);

typedef struct cz_tile_cost {
    int64_t n_tiles, n_waves;
    /* For 64 of k of one tile: what the slowest of tensor cores, shared memory
     * and L2 takes. */
    int64_t step_clocks;
    /* In how many parts of k the tiles of a last wave that is not full are
     * computed, each by a block of its own; 1 where that would not be faster.
     */
    int64_t splits;
    /* All of it. */
    int64_t clocks;
} cz_tile_cost;

/* False: a size is not positive, k is 0, or clocks have no room. */
bool cz_tile_cost_of(const cz_tile_product *product,
                     const cz_tile_machine *machine, cz_tile_shape shape,
                     cz_tile_cost *out);

/* Of the elements that all waves have room for, how many are of the output; of
 * a symmetric one, on or above the diagonal.  In thousandths, rounded. */
int cz_tile_filled(const cz_tiling *tiling, int sms);

/* A time that was measured, in nanoseconds: in tiles of this shape, or, where
 * they have no rows, by cuBLASLt as the runtime has it compute the product. */
typedef struct cz_tile_measured {
    cz_tile_product product;
    int sms, rows, cols;
    int64_t time;
} cz_tile_measured;

typedef struct cz_tile_choice {
    cz_tile_shape shape;
    cz_tiling tiling; /* for cz_tile_order */
    cz_tile_cost cost;
    bool is_measured;
    /* cuBLASLt was measured to be faster; the shape is for where it is missing.
     */
    bool is_library;
    int64_t time, time_of_library; /* of both; 0: not measured */
} cz_tile_choice;

/* The shape of least time among those that were measured for just this product
 * on so many SMs; if none was, of least clocks.  cuBLASLt where that shape does
 * not reach 0.97 of it, both measured; never for a symmetric product, which it
 * would not make symmetric bit by bit.  False as cz_tile_cost_of. */
bool cz_tile_choose(const cz_tile_product *product,
                    const cz_tile_machine *machine,
                    const cz_tile_measured *measured, int n_measured,
                    cz_tile_choice *out);

/* Of `available` products like this one (whose own batch does not count), how
 * many to compute at once: the fewest whose tiles, as chosen, fill 95 % of
 * their waves; if no number does, the fewest that take the least clocks each.
 * 0 where cz_tile_choose would say false. */
int64_t cz_tile_batch(const cz_tile_product *product,
                      const cz_tile_machine *machine,
                      const cz_tile_measured *measured, int n_measured,
                      int64_t available);

/* Reads the table of bench/tiles.txt, whose head explains it.  `rows` has room
 * for `max`.  False: *line says which line is wrong, counted from 1. */
bool cz_tile_measured_read(const char *text, cz_tile_measured *rows, int max,
                           int *n, int *line);

#endif
