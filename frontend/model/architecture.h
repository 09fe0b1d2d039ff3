/* What the name of an architecture says: which model_type it serves, and whose
 * storage it describes. */
#ifndef CZ_FRONTEND_MODEL_ARCHITECTURE_H
#define CZ_FRONTEND_MODEL_ARCHITECTURE_H

#include <stdbool.h>

/* Does the name end as those of a trainer's storage do: qwen3_megatron? */
bool cz_architecture_has_storage(const char *name);
/* May a configuration of this model_type give the architecture its values?  So
 * it may when that is its name, or its name without a trainer's storage. */
bool cz_architecture_serves(const char *name, const char *model_type);

#endif
