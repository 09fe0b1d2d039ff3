/* Several graphs as one, by their least general generalisation (Plotkin, "A
 * note on inductive generalization", 1970): from the results down, nodes that
 * do the same share a node as far as their operands can be chosen between. */
#include "passes/cut/phases.h"

#include <assert.h>
#include <string.h>

/* ---- merging ---- */

/* Nodes of all phases in one graph; a place is a node for each phase. */
typedef struct merger {
    cz_arena *arena;
    cz_graph *graph;
    int n_phases;
    int n_places;
    const int **places; /* known so far: [n_phases] nodes each */
    int *merged;        /* the node behind each */
} merger;

static const cz_graph_node *node_at(const merger *m, int node)
{
    return &m->graph->nodes[node];
}

/* All nodes of a graph in the common one; its results. */
static int *import(merger *m, const cz_graph *from)
{
    int *image = CZ_NEW(m->arena, int, from->n);
    int *out = CZ_NEW(m->arena, int, from->n_out);

    for (int i = 0; i < from->n; i++) {
        cz_graph_node node = from->nodes[i];
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        image[i] = cz_graph_add(m->graph, &node);
    }
    for (int i = 0; i < from->n_out; i++)
        out[i] = image[from->out[i]];
    return out;
}

static bool is_same_word(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Do both nodes do the same, on operands of the same types? */
static bool do_the_same(const merger *m, int first, int second)
{
    const cz_graph_node *a = node_at(m, first), *b = node_at(m, second);

    if (a->kind != b->kind || a->n_in == 0 || a->n_in != b->n_in ||
        a->op != b->op || a->dims != b->dims || a->index != b->index ||
        !cz_ir_type_equal(a->type, b->type) ||
        !is_same_word(a->predicate, b->predicate) ||
        !cz_graph_same_factor(a, b))
        return false;
    for (int k = 0; k < a->n_in; k++)
        if (!cz_ir_type_equal(node_at(m, a->in[k])->type,
                              node_at(m, b->in[k])->type))
            return false;
    return true;
}

static bool all_do_the_same(const merger *m, const int *place)
{
    for (int p = 1; p < m->n_phases; p++)
        if (!do_the_same(m, place[0], place[p]))
            return false;
    return true;
}

static bool is_one_node(const merger *m, const int *place)
{
    for (int p = 1; p < m->n_phases; p++)
        if (place[p] != place[0])
            return false;
    return true;
}

/* The node of the last phase, unless another one is due. */
static int choose(merger *m, const int *place)
{
    int chosen = place[m->n_phases - 1];

    for (int p = m->n_phases - 2; p >= 0; p--) {
        cz_graph_node choice = {.kind = CZ_GRAPH_CHOICE, .n_in = 2};
        bool is_new = place[p] != place[m->n_phases - 1];
        for (int k = p + 1; k < m->n_phases; k++)
            is_new = is_new && place[k] != place[p];
        if (!is_new)
            continue;
        for (int k = 0; k < m->n_phases; k++)
            choice.index |= (place[k] == place[p]) << k;
        choice.in[0] = place[p];
        choice.in[1] = chosen;
        choice.type = node_at(m, chosen)->type;
        choice.origin = node_at(m, place[p])->origin;
        chosen = cz_graph_add(m->graph, &choice);
    }
    return chosen;
}

static int merge(merger *m, const int *place);

static int merge_operands(merger *m, const int *place)
{
    cz_graph_node node = *node_at(m, place[0]);

    for (int k = 0; k < node.n_in; k++) {
        int *operand = CZ_NEW(m->arena, int, m->n_phases);
        for (int p = 0; p < m->n_phases; p++)
            operand[p] = node_at(m, place[p])->in[k];
        node.in[k] = merge(m, operand);
    }
    return cz_graph_add(m->graph, &node);
}

static int merge(merger *m, const int *place)
{
    const size_t bytes = (size_t)m->n_phases * sizeof *place;
    int node, n;

    if (is_one_node(m, place))
        return place[0];
    for (int i = 0; i < m->n_places; i++)
        if (memcmp(m->places[i], place, bytes) == 0)
            return m->merged[i];
    node =
        all_do_the_same(m, place) ? merge_operands(m, place) : choose(m, place);
    n = m->n_places;
    *CZ_PUSH(m->arena, m->merged, n) = node;
    /* The elements are pointers.  NOLINTNEXTLINE(bugprone-sizeof-expression) */
    *CZ_PUSH(m->arena, m->places, m->n_places) = place;
    return node;
}

cz_graph *cz_phases_merge(cz_arena *arena, const cz_graph *const *updates,
                          int n)
{
    merger m = {.arena = arena, .graph = cz_graph_make(arena), .n_phases = n};
    const int **out = CZ_NEW(arena, const int *, n);

    for (int p = 0; p < n; p++) {
        assert(updates[p]->n_out == updates[0]->n_out);
        out[p] = import(&m, updates[p]);
    }
    for (int i = 0; i < updates[0]->n_out; i++) {
        int *place = CZ_NEW(arena, int, n);
        for (int p = 0; p < n; p++)
            place[p] = out[p][i];
        cz_graph_add_out(m.graph, merge(&m, place));
    }
    /* What the results need, and all arguments. */
    const cz_graph *graph = m.graph;
    const bool *live = cz_graph_find_live(graph, arena);
    int *image = CZ_NEW(arena, int, graph->n);
    cz_graph *copy = cz_graph_make(arena);

    for (int i = 0; i < graph->n; i++) {
        cz_graph_node node = graph->nodes[i];
        if (!live[i] && node.kind != CZ_GRAPH_IN)
            continue;
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        image[i] = cz_graph_add(copy, &node);
    }
    for (int i = 0; i < graph->n_out; i++)
        cz_graph_add_out(copy, image[graph->out[i]]);
    return copy;
}

/* ---- one phase ---- */

static bool passes_between_stages(const cz_view_slot *slot)
{
    return slot->kind == CZ_SLOT_GATHER || slot->kind == CZ_SLOT_SCATTER ||
           slot->kind == CZ_SLOT_TEMP;
}

static bool reads(const cz_cut_stage *stage, const cz_graph *graph,
                  const cz_view_slot *slot)
{
    for (int i = 0; i < graph->n; i++) {
        const cz_graph_node *node = &graph->nodes[i];
        if (node->kind == CZ_GRAPH_IN &&
            stage->in[node->index].kind == slot->kind &&
            stage->in[node->index].index == slot->index)
            return true;
    }
    return false;
}

/* Which results of stage s a later stage reads, or the step keeps. */
static bool *find_wanted(cz_arena *arena, const cz_cut_stage *stages,
                         int n_stages, int s, cz_graph *const *graphs)
{
    bool *wanted = CZ_NEW(arena, bool, stages[s].n_out);

    for (int i = 0; i < stages[s].n_out; i++) {
        wanted[i] = !passes_between_stages(&stages[s].out[i]);
        for (int k = s + 1; k < n_stages; k++)
            wanted[i] =
                wanted[i] || reads(&stages[k], graphs[k], &stages[s].out[i]);
    }
    return wanted;
}

/* Operand k of the node, or the one that the phase chooses. */
static bool is_used(const cz_graph_node *node, int k, int phase)
{
    const int other = node->index >> phase & 1;

    return node->kind != CZ_GRAPH_CHOICE || k != other;
}

static int zero(cz_graph *graph, cz_ir_type type)
{
    cz_graph_node node = {.kind = CZ_GRAPH_CONSTANT,
                          .op = CZ_OP_CONSTANT,
                          .type = cz_ir_type_with(type, CZ_F32)};
    const int made = cz_graph_add(graph, &node);

    return type.dtype == CZ_F32
               ? made
               : cz_graph_unary(graph, CZ_OP_TRUNCATE, made, type.dtype);
}

static cz_graph *split(cz_arena *arena, const cz_graph *graph,
                       const bool *wanted, int phase)
{
    bool *live = CZ_NEW(arena, bool, graph->n);

    for (int i = 0; i < graph->n_out; i++)
        live[graph->out[i]] = live[graph->out[i]] || wanted[i];
    for (int i = graph->n - 1; i >= 0; i--)
        for (int k = 0; live[i] && k < graph->nodes[i].n_in; k++)
            if (is_used(&graph->nodes[i], k, phase))
                live[graph->nodes[i].in[k]] = true;
    int *image = CZ_NEW(arena, int, graph->n);
    cz_graph *made = cz_graph_make(arena);

    for (int i = 0; i < graph->n; i++) {
        cz_graph_node node = graph->nodes[i];
        if (!live[i])
            continue;
        for (int k = 0; k < node.n_in; k++)
            node.in[k] = image[node.in[k]];
        image[i] = node.kind == CZ_GRAPH_CHOICE
                       ? node.in[node.index >> phase & 1 ? 0 : 1]
                       : cz_graph_add(made, &node);
    }
    for (int i = 0; i < graph->n_out; i++)
        cz_graph_add_out(
            made, wanted[i] ? image[graph->out[i]]
                            : zero(made, graph->nodes[graph->out[i]].type));
    return made;
}

void cz_phases_split(cz_arena *arena, const cz_cut_stage *stages, int n_stages,
                     int phase, cz_graph **graphs)
{
    for (int s = n_stages - 1; s >= 0; s--)
        graphs[s] =
            split(arena, stages[s].graph,
                  find_wanted(arena, stages, n_stages, s, graphs), phase);
}
