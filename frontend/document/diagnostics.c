/* Diagnostics as JSON and as SARIF. */
#include "frontend/document/diagnostics.h"

#include "dsl/base/utf8.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *const meanings[] = {
#define CZ_DIAG(code, name, meaning) meaning,
#include "dsl/base/diag.def"
#undef CZ_DIAG
};

/* ---- what both documents need -----------------------------------------------
 */

/* JSON is UTF-8; what users and their files say need not be. */
static json_t *string_of(const char *bytes)
{
    const size_t n = strlen(bytes);
    cz_text text = {0};
    json_t *string;

    for (size_t i = 0; i < n;) {
        const size_t length = cz_utf8_length(bytes + i, n - i);
        if (length > 0)
            cz_text_put(&text, bytes + i, length);
        else
            cz_text_puts(&text, "\xef\xbf\xbd");
        i += length > 0 ? length : 1;
    }
    string = json_string(cz_text_string(&text));
    cz_text_fini(&text);
    return string;
}

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, size_t value)
{
    set(object, key, json_integer((json_int_t)value));
}

static void append_document(json_t *document, cz_text *out)
{
    char *text = json_dumps(document, JSON_INDENT(2));

    json_decref(document);
    if (!text) {
        fputs("canzona: out of memory\n", stderr);
        exit(EXIT_FAILURE);
    }
    cz_text_puts(out, text);
    cz_text_puts(out, "\n");
    free(text);
}

/* How many notes follow message i. */
static int count_notes(const cz_diags *diags, int i)
{
    int n = 0;

    while (i + 1 + n < diags->n && diags->list[i + 1 + n].severity == CZ_NOTE)
        n++;
    return n;
}

static const char *level_of(const cz_diag *diag)
{
    return diag->severity == CZ_ERROR ? "error" : "warning";
}

/* A line of the source, and a place on it. */
typedef struct spot {
    size_t line; /* from 1 */
    const char *start, *at;
} spot;

static spot begin_of(const cz_span *span)
{
    const char *at = span->source->bytes + span->offset;

    return (spot){span->line, at - (span->column - 1), at};
}

/* Behind the last byte; a span may reach over several lines. */
static spot end_of(const cz_span *span)
{
    spot end = begin_of(span);

    for (uint32_t i = 0; i < span->length; i++)
        if (*end.at++ == '\n') {
            end.line++;
            end.start = end.at;
        }
    return end;
}

/* ---- JSON
 * --------------------------------------------------------------------- */

static json_t *place_of(const cz_span *span)
{
    json_t *place;

    if (!span->source)
        return json_null();
    place = json_object();
    set(place, "file", string_of(span->source->name));
    if (span->line) {
        const spot end = end_of(span);
        set_count(place, "line", span->line);
        set_count(place, "column", span->column);
        set_count(place, "end_line", end.line);
        set_count(place, "end_column", (size_t)(end.at - end.start) + 1);
        set_count(place, "offset", span->offset);
        set_count(place, "length", span->length);
    }
    return place;
}

static json_t *notes_of(const cz_diag *first, int n)
{
    json_t *notes = json_array();

    for (int i = 0; i < n; i++) {
        json_t *note = json_object();
        set(note, "message", string_of(first[i].message));
        set(note, "place", place_of(&first[i].span));
        json_array_append_new(notes, note);
    }
    return notes;
}

static json_t *message_of(const cz_diag *diag, int n_notes)
{
    json_t *message = json_object();

    set(message, "severity", json_string(level_of(diag)));
    set(message, "code", json_string(cz_code_name(diag->code)));
    set(message, "message", string_of(diag->message));
    set(message, "place", place_of(&diag->span));
    set(message, "notes", notes_of(diag + 1, n_notes));
    return message;
}

void cz_diagnostics_json(const cz_diags *diags, cz_text *out)
{
    json_t *document = json_object(), *list = json_array();

    for (int i = 0; i < diags->n; i++) {
        const int n_notes = count_notes(diags, i);
        json_array_append_new(list, message_of(&diags->list[i], n_notes));
        i += n_notes;
    }
    set(document, "schema", json_string("canzona.diagnostics/1"));
    set(document, "errors", json_integer(diags->n_errors));
    set(document, "stopped", json_boolean(diags->n_errors >= CZ_MAX_ERRORS));
    set(document, "diagnostics", list);
    append_document(document, out);
}

/* ---- SARIF
 * ---------------------------------------------------------------------- */

/* A relative reference (RFC 3986): other bytes than these are escaped. */
static json_t *uri_of(const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    cz_text text = {0};
    json_t *uri;

    for (const char *at = name; *at; at++)
        if (strchr(plain, *at))
            cz_text_put(&text, at, 1);
        else
            cz_text_printf(&text, "%%%02X", (unsigned char)*at);
    uri = json_string(cz_text_string(&text));
    cz_text_fini(&text);
    return uri;
}

/* Columns from 1, in characters; what is no UTF-8 counts one a byte. */
static size_t column_of(const spot *place)
{
    const size_t n = (size_t)(place->at - place->start);
    size_t column = 1;

    for (size_t i = 0; i < n; column++) {
        const size_t length = cz_utf8_length(place->start + i, n - i);
        i += length > 0 ? length : 1;
    }
    return column;
}

static json_t *region_of(const cz_span *span)
{
    json_t *region = json_object();
    const spot begin = begin_of(span), end = end_of(span);

    set_count(region, "startLine", begin.line);
    set_count(region, "startColumn", column_of(&begin));
    set_count(region, "endLine", end.line);
    set_count(region, "endColumn", column_of(&end));
    return region;
}

static void set_place(json_t *location, const cz_span *span)
{
    json_t *physical = json_object(), *artifact = json_object();

    set(artifact, "uri", uri_of(span->source->name));
    set(physical, "artifactLocation", artifact);
    if (span->line)
        set(physical, "region", region_of(span));
    set(location, "physicalLocation", physical);
}

static json_t *text_of(const char *text)
{
    json_t *message = json_object();

    set(message, "text", string_of(text));
    return message;
}

static json_t *related_of(const cz_diag *first, int n)
{
    json_t *related = json_array();

    for (int i = 0; i < n; i++) {
        json_t *location = json_object();
        set(location, "message", text_of(first[i].message));
        if (first[i].span.source)
            set_place(location, &first[i].span);
        json_array_append_new(related, location);
    }
    return related;
}

/* The place of a code among the rules, where it is put the first time. */
static size_t rule_index(json_t *rules, cz_code code)
{
    const size_t n = json_array_size(rules);
    json_t *rule;

    for (size_t i = 0; i < n; i++)
        if (strcmp(json_string_value(
                       json_object_get(json_array_get(rules, i), "id")),
                   cz_code_name(code)) == 0)
            return i;
    rule = json_object();
    set(rule, "id", json_string(cz_code_name(code)));
    set(rule, "shortDescription", text_of(meanings[code]));
    json_array_append_new(rules, rule);
    return n;
}

static json_t *result_of(const cz_diag *diag, int n_notes, json_t *rules)
{
    json_t *result = json_object(), *locations = json_array();

    set(result, "ruleId", json_string(cz_code_name(diag->code)));
    set_count(result, "ruleIndex", rule_index(rules, diag->code));
    set(result, "level", json_string(level_of(diag)));
    set(result, "message", text_of(diag->message));
    if (diag->span.source) {
        json_t *location = json_object();
        set_place(location, &diag->span);
        json_array_append_new(locations, location);
    }
    set(result, "locations", locations);
    if (n_notes > 0)
        set(result, "relatedLocations", related_of(diag + 1, n_notes));
    return result;
}

static json_t *tool_of(const char *version, json_t *rules)
{
    json_t *tool = json_object(), *driver = json_object();

    set(driver, "name", json_string("canzona"));
    set(driver, "version", json_string(version));
    set(driver, "rules", rules);
    set(tool, "driver", driver);
    return tool;
}

void cz_diagnostics_sarif(const cz_diags *diags, const char *version,
                          cz_text *out)
{
    json_t *document = json_object(), *runs = json_array();
    json_t *run = json_object(), *rules = json_array();
    json_t *results = json_array();

    for (int i = 0; i < diags->n; i++) {
        const int n_notes = count_notes(diags, i);
        json_array_append_new(results,
                              result_of(&diags->list[i], n_notes, rules));
        i += n_notes;
    }
    set(run, "tool", tool_of(version, rules));
    set(run, "columnKind", json_string("unicodeCodePoints"));
    set(run, "results", results);
    json_array_append_new(runs, run);
    set(document, "version", json_string("2.1.0"));
    set(document, "$schema",
        json_string("https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/"
                    "sarif-schema-2.1.0.json"));
    set(document, "runs", runs);
    append_document(document, out);
}
