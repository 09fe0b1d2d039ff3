/* UTF-8: how long a character is, and whether it is one. */
#ifndef CZ_DSL_BASE_UTF8_H
#define CZ_DSL_BASE_UTF8_H

#include <stddef.h>

/* Bytes of the character at `at`, where n bytes are left: 1 to 4, or 0 when
 * it is no valid UTF-8 (RFC 3629: no overlong forms, no surrogates, at most
 * U+10FFFF) or NUL. */
size_t cz_utf8_length(const char *at, size_t n);

#endif
