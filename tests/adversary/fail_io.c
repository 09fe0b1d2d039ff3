/* Preloaded, makes one call of a program fail, or all from one on: FAIL_CALL is
 * NAME:NUMBER:ERRNO, with a + behind the number for all that follow.  FAIL_LOG
 * is a file that gets a line for each call that failed so. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static int n_calls;

static int fails(const char *name)
{
    const char *wanted = getenv("FAIL_CALL"), *log = getenv("FAIL_LOG");
    const size_t n = strlen(name);
    char rest[2] = "";
    int number, error;

    if (!wanted || !log || strncmp(wanted, name, n) != 0 || wanted[n] != ':')
        return 0;
    if (sscanf(wanted + n, ":%d%1[+]", &number, rest) < 1 ||
        sscanf(strrchr(wanted, ':'), ":%d", &error) != 1)
        abort();
    n_calls++;
    if (n_calls < number || (n_calls > number && !rest[0]))
        return 0;
    const long file =
        syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0 || syscall(SYS_write, file, "failed\n", 7) != 7)
        abort();
    syscall(SYS_close, file);
    errno = error;
    return 1;
}

/* CALL(result, failure, name, parameters, arguments) */
#define CALL(result, failure, name, parameters, arguments)                     \
    result name parameters;                                                    \
    result name parameters                                                     \
    {                                                                          \
        static result(*next) parameters;                                       \
        if (!next)                                                             \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                         \
        if (fails(#name))                                                      \
            return failure;                                                    \
        return next arguments;                                                 \
    }

CALL(int, -1, mkstemp, (char *path), (path))
CALL(char *, NULL, mkdtemp, (char *path), (path))
CALL(ssize_t, -1, write, (int file, const void *bytes, size_t n),
     (file, bytes, n))
CALL(int, -1, fchmod, (int file, mode_t mode), (file, mode))
CALL(int, -1, fsync, (int file), (file))
CALL(int, -1, rename, (const char *from, const char *to), (from, to))
CALL(int, -1, link, (const char *from, const char *to), (from, to))
CALL(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))

/* Of files that the command line names so: libraries open others. */
int open(const char *path, int flags, ...)
{
    static int (*next)(const char *, int, ...);
    va_list more;

    va_start(more, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "open");
    if (path[0] != '/' && fails("open"))
        return -1;
    return next(path, flags, mode);
}

/* The close of a file that was written, which can be the first to say that
 * there was no space. */
int close(int file)
{
    static int (*next)(int);
    struct stat status;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "close");
    const int flags = fcntl(file, F_GETFL);
    const int is_output = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
                          fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const int fault = is_output && fails("close");
    const int error = errno, result = next(file);

    if (fault)
        errno = error;
    return fault ? -1 : result;
}

/* A file system where no program may run, if FAIL_CALL is noexec:1:0. */
int statvfs(const char *path, struct statvfs *out)
{
    static int (*next)(const char *, struct statvfs *);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "statvfs");
    const int result = next(path, out);
    if (fails("noexec"))
        out->f_flag |= ST_NOEXEC;
    return result;
}

void *dlopen(const char *path, int flags)
{
    static void *(*next)(const char *, int);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return path && strstr(path, "/program.so") && getenv("FAIL_CALL") &&
                   strncmp(getenv("FAIL_CALL"), "noexec", 6) == 0
               ? NULL
               : next(path, flags);
}
