/* Between the parts of the cut: where values cross, the slots of the stages
 * that follow from it, and their graphs. */
#ifndef CZ_PASSES_CUT_INTERNAL_H
#define CZ_PASSES_CUT_INTERNAL_H

#include "passes/cut/cut.h"

/* A node and the slot in which it enters or leaves a stage. */
typedef struct cz_cut_port {
    int node;
    cz_view_slot slot;
} cz_cut_port;

typedef struct cz_cut_ports {
    int n;
    cz_cut_port *list;
} cz_cut_ports;

enum {
    CZ_CUT_GRAD = 0,
    CZ_CUT_PARAM = 1,
    CZ_CUT_FIRST_STATE = 2
}; /* arguments of an update */

typedef struct cz_cutter {
    cz_arena *arena;
    const cz_cut_rule *rule;
    const cz_graph *graph;
    cz_ir_type shape;
    bool *live;
    bool *uniform;
    bool *elementwise; /* on tensors of the rule's shape */
    bool *full_matrix; /* depends on the whole matrix */
    bool *fixed;       /* travels as wide as it is */
    bool *forced;      /* the owner alone can compute it, or needs it */
    bool *gathered;    /* crosses to the owner */
    bool *at_owner;    /* the owner can compute it from what is gathered */
    bool *crosses;     /* is handed to `after` */
    int *state_of;     /* which new state the node is, written `before`; -1 */
} cz_cutter;

const cz_graph_node *cz_cut_node(const cz_cutter *c, int i);
/* The argument that output i of the update renews. */
int cz_cut_argument_of(int output);
/* Whether an argument is a state that is whole; whether a node is one, as the
 * step begins. */
bool cz_cut_is_owned_state(const cz_cutter *c, int argument);
bool cz_cut_is_owners(const cz_cutter *c, int i);
/* What a node is while it travels. */
cz_dtype cz_cut_wire_dtype(const cz_cutter *c, int i);
/* Of the update: the parameter, then states. */
int cz_cut_n_outputs(const cz_cutter *c);
bool cz_cut_is_unchanged(const cz_cutter *c, int output);
/* The stage that writes an output, where there are three. */
cz_where cz_cut_written_in(const cz_cutter *c, int output);

/* The stages; how many. */
int cz_cut_element_wise(const cz_cutter *c, cz_cut_stage *stages);
int cz_cut_three_stages(const cz_cutter *c, cz_cut_stage *stages);

/* The part of `graph` that computes `out` from `in`.  Every path from an
 * argument of the graph to a node of `out` meets a node of `in`; those that
 * none needs are left out. */
void cz_cut_extract(cz_arena *arena, const cz_graph *graph,
                    const cz_cut_ports *in, const cz_cut_ports *out,
                    cz_where where, cz_cut_stage *stage);

#endif
