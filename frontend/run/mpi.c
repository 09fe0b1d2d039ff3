/* MPI, opened when asked for: other commands and worlds need none of it. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/run/mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    MOST_ARGUMENTS = 256,
    ARGUMENT_BYTES = 1 << 16,
    SAID_BYTES = 64
};
static const char module[] = "libczr_mpi.so";

bool cz_mpi_find(czr_process_position *out, cz_diags *diags)
{
    char why[CZR_WHY_BYTES];

    if (czr_process_env(out, why) != CZR_OK) {
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0}, "%s", why);
        return false;
    }
    if (!out->launcher || strcmp(out->launcher, "torchrun") != 0)
        return true;
    cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                  "torchrun has started this process: run it by mpirun or "
                  "srun, or without RANK and WORLD_SIZE");
    return false;
}

/* The path of this program; false: it is not known. */
static bool find_self(char path[PATH_BYTES])
{
    const ssize_t n = readlink("/proc/self/exe", path, PATH_BYTES - 1);

    path[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* Beside this program, where it is installed, or where the loader finds
 * libraries.  It stays; NULL: dlerror() says why. */
static void *find_module(void)
{
    static const char *const places[] = {"", "../lib/canzona/"};
    char path[PATH_BYTES + sizeof "../lib/canzona/" + sizeof module];
    void *library = NULL;

    for (int i = 0; i < 2 && !library && find_self(path); i++) {
        char *end = strrchr(path, '/') + 1;
        sprintf(end, "%s%s", places[i], module);
        if (access(path, R_OK) == 0)
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return library ? library : dlopen(module, RTLD_NOW | RTLD_GLOBAL);
}

void cz_mpi_describe(char *out, size_t n)
{
    enum { MOST = 8192 }; /* MPI_MAX_LIBRARY_VERSION_STRING of any */
    static char text[MOST];
    int (*version)(char *, int *) = NULL;
    void *library = find_module();
    void *symbol = library ? dlsym(library, "MPI_Get_library_version") : NULL;
    int length = 0;

    memcpy(&version, &symbol, sizeof version);
    const bool is_said = version && version(text, &length) == 0;
    for (char *tab = text; (tab = strchr(tab, '\t'));) /* MPICH's */
        *tab = ' ';
    if (is_said)
        snprintf(out, n, "%.*s", (int)strcspn(text, ",\n"), text);
    else
        snprintf(out, n, "none: %s", library ? "it has no version" : dlerror());
}

static void *open_module(cz_diags *diags)
{
    void *library = find_module();

    if (!library)
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                      "there is no MPI in this build: %s", dlerror());
    return library;
}

/* ---- starting ----------------------------------------------------------- */

/* The arguments of this process behind `n` others; false: there are too many.
 */
static bool append_arguments(char *arguments[MOST_ARGUMENTS], int n)
{
    static char text[ARGUMENT_BYTES];
    const int file = open("/proc/self/cmdline", O_RDONLY);
    ssize_t bytes = 0, more = 1;

    while (file >= 0 && more > 0 && bytes < ARGUMENT_BYTES) {
        more = read(file, text + bytes, (size_t)(ARGUMENT_BYTES - bytes));
        bytes += more > 0 ? more : 0;
    }
    if (file >= 0)
        close(file);
    if (bytes == 0 || bytes == ARGUMENT_BYTES)
        return false;
    for (const char *at = text + strlen(text) + 1; at < text + bytes;
         at += strlen(at) + 1) {
        if (n + 1 == MOST_ARGUMENTS)
            return false;
        arguments[n++] = text + (at - text);
    }
    arguments[n] = NULL;
    return true;
}

void cz_mpi_launch(int ranks, cz_diags *diags)
{
    static const char *const leave[] = {"OMPI_ALLOW_RUN_AS_ROOT",
                                        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                        "OMPI_MCA_rmaps_base_oversubscribe"};
    static char mpirun[] = "mpirun", flag[] = "-n", count[16];
    static char self[PATH_BYTES];
    char *arguments[MOST_ARGUMENTS] = {mpirun, flag, count, self};

    if (!open_module(diags))
        return;
    snprintf(count, sizeof count, "%d", ranks);
    if (!find_self(self) || !append_arguments(arguments, 4)) {
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                      "what this process was told is not in /proc/self, or too "
                      "long: start the ranks by mpirun or srun");
        return;
    }
    for (size_t i = 0; i < sizeof leave / sizeof *leave; i++)
        setenv(leave[i], "1", 0);
    setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);
    fflush(NULL);
    execvp(mpirun, arguments);
    cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                  "mpirun cannot be started: %s", strerror(errno));
}

/* ---- a rank ------------------------------------------------------------- */

/* What another MPI's launcher has started is alone to this one: one speaks of
 * those that the launcher knows. */
static bool is_whole(const czr_process_position *position,
                     const czr_world *world, int ranks, cz_diags *diags)
{
    const int size = czr_world_size(world);
    char own[SAID_BYTES];

    if (size == ranks && size == position->size)
        return true;
    cz_mpi_describe(own, sizeof own);
    if (position->rank == 0 && size != position->size)
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                      "%s has started %d processes, of which this build's %s "
                      "sees %d: start them by its own mpirun, or by srun "
                      "--mpi=pmix or pmi2",
                      position->launcher, position->size, own, size);
    else if (position->rank == 0)
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0},
                      "%d processes were started, and the mesh has %d ranks",
                      size, ranks);
    return false;
}

bool cz_mpi_open(const czr_process_position *position, int ranks,
                 cz_diags *diags, czr_world **out)
{
    czr_status (*start)(czr_transport *) = NULL;
    czr_transport transport;
    void *library = open_module(diags);

    *out = NULL;
    if (!library)
        return false;
    /* POSIX has functions as objects here, C has not. */
    void *symbol = dlsym(library, "czr_mpi_start");
    memcpy(&start, &symbol, sizeof symbol);
    czr_status status = start ? start(&transport) : CZR_ERR_VERSION;
    if (status == CZR_OK)
        status = czr_world_open(&transport, out);
    if (status != CZR_OK) {
        cz_diag_error(diags, CZ_RUN_FAILED, (cz_span){0}, "%s",
                      czr_status_text(status));
        return false;
    }
    return is_whole(position, *out, ranks, diags);
}
