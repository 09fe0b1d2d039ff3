/* canzona build: write NAME.c and NAME.h. */
#include "frontend/cmd.h"

#include "codegen/emit.h"
#include "frontend/cmd_run_program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct argp_option options[] = {
    CZ_OPTION_DEFINE,
    CZ_OPTION_DIAGNOSTICS,
    {"output", 'o', "DIR", 0, "Folder for NAME.c and NAME.h (default: .)", 0},
    {"target", CZ_KEY_TARGET, "LIST", 0, "cpu (others are not supported yet)",
     0},
    {"strict", CZ_KEY_STRICT, NULL, 0, "Bit-equal to one rank on any mesh", 0},
    {"print-cflags", CZ_KEY_CFLAGS, NULL, 0,
     "Print the flags that generated C wants, and stop", 0},
    {0}};

static bool make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST;
}

/* Both files or neither. */
static bool write_files(cz_job *job, const char *folder)
{
    const char *name = job->view->program->name;
    const char *c_path = cz_arena_printf(&job->arena, "%s/%s.c", folder, name);
    const char *h_path = cz_arena_printf(&job->arena, "%s/%s.h", folder, name);
    cz_text c = {0}, header = {0};
    const char *why = "cannot be made";
    bool ok;

    cz_emit_c(job->view, job->plan_hash, &c);
    cz_emit_header(job->view, &header);
    ok = make_folder(folder) && cz_text_write_file(&c, c_path, &why);
    if (ok && !cz_text_write_file(&header, h_path, &why)) {
        unlink(c_path);
        ok = false;
    }
    if (!ok)
        cz_diag_error(&job->diags, CZ_CANNOT_READ, (cz_span){0}, "%s/%s.c %s",
                      folder, name, why);
    cz_text_fini(&c);
    cz_text_fini(&header);
    return ok;
}

static void print_cflags(void)
{
    for (int i = 0; cz_program_cflags[i]; i++)
        printf("%s%s", i ? " " : "", cz_program_cflags[i]);
    puts("");
}

static int run(const cz_cmd_options *given)
{
    cz_job job;
    int status;

    if (given->print_cflags) {
        print_cflags();
        return CZ_EXIT_OK;
    }
    if (strcmp(given->target, "cpu") != 0) {
        fprintf(stderr,
                "canzona build: error: target \"%s\" is not supported yet\n",
                given->target);
        return CZ_EXIT_INFEASIBLE;
    }
    status = cz_job_open(&job, given, CZ_JOB_PLANNED);
    if (status == CZ_EXIT_OK &&
        !write_files(&job, given->output ? given->output : "."))
        status = cz_job_status(&job);
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_build = {
    "build",
    "write embeddable C",
    options,
    "Plan FILE and write NAME.c and NAME.h, where NAME is the stem of FILE.\v"
    "The C needs czr.h and the runtime library alone.  Example:\n\n"
    "  canzona build -o out examples/gpt.cz\n",
    run,
    false};
