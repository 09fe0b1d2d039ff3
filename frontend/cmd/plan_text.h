/* A plan as JSON text, from whatever names one on the command line. */
#ifndef CZ_FRONTEND_CMD_PLAN_TEXT_H
#define CZ_FRONTEND_CMD_PLAN_TEXT_H

#include "frontend/cmd/cmd.h"

/* FILE is what `plan --json` printed, or a source or IR, which is planned
 * first, with the options' -D.  An exit status; what is wrong is reported, or
 * printed where planning failed.  The caller owns the text. */
int cz_cmd_plan_text(const cz_cmd_options *given, const char *file,
                     cz_diags *diags, bool *is_json, cz_text *text);

#endif
