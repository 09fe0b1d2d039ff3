/* Documents: their text, what is wrong with it, and where. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/lsp/internal.h"

#include "frontend/format/format.h"
#include "frontend/syntax/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "dsl/base/embedded.h"

/* ---- files and their URIs ---- */

static const char scheme[] = "file://";

static int hex_of(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | 0x20) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* The caller owns it. */
static char *path_of(const char *uri)
{
    const bool is_file = strncmp(uri, scheme, strlen(scheme)) == 0;
    char *path = strdup(is_file ? uri + strlen(scheme) : "-");
    char *to = path;

    for (const char *at = path; at && *at; at++) {
        const int high = *at == '%' ? hex_of(at[1]) : -1;
        const int low = high >= 0 ? hex_of(at[2]) : -1;
        *to++ = *at;
        if (low >= 0) {
            to[-1] = (char)(high << 4 | low);
            at += 2;
        }
    }
    if (to)
        *to = '\0';
    return path;
}

static void put_uri(cz_text *out, const char *path)
{
    cz_text_puts(out, scheme);
    for (; *path; path++)
        if (strchr("/._~-", *path) || (*path >= '0' && *path <= '9') ||
            ((*path | 0x20) >= 'a' && (*path | 0x20) <= 'z'))
            cz_text_put(out, path, 1);
        else
            cz_text_printf(out, "%%%02X", (unsigned char)*path);
}

/* ---- documents ---- */

cz_lsp_document *cz_lsp_find(const cz_lsp_server *server, const char *uri)
{
    for (int i = 0; i < server->n_documents; i++)
        if (strcmp(server->documents[i]->uri, uri) == 0)
            return server->documents[i];
    return NULL;
}

static void set_text(cz_text *text, const char *bytes, size_t n)
{
    text->n = 0;
    cz_text_put(text, bytes, n);
}

cz_lsp_document *cz_lsp_open(cz_lsp_server *server, const char *uri,
                             const char *text)
{
    cz_lsp_document *document = cz_lsp_find(server, uri);

    if (!document) {
        const size_t n = (size_t)server->n_documents + 1;
        server->documents =
            realloc(server->documents, n * sizeof *server->documents);
        document = calloc(1, sizeof *document);
        if (!server->documents || !document)
            abort();
        server->documents[server->n_documents++] = document;
        document->server = server;
        document->uri = strdup(uri);
        document->path = path_of(uri);
        if (!document->uri || !document->path)
            abort();
    }
    set_text(&document->text, text, strlen(text));
    document->scope = NULL;
    return document;
}

void cz_lsp_close(cz_lsp_server *server, cz_lsp_document *document)
{
    for (int i = 0; i < server->n_documents; i++)
        if (server->documents[i] == document) {
            server->documents[i] = server->documents[--server->n_documents];
            break;
        }
    free(document->uri);
    free(document->path);
    cz_text_fini(&document->text);
    cz_text_fini(&document->valid_text);
    cz_arena_fini(&document->arena);
    cz_arena_fini(&document->model_arena);
    cz_arena_fini(&document->plan_arena);
    free(document);
}

bool cz_lsp_renew(cz_lsp_document *document)
{
    const cz_scope *scope = cz_lsp_scope(document);
    const cz_node *file =
        cz_scope_n_files(scope) ? cz_scope_file_at(scope, 0)->tree : NULL;
    bool imports = false;

    for (int i = 0; file && i < cz_n_items(file); i++)
        imports |= cz_item(file, i)->kind == CZ_AST_IMPORT;
    if (imports) {
        document->scope = NULL;
        document->is_tried = false;
        document->planned = CZ_LSP_PLAN_NONE;
    }
    return imports;
}

cz_allowed cz_lsp_edited(cz_arena *arena, const cz_lsp_server *server)
{
    cz_edited *all = NULL;
    int n = 0;

    for (int i = 0; i < server->n_documents; i++)
        if (*server->documents[i]->path == '/')
            *CZ_PUSH(arena, all, n) = (cz_edited){server->documents[i]->path,
                                                  &server->documents[i]->text};
    return (cz_allowed){.edited = all, .n_edited = n};
}

cz_scope *cz_lsp_scope(cz_lsp_document *document)
{
    cz_diags *unheard;

    if (document->scope)
        return document->scope;
    cz_arena_clear(&document->arena);
    unheard = CZ_NEW(&document->arena, cz_diags, 1);
    cz_diags_init(unheard, &document->arena);
    document->scope = cz_scope_build(
        &document->arena, document->path, &document->text,
        cz_lsp_edited(&document->arena, document->server), unheard);
    cz_scope_nearest(document->scope, CZ_AST_OPTIMIZER, ""); /* the library */
    return document->scope;
}

const cz_compiled_model *cz_lsp_model(cz_lsp_document *document)
{
    cz_compile_options options = {.path = document->path,
                                  .text = &document->valid_text};
    cz_diags unheard;

    if (!document->is_tried && document->valid_text.n > 0) {
        cz_arena_clear(&document->model_arena);
        options.allowed =
            cz_lsp_edited(&document->model_arena, document->server);
        cz_diags_init(&unheard, &document->model_arena);
        document->has_model = cz_compile_model(&document->model_arena, &options,
                                               &unheard, &document->model);
        document->is_tried = true;
    }
    return document->has_model ? &document->model : NULL;
}

/* ---- places ---- */

/* Units of the client's columns in these bytes. */
static json_int_t columns_of(const cz_lsp_server *server, const char *bytes,
                             size_t n)
{
    json_int_t columns = 0;

    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        columns += server->is_utf8 ? 1 : (c & 0xc0) != 0x80 + (c >= 0xf0);
    }
    return columns;
}

bool cz_lsp_offset(const cz_lsp_server *server, const cz_text *text,
                   const json_t *position, size_t *out)
{
    const json_t *line = json_object_get(position, "line");
    const json_t *character = json_object_get(position, "character");
    const char *at = cz_text_string(text);

    if (!json_is_integer(line) || !json_is_integer(character) ||
        json_integer_value(line) < 0)
        return false;
    for (json_int_t i = 0; i < json_integer_value(line); i++) {
        at = strchr(at, '\n');
        if (!at)
            return false;
        at++;
    }
    for (json_int_t left = json_integer_value(character);
         left > 0 && *at && *at != '\n';) {
        size_t n = 1;
        while (!server->is_utf8 && (at[n] & 0xc0) == 0x80)
            n++;
        left -= columns_of(server, at, n);
        at += n;
    }
    *out = (size_t)(at - cz_text_string(text));
    return true;
}

static json_t *position_of(const cz_lsp_server *server, const cz_source *source,
                           size_t offset)
{
    size_t start = 0;
    json_int_t line = 0;

    for (size_t i = 0; i < offset && i < source->n; i++)
        if (source->bytes[i] == '\n') {
            start = i + 1;
            line++;
        }
    return json_pack("{s:I, s:I}", "line", line, "character",
                     columns_of(server, source->bytes + start, offset - start));
}

json_t *cz_lsp_range(const cz_lsp_server *server, const cz_source *source,
                     size_t from, size_t to)
{
    return json_pack("{s:o, s:o}", "start", position_of(server, source, from),
                     "end", position_of(server, source, to));
}

json_t *cz_lsp_string(const char *text)
{
    json_t *string = json_string(text);

    return string ? string : json_string("(what is no UTF-8)");
}

/* The folder of the user's cache, or NULL. */
static const char *make_cache(cz_arena *arena, const char *below)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *path =
        cache && *cache == '/'
            ? cz_arena_printf(arena, "%s/canzona/%s", cache, below)
        : home && *home == '/'
            ? cz_arena_printf(arena, "%s/.cache/canzona/%s", home, below)
            : NULL;

    for (char *at = path ? strchr(path + 1, '/') : NULL; at;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        const bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!is_there)
            return NULL;
    }
    return path;
}

/* Where the user can read a file of the library, or NULL. */
static const char *place_of_library(cz_arena *arena, const cz_source *source)
{
    const char *path = make_cache(arena, source->name), *why;
    cz_text text = {0};

    if (!path)
        return NULL;
    bool is_there = cz_text_read_file(&text, path, source->n, &why) &&
                    text.n == source->n &&
                    memcmp(text.bytes, source->bytes, source->n) == 0;
    if (!is_there) {
        set_text(&text, source->bytes, source->n);
        is_there = cz_text_write_file(&text, path);
    }
    cz_text_fini(&text);
    return is_there ? path : NULL;
}

static bool is_library(const cz_source *source)
{
    for (const cz_embedded *file = cz_std_files; file->path; file++)
        if (file->bytes == source->bytes)
            return true;
    return false;
}

static bool is_main(const cz_lsp_document *document, const cz_source *source)
{
    const char *slash = strrchr(document->path, '/');
    const char *name = slash ? slash + 1 : document->path;

    return strcmp(name, "-") == 0 ? *source->name == '<'
                                  : strcmp(name, source->name) == 0;
}

json_t *cz_lsp_location(const cz_lsp_server *server,
                        const cz_lsp_document *document, cz_span span)
{
    const char *slash = strrchr(document->path, '/');
    cz_text uri = {0};
    cz_arena arena;

    if (!span.source)
        return NULL;
    cz_arena_init(&arena);
    if (is_main(document, span.source))
        cz_text_puts(&uri, document->uri);
    else if (is_library(span.source)) {
        const char *path = place_of_library(&arena, span.source);
        if (path)
            put_uri(&uri, path);
    } else if (slash)
        put_uri(&uri, cz_arena_printf(&arena, "%.*s/%s",
                                      (int)(slash - document->path),
                                      document->path, span.source->name));
    json_t *location =
        uri.n ? json_pack("{s:o, s:o}", "uri",
                          cz_lsp_string(cz_text_string(&uri)), "range",
                          cz_lsp_range(server, span.source, span.offset,
                                       span.offset + span.length))
              : NULL;
    cz_text_fini(&uri);
    cz_arena_fini(&arena);
    return location;
}

/* ---- messages ---- */

/* A note, or an error of another file, beside the message that it explains. */
static void put_related(const cz_lsp_server *server,
                        const cz_lsp_document *document, const cz_diag *diag,
                        json_t *related)
{
    json_t *location = cz_lsp_location(server, document, diag->span);

    if (location)
        json_array_append_new(related, json_pack("{s:o, s:o}", "location",
                                                 location, "message",
                                                 cz_lsp_string(diag->message)));
}

/* With the notes that have no place of their own; *i goes on to the last. */
static json_t *message_of(const cz_lsp_server *server,
                          const cz_lsp_document *document,
                          const cz_diags *diags, int *i)
{
    const cz_diag *diag = &diags->list[*i];
    const bool is_here =
        diag->span.source && is_main(document, diag->span.source);
    const cz_source none = {"", "", 0};
    json_t *related = json_array();
    cz_text text = {0};

    cz_text_puts(&text, diag->message);
    if (!is_here)
        put_related(server, document, diag, related);
    for (; *i + 1 < diags->n && diags->list[*i + 1].severity == CZ_NOTE; ++*i) {
        const cz_diag *note = &diags->list[*i + 1];
        if (note->span.source && (note->span.source != diag->span.source ||
                                  note->span.offset != diag->span.offset))
            put_related(server, document, note, related);
        else
            cz_text_printf(&text, "\n%s", note->message);
    }
    json_t *message = json_pack(
        "{s:o, s:i, s:s, s:s, s:o, s:o}", "range",
        is_here ? cz_lsp_range(server, diag->span.source, diag->span.offset,
                               diag->span.offset + diag->span.length)
                : cz_lsp_range(server, &none, 0, 0),
        "severity", diag->severity == CZ_ERROR ? 1 : 2, "source", "canzona",
        "code", cz_code_name(diag->code), "message",
        cz_lsp_string(cz_text_string(&text)), "relatedInformation", related);
    cz_text_fini(&text);
    return message;
}

json_t *cz_lsp_check(const cz_lsp_server *server, cz_lsp_document *document)
{
    cz_rules_checked rules;
    cz_compile_options options = {.path = document->path,
                                  .text = &document->text,
                                  .compiler = server->version,
                                  .alone = &rules};
    json_t *list = json_array();
    cz_diags diags;
    cz_arena arena;

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    options.allowed = cz_lsp_edited(&arena, server);
    cz_ir_close(cz_compile(&arena, &options, &diags));
    for (int i = 0; i < diags.n; i++)
        json_array_append_new(list, message_of(server, document, &diags, &i));
    if (diags.n_errors == 0) {
        set_text(&document->valid_text, cz_text_string(&document->text),
                 document->text.n);
        document->is_tried = false;
        document->planned = CZ_LSP_PLAN_NONE;
    }
    cz_arena_fini(&arena);
    return json_pack("{s:s, s:o}", "uri", document->uri, "diagnostics", list);
}

/* ---- the whole text ---- */

json_t *cz_lsp_format(const cz_lsp_server *server, cz_lsp_document *document)
{
    const cz_source source = {document->path, cz_text_string(&document->text),
                              document->text.n};
    json_t *edits = NULL;
    cz_text after = {0};
    cz_diags unheard;
    cz_arena arena;

    cz_arena_init(&arena);
    cz_diags_init(&unheard, &arena);
    if (cz_format(&arena, &source, &unheard, &after)) {
        edits = json_array();
        if (after.n != source.n ||
            memcmp(cz_text_string(&after), source.bytes, after.n) != 0)
            json_array_append_new(
                edits,
                json_pack("{s:o, s:o}", "range",
                          cz_lsp_range(server, &source, 0, source.n), "newText",
                          cz_lsp_string(cz_text_string(&after))));
    }
    cz_text_fini(&after);
    cz_arena_fini(&arena);
    return edits;
}

/* SymbolKind of LSP. */
static int symbol_of(cz_kind kind)
{
    enum { NONE, MODULE = 2, CLASS = 5, FUNCTION = 12, CONSTANT = 14 };
    enum { VARIABLE = 13, ARRAY = 18, OBJECT = 19, EVENT = 24 };

    return kind == CZ_AST_MESH                                      ? OBJECT
           : kind == CZ_AST_MODEL                                   ? CLASS
           : kind == CZ_AST_OPTIMIZER                               ? CLASS
           : kind == CZ_AST_DEF                                     ? FUNCTION
           : kind == CZ_AST_TABLE                                   ? ARRAY
           : kind == CZ_AST_MACHINE                                 ? OBJECT
           : kind == CZ_AST_LET                                     ? VARIABLE
           : kind == CZ_AST_SCHEDULE                                ? EVENT
           : kind == CZ_AST_USE                                     ? CONSTANT
           : kind == CZ_AST_MODEL_FROM || kind == CZ_AST_MODEL_CALL ? MODULE
                                                                    : NONE;
}

json_t *cz_lsp_symbols(const cz_lsp_server *server, cz_lsp_document *document)
{
    cz_scope *scope = cz_lsp_scope(document);
    const cz_node *file =
        cz_scope_n_files(scope) ? cz_scope_file_at(scope, 0)->tree : NULL;
    json_t *list = json_array();

    for (int i = 0; file && i < cz_n_items(file); i++) {
        const cz_node *node = cz_item(file, i);
        const cz_span span = node->span;
        if (!symbol_of(node->kind) || !span.source)
            continue;
        json_array_append_new(
            list,
            json_pack("{s:o, s:s, s:i, s:o, s:o}", "name",
                      cz_lsp_string(node->text ? node->text
                                               : cz_kind_name(node->kind)),
                      "detail", cz_kind_name(node->kind), "kind",
                      symbol_of(node->kind), "range",
                      cz_lsp_range(server, span.source, span.offset,
                                   span.offset + span.length),
                      "selectionRange",
                      cz_lsp_range(server, span.source, span.offset,
                                   span.offset + span.length)));
    }
    return list;
}
