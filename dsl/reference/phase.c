/* Phases in the interpreter of math form: read from the module's facts, which
 * are there before there is a view. */
#include "dsl/reference/internal.h"

#include <assert.h>
#include <string.h>

/* Which of the rule's events fire at update t. */
static uint32_t fires_at(const cz_ir *ir, cz_arena *arena, const char *rule,
                         int64_t stagger_offset, int64_t t)
{
    cz_event own[CZ_MAX_EVENTS];
    int n, n_own = 0;
    const cz_fact_event *events = cz_ir_read_event(ir, arena, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(events[i].rule, rule) == 0) {
            assert(n_own < CZ_MAX_EVENTS);
            own[n_own++] = (cz_event){events[i].start, events[i].period,
                                      events[i].stagger != 0};
        }
    return cz_events_at(own, n_own, stagger_offset, t);
}

const cz_fact_phase *cz_reference_phase(const cz_ir *ir, cz_arena *arena,
                                        const char *rule,
                                        int64_t stagger_offset, int64_t t)
{
    const uint32_t fires = fires_at(ir, arena, rule, stagger_offset, t);
    int n;
    const cz_fact_phase *phases = cz_ir_read_phase(ir, arena, &n);

    for (int i = 0; i < n; i++) {
        uint32_t own = 0;
        for (int k = 0; k < phases[i].fires.n; k++)
            own |= (uint32_t)1 << phases[i].fires.v[k];
        if (strcmp(phases[i].rule, rule) == 0 && own == fires)
            return &phases[i];
    }
    return NULL;
}

const char *cz_reference_body_in(const cz_ir *ir, cz_arena *arena,
                                 const cz_fact_stage *stage,
                                 const cz_fact_phase *phase)
{
    int n;
    const cz_fact_variant *variants = cz_ir_read_variant(ir, arena, &n);

    for (int i = 0; phase && i < n; i++)
        if (strcmp(variants[i].stage, stage->sym_name) == 0 &&
            strcmp(variants[i].phase, phase->sym_name) == 0)
            return variants[i].body;
    return stage->body;
}
