/* What launchers say of a process, by the variables that their manuals name. */
#include "runtime/cuda/world/process.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TORCHRUN, OPEN_MPI, MPICH, SLURM, N_LAUNCHERS, N_LOCAL_NAMES = 2 };

typedef struct launcher {
    const char *name, *rank, *size;
    const char *local_rank[N_LOCAL_NAMES]; /* the second of Cray's MPICH */
    /* A size of 1 says nothing: a shell may have it, too. */
    bool is_of_many;
    /* Without a size a rank says nothing. */
    bool may_lack_size;
} launcher;

static const launcher launchers[N_LAUNCHERS] = {
    [TORCHRUN] = {.name = "torchrun",
                  .rank = "RANK",
                  .size = "WORLD_SIZE",
                  .local_rank = {"LOCAL_RANK"},
                  .is_of_many = true},
    [OPEN_MPI] = {.name = "Open MPI",
                  .rank = "OMPI_COMM_WORLD_RANK",
                  .size = "OMPI_COMM_WORLD_SIZE",
                  .local_rank = {"OMPI_COMM_WORLD_LOCAL_RANK"}},
    [MPICH] = {.name = "MPICH",
               .rank = "PMI_RANK",
               .size = "PMI_SIZE",
               .local_rank = {"MPI_LOCALRANKID", "PMI_LOCAL_RANK"}},
    /* A batch script has a rank and is no step. */
    [SLURM] = {.name = "Slurm",
               .rank = "SLURM_PROCID",
               .size = "SLURM_STEP_NUM_TASKS",
               .local_rank = {"SLURM_LOCALID"},
               .is_of_many = true,
               .may_lack_size = true},
};

/* What one of them says; launcher is NULL where it says nothing, and local_rank
 * is -1 where it does not say that. */
typedef czr_process_position position;

static czr_status refuse(char *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static czr_status refuse(char *message, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, CZR_WHY_BYTES, format, arguments);
    va_end(arguments);
    return CZR_ERR_ARGUMENT;
}

/* A number from 0 on, in decimal. */
static czr_status read_number(const launcher *from, const char *variable,
                              int *out, char *message)
{
    const char *found = getenv(variable), *text = found ? found : "";
    char *end;
    const long value = strtol(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || value > INT_MAX)
        return refuse(message, "%s is \"%.64s\", which is no number of %s's",
                      variable, text, from->name);
    *out = (int)value;
    return CZR_OK;
}

static czr_status read_local_rank(const launcher *from, position *out,
                                  char *message)
{
    out->local_rank = -1;
    for (int i = 0; i < N_LOCAL_NAMES && from->local_rank[i]; i++)
        if (getenv(from->local_rank[i]))
            return read_number(from, from->local_rank[i], &out->local_rank,
                               message);
    return CZR_OK;
}

enum { POSITION_BYTES = 96 };

static const char *say(const position *p, char text[POSITION_BYTES])
{
    const int n = snprintf(text, POSITION_BYTES, "%s says rank %d of %d",
                           p->launcher, p->rank, p->size);

    if (p->local_rank >= 0)
        snprintf(text + n, POSITION_BYTES - (size_t)n, ", local rank %d",
                 p->local_rank);
    return text;
}

static czr_status read_position(const launcher *from, position *out,
                                char *message)
{
    const bool has_rank = getenv(from->rank), has_size = getenv(from->size);
    char text[POSITION_BYTES];

    *out = (position){0};
    if (!has_size && (!has_rank || from->may_lack_size))
        return CZR_OK;
    if (has_rank != has_size)
        return refuse(message, "%s is set, and %s is not",
                      has_rank ? from->rank : from->size,
                      has_rank ? from->size : from->rank);
    czr_status status = read_number(from, from->rank, &out->rank, message);
    if (status == CZR_OK)
        status = read_number(from, from->size, &out->size, message);
    if (status == CZR_OK)
        status = read_local_rank(from, out, message);
    if (status != CZR_OK)
        return status;
    out->launcher = from->name;
    if (out->rank >= out->size || out->local_rank >= out->size)
        return refuse(message, "%s", say(out, text));
    if (out->size == 1 && from->is_of_many)
        out->launcher = NULL;
    return CZR_OK;
}

static bool is_same(const position *a, const position *b)
{
    return a->rank == b->rank && a->size == b->size &&
           (a->local_rank == b->local_rank || a->local_rank < 0 ||
            b->local_rank < 0);
}

static czr_status contradict(const position *a, const position *b,
                             char *message)
{
    char of_a[POSITION_BYTES], of_b[POSITION_BYTES];

    return refuse(message, "%s; %s", say(a, of_a), say(b, of_b));
}

/* The innermost; launcher is NULL where there is none. */
static czr_status choose(const position of[N_LAUNCHERS], position *out,
                         char *message)
{
    const position *torchrun = &of[TORCHRUN];
    const position *mpi = of[OPEN_MPI].launcher ? &of[OPEN_MPI] : &of[MPICH];
    const position *under = mpi->launcher ? mpi : &of[SLURM];

    /* Of two MPIs nobody knows which was started by the other. */
    if (of[OPEN_MPI].launcher && of[MPICH].launcher &&
        !is_same(&of[OPEN_MPI], &of[MPICH]))
        return contradict(&of[OPEN_MPI], &of[MPICH], message);
    const bool is_by_torchrun =
        torchrun->launcher &&
        (!under->launcher || getenv("TORCHELASTIC_RUN_ID"));
    *out = is_by_torchrun ? *torchrun : *under;
    return !torchrun->launcher || is_by_torchrun || is_same(torchrun, under)
               ? CZR_OK
               : contradict(torchrun, under, message);
}

czr_status czr_process_env(czr_process_position *out,
                           char message[CZR_WHY_BYTES])
{
    position of[N_LAUNCHERS];
    char text[POSITION_BYTES];
    czr_status status = CZR_OK;

    message[0] = '\0';
    *out = (position){.size = 1};
    for (int i = 0; i < N_LAUNCHERS && status == CZR_OK; i++)
        status = read_position(&launchers[i], &of[i], message);
    position chosen = {0};
    if (status == CZR_OK)
        status = choose(of, &chosen, message);
    if (status != CZR_OK || !chosen.launcher)
        return status;
    for (int i = 0; i < N_LAUNCHERS && chosen.local_rank < 0; i++)
        if (of[i].launcher && is_same(&of[i], &chosen))
            chosen.local_rank = of[i].local_rank;
    if (chosen.local_rank < 0)
        return refuse(message,
                      "%s, and nobody the rank among those of this machine: "
                      "set LOCAL_RANK, with RANK and WORLD_SIZE",
                      say(&chosen, text));
    *out = chosen;
    return CZR_OK;
}
