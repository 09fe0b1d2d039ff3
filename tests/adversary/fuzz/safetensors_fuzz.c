/* Fuzz target for safetensors: the bytes are the header behind a right length,
 * and then the whole file. */
#include "dsl/base/text.h"
#include "tests/adversary/fuzz/fuzz.h"
#include "tests/adversary/fuzz/import_fuzz.h"

enum { MAX_BYTES = 4096, LENGTH_BYTES = 8 };

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    const char length[LENGTH_BYTES] = {(char)(n & 0xff), (char)(n >> 8)};
    cz_text file;
    if (n > MAX_BYTES)
        return 0;
    cz_text_init(&file);
    cz_text_put(&file, length, sizeof length);
    cz_text_put(&file, (const char *)data, n);
    fuzz_import(fuzz_file("model.safetensors", file.bytes, file.n));
    cz_text_fini(&file);
    /* Less than this is said to be no file at all. */
    if (n > LENGTH_BYTES && data[0] != '{')
        fuzz_import(fuzz_file("model.safetensors", data, n));
    return 0;
}
