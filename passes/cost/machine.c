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

/* Ranks count positions over the axes in order. */
cz_link cz_machine_link_over(const cz_machine *machine, cz_axes axes,
                             int64_t set, cz_block block)
{
    const int64_t node = machine->gpus_per_node;
    const int64_t n_ranks = cz_axes_extent(axes, -1);

    if (block.size == 0)
        block = (cz_block){cz_axes_extent(axes, set), 1};
    for (int64_t r = 0; r < n_ranks; r++) {
        const int64_t first = cz_axes_coordinate(axes, set, r);
        const int64_t last = first + (block.size - 1) * block.stride;
        if (cz_block_place(block, first) == 0 &&
            cz_axes_rank_at(axes, set, last, r) / node != r / node)
            return CZ_LINK_NETWORK;
    }
    return CZ_LINK_NODE;
}

int cz_machine_near(const cz_machine *machine, cz_axes axes, int64_t set)
{
    const int n = (int)cz_axes_extent(axes, set);
    int most = 1;
    for (int size = 2; size <= n; size++)
        if (n % size == 0 &&
            cz_machine_link_over(machine, axes, set, (cz_block){size, 1}) ==
                CZ_LINK_NODE)
            most = size;
    return most;
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
                             .subgroup_size = fact->subgroup_size,
                             .time_ps = fact->time};
}

static cz_link link_of(const cz_fact_uneven_reduce *fact)
{
    int link = CZ_LINK_NODE;
    cz_word_find(CZ_VOCABULARY_link, fact->link, &link);
    return (cz_link)link;
}

cz_machine_uneven cz_machine_uneven_of(const cz_fact_uneven_reduce *fact)
{
    return (cz_machine_uneven){.link = link_of(fact),
                               .bytes = fact->bytes,
                               .roots = fact->roots,
                               .thousandths = fact->thousandths,
                               .is_measured = fact->measured != 0};
}

/* Whether a is nearer to `wanted` than b: the most that is not more, else the
 * least. */
enum { FULL_SPEED = 1000 };

static bool is_nearer(int64_t a, int64_t b, int64_t wanted)
{
    if ((a <= wanted) != (b <= wanted))
        return a <= wanted;
    return a <= wanted ? a > b : a < b;
}

static bool comes_before(const cz_machine_uneven *a, const cz_machine_uneven *b,
                         int64_t bytes, int64_t roots)
{
    if (a->is_measured != b->is_measured)
        return a->is_measured;
    if (a->roots != b->roots)
        return is_nearer(a->roots, b->roots, roots);
    return is_nearer(a->bytes, b->bytes, bytes);
}

int64_t cz_machine_uneven_speed(const cz_machine *machine, cz_link link,
                                int64_t bytes, int64_t roots)
{
    const cz_machine_uneven *best = NULL;
    for (int i = 0; i < machine->n_unevens; i++) {
        const cz_machine_uneven *entry = &machine->unevens[i];
        if (entry->link == link &&
            (!best || comes_before(entry, best, bytes, roots)))
            best = entry;
    }
    return best ? best->thousandths : FULL_SPEED;
}

bool cz_machine_of(cz_arena *arena, const cz_plan_view *view, cz_machine *out)
{
    const cz_fact_machine *fact = view->machine;
    if (!fact)
        return false;
    cz_machine_time *times = CZ_NEW(arena, cz_machine_time, view->n_timings);
    cz_machine_uneven *unevens =
        CZ_NEW(arena, cz_machine_uneven, view->n_uneven_reduces);
    *out = (cz_machine){.name = fact->name,
                        .n_times = view->n_timings,
                        .times = times,
                        .n_unevens = view->n_uneven_reduces,
                        .unevens = unevens};
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    out->field = constant(fact, #field);
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    for (int i = 0; i < view->n_timings; i++)
        times[i] = time_of(&view->timings[i]);
    for (int i = 0; i < view->n_uneven_reduces; i++)
        unevens[i] = cz_machine_uneven_of(&view->uneven_reduces[i]);
    return true;
}
