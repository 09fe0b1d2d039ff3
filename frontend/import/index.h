/* model.safetensors.index.json to a program, by way of its shards' headers. */
#ifndef CZ_FRONTEND_IMPORT_INDEX_H
#define CZ_FRONTEND_IMPORT_INDEX_H

#include "frontend/import/import.h"

/* `text` is the index.  False after reporting. */
bool cz_import_index(const cz_import *convert, const cz_json_text *text,
                     cz_text *out);

#endif
