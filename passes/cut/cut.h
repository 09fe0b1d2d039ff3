/* The cut of a rule: which part of its update runs on shards before the
 * matrix is gathered, which on the whole matrix, which on shards after it was
 * scattered.  Plain C on graphs.
 *
 * A byte that travels costs six times one that a shard keeps: four on the link,
 * one of scratch at either end.  Chosen, in this order: fewest bytes gathered,
 * by a minimum cut; the cheapest of what is scattered and kept then, by
 * another; more gathered, node by node, where all of it together becomes
 * cheaper (several results that need one value of the shard to become one);
 * most work on shards; the first nodes of the graph.  Unless the rule
 * `narrows`, a value is never rounded to make it cheaper, and any cut gives the
 * same bits. */
#ifndef CZ_PASSES_CUT_CUT_H
#define CZ_PASSES_CUT_CUT_H

#include "dsl/plan/plan.h"
#include "passes/graph/graph.h"

typedef struct cz_cut_rule {
    const cz_graph *update; /* grad, param, states, scalars to param, states */
    int n_states;
    const cz_dtype *states;  /* as stored */
    const bool *full_matrix; /* [n_states] of a shape of its own, at the owner:
                              * `whole` alone reads and writes it */
    cz_dtype param;          /* of slot PARAM */
    bool has_stored;         /* the master is apart from the parameter */
    cz_dtype stored;
    bool narrows; /* f32 may be rounded to bf16 to travel, but what depends on
                   * the parameter and what becomes parameter or state as it
                   * comes: there small updates would be lost */
} cz_cut_rule;

typedef struct cz_cut_stage {
    cz_where where;
    cz_graph *graph; /* math form; tensors of length 1 stand for any run of
                      * elements, unless the stage is `whole` */
    int n_in, n_out;
    cz_view_slot *in, *out; /* in order of kind, then index */
    cz_ir_type *in_types;
    cz_ints scalars; /* numbers of the rule's scalars that it takes */
} cz_cut_stage;

enum { CZ_CUT_MAX_STAGES = 3 };

/* Marks in `whole`, which may be rule->full_matrix, the states of the matrix's
 * shape that had better live at its owner: one after the other that which saves
 * most of what travels and is kept, as long as one saves anything.  How many.
 */
int cz_cut_settle(cz_arena *arena, const cz_cut_rule *rule, bool *full_matrix);

/* Writes the stages in the order they run and returns how many: one `local`,
 * or `before`, `whole` and, unless nothing is left for it, `after`. */
int cz_cut_solve(cz_arena *arena, const cz_cut_rule *rule,
                 cz_cut_stage stages[CZ_CUT_MAX_STAGES]);

#endif
