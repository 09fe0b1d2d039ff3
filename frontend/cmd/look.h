/* What of a plan is looked at: its own JSON, read back, and one step of it. */
#ifndef CZ_FRONTEND_CMD_LOOK_H
#define CZ_FRONTEND_CMD_LOOK_H

#include "frontend/cmd/cmd.h"
#include "frontend/report/report.h"

/* The job's plan, which is done.  Everything belongs to the job's arena; NULL
 * after reporting what is wrong, as constants that it does not say. */
const cz_look *cz_cmd_look(cz_job *job, const cz_cmd_options *given);

#endif
