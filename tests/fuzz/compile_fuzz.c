/* Fuzz target for the whole compile: text to module, passes, view, verifier.
 * Nothing crashes, what compiles is planned without a contradiction, and what
 * does not says why.  Sizes are limited by the text's length alone: what the
 * text asks for is limited by the compiler.  With libFuzzer, or (FUZZ_REPLAY)
 * as a program that tries files and damages of them. */
#include "dsl/plan_view_build.h"
#include "frontend/compile.h"
#include "passes/passes.h"
#include "passes/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 4096, MAX_PARAMETERS = 256 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n);

static void demand(bool holds, const char *what, const cz_diags *diags)
{
    cz_text text;
    if (holds)
        return;
    cz_text_init(&text);
    cz_diags_print(diags, &text, false);
    fprintf(stderr, "compile_fuzz: %s\n%s", what, cz_text_string(&text));
    abort();
}

/* The verifier must accept what the passes make of a valid program. */
static void plan(cz_arena *arena, cz_ir *ir, cz_diags *diags)
{
    if (cz_ir_count(ir, CZ_FACT_family) > MAX_PARAMETERS ||
        !cz_passes_assign(ir, diags) || !cz_passes_schedule(ir, diags)) {
        return;
    }
    const cz_plan_view *view = cz_plan_view_build(arena, ir, diags);
    demand(view != NULL, "a plan that cannot be read", diags);
    demand(cz_verify(view, diags), "a plan that is rejected", diags);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_diags diags;
    cz_text text;
    if (n > MAX_TEXT)
        return 0;
    cz_text_init(&text);
    cz_text_put(&text, (const char *)data, n);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_compile_options options = {
        .path = "fuzz.cz", .text = &text, .compiler = "compile_fuzz"};
    cz_ir *ir = cz_compile(&arena, &options, &diags);
    demand((ir != NULL) == (diags.n_errors == 0), "no module and no word",
           &diags);
    if (ir)
        plan(&arena, ir, &diags);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    cz_text_fini(&text);
    return 0;
}

#ifdef FUZZ_REPLAY

/* Each costs a whole compile, and most of them fail soon. */
enum { N_DAMAGES = 100 };

/* The file, then seeded damages of it: bytes replaced by others of it. */
static void replay(cz_text *text, uint32_t seed)
{
    uint32_t state = 2463534242U + seed;
    unsigned char *bytes = (unsigned char *)text->bytes;
    LLVMFuzzerTestOneInput(bytes, text->n);
    for (int i = 0; i < N_DAMAGES && text->n > 0; i++) {
        state = state * 1664525U + 1013904223U;
        const size_t at = (state >> 8) % text->n;
        state = state * 1664525U + 1013904223U;
        const unsigned char old = bytes[at];
        bytes[at] = bytes[(state >> 8) % text->n];
        LLVMFuzzerTestOneInput(bytes, text->n);
        bytes[at] = old;
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *why = "";
        cz_text text;
        if (!cz_text_read_file(&text, argv[i], 1 << 20, &why)) {
            fprintf(stderr, "%s %s\n", argv[i], why);
            return 1;
        }
        if (text.n > 0)
            replay(&text, (uint32_t)i);
        cz_text_fini(&text);
    }
    printf("%d files and damages of them\n", argc - 1);
    return argc > 1 ? 0 : 1;
}

#endif
