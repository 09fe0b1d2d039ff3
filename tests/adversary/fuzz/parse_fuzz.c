/* Fuzz target for scanner, parser, tree and diagnostics: nothing crashes, and
 * what must hold for every text holds. */
#include "frontend/syntax/parse.h"
#include "tests/adversary/fuzz/fuzz.h"
#include "tests/tools/ast_print.h"

#include <string.h>

static void demand(bool holds, const char *what)
{
    fuzz_demand(holds, what, NULL);
}

static void check_node(const cz_node *node, const cz_source *source)
{
    demand(node->kind < CZ_AST_N_KINDS, "a kind that is none");
    demand(node->depth <= CZ_MAX_DEPTH, "a tree that is too deep");
    demand(node->span.source == source, "a place in another text");
    demand((size_t)node->span.offset + node->span.length <= source->n,
           "a place behind the end");
    for (int i = 0; i < cz_n_children(node); i++) {
        demand(cz_child(node, i) != NULL, "a missing child");
        demand(cz_child(node, i)->depth < node->depth, "a wrong depth");
        check_node(cz_child(node, i), source);
    }
}

/* Parse, and print the tree or the diagnostics.  Returns whether it was a
 * valid text. */
static bool parse(const char *bytes, size_t n, cz_text *out)
{
    cz_arena arena;
    cz_diags diags;
    const cz_source source = {"fuzz.cz", bytes, n};

    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_node *file = cz_parse(&arena, &source, &diags);
    demand(diags.n_errors <= CZ_MAX_ERRORS, "too many errors");
    check_node(file, &source);
    demand(cz_ast_is_sound(file), "children that ast_kinds.def lacks");
    const bool is_valid = diags.n_errors == 0;
    if (is_valid)
        ast_print(file, out);
    else
        cz_diags_print(&diags, out, true);
    cz_arena_fini(&arena);
    return is_valid;
}

/* The same text with other line ends and one line more. */
static void respell(const char *bytes, size_t n, cz_text *out)
{
    for (size_t i = 0; i < n; i++) {
        const bool ends_line =
            bytes[i] == '\n' && (i == 0 || bytes[i - 1] != '\r');
        cz_text_puts(out, ends_line ? "\r" : "");
        cz_text_put(out, &bytes[i], 1);
    }
    cz_text_puts(out, "\n \t# end\n\n");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_text text, first, other, second;

    cz_text_init(&text);
    cz_text_init(&first);
    cz_text_init(&other);
    cz_text_init(&second);
    cz_text_put(&text, (const char *)data, n);
    const bool is_valid = parse(cz_text_string(&text), text.n, &first);
    respell(cz_text_string(&text), text.n, &other);
    const bool is_still = parse(cz_text_string(&other), other.n, &second);
    if (is_valid)
        demand(is_still && strcmp(first.bytes, second.bytes) == 0,
               "line ends change the tree");
    cz_text_fini(&text);
    cz_text_fini(&first);
    cz_text_fini(&other);
    cz_text_fini(&second);
    return 0;
}
