/* Generated C, compiled and loaded.  The compiler is started directly, never
 * through a shell, in a folder that only we can read. */
#define _GNU_SOURCE
#include "frontend/cmd_run_program.h"

#include "codegen/emit.h"
#include "dsl/base/embedded.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
extern const cz_embedded cz_runtime_files[]; /* czr.h and what it includes */

const char *const cz_program_cflags[] = {"-std=c17", "-O3", "-fno-math-errno",
                                         "-ffp-contract=off", NULL};

/* A folder and the files that were put there, to be removed again. */
typedef struct folder {
    char *path;
    const char *files[8];
    int n_files;
} folder;

static const char *path_in(folder *f, cz_arena *arena, const char *name)
{
    const char *path = cz_arena_printf(arena, "%s/%s", f->path, name);

    f->files[f->n_files++] = path;
    return path;
}

static void remove_folder(folder *f)
{
    for (int i = 0; i < f->n_files; i++)
        unlink(f->files[i]);
    rmdir(f->path);
}

static bool compile(const char *source, const char *library,
                    const char *include)
{
    enum { MAX_ARGUMENTS = 16 };
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
    argv[n++] = include;
    argv[n++] = "-o";
    argv[n++] = library;
    argv[n++] = source;
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

static bool write_sources(folder *f, cz_arena *arena, const cz_plan_view *view,
                          const char *plan_hash, const char **source)
{
    const char *name = view->program->name;
    const char *header_path =
        path_in(f, arena, cz_arena_printf(arena, "%s.h", name));
    cz_text c = {0}, header = {0};
    bool ok;

    *source = path_in(f, arena, cz_arena_printf(arena, "%s.c", name));
    cz_emit_c(view, plan_hash, &c);
    cz_emit_header(view, false, &header);
    ok = write_text(&c, *source) && write_text(&header, header_path);
    for (const cz_embedded *file = cz_runtime_files; file->path && ok; file++)
        ok = write_embedded(f, arena, file);
    cz_text_fini(&c);
    cz_text_fini(&header);
    return ok;
}

static bool load(const char *library, const char *name, cz_arena *arena,
                 cz_loaded *out)
{
    out->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!out->library)
        return false;
    out->program =
        dlsym(out->library, cz_arena_printf(arena, "%s_program", name));
    return out->program != NULL;
}

bool cz_loaded_open(const cz_plan_view *view, const char *plan_hash,
                    cz_diags *diags, cz_loaded *out)
{
    const char *temporary = getenv("TMPDIR");
    const char *source, *library;
    const char *failed = NULL;
    cz_arena arena;
    folder f = {0};

    *out = (cz_loaded){NULL, NULL};
    cz_arena_init(&arena);
    f.path = cz_arena_printf(&arena, "%s/canzona.XXXXXX",
                             temporary && *temporary ? temporary : "/tmp");
    if (!mkdtemp(f.path)) {
        failed = "no temporary folder can be made";
    } else {
        library = path_in(&f, &arena, "program.so");
        if (!write_sources(&f, &arena, view, plan_hash, &source))
            failed = "generated C cannot be written to the temporary folder";
        else if (!compile(source, library, f.path))
            failed = "the C compiler ($CC, else cc) failed on generated C";
        else if (!load(library, view->program->name, &arena, out))
            failed = "the compiled program cannot be loaded";
        remove_folder(&f);
    }
    if (failed)
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s", failed);
    cz_arena_fini(&arena);
    return failed == NULL;
}

void cz_loaded_close(cz_loaded *loaded)
{
    if (loaded->library)
        dlclose(loaded->library);
    *loaded = (cz_loaded){NULL, NULL};
}
