/* Files of the source tree that travel inside the binary. */
#ifndef CZ_DSL_BASE_EMBEDDED_H
#define CZ_DSL_BASE_EMBEDDED_H

#include <stddef.h>

typedef struct cz_embedded {
    const char *path;  /* relative to the folder that embeds; NULL ends */
    const char *bytes; /* NUL-terminated */
    size_t n;
} cz_embedded;

extern const cz_embedded cz_std_files[]; /* dsl/std: .cz sources */

#endif
