/* A table of plans, a process for each row. */
#include "bench/gpu/plan.h"

#include "runtime/program/program.h"

/* Seconds of a row's turns, of its steps for memory, of all of it, and of all
 * rows; a row starts where it has some left. */
enum {
    TURN_SECONDS = 12,
    REPEAT_SECONDS = 75,
    ROW_SECONDS = 180,
    ALL_SECONDS = 420,
    LEAST_SECONDS = 20
};
/* Microseconds of a step's call that are wanted. */
enum { LINEAR_US = 10, FORKED_US = 20 };

typedef struct job {
    const gpu_row *row;
    const char *const *peer;
    int pairs;
} job;

static void print_us(double us)
{
    if (us > 0)
        printf(" %.1f |", us);
    else
        printf(" |");
}

static void print_ratio(double theirs, double ours, double wanted)
{
    if (theirs > 0)
        printf(" %.3f | %.2f |", theirs / ours, wanted);
    else
        printf(" unmeasured | %.2f |", wanted);
}

/* ---- a stage ------------------------------------------------------------ */

static bool run_stage(const gpu_machine *machine, const job *j)
{
    gpu_stage_times times;

    if (!gpu_stage_time(machine, j->row->program, j->pairs, &times))
        return false;
    printf("| %s |", j->row->name);
    print_us(times.ours);
    printf(" |");
    print_us(times.copy);
    print_ratio(times.copy, times.ours, j->row->wanted);
    printf(" | | %d | |\n", j->pairs);
    return true;
}

/* ---- a step ------------------------------------------------------------- */

/* A call that launches one by one has no wanted time. */
static void print_host(const gpu_row *row, double us)
{
    const bool is_forked = gpu_plan_is_forked(row->program->program);

    printf(" %.1f |", us);
    print_us(row->is_eager ? 0 : is_forked ? FORKED_US : LINEAR_US);
}

static void print_floor(const gpu_row *row, double us)
{
    const double floor_us = gpu_schulz_floor_us(&row->schulz);

    if (floor_us > 0)
        printf("%.3f of its floor of %.1f us, ", us / floor_us, floor_us);
    if (floor_us > 0 && row->floors > 0)
        printf("%.2f wanted, ", row->floors);
}

static void print_step(const gpu_row *row, const gpu_step_times *t,
                       const char *said)
{
    const double by_floor = row->floors * gpu_schulz_floor_us(&row->schulz);

    printf("| %s |", row->name);
    print_us(t->us);
    print_us(row->wanted_us > 0 ? row->wanted_us : by_floor);
    print_us(t->peer_us);
    if (row->request)
        print_ratio(t->peer_us, t->us, row->wanted);
    else
        printf(" | |");
    print_host(row, t->host_us);
    printf(" %d | %s", t->pairs,
           t->graphs       ? "captured; "
           : row->is_eager ? "launched one by one; "
                           : "not captured; ");
    print_floor(row, t->us);
    printf("%s", said);
}

static bool measure_step(gpu_plan *plan, gpu_peer *peer, const job *j)
{
    const gpu_row *row = j->row;
    gpu_step_times times;
    int64_t done, grown;

    if (!gpu_plan_time(plan, peer->process ? peer : NULL, j->pairs,
                       TURN_SECONDS, &times))
        return false;
    /* What it holds is not ours, and would be counted. */
    gpu_peer_close(peer);
    if (row->steps &&
        !gpu_plan_repeat(plan, row->steps, REPEAT_SECONDS, &done, &grown))
        return false;
    print_step(row, &times, row->request ? peer->said : "");
    if (row->steps)
        printf(" %+lld bytes after %lld of %lld steps", (long long)grown,
               (long long)done, (long long)row->steps);
    printf(" |\n");
    return true;
}

static bool run_step(const gpu_machine *machine, gpu_peer *peer, const job *j)
{
    gpu_plan plan;

    if (!gpu_plan_open(machine, j->row->program, j->row->is_eager, &plan))
        return false;
    const bool is_ok = measure_step(&plan, peer, j);
    gpu_plan_close(&plan);
    return is_ok;
}

/* ---- rows --------------------------------------------------------------- */

static int run_row(const gpu_paths *paths, const void *user)
{
    const job *j = user;
    gpu_peer peer = {0};
    gpu_machine machine;

    if (j->row->request && !gpu_peer_open(j->peer, j->row->request, &peer))
        fprintf(stderr, "%s: nobody to compare with: %s\n", j->row->name,
                *peer.said ? peer.said : "no answer");
    if (!gpu_open(paths, &machine)) {
        gpu_peer_close(&peer);
        return GPU_NO_MACHINE;
    }
    const bool is_ok = j->row->is_stage ? run_stage(&machine, j)
                                        : run_step(&machine, &peer, j);
    gpu_peer_close(&peer);
    gpu_close(&machine);
    return is_ok ? GPU_RIGHT : GPU_WRONG;
}

bool gpu_rows_run(const gpu_paths *paths, const char *const *peer,
                  const gpu_row *rows, int n, int pairs)
{
    const double end = gpu_now_us() + ALL_SECONDS * 1e6;
    bool is_ok = true;

    printf("\n| plan | ours us | wanted | theirs us | times | wanted | "
           "host us | wanted | pairs | how, theirs, memory |\n"
           "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|\n");
    for (int i = 0; i < n; i++) {
        const job j = {&rows[i], peer, pairs};
        const double left = (end - gpu_now_us()) * 1e-6;
        const gpu_trial result =
            left < LEAST_SECONDS
                ? GPU_LATE
                : gpu_try_apart(run_row, paths, &j,
                                left < ROW_SECONDS ? (unsigned)left
                                                   : ROW_SECONDS);
        if (result != GPU_RIGHT)
            printf("| %s | %s | | | | | | | | |\n", rows[i].name,
                   result == GPU_LATE ? "no end in time" : "failed");
        is_ok &= result == GPU_RIGHT;
    }
    fflush(stdout);
    return is_ok;
}
