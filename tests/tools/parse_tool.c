/* Prints the syntax tree of a file, or its diagnostics: for golden tests.
 * usage: parse_tool FILE.  Exit status 0 for a tree, 1 for diagnostics. */
#include "frontend/syntax/parse.h"
#include "tests/tools/ast_print.h"

#include <stdio.h>
#include <string.h>

/* Messages name the file alone, wherever the tests run. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv)
{
    cz_text text, out;
    cz_arena arena;
    cz_diags diags;
    const char *why;

    cz_text_init(&text);
    cz_text_init(&out);
    if (argc != 2 ||
        !cz_text_read_file(&text, argv[1], CZ_MAX_SOURCE_BYTES, &why)) {
        fprintf(stderr, "parse_tool: %s\n", argc == 2 ? why : "one file");
        return 2;
    }
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_source source = {base_name(argv[1]), cz_text_string(&text),
                              text.n};
    const cz_node *file = cz_parse(&arena, &source, &diags);
    if (diags.n > 0)
        cz_diags_print(&diags, &out, false);
    else
        ast_print(file, &out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    const int status = diags.n_errors > 0;
    cz_arena_fini(&arena);
    cz_text_fini(&text);
    cz_text_fini(&out);
    return status;
}
