/* Text: growth, formatting, and whole-file reading and writing. */
#define _POSIX_C_SOURCE 200809L
#include "dsl/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dsl/base/text_start.h"

void cz_text_init(cz_text *text)
{
    *text = (cz_text){0};
}

void cz_text_fini(cz_text *text)
{
    free(text->bytes);
    cz_text_init(text);
}

static void reserve(cz_text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 256;

    while (capacity - text->n < more + 1)
        capacity *= 2;
    if (capacity == text->capacity)
        return;
    text->bytes = realloc(text->bytes, capacity);
    if (!text->bytes) {
        fputs("canzona: error: out of memory\n", stderr);
        exit(1);
    }
    text->capacity = capacity;
}

void cz_text_put(cz_text *text, const char *bytes, size_t n)
{
    reserve(text, n);
    if (n)
        memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    text->bytes[text->n] = '\0';
}

void cz_text_puts(cz_text *text, const char *string)
{
    cz_text_put(text, string, strlen(string));
}

void cz_text_put_int(cz_text *text, int64_t value)
{
    char digits[20], *const end = digits + sizeof digits, *start = end;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        *--start = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--start = '-';
    cz_text_put(text, start, (size_t)(end - start));
}

void cz_text_vprintf(cz_text *text, const char *format, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    reserve(text, (size_t)n);
    vsnprintf(text->bytes + text->n, (size_t)n + 1, format, args);
    text->n += (size_t)n;
}

void cz_text_printf(cz_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    cz_text_vprintf(text, format, args);
    va_end(args);
}

const char *cz_text_string(const cz_text *text)
{
    return text->bytes ? text->bytes : "";
}

/* At most n bytes. */
static bool read_bytes(cz_text *text, int fd, size_t n, const char **why)
{
    char chunk[1 << 14];

    while (text->n < n) {
        const size_t left = n - text->n;
        ssize_t got =
            read(fd, chunk, left < sizeof chunk ? left : sizeof chunk);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            *why = "cannot be read";
        if (got <= 0)
            return got == 0;
        cz_text_put(text, chunk, (size_t)got);
    }
    return true;
}

static bool is_regular(int file, const char **why)
{
    struct stat status;

    *why = "is not a regular file";
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/* A FIFO or device could block for ever or never end; O_NONBLOCK keeps the
 * opening itself from waiting. */
bool cz_text_read_start(cz_text *text, const char *path, size_t n,
                        const char **why)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    const int file =
        is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (file < 0) {
        *why = errno == ENOENT ? "does not exist" : "cannot be opened";
        return false;
    }
    cz_text_init(text);
    const bool ok =
        (is_stdin || is_regular(file, why)) && read_bytes(text, file, n, why);
    if (!is_stdin)
        close(file);
    if (!ok)
        cz_text_fini(text);
    return ok;
}

static bool is_within(cz_text *text, size_t limit, const char **why)
{
    if (text->n <= limit)
        return true;
    *why = "is too large";
    cz_text_fini(text);
    return false;
}

bool cz_text_read_file(cz_text *text, const char *path, size_t limit,
                       const char **why)
{
    return cz_text_read_start(text, path, limit + 1, why) &&
           is_within(text, limit, why);
}

bool cz_text_read(cz_text *text, int file, size_t limit, const char **why)
{
    cz_text_init(text);
    if (is_regular(file, why) && read_bytes(text, file, limit + 1, why))
        return is_within(text, limit, why);
    cz_text_fini(text);
    return false;
}

bool cz_text_write(const cz_text *text, int file)
{
    size_t n = 0;

    while (n < text->n) {
        const ssize_t written = write(file, text->bytes + n, text->n - n);
        if (written < 0 && errno != EINTR)
            return false;
        n += written < 0 ? 0 : (size_t)written;
    }
    return true;
}

bool cz_text_write_file(const cz_text *text, const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const bool ok = file >= 0 && cz_text_write(text, file);

    return file >= 0 && close(file) == 0 && ok;
}
