/* Whether a program is well formed, before anything relies on it. */
#ifndef CZR_PROGRAM_CHECK_H
#define CZR_PROGRAM_CHECK_H

#include "runtime/czr.h"

/* Versions, numbers in range, and this rank's rows inside this rank's memory.
 * Whether the plan is right is the compiler's verifier's affair.  On failure
 * a sentence is in why[n]. */
czr_status czr_check_program(const czr_program *program, int world_size,
                             int rank, char *why, size_t n);

#endif
