/* Steps of a team captured as graphs, one for each choice of phases: what a
 * step puts on all streams is launched again by one call.  Run-time values lie
 * in the device's memory, where each step writes them before. */
#ifndef CZR_CUDA_SCRIPT_H
#define CZR_CUDA_SCRIPT_H

#include "runtime/cuda/graph.h"
#include "runtime/cuda/team.h"

/* More choices of phases than this are put anew in every step. */
enum { CZR_CUDA_SCRIPTS = 32 };

typedef struct czr_cuda_script {
    czr_graph graph;
    uint8_t *phases; /* [n_params] */
    int64_t *counts; /* what a step adds to the counters of all members */
} czr_cuda_script;

/* Memory for all of them. */
czr_status czr_cuda_scripts_open(czr_cuda_team *team);
/* Graphs before what they use; NULL members are allowed. */
void czr_cuda_scripts_close(czr_cuda_team *team);
/* That of the phases of the update under way; NULL: there is none. */
czr_cuda_script *czr_cuda_script_find(const czr_cuda_team *team);
/* Whether the update under way may be captured: something has been put eagerly
 * before, so that nothing is left to load, no tensor is copied in or out, no
 * stage waits for its stream, and there is room. */
bool czr_cuda_script_is_possible(const czr_cuda_team *team);
/* Captures what `put` puts on the members' main streams and on streams that
 * fork from them and join them.  Nothing of it is done. */
czr_status czr_cuda_script_capture(czr_cuda_team *team,
                                   czr_status (*put)(czr_cuda_team *team));
/* Behind what the members' main streams have. */
czr_status czr_cuda_script_launch(czr_cuda_team *team,
                                  const czr_cuda_script *script);

#endif
