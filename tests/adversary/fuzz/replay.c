/* A fuzz target without a fuzzer: tries files, their beginnings, and seeded
 * damages of them, the same in every run.
 *
 *   NAME_replay COUNT FILE...      COUNT beginnings and COUNT damages each */
#include "tests/adversary/fuzz/fuzz.h"

#include "dsl/base/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_BYTES = 1 << 22 };

static uint32_t state;

static size_t pick(size_t n)
{
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % n;
}

/* A byte becomes another byte of the text, or one that means much. */
static void try_damage(unsigned char *bytes, size_t n)
{
    static const char others[] = "{}()[]'\"=,.*\n9 #\xc3";
    const size_t at = pick(n);
    const unsigned char kept = bytes[at];
    bytes[at] = pick(2) ? bytes[pick(n)]
                        : (unsigned char)others[pick(sizeof others - 1)];
    LLVMFuzzerTestOneInput(bytes, n);
    bytes[at] = kept;
}

static size_t replay(unsigned char *bytes, size_t n, size_t count)
{
    size_t n_tried = 1;
    LLVMFuzzerTestOneInput(bytes, n);
    for (size_t i = 0; i < count && n > 0; i++, n_tried += 2) {
        LLVMFuzzerTestOneInput(bytes, n * i / count);
        try_damage(bytes, n);
    }
    return n_tried;
}

int main(int argc, char **argv)
{
    const size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    size_t n_tried = 0;

    for (int i = 2; i < argc; i++) {
        const char *why = "";
        cz_text text;
        cz_text_init(&text);
        if (!cz_text_read_file(&text, argv[i], MAX_BYTES, &why)) {
            fprintf(stderr, "%s %s\n", argv[i], why);
            return 1;
        }
        state = 2463534242U + (uint32_t)i;
        cz_text_puts(&text, ""); /* a byte to point at, if it is empty */
        n_tried += replay((unsigned char *)text.bytes, text.n, count);
        cz_text_fini(&text);
    }
    printf("%d files, %zu executions: nothing crashed\n", argc - 2, n_tried);
    return n_tried > 0 ? 0 : 1;
}
