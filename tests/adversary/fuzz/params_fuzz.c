/* Fuzz target for params.json. */
#include "tests/adversary/fuzz/fuzz.h"
#include "tests/adversary/fuzz/import_fuzz.h"

enum { MAX_BYTES = 4096 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    if (n <= MAX_BYTES)
        fuzz_import(fuzz_file("params.json", data, n));
    return 0;
}
