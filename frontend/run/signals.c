/* Signals that wait.  The thread that holds them blocks them; a thread that
 * does not, such as one of a library of linear algebra, hands them over. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/run/signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>

static const int ending[] = {SIGHUP, SIGINT, SIGTERM};
enum { N_ENDING = sizeof ending / sizeof *ending };

extern char **environ;
static struct sigaction actions_before[N_ENDING];
static sigset_t held, mask_before;
static pthread_t holder;

static void hand_over(int signal)
{
    pthread_kill(holder, signal);
}

void cz_signals_hold(void)
{
    struct sigaction action = {.sa_handler = hand_over};

    holder = pthread_self();
    sigemptyset(&action.sa_mask);
    sigemptyset(&held);
    for (int i = 0; i < N_ENDING; i++) {
        sigaction(ending[i], NULL, &actions_before[i]);
        if (actions_before[i].sa_handler != SIG_IGN)
            sigaddset(&held, ending[i]);
    }
    sigset_t blocked = held;
    sigaddset(&blocked, SIGCHLD); /* cz_signals_run() waits for it */
    pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
    for (int i = 0; i < N_ENDING; i++)
        if (sigismember(&held, ending[i]) == 1)
            sigaction(ending[i], &action, NULL);
}

void cz_signals_release(void)
{
    for (int i = 0; i < N_ENDING; i++)
        sigaction(ending[i], &actions_before[i], NULL);
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
}

int cz_signals_run(char *const arguments[])
{
    /* SIGCHLD never comes where the parent had it ignored. */
    const struct timespec second = {1, 0};
    sigset_t awaited = held;
    posix_spawnattr_t attributes;
    pid_t child, ended;
    int status = 0, came = 0;

    sigaddset(&awaited, SIGCHLD);
    if (posix_spawnattr_init(&attributes) != 0)
        return -1;
    posix_spawnattr_setsigmask(&attributes, &mask_before);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawnp(&child, arguments[0], NULL, &attributes,
                                   arguments, environ);
    posix_spawnattr_destroy(&attributes);
    if (error != 0)
        return -1;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 ||
           (ended < 0 && errno == EINTR)) {
        const int signal = sigtimedwait(&awaited, NULL, &second);
        if (signal <= 0 || signal == SIGCHLD)
            continue;
        kill(child, came ? SIGKILL : SIGTERM);
        came = signal;
    }
    if (came)
        raise(came);
    return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
