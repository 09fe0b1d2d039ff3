/* Room in the cache: the oldest entries make way. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/cache_internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A process that writes for so many seconds writes no more. */
enum { PART_SECONDS = 3600 };

typedef struct entry {
    char name[CACHE_NAME_BYTES];
    uint64_t n_bytes;
    struct timespec used;
} entry;

typedef struct entries {
    entry *items;
    size_t n, room;
} entries;

static bool add(entries *all, const char *name, const struct stat *s)
{
    if (all->n == all->room) {
        const size_t room = all->room ? 2 * all->room : 64;
        entry *items = realloc(all->items, room * sizeof *items);
        if (!items)
            return false;
        all->items = items;
        all->room = room;
    }
    entry *e = &all->items[all->n++];
    memcpy(e->name, name, sizeof e->name);
    e->n_bytes = (uint64_t)s->st_size;
    e->used = s->st_mtim;
    return true;
}

/* An entry is noted; a part that is old is removed; others are not ours. */
static bool look(const czr_cache *cache, const char *name, entries *all)
{
    const bool is_equal_part =
        !strncmp(name, CACHE_PARTIAL, strlen(CACHE_PARTIAL));
    struct stat s;

    if ((!is_equal_part && !czr_cache_is_name(name)) ||
        fstatat(cache->folder, name, &s, AT_SYMLINK_NOFOLLOW) ||
        !S_ISREG(s.st_mode))
        return true;
    if (!is_equal_part)
        return add(all, name, &s);
    if (time(NULL) - s.st_mtim.tv_sec > PART_SECONDS)
        unlinkat(cache->folder, name, 0);
    return true;
}

/* Without memory or a folder to read: what was found by then. */
static void list(const czr_cache *cache, entries *all)
{
    /* A descriptor of its own: reading moves it. */
    const int folder =
        openat(cache->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;

    if (!stream) {
        if (folder >= 0)
            close(folder);
        return;
    }
    for (const struct dirent *d = readdir(stream); d; d = readdir(stream))
        if (!look(cache, d->d_name, all))
            break;
    closedir(stream);
}

/* By time of use, then by name, so that the order is total. */
static int compare(const void *left, const void *right)
{
    const entry *a = left, *b = right;

    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    if (a->used.tv_nsec != b->used.tv_nsec)
        return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
    return strcmp(a->name, b->name);
}

void czr_cache_limit(czr_cache *cache)
{
    entries all = {0};

    list(cache, &all);
    cache->n_bytes = 0;
    for (size_t i = 0; i < all.n; i++)
        cache->n_bytes += all.items[i].n_bytes;
    if (cache->n_bytes > cache->max_bytes)
        qsort(all.items, all.n, sizeof *all.items, compare);
    for (size_t i = 0; i < all.n && cache->n_bytes > cache->max_bytes; i++)
        if (!unlinkat(cache->folder, all.items[i].name, 0))
            cache->n_bytes -= all.items[i].n_bytes;
    free(all.items);
}
