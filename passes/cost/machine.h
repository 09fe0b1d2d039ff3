/* What the time model knows of a GPU and of the links between GPUs.  Whole
 * numbers only, so that a plan has the same bytes everywhere. */
#ifndef CZ_PASSES_COST_MACHINE_H
#define CZ_PASSES_COST_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* The classes of links: between GPUs of one node, and between nodes. */
typedef enum cz_link { CZ_LINK_NODE, CZ_LINK_NETWORK, CZ_N_LINKS } cz_link;

/* Every GPU sends and receives at `rate` at the same time. */
typedef struct cz_link_speed {
    int64_t rate;       /* bytes per second */
    int64_t latency_ps; /* of one message or collective */
} cz_link_speed;

/* A measured time, in place of the modelled one. */
typedef struct cz_machine_time {
    const char *optimizer;
    int64_t rows, columns; /* of the matrix, as the optimizer sees it */
    int64_t batch, group;
    int64_t time_ps;
} cz_machine_time;

/* Matrix products run on `sms` processors, each computing tiles of tile_rows
 * by tile_columns; all of them together reach the rates below.  All numbers
 * are positive but launch_ps, latencies and `symmetric`. */
typedef struct cz_machine {
    const char *name;
    int64_t gpus_per_node;
    int64_t sms, tile_rows, tile_columns;
    int64_t bf16_rate, f32_rate; /* operations per second of products */
    int64_t memory_rate;         /* bytes per second */
    int64_t launch_ps;           /* of one kernel */
    bool symmetric; /* symmetric products compute one triangle of tiles */
    cz_link_speed links[CZ_N_LINKS];
    int n_times;
    const cz_machine_time *times;
} cz_machine;

#endif
