/* The generated optimizers that are linked in, one for each mesh. */
#ifndef EXAMPLES_TRAIN_GPT_PROGRAMS_H
#define EXAMPLES_TRAIN_GPT_PROGRAMS_H

#include <stdio.h>

#include "runtime/czr.h"

/* NULL when the build has none for this mesh. */
const czr_program *programs_find(const char *optimizer, int dp, int tp);

/* "muon on 1x1, muon on 2x2, ..." */
void programs_print(FILE *);

#endif
