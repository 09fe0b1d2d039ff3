/* The parts of the cache of compiled code. */
#ifndef CZR_CUDA_DRIVER_CACHE_INTERNAL_H
#define CZR_CUDA_DRIVER_CACHE_INTERNAL_H

#include "runtime/cuda/driver/cache.h"

enum {
    CACHE_MAGIC_BYTES = 8,
    CACHE_DIGEST_BYTES = 32,
    /* Magic, key, length in 8 bytes, digest of the code. */
    CACHE_HEADER_BYTES =
        CACHE_MAGIC_BYTES + CZR_CACHE_KEY_BYTES + 8 + CACHE_DIGEST_BYTES,
    /* The key in hexadecimal, an ending, zero. */
    CACHE_NAME_BYTES = 2 * CZR_CACHE_KEY_BYTES + 6
};

/* How names of files begin that are being written. */
#define CACHE_PARTIAL ".part-"

struct czr_cache {
    int folder; /* -1: none */
    uint64_t max_bytes;
    /* Of entries, as far as this process knows. */
    uint64_t n_bytes;
    unsigned n_written;
    bool has_complained;
    void (*warn)(void *user, const char *message);
    void *user;
};

/* cache_entry.c: the form of an entry. */
void czr_cache_name(const unsigned char key[CZR_CACHE_KEY_BYTES],
                    char name[CACHE_NAME_BYTES]);
bool czr_cache_is_name(const char *name);
void czr_cache_write_header(const unsigned char key[CZR_CACHE_KEY_BYTES],
                            const unsigned char *bytes, size_t n_bytes,
                            unsigned char header[CACHE_HEADER_BYTES]);
/* An entry of this key, whole and unchanged. */
bool czr_cache_is_entry(const unsigned char key[CZR_CACHE_KEY_BYTES],
                        const unsigned char *file, size_t n_file);

/* cache_limit.c: counts the entries of the folder, and removes the ones that
 * were not used for longest while all are above the limit; also what a process
 * that died left half written. */
void czr_cache_limit(czr_cache *cache);

#endif
