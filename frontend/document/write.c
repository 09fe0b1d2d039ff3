/* Canonical JSON, value by value. */
#include "frontend/document/write.h"

#include <assert.h>
#include <inttypes.h>

enum { LINE_DEPTH = 2 }; /* elements down to this level get a line each */

void cz_json_init(cz_json *json, cz_text *out)
{
    *json = (cz_json){.out = out};
}

/* What stands before a value or a key. */
static void separate(cz_json *json)
{
    if (json->has_key) {
        json->has_key = false;
        return;
    }
    if (json->has_element[json->depth])
        cz_text_put(json->out, ",", 1);
    if (json->depth > 0 && json->depth <= LINE_DEPTH)
        cz_text_put(json->out, "\n", 1);
    json->has_element[json->depth] = true;
}

void cz_json_open(cz_json *json, char bracket)
{
    separate(json);
    assert(json->depth + 1 < CZ_JSON_MAX_DEPTH);
    cz_text_put(json->out, &bracket, 1);
    json->has_element[++json->depth] = false;
}

void cz_json_close(cz_json *json, char bracket)
{
    assert(json->depth > 0);
    json->depth--;
    cz_text_put(json->out, &bracket, 1);
    if (json->depth == 0)
        cz_text_put(json->out, "\n", 1);
}

static void put_byte(cz_text *out, unsigned char byte)
{
    if (byte == '"' || byte == '\\')
        cz_text_printf(out, "\\%c", byte);
    else if (byte < ' ')
        cz_text_printf(out, "\\u%04x", byte);
    else
        cz_text_put(out, (const char *)&byte, 1);
}

static void put_string(cz_text *out, const char *string)
{
    cz_text_put(out, "\"", 1);
    for (const char *s = string; *s; s++)
        put_byte(out, (unsigned char)*s);
    cz_text_put(out, "\"", 1);
}

void cz_json_key(cz_json *json, const char *key)
{
    separate(json);
    put_string(json->out, key);
    cz_text_put(json->out, ":", 1);
    json->has_key = true;
}

void cz_json_int(cz_json *json, int64_t value)
{
    separate(json);
    cz_text_put_int(json->out, value);
}

void cz_json_bool(cz_json *json, bool value)
{
    separate(json);
    cz_text_puts(json->out, value ? "true" : "false");
}

void cz_json_string(cz_json *json, const char *string)
{
    separate(json);
    put_string(json->out, string);
}

void cz_json_null(cz_json *json)
{
    separate(json);
    cz_text_puts(json->out, "null");
}

void cz_json_put_int(cz_json *json, const char *key, int64_t value)
{
    cz_json_key(json, key);
    cz_json_int(json, value);
}

void cz_json_put_millionths(cz_json *json, const char *key, int64_t value)
{
    cz_json_key(json, key);
    separate(json);
    cz_text_printf(json->out, "%" PRId64 ".%06" PRId64, value / 1000000,
                   value % 1000000);
}

void cz_json_put_bool(cz_json *json, const char *key, bool value)
{
    cz_json_key(json, key);
    cz_json_bool(json, value);
}

void cz_json_put_string(cz_json *json, const char *key, const char *string)
{
    cz_json_key(json, key);
    cz_json_string(json, string);
}

void cz_json_put_ints(cz_json *json, const char *key, const int64_t *values,
                      int n)
{
    cz_json_key(json, key);
    cz_json_open(json, '[');
    for (int i = 0; i < n; i++)
        cz_json_int(json, values[i]);
    cz_json_close(json, ']');
}

void cz_json_put_optional(cz_json *json, const char *key, int64_t value)
{
    cz_json_key(json, key);
    if (value < 0)
        cz_json_null(json);
    else
        cz_json_int(json, value);
}
