/* The optimizer: a generated program, run by an engine on this rank's shards.
 * There is no other update code in this trainer. */
#ifndef EXAMPLES_TRAIN_GPT_OPTIMIZER_H
#define EXAMPLES_TRAIN_GPT_OPTIMIZER_H

#include "runtime/czr.h"
#include "shards.h"

/* Peak learning rates of the two groups of gpt.cz. */
typedef struct learning_rates {
    double matrices, rest;
} learning_rates;

typedef struct optimizer {
    const czr_program *program;
    czr_engine *engine;
    learning_rates rates;
    double *hypers; /* [program->n_hypers]; NaN: the default */
} optimizer;

/* Collective: opens the engine, which tells the world of its axes. */
czr_status optimizer_open(optimizer *, const czr_program *, czr_world *,
                          learning_rates);
void optimizer_close(optimizer *);

/* Hands over the shards; their first values are the parameters to start from.
 * They must outlive the optimizer. */
czr_status optimizer_bind(optimizer *, const shards *);

/* Collective: one update of the shards, both rates times `factor`. */
czr_status optimizer_step(optimizer *, double factor, czr_result *);

#endif
