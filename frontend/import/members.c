/* JSON, a member at a time.  Brackets, strings and commas are found here; what
 * stands between them is Jansson's to judge. */
#include "frontend/import/internal.h"

#include <string.h>

enum {
    MAX_DEPTH = 64,
    MAX_VALUE_BYTES = 1 << 16 /* of what is loaded as a tree */
};

/* ---- messages ---- */

enum { SHOWN_BEHIND = 256 /* bytes that a message may show */ };

static cz_span span_of(const cz_json_text *text, cz_json_range part)
{
    cz_span span = cz_json_span(text->source, part.from);

    /* Messages are printed when the text is gone: what they show is kept. */
    const size_t end = span.offset;
    cz_source *kept = CZ_NEW(text->arena, cz_source, 1);

    *kept = *text->source;
    kept->n = kept->n < end + SHOWN_BEHIND ? kept->n : end + SHOWN_BEHIND;
    kept->bytes = cz_arena_copy(text->arena, kept->bytes, kept->n);
    span.source = kept;
    span.length = (uint32_t)(part.n > 0 ? part.n : 1);
    return span;
}

void cz_json_error(const cz_json_text *text, cz_json_range part, cz_code code,
                   const char *format, ...)
{
    cz_text message = {0};
    va_list args;

    va_start(args, format);
    cz_text_vprintf(&message, format, args);
    va_end(args);
    cz_diag_error(text->diags, code, span_of(text, part), "%s",
                  cz_text_string(&message));
    cz_text_fini(&message);
}

static bool malformed(const cz_json_text *text, size_t at, const char *why)
{
    cz_json_error(text, (cz_json_range){at, 1}, CZ_BAD_CONFIG,
                  "this is not JSON: %s", why);
    return false;
}

/* ---- finding ends ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t skip_blanks(const cz_json_text *text, size_t at, size_t end)
{
    while (at < end && is_blank(text->source->bytes[at]))
        at++;
    return at;
}

/* Behind the string that begins at `at`, or `end` + 1 when it never ends. */
static size_t skip_string(const char *bytes, size_t at, size_t end)
{
    for (at++; at < end && bytes[at] != '"'; at++)
        at += bytes[at] == '\\';
    return at < end ? at + 1 : end + 1;
}

static size_t skip_scalar(const char *bytes, size_t at, size_t end)
{
    while (at < end && !is_blank(bytes[at]) && !strchr(",]}[{\":", bytes[at]))
        at++;
    return at;
}

/* Behind the brackets that open at `*at`. */
static bool skip_brackets(const cz_json_text *text, size_t *at, size_t end)
{
    const char *bytes = text->source->bytes;
    const size_t start = *at;
    int depth = 0;

    while (*at < end) {
        const char c = bytes[*at];
        if (c == '"') {
            *at = skip_string(bytes, *at, end);
            continue;
        }
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (depth > MAX_DEPTH) {
            cz_json_error(text, (cz_json_range){*at, 1}, CZ_TOO_LARGE,
                          "nesting deeper than %d", MAX_DEPTH);
            return false;
        }
        ++*at;
        if (depth == 0)
            return true;
    }
    return malformed(text, start, "this bracket is not closed");
}

static bool skip_value(const cz_json_text *text, size_t *at, size_t end)
{
    const char *bytes = text->source->bytes;
    const size_t start = *at;

    if (start < end && (bytes[start] == '{' || bytes[start] == '['))
        return skip_brackets(text, at, end);
    *at = start < end && bytes[start] == '"' ? skip_string(bytes, start, end)
                                             : skip_scalar(bytes, start, end);
    if (*at > end)
        return malformed(text, start, "this string does not end");
    return *at > start || malformed(text, start, "a value is missing");
}

/* ---- members ---- */

cz_json_range cz_json_all(const cz_json_text *text)
{
    size_t end = text->source->n;
    const size_t from = skip_blanks(text, 0, end);

    while (end > from && is_blank(text->source->bytes[end - 1]))
        end--;
    return (cz_json_range){from, end - from};
}

char cz_json_kind(const cz_json_text *text, cz_json_range part)
{
    return (char)(part.n > 0 ? text->source->bytes[part.from] : '\0');
}

bool cz_json_open_members(cz_json_members *members, const cz_json_text *text,
                          cz_json_range part, char bracket, const char *what)
{
    size_t end = part.from;

    *members = (cz_json_members){.text = text, .failed = true};
    if (cz_json_kind(text, part) != bracket) {
        cz_json_error(text, (cz_json_range){part.from, 1}, CZ_BAD_CONFIG,
                      "%s is to be %s", what,
                      bracket == '{' ? "an object" : "an array");
        return false;
    }
    if (!skip_brackets(text, &end, part.from + part.n))
        return false;
    if (end != part.from + part.n)
        return malformed(text, end, "more text follows");
    members->at = part.from + 1;
    members->end = end - 1;
    members->closing = bracket == '{' ? '}' : ']';
    members->failed = text->source->bytes[end - 1] != members->closing;
    return !members->failed ||
           malformed(text, end - 1, "this bracket closes another kind");
}

static bool read_key(cz_json_members *members, cz_json_entry *out)
{
    const cz_json_text *text = members->text;
    size_t at = members->at;

    if (at >= members->end || text->source->bytes[at] != '"')
        return malformed(text, at, "a key in double quotes is expected");
    if (!skip_value(text, &at, members->end))
        return false;
    out->key_range = (cz_json_range){members->at, at - members->at};
    json_t *key = cz_json_load(text, out->key_range);
    if (!key)
        return false;
    out->key = cz_arena_copy(text->arena, json_string_value(key),
                             json_string_length(key));
    json_decref(key);
    at = skip_blanks(text, at, members->end);
    if (at >= members->end || text->source->bytes[at] != ':')
        return malformed(text, at, "':' is expected behind a key");
    members->at = skip_blanks(text, at + 1, members->end);
    return true;
}

/* Go to the next member.  False at the end, and when there is no comma. */
static bool advance(cz_json_members *members)
{
    const cz_json_text *text = members->text;
    const bool first = !members->started;

    members->started = true;
    members->at = skip_blanks(text, members->at, members->end);
    if (members->at == members->end)
        return false;
    if (first)
        return true;
    members->failed = text->source->bytes[members->at] != ',';
    if (members->failed)
        return malformed(text, members->at, "',' is expected");
    members->at = skip_blanks(text, members->at + 1, members->end);
    return true;
}

bool cz_json_next(cz_json_members *members, cz_json_entry *out)
{
    *out = (cz_json_entry){.key = NULL};
    if (members->failed || !advance(members))
        return false;
    members->failed = true;
    if (members->closing == '}' && !read_key(members, out))
        return false;
    const size_t from = members->at;
    if (!skip_value(members->text, &members->at, members->end))
        return false;
    out->value = (cz_json_range){from, members->at - from};
    members->failed = false;
    return true;
}

/* ---- values ---- */

json_t *cz_json_load(const cz_json_text *text, cz_json_range part)
{
    json_error_t error;

    if (part.n > MAX_VALUE_BYTES) {
        cz_json_error(text, (cz_json_range){part.from, 1}, CZ_TOO_LARGE,
                      "a value of more than %d bytes", MAX_VALUE_BYTES);
        return NULL;
    }
    json_t *json = json_loadb(text->source->bytes + part.from, part.n,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json) {
        const size_t behind = error.position > 0 ? (size_t)error.position : 1;
        malformed(text, part.from + behind - 1, error.text);
    }
    return json;
}
