/* Between the two halves of the cut: where values cross, and the stages that
 * follow from it. */
#ifndef CZ_PASSES_CUT_INTERNAL_H
#define CZ_PASSES_CUT_INTERNAL_H

#include "passes/cut.h"

/* A node and the slot in which it enters or leaves a stage. */
typedef struct cz_cut_port {
    int node;
    cz_view_slot slot;
} cz_cut_port;

typedef struct cz_cut_ports {
    int n;
    cz_cut_port *list;
} cz_cut_ports;

/* The part of `graph` that computes `out` from `in`.  Every path from an
 * argument of the graph to a node of `out` meets a node of `in`; those that
 * none needs are left out. */
void cz_cut_extract(cz_arena *arena, const cz_graph *graph,
                    const cz_cut_ports *in, const cz_cut_ports *out,
                    cz_where where, cz_cut_stage *stage);

#endif
