/* A library that lacks a function.  The file that includes this asks for POSIX,
 * and has cmocka. */
#ifndef TESTS_CUDA_SPOIL_H
#define TESTS_CUDA_SPOIL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPOILED_BYTES = 32 };

static inline char *spoil_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* Names of a library's symbols stand between zeros; a changed last message
 * leaves a function that nobody finds.  Returns how many there were. */
static inline int spoil_name(char *bytes, size_t n, const char *symbol)
{
    const size_t length = strlen(symbol);
    int found = 0;

    for (size_t i = 1; i + length < n; i++)
        if (!bytes[i - 1] && !memcmp(bytes + i, symbol, length + 1)) {
            bytes[i + length - 1] = '~';
            found++;
        }
    return found;
}

/* A copy of the library without the symbol, whose path goes to `place`; NULL:
 * it lacks nothing. */
static inline void spoil_library(const char *library, const char *symbol,
                                 char place[SPOILED_BYTES])
{
    size_t n;
    char *bytes = spoil_read(library, &n);

    snprintf(place, SPOILED_BYTES, "./fake_cuda_XXXXXX");
    assert_true(!symbol || spoil_name(bytes, n, symbol) > 0);
    const int file = mkstemp(place);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, n), n);
    close(file);
    free(bytes);
}

#endif
