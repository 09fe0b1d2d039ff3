/* Libraries opened by dlopen. */
#include "runtime/cuda/library/dynamic.h"

#include <dlfcn.h>
#include <string.h>

void *czr_dynamic_open(const char *path, const char *const *names, size_t n)
{
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

    for (size_t i = 0; i < n && !path && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

const char *czr_dynamic_find(void *library, const czr_dynamic_symbol *symbols,
                             size_t n, void *table)
{
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found)
            return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &found, sizeof found);
    }
    return NULL;
}
