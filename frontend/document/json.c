/* Canonical JSON, value by value; checked access to a tree of JSON. */
#include "frontend/document/json.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/base/utf8.h"

enum {
    LINE_DEPTH = 2, /* elements down to this level get a line each */
    MAX_DEPTH = 32  /* of what is read */
};

/* ---- writing ---- */

void cz_json_init(cz_json *json, cz_text *out)
{
    *json = (cz_json){.out = out};
}

void cz_json_init_tree(cz_json *json)
{
    *json = (cz_json){.out = NULL};
}

json_t *cz_json_tree(const cz_json *json)
{
    return json->open[1];
}

/* Of a tree: takes the value, of which there is one in memory. */
static json_t *add(const cz_json *json, const char *key, json_t *value)
{
    json_t *parent = json->open[json->depth];
    int status = value ? 0 : -1;
    if (parent && key)
        status = json_object_set_new_nocheck(parent, key, value);
    else if (parent)
        status = json_array_append_new(parent, value);
    if (status != 0)
        abort();
    return value;
}

static void put_control(const cz_json *json, char byte)
{
    static const char letters[] = "btn\0fr"; /* from '\b' on */
    const int i = byte - '\b';
    if (json->is_indented && i >= 0 && i < 6 && letters[i])
        cz_text_printf(json->out, "\\%c", letters[i]);
    else
        cz_text_printf(json->out, json->is_indented ? "\\u%04X" : "\\u%04x",
                       (unsigned)byte);
}

/* Of n bytes; 0: the first byte is of none. */
static void put_character(cz_text *out, const char *string, size_t n)
{
    cz_text_put(out, n ? string : "\xef\xbf\xbd", n ? n : 3);
}

static void put_string(const cz_json *json, const char *string)
{
    const char *end = string + strlen(string);
    cz_text_put(json->out, "\"", 1);
    for (size_t n; string < end; string += n) {
        n = cz_utf8_length(string, (size_t)(end - string));
        if (*string == '"' || *string == '\\')
            cz_text_printf(json->out, "\\%c", *string);
        else if (n == 1 && *string < ' ')
            put_control(json, *string);
        else
            put_character(json->out, string, n);
        n += n == 0;
    }
    cz_text_put(json->out, "\"", 1);
}

static json_t *string_of(const char *string)
{
    const char *end = string + strlen(string);
    json_t *value = json_string(string);
    cz_text text = {0};
    for (size_t n; !value && string < end; string += n + (n == 0)) {
        n = cz_utf8_length(string, (size_t)(end - string));
        put_character(&text, string, n);
    }
    if (!value)
        value = json_string(cz_text_string(&text));
    cz_text_fini(&text);
    return value;
}

static void put_line(const cz_json *json)
{
    if (json->is_indented)
        cz_text_printf(json->out, "\n%*s", 2 * json->depth, "");
    else if (json->depth <= LINE_DEPTH)
        cz_text_put(json->out, "\n", 1);
}

/* What stands before a value. */
static void begin(cz_json *json, const char *key)
{
    if (json->has_element[json->depth])
        cz_text_put(json->out, ",", 1);
    if (json->depth > 0)
        put_line(json);
    json->has_element[json->depth] = true;
    if (!key)
        return;
    put_string(json, key);
    cz_text_puts(json->out, json->is_indented ? ": " : ":");
}

void cz_json_open(cz_json *json, const char *key, char bracket)
{
    assert(json->depth + 1 < CZ_JSON_MAX_DEPTH);
    if (!json->out) {
        json->open[json->depth + 1] =
            add(json, key, bracket == '{' ? json_object() : json_array());
        json->depth++;
        return;
    }
    begin(json, key);
    cz_text_put(json->out, &bracket, 1);
    json->has_element[++json->depth] = false;
    json->closing[json->depth] = bracket == '{' ? '}' : ']';
}

void cz_json_close(cz_json *json)
{
    assert(json->depth > 0);
    if (!json->out) {
        json->depth--;
        return;
    }
    const char closing = json->closing[json->depth];
    const bool was_empty = !json->has_element[json->depth--];
    if (json->is_indented && !was_empty)
        put_line(json);
    cz_text_put(json->out, &closing, 1);
    if (json->depth == 0)
        cz_text_put(json->out, "\n", 1);
}

void cz_json_int(cz_json *json, const char *key, int64_t value)
{
    if (!json->out) {
        add(json, key, json_integer(value));
        return;
    }
    begin(json, key);
    cz_text_put_int(json->out, value);
}

void cz_json_bool(cz_json *json, const char *key, bool value)
{
    if (!json->out) {
        add(json, key, json_boolean(value));
        return;
    }
    begin(json, key);
    cz_text_puts(json->out, value ? "true" : "false");
}

void cz_json_string(cz_json *json, const char *key, const char *string)
{
    if (!json->out) {
        add(json, key, string ? string_of(string) : json_null());
        return;
    }
    begin(json, key);
    if (string)
        put_string(json, string);
    else
        cz_text_puts(json->out, "null");
}

void cz_json_ints(cz_json *json, const char *key, const int64_t *values,
                  int64_t n)
{
    cz_json_open(json, key, '[');
    for (int64_t i = 0; i < n; i++)
        cz_json_int(json, NULL, values[i]);
    cz_json_close(json);
}

void cz_json_optional(cz_json *json, const char *key, int64_t value)
{
    if (value < 0)
        cz_json_string(json, key, NULL);
    else
        cz_json_int(json, key, value);
}

void cz_json_millionths(cz_json *json, const char *key, int64_t value)
{
    assert(json->out);
    begin(json, key);
    cz_text_printf(json->out, "%" PRId64 ".%06" PRId64, value / 1000000,
                   value % 1000000);
}

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

/* ---- texts ---- */

/* Jansson's own limit is deeper than what our stack should be asked for. */
bool cz_json_is_over_depth(const char *bytes, size_t n, int limit,
                           size_t *where)
{
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        const char c = bytes[i];
        *where = i;
        if (c == '"')
            in_string = !in_string;
        else if (in_string)
            i += c == '\\';
        else
            depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth > limit)
            return true;
    }
    return false;
}

cz_span cz_json_span(const cz_source *source, size_t offset)
{
    cz_span span = {.source = source, .length = 1, .line = 1, .column = 1};
    span.offset = (uint32_t)(offset < source->n ? offset : source->n);
    for (size_t i = 0; i < span.offset; i++) {
        span.column++;
        if (source->bytes[i] == '\n') {
            span.line++;
            span.column = 1;
        }
    }
    return span;
}

json_t *cz_json_parse(cz_json_at *root, const cz_text *text)
{
    size_t where;
    json_error_t error;
    if (cz_json_is_over_depth(text->bytes, text->n, MAX_DEPTH, &where)) {
        cz_json_wrong(root, "is nested deeper than %d", MAX_DEPTH);
        return NULL;
    }
    json_t *tree = json_loadb(cz_text_string(text), text->n,
                              JSON_REJECT_DUPLICATES, &error);
    if (!tree)
        cz_json_wrong(root, "line %d is not JSON: %s", error.line, error.text);
    root->value = tree;
    return tree;
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

const char *cz_json_any_text(const cz_json_at *at)
{
    cz_arena *arena = at->reading->arena;
    const char *text = "";
    if (json_is_array(at->value)) {
        const int n = cz_json_length(at);
        for (int i = 0; i < n && !at->reading->failed; i++) {
            const cz_json_at element = cz_json_element(at, i);
            text = cz_arena_printf(arena, "%s%s%s", text, i > 0 ? " " : "",
                                   cz_json_any_text(&element));
        }
        return text;
    }
    if (json_is_integer(at->value))
        return cz_arena_printf(arena, "%lld",
                               (long long)json_integer_value(at->value));
    if (json_is_boolean(at->value))
        return json_is_true(at->value) ? "true" : "false";
    return json_is_null(at->value) ? "none" : cz_json_word(at);
}

int64_t cz_json_number_of(const cz_json_at *at, const char *key, int64_t low,
                          int64_t high)
{
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_number(&member, low, high);
}

int64_t cz_json_optional_of(const cz_json_at *at, const char *key, int64_t high)
{
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_is_null(&member) ? -1 : cz_json_number(&member, 0, high);
}

const char *cz_json_word_of(const cz_json_at *at, const char *key)
{
    const cz_json_at member = cz_json_member(at, key);
    return cz_json_word(&member);
}

bool cz_json_truth_of(const cz_json_at *at, const char *key)
{
    const cz_json_at member = cz_json_member(at, key);
    if (!json_is_boolean(member.value))
        cz_json_wrong(&member, "is neither true nor false");
    return json_is_true(member.value);
}

int cz_json_choice_of(const cz_json_at *at, const char *key,
                      const char *const *words, int n)
{
    const cz_json_at member = cz_json_member(at, key);
    const char *word = cz_json_word(&member);
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    cz_json_wrong(&member, "is none of those known");
    return 0;
}

const int64_t *cz_json_numbers_of(const cz_json_at *at, const char *key,
                                  int64_t low, int64_t high, int *n)
{
    const cz_json_at list = cz_json_member(at, key);
    const int length = cz_json_length(&list);
    if (*n < 0)
        *n = length;
    else if (length != *n)
        cz_json_wrong(&list, "has %d elements, not %d", length, *n);
    int64_t *numbers = CZ_NEW(at->reading->arena, int64_t, *n);
    for (int i = 0; i < *n && !at->reading->failed; i++) {
        const cz_json_at element = cz_json_element(&list, i);
        numbers[i] = cz_json_number(&element, low, high);
    }
    return numbers;
}

const char *cz_json_joined_of(const cz_json_at *at, const char *key,
                              const char *by)
{
    const cz_json_at list = cz_json_member(at, key);
    const int n = cz_json_length(&list);
    cz_text out = {0};
    for (int i = 0; i < n && !at->reading->failed; i++) {
        const cz_json_at element = cz_json_element(&list, i);
        cz_text_puts(&out, i ? by : "");
        if (json_is_string(element.value))
            cz_text_puts(&out, cz_json_word(&element));
        else
            cz_text_put_int(&out, cz_json_number(&element, 0, CZ_MAX_DIM));
    }
    const char *copy =
        cz_arena_copy(at->reading->arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return copy;
}

/* ---- tables ---- */

static void store(const cz_json_field *field, void *out, int64_t value)
{
    char *at = (char *)out + field->at;
    if (field->size == sizeof value)
        memcpy(at, &value, sizeof value);
    else if (field->size == sizeof(int))
        *(int *)(void *)at = (int)value;
    else
        *(bool *)at = value != 0;
}

static int64_t load(const cz_json_field *field, const void *in)
{
    const char *at = (const char *)in + field->at;
    int64_t value;
    if (field->size == sizeof(int))
        return *(const int *)(const void *)at;
    if (field->size == sizeof(bool))
        return *(const bool *)at;
    memcpy(&value, at, sizeof value);
    return value;
}

static const char *read_word(const cz_json_at *at, const cz_json_field *field)
{
    const cz_json_at member = cz_json_member(at, field->key);
    if (field->kind == CZ_JSON_SHAPE)
        return cz_json_joined_of(at, field->key, " x ");
    return field->kind == CZ_JSON_WORD_OR_NULL && cz_json_is_null(&member)
               ? ""
               : cz_json_word(&member);
}

void cz_json_read_fields(const cz_json_at *at, const cz_json_field *fields,
                         void *out)
{
    for (const cz_json_field *f = fields; f->key; f++)
        if (f->kind == CZ_JSON_TRUTH)
            store(f, out, cz_json_truth_of(at, f->key));
        else if (f->kind == CZ_JSON_NUMBER)
            store(f, out, cz_json_number_of(at, f->key, f->low, f->high));
        else if (f->kind == CZ_JSON_OPTIONAL)
            store(f, out, cz_json_optional_of(at, f->key, f->high));
        else
            *(const char **)(void *)((char *)out + f->at) = read_word(at, f);
}

void cz_json_put_fields(cz_json *json, const char *key,
                        const cz_json_field *fields, const void *in)
{
    cz_json_open(json, key, '{');
    for (const cz_json_field *f = fields; f->key; f++) {
        const char *word;
        if (f->kind == CZ_JSON_TRUTH) {
            cz_json_bool(json, f->key, load(f, in) != 0);
        } else if (f->kind == CZ_JSON_NUMBER) {
            cz_json_int(json, f->key, load(f, in));
        } else if (f->kind == CZ_JSON_OPTIONAL) {
            cz_json_optional(json, f->key, load(f, in));
        } else {
            memcpy(&word, (const char *)in + f->at, sizeof word);
            cz_json_string(json, f->key, word);
        }
    }
    cz_json_close(json);
}

void cz_json_put_list(cz_json *json, const char *key,
                      const cz_json_field *fields, size_t size,
                      const void *entries, int n)
{
    cz_json_open(json, key, '[');
    for (int i = 0; i < n; i++)
        cz_json_put_fields(json, NULL, fields,
                           (const char *)entries + (size_t)i * size);
    cz_json_close(json);
}

void *cz_json_list_of(const cz_json_at *at, const char *key, size_t size,
                      const cz_json_field *fields, cz_json_entry_reader more,
                      void *context, int *n)
{
    const cz_json_at list = cz_json_member(at, key);
    *n = cz_json_length(&list);
    char *entries = cz_arena_alloc(at->reading->arena, (size_t)*n, size);
    for (int i = 0; i < *n && !at->reading->failed; i++) {
        const cz_json_at entry = cz_json_element(&list, i);
        if (fields)
            cz_json_read_fields(&entry, fields, entries + (size_t)i * size);
        if (more && !at->reading->failed)
            more(context, &entry, entries + (size_t)i * size);
    }
    return entries;
}
