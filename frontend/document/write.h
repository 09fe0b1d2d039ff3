/* A writer of canonical JSON: keys in the order of the calls, no spaces, one
 * line for each element of the outermost two levels, so that two documents
 * can be compared line by line.  Numbers are integers, or decimals of them. */
#ifndef CZ_FRONTEND_DOCUMENT_WRITE_H
#define CZ_FRONTEND_DOCUMENT_WRITE_H

#include "dsl/base/text.h"

#include <stdbool.h>
#include <stdint.h>

enum { CZ_JSON_MAX_DEPTH = 16 };

typedef struct cz_json {
    cz_text *out;
    int depth;
    bool has_element[CZ_JSON_MAX_DEPTH]; /* the next one needs a comma */
    bool has_key;                        /* the next value belongs to a key */
} cz_json;

void cz_json_init(cz_json *json, cz_text *out);
void cz_json_open(cz_json *json, char bracket);  /* '{' or '[' */
void cz_json_close(cz_json *json, char bracket); /* '}' or ']' */
void cz_json_key(cz_json *json, const char *key);
void cz_json_int(cz_json *json, int64_t value);
void cz_json_bool(cz_json *json, bool value);
void cz_json_string(cz_json *json, const char *string);
void cz_json_null(cz_json *json);

/* A key and its value. */
void cz_json_put_int(cz_json *json, const char *key, int64_t value);
/* value / 10^6 as a decimal; not negative. */
void cz_json_put_millionths(cz_json *json, const char *key, int64_t value);
void cz_json_put_bool(cz_json *json, const char *key, bool value);
void cz_json_put_string(cz_json *json, const char *key, const char *string);
void cz_json_put_ints(cz_json *json, const char *key, const int64_t *values,
                      int n);
/* `value`, or null where it is negative. */
void cz_json_put_optional(cz_json *json, const char *key, int64_t value);

#endif
