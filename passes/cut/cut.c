/* Where values cross between shards and the owner: two minimum cuts, and more
 * to the owner where that makes the way back cheaper. */
#include "passes/cut/cut.h"

#include <assert.h>
#include <string.h>

#include "passes/cut/internal.h"
#include "passes/cut/min_cut.h"

/* Of a byte that is sent over a link; that lies in scratch.  What travels lies
 * there at both ends, one element of the whole matrix for one of a shard. */
enum {
    WIRE_PRICE = 4,
    MEMORY_PRICE = 1,
    TRAVEL_PRICE = WIRE_PRICE + 2 * MEMORY_PRICE
};

static bool any_operand(const cz_cutter *c, int i, const bool *flags)
{
    for (int k = 0; k < cz_cut_node(c, i)->n_in; k++)
        if (flags[cz_cut_node(c, i)->in[k]])
            return true;
    return false;
}

static bool all_operands(const cz_cutter *c, int i, const bool *flags)
{
    for (int k = 0; k < cz_cut_node(c, i)->n_in; k++)
        if (!flags[cz_cut_node(c, i)->in[k]])
            return false;
    return cz_cut_node(c, i)->n_in > 0;
}

static void classify(cz_cutter *c)
{
    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = cz_cut_node(c, i);
        c->uniform[i] = cz_graph_is_uniform(c->graph, i);
        c->elementwise[i] =
            (c->uniform[i] || node->kind == CZ_GRAPH_IN ||
             node->kind == CZ_GRAPH_ELEMENT || node->kind == CZ_GRAPH_CHOICE) &&
            cz_graph_same_shape(node->type, c->shape);
        c->full_matrix[i] =
            cz_cut_is_owners(c, i) ||
            (!c->uniform[i] &&
             (!c->elementwise[i] || any_operand(c, i, c->full_matrix)));
        c->forced[i] = c->live[i] && c->full_matrix[i] && !c->elementwise[i];
    }
    for (int i = 0; i < c->graph->n_out; i++)
        if (cz_cut_is_owned_state(c, cz_cut_argument_of(i)) &&
            c->full_matrix[c->graph->out[i]])
            c->forced[c->graph->out[i]] = true;
    for (int i = c->graph->n - 1; i >= 0; i--)
        for (int k = 0; c->forced[i] && k < cz_cut_node(c, i)->n_in; k++)
            if (c->full_matrix[cz_cut_node(c, i)->in[k]])
                c->forced[cz_cut_node(c, i)->in[k]] = true;
}

static bool any(const cz_cutter *c, const bool *flags)
{
    for (int i = 0; i < c->graph->n; i++)
        if (flags[i])
            return true;
    return false;
}

/* ---- problems of minimum cut ---- */

static cz_min_cut problem_of(const cz_cutter *c, int64_t **capacity,
                             bool **source, bool **sink)
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
static void add_edges(const cz_cutter *c, cz_min_cut *problem,
                      const bool *not_users)
{
    int(*edges)[2] = NULL;

    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = cz_cut_node(c, i);
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

static int64_t price(const cz_cutter *c, int i, cz_dtype dtype,
                     int64_t per_byte)
{
    const cz_ir_type *type = &cz_cut_node(c, i)->type;

    if (type->is_bool || !cz_graph_same_shape(*type, c->shape))
        return CZ_CUT_NEVER;
    return per_byte * cz_dtype_bytes(dtype);
}

static int64_t travel_price(const cz_cutter *c, int i, int64_t per_byte)
{
    return price(c, i, cz_cut_wire_dtype(c, i), per_byte);
}

static int64_t keep_price(const cz_cutter *c, int i)
{
    return price(c, i, cz_cut_node(c, i)->type.dtype, MEMORY_PRICE);
}

/* There is always a cut: arguments can be gathered, and what the owner alone
 * can compute, scattered. */
static void solve(const cz_cutter *c, const cz_min_cut *problem, bool *cut)
{
    const bool found = cz_min_cut_solve(c->arena, problem, cut);

    assert(found);
    (void)found;
}

/* The shards alone have it. */
static bool needs_gather(const cz_cutter *c, int i)
{
    return !c->full_matrix[i] && !c->uniform[i];
}

/* What travels to the owner: separates the arguments from the shard values
 * that the owner uses.  Near the sinks, so that shards do the work. */
static void choose_gathered(cz_cutter *c)
{
    int64_t *capacity;
    bool *source, *sink;
    cz_min_cut problem = problem_of(c, &capacity, &source, &sink);

    for (int i = 0; i < c->graph->n; i++) {
        capacity[i] = travel_price(c, i, 1);
        source[i] =
            cz_cut_node(c, i)->kind == CZ_GRAPH_IN && !cz_cut_is_owners(c, i);
        for (int k = 0; c->forced[i] && k < cz_cut_node(c, i)->n_in; k++)
            sink[cz_cut_node(c, i)->in[k]] =
                !c->full_matrix[cz_cut_node(c, i)->in[k]];
    }
    for (int i = 0; i < c->graph->n_out; i++)
        if (cz_cut_is_owned_state(c, cz_cut_argument_of(i)))
            sink[c->graph->out[i]] = needs_gather(c, c->graph->out[i]);
    problem.near_sink = true;
    add_edges(c, &problem, c->full_matrix);
    solve(c, &problem, c->gathered);
}

static void find_at_owner(cz_cutter *c)
{
    for (int i = 0; i < c->graph->n; i++)
        c->at_owner[i] = c->gathered[i] || c->uniform[i] ||
                         cz_cut_node(c, i)->kind == CZ_GRAPH_INDEX ||
                         cz_cut_is_owners(c, i) ||
                         all_operands(c, i, c->at_owner);
}

/* ---- outputs ---- */

static bool is_written_before(const cz_cutter *c, int output)
{
    return !cz_cut_is_unchanged(c, output) &&
           cz_cut_written_in(c, output) == CZ_WHERE_PRE_GATHER;
}

/* ---- what `after` gets ---- */

/* An argument whose slot `before` writes over. */
static bool is_overwritten(const cz_cutter *c, int i)
{
    const cz_graph_node *node = cz_cut_node(c, i);

    return node->kind == CZ_GRAPH_IN && node->index >= CZ_CUT_FIRST_STATE &&
           is_written_before(c, node->index - 1);
}

/* Of equal prices the owner hands over its earliest value, so that shards do
 * the work, and a shard keeps its latest, so that nothing is done twice.  The
 * n nodes of a cut together never outweigh one unit of price. */
static int64_t price_for_after(const cz_cutter *c, int i)
{
    const int64_t n = c->graph->n;
    const int64_t bytes =
        c->full_matrix[i] ? travel_price(c, i, TRAVEL_PRICE) : keep_price(c, i);

    if (bytes == CZ_CUT_NEVER || (c->full_matrix[i] && !c->at_owner[i]))
        return CZ_CUT_NEVER;
    if (c->state_of[i] >= 0)
        return 0;
    return bytes * (n * n + 1) + (c->full_matrix[i] ? i : n - i);
}

/* Separates the owner's work and the overwritten states from what `after`
 * writes. */
static void choose_crossing(cz_cutter *c)
{
    int64_t *capacity;
    bool *source, *sink;
    cz_min_cut problem = problem_of(c, &capacity, &source, &sink);

    for (int i = 0; i < c->graph->n; i++) {
        capacity[i] = price_for_after(c, i);
        source[i] =
            c->live[i] && ((c->full_matrix[i] && !c->elementwise[i]) ||
                           cz_cut_is_owners(c, i) || is_overwritten(c, i));
    }
    for (int i = 0; i < cz_cut_n_outputs(c); i++)
        if (cz_cut_written_in(c, i) == CZ_WHERE_POST_SCATTER &&
            !cz_cut_is_unchanged(c, i))
            sink[c->graph->out[i]] = true;
    add_edges(c, &problem, NULL);
    solve(c, &problem, c->crosses);
}

/* ---- more to the owner ---- */

/* Of all that travels and is kept, for an element of the matrix. */
static int64_t total_price(const cz_cutter *c)
{
    int64_t sum = 0;

    for (int i = 0; i < c->graph->n; i++) {
        if (c->gathered[i])
            sum += travel_price(c, i, TRAVEL_PRICE);
        if (c->crosses[i] && c->state_of[i] < 0)
            sum += c->full_matrix[i] ? travel_price(c, i, TRAVEL_PRICE)
                                     : keep_price(c, i);
    }
    return sum;
}

/* Gathers the shard values besides which node i needs nothing but what the
 * owner has.  False: there are none, or one that cannot travel. */
static bool gather_for(cz_cutter *c, int i)
{
    bool any = false;

    for (int k = 0; k < cz_cut_node(c, i)->n_in; k++) {
        const int operand = cz_cut_node(c, i)->in[k];
        if (c->at_owner[operand])
            continue;
        if (c->full_matrix[operand] ||
            travel_price(c, operand, 1) == CZ_CUT_NEVER)
            return false;
        c->gathered[operand] = any = true;
    }
    return any;
}

static void take_gathered(cz_cutter *c, const bool *gathered)
{
    memcpy(c->gathered, gathered, (size_t)c->graph->n * sizeof *gathered);
    find_at_owner(c);
}

static bool *copy_gathered(const cz_cutter *c)
{
    bool *copy = CZ_NEW(c->arena, bool, c->graph->n);

    memcpy(copy, c->gathered, (size_t)c->graph->n * sizeof *copy);
    return copy;
}

/* Lets the owner go one node further, where that is cheapest; of equal ones
 * the first.  False: nowhere is it cheaper than as it is. */
static bool improve(cz_cutter *c)
{
    const bool *before = copy_gathered(c), *best = before;
    int64_t least = total_price(c);

    for (int i = 0; i < c->graph->n; i++) {
        if (!c->live[i] || !c->full_matrix[i] || !c->elementwise[i])
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

static cz_cutter make_cutter(cz_arena *arena, const cz_cut_rule *rule)
{
    int n = rule->update->n;

    return (cz_cutter){.arena = arena,
                       .rule = rule,
                       .graph = rule->update,
                       .shape = rule->update->nodes[0].type,
                       .live = cz_graph_find_live(rule->update, arena),
                       .uniform = CZ_NEW(arena, bool, n),
                       .elementwise = CZ_NEW(arena, bool, n),
                       .full_matrix = CZ_NEW(arena, bool, n),
                       .fixed = CZ_NEW(arena, bool, n),
                       .forced = CZ_NEW(arena, bool, n),
                       .gathered = CZ_NEW(arena, bool, n),
                       .at_owner = CZ_NEW(arena, bool, n),
                       .crosses = CZ_NEW(arena, bool, n),
                       .state_of = CZ_NEW(arena, int, n)};
}

static bool writes_whole_state(const cz_cutter *c)
{
    for (int i = 0; i < cz_cut_n_outputs(c); i++)
        if (cz_cut_written_in(c, i) == CZ_WHERE_FULL_MATRIX &&
            !cz_cut_is_unchanged(c, i))
            return true;
    return false;
}

/* False: shards do all alone. */
static bool choose(cz_cutter *c)
{
    assert(c->graph->nodes[0].kind == CZ_GRAPH_IN);
    classify(c);
    /* What depends on the parameter or on positions, and results of the owner;
     * of one that shards write, a copy travels. */
    for (int i = 0; i < c->graph->n; i++) {
        const cz_graph_node *node = cz_cut_node(c, i);
        c->fixed[i] =
            !c->rule->narrows ||
            (node->kind == CZ_GRAPH_IN && node->index == CZ_CUT_PARAM) ||
            node->kind == CZ_GRAPH_INDEX || any_operand(c, i, c->fixed);
    }
    for (int i = 0; i < c->graph->n_out; i++)
        c->fixed[c->graph->out[i]] |=
            c->full_matrix[c->graph->out[i]] ||
            cz_cut_is_owned_state(c, cz_cut_argument_of(i));
    if (!any(c, c->forced) && !writes_whole_state(c))
        return false;
    choose_gathered(c);
    find_at_owner(c);
    for (int i = 0; i < c->graph->n; i++)
        c->state_of[i] = -1;
    for (int i = cz_cut_n_outputs(c) - 1; i > 0; i--) {
        int node = c->graph->out[i];
        if (is_written_before(c, i) &&
            cz_cut_node(c, node)->type.dtype == c->rule->states[i - 1])
            c->state_of[node] = i - 1;
    }
    choose_crossing(c);
    while (improve(c))
        continue;
    return true;
}

static int64_t least_price(cz_arena *arena, const cz_cut_rule *rule)
{
    cz_cutter c = make_cutter(arena, rule);

    return choose(&c) ? total_price(&c) : 0;
}

/* ---- states at the owner ---- */

/* The state that saves most, of equal ones the first; -1: none does. */
static int best_settler(cz_arena *arena, const cz_cut_rule *rule, bool *whole)
{
    const cz_cut_rule tried = {.update = rule->update,
                               .n_states = rule->n_states,
                               .states = rule->states,
                               .full_matrix = whole,
                               .param = rule->param,
                               .has_stored = rule->has_stored,
                               .stored = rule->stored,
                               .narrows = rule->narrows};
    int64_t least = least_price(arena, &tried);
    int best = -1;

    for (int s = 0; s < rule->n_states; s++) {
        if (whole[s])
            continue;
        whole[s] = true;
        const int64_t price = least_price(arena, &tried);
        whole[s] = false;
        if (price < least) {
            least = price;
            best = s;
        }
    }
    return best;
}

int cz_cut_settle(cz_arena *arena, const cz_cut_rule *rule, bool *whole)
{
    int n = 0, state;

    if (whole != rule->full_matrix)
        memcpy(whole, rule->full_matrix,
               (size_t)rule->n_states * sizeof *whole);
    while ((state = best_settler(arena, rule, whole)) >= 0) {
        whole[state] = true;
        n++;
    }
    return n;
}

int cz_cut_solve(cz_arena *arena, const cz_cut_rule *rule,
                 cz_cut_stage stages[CZ_CUT_MAX_STAGES])
{
    cz_cutter c = make_cutter(arena, rule);

    return choose(&c) ? cz_cut_three_stages(&c, stages)
                      : cz_cut_element_wise(&c, stages);
}
