/* Which model a program is about, and the values of its formals: from the
 * configuration, the call's arguments, defaults and -D options. */
#ifndef CZ_FRONTEND_MODEL_INSTANCE_H
#define CZ_FRONTEND_MODEL_INSTANCE_H

#include "frontend/names/config.h"
#include "frontend/names/eval.h"
#include "frontend/names/sources.h"
#include "frontend/names/options.h"

typedef struct cz_instance {
    const cz_node *model; /* MODEL */
    const cz_node *from;  /* MODEL_FROM, MODEL_CALL, or the MODEL itself */
    cz_env env;           /* formals, once bound */
    cz_config config;     /* source is NULL when there is none */
} cz_instance;

/* The one model that the main file instantiates: `model NAME from`,
 * `model NAME(args)`, or the only model that it defines.  False after
 * reporting. */
bool cz_instance_find(cz_scope *scope, const cz_node *file, cz_diags *diags,
                      cz_instance *out);
/* The formals are what -D can set. */
void cz_instance_allow(const cz_instance *instance, cz_options *options);
/* Give every formal its value: -D first, then the configuration or the
 * argument, then the default.  What is wrong is reported and the formal
 * poisoned, so that nothing more is said about it. */
void cz_instance_bind(cz_instance *instance, cz_scope *scope,
                      const cz_options *options, cz_env *globals,
                      cz_diags *diags);

#endif
