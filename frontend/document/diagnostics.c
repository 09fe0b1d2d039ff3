/* Diagnostics as JSON and as SARIF. */
#include "frontend/document/diagnostics.h"

#include <string.h>

#include "dsl/base/utf8.h"
#include "frontend/document/json.h"

static const char *const meanings[] = {
#define CZ_DIAG(code, name, meaning, help) meaning,
#include "dsl/base/diag.def"
#undef CZ_DIAG
};

/* ---- what both documents need ---- */

static void open_document(cz_json *json, cz_text *out)
{
    cz_json_init(json, out);
    json->is_indented = true;
    cz_json_open(json, NULL, '{');
}

/* How many notes follow message i. */
static int count_notes(const cz_diags *diags, int i)
{
    int n = 0;

    while (i + 1 + n < diags->n && diags->list[i + 1 + n].severity == CZ_NOTE)
        n++;
    return n;
}

typedef void (*message_writer)(cz_json *json, const cz_diags *diags, int i,
                               int n_notes);

static void put_messages(cz_json *json, const char *key, const cz_diags *diags,
                         message_writer put)
{
    cz_json_open(json, key, '[');
    for (int i = 0; i < diags->n; i++) {
        const int n_notes = count_notes(diags, i);
        put(json, diags, i, n_notes);
        i += n_notes;
    }
    cz_json_close(json);
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

/* ---- JSON ---- */

static void put_place(cz_json *json, const cz_span *span)
{
    if (!span->source) {
        cz_json_string(json, "place", NULL);
        return;
    }
    cz_json_open(json, "place", '{');
    cz_json_string(json, "file", span->source->name);
    if (span->line) {
        const spot end = end_of(span);
        cz_json_int(json, "line", span->line);
        cz_json_int(json, "column", span->column);
        cz_json_int(json, "end_line", (int64_t)end.line);
        cz_json_int(json, "end_column", end.at - end.start + 1);
        cz_json_int(json, "offset", span->offset);
        cz_json_int(json, "length", span->length);
    }
    cz_json_close(json);
}

static void put_message(cz_json *json, const cz_diags *diags, int i,
                        int n_notes)
{
    const cz_diag *diag = &diags->list[i];

    cz_json_open(json, NULL, '{');
    cz_json_string(json, "severity", level_of(diag));
    cz_json_string(json, "code", cz_code_name(diag->code));
    cz_json_string(json, "message", diag->message);
    put_place(json, &diag->span);
    cz_json_open(json, "notes", '[');
    for (int k = 1; k <= n_notes; k++) {
        cz_json_open(json, NULL, '{');
        cz_json_string(json, "message", diag[k].message);
        put_place(json, &diag[k].span);
        cz_json_close(json);
    }
    cz_json_close(json);
    cz_json_close(json);
}

void cz_diagnostics_json(const cz_diags *diags, cz_text *out)
{
    cz_json json;

    open_document(&json, out);
    cz_json_string(&json, "schema", "canzona.diagnostics/1");
    cz_json_int(&json, "errors", diags->n_errors);
    cz_json_bool(&json, "stopped", diags->n_errors >= CZ_MAX_ERRORS);
    put_messages(&json, "diagnostics", diags, put_message);
    cz_json_close(&json);
}

/* ---- SARIF ---- */

/* A relative reference (RFC 3986): other bytes than these are escaped. */
static void put_uri(cz_json *json, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    cz_text text = {0};

    for (const char *at = name; *at; at++)
        if (strchr(plain, *at))
            cz_text_put(&text, at, 1);
        else
            cz_text_printf(&text, "%%%02X", (unsigned char)*at);
    cz_json_string(json, "uri", cz_text_string(&text));
    cz_text_fini(&text);
}

/* Columns from 1, in characters; what is no UTF-8 counts one a byte. */
static int64_t column_of(const spot *place)
{
    const size_t n = (size_t)(place->at - place->start);
    int64_t column = 1;

    for (size_t i = 0; i < n; column++) {
        const size_t length = cz_utf8_length(place->start + i, n - i);
        i += length > 0 ? length : 1;
    }
    return column;
}

static void put_region(cz_json *json, const cz_span *span)
{
    const spot begin = begin_of(span), end = end_of(span);

    cz_json_open(json, "region", '{');
    cz_json_int(json, "startLine", (int64_t)begin.line);
    cz_json_int(json, "startColumn", column_of(&begin));
    cz_json_int(json, "endLine", (int64_t)end.line);
    cz_json_int(json, "endColumn", column_of(&end));
    cz_json_close(json);
}

static void put_location(cz_json *json, const cz_span *span)
{
    cz_json_open(json, "physicalLocation", '{');
    cz_json_open(json, "artifactLocation", '{');
    put_uri(json, span->source->name);
    cz_json_close(json);
    if (span->line)
        put_region(json, span);
    cz_json_close(json);
}

static void put_text(cz_json *json, const char *key, const char *text)
{
    cz_json_open(json, key, '{');
    cz_json_string(json, "text", text);
    cz_json_close(json);
}

/* Whether message i is the first with its code, and the place of the code
 * among the rules. */
static bool is_first(const cz_diags *diags, int i, int64_t *rule)
{
    bool seen[CZ_N_CODES] = {false};

    *rule = 0;
    for (int k = 0; k < i; k++) {
        const cz_diag *diag = &diags->list[k];
        if (diag->severity == CZ_NOTE || seen[diag->code])
            continue;
        seen[diag->code] = true;
        if (diag->code == diags->list[i].code)
            return false;
        ++*rule;
    }
    return true;
}

static void put_related(cz_json *json, const cz_diag *first, int n)
{
    cz_json_open(json, "relatedLocations", '[');
    for (int i = 0; i < n; i++) {
        cz_json_open(json, NULL, '{');
        put_text(json, "message", first[i].message);
        if (first[i].span.source)
            put_location(json, &first[i].span);
        cz_json_close(json);
    }
    cz_json_close(json);
}

static void put_result(cz_json *json, const cz_diags *diags, int i, int n_notes)
{
    const cz_diag *diag = &diags->list[i];
    int64_t rule;

    is_first(diags, i, &rule);
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "ruleId", cz_code_name(diag->code));
    cz_json_int(json, "ruleIndex", rule);
    cz_json_string(json, "level", level_of(diag));
    put_text(json, "message", diag->message);
    cz_json_open(json, "locations", '[');
    if (diag->span.source) {
        cz_json_open(json, NULL, '{');
        put_location(json, &diag->span);
        cz_json_close(json);
    }
    cz_json_close(json);
    if (n_notes > 0)
        put_related(json, diag + 1, n_notes);
    cz_json_close(json);
}

static void put_rule(cz_json *json, const cz_diags *diags, int i, int n_notes)
{
    const cz_code code = diags->list[i].code;
    int64_t rule;

    (void)n_notes;
    if (!is_first(diags, i, &rule))
        return;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "id", cz_code_name(code));
    put_text(json, "shortDescription", meanings[code]);
    cz_json_close(json);
}

void cz_diagnostics_sarif(const cz_diags *diags, const char *version,
                          cz_text *out)
{
    cz_json json;

    open_document(&json, out);
    cz_json_string(&json, "version", "2.1.0");
    cz_json_string(&json, "$schema",
                   "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/"
                   "sarif-schema-2.1.0.json");
    cz_json_open(&json, "runs", '[');
    cz_json_open(&json, NULL, '{');
    cz_json_open(&json, "tool", '{');
    cz_json_open(&json, "driver", '{');
    cz_json_string(&json, "name", "canzona");
    cz_json_string(&json, "version", version);
    put_messages(&json, "rules", diags, put_rule);
    cz_json_close(&json);
    cz_json_close(&json);
    cz_json_string(&json, "columnKind", "unicodeCodePoints");
    put_messages(&json, "results", diags, put_result);
    cz_json_close(&json);
    cz_json_close(&json);
    cz_json_close(&json);
}
