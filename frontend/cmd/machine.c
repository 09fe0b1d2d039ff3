/* The machine of a plan: its constants in the order of dsl/vocab/machine.def.
 */
#include "frontend/cmd/machine.h"

#include <string.h>

static const char *const constant_names[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) #field,
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
};
enum { N_CONSTANTS = sizeof constant_names / sizeof *constant_names };

bool cz_cmd_machine_said(cz_arena *arena, const char *input,
                         const cz_document *document, cz_diags *diags,
                         cz_machine_said *out)
{
    const char **sources = CZ_NEW(arena, const char *, N_CONSTANTS);
    int64_t *values = CZ_NEW(arena, int64_t, N_CONSTANTS);
    int64_t *measured = CZ_NEW(arena, int64_t, N_CONSTANTS);
    cz_fact_uneven_reduce *unevens = NULL;
    int n_unevens = 0;
    for (int i = 0; i < document->n_uneven_reduces; i++)
        *CZ_PUSH(arena, unevens, n_unevens) = document->uneven_reduces[i];
    for (int i = 0; i < N_CONSTANTS; i++) {
        for (int k = 0; k < document->n_constants && !sources[i]; k++)
            if (strcmp(document->constants[k].name, constant_names[i]) == 0) {
                sources[i] = "plan";
                values[i] = document->constants[k].value;
            }
        if (!sources[i]) {
            cz_diag_error(diags, CZ_BAD_PLAN, (cz_span){0},
                          "%s: constants do not say %s", input,
                          constant_names[i]);
            return false;
        }
    }
    *out = (cz_machine_said){.fact = {.name = "the plan's",
                                      .values = {values, N_CONSTANTS},
                                      .measured = {measured, N_CONSTANTS},
                                      .sources = {sources, N_CONSTANTS}},
                             .uneven_reduces = unevens,
                             .n_uneven_reduces = n_unevens};
    return true;
}

static bool check(const char *input, const cz_machine_said *said,
                  cz_diags *diags)
{
    static const int64_t lows[] = {
#define CZ_CONSTANT(field, unit, scale, low, what) low,
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    };
    for (int i = 0; i < N_CONSTANTS; i++)
        if (said->fact.values.v[i] < lows[i]) {
            cz_diag_error(diags, CZ_BAD_PLAN, (cz_span){0},
                          "%s: %s cannot be 0", input, constant_names[i]);
            return false;
        }
    return true;
}

static const cz_machine_uneven *unevens_of(cz_arena *arena,
                                           const cz_machine_said *said)
{
    const int n = said->n_uneven_reduces;
    cz_machine_uneven *unevens = CZ_NEW(arena, cz_machine_uneven, n);
    for (int i = 0; i < n; i++)
        unevens[i] = cz_machine_uneven_of(&said->uneven_reduces[i]);
    return unevens;
}

bool cz_cmd_machine_fill(cz_arena *arena, const char *input,
                         const cz_machine_said *said, cz_diags *diags,
                         cz_machine *out)
{
    int i = 0;
    if (!check(input, said, diags))
        return false;
    *out = (cz_machine){.name = said->fact.name,
                        .n_unevens = said->n_uneven_reduces,
                        .unevens = unevens_of(arena, said)};
#define CZ_CONSTANT(field, unit, scale, low, what)                             \
    out->field = said->fact.values.v[i++];
#include "dsl/vocab/machine.def"
#undef CZ_CONSTANT
    return true;
}
