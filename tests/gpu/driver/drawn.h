/* Lists of operations, drawn: streams, waits, and the cells of memory that each
 * operation reads and writes, with a wait wherever two of them would meet. */
#ifndef TESTS_CUDA_DRAWN_H
#define TESTS_CUDA_DRAWN_H

#include "runtime/czr.h"

#include <stdbool.h>
#include <string.h>

enum { DRAWN_OPS = 24, DRAWN_STREAMS = 4, DRAWN_CELLS = 6, DRAWN_READS = 2 };

typedef struct drawn_list {
    czr_program program;
    czr_op ops[DRAWN_OPS];
    int32_t waits[DRAWN_OPS][DRAWN_OPS];
    int reads[DRAWN_OPS][DRAWN_READS], writes[DRAWN_OPS];
    bool is_skipped[DRAWN_OPS];
    bool before[DRAWN_OPS][DRAWN_OPS]; /* by streams and waits, of what comes */
} drawn_list;

static inline uint32_t drawn_number(uint64_t *state, uint32_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 33) % n;
}

/* Whether operation `b` waits for `a`, alone. */
static inline bool drawn_waits(const drawn_list *list, int b, int a)
{
    for (int i = 0; i < list->ops[b].n_waits; i++)
        if (list->waits[b][i] == a)
            return true;
    return false;
}

/* before[a][b] for all a of one b; operations that are skipped order nothing.
 */
static inline void drawn_close_one(drawn_list *list, int b)
{
    for (int a = b - 1; a >= 0; a--) {
        const bool is_direct = !list->is_skipped[a] && !list->is_skipped[b] &&
                               (list->ops[a].stream == list->ops[b].stream ||
                                drawn_waits(list, b, a));
        list->before[a][b] = is_direct;
        for (int between = a + 1; between < b; between++)
            list->before[a][b] |=
                list->before[a][between] && list->before[between][b];
    }
}

static inline bool drawn_reads(const drawn_list *list, int op, int cell)
{
    return list->reads[op][0] == cell || list->reads[op][1] == cell;
}

/* One of them writes what the other touches. */
static inline bool drawn_conflict(const drawn_list *list, int a, int b)
{
    return !list->is_skipped[a] && !list->is_skipped[b] &&
           (list->writes[a] == list->writes[b] ||
            drawn_reads(list, b, list->writes[a]) ||
            drawn_reads(list, a, list->writes[b]));
}

static inline void drawn_add_wait(drawn_list *list, int op, int first)
{
    list->waits[op][list->ops[op].n_waits++] = first;
}

/* Every conflict ordered, and some waits that need not be; in drawn order. */
static inline void drawn_order(drawn_list *list, int op, uint64_t *state)
{
    for (int first = op - 1; first >= 0; first--) {
        drawn_close_one(list, op);
        if (drawn_number(state, 10) == 0 ||
            (drawn_conflict(list, first, op) && !list->before[first][op]))
            drawn_add_wait(list, op, first);
    }
    for (int i = list->ops[op].n_waits - 1; i > 0; i--) {
        const uint32_t j = drawn_number(state, (uint32_t)i + 1);
        const int32_t kept = list->waits[op][i];
        list->waits[op][i] = list->waits[op][j];
        list->waits[op][j] = kept;
    }
    drawn_close_one(list, op);
}

static inline void drawn_make(drawn_list *list, uint64_t *state)
{
    memset(list, 0, sizeof *list);
    const uint32_t n_streams = 1 + drawn_number(state, DRAWN_STREAMS);
    list->program.ops = list->ops;
    list->program.n_ops = 1 + (int)drawn_number(state, DRAWN_OPS);
    const bool skips = drawn_number(state, 2);
    for (int op = 0; op < list->program.n_ops; op++) {
        list->ops[op].stream = (uint8_t)drawn_number(state, n_streams);
        list->ops[op].waits = list->waits[op];
        list->is_skipped[op] = skips && drawn_number(state, 4) == 0;
        list->writes[op] = (int)drawn_number(state, DRAWN_CELLS);
        for (int i = 0; i < DRAWN_READS; i++)
            list->reads[op][i] = (int)drawn_number(state, DRAWN_CELLS);
        drawn_order(list, op, state);
    }
}

/* What operation `op` makes of what it reads. */
static inline uint64_t drawn_mix(uint64_t a, uint64_t b, uint64_t op)
{
    const uint64_t x = (a ^ (b << 23 | b >> 41)) + op;

    return (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* All operations that are not skipped, in list order. */
static inline void drawn_run(const drawn_list *list, uint64_t *cells)
{
    for (int op = 0; op < list->program.n_ops; op++)
        if (!list->is_skipped[op])
            cells[list->writes[op]] =
                drawn_mix(cells[list->reads[op][0]], cells[list->reads[op][1]],
                          (uint64_t)op);
}

#endif
