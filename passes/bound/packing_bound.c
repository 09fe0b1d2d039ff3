/* Pieces of forms. */
#include "passes/bound/packing_bound.h"

#include "passes/solve/bound/packing.h"

typedef struct lister {
    cz_arena *arena;
    const cz_forms *forms;
    cz_packing_problem out;
} lister;

static void list_pieces(lister *l, int of, int64_t owner_ps)
{
    const cz_form_class *class = &l->forms->classes[of];
    for (int i = 0; i < class->n_forms; i++) {
        const cz_form *form = &class->forms[i];
        const int64_t ps =
            form->subgroup_size == 1 ? owner_ps : form->time_ps[0];
        if (cz_form_is_open(form))
            *CZ_PUSH(l->arena, l->out.items, l->out.n_items) =
                (cz_bin_item){.of = of,
                              .g = (int)form->subgroup_size,
                              .batch = 1,
                              .compute_ps = ps,
                              .alone_ps = ps};
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
        list_pieces(&l, c, work->owner_ps[c]);
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
