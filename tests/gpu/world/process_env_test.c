/* Who a process is, from the variables of each launcher, of one inside another,
 * and from such as contradict each other or are no numbers.
 *
 * Scenes have what torchrun of PyTorch 2, mpirun of Open MPI 4.1 and MPICH 4.0
 * set when they were tried.  Slurm's is of its manual. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/cuda/world/process.h"

enum { MAX_VARIABLES = 12 };

static const char *const variables[] = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "TORCHELASTIC_RUN_ID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "MPI_LOCALRANKID",
    "PMI_LOCAL_RANK",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_LOCALID",
};

typedef struct scene {
    const char *what;
    const char *set[MAX_VARIABLES][2]; /* names and values */
    czr_process_position expected;
    const char *sentence; /* of a refusal, else NULL */
} scene;

#define TORCHRUN(rank, size, local)                                            \
    {"RANK", rank}, {"WORLD_SIZE", size},                                      \
    {                                                                          \
        "LOCAL_RANK", local                                                    \
    }
#define OPEN_MPI(rank, size, local)                                            \
    {"OMPI_COMM_WORLD_RANK", rank}, {"OMPI_COMM_WORLD_SIZE", size},            \
    {                                                                          \
        "OMPI_COMM_WORLD_LOCAL_RANK", local                                    \
    }
#define MPICH(rank, size, local)                                               \
    {"PMI_RANK", rank}, {"PMI_SIZE", size},                                    \
    {                                                                          \
        "MPI_LOCALRANKID", local                                               \
    }
#define SLURM(rank, size, local)                                               \
    {"SLURM_PROCID", rank}, {"SLURM_STEP_NUM_TASKS", size},                    \
    {                                                                          \
        "SLURM_LOCALID", local                                                 \
    }
#define ELASTIC                                                                \
    {                                                                          \
        "TORCHELASTIC_RUN_ID", "none"                                          \
    }

static const scene scenes[] = {
    {"nobody", {{0}}, {NULL, 0, 1, 0}, NULL},
    {"torchrun",
     {TORCHRUN("5", "8", "1"), ELASTIC},
     {"torchrun", 5, 8, 1},
     NULL},
    {"Open MPI", {OPEN_MPI("3", "4", "3")}, {"Open MPI", 3, 4, 3}, NULL},
    {"one of Open MPI", {OPEN_MPI("0", "1", "0")}, {"Open MPI", 0, 1, 0}, NULL},
    {"MPICH", {MPICH("6", "7", "0")}, {"MPICH", 6, 7, 0}, NULL},
    {"Cray's MPICH",
     {{"PMI_RANK", "6"}, {"PMI_SIZE", "7"}, {"PMI_LOCAL_RANK", "2"}},
     {"MPICH", 6, 7, 2},
     NULL},
    {"Slurm", {SLURM("9", "16", "1")}, {"Slurm", 9, 16, 1}, NULL},
    /* srun --mpi=pmi2, which says the rank on the machine as Slurm's. */
    {"MPICH by Slurm",
     {{"PMI_RANK", "9"}, {"PMI_SIZE", "16"}, SLURM("9", "16", "1")},
     {"MPICH", 9, 16, 1},
     NULL},
    /* ---- who was started by whom ---- */
    {"a batch script of Slurm",
     {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "0"}},
     {NULL, 0, 1, 0},
     NULL},
    {"a shell of Slurm", {SLURM("0", "1", "0")}, {NULL, 0, 1, 0}, NULL},
    {"torchrun on each machine, by Slurm",
     {TORCHRUN("5", "16", "5"), ELASTIC, SLURM("0", "2", "0")},
     {"torchrun", 5, 16, 5},
     NULL},
    {"torchrun on each machine, by Open MPI",
     {TORCHRUN("9", "16", "1"), ELASTIC, OPEN_MPI("1", "2", "0")},
     {"torchrun", 9, 16, 1},
     NULL},
    {"mpirun, whose daemons Slurm has started",
     {OPEN_MPI("5", "8", "1"), SLURM("1", "2", "0")},
     {"Open MPI", 5, 8, 1},
     NULL},
    {"a trainer's shell that is one rank",
     {TORCHRUN("0", "1", "0"), OPEN_MPI("2", "4", "2")},
     {"Open MPI", 2, 4, 2},
     NULL},
    {"variables of torchrun, set by hand from Slurm's",
     {TORCHRUN("9", "16", "1"), SLURM("9", "16", "1")},
     {"Slurm", 9, 16, 1},
     NULL},
    {"a local rank, set by hand",
     {TORCHRUN("1", "4", "1"), {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}},
     {"MPICH", 1, 4, 1},
     NULL},
    {"all of it by hand",
     {TORCHRUN("9", "16", "1")},
     {"torchrun", 9, 16, 1},
     NULL},
    /* ---- contradictions ---- */
    {"by hand, of another rank",
     {TORCHRUN("8", "16", "1"), SLURM("9", "16", "1")},
     {NULL, 0, 1, 0},
     "torchrun says rank 8 of 16, local rank 1; Slurm says rank 9 of 16, local "
     "rank 1"},
    {"by hand, of another size",
     {TORCHRUN("2", "8", "2"), OPEN_MPI("2", "4", "2")},
     {NULL, 0, 1, 0},
     "torchrun says rank 2 of 8, local rank 2; Open MPI says rank 2 of 4"},
    {"by hand, of another local rank",
     {TORCHRUN("2", "4", "0"), MPICH("2", "4", "2")},
     {NULL, 0, 1, 0},
     "local rank 0; MPICH says rank 2 of 4, local rank 2"},
    {"two MPIs",
     {OPEN_MPI("1", "4", "1"), MPICH("0", "2", "0")},
     {NULL, 0, 1, 0},
     "Open MPI says rank 1 of 4, local rank 1; MPICH says rank 0 of 2"},
    {"a rank that is not there",
     {OPEN_MPI("4", "4", "0")},
     {NULL, 0, 1, 0},
     "Open MPI says rank 4 of 4"},
    {"a local rank that is not there",
     {TORCHRUN("1", "2", "2"), ELASTIC},
     {NULL, 0, 1, 0},
     "torchrun says rank 1 of 2, local rank 2"},
    {"no ranks",
     {SLURM("0", "0", "0")},
     {NULL, 0, 1, 0},
     "Slurm says rank 0 of 0"},
    /* ---- broken values ---- */
    {"a rank without a size",
     {{"RANK", "0"}},
     {NULL, 0, 1, 0},
     "RANK is set, and WORLD_SIZE is not"},
    {"a size without a rank",
     {{"OMPI_COMM_WORLD_SIZE", "4"}},
     {NULL, 0, 1, 0},
     "OMPI_COMM_WORLD_SIZE is set, and OMPI_COMM_WORLD_RANK is not"},
    {"a step of Slurm without a rank",
     {{"SLURM_STEP_NUM_TASKS", "4"}},
     {NULL, 0, 1, 0},
     "SLURM_STEP_NUM_TASKS is set, and SLURM_PROCID is not"},
    {"no local rank",
     {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}},
     {NULL, 0, 1, 0},
     "MPICH says rank 1 of 4, and nobody the rank among those of this machine"},
    {"no local rank but of another world",
     {{"OMPI_COMM_WORLD_RANK", "1"},
      {"OMPI_COMM_WORLD_SIZE", "4"},
      SLURM("0", "2", "0")},
     {NULL, 0, 1, 0},
     "Open MPI says rank 1 of 4, and nobody the rank among"},
    {"a word",
     {TORCHRUN("one", "4", "0")},
     {NULL, 0, 1, 0},
     "RANK is \"one\", which is no number of torchrun's"},
    {"nothing",
     {OPEN_MPI("0", "", "0")},
     {NULL, 0, 1, 0},
     "OMPI_COMM_WORLD_SIZE is \"\""},
    {"a number and more",
     {MPICH("1", "4", "1x")},
     {NULL, 0, 1, 0},
     "MPI_LOCALRANKID is \"1x\""},
    {"below 0",
     {SLURM("-1", "4", "0")},
     {NULL, 0, 1, 0},
     "SLURM_PROCID is \"-1\""},
    {"above all",
     {SLURM("1", "2147483648", "0")},
     {NULL, 0, 1, 0},
     "SLURM_STEP_NUM_TASKS is \"2147483648\""},
    {"above all of 64 bits",
     {SLURM("1", "99999999999999999999", "0")},
     {NULL, 0, 1, 0},
     "SLURM_STEP_NUM_TASKS is \"99999999999999999999\""},
    {"a space", {SLURM(" 1", "2", "0")}, {NULL, 0, 1, 0}, "is \" 1\""},
};

static void hold(const scene *s)
{
    char message[CZR_WHY_BYTES] = "";
    czr_process_position found = {"before", -1, -1, -1};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    for (int i = 0; i < MAX_VARIABLES && s->set[i][0]; i++)
        setenv(s->set[i][0], s->set[i][1], 1);
    const czr_status status = czr_process_env(&found, message);
    if (status != (s->sentence ? CZR_ERR_ARGUMENT : CZR_OK))
        fail_msg("%s: %s, \"%s\"", s->what, czr_status_text(status), message);
    if (s->sentence ? !strstr(message, s->sentence) : *message != '\0')
        fail_msg("%s: \"%s\"", s->what, message);
    if (found.rank != s->expected.rank || found.size != s->expected.size ||
        found.local_rank != s->expected.local_rank ||
        !found.launcher != !s->expected.launcher ||
        (found.launcher && strcmp(found.launcher, s->expected.launcher) != 0))
        fail_msg("%s: rank %d of %d, local rank %d, by %s", s->what, found.rank,
                 found.size, found.local_rank,
                 found.launcher ? found.launcher : "nobody");
}

static void is_who_the_launcher_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        hold(&scenes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_who_the_launcher_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
