/* Fuzz target for the index of safetensors in several files.  Up to the first
 * byte 0 the bytes are the index; what follows is the header of the file "b"
 * beside it; the file "a" holds two tensors. */
#include "dsl/base/text.h"
#include "tests/adversary/fuzz/fuzz.h"
#include "tests/adversary/fuzz/import_fuzz.h"

#include <string.h>

enum { MAX_BYTES = 4096, LENGTH_BYTES = 8 };

static void write_shard(const char *name, const char *header, size_t n)
{
    const char length[LENGTH_BYTES] = {(char)(n & 0xff), (char)(n >> 8)};
    cz_text file;
    cz_text_init(&file);
    cz_text_put(&file, length, sizeof length);
    cz_text_put(&file, header, n);
    fuzz_file(name, file.bytes, file.n);
    cz_text_fini(&file);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    static const char a[] = "{\"x.0.w\":{\"dtype\":\"F32\",\"shape\":[2,3],"
                            "\"data_offsets\":[0,24]},"
                            "\"x.1.w\":{\"dtype\":\"BF16\",\"shape\":[4],"
                            "\"data_offsets\":[24,32]}}";
    static const char b[] = "{}";
    const unsigned char *end = n ? memchr(data, 0, n) : NULL;
    const size_t n_index = end ? (size_t)(end - data) : n;
    if (n > MAX_BYTES)
        return 0;
    write_shard("a", a, sizeof a - 1);
    if (end)
        write_shard("b", (const char *)end + 1, n - n_index - 1);
    else
        write_shard("b", b, sizeof b - 1);
    fuzz_import(fuzz_file("model.safetensors.index.json", data, n_index));
    return 0;
}
