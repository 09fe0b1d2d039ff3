/* A language server: JSON-RPC on two streams, as editors speak it.  Diagnostics
 * are those of `check`, layout is that of `fmt`.  Knows no editor. */
#ifndef CZ_FRONTEND_LSP_H
#define CZ_FRONTEND_LSP_H

#include "frontend/names/below.h"

#include <stdbool.h>
#include <stdio.h>

/* Plans the text of a file, and writes a line for each parameter that is
 * trained: its name; how it is updated, the same for those that are updated
 * alike; who does so, or nothing.  Tabs between.  False: there is no plan.  It
 * runs in a process of its own, and says nothing elsewhere. */
typedef bool (*cz_lsp_make_plan)(const char *path, const cz_text *text,
                                 cz_allowed allowed, FILE *out);

/* Serve until the client says exit, or its stream ends.  False where it did not
 * ask for a shutdown before, or sent what is no message, which a line on stderr
 * says. */
bool cz_lsp_serve(FILE *in, FILE *out, const char *version,
                  cz_lsp_make_plan plan);

#endif
