/* What a simulation is told on the command line. */
#ifndef CZ_FRONTEND_CMD_SIMULATE_OPTIONS_H
#define CZ_FRONTEND_CMD_SIMULATE_OPTIONS_H

#include "frontend/cmd/cmd.h"
#include "passes/simulate/simulate.h"

#define CZ_SETTING_KEY(setting) (CZ_KEY_SETTING + CZ_SETTING_##setting)

/* All but the machine.  False after saying on stderr what is wrong. */
bool cz_cmd_simulate_options(const cz_cmd_options *given,
                             cz_simulate_options *out);

#endif
