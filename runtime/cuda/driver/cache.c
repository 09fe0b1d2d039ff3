/* The cache's files: all within one folder that was opened once, so that no
 * name is looked up twice. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/cache_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATH = 4096, PART_BYTES = 64, MAX_TRIES = 16 };

/* Says `what`, and why by errno where that is not 0. */
static void warn_of(const czr_cache *cache, const char *what,
                    const char *subject, int error)
{
    char message[MAX_PATH + 256];

    if (!cache->warn)
        return;
    snprintf(message, sizeof message, "cache of compiled code: %s %s%s%s",
             subject, what, error ? ": " : "", error ? strerror(error) : "");
    cache->warn(cache->user, message);
}

/* Once: what is wrong with a folder is wrong every time. */
static void complain(czr_cache *cache, const char *what, const char *subject,
                     int error)
{
    if (!cache->has_complained)
        warn_of(cache, what, subject, error);
    cache->has_complained = true;
}

/* ---- the folder --------------------------------------------------------- */

static bool set_path(char path[MAX_PATH], const char *folder, const char *rest)
{
    const int n = snprintf(path, MAX_PATH, "%s%s", folder, rest);

    return n > 0 && n < MAX_PATH;
}

/* Relative paths in the environment do not count. */
static bool find_path(const char *folder, char path[MAX_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (folder)
        return set_path(path, folder, "");
    if (cache && cache[0] == '/')
        return set_path(path, cache, "/canzona");
    return home && home[0] == '/' && set_path(path, home, "/.cache/canzona");
}

/* The folder and those it lies in.  What fails shows when it is opened. */
static void make_folders(char path[MAX_PATH])
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, S_IRWXU);
            *at = '/';
        }
    mkdir(path, S_IRWXU);
}

/* Nobody else may have put there what we would run. */
static bool is_private(int file)
{
    struct stat s;

    return !fstat(file, &s) && s.st_uid == geteuid() &&
           !(s.st_mode & (S_IWGRP | S_IWOTH));
}

static void open_folder(czr_cache *cache, const char *folder)
{
    char path[MAX_PATH];

    if (!find_path(folder, path)) {
        complain(cache, "is not named by HOME or XDG_CACHE_HOME", "a folder",
                 0);
        return;
    }
    make_folders(path);
    cache->folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (cache->folder < 0) {
        complain(cache, "cannot be used", path, errno);
    } else if (!is_private(cache->folder)) {
        complain(cache, "is another user's, or others may write there", path,
                 0);
        close(cache->folder);
        cache->folder = -1;
    }
}

czr_cache *czr_cache_open(const czr_cache_options *options)
{
    czr_cache *cache = calloc(1, sizeof *cache);

    if (!cache)
        return NULL;
    cache->max_bytes =
        options->max_bytes ? options->max_bytes : CZR_CACHE_DEFAULT_BYTES;
    cache->warn = options->warn;
    cache->user = options->user;
    cache->folder = -1;
    open_folder(cache, options->folder);
    if (cache->folder >= 0)
        czr_cache_limit(cache);
    return cache;
}

void czr_cache_close(czr_cache *cache)
{
    if (cache && cache->folder >= 0)
        close(cache->folder);
    free(cache);
}

/* ---- entries read ------------------------------------------------------- */

/* As many bytes as asked for, or false. */
static bool read_all(int file, unsigned char *to, size_t n)
{
    while (n) {
        const ssize_t got = read(file, to, n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        to += got;
        n -= (size_t)got;
    }
    return true;
}

/* The whole file, if it may be one of ours; NULL otherwise or without memory.
 */
static unsigned char *read_file(const czr_cache *cache, int file, size_t *n)
{
    struct stat s;

    if (fstat(file, &s) || !S_ISREG(s.st_mode) || !is_private(file) ||
        s.st_size <= CACHE_HEADER_BYTES ||
        (uint64_t)s.st_size > cache->max_bytes)
        return NULL;
    *n = (size_t)s.st_size;
    unsigned char *bytes = malloc(*n);
    if (bytes && !read_all(file, bytes, *n)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Whole file and key agree: the code alone, at the front of the memory. */
static unsigned char *take(const unsigned char key[CZR_CACHE_KEY_BYTES],
                           unsigned char *bytes, size_t n, size_t *n_bytes)
{
    if (!bytes || n <= CACHE_HEADER_BYTES ||
        !czr_cache_is_entry(key, bytes, n)) {
        free(bytes);
        return NULL;
    }
    *n_bytes = n - CACHE_HEADER_BYTES;
    memmove(bytes, bytes + CACHE_HEADER_BYTES, *n_bytes);
    return bytes;
}

/* The bytes kept under this key, the caller's to free, or NULL. */
static unsigned char *find(czr_cache *cache,
                           const unsigned char key[CZR_CACHE_KEY_BYTES],
                           size_t *n_bytes)
{
    char name[CACHE_NAME_BYTES];
    size_t n = 0;

    *n_bytes = 0;
    if (cache->folder < 0)
        return NULL;
    czr_cache_name(key, name);
    /* A pipe in its place does not make us wait. */
    const int file = openat(cache->folder, name,
                            O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        if (errno != ENOENT)
            warn_of(cache, "is ignored", name, errno);
        return NULL;
    }
    unsigned char *bytes = read_file(cache, file, &n);
    bytes = take(key, bytes, n, n_bytes);
    if (bytes)
        futimens(file, NULL);
    else
        warn_of(cache, "is not what was written, and ignored", name, 0);
    close(file);
    return bytes;
}

/* ---- entries written ---------------------------------------------------- */

static bool write_all(int file, const unsigned char *from, size_t n)
{
    while (n) {
        const ssize_t done = write(file, from, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return false;
        from += done;
        n -= (size_t)done;
    }
    return true;
}

/* A file that nobody else has: processes of other machines, whose numbers may
 * be ours, can share the folder. */
static int open_part(czr_cache *cache, char name[PART_BYTES])
{
    int file = -1;

    for (int i = 0; i < MAX_TRIES && file < 0; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, PART_BYTES, CACHE_PARTIAL "%ld-%lx-%u", (long)getpid(),
                 (unsigned long)now.tv_nsec, cache->n_written++);
        file = openat(cache->folder, name,
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

/* On the disk before it has its name: a machine that stops leaves no half. */
static bool write_part(int file, const unsigned char header[CACHE_HEADER_BYTES],
                       const unsigned char *bytes, size_t n_bytes)
{
    return write_all(file, header, CACHE_HEADER_BYTES) &&
           write_all(file, bytes, n_bytes) && !fsync(file);
}

static bool write_entry(czr_cache *cache,
                        const unsigned char key[CZR_CACHE_KEY_BYTES],
                        const unsigned char *bytes, size_t n_bytes)
{
    unsigned char header[CACHE_HEADER_BYTES];
    char name[CACHE_NAME_BYTES], part[PART_BYTES];
    const int file = open_part(cache, part);

    if (file < 0)
        return false;
    czr_cache_write_header(key, bytes, n_bytes, header);
    czr_cache_name(key, name);
    bool is_done = write_part(file, header, bytes, n_bytes);
    int error = errno;
    if (close(file) && is_done) {
        is_done = false;
        error = errno;
    }
    if (is_done && renameat(cache->folder, part, cache->folder, name)) {
        is_done = false;
        error = errno;
    }
    if (!is_done)
        unlinkat(cache->folder, part, 0);
    errno = error;
    return is_done;
}

/* Keeps them, in the place of what was there, where that can be done. */
static void keep_entry(czr_cache *cache,
                       const unsigned char key[CZR_CACHE_KEY_BYTES],
                       const unsigned char *bytes, size_t n_bytes)
{
    if (cache->folder < 0 || !n_bytes || n_bytes > cache->max_bytes ||
        n_bytes + CACHE_HEADER_BYTES > cache->max_bytes)
        return;
    if (!write_entry(cache, key, bytes, n_bytes)) {
        complain(cache, "cannot be written", "an entry", errno);
        return;
    }
    cache->n_bytes += n_bytes + CACHE_HEADER_BYTES;
    if (cache->n_bytes > cache->max_bytes)
        czr_cache_limit(cache);
}

/* ---- both --------------------------------------------------------------- */

/* What was kept, with the log that code has. */
static bool find_code(czr_cache *cache,
                      const unsigned char key[CZR_CACHE_KEY_BYTES],
                      czr_nvrtc_code *code)
{
    memset(code, 0, sizeof *code);
    code->bytes = find(cache, key, &code->n_bytes);
    code->log = code->bytes ? calloc(1, 1) : NULL;
    if (!code->log)
        czr_nvrtc_code_fini(code);
    return code->bytes != NULL;
}

czr_nvrtc_status czr_cache_compile(czr_cache *cache, czr_nvrtc *nvrtc,
                                   const czr_cache_source *source,
                                   czr_nvrtc_code *code, bool *was_kept)
{
    unsigned char key[CZR_CACHE_KEY_BYTES];
    int major, minor;
    bool is_kept = false;

    if (cache) {
        czr_nvrtc_version(nvrtc, &major, &minor);
        czr_cache_key(source, major, minor, key);
        is_kept = find_code(cache, key, code);
    }
    if (was_kept)
        *was_kept = is_kept;
    if (is_kept)
        return CZR_NVRTC_OK;
    const czr_nvrtc_status status = czr_nvrtc_compile(
        nvrtc, source->text, source->options, source->n_options, code);
    if (status == CZR_NVRTC_OK && cache)
        keep_entry(cache, key, code->bytes, code->n_bytes);
    return status;
}
