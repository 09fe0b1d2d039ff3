/* The start of a file: for formats whose head says all that is asked. */
#ifndef CZ_DSL_BASE_TEXT_START_H
#define CZ_DSL_BASE_TEXT_START_H

#include "dsl/base/text.h"

/* As cz_text_read_file(), but at most the first `n` bytes are read, and the
 * rest of the file is not looked at. */
bool cz_text_read_start(cz_text *text, const char *path, size_t n,
                        const char **why);

#endif
