/* From the trainer's words to the engine's. */
#include "optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

czr_status optimizer_open(optimizer *o, const czr_program *program,
                          czr_world *world, learning_rates rates)
{
    *o = (optimizer){.program = program, .rates = rates};
    o->hypers = calloc((size_t)program->n_hypers + 1, sizeof *o->hypers);
    if (!o->hypers)
        return CZR_ERR_NO_MEMORY;
    return czr_open(program, world, NULL, &o->engine);
}

void optimizer_close(optimizer *o)
{
    if (o->engine)
        czr_close(o->engine);
    free(o->hypers);
    *o = (optimizer){0};
}

static czr_status bind_tensor(optimizer *o, const shards *s,
                              const gpt_tensor *tensor, size_t *at)
{
    int64_t shape[2];
    const size_t offset = *at;
    const czr_tensor param = {s->params + offset, CZR_F32, tensor->n_dims,
                              shape, NULL};
    const czr_tensor grad = {s->grads + offset, CZR_F32, tensor->n_dims, shape,
                             NULL};

    *at += shards_shape(s, tensor, shape);
    return czr_bind(o->engine, tensor->name, &param, &grad);
}

czr_status optimizer_bind(optimizer *o, const shards *s)
{
    size_t at = 0;

    for (int i = 0; i < gpt_tensor_count(s->model); i++) {
        const gpt_tensor *tensor = gpt_tensor_get(s->model, i);
        const czr_status status = bind_tensor(o, s, tensor, &at);
        if (status != CZR_OK)
            return status;
    }
    return czr_seal(o->engine);
}

/* The value of one run-time value, NaN for its default. */
static double hyper_value(const optimizer *o, const czr_hyper_desc *hyper,
                          double factor)
{
    if (strcmp(hyper->name, "lr") != 0)
        return NAN;
    return factor * (strcmp(hyper->param_group, "matrices") == 0
                         ? o->rates.matrices
                         : o->rates.rest);
}

czr_status optimizer_step(optimizer *o, double factor, czr_result *result)
{
    const size_t n = (size_t)o->program->n_hypers;

    for (size_t i = 0; i < n; i++)
        o->hypers[i] = hyper_value(o, &o->program->hypers[i], factor);
    return czr_step(o->engine, &(czr_hyper){o->hypers, n}, NULL, result);
}
