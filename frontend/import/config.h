/* Hugging Face config.json to a program: its model_type names an architecture
 * of the library. */
#ifndef CZ_FRONTEND_IMPORT_CONFIG_H
#define CZ_FRONTEND_IMPORT_CONFIG_H

#include "frontend/import/import.h"

/* False after reporting; `out` may hold a part of the text then. */
bool cz_import_config(const cz_import *convert, cz_text *out);

#endif
