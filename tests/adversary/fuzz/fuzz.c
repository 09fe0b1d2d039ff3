/* What the fuzz targets share: demands, and files of their own. */
#define _POSIX_C_SOURCE 200809L
#include "tests/adversary/fuzz/fuzz.h"

#include "dsl/base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILES = 4, MAX_PATH = 256 };

static char folder[MAX_PATH];

static struct {
    char name[MAX_PATH], path[2 * MAX_PATH];
    int fd; /* kept open: the bytes change, the file stays */
} files[MAX_FILES];

static int n_files;

void fuzz_demand(bool holds, const char *what, const cz_diags *diags)
{
    cz_text text;
    if (holds)
        return;
    cz_text_init(&text);
    if (diags)
        cz_diags_print(diags, &text, false);
    fprintf(stderr, "fuzz: %s\n%s", what, cz_text_string(&text));
    abort();
}

static void remove_files(void)
{
    for (int i = 0; i < n_files; i++)
        unlink(files[i].path);
    rmdir(folder);
}

/* In memory where that is offered: on a disk the files would take longer than
 * all that is tested. */
static void make_folder(void)
{
    static const char memory[] = "/dev/shm";
    const char *asked = getenv("TMPDIR");
    const char *parent = asked && *asked             ? asked
                         : access(memory, W_OK) == 0 ? memory
                                                     : "/tmp";
    snprintf(folder, sizeof folder, "%s/fuzz-XXXXXX", parent);
    fuzz_demand(mkdtemp(folder) != NULL, "no folder for files", NULL);
    atexit(remove_files);
}

static int find_file(const char *name)
{
    int i = 0;
    while (i < n_files && strcmp(files[i].name, name) != 0)
        i++;
    if (i < n_files)
        return i;
    if (n_files == 0)
        make_folder();
    fuzz_demand(n_files < MAX_FILES, "too many files", NULL);
    snprintf(files[i].name, sizeof files[i].name, "%s", name);
    snprintf(files[i].path, sizeof files[i].path, "%s/%s", folder, name);
    files[i].fd =
        open(files[i].path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    fuzz_demand(files[i].fd >= 0, "a file cannot be made", NULL);
    n_files++;
    return i;
}

const char *fuzz_file(const char *name, const void *bytes, size_t n)
{
    const int i = find_file(name);
    fuzz_demand(ftruncate(files[i].fd, 0) == 0 &&
                    pwrite(files[i].fd, bytes, n, 0) == (ssize_t)n,
                "a file cannot be written", NULL);
    return files[i].path;
}
