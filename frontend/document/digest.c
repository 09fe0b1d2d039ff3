/* SHA-256 of texts, in hexadecimal. */
#include "frontend/document/digest.h"

#include <nettle/sha2.h>
#include <stdio.h>

void cz_digest(const cz_text *text, char digits[CZ_DOCUMENT_DIGEST])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];

    sha256_init(&context);
    sha256_update(&context, text->n, (const uint8_t *)cz_text_string(text));
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
}
