/* Names of what is looked at. */
#include "frontend/report/look.h"

#include <inttypes.h>

const char *const cz_look_lanes[3] = {"compute", "link", "link 2"};

void cz_look_op_name(const cz_look *look, int op, cz_text *out)
{
    const cz_document_op *it = &look->document->ops[op];
    cz_text_puts(out, cz_step_kind_word(it->kind));
    if (it->n_work > 0)
        cz_text_printf(out, " %s",
                       look->document->stages[it->work[0].stage].name);
    if (it->n_work > 1)
        cz_text_printf(out, " and %d more", it->n_work - 1);
    if (it->bucket >= 0)
        cz_text_printf(out, ", bucket %d", it->bucket);
    if (it->axes[0])
        cz_text_printf(out, ", over %s", it->axes);
}

void cz_look_rank_name(const cz_look *look, int rank, cz_text *out)
{
    const cz_document *s = look->document;
    int64_t rest = s->n_ranks;
    cz_text_printf(out, "rank %d", rank);
    for (int a = 0; a < s->n_axes; a++) {
        rest /= s->axes[a].size;
        cz_text_printf(out, "%s%s %" PRId64, a ? ", " : " (", s->axes[a].name,
                       rank / rest % s->axes[a].size);
    }
    cz_text_puts(out, s->n_axes > 0 ? ")" : "");
}
