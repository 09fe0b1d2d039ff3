/* Documents and what is asked of them.  Private to frontend/lsp.
 *
 * A document is compiled at each change, for its messages.  What questions need
 * besides, trees and parameters, is made when one comes: parameters of the last
 * text without errors, since who asks is in the middle of a word.  Files that
 * it imports are as other documents have them, else as the disk has them. */
#ifndef CZ_FRONTEND_LSP_INTERNAL_H
#define CZ_FRONTEND_LSP_INTERNAL_H

#include "frontend/lsp/lsp.h"
#include "frontend/names/sources.h"
#include "frontend/program/compile.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct cz_lsp_server;

/* What a plan says of one parameter. */
typedef struct cz_lsp_update {
    const char *name, *how, *owners;
} cz_lsp_update;

/* Whether there is a plan of the last text without errors. */
typedef enum cz_lsp_planned {
    CZ_LSP_PLAN_NONE,
    CZ_LSP_PLAN_DONE,
    CZ_LSP_PLAN_REFUSED, /* it cannot be planned */
    CZ_LSP_PLAN_LATE     /* not within CZ_LSP_MAX_SECONDS */
} cz_lsp_planned;

enum { CZ_LSP_MAX_SECONDS = 5 };

typedef struct cz_lsp_document {
    const struct cz_lsp_server *server;
    char *uri;
    char *path;         /* "-": no file's */
    cz_text text;       /* as the client has it */
    cz_text valid_text; /* the last one without errors */
    cz_arena arena;     /* of the tree, and of an answer */
    cz_scope *scope;    /* NULL: not made of this text */
    cz_arena model_arena;
    cz_compiled_model model;  /* of valid_text */
    bool is_tried, has_model; /* somebody has tried to make it; there is one */
    cz_lsp_planned planned;
    cz_arena plan_arena;
    cz_lsp_update *updates; /* [n_updates] */
    int n_updates;
} cz_lsp_document;

typedef struct cz_lsp_server {
    FILE *in, *out;
    const char *version;
    cz_lsp_make_plan plan;
    cz_lsp_document **documents;
    int n_documents;
    bool is_utf8; /* columns are bytes, as the client has agreed to; else they
                   * are units of UTF-16 */
    bool is_open, is_closed, is_over;
} cz_lsp_server;

/* ---- documents ---- */

/* NULL: it is not open. */
cz_lsp_document *cz_lsp_find(const cz_lsp_server *server, const char *uri);
/* The text of a document, which is opened where it is not; copied. */
cz_lsp_document *cz_lsp_open(cz_lsp_server *server, const char *uri,
                             const char *text);
void cz_lsp_close(cz_lsp_server *server, cz_lsp_document *document);
/* A document is another, or closed: what was made of those that import files is
 * made anew.  Whether this one does. */
bool cz_lsp_renew(cz_lsp_document *document);
/* What is wrong with it: params of textDocument/publishDiagnostics. */
json_t *cz_lsp_check(const cz_lsp_server *server, cz_lsp_document *document);
/* Of the text as it is, also with errors. */
cz_scope *cz_lsp_scope(cz_lsp_document *document);
/* NULL: no text has been without errors, or it is no program. */
const cz_compiled_model *cz_lsp_model(cz_lsp_document *document);

/* Plans it where nobody has; then it has updates, if it can be planned. */
cz_lsp_planned cz_lsp_plan(cz_lsp_document *document);
/* All documents that have files, in the place of those. */
cz_allowed cz_lsp_edited(cz_arena *arena, const cz_lsp_server *server);

/* ---- places ---- */

/* The byte of a Position, at most the end of its line; false: there is no such
 * line. */
bool cz_lsp_offset(const cz_lsp_server *server, const cz_text *text,
                   const json_t *position, size_t *out);
json_t *cz_lsp_range(const cz_lsp_server *server, const cz_source *source,
                     size_t from, size_t to);
/* A Location; NULL: the span has none that an editor could open.  Files of the
 * library are written below the user's cache for that. */
json_t *cz_lsp_location(const cz_lsp_server *server,
                        const cz_lsp_document *document, cz_span span);
/* A string, whatever its bytes are. */
json_t *cz_lsp_string(const char *text);

/* ---- names ---- */

typedef struct cz_lsp_function {
    const char *name, *call, *gives;
} cz_lsp_function;

/* Of the compiler; name NULL ends. */
extern const cz_lsp_function cz_lsp_functions[];

/* What stands at a place. */
typedef struct cz_lsp_name {
    const cz_node *node; /* that says what the name is; NULL: nothing does */
    const cz_node *path; /* of parameters that there are */
    const cz_lsp_function *function;
} cz_lsp_name;

cz_lsp_name cz_lsp_name_at(cz_lsp_document *document, size_t offset);
/* Definitions that arguments are given to; NULL: none has that name. */
const cz_node *cz_lsp_callee(cz_scope *scope, const char *name);

/* ---- answers: NULL is null ---- */

json_t *cz_lsp_hover(const cz_lsp_server *server, cz_lsp_document *document,
                     size_t offset);
json_t *cz_lsp_definition(const cz_lsp_server *server,
                          cz_lsp_document *document, size_t offset);
json_t *cz_lsp_completion(cz_lsp_document *document, size_t offset);
json_t *cz_lsp_format(const cz_lsp_server *server, cz_lsp_document *document);
json_t *cz_lsp_symbols(const cz_lsp_server *server, cz_lsp_document *document);

#endif
