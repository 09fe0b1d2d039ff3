/* Ranks that are processes of MPI, where this build has it. */
#ifndef EXAMPLES_TRAIN_GPT_WORLD_H
#define EXAMPLES_TRAIN_GPT_WORLD_H

#include <stdbool.h>

#include "czr_transport.h"

/* This process as one of so many ranks.  On failure prints a sentence to stderr
 * and returns false. */
bool world_open(int ranks, czr_world **out);

/* Waits for the other ranks; where training has failed it ends them instead. */
void world_close(czr_world *world, bool has_failed);

#endif
