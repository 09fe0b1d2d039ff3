/* Architectures and model types are told apart by their names alone. */
#include "frontend/model/model.h"

#include <stddef.h>
#include <string.h>

static const char *const storages[] = {"_megatron", "_torchtitan"};

/* A model_type whose parameters are another's, name for name. */
static const struct {
    const char *model_type, *architecture;
} aliases[] = {{"mistral", "llama"},
               {"kimi_k2", "deepseek_v3"},
               {"falcon_mamba", "mamba"}};

const char *cz_architecture_of(const char *model_type)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(model_type, aliases[i].model_type) == 0)
            return aliases[i].architecture;
    return model_type;
}

const char *cz_architecture_alias(size_t i)
{
    return i < sizeof aliases / sizeof *aliases ? aliases[i].model_type : NULL;
}

/* Bytes of the name before its storage; all of them without one. */
static size_t pattern_bytes(const char *name)
{
    const size_t n = strlen(name);

    for (size_t i = 0; i < sizeof storages / sizeof *storages; i++) {
        const size_t tail = strlen(storages[i]);
        if (n > tail && strcmp(name + n - tail, storages[i]) == 0)
            return n - tail;
    }
    return n;
}

bool cz_architecture_has_storage(const char *name)
{
    return pattern_bytes(name) < strlen(name);
}

bool cz_architecture_serves(const char *name, const char *model_type)
{
    const char *known = cz_architecture_of(model_type);
    const size_t n = pattern_bytes(name);

    return strcmp(name, model_type) == 0 || strcmp(name, known) == 0 ||
           (strlen(known) == n && strncmp(name, known, n) == 0);
}
