/* Text: a growing byte string for everything that is printed or emitted. */
#ifndef CZ_DSL_BASE_TEXT_H
#define CZ_DSL_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cz_text {
    char *bytes; /* NUL-terminated once anything was put; else NULL */
    size_t n, capacity;
} cz_text;

void cz_text_init(cz_text *text);
void cz_text_fini(cz_text *text);
void cz_text_put(cz_text *text, const char *bytes, size_t n);
void cz_text_puts(cz_text *text, const char *string);
/* In decimal. */
void cz_text_put_int(cz_text *text, int64_t value);
void cz_text_printf(cz_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void cz_text_vprintf(cz_text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* The bytes as a C string; "" when empty.  Owned by the text. */
const char *cz_text_string(const cz_text *text);

/* Whole file into memory, at most `limit` bytes, regular files only ("-" is
 * standard input).  On failure returns false and sets *why to a static
 * phrase such as "is larger than 4 MiB allows".  The caller owns the text. */
bool cz_text_read_file(cz_text *text, const char *path, size_t limit,
                       const char **why);
/* Write to a temporary beside `path`, then rename: old or new, never half.
 * What is no regular file (/dev/null, a pipe) is written to, not replaced. */
bool cz_text_write_file(const cz_text *text, const char *path,
                        const char **why);

#endif
