/* How long one kernel or one collective takes, in picoseconds.  Every result
 * is in [0, CZ_MAX_PS]: what would be longer is CZ_MAX_PS. */
#ifndef CZ_PASSES_COST_TIME_H
#define CZ_PASSES_COST_TIME_H

#include "dsl/base/checked.h"
#include "dsl/vocab/dtype.h"
#include "passes/cost/machine.h"

#define CZ_MAX_PS CZ_MAX_BYTES

__extension__ typedef __int128 cz_wide;

/* Fractions are counted in these. */
enum { CZ_TIME_MILLION = 1000000 };

/* At most CZ_MAX_PS; of bytes and operations too. */
int64_t cz_time_limit(cz_wide amount);
int64_t cz_time_add(int64_t a_ps, int64_t b_ps);
/* amount / rate seconds, rounded up; rate > 0. */
int64_t cz_time_of(cz_wide amount, int64_t rate);

/* `batch` products [rows, inner] @ [inner, columns] in one kernel.  Tiles run
 * in waves of `sms`; a wave that is not full takes as long as a full one, and
 * so does a tile beyond the edge.  Not below the time to move `bytes`. */
typedef struct cz_product_size {
    int64_t rows, columns, inner, batch;
    bool symmetric; /* rows == columns; only tiles that touch the lower
                     * triangle are computed where the machine can */
    cz_dtype dtype; /* of the operands */
    int64_t bytes;  /* read and written, of one of the batch */
} cz_product_size;

int64_t cz_time_product(const cz_machine *machine, const cz_product_size *size);

/* A factorisation: `effort` f32 operations at the full rate, not below the time
 * to move `bytes`, in `launches` kernels; of one of a batch, which share the
 * launches. */
typedef struct cz_call_size {
    int64_t effort, launches, bytes;
} cz_call_size;

int64_t cz_time_call(const cz_machine *machine, const cz_call_size *size,
                     int64_t batch);

/* n equal matrices of an operation: batches of `most`, the last one of what is
 * left; batch_ps[i] is that of i + 1 matrices. */
int64_t cz_time_batches(const int64_t *batch_ps, int most, int64_t n);

/* An element-wise kernel that moves so many bytes. */
int64_t cz_time_map(const cz_machine *machine, cz_wide bytes);

/* Collectives among n ranks over one class of links, each sending and
 * receiving at full rate, as rings do.  `bytes` are those of the whole buffer.
 * All are 0 for n = 1. */
int64_t cz_time_reduce_scatter(const cz_link_speed *link, int64_t n,
                               int64_t bytes);
int64_t cz_time_all_gather(const cz_link_speed *link, int64_t n, int64_t bytes);
int64_t cz_time_all_reduce(const cz_link_speed *link, int64_t n, int64_t bytes);
/* One rank sends or receives `bytes`. */
int64_t cz_time_send(const cz_link_speed *link, cz_wide bytes);

#endif
