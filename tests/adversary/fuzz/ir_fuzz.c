/* Fuzz target for IR text: the scan before the parser, the child process that
 * MLIR's parser may crash, and what reads the module.  An error or a module
 * that has a print; never the end of this process. */
#include "dsl/ir/ir.h"
#include "tests/adversary/fuzz/fuzz.h"

enum { MAX_BYTES = 1 << 16 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_diags diags;
    if (n > MAX_BYTES)
        return 0;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_ir *ir = cz_ir_parse((const char *)data, n, &diags);
    fuzz_demand((ir != NULL) == (diags.n_errors == 0),
                "rejected without a word, or accepted with one", &diags);
    cz_ir_close(ir);
    cz_arena_fini(&arena);
    return 0;
}
