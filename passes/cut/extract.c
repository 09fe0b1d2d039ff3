/* One stage out of a graph: the nodes between its slots. */
#include "passes/cut/internal.h"

#include <assert.h>

typedef struct extractor {
    cz_arena *arena;
    const cz_graph *from;
    cz_cut_stage *stage;
    const cz_cut_port **given; /* [n] port by which a node enters, or NULL */
    bool *needed;              /* [n] */
    int *in_of;                /* [n] argument of a needed given node */
    int *copy_of;              /* [n] node in the stage's graph */
    int n_scalars;
    int *scalar_of; /* number in the stage behind a scalar of the rule; -1 */
} extractor;

static int slot_order(const cz_view_slot *a, const cz_view_slot *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Insertion sort by slot: the lists are short and the order total. */
static void sort_ports(cz_cut_port *list, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0; k--) {
            cz_cut_port swap = list[k];
            if (slot_order(&list[k - 1].slot, &swap.slot) <= 0)
                break;
            list[k] = list[k - 1];
            list[k - 1] = swap;
        }
}

static cz_view_slot *slots_of(cz_arena *arena, const cz_cut_port *list, int n)
{
    cz_view_slot *slots = CZ_NEW(arena, cz_view_slot, n);

    for (int i = 0; i < n; i++)
        slots[i] = list[i].slot;
    return slots;
}

static cz_ir_type stage_type(const extractor *x, cz_ir_type type)
{
    cz_ir_type flat = {.dtype = type.dtype, .rank = 1, .is_bool = type.is_bool};

    flat.shape[0] = 1;
    return x->stage->where == CZ_WHERE_FULL_MATRIX ? type : flat;
}

static void collect_inputs(extractor *x)
{
    cz_cut_stage *stage = x->stage;
    cz_cut_port *list = CZ_NEW(x->arena, cz_cut_port, x->from->n);

    for (int i = 0; i < x->from->n; i++)
        if (x->needed[i] && x->given[i])
            list[stage->n_in++] = (cz_cut_port){i, x->given[i]->slot};
    sort_ports(list, stage->n_in);
    stage->in = slots_of(x->arena, list, stage->n_in);
    stage->in_types = CZ_NEW(x->arena, cz_ir_type, stage->n_in);
    for (int i = 0; i < stage->n_in; i++) {
        cz_ir_type type = x->from->nodes[list[i].node].type;
        x->in_of[list[i].node] = i;
        stage->in_types[i] =
            stage_type(x, cz_ir_type_with(type, list[i].slot.dtype));
    }
}

/* The rule's scalars that occur, ascending. */
static void collect_scalars(extractor *x)
{
    int n = 0;
    int64_t *numbers = NULL;

    for (int i = 0; i < x->from->n; i++)
        if (x->from->nodes[i].kind == CZ_GRAPH_SCALAR &&
            x->from->nodes[i].index >= n)
            n = x->from->nodes[i].index + 1;
    x->scalar_of = CZ_NEW(x->arena, int, n);
    for (int i = 0; i < x->from->n; i++)
        if (x->needed[i] && x->from->nodes[i].kind == CZ_GRAPH_SCALAR)
            x->scalar_of[x->from->nodes[i].index] = 1;
    for (int s = 0; s < n; s++)
        if (x->scalar_of[s]) {
            x->scalar_of[s] = x->n_scalars;
            *CZ_PUSH(x->arena, numbers, x->n_scalars) = s;
        }
    x->stage->scalars = (cz_ints){numbers, x->n_scalars};
}

static int convert(cz_graph *graph, int node, cz_dtype dtype)
{
    cz_dtype from = graph->nodes[node].type.dtype;

    if (from == dtype)
        return node;
    return cz_graph_unary(graph,
                          cz_dtype_bytes(from) < cz_dtype_bytes(dtype)
                              ? CZ_OP_EXTEND
                              : CZ_OP_TRUNCATE,
                          node, dtype);
}

static int copy_node(extractor *x, int i)
{
    cz_graph_node node = x->from->nodes[i];
    cz_graph *graph = x->stage->graph;

    if (x->given[i])
        return convert(
            graph,
            cz_graph_in(graph, x->in_of[i], x->stage->in_types[x->in_of[i]]),
            node.type.dtype);
    node.type = stage_type(x, node.type);
    if (node.kind == CZ_GRAPH_SCALAR)
        node.index = x->scalar_of[node.index];
    for (int k = 0; k < node.n_in; k++)
        node.in[k] = x->copy_of[node.in[k]];
    return cz_graph_add(graph, &node);
}

static void write_outputs(extractor *x, const cz_cut_ports *out)
{
    cz_cut_stage *stage = x->stage;
    cz_cut_port *list = CZ_NEW(x->arena, cz_cut_port, out->n);

    for (int i = 0; i < out->n; i++)
        list[i] = out->list[i];
    sort_ports(list, out->n);
    stage->n_out = out->n;
    stage->out = slots_of(x->arena, list, out->n);
    for (int i = 0; i < out->n; i++)
        cz_graph_add_out(stage->graph,
                         convert(stage->graph, x->copy_of[list[i].node],
                                 list[i].slot.dtype));
}

void cz_cut_extract(cz_arena *arena, const cz_graph *graph,
                    const cz_cut_ports *in, const cz_cut_ports *out,
                    cz_where where, cz_cut_stage *stage)
{
    extractor x = {.arena = arena,
                   .from = graph,
                   .stage = stage,
                   .given = CZ_NEW(arena, const cz_cut_port *, graph->n),
                   .needed = CZ_NEW(arena, bool, graph->n),
                   .in_of = CZ_NEW(arena, int, graph->n),
                   .copy_of = CZ_NEW(arena, int, graph->n)};

    *stage = (cz_cut_stage){.where = where, .graph = cz_graph_make(arena)};
    /* Later ports give way to earlier ones of the same node. */
    for (int i = in->n - 1; i >= 0; i--)
        x.given[in->list[i].node] = &in->list[i];
    for (int i = 0; i < out->n; i++)
        x.needed[out->list[i].node] = true;
    for (int i = x.from->n - 1; i >= 0; i--) {
        const cz_graph_node *node = &x.from->nodes[i];
        assert(!x.needed[i] || x.given[i] || node->kind != CZ_GRAPH_IN);
        if (!x.needed[i] || x.given[i])
            continue;
        for (int k = 0; k < node->n_in; k++)
            x.needed[node->in[k]] = true;
    }
    collect_inputs(&x);
    collect_scalars(&x);
    for (int i = 0; i < graph->n; i++)
        if (x.needed[i])
            x.copy_of[i] = copy_node(&x, i);
    write_outputs(&x, out);
}
