/* What a machine has of what plans on a GPU need, by the runtime's own loaders:
 * version and place of each library, what will be used and why, and what to
 * install.
 *
 * doctor NVRTC...: of these names or paths the first that serves the driver.
 * The last line is for run.sh: "use nvrtc=PATH target=TARGET", or "install: "
 * and the first thing that all plans lack, with exit status 1. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/target.h"
#include "runtime/cuda/library/cublas.h"
#include "runtime/cuda/library/cusolver.h"
#include "runtime/cuda/world/nccl.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 1024, LAST_OF_OLD_NAMES = 12 };

typedef struct machine {
    czr_driver *driver;   /* NULL: there is none */
    czr_context *context; /* of its first GPU; NULL: none that serves */
    char install[LINE];   /* first thing that all plans lack; "": nothing */
} machine;

/* ---- what is said -------------------------------------------------------- */

static void say(const char *standing, const char *what, const char *line)
{
    printf("%-8s%-10s%s\n", standing, what, line);
}

/* Of what all plans need. */
static void lack(machine *m, const char *what, const char *line,
                 const char *install)
{
    say("MISSING", what, line);
    if (!m->install[0])
        snprintf(m->install, sizeof m->install, "%s", install);
}

/* Of what plans do without: `instead`, or `install`. */
static void spare(const char *what, const char *line, const char *instead,
                  const char *install)
{
    char text[LINE];

    snprintf(text, sizeof text, "%s; %s, unless: %s", line, instead, install);
    say("none", what, text);
}

/* Where the open library whose file name has `name` in it lies. */
static void find_path(const char *name, char path[LINE])
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE];

    snprintf(path, LINE, "no file");
    while (maps && fgets(line, sizeof line, maps)) {
        const char *at = strchr(line, '/');
        if (!at || !strstr(strrchr(at, '/'), name))
            continue;
        snprintf(path, LINE, "%.*s", (int)strcspn(at, "\n"), at);
        break;
    }
    if (maps)
        fclose(maps);
}

/* Packages of Python's index have the major version of CUDA in their names up
 * to 12, as those of NCCL have it always. */
static void name_package(const machine *m, const char *package, char out[LINE])
{
    const int major = m->driver ? m->driver->version / 1000 : 12;
    const bool is_named = major <= LAST_OF_OLD_NAMES || strstr(package, "nccl");

    snprintf(out, LINE, "pip install nvidia-%s%s", package,
             !is_named                    ? ""
             : major <= LAST_OF_OLD_NAMES ? "-cu12"
                                          : "-cu13");
}

/* ---- driver, GPU, NVRTC -------------------------------------------------- */

static void open_driver(machine *m)
{
    static const char needed[] =
        "NVIDIA's driver for CUDA 12.0 or later, for a GPU of compute "
        "capability 8.0 or later; in a container the host's (docker run --gpus "
        "all)";
    char message[CZR_DRIVER_MESSAGE], path[LINE], line[2 * LINE];

    if (czr_driver_open(NULL, &m->driver, message) != CZR_OK) {
        lack(m, "driver", message, needed);
        return;
    }
    find_path("cuda.so", path);
    snprintf(line, sizeof line, "for CUDA %d.%d, %s", m->driver->version / 1000,
             m->driver->version % 1000 / 10, path);
    say("ok", "driver", line);
}

static const char *target_of(const czr_context *context)
{
    return czr_target_is_ptx(context)
               ? "sm_80"
               : strchr(czr_target_arch(context), '=') + 1;
}

static void open_gpu(machine *m)
{
    char message[CZR_DRIVER_MESSAGE], line[LINE];
    int n = 0;

    if (!m->driver)
        return;
    if (czr_context_open(m->driver, 0, &m->context, message) != CZR_OK) {
        lack(m, "GPU", message, "a GPU of compute capability 8.0 or later");
        return;
    }
    m->driver->device_count(&n);
    const czr_context *c = m->context;
    snprintf(line, sizeof line,
             "%s, compute capability %d.%d, %d multiprocessors; the first of "
             "%d",
             c->name, c->major, c->minor, c->n_processors, n);
    say("ok", "GPU", line);
    czr_target_describe(c, message);
    snprintf(line, sizeof line, "%s: %s", target_of(c),
             message[0] ? message : "machine code of the GPU's own kind");
    say("ok", "target", line);
}

/* Whether the driver reads what this one writes; says so in `line`. */
static bool is_serving(const machine *m, const char *name, char line[LINE])
{
    char message[CZR_NVRTC_MESSAGE], path[LINE];
    czr_nvrtc *nvrtc = NULL;
    int major, minor;

    if (czr_nvrtc_open(name, &nvrtc, message) != CZR_NVRTC_OK) {
        snprintf(line, LINE, "%s", message);
        return false;
    }
    /* The check leaves its failure in the context: in a copy of it. */
    czr_context asked = m->context ? *m->context : (czr_context){0};
    const bool is_right =
        !m->context || czr_target_check(&asked, nvrtc) == CZR_OK;
    czr_nvrtc_version(nvrtc, &major, &minor);
    find_path("nvrtc.so", path);
    if (is_right && m->driver)
        snprintf(line, LINE, "%d.%d, %.700s; the driver takes its code", major,
                 minor, path);
    else
        snprintf(line, LINE, "%d.%d, %.700s%s%s", major, minor, path,
                 is_right ? "" : ": ", is_right ? "" : asked.error);
    czr_nvrtc_close(nvrtc);
    return is_right;
}

/* The first that serves, or NULL. */
static const char *choose_nvrtc(machine *m, char **names, int n)
{
    char line[LINE] = "no NVRTC was named", package[LINE];
    char install[LINE + sizeof ", or NVRTC=PATH of one"];

    for (int i = 0; i < n; i++) {
        if (is_serving(m, names[i], line)) {
            say("ok", "NVRTC", line);
            return names[i];
        }
        if (!strstr(line, "NVRTC is not there"))
            say("other", "NVRTC", line);
    }
    name_package(m, "cuda-nvrtc", package);
    snprintf(install, sizeof install, "%s, or NVRTC=PATH of one", package);
    lack(m, "NVRTC", line, install);
    return NULL;
}

/* ---- what plans do without ----------------------------------------------- */

static void find_nccl(const machine *m)
{
    char message[CZR_NCCL_MESSAGE], path[LINE], line[2 * LINE], install[LINE];
    czr_nccl *nccl = NULL;

    name_package(m, "nccl", install);
    if (czr_nccl_open(NULL, &nccl, message) != CZR_OK) {
        spare("NCCL", message, "the part nccl is skipped", install);
        return;
    }
    find_path("nccl.so", path);
    snprintf(line, sizeof line, "%d.%d.%d, %s; a process for each rank",
             nccl->version / 10000, nccl->version / 100 % 100,
             nccl->version % 100, path);
    say("ok", "NCCL", line);
    czr_nccl_close(nccl);
}

/* A context is current. */
static void find_libraries(const machine *m)
{
    char message[CZR_CUBLAS_MESSAGE], path[LINE], line[2 * LINE], install[LINE];
    czr_cusolver *cusolver = NULL;
    czr_cublas *cublas = NULL;

    if (!m->context)
        return;
    name_package(m, "cublas", install);
    if (czr_cublas_open(NULL, &cublas, message) == CZR_OK) {
        find_path("cublasLt.so", path);
        snprintf(line, sizeof line, "%s; products in f32", path);
        say("ok", "cuBLASLt", line);
    } else
        spare(
            "cuBLASLt", message,
            "a plain kernel computes products in f32, and nothing is measured",
            install);
    czr_cublas_close(cublas);
    name_package(m, "cusolver", install);
    if (czr_cusolver_open(NULL, &cusolver, message) == CZR_OK) {
        find_path("cusolver.so", path);
        snprintf(line, sizeof line, "%s; factorisations", path);
        say("ok", "cuSOLVER", line);
    } else
        spare("cuSOLVER", message, "the host's LAPACK factorises", install);
    czr_cusolver_close(cusolver);
}

int main(int argc, char **argv)
{
    machine m = {0};

    open_driver(&m);
    open_gpu(&m);
    const char *nvrtc = choose_nvrtc(&m, argv + 1, argc - 1);
    find_nccl(&m);
    find_libraries(&m);
    if (!m.install[0])
        printf("use nvrtc=%s target=%s\n", nvrtc, target_of(m.context));
    else
        printf("install: %s\n", m.install);
    czr_context_close(m.context);
    czr_driver_close(m.driver);
    return m.install[0] != '\0';
}
