/* Externs of plan JSON, listed. */
#include "frontend/report/externs.h"

#include <string.h>

/* Is state `i` the first extern of its rule? */
static bool is_first(const cz_document *document, int i)
{
    for (int k = 0; k < i; k++)
        if (document->states[k].is_extern &&
            strcmp(document->states[k].rule, document->states[i].rule) == 0)
            return false;
    return true;
}

void cz_report_externs(const cz_document *document, cz_text *out)
{
    bool any = false;
    for (int i = 0; i < document->n_states; i++) {
        const cz_document_state *state = &document->states[i];
        if (!state->is_extern)
            continue;
        if (!any)
            cz_text_puts(out, "\nexterns, given by the trainer before each "
                              "step, to each matrix");
        any = true;
        if (is_first(document, i))
            cz_text_printf(out, "\n  %s: ", state->rule);
        else
            cz_text_puts(out, ", ");
        cz_text_printf(out, "%s [%s]", state->name, state->shape);
    }
    cz_text_puts(out, any ? "\n" : "");
}
