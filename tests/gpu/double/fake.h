/* A test double of the CUDA driver: a shared library with the functions of
 * runtime/cuda/driver/driver_calls.def that does what the driver API's
 * documentation says, where tests care, and as unkindly as that allows. Streams
 * run late and in a drawn order among those permitted; memory of the device
 * holds NaN until it is written, and no pointer of the host reaches it;
 * whatever ends too soon or lies out of bounds is an error.  It says nothing
 * about GPUs.
 *
 * One thread at a time, but contexts are current to threads.  Below: what tests
 * tell it and ask it. */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* As new: nothing lives, nothing fails.  `seed` draws orders; in [0, 100)
 * `eagerness` is how likely more runs behind each call, 0: nothing runs before
 * somebody waits. */
void fake_reset(uint64_t seed, int eagerness);

/* From now on whoever waits for a stream has nothing else run that it does not
 * wait for, but for what may bring partners of a communication. */
void fake_be_lazy(void);

/* Several threads, one at a time: each has the turn between these two, and lets
 * others go on where it waits for a stream or polls one.  Threads in order. */
void fake_begin_turn(void);
void fake_end_turn(void);

/* The device: what cuDriverGetVersion tells (12090), how many there are (1, at
 * most 16), and bytes of memory (2^26). */
void fake_set_version(int version);
/* Compute capability, 10 major + minor: 90. */
void fake_set_capability(int capability);
void fake_set_devices(int n);
void fake_set_memory(size_t bytes);

/* From now on the nth call (from 1) returns `code`: of one function, or with
 * NULL of any.  A function that gives back does so nevertheless. */
void fake_fail(const char *symbol, int64_t nth, int code);
/* Whether that call came. */
int fake_has_failed(void);
int64_t fake_calls(void);
/* What each function was called. */
const char *fake_symbol(int64_t call);

/* Streams stay where they are from now on, as when a kernel does not end. */
void fake_hang(void);

/* Runs when a stream reaches a launch.  `arguments` are copies of the launch's;
 * machine code says their sizes, see fake_module.c. */
typedef void (*fake_kernel)(void **arguments);
void fake_register(const char *name, fake_kernel run);
/* The same, and bytes of the arguments, which machine code may leave to us. */
void fake_register_sized(const char *name, fake_kernel run, int n_arguments,
                         const int *bytes);
int fake_is_sized(const char *name);
/* Blocks and threads of each, all axes, of the launch that runs. */
unsigned fake_launch_blocks(void);
unsigned fake_launch_threads(void);
/* Until the next reset memory of the device has the addresses that it has on
 * the host, so that kernels may follow pointers that lie there. */
void fake_share_addresses(void);
/* Whether kernels may follow it: in memory of the device or pinned, or at its
 * end. */
int fake_is_reachable(uint64_t address);
/* Of a stream: lower ones are greater, 0 is the least. */
int fake_priority(const void *stream);
/* Device memory for kernels and for what tests compare.  Out of bounds: NULL,
 * and the context is lost by an illegal address (700). */
void *fake_at(uint64_t address, size_t bytes);

/* What has not been given back. */
typedef struct fake_live {
    int64_t contexts, blocks, pinned, streams, events, libraries, graphs, execs;
    int64_t bytes;     /* of blocks and pinned */
    int64_t internals; /* the double's own pieces of memory */
} fake_live;
fake_live fake_count(void);
/* Copies and fills that a stream came to when their memory had been freed. */
int64_t fake_gone(void);
/* The sum of all handles. */
int64_t fake_handles(void);

/* What was put on streams, in the order of the calls. */
typedef enum fake_entry_kind {
    FAKE_LAUNCH,
    FAKE_RECORD,
    FAKE_WAIT,
    FAKE_COPY,
    FAKE_GRAPH
} fake_entry_kind;

typedef struct fake_entry {
    fake_entry_kind kind;
    const void *stream, *event; /* event: of records and waits */
    int64_t tag; /* of launches: their first argument, an int64 */
} fake_entry;
const fake_entry *fake_log(int64_t *n);
void fake_clear_log(void);

/* Of a tensor map: address, two extents, swizzle, two strides in bytes,
 * type of elements. */
enum {
    FAKE_MAP_ADDRESS,
    FAKE_MAP_COLUMNS,
    FAKE_MAP_ROWS,
    FAKE_MAP_STRIDES = 4,
    FAKE_MAP_TYPE = 6
};

/* The last launch's dynamic shared memory. */
unsigned fake_last_shared(void);

#endif
