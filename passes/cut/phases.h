/* A rule with phases: its updates as one graph, so that one cut serves all of
 * them, and the stages of that cut in each phase again.  Plain C on graphs.
 *
 * Where the updates agree in what they do, the graph does it once; where they
 * differ, a CHOICE by phase stands.  So stages have the same slots in every
 * phase, and what travels never depends on it. */
#ifndef CZ_PASSES_CUT_PHASES_H
#define CZ_PASSES_CUT_PHASES_H

#include "passes/cut/cut.h"

/* The updates of n phases, alike in arguments and results.  A CHOICE is its
 * first operand in the phases whose bits `index` has. */
cz_graph *cz_phases_merge(cz_arena *arena, const cz_graph *const *updates,
                          int n);

/* Stage graphs without CHOICE: graphs[s] does what stages[s] does in that
 * phase.  A slot between stages that the phase has no use for becomes 0. */
void cz_phases_split(cz_arena *arena, const cz_cut_stage *stages, int n_stages,
                     int phase, cz_graph **graphs);

#endif
