/* A cut that is chosen, as stages: which slots each reads and writes. */
#include "passes/cut/internal.h"

const cz_graph_node *cz_cut_node(const cz_cutter *c, int i)
{
    return &c->graph->nodes[i];
}

/* The argument that output i of the update renews. */
int cz_cut_argument_of(int output)
{
    return output + 1;
}

bool cz_cut_is_owned_state(const cz_cutter *c, int argument)
{
    return argument >= CZ_CUT_FIRST_STATE &&
           c->rule->full_matrix[argument - CZ_CUT_FIRST_STATE];
}

/* A state as the owner has it. */
bool cz_cut_is_owners(const cz_cutter *c, int i)
{
    return cz_cut_node(c, i)->kind == CZ_GRAPH_IN &&
           cz_cut_is_owned_state(c, cz_cut_node(c, i)->index);
}

/* What a node is while it travels. */
cz_dtype cz_cut_wire_dtype(const cz_cutter *c, int i)
{
    const cz_dtype dtype = cz_cut_node(c, i)->type.dtype;

    return dtype == CZ_F32 && !c->fixed[i] ? CZ_BF16 : dtype;
}

int cz_cut_n_outputs(const cz_cutter *c)
{
    return c->rule->n_states + 1;
}

bool cz_cut_is_unchanged(const cz_cutter *c, int output)
{
    const cz_graph_node *node = cz_cut_node(c, c->graph->out[output]);

    return node->kind == CZ_GRAPH_IN &&
           node->index == cz_cut_argument_of(output);
}

/* The stage that writes an output: one of three. */
cz_where cz_cut_written_in(const cz_cutter *c, int output)
{
    if (cz_cut_is_owned_state(c, cz_cut_argument_of(output)))
        return CZ_WHERE_FULL_MATRIX;
    return output > 0 && !c->full_matrix[c->graph->out[output]]
               ? CZ_WHERE_PRE_GATHER
               : CZ_WHERE_POST_SCATTER;
}

/* ---- ports ---- */

static cz_view_slot argument_slot(const cz_cutter *c, int argument)
{
    int state = argument - CZ_CUT_FIRST_STATE;

    if (argument == CZ_CUT_GRAD)
        return (cz_view_slot){CZ_SLOT_GRAD, 0, CZ_F32};
    if (argument == CZ_CUT_PARAM)
        return (cz_view_slot){CZ_SLOT_PARAM, 0, c->rule->param};
    return (cz_view_slot){CZ_SLOT_STATE, state, c->rule->states[state]};
}

static void add_port(const cz_cutter *c, cz_cut_ports *ports, int node,
                     cz_view_slot slot)
{
    *CZ_PUSH(c->arena, ports->list, ports->n) = (cz_cut_port){node, slot};
}

/* Those that shards have, or the owner. */
static void add_arguments(const cz_cutter *c, cz_cut_ports *ports,
                          bool at_owner)
{
    for (int i = 0; i < c->graph->n; i++)
        if (cz_cut_node(c, i)->kind == CZ_GRAPH_IN &&
            cz_cut_is_owners(c, i) == at_owner)
            add_port(c, ports, i, argument_slot(c, cz_cut_node(c, i)->index));
}

/* The nodes marked, numbered in their order, in slots of one kind. */
static void add_marked(const cz_cutter *c, cz_cut_ports *ports,
                       const bool *marked, cz_slot_kind kind)
{
    int n = 0;

    for (int i = 0; i < c->graph->n; i++)
        if (marked[i])
            add_port(c, ports, i,
                     (cz_view_slot){kind, n++,
                                    kind == CZ_SLOT_TEMP
                                        ? cz_cut_node(c, i)->type.dtype
                                        : cz_cut_wire_dtype(c, i)});
}

/* New parameter and states that are written in a stage of three. */
static void add_results(const cz_cutter *c, cz_cut_ports *ports, cz_where where)
{
    for (int i = 0; i < cz_cut_n_outputs(c); i++)
        if (!cz_cut_is_unchanged(c, i) && cz_cut_written_in(c, i) == where)
            add_port(c, ports, c->graph->out[i],
                     argument_slot(c, cz_cut_argument_of(i)));
    if (where == CZ_WHERE_POST_SCATTER && c->rule->has_stored &&
        !cz_cut_is_unchanged(c, 0))
        add_port(c, ports, c->graph->out[0],
                 (cz_view_slot){CZ_SLOT_STORED, 0, c->rule->stored});
}

static const bool *crossing(const cz_cutter *c, bool from_owner)
{
    bool *marked = CZ_NEW(c->arena, bool, c->graph->n);

    for (int i = 0; i < c->graph->n; i++)
        marked[i] = c->crosses[i] && c->full_matrix[i] == from_owner &&
                    c->state_of[i] < 0;
    return marked;
}

int cz_cut_element_wise(const cz_cutter *c, cz_cut_stage *stages)
{
    cz_cut_ports in = {0}, out = {0};

    add_arguments(c, &in, false);
    add_results(c, &out, CZ_WHERE_PRE_GATHER);
    add_results(c, &out, CZ_WHERE_POST_SCATTER);
    cz_cut_extract(c->arena, c->graph, &in, &out, CZ_WHERE_ELEMENT_WISE,
                   &stages[0]);
    return 1;
}

int cz_cut_three_stages(const cz_cutter *c, cz_cut_stage *stages)
{
    const bool *scattered = crossing(c, true), *kept = crossing(c, false);
    cz_cut_ports in[CZ_CUT_MAX_STAGES] = {{0}}, out[CZ_CUT_MAX_STAGES] = {{0}};

    add_arguments(c, &in[0], false);
    add_results(c, &out[0], CZ_WHERE_PRE_GATHER);
    add_marked(c, &out[0], c->gathered, CZ_SLOT_GATHER);
    add_marked(c, &out[0], kept, CZ_SLOT_TEMP);
    add_marked(c, &in[1], c->gathered, CZ_SLOT_GATHER);
    add_arguments(c, &in[1], true);
    add_results(c, &out[1], CZ_WHERE_FULL_MATRIX);
    add_marked(c, &out[1], scattered, CZ_SLOT_SCATTER);
    add_marked(c, &in[2], scattered, CZ_SLOT_SCATTER);
    add_marked(c, &in[2], kept, CZ_SLOT_TEMP);
    cz_cut_ports *ports = &in[2];
    for (int i = 0; i < c->graph->n; i++)
        if (c->state_of[i] >= 0)
            add_port(c, ports, i,
                     argument_slot(c, c->state_of[i] + CZ_CUT_FIRST_STATE));
    add_arguments(c, &in[2], false);
    add_results(c, &out[2], CZ_WHERE_POST_SCATTER);
    for (int s = 0; s < CZ_CUT_MAX_STAGES; s++)
        cz_cut_extract(c->arena, c->graph, &in[s], &out[s],
                       (cz_where)(CZ_WHERE_PRE_GATHER + s), &stages[s]);
    return stages[2].n_out > 0 ? 3 : 2;
}
