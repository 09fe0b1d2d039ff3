/* Generated C, compiled and loaded.  The compiler is started directly, never
 * through a shell, in a folder that only we can read. */
#define _GNU_SOURCE
#include "frontend/run/run.h"

#include "dsl/base/embedded.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern const cz_embedded cz_runtime_files[]; /* what generated C includes */

const char *const cz_program_cflags[] = {"-std=c17", "-O3", "-fno-math-errno",
                                         "-ffp-contract=off", NULL};

/* A folder and the files that were put there, to be removed again. */
typedef struct folder {
    char *path;
    const char *files[10];
    int n_files;
    const char *sources[3]; /* of the files, to be compiled; NULL ends */
    int n_sources;
} folder;

/* What is generated. */
typedef struct content {
    const cz_plan_view *view;
    const char *plan_hash;
    bool has_gpu;
} content;

static const char *path_in(folder *f, cz_arena *arena, const char *name)
{
    const char *path = cz_arena_printf(arena, "%s/%s", f->path, name);

    f->files[f->n_files++] = path;
    return path;
}

static bool compile(const folder *f, const char *library)
{
    enum { MAX_ARGUMENTS = 20 };
    const char *chosen = getenv("CC");
    const char *cc = chosen && *chosen ? chosen : "cc";
    const char *argv[MAX_ARGUMENTS] = {cc};
    char *arguments[MAX_ARGUMENTS];
    int n = 1, status;
    pid_t child;

    for (int i = 0; cz_program_cflags[i]; i++)
        argv[n++] = cz_program_cflags[i];
    argv[n++] = "-march=native";
    argv[n++] = "-shared";
    argv[n++] = "-fPIC";
    argv[n++] = "-I";
    argv[n++] = f->path;
    argv[n++] = "-o";
    argv[n++] = library;
    for (int i = 0; i < f->n_sources; i++)
        argv[n++] = f->sources[i];
    for (int i = 0; i < n; i++)
        memcpy(&arguments[i], &argv[i], sizeof argv[i]);
    arguments[n] = NULL;
    if (posix_spawnp(&child, cc, NULL, NULL, arguments, environ) != 0)
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool write_text(const cz_text *text, const char *path)
{
    const char *why;

    return cz_text_write_file(text, path, &why);
}

static bool write_embedded(folder *f, cz_arena *arena, const cz_embedded *file)
{
    const char *slash = strrchr(file->path, '/');
    cz_text text = {0};

    cz_text_put(&text, file->bytes, file->n);
    const bool ok =
        write_text(&text, path_in(f, arena, slash ? slash + 1 : file->path));
    cz_text_fini(&text);
    return ok;
}

/* NAME and `ending`; the text is gone then. */
static bool write_made(folder *f, cz_arena *arena, const content *of,
                       const char *ending, cz_text *text)
{
    const char *path = path_in(
        f, arena,
        cz_arena_printf(arena, "%s%s", of->view->program->name, ending));
    const bool ok = write_text(text, path);

    if (ending[strlen(ending) - 1] == 'c')
        f->sources[f->n_sources++] = path;
    cz_text_fini(text);
    return ok;
}

static bool write_cuda(folder *f, cz_arena *arena, const content *of)
{
    cz_text kernels = {0}, launches = {0};

    cz_emit_cuda(of->view, &kernels, &launches);
    cz_text_fini(&kernels);
    return write_made(f, arena, of, "_cuda.c", &launches);
}

static bool write_sources(folder *f, cz_arena *arena, const content *of)
{
    cz_text c = {0}, header = {0};
    bool ok;

    cz_emit_c(of->view, of->plan_hash, &c);
    cz_emit_header(of->view, of->has_gpu, &header);
    ok = write_made(f, arena, of, ".c", &c);
    ok = write_made(f, arena, of, ".h", &header) && ok;
    if (of->has_gpu)
        ok = write_cuda(f, arena, of) && ok;
    for (const cz_embedded *file = cz_runtime_files; file->path && ok; file++)
        ok = write_embedded(f, arena, file);
    return ok;
}

static bool load(const char *library, const content *of, cz_arena *arena,
                 cz_loaded *out)
{
    const char *name = of->view->program->name;

    out->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!out->library)
        return false;
    out->program =
        dlsym(out->library, cz_arena_printf(arena, "%s_program", name));
    if (of->has_gpu)
        out->cuda =
            dlsym(out->library, cz_arena_printf(arena, "%s_cuda", name));
    return out->program && (out->cuda || !of->has_gpu);
}

static bool open_content(const content *of, cz_diags *diags, cz_loaded *out)
{
    const char *temporary = getenv("TMPDIR");
    const char *library;
    const char *failed = NULL;
    cz_arena arena;
    folder f = {0};

    *out = (cz_loaded){NULL, NULL, NULL};
    cz_arena_init(&arena);
    f.path = cz_arena_printf(&arena, "%s/canzona.XXXXXX",
                             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(f.path)) {
        failed = "no temporary folder can be made";
    } else {
        library = path_in(&f, &arena, "program.so");
        if (!write_sources(&f, &arena, of))
            failed = "generated C cannot be written to the temporary folder";
        else if (!compile(&f, library))
            failed = "the C compiler ($CC, else cc) failed on generated C";
        else if (!load(library, of, &arena, out))
            failed = "the compiled program cannot be loaded";
        for (int i = 0; i < f.n_files; i++)
            unlink(f.files[i]);
        rmdir(f.path);
    }
    if (failed)
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s", failed);
    cz_arena_fini(&arena);
    return failed == NULL;
}

bool cz_loaded_open(const cz_plan_view *view, const char *plan_hash,
                    cz_diags *diags, cz_loaded *out)
{
    const content of = {view, plan_hash, false};

    return open_content(&of, diags, out);
}

bool cz_loaded_open_cuda(const cz_plan_view *view, const char *plan_hash,
                         cz_diags *diags, cz_loaded *out)
{
    const content of = {view, plan_hash, true};

    return open_content(&of, diags, out);
}

void cz_loaded_close(cz_loaded *loaded)
{
    if (loaded->library)
        dlclose(loaded->library);
    *loaded = (cz_loaded){NULL, NULL, NULL};
}
