/* Another process, by two pipes: a line asks, a line answers. */
#define _POSIX_C_SOURCE 200809L
#include "bench/gpu/plan.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READ_END, WRITE_END };

/* Of the child: it does not return. */
static void become(const char *const *command, const int in[2],
                   const int out[2])
{
    const union {
        const char *const *given;
        char *const *taken;
    } arguments = {.given = command};

    dup2(in[READ_END], STDIN_FILENO);
    dup2(out[WRITE_END], STDOUT_FILENO);
    close(in[READ_END]);
    close(in[WRITE_END]);
    close(out[READ_END]);
    close(out[WRITE_END]);
    if (command[0] && arguments.taken)
        execvp(command[0], arguments.taken);
    _exit(127);
}

enum { LINE = sizeof((gpu_peer *)NULL)->said };

/* Its answer to a line. */
static bool ask(gpu_peer *peer, const char *line, char answer[LINE])
{
    answer[0] = 0;
    if (!peer->process || fprintf(peer->to, "%s\n", line) < 0 ||
        fflush(peer->to) != 0 || !fgets(answer, LINE, peer->from))
        return false;
    answer[strcspn(answer, "\n")] = 0;
    return true;
}

bool gpu_peer_open(const char *const *command, const char *request,
                   gpu_peer *out)
{
    int in[2], from[2];

    *out = (gpu_peer){0};
    signal(SIGPIPE, SIG_IGN);
    if (pipe(in) != 0)
        return false;
    if (pipe(from) != 0) {
        close(in[READ_END]);
        close(in[WRITE_END]);
        return false;
    }
    const pid_t child = fork();
    if (!child)
        become(command, in, from);
    close(in[READ_END]);
    close(from[WRITE_END]);
    out->process = child > 0 ? child : 0;
    out->to = fdopen(in[WRITE_END], "w");
    out->from = fdopen(from[READ_END], "r");
    if (out->to && out->from && ask(out, request, out->said) &&
        strncmp(out->said, "ok", 2) == 0)
        return true;
    gpu_peer_close(out);
    return false;
}

double gpu_peer_turn(gpu_peer *peer)
{
    char answer[LINE], *end;

    if (!ask(peer, "turn", answer))
        return -1;
    const double us = strtod(answer, &end);
    return end != answer && !*end && us > 0 ? us : -1;
}

void gpu_peer_close(gpu_peer *peer)
{
    if (peer->to)
        fclose(peer->to);
    if (peer->from)
        fclose(peer->from);
    if (peer->process)
        waitpid((pid_t)peer->process, NULL, 0);
    peer->to = peer->from = NULL;
    peer->process = 0;
}
