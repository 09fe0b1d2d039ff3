/* canzona run: build for this machine, execute on N ranks, on threads or on one
 * GPU, and, with --check, hold the result against one rank, the interpreter and
 * the plan. */
#include "frontend/cmd/cmd.h"

#include "frontend/cmd/run/internal.h"
#include "frontend/run/mpi.h"
#include "frontend/run/run.h"

#include "runtime/cuda/exec/rank.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE,
    CZ_OPTION_DIAGNOSTICS,
    {"target", CZ_KEY_TARGET, "NAME", 0,
     "cpu, or sm_80 or sm_90a: all ranks on this machine's first GPU, or with "
     "--world=nccl on all its GPUs (default: cpu)",
     0},
    {"world", CZ_KEY_WORLD, "NAME", 0,
     "threads (default); mpi: a process a rank, by mpirun; on GPUs loopback "
     "(default), or nccl: a process and a GPU a rank, by mpirun",
     0},
    {"steps", CZ_KEY_STEPS, "N", 0, "Optimizer steps (default 1)", 0},
    {"seed", CZ_KEY_SEED, "N", 0, "Of parameters and gradients (default 0)", 0},
    {"in", CZ_KEY_IN, "FILE.safetensors", 0,
     "Take parameters NAME and gradients NAME#grad, one or L microbatches, "
     "instead of drawing them; matrices of fused storage by names such as "
     "NAME[q]",
     0},
    {"out", CZ_KEY_OUT, "FILE.safetensors", 0,
     "Write parameters NAME and states NAME#STATE after the last step", 0},
    CZ_OPTION_FORCE,
    CZ_OPTION_MICROBATCHES,
    {"check", CZ_KEY_CHECK, "bits|values", OPTION_ARG_OPTIONAL,
     "Compare with one rank, the interpreter and the plan, which is strict "
     "then (bits, the default); or without one rank, the plan as `build` makes "
     "it.  IR has no one rank: ranks are compared with ranks",
     0},
    {"late", CZ_KEY_LATE, NULL, 0,
     "Run every stream as late as its waits allow; not on a GPU", 0},
    {"plant-rank-order", CZ_KEY_PLANT, NULL, OPTION_HIDDEN, "", 0},
    {0}};

/* Does a bar, on a terminal only. */
static void show_progress(int step, const czr_result *result, void *user)
{
    const cz_cmd_options *given = user;

    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\rstep %d of %lld  grad norm %.4g ", step + 1,
                (long long)given->steps, result->grad_norm);
    if (isatty(STDERR_FILENO) && step + 1 == given->steps)
        fputs("\r\033[K", stderr);
}

static bool members_divide(cz_job *job, const cz_cmd_options *given)
{
    int64_t members = 1;
    bool divide = true;

    for (int k = 0; k < job->view->n_reductions; k++) {
        const int64_t n =
            cz_view_extent(job->view, &job->view->reductions[k].reduce_axes);
        divide = divide && given->microbatches % n == 0;
        members = n > members ? n : members;
    }
    if (divide)
        return true;
    cz_diag_error(&job->diags, CZ_BAD_OPTION, (cz_span){0},
                  "%lld microbatches do not divide over %lld ranks that sum "
                  "gradients; try --microbatches=%lld",
                  (long long)given->microbatches, (long long)members,
                  (long long)(members * (given->microbatches / members + 1)));
    return false;
}

/* ---- a GPU's lines ------------------------------------------------------- */

static void print_gpu(const cz_run_gpu *gpu)
{
    const czr_context *context = gpu->context;
    int major, minor;

    czr_nvrtc_version(gpu->nvrtc, &major, &minor);
    printf("gpu       %s, compute capability %d.%d, driver for CUDA %d.%d, "
           "NVRTC %d.%d\n",
           context->name, context->major, context->minor,
           gpu->driver->version / 1000, gpu->driver->version % 1000 / 10, major,
           minor);
}

static void print_kernel(void *user, const char *line)
{
    (void)user;
    printf("kernel    %s\n", line);
}

/* What equal matrices that are computed as one take besides. */
static void print_batches(const cz_job *job, const czr_cuda_program *program)
{
    int64_t most = 0, all = 0;

    for (int rank = 0; rank < job->view->n_ranks; rank++) {
        const int64_t bytes = czr_cuda_batch_bytes(program, rank);
        most = bytes > most ? bytes : most;
        all += bytes;
    }
    if (all)
        printf("batches   %lld bytes behind the arena of a rank at most, %lld "
               "of all ranks\n",
               (long long)most, (long long)all);
}

static void print_graphs(const cz_cmd_options *given,
                         const cz_run_result *result)
{
    if (result->graphs == 0 || given->steps < 2)
        printf("graphs    none: %s\n",
               given->steps < 2 ? "the first step is never one"
                                : "something in a step waits for the GPU");
    else
        printf("graphs    %d; %.6f s per step behind the first\n",
               result->graphs,
               (result->seconds - result->first_seconds) /
                   (double)(given->steps - 1));
}

/* ---- a run ---- */

/* What was opened for a run. */
typedef struct opened {
    cz_loaded loaded;
    cz_run_gpu gpu;
    bool has_gpu;
    czr_world *world; /* NULL: all ranks are here */
    int local_rank;   /* of a world's process */
} opened;

/* One process speaks for all. */
static bool is_speaker(const opened *o)
{
    return !o->world || czr_world_rank(o->world) == 0;
}

static bool open_run(cz_job *job, const cz_cmd_options *given, opened *o)
{
    if (!o->has_gpu)
        return cz_loaded_open(job->view, job->plan_hash, &job->diags,
                              &o->loaded);
    if (!cz_run_gpu_open(given->target, o->local_rank, &job->diags, &o->gpu))
        return false;
    print_gpu(&o->gpu);
    return cz_loaded_open_cuda(job->view, job->plan_hash, &job->diags,
                               &o->loaded);
}

static bool report_run(cz_job *job, czr_status status,
                       const cz_run_result *result, bool has_world)
{
    if (status == CZR_OK)
        return true;
    cz_diag_error(&job->diags, result->is_unopened ? CZ_NO_GPU : CZ_RUN_FAILED,
                  (cz_span){0}, "%s", result->error);
    if (status == CZR_ERR_HYPER)
        cz_diag_note(&job->diags, (cz_span){0},
                     "give it a value in the source, or with -D NAME=VALUE");
    if (result->is_unopened && status == CZR_ERR_NO_MEMORY && !has_world)
        cz_diag_note(&job->diags, (cz_span){0},
                     "one GPU has the memory of all %d ranks in loop-back",
                     job->view->n_ranks);
    return false;
}

static bool execute(cz_job *job, const cz_cmd_options *given, const opened *o,
                    cz_run_request *request)
{
    cz_run_result result;

    request->program = o->loaded.program;
    request->cuda = o->loaded.cuda;
    const czr_status status = cz_run_ranks(request, &job->arena, &result);
    if (!report_run(job, status, &result, o->world))
        return false;
    if (!is_speaker(o))
        return true;
    printf("%s: %lld steps on %d ranks, %.3f s per step, %lld skipped",
           job->view->program->name, (long long)given->steps,
           job->view->n_ranks,
           given->steps ? result.seconds / (double)given->steps : 0.0,
           (long long)(given->steps - result.last.step));
    /* What clips has a norm. */
    if (job->view->policy->clip > 0)
        printf(", grad norm %.6g", result.last.grad_norm);
    puts("");
    if (o->has_gpu) {
        print_batches(job, o->loaded.cuda);
        print_graphs(given, &result);
    }
    if (!given->check && !given->out && !cz_run_print_sum(job, &result))
        return false;
    return (!given->check || cz_run_check(job, given, request, &result)) &&
           (!given->out || cz_run_write_results(job, given, &result));
}

static bool lacks_gpu(const cz_diags *diags)
{
    for (int i = 0; i < diags->n; i++)
        if (diags->list[i].code == CZ_NO_GPU)
            return true;
    return false;
}

/* An exit status. */
static int build_and_run(cz_job *job, const cz_cmd_options *given,
                         const cz_tensors *tensors, bool has_gpu,
                         czr_world *world, int local_rank)
{
    opened o = {.has_gpu = has_gpu, .world = world, .local_rank = local_rank};
    cz_run_request request = {.view = job->view,
                              .given = tensors,
                              .seed = (uint64_t)given->seed,
                              .steps = (int)given->steps,
                              .microbatches = (int)given->microbatches,
                              .late_device = given->late,
                              .planted = given->planted,
                              .gpu = has_gpu ? &o.gpu : NULL,
                              .world = world,
                              .progress = show_progress,
                              .say = print_kernel};
    bool ok;

    request.user = CZ_NEW(&job->arena, cz_cmd_options, 1);
    memcpy(request.user, given, sizeof *given);
    ok = open_run(job, given, &o) && execute(job, given, &o, &request);
    cz_loaded_close(&o.loaded);
    cz_run_gpu_close(&o.gpu);
    if (ok)
        return CZ_EXIT_OK;
    return lacks_gpu(&job->diags) ? CZ_EXIT_NO_GPU : CZ_EXIT_ERRORS;
}

/* Whether options go together; an exit status. */
static int check_options(const cz_cmd_options *given, bool *has_gpu,
                         bool *has_processes)
{
    const char *target = given->target;

    *has_gpu = *has_processes = false;
    if (!cz_target_take("run", target, strlen(target), has_gpu))
        return CZ_EXIT_INFEASIBLE;
    const char *world = *has_gpu ? "loopback" : "threads";
    const char *processes = *has_gpu ? "nccl" : "mpi";
    *has_processes = given->world && strcmp(given->world, processes) == 0;
    if (given->world && !*has_processes && strcmp(given->world, world) != 0) {
        fprintf(stderr,
                "canzona run: error: world \"%s\" is not supported yet where "
                "the target is %s: %s or %s is\n",
                given->world, target, world, processes);
        return CZ_EXIT_INFEASIBLE;
    }
    if (*has_processes && strcmp(given->input, "-") == 0) {
        fprintf(stderr,
                "canzona run: error: every process of --world=%s reads FILE, "
                "which cannot be standard input\n",
                processes);
        return CZ_EXIT_USAGE;
    }
    if (!*has_gpu || (!given->late && !given->planted))
        return CZ_EXIT_OK;
    fprintf(stderr,
            "canzona run: error: %s is for threads: on a GPU nobody chooses "
            "when streams run\n",
            given->late ? "--late" : "--plant-rank-order");
    return CZ_EXIT_USAGE;
}

/* Nothing that was asked for would fail behind the steps, or in each process.
 */
static bool is_ready(cz_job *job, const cz_cmd_options *given, cz_tensors *out)
{
    return members_divide(job, given) &&
           (!given->out || cz_run_may_write(job, given)) &&
           (!given->in || cz_run_take(job, given, out));
}

/* Starts the processes, or is one of them. */
static int run_processes(cz_job *job, const cz_cmd_options *given,
                         const cz_tensors *tensors, bool has_gpu,
                         czr_world **world)
{
    czr_process_position me;

    if (!cz_mpi_find(&me, &job->diags))
        return CZ_EXIT_ERRORS;
    if (!me.launcher) {
        cz_mpi_launch(job->view->n_ranks, &job->diags);
        return CZ_EXIT_ERRORS;
    }
    if (!cz_mpi_open(&me, job->view->n_ranks, &job->diags, world))
        return CZ_EXIT_ERRORS;
    if (czr_world_rank(*world) != 0 && !freopen("/dev/null", "w", stdout))
        return CZ_EXIT_ERRORS;
    return build_and_run(job, given, tensors, has_gpu, *world, me.local_rank);
}

static int run(const cz_cmd_options *given)
{
    cz_cmd_options options_used = *given;
    czr_world *world = NULL;
    bool has_gpu, has_processes;
    cz_tensors tensors = {0};
    cz_job job;
    int status = check_options(given, &has_gpu, &has_processes);

    if (status != CZ_EXIT_OK)
        return status;
    options_used.strict = given->strict || (given->check && !given->of_values);
    status = cz_job_open(&job, &options_used, CZ_JOB_PLANNED);
    if (status == CZ_EXIT_OK && !is_ready(&job, given, &tensors))
        status = CZ_EXIT_ERRORS;
    const cz_tensors *taken = given->in ? &tensors : NULL;
    if (status == CZ_EXIT_OK)
        status =
            has_processes
                ? run_processes(&job, &options_used, taken, has_gpu, &world)
                : build_and_run(&job, &options_used, taken, has_gpu, NULL, 0);
    cz_tensors_close(&tensors);
    cz_job_close(&job);
    czr_world_close(world); /* behind a failure it may end all processes */
    return status;
}

const cz_command cz_command_run = {
    "run",
    "build, and execute on the ranks of this machine",
    options,
    "Plan and build FILE, and execute it on as many threads as it has ranks, "
    "with gradients of its own making; or on as many processes of MPI, which "
    "may each have a GPU; or all its ranks on one GPU, which shows that it "
    "runs "
    "there and what comes of it, no faster than one rank.\v"
    "--world=mpi and --world=nccl start mpirun, which as root or with fewer "
    "processors gets "
    "the leave that it wants.  Where a launcher has started it, the command is "
    "one rank: on several machines, or with options of the launcher's own, run "
    "`srun -n 16 canzona run --world=mpi FILE` (srun --mpi=pmix, or pmi2), or "
    "`mpirun OPTIONS -n 16 canzona run ...`, one process for each rank of the "
    "mesh.  Every process plans and builds for itself; the first one speaks.  "
    "With --check it compares what all have with the bits of one rank.\n\n"
    "With --world=nccl each process has a GPU of its machine, by its number "
    "there.  Where there are fewer, processes share them, and NCCL moves bytes "
    "by sockets: that shows what comes of it, slowly.\n\n"
    "On a GPU it needs the driver and NVRTC, and keeps machine code in "
    "$XDG_CACHE_HOME/canzona or ~/.cache/canzona.  It says what computes each "
    "product; --check compares with the bits of one rank on a thread, in the "
    "fixed order of strict plans, --check=values what tensor cores and "
    "libraries make of a plan with the interpreter.  Exit status 5: there is "
    "no GPU that will do, or no driver or NVRTC, or too little memory.  "
    "Examples:\n\n"
    "  canzona run --steps=10 --check -D mesh.dp=2 -D mesh.tp=2 "
    "examples/gpt.cz\n"
    "  canzona run --steps=10 --check --target=sm_90a -D mesh.dp=2 "
    "examples/gpt.cz\n"
    "  canzona run --steps=10 --check --target=sm_90a --world=nccl "
    "-D mesh.dp=8 examples/gpt.cz\n",
    run,
    "FILE"};
