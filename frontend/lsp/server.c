/* Messages: frames, JSON-RPC, and who answers what. */
#include "frontend/lsp/internal.h"
#include "frontend/lsp/lsp.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_BODY_BYTES = 64 << 20, MAX_HEADER_LINE = 1024 };

/* JSON-RPC 2.0 and LSP 3.17. */
enum {
    PARSE_ERROR = -32700,
    INVALID_REQUEST = -32600,
    METHOD_NOT_FOUND = -32601,
    INVALID_PARAMS = -32602,
    NOT_INITIALIZED = -32002
};

/* ---- frames ---- */

static bool take_header(FILE *in, size_t *length)
{
    static const char key[] = "Content-Length:";
    char line[MAX_HEADER_LINE];
    bool has_length = false;

    while (fgets(line, sizeof line, in)) {
        if (strcmp(line, "\r\n") == 0 || strcmp(line, "\n") == 0)
            return has_length && *length <= MAX_BODY_BYTES;
        if (strncmp(line, key, strlen(key)) == 0) {
            char *end;
            *length = strtoull(line + strlen(key), &end, 10);
            has_length = end > line + strlen(key);
        }
    }
    return false;
}

/* The next body.  False at the end, or after saying what is no message. */
static bool read_message(cz_lsp_server *server, cz_text *body)
{
    size_t length = 0;
    const int first = fgetc(server->in);

    if (first == EOF)
        return false;
    ungetc(first, server->in);
    body->n = 0;
    if (!take_header(server->in, &length)) {
        fputs("canzona lsp: error: a message has no Content-Length of at most "
              "64 MiB\n",
              stderr);
        return false;
    }
    while (body->n < length) {
        char some[4096];
        const size_t left = length - body->n;
        const size_t n =
            fread(some, 1, left < sizeof some ? left : sizeof some, server->in);
        if (n == 0) {
            fputs("canzona lsp: error: the stream ends within a message\n",
                  stderr);
            return false;
        }
        cz_text_put(body, some, n);
    }
    return true;
}

/* Takes the message over. */
static void send(cz_lsp_server *server, json_t *message)
{
    char *text = json_dumps(message, JSON_COMPACT);

    json_decref(message);
    if (!text)
        return;
    fprintf(server->out, "Content-Length: %zu\r\n\r\n%s", strlen(text), text);
    fflush(server->out);
    free(text);
}

static void answer(cz_lsp_server *server, json_t *id, json_t *result)
{
    send(server, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id,
                           "result", result ? result : json_null()));
}

static void refuse(cz_lsp_server *server, json_t *id, int code,
                   const char *message)
{
    json_t *error = json_pack("{s:i, s:o}", "code", code, "message",
                              cz_lsp_string(message));

    send(server, json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "id",
                           id ? json_incref(id) : json_null(), "error", error));
}

/* ---- requests ---- */

static bool offers_utf8(const json_t *params)
{
    const json_t *list = json_object_get(
        json_object_get(json_object_get(params, "capabilities"), "general"),
        "positionEncodings");

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name && strcmp(name, "utf-8") == 0)
            return true;
    }
    return false;
}

static json_t *initialize(cz_lsp_server *server, const json_t *params)
{
    server->is_open = true;
    server->is_utf8 = offers_utf8(params);
    return json_pack(
        "{s:{s:s, s:{s:b, s:i}, s:b, s:b, s:b, s:b, s:{s:[s,s,s,s,s]}},"
        " s:{s:s, s:s}}",
        "capabilities", "positionEncoding",
        server->is_utf8 ? "utf-8" : "utf-16", "textDocumentSync", "openClose",
        1, "change", 1, "hoverProvider", 1, "definitionProvider", 1,
        "documentFormattingProvider", 1, "documentSymbolProvider", 1,
        "completionProvider", "triggerCharacters", ".", "(", ",", "/", " ",
        "serverInfo", "name", "canzona", "version", server->version);
}

/* A question about a document; with a place, if the method needs one. */
static void ask(cz_lsp_server *server, json_t *id, const char *method,
                const json_t *params)
{
    const char *uri = json_string_value(
        json_object_get(json_object_get(params, "textDocument"), "uri"));
    cz_lsp_document *document = uri ? cz_lsp_find(server, uri) : NULL;
    const char *what = method + strlen("textDocument/");
    const bool is_whole =
        strcmp(what, "formatting") == 0 || strcmp(what, "documentSymbol") == 0;
    size_t offset = 0;

    if (!document) {
        refuse(server, id, INVALID_PARAMS, "this document is not open");
        return;
    }
    if (!is_whole &&
        !cz_lsp_offset(server, &document->text,
                       json_object_get(params, "position"), &offset)) {
        refuse(server, id, INVALID_PARAMS, "the document has no such line");
        return;
    }
    answer(
        server, id,
        strcmp(what, "hover") == 0 ? cz_lsp_hover(server, document, offset)
        : strcmp(what, "definition") == 0
            ? cz_lsp_definition(server, document, offset)
        : strcmp(what, "completion") == 0 ? cz_lsp_completion(document, offset)
        : strcmp(what, "formatting") == 0 ? cz_lsp_format(server, document)
                                          : cz_lsp_symbols(server, document));
}

static bool is_question(const char *method)
{
    static const char *const questions[] = {
        "textDocument/hover",          "textDocument/definition",
        "textDocument/completion",     "textDocument/formatting",
        "textDocument/documentSymbol", NULL};

    for (int i = 0; questions[i]; i++)
        if (strcmp(questions[i], method) == 0)
            return true;
    return false;
}

static void take_request(cz_lsp_server *server, json_t *id, const char *method,
                         const json_t *params)
{
    if (server->is_closed)
        refuse(server, id, INVALID_REQUEST, "the server is shut down");
    else if (strcmp(method, "initialize") == 0 && server->is_open)
        refuse(server, id, INVALID_REQUEST, "the server is initialized");
    else if (strcmp(method, "initialize") == 0)
        answer(server, id, initialize(server, params));
    else if (!server->is_open)
        refuse(server, id, NOT_INITIALIZED, "initialize comes first");
    else if (strcmp(method, "shutdown") == 0) {
        server->is_closed = true;
        answer(server, id, NULL);
    } else if (is_question(method))
        ask(server, id, method, params);
    else
        refuse(server, id, METHOD_NOT_FOUND, "there is no such method");
}

/* ---- notifications ---- */

static void publish(cz_lsp_server *server, json_t *params)
{
    send(server,
         json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method",
                   "textDocument/publishDiagnostics", "params", params));
}

/* Of those that import files, one of which is another. */
static void publish_others(cz_lsp_server *server,
                           const cz_lsp_document *changed)
{
    for (int i = 0; i < server->n_documents; i++)
        if (server->documents[i] != changed &&
            cz_lsp_renew(server->documents[i]))
            publish(server, cz_lsp_check(server, server->documents[i]));
}

static void take_notification(cz_lsp_server *server, const char *method,
                              const json_t *params)
{
    const json_t *item = json_object_get(params, "textDocument");
    const json_t *changes = json_object_get(params, "contentChanges");
    const json_t *last = json_array_get(
        changes, json_array_size(changes) ? json_array_size(changes) - 1 : 0);
    const char *uri = json_string_value(json_object_get(item, "uri"));
    const bool is_opening = strcmp(method, "textDocument/didOpen") == 0;
    const char *text =
        json_string_value(json_object_get(is_opening ? item : last, "text"));
    cz_lsp_document *document = uri ? cz_lsp_find(server, uri) : NULL;

    if (strcmp(method, "exit") == 0)
        server->is_over = true;
    if (!server->is_open || server->is_closed || !uri)
        return;
    if (text && (is_opening ||
                 (document && strcmp(method, "textDocument/didChange") == 0))) {
        document = cz_lsp_open(server, uri, text);
        publish(server, cz_lsp_check(server, document));
        publish_others(server, document);
    } else if (document && strcmp(method, "textDocument/didClose") == 0) {
        publish(server,
                json_pack("{s:s, s:[]}", "uri", document->uri, "diagnostics"));
        cz_lsp_close(server, document);
        publish_others(server, NULL);
    }
}

/* ---- all of them ---- */

static void take_message(cz_lsp_server *server, const cz_text *body)
{
    json_error_t error;
    json_t *message = json_loadb(cz_text_string(body), body->n, 0, &error);
    json_t *id = json_object_get(message, "id");
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *params = json_object_get(message, "params");

    if (!message)
        refuse(server, NULL, PARSE_ERROR, error.text);
    else if (id && !json_is_integer(id) && !json_is_string(id))
        refuse(server, NULL, INVALID_REQUEST, "an id is a number or a string");
    else if (method && id)
        take_request(server, id, method, params);
    else if (method)
        take_notification(server, method, params);
    else if (!id || !(json_object_get(message, "result") ||
                      json_object_get(message, "error")))
        refuse(server, id, INVALID_REQUEST, "a message has a method");
    json_decref(message);
}

bool cz_lsp_serve(FILE *in, FILE *out, const char *version,
                  cz_lsp_make_plan plan)
{
    cz_lsp_server server = {
        .in = in, .out = out, .version = version, .plan = plan};
    cz_text body = {0};

    while (!server.is_over && read_message(&server, &body))
        take_message(&server, &body);
    while (server.n_documents)
        cz_lsp_close(&server, server.documents[0]);
    free(server.documents);
    cz_text_fini(&body);
    return server.is_over && server.is_closed;
}
