/* Libraries that are opened at run time, and where their functions are kept. */
#ifndef CZR_CUDA_LIBRARY_DYNAMIC_H
#define CZR_CUDA_LIBRARY_DYNAMIC_H

#include <stddef.h>

typedef struct czr_dynamic_symbol {
    const char *name;
    size_t offset; /* of the pointer, in the table of whoever calls it */
} czr_dynamic_symbol;

#define CZR_N_SYMBOLS(symbols) (sizeof(symbols) / sizeof *(symbols))

/* `path`, or, where that is NULL, the first of n names that the loader finds;
 * the caller's, to be closed with dlclose.  NULL where there is none: dlerror()
 * says why. */
void *czr_dynamic_open(const char *path, const char *const *names, size_t n);

/* Puts n functions of the library into `table`.  Returns the name of the first
 * that is missing, or NULL. */
const char *czr_dynamic_find(void *library, const czr_dynamic_symbol *symbols,
                             size_t n, void *table);

#endif
