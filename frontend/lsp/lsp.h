/* A language server: JSON-RPC on two streams, as editors speak it.  Diagnostics
 * are those of `check`, layout is that of `fmt`; nothing is planned.  Knows no
 * editor. */
#ifndef CZ_FRONTEND_LSP_H
#define CZ_FRONTEND_LSP_H

#include <stdbool.h>
#include <stdio.h>

/* Serve until the client says exit, or its stream ends.  False where it did not
 * ask for a shutdown before, or sent what is no message, which a line on stderr
 * says. */
bool cz_lsp_serve(FILE *in, FILE *out, const char *version);

#endif
