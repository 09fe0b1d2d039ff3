/* Processes of ranks. */
#define _GNU_SOURCE
#include "tests/gpu/world/processes.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOTE_BYTES = 1 << 22, TICK_NS = 1000000, MOST_GPUS = 64 };

/* What a child leaves. */
typedef struct slot {
    czr_status status;
    int n_graphs;
    double seconds;
    char said[CZR_DRIVER_MESSAGE];
    size_t n;
    unsigned char bytes[NOTE_BYTES];
} slot;

typedef struct shared {
    _Atomic int has_id; /* below 0: there will be none */
    czr_nccl_id id;
    slot of[RANKS_MOST];
} shared;

static shared *share(void)
{
    void *s = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    RANK_CHECK(s != MAP_FAILED);
    return s;
}

/* The first rank makes it, and tells. */
static bool find_id(const test_rank *self, shared *s, wish *w)
{
    const struct timespec tick = {0, TICK_NS};
    char message[CZR_NCCL_MESSAGE];

    if (self->rank == 0) {
        const bool is_made =
            czr_nccl_make_id(self->nccl, &s->id, message) == CZR_OK;
        if (!is_made)
            printf("%s\n", message);
        s->has_id = is_made ? 1 : -1;
    }
    while (!s->has_id)
        nanosleep(&tick, NULL);
    w->id = s->id;
    return s->has_id > 0;
}

/* The others are not to wait for the first. */
static void give_up(const test_rank *self, shared *s, const char *message)
{
    printf("rank %d: %s\n", self->rank, message);
    if (self->rank == 0)
        s->has_id = -1;
}

/* NCCL takes ranks with other names for ranks of other hosts, and only of one
 * host has each to have its own GPU (getHostHash in utils.cc, init.cc). */
static void name_host(int rank)
{
    char name[16];

    snprintf(name, sizeof name, "host%d", rank);
    setenv("NCCL_HOSTID", name, 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}

static czr_status run_rank(const processes *p, test_rank *self, shared *s,
                           wish *w)
{
    char message[CZR_DRIVER_MESSAGE] = "";
    czr_driver *driver = NULL;
    czr_nccl *nccl = NULL;
    czr_status status;

    if (p->prepare)
        p->prepare(w, self->size);
    if (p->n_gpus < self->size)
        name_host(self->rank);
    status = czr_driver_open(p->driver, &driver, message);
    if (status == CZR_OK)
        status = czr_nccl_open(p->nccl, &nccl, message);
    if (status == CZR_OK &&
        czr_nvrtc_open(p->nvrtc, &w->nvrtc, message) != CZR_NVRTC_OK)
        status = CZR_ERR_DEVICE_CODE;
    if (status == CZR_OK)
        status =
            czr_context_open(driver, self->device, &self->context, message);
    self->nccl = nccl;
    if (status == CZR_OK)
        status = find_id(self, s, w) ? CZR_OK : CZR_ERR_NCCL;
    else
        give_up(self, s, message);
    if (status == CZR_OK) {
        nccl_rank_run(self, w);
        status = self->status;
    }
    czr_context_close(self->context);
    czr_nvrtc_close(w->nvrtc);
    czr_nccl_close(nccl);
    czr_driver_close(driver);
    return status;
}

static void leave_word(const test_rank *self, const wish *w, czr_status status,
                       slot *to)
{
    const trace *t = &w->out.of[self->rank];

    RANK_CHECK(t->n <= NOTE_BYTES);
    if (t->n)
        memcpy(to->bytes, t->bytes, t->n);
    to->n = t->n;
    to->n_graphs = w->n_graphs;
    to->seconds = w->seconds[self->rank];
    memcpy(to->said, w->said[self->rank], sizeof to->said);
    to->status = status;
}

static pid_t start(const processes *p, test_rank *self, shared *s, wish *w)
{
    fflush(stdout);
    const pid_t child = fork();

    RANK_CHECK(child >= 0);
    if (child)
        return child;
    alarm(p->seconds);
    leave_word(self, w, run_rank(p, self, s, w), &s->of[self->rank]);
    fflush(stdout);
    _exit(0);
}

/* As if the rank had run here. */
static void take_word(test_rank *self, const slot *from, wish *w)
{
    trace *t = &w->out.of[self->rank];

    self->status = from->status;
    w->n_graphs += from->n_graphs;
    w->seconds[self->rank] = from->seconds;
    memcpy(w->said[self->rank], from->said, sizeof from->said);
    *t = (trace){malloc(from->n + 1), from->n, from->n + 1};
    RANK_CHECK(t->bytes);
    memcpy(t->bytes, from->bytes, from->n);
}

void processes_run(const processes *p, test_rank *ranks, int size, wish *w)
{
    pid_t children[RANKS_MOST];
    shared *s = share();

    rank_drop(&w->out);
    w->n_graphs = 0;
    for (int i = 0; i < size; i++) {
        s->of[i].status = CZR_ERR_ABORTED;
        ranks[i] =
            (test_rank){.rank = i, .size = size, .device = i % p->n_gpus};
        children[i] = start(p, &ranks[i], s, w);
    }
    for (int i = 0; i < size; i++) {
        int status = 0;
        RANK_CHECK(waitpid(children[i], &status, 0) == children[i]);
        if (status && i != w->leaver)
            printf("rank %d: its process ended with %d\n", i, status);
        take_word(&ranks[i], &s->of[i], w);
    }
    munmap(s, sizeof *s);
}

static int count_here(const processes *p)
{
    char message[CZR_DRIVER_MESSAGE];
    czr_driver *driver = NULL;
    czr_nccl *nccl = NULL;
    int n = 0;

    const bool is_there =
        czr_driver_open(p->driver, &driver, message) == CZR_OK &&
        czr_nccl_open(p->nccl, &nccl, message) == CZR_OK;
    if (!is_there)
        printf("%s\n", message);
    if (is_there && driver->device_count(&n) != CZR_CUDA_SUCCESS)
        n = 0;
    czr_nccl_close(nccl);
    czr_driver_close(driver);
    return n < MOST_GPUS ? n : MOST_GPUS;
}

int processes_count(const processes *p)
{
    int status = 0;

    fflush(stdout);
    const pid_t child = fork();
    if (!child) {
        alarm(p->seconds);
        const int n = count_here(p);
        fflush(stdout);
        _exit(n);
    }
    RANK_CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
