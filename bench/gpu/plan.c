/* The engine in loop-back of one rank. */
#include "bench/gpu/plan.h"

#include "runtime/program/program.h"

static bool fails(const gpu_plan *plan, czr_status status)
{
    const char *why = plan->loopback ? czr_loopback_error(plan->loopback) : "";

    if (status != CZR_OK)
        fprintf(stderr, "%s: %s: %s\n", plan->program->name,
                czr_status_name(status),
                *why ? why : plan->machine->context->error);
    return status != CZR_OK;
}

/* ---- tensors ------------------------------------------------------------ */

static czr_status give_param(const gpu_plan *plan, czr_engine *engine,
                             int param)
{
    char name[512];
    czr_layout_info info = {0};

    czr_status status = czr_param_name(engine, param, name, sizeof name);
    if (status == CZR_OK)
        status = czr_bind(engine, name, NULL, NULL);
    if (status == CZR_OK)
        status = czr_layout(engine, name, &info);
    if (status == CZR_OK && info.n_grads != 1)
        return CZR_ERR_UNSUPPORTED;
    if (status == CZR_OK)
        status = gpu_fill(plan->machine, czr_address_of(info.param),
                          info.param_dtype, info.n, param);
    return status == CZR_OK
               ? gpu_fill(plan->machine, czr_address_of(info.grad),
                          info.grad_dtype, info.n, INT64_C(7919) * (param + 1))
               : status;
}

static czr_status give_all(const gpu_plan *plan)
{
    const gpu_machine *m = plan->machine;
    czr_engine *engine = czr_loopback_engine(plan->loopback, 0);
    czr_status status = CZR_OK;

    for (int p = 0; p < plan->program->n_params && status == CZR_OK; p++)
        status = give_param(plan, engine, p);
    if (status == CZR_OK)
        status = czr_context_synchronize(m->context, m->stream, 0);
    return status == CZR_OK ? czr_seal(engine) : status;
}

bool gpu_plan_open(const gpu_machine *machine, const czr_cuda_program *program,
                   bool is_eager, gpu_plan *out)
{
    const czr_loopback_options options = {.context = machine->context,
                                          .nvrtc = machine->nvrtc,
                                          .is_captured = !is_eager};

    *out = (gpu_plan){.machine = machine, .program = program->program};
    if (czr_program_ranks(program->program) != 1) {
        fprintf(stderr, "%s is not of one rank\n", program->program->name);
        return false;
    }
    czr_status status = czr_loopback_open(&options, program, &out->loopback);
    if (status == CZR_OK)
        status = give_all(out);
    if (!fails(out, status))
        return true;
    gpu_plan_close(out);
    return false;
}

void gpu_plan_close(gpu_plan *plan)
{
    const gpu_machine *m = plan->machine;

    czr_context_synchronize(m->context, m->stream, 0);
    czr_loopback_close(plan->loopback);
    plan->loopback = NULL;
}

/* ---- steps -------------------------------------------------------------- */

static bool put_steps(gpu_plan *plan, int64_t n)
{
    const czr_hyper defaults = {0};

    for (int64_t i = 0; i < n; i++, plan->steps++)
        if (fails(plan, czr_loopback_step(plan->loopback, &defaults,
                                          plan->machine->stream, NULL)))
            return false;
    return true;
}

static bool wait(const gpu_plan *plan)
{
    const gpu_machine *m = plan->machine;

    return !fails(plan, czr_context_synchronize(m->context, m->stream, 0));
}

/* A step whose result is waited for: all before it were done, too. */
static bool check_step(gpu_plan *plan)
{
    const czr_hyper defaults = {0};
    czr_result result;

    if (fails(plan, czr_loopback_step(plan->loopback, &defaults,
                                      plan->machine->stream, &result)))
        return false;
    plan->steps++;
    if (!result.skipped && result.step == plan->steps)
        return true;
    fprintf(stderr, "%s: %lld steps, of which %lld were not skipped\n",
            plan->program->name, (long long)plan->steps,
            (long long)result.step);
    return false;
}

/* ---- times -------------------------------------------------------------- */

/* Of one of n in a row; negative: a failure. */
static double turn(gpu_plan *plan, int64_t n)
{
    const double start = gpu_now_us();

    return put_steps(plan, n) && wait(plan) ? (gpu_now_us() - start) / (double)n
                                            : -1;
}

static double host_turn(gpu_plan *plan)
{
    const double start = gpu_now_us();

    if (!put_steps(plan, 1))
        return -1;
    const double us = gpu_now_us() - start;
    return wait(plan) ? us : -1;
}

bool gpu_plan_time(gpu_plan *plan, gpu_peer *peer, int pairs, double seconds,
                   gpu_step_times *out)
{
    double ours[GPU_MAX_PAIRS], host[GPU_MAX_PAIRS], theirs[GPU_MAX_PAIRS];
    const double end = gpu_now_us() + seconds * 1e6;
    const int most = pairs < GPU_MAX_PAIRS ? pairs : GPU_MAX_PAIRS;
    int n = 0;

    if (!check_step(plan) || turn(plan, 1) < 0)
        return false;
    const double once = turn(plan, 1);
    const int64_t row =
        once > GPU_TURN_US ? 1 : 1 + (int64_t)(GPU_TURN_US / (once + 1));
    do {
        ours[n] = turn(plan, row);
        host[n] = host_turn(plan);
        theirs[n] = peer ? gpu_peer_turn(peer) : 0;
        if (ours[n] < 0 || host[n] < 0 || theirs[n] < 0)
            return false;
        n++;
    } while (n < most && gpu_now_us() < end);
    *out = (gpu_step_times){gpu_median(ours, n), gpu_median(host, n),
                            gpu_median(theirs, n), n,
                            czr_loopback_graphs(plan->loopback)};
    return check_step(plan);
}

/* ---- memory ------------------------------------------------------------- */

static bool find_free(const gpu_plan *plan, size_t *bytes)
{
    czr_context *context = plan->machine->context;
    size_t total;

    return !fails(plan,
                  czr_context_check(context,
                                    context->driver->memory_info(bytes, &total),
                                    "asking for free memory"));
}

bool gpu_plan_repeat(gpu_plan *plan, int64_t steps, double seconds,
                     int64_t *done, int64_t *grown)
{
    const double end = gpu_now_us() + seconds * 1e6;
    size_t before, after;

    if (!check_step(plan) || !find_free(plan, &before))
        return false;
    for (*done = 0; *done < steps && gpu_now_us() < end; ++*done)
        if (turn(plan, 1) < 0)
            return false;
    if (!check_step(plan) || !find_free(plan, &after))
        return false;
    *grown = (int64_t)before - (int64_t)after;
    return true;
}

bool gpu_plan_is_forked(const czr_program *program)
{
    for (int i = 1; i < program->n_ops; i++)
        if (program->ops[i].stream != program->ops[0].stream)
            return true;
    return false;
}
