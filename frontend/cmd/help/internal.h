/* Private to frontend/cmd/help. */
#ifndef CZ_FRONTEND_CMD_HELP_INTERNAL_H
#define CZ_FRONTEND_CMD_HELP_INTERNAL_H

#include "frontend/cmd/cmd.h"

#include <limits.h>

/* All commands and options, as a text of bash, zsh or fish; as a text of man
 * the commands, or one with its options.  False after saying that there is no
 * such form, or none of one command. */
bool cz_help_print_as(const char *form, const cz_command *command, FILE *out);

#endif
