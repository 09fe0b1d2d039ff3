/* Fuzz target for config.json: reading it, what messages say about its keys,
 * and importing it, which compiles the program that it makes. */
#include "frontend/names/config.h"
#include "tests/adversary/fuzz/fuzz.h"
#include "tests/adversary/fuzz/import_fuzz.h"

#include <string.h>

enum { MAX_BYTES = 4096 };

static void check_place(const cz_config *config, const char *key)
{
    const cz_span span = cz_config_place(config, key);
    fuzz_demand(span.source == config->source &&
                    (size_t)span.offset + span.length <= config->source->n + 1,
                "a place behind the end", NULL);
}

static void check_config(cz_arena *arena, const cz_config *config)
{
    for (int i = 0; i < config->n; i++) {
        const char *key = config->entries[i].key;
        fuzz_demand(cz_config_find(config, key) == &config->entries[i],
                    "a key that is not found, or twice", NULL);
        check_place(config, key);
    }
    check_place(config, "hidden_size");
    cz_config_nearest(arena, config, "hiden_size");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
    cz_arena arena;
    cz_diags diags;
    cz_config config;
    if (n > MAX_BYTES)
        return 0;
    const char *path = fuzz_file("config.json", data, n);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const cz_source source = {"config.json", (const char *)data, n};
    if (cz_config_read(&arena, &source, (cz_span){0}, &diags, &config))
        check_config(&arena, &config);
    else
        fuzz_demand(diags.n_errors == 1, "no one error", &diags);
    cz_arena_fini(&arena);
    fuzz_import(path);
    return 0;
}
