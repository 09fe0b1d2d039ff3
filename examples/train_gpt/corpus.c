/* Reading the text, and where windows start in it. */
#include "corpus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "random.h"

enum { VALIDATION_PART = 10, PATH_BYTES = 4096, CHUNK_BYTES = 65536 };

static bool append(corpus *text, FILE *file)
{
    size_t got;
    do {
        uint8_t *grown = realloc(text->bytes, text->n_bytes + CHUNK_BYTES);
        if (!grown)
            return false;
        text->bytes = grown;
        got = fread(grown + text->n_bytes, 1, CHUNK_BYTES, file);
        text->n_bytes += got;
    } while (got > 0);
    return !ferror(file);
}

static bool append_file(corpus *text, const char *path)
{
    FILE *file = fopen(path, "rb");

    if (!file)
        return false;
    const bool ok = append(text, file);
    fclose(file);
    return ok;
}

/* By bytes, not by locale: the same text everywhere. */
static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool append_if_regular(corpus *text, const char *folder,
                              const char *name)
{
    char path[PATH_BYTES];
    struct stat info;

    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (lstat(path, &info) != 0)
        return false;
    return !S_ISREG(info.st_mode) || append_file(text, path);
}

static bool append_folder(corpus *text, const char *path)
{
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, by_name);
    bool ok = n >= 0;

    for (int i = 0; i < n; i++) {
        ok = ok && append_if_regular(text, path, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return ok;
}

bool corpus_open(corpus *text, const char *path)
{
    struct stat info;

    *text = (corpus){0};
    if (stat(path, &info) != 0)
        return false;
    const bool ok = S_ISDIR(info.st_mode) ? append_folder(text, path)
                                          : append_file(text, path);
    if (!ok) {
        const int why = errno;
        corpus_close(text);
        errno = why;
        return false;
    }
    text->n_train = text->n_bytes - text->n_bytes / VALIDATION_PART;
    return true;
}

void corpus_close(corpus *text)
{
    free(text->bytes);
    *text = (corpus){0};
}

const uint8_t *corpus_draw(const corpus *text, uint64_t seed, uint64_t sequence,
                           size_t length)
{
    if (text->n_train < length)
        return NULL;
    const uint64_t starts = text->n_train - length + 1;
    return text->bytes + random_bits(seed, sequence) % starts;
}

size_t corpus_validation_count(const corpus *text, size_t context)
{
    const size_t n = text->n_bytes - text->n_train;
    return n ? (n - 1) / context : 0;
}

const uint8_t *corpus_validation(const corpus *text, size_t window,
                                 size_t context)
{
    return text->bytes + text->n_train + window * context;
}
