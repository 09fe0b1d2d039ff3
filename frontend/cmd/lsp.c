/* canzona lsp: the language server, on standard input and output. */
#include "frontend/cmd/cmd.h"

#include "frontend/lsp/lsp.h"

static const struct argp_option options[] = {
    {"stdio", CZ_KEY_STDIO, NULL, 0,
     "Changes nothing: some editors say what is so in any case", 0},
    {0}};

static int run(const cz_cmd_options *given)
{
    (void)given;
    return cz_lsp_serve(stdin, stdout, CANZONA_VERSION) ? CZ_EXIT_OK
                                                        : CZ_EXIT_ERRORS;
}

const cz_command cz_command_lsp = {
    "lsp",
    "language server for editors",
    options,
    "Speak the Language Server Protocol on standard input and output: "
    "messages while one types, what a name is and where it is said, what may "
    "stand at a place, layout, and a list of definitions.\v"
    "dsl/editor/README.md says how VS Code, Vim, Neovim and Emacs start it.  "
    "Exit status 1: the client left without a shutdown, or sent what is no "
    "message.\n",
    run,
    ""};
