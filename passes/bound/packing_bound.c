/* Pieces of forms. */
#include "passes/bound/packing_bound.h"

#include "passes/solve/bound/packing.h"

typedef struct lister {
    cz_arena *arena;
    const cz_forms *forms;
    cz_packing_problem out;
} lister;

static void list_piece(lister *l, int of, int64_t g, int batch, int64_t ps,
                       int64_t alone_ps)
{
    *CZ_PUSH(l->arena, l->out.items, l->out.n_items) =
        (cz_bin_item){.of = of,
                      .g = (int)g,
                      .batch = batch,
                      .compute_ps = ps,
                      .alone_ps = alone_ps};
}

/* So many matrices of a class with an owner. */
static void list_batches(lister *l, int of, const cz_stage_time *owner,
                         int64_t n_matrices)
{
    const cz_form_class *class = &l->forms->classes[of];
    const bool is_mixed = class->n_of_rule > class->n_matrices;
    const int n =
        cz_form_most_together(owner, is_mixed ? class->n_of_rule : n_matrices);
    int64_t share = INT64_MAX, least = INT64_MAX;
    for (int b = 1; b <= n; b++) {
        const int64_t ps = owner->batch_ps[b - 1];
        share = ps / b < share ? ps / b : share;
        least = ps < least ? ps : least;
        if (!is_mixed)
            list_piece(l, of, 1, b, ps, ps);
    }
    if (is_mixed)
        list_piece(l, of, 1, 1, share, least);
}

static void list_pieces(lister *l, int of, const cz_stage_time *owner,
                        int64_t n_matrices)
{
    const cz_form_class *class = &l->forms->classes[of];
    for (int i = 0; i < class->n_forms; i++) {
        const cz_form *form = &class->forms[i];
        if (!cz_form_is_open(form))
            continue;
        if (form->subgroup_size == 1)
            list_batches(l, of, owner, n_matrices);
        else
            list_piece(l, of, form->subgroup_size, 1, form->time_ps[0],
                       form->time_ps[0]);
    }
}

/* What takes no time could be as often as one likes. */
static bool take_time(const lister *l, int from)
{
    for (int i = from; i < l->out.n_items; i++)
        if (l->out.items[i].compute_ps <= 0)
            return false;
    return true;
}

cz_packing_bound cz_packing_bound_find(cz_arena *arena, const cz_forms *forms,
                                       const cz_packing_work *work,
                                       int64_t low_ps)
{
    lister l = {arena,
                forms,
                {.n_ranks = work->n_ranks,
                 .n_classes = forms->n_classes,
                 .divisible_ps = work->elements_ps,
                 .wire_cap_bytes = INT64_MAX,
                 .low_ps = low_ps}};
    int64_t *kept = CZ_NEW(l.arena, int64_t, l.forms->n_classes);
    l.out.counts = kept;
    for (int c = 0; c < l.forms->n_classes; c++) {
        const int n = l.out.n_items;
        if (work->counts[c] == 0)
            continue;
        list_pieces(&l, c, work->owners[c], work->counts[c]);
        if (take_time(&l, n))
            kept[c] = work->counts[c];
        else
            l.out.n_items = n;
    }
    const cz_packing fit = cz_packing_find(arena, &l.out);
    if (fit.time_ps <= low_ps || fit.most < 0)
        return (cz_packing_bound){.class = -1};
    return (cz_packing_bound){fit.time_ps, fit.most, fit.prices.matrix,
                              fit.prices.divisible};
}
