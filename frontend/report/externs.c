/* Externs of plan JSON, listed. */
#include "frontend/report/externs.h"

#include <string.h>

/* Is state `i` the first extern of its rule? */
static bool is_first(const cz_sheet *sheet, int i)
{
    for (int k = 0; k < i; k++)
        if (sheet->states[k].is_extern &&
            strcmp(sheet->states[k].rule, sheet->states[i].rule) == 0)
            return false;
    return true;
}

void cz_report_externs(const cz_sheet *sheet, cz_text *out)
{
    bool any = false;
    for (int i = 0; i < sheet->n_states; i++) {
        const cz_sheet_state *state = &sheet->states[i];
        if (!state->is_extern)
            continue;
        if (!any)
            cz_text_puts(out, "\nexterns, given by the trainer before each "
                              "step, to each matrix");
        any = true;
        if (is_first(sheet, i))
            cz_text_printf(out, "\n  %s: ", state->rule);
        else
            cz_text_puts(out, ", ");
        cz_text_printf(out, "%s [%s]", state->name, state->shape);
    }
    cz_text_puts(out, any ? "\n" : "");
}
