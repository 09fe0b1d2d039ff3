/* canzona build: write NAME.c, NAME.h and perhaps NAME.cu and NAME_cuda.c. */
#include "frontend/cmd/cmd.h"

#include "codegen/emit.h"
#include "frontend/run/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE,
    CZ_OPTION_DIAGNOSTICS,
    {"output", 'o', "DIR", 0, "Folder for NAME.c and NAME.h (default: .)", 0},
    {"target", CZ_KEY_TARGET, "LIST", 0,
     "cpu, sm_80, sm_90a (default: cpu); with a GPU's, NAME.cu and NAME_cuda.c "
     "too",
     0},
    CZ_OPTION_FORCE,
    CZ_OPTION_STRICT,
    CZ_OPTION_MICROBATCHES,
    {"print-cflags", CZ_KEY_CFLAGS, NULL, 0,
     "Print the flags that generated C wants, and stop", 0},
    {0}};

/* Of the time that another choice would take: as much is said. */
static const double WORTH = 0.95;

static bool take_targets(const char *list, bool *has_gpu)
{
    *has_gpu = false;
    for (;; list++) {
        const size_t n = strcspn(list, ",");
        if (!cz_target_take("build", list, n, has_gpu))
            return false;
        list += n;
        if (!*list)
            return true;
    }
}

enum { MAX_OUTPUTS = 4 };

static int emit(cz_job *job, const char *folder, bool has_gpu,
                cz_output outputs[MAX_OUTPUTS])
{
    static const char *const endings[MAX_OUTPUTS] = {".c", ".h", ".cu",
                                                     "_cuda.c"};

    for (int i = 0; i < MAX_OUTPUTS; i++)
        outputs[i].path = cz_arena_printf(&job->arena, "%s/%s%s", folder,
                                          job->view->program->name, endings[i]);
    cz_emit_c(job->view, job->plan_hash, &outputs[0].text);
    cz_emit_header(job->view, has_gpu, &outputs[1].text);
    if (!has_gpu)
        return 2;
    cz_emit_cuda(job->view, &outputs[2].text, &outputs[3].text);
    return 4;
}

/* All files or none; nor is the folder left if it was made for them. */
static bool write_files(cz_job *job, const cz_cmd_options *given, bool has_gpu)
{
    const char *folder = given->output ? given->output : ".";
    cz_output outputs[MAX_OUTPUTS] = {{NULL, {0}}};
    const int n = emit(job, folder, has_gpu, outputs);
    const bool is_made = mkdir(folder, 0777) == 0;
    bool ok = is_made || errno == EEXIST;

    if (!ok)
        cz_diag_error(&job->diags, CZ_CANNOT_READ, (cz_span){0},
                      "folder %s cannot be made: %s", folder, strerror(errno));
    ok = ok && cz_cmd_write(given, &job->diags, outputs, n);
    if (is_made && !ok)
        rmdir(folder);
    for (int i = 0; i < n; i++)
        cz_text_fini(&outputs[i].text);
    return ok;
}

/* What is in no other figure of the plan. */
static void say_batches(const cz_plan_view *view)
{
    int64_t bytes = 0;

    for (int i = 0; view->batch_arena && i < view->batch_arena->bytes.n; i++)
        if (view->batch_arena->bytes.v[i] > bytes)
            bytes = view->batch_arena->bytes.v[i];
    if (bytes > 0)
        fprintf(
            stderr,
            "canzona build: a GPU computes equal matrices as one, for which "
            "a rank has %lld bytes more than its arena at most\n",
            (long long)bytes);
}

/* By what was measured on a GPU like the plan's; products as the runtime lists
 * them. */
static void say_library(const cz_plan_view *view)
{
    bool is_said = false;

    for (int i = 0; i < view->n_tilings; i++) {
        const cz_fact_tiling *t = &view->tilings[i];
        if (!t->library)
            continue;
        if (!is_said)
            fputs("canzona build: by cuBLASLt, measured to be faster:\n",
                  stderr);
        is_said = true;
        if (t->batch > 1)
            fprintf(stderr, "%lld of ", (long long)t->batch);
        fprintf(stderr,
                "bf16[%lld, %lld] x bf16[%lld, %lld], unless symmetric: "
                "%lld ns, ours %lld ns\n",
                (long long)t->m, (long long)t->k, (long long)t->k,
                (long long)t->n, (long long)t->library_time,
                (long long)t->time);
    }
}

/* `form gram`, where that is predicted to be quicker. */
static void say_form(const cz_job *job)
{
    const double share = cz_cmd_gram_ratio(job);

    if (share < WORTH)
        fprintf(stderr,
                "canzona build: with `form gram` tensor cores iterate on Gram "
                "matrices in f16, which rounds less and is predicted to take "
                "%.2f of the time\n",
                share);
}

static void print_cflags(void)
{
    for (int i = 0; cz_program_cflags[i]; i++)
        printf("%s%s", i ? " " : "", cz_program_cflags[i]);
    puts("");
}

static int run(const cz_cmd_options *given)
{
    bool has_gpu;
    cz_job job;
    int status;

    if (given->print_cflags) {
        print_cflags();
        return CZ_EXIT_OK;
    }
    if (!take_targets(given->target, &has_gpu))
        return CZ_EXIT_INFEASIBLE;
    status = cz_job_open(&job, given, CZ_JOB_PLANNED);
    if (status == CZ_EXIT_OK && !write_files(&job, given, has_gpu))
        status = cz_job_status(&job);
    else if (status == CZ_EXIT_OK && has_gpu) {
        /* What the runtime makes of the text, by the rule of
         * runtime/cuda/driver/target.h. */
        fputs(
            "canzona build: GPUs 8.x get machine code of sm_80, 9.0 of sm_90a, "
            "later ones PTX of compute_80 that their driver compiles\n",
            stderr);
        say_batches(job.view);
        say_library(job.view);
        say_form(&job);
    }
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_build = {
    "build",
    "write embeddable C",
    options,
    "Plan FILE and write NAME.c and NAME.h, where NAME is the stem of FILE, "
    "and "
    "NAME.cu and NAME_cuda.c if a GPU is a target.\v"
    "The C needs czr.h and the runtime library alone.  For sm_80 and sm_90a, "
    "NAME.cu has what is element-wise as kernels, without a header, and "
    "NAME_cuda.c the stages that launch them, and NAME.cu as text, which is "
    "compiled when the plan is opened: on GPUs that are newer to PTX, which "
    "their driver compiles.  "
    "Example:\n\n"
    "  canzona build -o out examples/gpt.cz\n",
    run,
    "FILE"};
