/* Architectures and model types are told apart by their names alone. */
#include "frontend/model/model.h"

#include <stddef.h>
#include <string.h>

static const char *const storages[] = {"_megatron", "_torchtitan"};

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
    const size_t n = pattern_bytes(name);

    return strcmp(name, model_type) == 0 ||
           (strlen(model_type) == n && strncmp(name, model_type, n) == 0);
}
