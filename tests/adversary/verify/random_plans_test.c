/* Random valid programs: the verifier rejects none of their plans, and a
 * share of them, executed, gives one rank's bits on both host devices.
 *
 *   random_plans_test PLANS RUNS [SEED] */
#include "frontend/run/run.h"
#include "passes/verify/verify.h"
#include "tests/adversary/verify/planned.h"
#include "tests/adversary/verify/random_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MICROBATCHES = 12 };

static const char hash[] = "00000000000000000000000000000000"
                           "00000000000000000000000000000000";

/* Every fourth plan is wide: up to 64 ranks. */
static const text_limits small = {4, 4, 12, 6};
static const text_limits wide = {16, 8, 64, 40};

static void make_text(uint64_t seed, int number, bool is_wide, cz_text *text)
{
    randoms r = {seed * 1000003u + (uint64_t)number};

    draw(&r, 2);
    random_text(&r, is_wide ? &wide : &small, text);
}

/* Two of three have shards of unequal length. */
static uint64_t uneven_of(uint64_t seed, int number)
{
    return number % 3 == 0 ? 0 : seed * 7919u + (uint64_t)number;
}

/* Whether each group_sum has rows on some rank. */
static bool adds_up_something(const cz_plan_view *view)
{
    for (int o = 0; o < view->n_ops; o++) {
        const cz_view_op *op = &view->ops[o];
        if (op->kind != CZ_STEP_GROUP_SUM)
            continue;
        const cz_view_table *table = &view->tables[op->table];
        if (table->starts[table->n_coordinates] == 0) {
            printf("operation %d adds up nothing\n", o);
            return false;
        }
    }
    return true;
}

static bool check_plan(const char *text, const char *what, uint64_t uneven,
                       int64_t *n_ops, int *n_homes, int *n_shared)
{
    planned p;
    bool ok;

    planned_open_shared(&p, text, 0, uneven, uneven % 2 == 0);
    *n_shared += planned_is_shared(p.view);
    /* Drawn tiles may be more than a plan takes. */
    ok = cz_diag_has(&p.diags, CZ_TOO_LARGE,
                     "paths and views cut the parameters into more than 4096 "
                     "patterns") ||
         (p.view && cz_verify(p.view, &p.diags) && adds_up_something(p.view));
    if (p.view)
        *n_ops += p.view->n_ops;
    for (int f = 0; p.view && f < p.view->n_patterns; f++)
        if (p.view->patterns[f].fact->resident_axes) {
            ++*n_homes;
            break;
        }
    if (!ok) {
        printf("%s is rejected:\n", what);
        planned_print(&p, text);
    }
    planned_close(&p);
    return ok;
}

/* Plan, compile and run, on both devices. */
static bool run_both(planned *p, cz_run_result *host, cz_run_result *late)
{
    cz_loaded loaded;
    bool ok;

    if (!p->view || !cz_loaded_open(p->view, hash, &p->diags, &loaded))
        return false;
    ok = planned_run(p->view, loaded.program, MICROBATCHES, false, &p->arena,
                     host) == CZR_OK &&
         planned_run(p->view, loaded.program, MICROBATCHES, true, &p->arena,
                     late) == CZR_OK;
    cz_loaded_close(&loaded);
    return ok;
}

static bool check_run(const char *text, const char *what, uint64_t uneven)
{
    static const char *const one_rank[] = {"mesh.dp=1", "mesh.cp=1",
                                           "mesh.tp=1", NULL};
    planned many, one;
    cz_run_result results[4] = {{0}};
    bool ok;

    planned_open_shared(&many, text, MICROBATCHES, uneven, uneven % 2 == 0);
    planned_open(&one, text, one_rank, MICROBATCHES, 0);
    ok = run_both(&many, &results[0], &results[1]) &&
         run_both(&one, &results[2], &results[3]);
    for (int i = 1; ok && i < 4; i++)
        ok = planned_same_bits(&results[0], &results[i]);
    if (!ok) {
        printf("%s has other bits than on one rank, or fails: %s%s\n", what,
               results[0].error, results[1].error);
        planned_print(&many, text);
    }
    planned_close(&many);
    planned_close(&one);
    return ok;
}

int main(int argc, char **argv)
{
    const int n_plans = argc > 1 ? atoi(argv[1]) : 1000;
    const int n_runs = argc > 2 ? atoi(argv[2]) : 20;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    int64_t n_ops = 0;
    int n_failed = 0, n_homes = 0, n_shared = 0;

    for (int i = 0; i < n_plans; i++) {
        const bool is_run = i < 4 * n_runs && i % 4 == 1;
        cz_text text = {0};
        char what[64];
        snprintf(what, sizeof what, "plan %d of seed %" PRIu64, i, seed);
        make_text(seed, i, i % 4 == 0, &text);
        n_failed += !check_plan(cz_text_string(&text), what, uneven_of(seed, i),
                                &n_ops, &n_homes, &n_shared);
        if (is_run)
            n_failed +=
                !check_run(cz_text_string(&text), what, uneven_of(seed, i));
        cz_text_fini(&text);
    }
    printf("seed %" PRIu64 ": %d plans of %" PRId64 " operations, %d of them "
           "with homes, %d with shared matrices, %d executed; %d failed\n",
           seed, n_plans, n_ops, n_homes, n_shared, n_runs, n_failed);
    return n_failed ? 1 : 0;
}
