/* A generated program on one rank, with everything in place. */
#include "bench/host/bench.h"

#include <stdlib.h>

enum { NAME_BYTES = 256 };

static czr_status bind_all(const ours *self)
{
    char name[NAME_BYTES];

    for (int i = 0; i < czr_param_count(self->engine); i++) {
        czr_status status = czr_param_name(self->engine, i, name, sizeof name);
        if (status == CZR_OK)
            status = czr_bind(self->engine, name, NULL, NULL);
        if (status != CZR_OK)
            return status;
    }
    return czr_seal(self->engine);
}

static double value_of(const char *hyper)
{
    return strcmp(hyper, "lr") == 0         ? BENCH_LR
           : strcmp(hyper, "momentum") == 0 ? BENCH_MOMENTUM
           : strcmp(hyper, "decay") == 0    ? BENCH_DECAY
                                            : (double)NAN;
}

czr_status ours_open(ours *self, const czr_program *program, czr_world *world)
{
    *self = (ours){.program = program};
    self->hypers = calloc((size_t)program->n_hypers + 1, sizeof(double));
    if (!self->hypers)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < program->n_hypers; i++)
        self->hypers[i] = value_of(program->hypers[i].name);
    const czr_options options = {.threads = 1};
    const czr_status status = czr_open(program, world, &options, &self->engine);
    return status != CZR_OK ? status : bind_all(self);
}

void ours_close(ours *self)
{
    czr_close(self->engine);
    free(self->hypers);
}

czr_status ours_step(ours *self)
{
    czr_result result;

    return czr_step(self->engine,
                    &(czr_hyper){self->hypers, (size_t)self->program->n_hypers},
                    NULL, &result);
}

czr_status ours_matrix(const ours *self, int param, bench_matrix *out)
{
    char name[NAME_BYTES];
    czr_layout_info info;
    czr_status status = czr_param_name(self->engine, param, name, sizeof name);

    if (status == CZR_OK)
        status = czr_layout(self->engine, name, &info);
    if (status == CZR_OK)
        *out = (bench_matrix){.rows = (size_t)info.shape[0],
                              .columns =
                                  info.n_dims > 1 ? (size_t)info.shape[1] : 1,
                              .param = info.param,
                              .grad = info.grad};
    return status;
}
