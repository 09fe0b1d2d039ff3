/* Hugging Face config.json to a program: its model_type names an architecture
 * of the library. */
#ifndef CZ_FRONTEND_IMPORT_CONFIG_H
#define CZ_FRONTEND_IMPORT_CONFIG_H

#include "frontend/import/import.h"

/* False after reporting; `out` may hold a part of the text then. */
bool cz_convert_config(const cz_convert *convert, cz_text *out);

#endif
