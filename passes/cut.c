/* Where values cross between shards and the owner: two minimum cuts, and more
 * to the owner where that makes the way back cheaper. */
#include "passes/cut.h"

#include <assert.h>
#include <string.h>

#include "passes/cut_internal.h"
#include "passes/min_cut.h"

/* Of a byte that is sent over a link; that lies in scratch.  What travels lies
 * there at both ends, one element of the whole matrix for one of a shard. */
enum {
    WIRE_PRICE = 4,
    MEMORY_PRICE = 1,
    TRAVEL_PRICE = WIRE_PRICE + 2 * MEMORY_PRICE
};

enum { GRAD = 0, PARAM = 1, FIRST_STATE = 2 }; /* arguments of an update */

typedef struct cutter {
    cz_arena *arena;
    const cz_cut_rule *rule;
    const cz_graph *graph;
    cz_ir_type shape;
    bool *live;
    bool *uniform;
    bool *elementwise; /* on tensors of the rule's shape */
    bool *whole;       /* depends on the whole matrix */
    bool *fixed;       /* travels as wide as it is */
    bool *forced;      /* the owner alone can compute it, or needs it */
    bool *gathered;    /* crosses to the owner */
    bool *at_owner;    /* the owner can compute it from what is gathered */
    bool *crosses;     /* is handed to `after` */
    int *state_of;     /* which new state the node is, written `before`; -1 */
} cutter;

static const cz_graph_node *node_at(const cutter *c, int i)
{
    return &c->graph->nodes[i];
}

static bool any_operand(const cutter *c, int i, const bool *flags)
{
    for (int k = 0; k < node_at(c, i)->n_in; k++)
        if (flags[node_at(c, i)->in[k]])
            return true;
    return false;
}

static bool all_operands(const cutter *c, int i, const bool *flags)
{
    for (int k = 0; k < node_at(c, i)->n_in; k++)
        if (!flags[node_at(c, i)->in[k]])
            return false;
    return node_at(c, i)->n_in > 0;
}

static void classify(cutter *c)
{
    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = node_at(c, i);
        c->uniform[i] = cz_graph_is_uniform(c->graph, i);
        c->elementwise[i] =
            (c->uniform[i] || node->kind == CZ_GRAPH_IN ||
             node->kind == CZ_GRAPH_ELEMENT || node->kind == CZ_GRAPH_CHOICE) &&
            cz_graph_same_shape(node->type, c->shape);
        c->whole[i] = !c->uniform[i] &&
                      (!c->elementwise[i] || any_operand(c, i, c->whole));
        c->forced[i] = c->live[i] && c->whole[i] && !c->elementwise[i];
    }
    for (int i = c->graph->n - 1; i >= 0; i--)
        for (int k = 0; c->forced[i] && k < node_at(c, i)->n_in; k++)
            if (c->whole[node_at(c, i)->in[k]])
                c->forced[node_at(c, i)->in[k]] = true;
}

/* What depends on the parameter or on positions, and results of the owner; of
 * one that shards write, a copy travels. */
static void find_fixed(cutter *c)
{
    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = node_at(c, i);
        c->fixed[i] = !c->rule->narrows ||
                      (node->kind == CZ_GRAPH_IN && node->index == PARAM) ||
                      node->kind == CZ_GRAPH_INDEX ||
                      any_operand(c, i, c->fixed);
    }
    for (int i = 0; i < c->graph->n_out; i++)
        c->fixed[c->graph->out[i]] |= c->whole[c->graph->out[i]];
}

static bool any(const cutter *c, const bool *flags)
{
    for (int i = 0; i < c->graph->n; i++)
        if (flags[i])
            return true;
    return false;
}

/* ---- problems of minimum cut ---- */

static cz_min_cut problem_of(const cutter *c, int64_t **capacity, bool **source,
                             bool **sink)
{
    *capacity = CZ_NEW(c->arena, int64_t, c->graph->n);
    *source = CZ_NEW(c->arena, bool, c->graph->n);
    *sink = CZ_NEW(c->arena, bool, c->graph->n);
    return (cz_min_cut){.n = c->graph->n,
                        .capacity = *capacity,
                        .source = *source,
                        .sink = *sink};
}

/* Edges from operands to live element-wise nodes, but those marked. */
static void add_edges(const cutter *c, cz_min_cut *problem,
                      const bool *not_users)
{
    int(*edges)[2] = NULL;

    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = node_at(c, i);
        if (!c->live[i] || !c->elementwise[i] || (not_users && not_users[i]))
            continue;
        for (int k = 0; k < node->n_in; k++) {
            int(*edge)[2] = CZ_PUSH(c->arena, edges, problem->n_edges);
            (*edge)[0] = node->in[k];
            (*edge)[1] = i;
        }
    }
    problem->edges = (const int(*)[2])edges;
}

static int64_t price(const cutter *c, int i, cz_dtype dtype, int64_t per_byte)
{
    const cz_ir_type *type = &node_at(c, i)->type;

    if (type->is_bool || !cz_graph_same_shape(*type, c->shape))
        return CZ_CUT_NEVER;
    return per_byte * cz_dtype_bytes(dtype);
}

/* What a node is while it travels. */
static cz_dtype wire_dtype(const cutter *c, int i)
{
    const cz_dtype dtype = node_at(c, i)->type.dtype;

    return dtype == CZ_F32 && !c->fixed[i] ? CZ_BF16 : dtype;
}

static int64_t travel_price(const cutter *c, int i, int64_t per_byte)
{
    return price(c, i, wire_dtype(c, i), per_byte);
}

static int64_t keep_price(const cutter *c, int i)
{
    return price(c, i, node_at(c, i)->type.dtype, MEMORY_PRICE);
}

/* There is always a cut: arguments can be gathered, and what the owner alone
 * can compute, scattered. */
static void solve(const cutter *c, const cz_min_cut *problem, bool *cut)
{
    const bool found = cz_min_cut_solve(c->arena, problem, cut);

    assert(found);
    (void)found;
}

/* What travels to the owner: separates the arguments from the shard values
 * that the owner uses.  Near the sinks, so that shards do the work. */
static void choose_gathered(cutter *c)
{
    int64_t *capacity;
    bool *source, *sink;
    cz_min_cut problem = problem_of(c, &capacity, &source, &sink);

    for (int i = 0; i < c->graph->n; i++) {
        capacity[i] = travel_price(c, i, 1);
        source[i] = node_at(c, i)->kind == CZ_GRAPH_IN;
        for (int k = 0; c->forced[i] && k < node_at(c, i)->n_in; k++)
            sink[node_at(c, i)->in[k]] = !c->whole[node_at(c, i)->in[k]];
    }
    problem.near_sink = true;
    add_edges(c, &problem, c->whole);
    solve(c, &problem, c->gathered);
}

static void find_at_owner(cutter *c)
{
    for (int i = 0; i < c->graph->n; i++)
        c->at_owner[i] = c->gathered[i] || c->uniform[i] ||
                         node_at(c, i)->kind == CZ_GRAPH_INDEX ||
                         all_operands(c, i, c->at_owner);
}

/* ---- outputs ---- */

static int n_outputs(const cutter *c)
{
    return c->rule->n_states + 1;
}

static cz_view_slot argument_slot(const cutter *c, int argument)
{
    int state = argument - FIRST_STATE;

    if (argument == GRAD)
        return (cz_view_slot){CZ_SLOT_GRAD, 0, CZ_F32};
    if (argument == PARAM)
        return (cz_view_slot){CZ_SLOT_PARAM, 0, c->rule->param};
    return (cz_view_slot){CZ_SLOT_STATE, state, c->rule->states[state]};
}

/* Output i of the update is argument i + 1, renewed. */
static bool is_unchanged(const cutter *c, int output)
{
    const cz_graph_node *node = node_at(c, c->graph->out[output]);

    return node->kind == CZ_GRAPH_IN && node->index == output + 1;
}

static bool is_written_before(const cutter *c, int output)
{
    return output > 0 && !is_unchanged(c, output) &&
           !c->whole[c->graph->out[output]];
}

static void find_early_states(cutter *c)
{
    for (int i = 0; i < c->graph->n; i++)
        c->state_of[i] = -1;
    for (int i = n_outputs(c) - 1; i > 0; i--) {
        int node = c->graph->out[i];
        if (is_written_before(c, i) &&
            node_at(c, node)->type.dtype == c->rule->states[i - 1])
            c->state_of[node] = i - 1;
    }
}

/* ---- what `after` gets ---- */

/* An argument whose slot `before` writes over. */
static bool is_overwritten(const cutter *c, int i)
{
    const cz_graph_node *node = node_at(c, i);

    return node->kind == CZ_GRAPH_IN && node->index >= FIRST_STATE &&
           is_written_before(c, node->index - 1);
}

/* Of equal prices the owner hands over its earliest value, so that shards do
 * the work, and a shard keeps its latest, so that nothing is done twice.  The
 * n nodes of a cut together never outweigh one unit of price. */
static int64_t price_for_after(const cutter *c, int i)
{
    const int64_t n = c->graph->n;
    const int64_t bytes =
        c->whole[i] ? travel_price(c, i, TRAVEL_PRICE) : keep_price(c, i);

    if (bytes == CZ_CUT_NEVER || (c->whole[i] && !c->at_owner[i]))
        return CZ_CUT_NEVER;
    if (c->state_of[i] >= 0)
        return 0;
    return bytes * (n * n + 1) + (c->whole[i] ? i : n - i);
}

/* Separates the owner's work and the overwritten states from what `after`
 * writes. */
static void choose_crossing(cutter *c)
{
    int64_t *capacity;
    bool *source, *sink;
    cz_min_cut problem = problem_of(c, &capacity, &source, &sink);

    for (int i = 0; i < c->graph->n; i++) {
        capacity[i] = price_for_after(c, i);
        source[i] = c->live[i] && ((c->whole[i] && !c->elementwise[i]) ||
                                   is_overwritten(c, i));
    }
    for (int i = 0; i < n_outputs(c); i++)
        if (!is_written_before(c, i) && !is_unchanged(c, i))
            sink[c->graph->out[i]] = true;
    add_edges(c, &problem, NULL);
    solve(c, &problem, c->crosses);
}

/* ---- more to the owner ---- */

/* Of all that travels and is kept, for an element of the matrix. */
static int64_t total_price(const cutter *c)
{
    int64_t sum = 0;

    for (int i = 0; i < c->graph->n; i++) {
        if (c->gathered[i])
            sum += travel_price(c, i, TRAVEL_PRICE);
        if (c->crosses[i] && c->state_of[i] < 0)
            sum += c->whole[i] ? travel_price(c, i, TRAVEL_PRICE)
                               : keep_price(c, i);
    }
    return sum;
}

/* Gathers the shard values besides which node i needs nothing but what the
 * owner has.  False: there are none, or one that cannot travel. */
static bool gather_for(cutter *c, int i)
{
    bool any = false;

    for (int k = 0; k < node_at(c, i)->n_in; k++) {
        const int operand = node_at(c, i)->in[k];
        if (c->at_owner[operand])
            continue;
        if (c->whole[operand] || travel_price(c, operand, 1) == CZ_CUT_NEVER)
            return false;
        c->gathered[operand] = any = true;
    }
    return any;
}

static void take_gathered(cutter *c, const bool *gathered)
{
    memcpy(c->gathered, gathered, (size_t)c->graph->n * sizeof *gathered);
    find_at_owner(c);
}

static bool *copy_gathered(const cutter *c)
{
    bool *copy = CZ_NEW(c->arena, bool, c->graph->n);

    memcpy(copy, c->gathered, (size_t)c->graph->n * sizeof *copy);
    return copy;
}

/* Lets the owner go one node further, where that is cheapest; of equal ones
 * the first.  False: nowhere is it cheaper than as it is. */
static bool improve(cutter *c)
{
    const bool *before = copy_gathered(c), *best = before;
    int64_t least = total_price(c);

    for (int i = 0; i < c->graph->n; i++) {
        if (!c->live[i] || !c->whole[i] || !c->elementwise[i])
            continue;
        take_gathered(c, before);
        if (!gather_for(c, i))
            continue;
        find_at_owner(c);
        choose_crossing(c);
        if (total_price(c) < least) {
            least = total_price(c);
            best = copy_gathered(c);
        }
    }
    take_gathered(c, best);
    choose_crossing(c);
    return best != before;
}

/* ---- stages ---- */

static void add_port(const cutter *c, cz_cut_ports *ports, int node,
                     cz_view_slot slot)
{
    *CZ_PUSH(c->arena, ports->list, ports->n) = (cz_cut_port){node, slot};
}

static void add_arguments(const cutter *c, cz_cut_ports *ports)
{
    for (int i = 0; i < c->graph->n; i++)
        if (node_at(c, i)->kind == CZ_GRAPH_IN)
            add_port(c, ports, i, argument_slot(c, node_at(c, i)->index));
}

/* The nodes marked, numbered in their order, in slots of one kind. */
static void add_marked(const cutter *c, cz_cut_ports *ports, const bool *marked,
                       cz_slot_kind kind)
{
    int n = 0;

    for (int i = 0; i < c->graph->n; i++)
        if (marked[i])
            add_port(c, ports, i,
                     (cz_view_slot){kind, n++,
                                    kind == CZ_SLOT_TEMP
                                        ? node_at(c, i)->type.dtype
                                        : wire_dtype(c, i)});
}

/* New parameter and states, either those written `before` or the others. */
static void add_results(const cutter *c, cz_cut_ports *ports, bool before)
{
    for (int i = 0; i < n_outputs(c); i++)
        if (!is_unchanged(c, i) && is_written_before(c, i) == before)
            add_port(c, ports, c->graph->out[i], argument_slot(c, i + 1));
    if (!before && c->rule->has_stored && !is_unchanged(c, 0))
        add_port(c, ports, c->graph->out[0],
                 (cz_view_slot){CZ_SLOT_STORED, 0, c->rule->stored});
}

static const bool *crossing(const cutter *c, bool from_owner)
{
    bool *marked = CZ_NEW(c->arena, bool, c->graph->n);

    for (int i = 0; i < c->graph->n; i++)
        marked[i] =
            c->crosses[i] && c->whole[i] == from_owner && c->state_of[i] < 0;
    return marked;
}

static void add_early_states(const cutter *c, cz_cut_ports *ports)
{
    for (int i = 0; i < c->graph->n; i++)
        if (c->state_of[i] >= 0)
            add_port(c, ports, i,
                     argument_slot(c, c->state_of[i] + FIRST_STATE));
}

static int local_stage(const cutter *c, cz_cut_stage *stages)
{
    cz_cut_ports in = {0}, out = {0};

    add_arguments(c, &in);
    add_results(c, &out, true);
    add_results(c, &out, false);
    cz_cut_extract(c->arena, c->graph, &in, &out, CZ_WHERE_LOCAL, &stages[0]);
    return 1;
}

static int three_stages(const cutter *c, cz_cut_stage *stages)
{
    const bool *scattered = crossing(c, true), *kept = crossing(c, false);
    cz_cut_ports in[CZ_CUT_MAX_STAGES] = {{0}}, out[CZ_CUT_MAX_STAGES] = {{0}};

    add_arguments(c, &in[0]);
    add_results(c, &out[0], true);
    add_marked(c, &out[0], c->gathered, CZ_SLOT_GATHER);
    add_marked(c, &out[0], kept, CZ_SLOT_TEMP);
    add_marked(c, &in[1], c->gathered, CZ_SLOT_GATHER);
    add_marked(c, &out[1], scattered, CZ_SLOT_SCATTER);
    add_marked(c, &in[2], scattered, CZ_SLOT_SCATTER);
    add_marked(c, &in[2], kept, CZ_SLOT_TEMP);
    add_early_states(c, &in[2]);
    add_arguments(c, &in[2]);
    add_results(c, &out[2], false);
    for (int s = 0; s < CZ_CUT_MAX_STAGES; s++)
        cz_cut_extract(c->arena, c->graph, &in[s], &out[s],
                       (cz_where)(CZ_WHERE_BEFORE + s), &stages[s]);
    return stages[2].n_out > 0 ? 3 : 2;
}

static cutter make_cutter(cz_arena *arena, const cz_cut_rule *rule)
{
    int n = rule->update->n;

    return (cutter){.arena = arena,
                    .rule = rule,
                    .graph = rule->update,
                    .shape = rule->update->nodes[0].type,
                    .live = cz_graph_find_live(rule->update, arena),
                    .uniform = CZ_NEW(arena, bool, n),
                    .elementwise = CZ_NEW(arena, bool, n),
                    .whole = CZ_NEW(arena, bool, n),
                    .fixed = CZ_NEW(arena, bool, n),
                    .forced = CZ_NEW(arena, bool, n),
                    .gathered = CZ_NEW(arena, bool, n),
                    .at_owner = CZ_NEW(arena, bool, n),
                    .crosses = CZ_NEW(arena, bool, n),
                    .state_of = CZ_NEW(arena, int, n)};
}

int cz_cut_solve(cz_arena *arena, const cz_cut_rule *rule,
                 cz_cut_stage stages[CZ_CUT_MAX_STAGES])
{
    cutter c = make_cutter(arena, rule);

    assert(rule->update->nodes[0].kind == CZ_GRAPH_IN);
    classify(&c);
    find_fixed(&c);
    if (!any(&c, c.forced))
        return local_stage(&c, stages);
    choose_gathered(&c);
    find_at_owner(&c);
    find_early_states(&c);
    choose_crossing(&c);
    while (improve(&c))
        continue;
    return three_stages(&c, stages);
}
