/* What the time model knows of a GPU and of the links between GPUs.  Whole
 * numbers only, so that a plan has the same bytes everywhere. */
#ifndef CZ_PASSES_COST_MACHINE_H
#define CZ_PASSES_COST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "dsl/base/arena.h"
#include "dsl/plan/plan.h"

/* The classes of links: between GPUs of one node, and between nodes. */

/* Every GPU sends and receives at `rate` at the same time. */
typedef struct cz_link_speed {
    int64_t rate;    /* bytes per second */
    int64_t latency; /* picoseconds, of one message or collective */
} cz_link_speed;

/* A measured time, in place of the modelled one. */
typedef struct cz_machine_time {
    const char *optimizer;
    int64_t rows, columns; /* of the matrix, as the optimizer sees it */
    int64_t batch, subgroup_size;
    int64_t time_ps;
} cz_machine_time;

/* How fast reductions and gathers of unequal slices are. */
typedef struct cz_machine_uneven {
    cz_link link;
    int64_t bytes, roots; /* of all slices; ranks that have one */
    int64_t thousandths;  /* of the link's rate */
    bool is_measured;
} cz_machine_uneven;

/* Matrix products run on `sms` processors, each computing tiles of tile_rows
 * by tile_columns; all of them together reach bf16_rate or f32_rate.  The
 * constants are those of dsl/vocab/machine.def, in its units. */
typedef struct cz_machine {
    const char *name;
#define CZ_CONSTANT(field, unit, scale, low, what) int64_t field;
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    int n_times;
    const cz_machine_time *times;
    int n_unevens;
    const cz_machine_uneven *unevens;
} cz_machine;

/* At how many thousandths of the link's rate uneven slices travel: that of the
 * nearest entry, measured ones first: of those with the most roots that are not
 * more, else the fewest, that with the most bytes that are not more, else the
 * fewest.  1000 where there is none. */
int64_t cz_machine_uneven_speed(const cz_machine *machine, cz_link link,
                                int64_t bytes, int64_t roots);

cz_link_speed cz_machine_link(const cz_machine *machine, cz_link link);

/* Links over a set of axes, between ranks that agree on the others, in blocks
 * of their coordinates; size 0: all together.  Those of the node where every
 * block lies in one.  Nodes have consecutive ranks. */
cz_link cz_machine_link_over(const cz_machine *machine, cz_axes axes,
                             int64_t set, cz_block block);

/* The most coordinates over a set of axes that divide all of them into blocks
 * of which each lies in one node. */
int cz_machine_near(const cz_machine *machine, cz_axes axes, int64_t set);

cz_machine_uneven cz_machine_uneven_of(const cz_fact_uneven_reduce *fact);

/* The machine of a plan.  False when it has none. */
bool cz_machine_of(cz_arena *arena, const cz_plan_view *view, cz_machine *out);

#endif
