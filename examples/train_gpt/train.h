/* The training loop of one rank. */
#ifndef EXAMPLES_TRAIN_GPT_TRAIN_H
#define EXAMPLES_TRAIN_GPT_TRAIN_H

#include "corpus.h"
#include "options.h"
#include "report.h"
#include "runtime/czr.h"

/* What all ranks share; only rank 0 touches the report. */
typedef struct training {
    const options *options;
    const corpus *text;
    const czr_program *program;
    report *report;
} training;

/* The body for czr_world_threads_run; `user` is a training.  Says on stderr
 * what failed on this rank first. */
czr_status train_rank(czr_world *world, void *user);

#endif
