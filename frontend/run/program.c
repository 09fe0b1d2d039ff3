/* Generated C, compiled and loaded.  The compiler is started directly, never
 * through a shell, in a folder that only we can read. */
#define _GNU_SOURCE
#include "frontend/run/run.h"

#include "dsl/base/embedded.h"
#include "frontend/run/signals.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

extern const cz_embedded cz_runtime_files[]; /* what generated C includes */

const char *const cz_program_cflags[] = {"-std=c17", "-O3", "-fno-math-errno",
                                         "-ffp-contract=off", NULL};

/* What is generated, and for whom. */
typedef struct content {
    const cz_plan_view *view;
    const char *plan_hash;
    bool has_gpu;
} content;

enum { N_MADE = 3 };
static const char *const endings[N_MADE] = {".h", ".c", "_cuda.c"};

static bool compile(const char *folder, const char *const sources[],
                    const char *library)
{
    enum { MAX_ARGUMENTS = 20 };
    const char *chosen = getenv("CC");
    const char *argv[MAX_ARGUMENTS] = {chosen && *chosen ? chosen : "cc"};
    char *arguments[MAX_ARGUMENTS];
    int n = 1;

    for (int i = 0; cz_program_cflags[i]; i++)
        argv[n++] = cz_program_cflags[i];
    argv[n++] = "-march=native";
    argv[n++] = "-shared";
    argv[n++] = "-fPIC";
    argv[n++] = "-I";
    argv[n++] = folder;
    argv[n++] = "-o";
    argv[n++] = library;
    for (int i = 0; sources[i]; i++)
        argv[n++] = sources[i];
    memcpy(arguments, argv, sizeof arguments);
    return cz_signals_run(arguments) == 0;
}

/* Makes the text of each file; how many there are. */
static int generate(const content *of, cz_text made[N_MADE])
{
    cz_text kernels = {0};

    cz_emit_header(of->view, of->has_gpu, &made[0]);
    cz_emit_c(of->view, of->plan_hash, &made[1]);
    if (!of->has_gpu)
        return 2;
    cz_emit_cuda(of->view, &kernels, &made[2]);
    cz_text_fini(&kernels);
    return 3;
}

/* The runtime's headers. */
static bool write_headers(const char *folder, cz_arena *arena)
{
    bool ok = true;

    for (const cz_embedded *file = cz_runtime_files; file->path && ok; file++) {
        const char *slash = strrchr(file->path, '/');
        cz_text text = {0};
        cz_text_put(&text, file->bytes, file->n);
        ok = cz_text_write_file(
            &text, cz_arena_printf(arena, "%s/%s", folder,
                                   slash ? slash + 1 : file->path));
        cz_text_fini(&text);
    }
    return ok;
}

/* Also what a compiler leaves that a signal ends, which may still go on. */
static void remove_folder(const char *path)
{
    enum { TRIES = 100 };

    for (int i = 0; i < TRIES && rmdir(path) != 0; i++) {
        DIR *folder = opendir(path);
        for (const struct dirent *at; folder && (at = readdir(folder));)
            unlinkat(dirfd(folder), at->d_name, 0);
        if (folder)
            closedir(folder);
    }
}

/* Where programs may not run, no library is loaded. */
static const char *why_not_loaded(const char *folder, cz_arena *arena)
{
    struct statvfs system;
    const char *why = dlerror();

    if (statvfs(folder, &system) == 0 && system.f_flag & ST_NOEXEC)
        why = "its folder is mounted noexec; let TMPDIR name a folder where "
              "programs may run";
    return cz_arena_printf(arena, "the compiled program cannot be loaded: %s",
                           why ? why : "it is not what was generated");
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

/* In a folder that was made for it.  NULL, or what failed. */
static const char *build(const content *of, const char *folder,
                         const cz_text made[], int n, cz_arena *arena,
                         cz_loaded *out)
{
    const char *library = cz_arena_printf(arena, "%s/program.so", folder);
    const char *paths[N_MADE + 1] = {NULL};
    bool ok = write_headers(folder, arena);

    for (int i = 0; i < n && ok; i++) {
        paths[i] = cz_arena_printf(arena, "%s/%s%s", folder,
                                   of->view->program->name, endings[i]);
        ok = cz_text_write_file(&made[i], paths[i]);
    }
    if (!ok)
        return "generated C cannot be written to the temporary folder";
    if (!compile(folder, paths + 1, library))
        return "the C compiler ($CC, else cc) failed on generated C";
    if (!load(library, of, arena, out))
        return why_not_loaded(folder, arena);
    return NULL;
}

static bool open_content(const content *of, cz_diags *diags, cz_loaded *out)
{
    const char *temporary = getenv("TMPDIR");
    const char *failed = "no temporary folder can be made";
    cz_text made[N_MADE] = {{0}};
    cz_arena arena;

    *out = (cz_loaded){NULL, NULL, NULL};
    cz_arena_init(&arena);
    const int n = generate(of, made);
    char *folder =
        cz_arena_printf(&arena, "%s/canzona.XXXXXX",
                        temporary && *temporary ? temporary : "/tmp");
    cz_signals_hold();
    if (mkdtemp(folder)) {
        failed = build(of, folder, made, n, &arena, out);
        remove_folder(folder);
    }
    cz_signals_release();
    if (failed)
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s", failed);
    for (int i = 0; i < n; i++)
        cz_text_fini(&made[i]);
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
