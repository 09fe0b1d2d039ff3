/* The machine that a plan is made for. */
#include "passes/cost/machine.h"

#include <string.h>

cz_link_speed cz_machine_link(const cz_machine *machine, cz_link link)
{
    return link == CZ_LINK_NODE
               ? (cz_link_speed){machine->node_rate, machine->node_latency}
               : (cz_link_speed){machine->network_rate,
                                 machine->network_latency};
}

/* Its place among the constants; the plan view has checked that it is there. */
static int64_t constant(const cz_fact_machine *fact, const char *name)
{
    int i = 0;
    while (strcmp(fact->constants.v[i], name) != 0)
        i++;
    return fact->values.v[i];
}

static cz_machine_time time_of(const cz_fact_timing *fact)
{
    return (cz_machine_time){.optimizer = fact->optimizer,
                             .rows = fact->shape.v[0],
                             .columns = fact->shape.v[1],
                             .batch = fact->batch,
                             .group = fact->group,
                             .time_ps = fact->time};
}

bool cz_machine_of(cz_arena *arena, const cz_plan_view *view, cz_machine *out)
{
    const cz_fact_machine *fact = view->machine;
    if (!fact)
        return false;
    cz_machine_time *times = CZ_NEW(arena, cz_machine_time, view->n_timings);
    *out = (cz_machine){
        .name = fact->name, .n_times = view->n_timings, .times = times};
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    out->field = constant(fact, #field);
#include "dsl/machine.def"
#undef CZ_CONSTANT
    for (int i = 0; i < view->n_timings; i++)
        times[i] = time_of(&view->timings[i]);
    return true;
}
