/* V2 of states that are whole: their owner, and nobody else, runs the stage
 * that writes them, once in a step. */
#include "passes/verify/internal.h"

/* The stage of a rule that writes whole states, or -1. */
static int writer_of(const verifier *v, int rule)
{
    const cz_view_rule *r = &v->view->rules[rule];

    for (int s = r->first_stage; s < r->first_stage + r->n_stages; s++)
        for (int i = 0; i < v->view->stages[s].n_out; i++)
            if (v->view->stages[s].where == CZ_WHERE_FULL_MATRIX &&
                v->view->stages[s].out[i].kind == CZ_SLOT_STATE)
                return s;
    return -1;
}

/* How often each parameter's stage runs on a rank. */
static void count_rows(const verifier *v, int64_t rank, const int *writers,
                       int *counts, place *last)
{
    for (int o = 0; o < v->view->n_ops; o++) {
        const cz_view_op *op = &v->view->ops[o];
        if (op->kind != CZ_STEP_KERNEL)
            continue;
        const row_range rows = rows_of(v, op, rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const cz_view_kernel_entry *row =
                &v->view->tables[op->table].rows.kernel[i];
            if (row->stage != writers[rule_of_param(v, row->param)])
                continue;
            counts[row->param]++;
            last[row->param] = (place){o, rank, row->param};
        }
    }
}

static void check_on_rank(verifier *v, int op, int64_t rank)
{
    int *writers = CZ_NEW(v->arena, int, v->view->n_rules + 1);
    int *counts = CZ_NEW(v->arena, int, v->view->n_params + 1);
    place *last = CZ_NEW(v->arena, place, v->view->n_params + 1);

    (void)op;
    for (int r = 0; r < v->view->n_rules; r++)
        writers[r] = writer_of(v, r);
    count_rows(v, rank, writers, counts, last);
    for (int p = 0; p < v->view->n_params && v->n_errors == 0; p++) {
        const int wanted = writers[rule_of_param(v, p)] >= 0 &&
                           cz_view_is_owner(v->view, p, rank);
        if (counts[p] > wanted)
            reject(v, last[p], "writes states that are whole %s",
                   wanted ? "a second time" : "where they do not lie");
        else if (counts[p] < wanted)
            reject(v, (place){last_to_touch(v, p), rank, p},
                   "is the last that touches it, and states that are whole "
                   "were never updated at their owner");
    }
}

void check_owned(verifier *v)
{
    for (int r = 0; r < v->view->n_rules; r++)
        if (writer_of(v, r) >= 0) {
            for_each_rank(v, 0, check_on_rank);
            return;
        }
}
