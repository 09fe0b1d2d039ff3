/* Use statements: which optimizer with which arguments, as a named group. */
#ifndef CZ_FRONTEND_PROGRAM_USE_H
#define CZ_FRONTEND_PROGRAM_USE_H

#include "frontend/names/options.h"
#include "frontend/rule/rule.h"

typedef struct cz_use {
    const cz_node *node; /* USE */
    cz_rule_use rule;
    cz_rule_signature signature;
    int64_t tile; /* rows and columns of its tiles (tile.h); 0: not cut */
    bool matches; /* some parameter's name and condition */
    bool matches_path;
    bool taken;  /* some parameter follows it */
    bool broken; /* reported: what depends on it stays silent */
} cz_use;

typedef struct cz_uses {
    cz_use *list; /* in the order of the text, in which they are tried */
    int n;
} cz_uses;

/* The main file's use statements with their optimizers.  Unknown optimizers
 * and groups of one name are reported; such uses are marked broken. */
void cz_uses_find(cz_scope *scope, const cz_node *file, cz_arena *arena,
                  cz_diags *diags, cz_uses *out);
/* The formals of each group's optimizer are what -D can set. */
void cz_uses_allow(const cz_uses *uses, cz_options *options);
/* Apply -D options and ask for the signatures; a use that is wrong is marked
 * broken. */
void cz_uses_bind(cz_uses *uses, const cz_options *options, bool clip,
                  cz_diags *diags);

#endif
