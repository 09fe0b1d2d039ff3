/* Checked access to a tree of JSON. */
#include "frontend/document/read.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* ---- what is wrong ---- */

static void put_path(const cz_json_at *at, cz_text *out)
{
    if (!at->in)
        return;
    put_path(at->in, out);
    if (at->key)
        cz_text_printf(out, "%s%s", at->in->in ? "." : "", at->key);
    else
        cz_text_printf(out, "[%d]", at->index);
}

void cz_json_wrong(const cz_json_at *at, const char *format, ...)
{
    cz_json_reading *reading = at->reading;
    cz_text path = {0}, message = {0};
    va_list args;
    if (reading->failed)
        return;
    reading->failed = true;
    va_start(args, format);
    cz_text_vprintf(&message, format, args);
    va_end(args);
    put_path(at, &path);
    cz_diag_error(reading->diags, CZ_BAD_PLAN, (cz_span){0}, "%s: %s%s%s",
                  reading->name, cz_text_string(&path), path.n > 0 ? " " : "",
                  cz_text_string(&message));
    cz_text_fini(&path);
    cz_text_fini(&message);
}

/* ---- structure ---- */

bool cz_json_has(const cz_json_at *at, const char *key)
{
    return json_object_get(at->value, key) != NULL;
}

cz_json_at cz_json_member(const cz_json_at *at, const char *key)
{
    const cz_json_at member = {at->reading, at, key, 0,
                               json_object_get(at->value, key)};
    if (at->value && !json_is_object(at->value))
        cz_json_wrong(at, "is no object");
    else if (!member.value)
        cz_json_wrong(&member, "is missing");
    return member;
}

int cz_json_length(const cz_json_at *at)
{
    const size_t n = json_array_size(at->value);
    if (!json_is_array(at->value))
        cz_json_wrong(at, "is no array");
    else if (n > INT_MAX)
        cz_json_wrong(at, "has too many elements");
    return n > INT_MAX ? 0 : (int)n;
}

cz_json_at cz_json_element(const cz_json_at *at, int i)
{
    return (cz_json_at){at->reading, at, NULL, i,
                        json_array_get(at->value, (size_t)i)};
}

/* ---- values ---- */

int64_t cz_json_number(const cz_json_at *at, int64_t low, int64_t high)
{
    const int64_t value = json_integer_value(at->value);
    if (json_is_integer(at->value) && value >= low && value <= high)
        return value;
    if (high == INT64_MAX)
        cz_json_wrong(at, "is no whole number from %" PRId64 " on", low);
    else
        cz_json_wrong(at, "is no whole number from %" PRId64 " to %" PRId64,
                      low, high);
    return low;
}

bool cz_json_truth(const cz_json_at *at)
{
    if (!json_is_boolean(at->value))
        cz_json_wrong(at, "is neither true nor false");
    return json_is_true(at->value);
}

bool cz_json_is_null(const cz_json_at *at)
{
    return json_is_null(at->value);
}

/* A NUL inside ends the copy. */
const char *cz_json_word(const cz_json_at *at)
{
    const char *word = json_string_value(at->value);
    if (!word)
        cz_json_wrong(at, "is no string");
    return word ? cz_arena_copy(at->reading->arena, word, strlen(word)) : "";
}

const int64_t *cz_json_numbers(const cz_json_at *at, int64_t low, int64_t high,
                               int *n)
{
    const int length = cz_json_length(at);
    if (*n < 0)
        *n = length;
    else if (length != *n)
        cz_json_wrong(at, "has %d elements, not %d", length, *n);
    int64_t *numbers = CZ_NEW(at->reading->arena, int64_t, *n);
    for (int i = 0; i < *n && !at->reading->failed; i++) {
        const cz_json_at element = cz_json_element(at, i);
        numbers[i] = cz_json_number(&element, low, high);
    }
    return numbers;
}

int64_t cz_json_number_of(const cz_json_at *at, const char *key, int64_t low,
                          int64_t high)
{
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_number(&member, low, high);
}

const char *cz_json_word_of(const cz_json_at *at, const char *key)
{
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_word(&member);
}
