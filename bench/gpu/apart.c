/* A process for each trial. */
#define _POSIX_C_SOURCE 200809L
#include "bench/gpu/gpu.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

gpu_trial gpu_try_apart(int (*trial)(const gpu_paths *paths, const void *user),
                        const gpu_paths *paths, const void *user,
                        unsigned seconds)
{
    int status = 0;

    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        alarm(seconds);
        const int result = trial(paths, user);
        fflush(stdout);
        _exit(result);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return GPU_NO_MACHINE;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return GPU_LATE;
    return WIFEXITED(status) ? (gpu_trial)WEXITSTATUS(status) : GPU_WRONG;
}
