/* run --check, second answer: the float64 interpreter on whole tensors. */
#ifndef CZ_FRONTEND_CMD_RUN_REFERENCE_H
#define CZ_FRONTEND_CMD_RUN_REFERENCE_H

#include "frontend/cmd/cmd.h"
#include "frontend/run/ranks.h"

/* Repeat the run for one parameter of every rule, the first of its kind, by
 * the interpreter of math form, and compare what became of it.  Prints the
 * largest error and its bound; reports an error beyond it.  Rules whose
 * repetition would cost more than a few seconds are counted and left out. */
bool cz_run_reference(cz_job *job, const cz_run_request *request,
                      const cz_run_result *result);

#endif
