/* What a plan says of a document's parameters.  A child process plans: it may
 * take long, and what it allocates goes with it. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/lsp/internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until its end, or the deadline: then false. */
static bool read_all(int file, cz_text *text)
{
    const int64_t deadline = now_ms() + (int64_t)CZ_LSP_MAX_SECONDS * 1000;
    char some[4096];

    for (;;) {
        const int64_t left = deadline - now_ms();
        struct pollfd wait = {.fd = file, .events = POLLIN};
        const int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        const ssize_t n = read(file, some, sizeof some);
        if (n > 0)
            cz_text_put(text, some, (size_t)n);
        else if (n == 0)
            return true;
        else if (errno != EINTR)
            return false;
    }
}

/* Does not return. */
static void plan_in_child(const cz_lsp_document *document, int file)
{
    const cz_allowed allowed = cz_lsp_edited(&(cz_arena){0}, document->server);
    FILE *out = fdopen(file, "w");
    bool ok = out && document->server->plan(
                         document->path, &document->valid_text, allowed, out);

    ok = out && fclose(out) == 0 && ok;
    _exit(ok ? 0 : 1);
}

/* What the planner wrote, a line each: name, how, owners. */
static void take_updates(cz_lsp_document *document, const cz_text *text)
{
    cz_arena *arena = &document->plan_arena;
    char *at = cz_arena_copy(arena, cz_text_string(text), text->n);

    while (*at) {
        char *how = strchr(at, '\t'),
             *owners = how ? strchr(how + 1, '\t') : NULL;
        char *end = owners ? strchr(owners + 1, '\n') : NULL;
        if (!end)
            return;
        *how++ = *owners++ = *end = '\0';
        *CZ_PUSH(arena, document->updates, document->n_updates) =
            (cz_lsp_update){at, how, owners};
        at = end + 1;
    }
}

static cz_lsp_planned plan(cz_lsp_document *document)
{
    cz_text text = {0};
    int ends[2], status = 1;

    if (pipe(ends) != 0)
        return CZ_LSP_PLAN_REFUSED;
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        plan_in_child(document, ends[1]);
    }
    close(ends[1]);
    const bool is_whole = child > 0 && read_all(ends[0], &text);
    close(ends[0]);
    if (child > 0 && !is_whole)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (is_whole && status == 0)
        take_updates(document, &text);
    cz_text_fini(&text);
    return !is_whole     ? CZ_LSP_PLAN_LATE
           : status == 0 ? CZ_LSP_PLAN_DONE
                         : CZ_LSP_PLAN_REFUSED;
}

cz_lsp_planned cz_lsp_plan(cz_lsp_document *document)
{
    if (document->planned != CZ_LSP_PLAN_NONE || document->valid_text.n == 0)
        return document->planned;
    cz_arena_clear(&document->plan_arena);
    document->updates = NULL;
    document->n_updates = 0;
    document->planned = plan(document);
    return document->planned;
}
