/* Chains written as equations: calls of defs with states in place of which
 * their statements stand, and a |> f(b) as f(a, b). */
#ifndef CZ_FRONTEND_RULE_EXPAND_EXPAND_H
#define CZ_FRONTEND_RULE_EXPAND_EXPAND_H

#include "frontend/names/sources.h"

/* Append the main file's text to `out`, its optimizers without chains.  They
 * must have been checked (cz_rules_check).  All else stays, comments and defs
 * too; the layout is not canonical.  The states and what they are computed from
 * stay what they are; names of locals are made from the calls'.  False after
 * reporting that a name means one thing in an optimizer and another in a def
 * that it calls. */
bool cz_expand(cz_scope *scope, cz_arena *arena, cz_diags *diags, cz_text *out);

#endif
