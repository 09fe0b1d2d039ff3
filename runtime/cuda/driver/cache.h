/* Compiled code kept between runs, in a folder of the user's own.
 *
 * An entry is found by the hash of all that decides the code: the kernel's
 * name, NVRTC's version, its options and the source.  It carries that key and a
 * digest of its bytes, and nothing is taken from one that is not whole.
 * Processes may share a folder: entries appear whole, under their name, or not
 * at all.
 *
 * Nothing here fails but for memory: without a folder that may be used, all is
 * compiled anew.  Who opened the cache is reported why. */
#ifndef CZR_CUDA_DRIVER_CACHE_H
#define CZR_CUDA_DRIVER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/cuda/library/nvrtc.h"

typedef struct czr_cache czr_cache;

enum { CZR_CACHE_KEY_BYTES = 32 };
/* Bytes of a folder's entries, where nobody says otherwise. */
#define CZR_CACHE_DEFAULT_BYTES ((uint64_t)256 << 20)

typedef struct czr_cache_options {
    /* NULL: $XDG_CACHE_HOME/canzona, else $HOME/.cache/canzona.  It is made
     * where it is not there. */
    const char *folder;
    /* Entries above this many bytes together are removed, the ones that were
     * not used for longest first; 0: the default. */
    uint64_t max_bytes;
    /* Called for an entry that is ignored, and once for a folder that cannot be
     * read or written; may be NULL. */
    void (*warn)(void *user, const char *message);
    void *user;
} czr_cache_options;

/* What code is made from; all text ends with zero. */
typedef struct czr_cache_source {
    const char *name, *text;
    const char *const *options;
    int n_options;
} czr_cache_source;

/* One thread at a time may use a cache.  NULL without memory. */
czr_cache *czr_cache_open(const czr_cache_options *options);
/* NULL is allowed. */
void czr_cache_close(czr_cache *cache);

void czr_cache_key(const czr_cache_source *source, int major, int minor,
                   unsigned char key[CZR_CACHE_KEY_BYTES]);

/* The source's code: what is kept, with an empty log, else what `nvrtc` makes
 * of it, which is kept if it is code.  A cache that is NULL keeps nothing.  If
 * `was_kept` is not NULL, it says which. */
czr_nvrtc_status czr_cache_compile(czr_cache *cache, czr_nvrtc *nvrtc,
                                   const czr_cache_source *source,
                                   czr_nvrtc_code *code, bool *was_kept);

#endif
