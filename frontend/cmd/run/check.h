/* run --check: three independent answers to compare a run with. */
#ifndef CZ_FRONTEND_CMD_RUN_CHECK_H
#define CZ_FRONTEND_CMD_RUN_CHECK_H

#include "frontend/cmd/cmd.h"
#include "frontend/run/ranks.h"

/* The same source on one rank must give the same bits, unless values alone are
 * asked for; ranks that have the same tensor must have the same; the float64
 * interpreter of the math form must agree within the bound that is printed;
 * the engine's counters must equal the plan's.  Prints a line for each that
 * holds and reports what does not. */
bool cz_run_check(cz_job *job, const cz_cmd_options *given,
                  const cz_run_request *request, const cz_run_result *result);

#endif
