/* Names of what is looked at. */
#include "frontend/report/look.h"

#include <inttypes.h>

const char *const cz_look_lanes[3] = {"compute", "link", "link 2"};

void cz_look_op_name(const cz_look *look, int op, cz_text *out)
{
    const cz_sheet_op *said = &look->sheet->ops[op];
    const int n_work = look->figures->ops[op].n_work;
    cz_text_puts(out, said->kind);
    if (said->stage >= 0)
        cz_text_printf(out, " %s", look->sheet->stages[said->stage].name);
    if (n_work > 1)
        cz_text_printf(out, " and %d more", n_work - 1);
    if (said->bucket >= 0)
        cz_text_printf(out, ", bucket %d", said->bucket);
    if (said->axes[0])
        cz_text_printf(out, ", over %s", said->axes);
}

void cz_look_rank_name(const cz_look *look, int rank, cz_text *out)
{
    const cz_sheet *s = look->sheet;
    int64_t rest = s->n_ranks;
    cz_text_printf(out, "rank %d", rank);
    for (int a = 0; a < s->n_axes; a++) {
        rest /= s->axes[a].size;
        cz_text_printf(out, "%s%s %" PRId64, a ? ", " : " (", s->axes[a].name,
                       rank / rest % s->axes[a].size);
    }
    cz_text_puts(out, s->n_axes > 0 ? ")" : "");
}
