/* Threads with one engine each. */
#include "tests/gpu/plan/host_plan.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct host_run {
    run base;
    outcome *out;
    int steps;
    bool undoes, is_poisoned;
} host_run;

static czr_status host_rank(czr_world *world, void *user)
{
    host_run *h = user;
    const int rank = czr_world_rank(world);
    trace *t = &h->out->of[rank];
    double values[RANK_MAX_HYPERS];
    const czr_options options = {
        .fixed_order_product = 1, .threads = 1, .undo = h->undoes};
    czr_engine *engine;

    czr_status status = czr_open(rank_program, world, &options, &engine);
    if (status == CZR_OK)
        status = rank_open(&h->base, engine, rank);
    for (int step = 0; step < h->steps && status == CZR_OK; step++) {
        czr_result result = {0};
        const czr_hyper hyper = rank_hyper(&h->base, step, values);
        status = rank_give(&h->base, engine, rank, step);
        if (status != CZR_OK)
            break;
        status = czr_step(engine, &hyper, NULL, &result);
        rank_note_step(&h->base, engine, t, status, &result);
        if (rank_is_refusal(&h->base, status) && (h->undoes || !h->is_poisoned))
            status = CZR_OK;
    }
    if (h->is_poisoned)
        status = CZR_OK;
    else if (status == CZR_OK)
        rank_note(&h->base, engine, rank, t);
    else
        printf("host: %s\n", engine ? czr_error(engine) : "no memory");
    czr_close(engine);
    rank_close(&h->base, rank);
    return status;
}

void host_plan_run(int n_ranks, int steps, rank_variety kind, outcome *out)
{
    host_run h = {.base = {.has_bad_step = kind == RANK_BAD,
                           .is_constant = kind == RANK_CONSTANT,
                           .is_failing = kind >= RANK_UNDONE},
                  .out = out,
                  .steps = steps,
                  .undoes = kind == RANK_UNDONE,
                  .is_poisoned = kind == RANK_POISONED};

    rank_drop(out);
    if (czr_world_threads_run(n_ranks, host_rank, &h) != CZR_OK)
        exit(1);
}

int host_plan_difference(const outcome *a, const outcome *b, int n_ranks,
                         int steps)
{
    const size_t n_results = (size_t)steps * RANK_STEP_BYTES;

    for (int rank = 0; rank < n_ranks; rank++) {
        const trace *x = &a->of[rank], *y = &b->of[rank];
        if (x->n - n_results != y->n ||
            (y->n && memcmp(x->bytes + n_results, y->bytes, y->n) != 0))
            return rank;
    }
    return -1;
}
