/* The machine of a plan view. */
#include "dsl/base/checked.h"
#include "dsl/plan/build/internal.h"

#include <string.h>

static const struct constant {
    const char *name;
    int64_t low;
} constants[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) {#field, low},
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
};

enum { N_CONSTANTS = sizeof constants / sizeof *constants };

static bool check_constant(cz_view_builder *b, const cz_fact_machine *machine,
                           int i)
{
    if (strcmp(machine->constants.v[i], constants[i].name) != 0)
        return cz_view_fail(b, "machine: constant %d is %s, not '%s'", i,
                            constants[i].name, machine->constants.v[i]);
    return cz_view_in(b, constants[i].name, machine->values.v[i],
                      constants[i].low, CZ_MAX_BYTES);
}

static bool check_machine(cz_view_builder *b, const cz_fact_machine *machine)
{
    bool ok = true;
    if (machine->constants.n != N_CONSTANTS ||
        machine->values.n != N_CONSTANTS || machine->sources.n != N_CONSTANTS)
        return cz_view_fail(b, "machine: a constant, its value or its source "
                               "is missing");
    for (int i = 0; i < N_CONSTANTS && ok; i++)
        ok = check_constant(b, machine, i);
    return ok && cz_view_all_in(b, "machine: measured", &machine->measured,
                                N_CONSTANTS, 0, 1);
}

static bool check_timing(cz_view_builder *b, const cz_fact_timing *timing)
{
    return cz_view_all_in(b, "timing: shape", &timing->shape, 2, 1,
                          CZ_MAX_DIM) &&
           cz_view_in(b, "timing: batch", timing->batch, 1, CZ_MAX_DIM) &&
           cz_view_in(b, "timing: group", timing->group, 1,
                      CZ_VIEW_MAX_RANKS) &&
           cz_view_in(b, "timing: time", timing->time, 1, CZ_MAX_BYTES);
}

static bool check_uneven_reduce(cz_view_builder *b,
                                const cz_fact_uneven_reduce *fact)
{
    int link;
    if (!cz_word_find(CZ_VOCABULARY_link, fact->link, &link))
        return cz_view_fail(b, "uneven_reduce: link is '%s'", fact->link);
    return cz_view_in(b, "uneven_reduce: bytes", fact->bytes, 1,
                      CZ_MAX_BYTES) &&
           cz_view_in(b, "uneven_reduce: roots", fact->roots, 1,
                      CZ_VIEW_MAX_RANKS) &&
           cz_view_in(b, "uneven_reduce: thousandths", fact->thousandths, 1,
                      1000) &&
           cz_view_in(b, "uneven_reduce: measured", fact->measured, 0, 1);
}

bool cz_view_read_machine(cz_view_builder *b)
{
    int n;
    bool ok = true;
    const cz_fact_machine *machine = cz_ir_read_machine(b->ir, b->arena, &n);
    b->view->machine = n > 0 ? machine : NULL;
    b->view->timings = cz_ir_read_timing(b->ir, b->arena, &b->view->n_timings);
    b->view->uneven_reduces =
        cz_ir_read_uneven_reduce(b->ir, b->arena, &b->view->n_uneven_reduces);
    if (n > 0)
        ok = check_machine(b, machine);
    else if (b->view->n_timings > 0 || b->view->n_uneven_reduces > 0)
        ok = cz_view_fail(b, "timings, but no machine");
    for (int i = 0; i < b->view->n_timings && ok; i++)
        ok = check_timing(b, &b->view->timings[i]);
    for (int i = 0; i < b->view->n_uneven_reduces && ok; i++)
        ok = check_uneven_reduce(b, &b->view->uneven_reduces[i]);
    return ok;
}
