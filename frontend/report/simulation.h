/* A simulation, as a screen or as JSON (tests/simulate/simulate.schema.json).
 * Knows times alone, not how they came about. */
#ifndef CZ_FRONTEND_REPORT_SIMULATION_H
#define CZ_FRONTEND_REPORT_SIMULATION_H

#include "dsl/base/text.h"
#include "passes/simulate/simulate.h"

#include <stdbool.h>
#include <stdint.h>

/* One plan that was simulated. */
typedef struct cz_simulation_row {
    const char *name;
    cz_simulate_times times;
} cz_simulation_row;

typedef struct cz_simulation_report {
    const cz_document *document;
    const char *machine;
    bool has_experts;
    int64_t tokens, tokens_per_rank; /* of those that hold a whole model, or
                                      * parts of one, together */
    int64_t mfu, active, e, jitter, slowdown; /* millionths */
    int64_t seed;
    int n_stragglers;
    int n_rows; /* the plan, then baselines */
    const cz_simulation_row *rows;
} cz_simulation_report;

void cz_simulation_screen(const cz_simulation_report *report, cz_text *out);
void cz_simulation_json(const cz_simulation_report *report, cz_text *out);

#endif
