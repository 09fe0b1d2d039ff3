/* params.json to a program: names, shapes, types and sharding as a trainer has
 * them.  dsl/params.schema.json is the format. */
#ifndef CZ_FRONTEND_IMPORT_PARAMS_H
#define CZ_FRONTEND_IMPORT_PARAMS_H

#include "frontend/import/import.h"

#define CZ_PARAMS_SCHEMA "canzona.params/1"

/* `text` is the dump.  False after reporting. */
bool cz_import_params(const cz_import *convert, const cz_json_text *text,
                      cz_text *out);

#endif
