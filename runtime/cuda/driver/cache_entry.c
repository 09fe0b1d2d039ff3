/* The form of an entry of the cache: keys, names, headers.  Touches no file. */
#include "runtime/cuda/driver/cache_internal.h"

#include <nettle/sha2.h>
#include <string.h>

/* A changed form is another magic, so that older entries are foreign. */
static const unsigned char magic[CACHE_MAGIC_BYTES] = {'C', 'Z', 'R', 'C',
                                                       'O', 'D', 'E', '1'};
static const char ending[] = ".code";

static void write_length(uint64_t n, unsigned char to[8])
{
    for (int i = 0; i < 8; i++)
        to[i] = (unsigned char)(n >> (8 * i));
}

/* Each text with its length in front, so that no two lists of texts hash
 * alike. */
static void hash_text(struct sha256_ctx *context, const char *text)
{
    const size_t n = strlen(text);
    unsigned char length[8];

    write_length(n, length);
    sha256_update(context, sizeof length, length);
    sha256_update(context, n, (const uint8_t *)text);
}

static void hash_number(struct sha256_ctx *context, int number)
{
    unsigned char bytes[8];

    write_length((uint64_t)(unsigned)number, bytes);
    sha256_update(context, sizeof bytes, bytes);
}

void czr_cache_key(const czr_cache_source *source, int major, int minor,
                   unsigned char key[CZR_CACHE_KEY_BYTES])
{
    struct sha256_ctx context;

    sha256_init(&context);
    hash_text(&context, source->name);
    hash_number(&context, major);
    hash_number(&context, minor);
    hash_number(&context, source->n_options);
    for (int i = 0; i < source->n_options; i++)
        hash_text(&context, source->options[i]);
    hash_text(&context, source->text);
    sha256_digest(&context, CZR_CACHE_KEY_BYTES, key);
}

void czr_cache_name(const unsigned char key[CZR_CACHE_KEY_BYTES],
                    char name[CACHE_NAME_BYTES])
{
    for (int i = 0; i < CZR_CACHE_KEY_BYTES; i++) {
        *name++ = "0123456789abcdef"[key[i] >> 4];
        *name++ = "0123456789abcdef"[key[i] & 15];
    }
    memcpy(name, ending, sizeof ending);
}

bool czr_cache_is_name(const char *name)
{
    const size_t n = strspn(name, "0123456789abcdef");

    return n == (size_t)2 * CZR_CACHE_KEY_BYTES && !strcmp(name + n, ending);
}

void czr_cache_write_header(const unsigned char key[CZR_CACHE_KEY_BYTES],
                            const unsigned char *bytes, size_t n_bytes,
                            unsigned char header[CACHE_HEADER_BYTES])
{
    struct sha256_ctx context;

    memcpy(header, magic, CACHE_MAGIC_BYTES);
    memcpy(header + CACHE_MAGIC_BYTES, key, CZR_CACHE_KEY_BYTES);
    write_length(n_bytes, header + CACHE_MAGIC_BYTES + CZR_CACHE_KEY_BYTES);
    sha256_init(&context);
    sha256_update(&context, n_bytes, bytes);
    sha256_digest(&context, CACHE_DIGEST_BYTES,
                  header + CACHE_HEADER_BYTES - CACHE_DIGEST_BYTES);
}

bool czr_cache_is_entry(const unsigned char key[CZR_CACHE_KEY_BYTES],
                        const unsigned char *file, size_t n_file)
{
    unsigned char wanted[CACHE_HEADER_BYTES];

    if (n_file <= CACHE_HEADER_BYTES)
        return false;
    czr_cache_write_header(key, file + CACHE_HEADER_BYTES,
                           n_file - CACHE_HEADER_BYTES, wanted);
    return !memcmp(wanted, file, CACHE_HEADER_BYTES);
}
