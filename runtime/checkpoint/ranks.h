/* What ranks have in common while they save or load. */
#ifndef CZR_CHECKPOINT_RANKS_H
#define CZR_CHECKPOINT_RANKS_H

#include "runtime/engine/engine.h"

/* Whether a checkpoint can be had of the engine: alike on all ranks. */
czr_status czr_ranks_ready(czr_engine *engine, const char *folder);
/* `own` where it is a failure; CZR_ERR_ABORTED where another rank could not
 * `what`, and the sentence names it. */
czr_status czr_ranks_agree(czr_engine *engine, czr_status own,
                           const char *what);

#endif
