/* The text: all of it in memory, its last tenth kept for validation. */
#ifndef EXAMPLES_TRAIN_GPT_CORPUS_H
#define EXAMPLES_TRAIN_GPT_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* bytes[0 .. n_train) are for training, [n_train .. n_bytes) for validation. */
typedef struct corpus {
    uint8_t *bytes;
    size_t n_bytes, n_train;
} corpus;

/* Reads one file, or, of a folder, its regular files in the order of their
 * names; symbolic links inside a folder are skipped.  On failure returns false
 * and says in errno why. */
bool corpus_open(corpus *, const char *path);
void corpus_close(corpus *);

/* The first byte of one of the windows of `length` bytes that training draws
 * from: a function of (seed, sequence) alone.  NULL when the text is shorter
 * than a window. */
const uint8_t *corpus_draw(const corpus *, uint64_t seed, uint64_t sequence,
                           size_t length);

/* Validation as windows of context + 1 bytes, each byte predicted once. */
size_t corpus_validation_count(const corpus *, size_t context);
const uint8_t *corpus_validation(const corpus *, size_t window, size_t context);

#endif
