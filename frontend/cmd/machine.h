/* The machine of a plan that was read from JSON. */
#ifndef CZ_FRONTEND_CMD_MACHINE_H
#define CZ_FRONTEND_CMD_MACHINE_H

#include "dsl/base/diag.h"
#include "dsl/plan/document.h"
#include "frontend/program/machine.h"
#include "passes/cost/machine.h"

/* The plan's constants, as a machine that was read.  False after reporting
 * which one they do not say; `input` is the plan's name in messages. */
bool cz_cmd_machine_said(cz_arena *arena, const char *input,
                         const cz_document *document, cz_diags *diags,
                         cz_machine_said *out);
/* A machine of those constants, without measured times.  False after reporting
 * one that is too small: rates divide. */
bool cz_cmd_machine_fill(cz_arena *arena, const char *input,
                         const cz_machine_said *said, cz_diags *diags,
                         cz_machine *out);

#endif
