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

/* ---- defs that declare states ---- */

/* Defs that declare states.  Each call of one gives the optimizer states of its
 * own, called NAME_state: NAME is what the call's value is bound to, where that
 * is all that stands there, else the def's; of a call in such a def the name of
 * the outer call stands before it. */

/* Whether a call of the DEF declares states, itself or by defs that it calls,
 * under whatever conditions. */
bool cz_def_has_states(cz_scope *scope, cz_arena *arena, const cz_node *def);
/* The first RETURN that is not the last statement of the DEF, or NULL. */
const cz_node *cz_def_early_return(const cz_node *def);
/* Whether some statement of the DEF binds `name`, so that a formal of that name
 * may be another value later. */
bool cz_def_binds(const cz_node *def, const char *name);
/* The call that is all of `value`, `a |> f(b)` included, or NULL. */
const cz_node *cz_sole_call(const cz_node *value);

#endif
