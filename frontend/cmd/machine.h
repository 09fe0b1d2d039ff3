/* The machine of a plan that was read from JSON. */
#ifndef CZ_FRONTEND_CMD_MACHINE_H
#define CZ_FRONTEND_CMD_MACHINE_H

#include "dsl/plan/document.h"
#include "frontend/program/machine.h"
#include "passes/cost/machine.h"

/* The machine `name`, or that of the document where it is NULL, with n -D, and
 * without measured times.  False after reporting, also one that is too small:
 * rates divide.  `input` is the plan's name in messages. */
bool cz_cmd_machine(cz_arena *arena, const char *input,
                    const cz_document *document, const char *name,
                    const char *const *defines, int n, cz_diags *diags,
                    cz_machine *out);

#endif
