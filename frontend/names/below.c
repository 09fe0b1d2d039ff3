/* Reading below a folder: the path is freed of links and dots, compared, and
 * then walked without following any link, so that none can be put there
 * meanwhile. */
#define _GNU_SOURCE /* O_PATH */
#include "frontend/names/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a path without links is that of the folder, or of what it has. */
static bool is_below(const char *real, const char *folder)
{
    char *root = realpath(folder, NULL);
    const size_t n = root ? strlen(root) : 0;
    const bool is = n > 0 && strncmp(real, root, n) == 0 &&
                    (real[n] == '/' || !real[n] || n == 1);

    free(root);
    return is;
}

static bool may_read(const char *real, const char *folder,
                     const cz_allowed *allowed)
{
    bool may = is_below(real, folder);

    for (int i = 0; i < allowed->n && !may; i++)
        may = is_below(real, allowed->paths[i]);
    return may;
}

/* An absolute path, which is overwritten; -1 where it has a link. */
static int open_without_links(char *path)
{
    int at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    for (char *name = path + 1; at >= 0 && name;) {
        char *slash = strchr(name, '/');
        if (slash)
            *slash = '\0';
        const int next = openat(at, name,
                                O_CLOEXEC | O_NOFOLLOW |
                                    (slash ? O_PATH | O_DIRECTORY
                                           : O_RDONLY | O_NONBLOCK | O_NOCTTY));
        close(at);
        at = next;
        name = slash ? slash + 1 : NULL;
    }
    return at;
}

/* Of the file at a path without links, or of one that is not there, `path`. */
static const cz_text *find_edited(const cz_allowed *allowed, const char *real,
                                  const char *path)
{
    for (int i = 0; i < allowed->n_edited; i++) {
        char *other = realpath(allowed->edited[i].path, NULL);
        const bool is_it = real ? other && strcmp(other, real) == 0
                                : strcmp(allowed->edited[i].path, path) == 0;
        free(other);
        if (is_it)
            return allowed->edited[i].text;
    }
    return NULL;
}

/* Of what it stands for, at most `limit` bytes. */
static bool take_edited(cz_text *text, const cz_text *edited, size_t limit,
                        const char **why)
{
    *why = "is too large";
    if (edited->n > limit)
        return false;
    cz_text_put(text, cz_text_string(edited), edited->n);
    return true;
}

/* The path is overwritten. */
static bool take_file(cz_text *text, char *real, size_t limit, const char **why)
{
    const int file = open_without_links(real);
    bool ok;

    *why = "cannot be opened";
    ok = file >= 0 && cz_text_read(text, file, limit, why);
    if (file >= 0)
        close(file);
    return ok;
}

bool cz_text_read_below(cz_text *text, const char *folder, const char *name,
                        const cz_allowed *allowed, size_t limit,
                        const char **why)
{
    const bool leaves = *name == '/' || strncmp(name, "../", 3) == 0;
    const cz_text *edited = NULL;
    cz_text path = {0};
    char *real = NULL;
    bool ok = false;

    *why = "is not under the main file's folder: --allow-path=DIR allows what "
           "is under DIR";
    if (leaves && allowed->n == 0)
        return false;
    cz_text_printf(&path, "%s%s%s", *name == '/' ? "" : folder,
                   *name == '/' ? "" : "/", name);
    real = realpath(path.bytes, NULL);
    if (real || errno == ENOENT) {
        *why = real ? *why : "does not exist";
        edited = find_edited(allowed, real, path.bytes);
    } else
        *why = "cannot be opened";
    if (real ? may_read(real, folder, allowed) : edited != NULL)
        ok = edited ? take_edited(text, edited, limit, why)
                    : take_file(text, real, limit, why);
    free(real);
    cz_text_fini(&path);
    return ok;
}
