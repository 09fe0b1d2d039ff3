/* Items into buckets' shares, with load second. */
#include "passes/solve/counts.h"

#include "dsl/base/arithmetic.h"

#include <stdlib.h>

typedef struct roomy {
    int64_t length, most; /* of all its whole items; what a rank should have */
    int layer;
} roomy;

/* By falling length / most: what leaves least capacity comes first. */
static int by_room(const void *left, const void *right)
{
    const roomy *a = left, *b = right;
    if (cz_solve_ratio_less(b->length, b->most, a->length, a->most))
        return -1;
    if (cz_solve_ratio_less(a->length, a->most, b->length, b->most))
        return 1;
    return (a->layer > b->layer) - (a->layer < b->layer);
}

static int number(const cz_counts *counts, int layer, int kind)
{
    return counts->numbers[layer * counts->n_kinds + kind];
}

static int best_slot(const cz_counts *counts, int layer, int kind)
{
    const int64_t capacity =
        counts->most[layer] - cz_counts_length(counts, kind);
    int best = -1;
    bool best_fits = false;
    int64_t best_elements = 0;
    for (int s = 0; s < counts->n_slots; s++) {
        const int64_t elements =
            *cz_counts_elements(counts, layer, s / counts->problem->n_hosts);
        const bool fits = elements <= capacity;
        if (best >= 0 && (fits != best_fits ? best_fits
                          : !fits && elements != best_elements
                              ? elements > best_elements
                              : counts->load_ps[s] >= counts->load_ps[best]))
            continue;
        best = s;
        best_fits = fits;
        best_elements = elements;
    }
    return best;
}

void cz_counts_pack(cz_arena *scratch, cz_counts *counts)
{
    const int *kinds = cz_counts_longest(scratch, counts);
    roomy *layers = CZ_NEW(scratch, roomy, counts->n_layers + 1);
    for (int layer = 0; layer < counts->n_layers; layer++) {
        layers[layer] = (roomy){0, counts->most[layer], layer};
        for (int k = 0; k < counts->n_kinds; k++)
            layers[layer].length +=
                number(counts, layer, k) * cz_counts_length(counts, k);
    }
    qsort(layers, (size_t)counts->n_layers, sizeof *layers, by_room);
    for (int at = 0; at < counts->n_layers; at++) {
        const int layer = layers[at].layer;
        for (int i = 0; i < counts->n_kinds; i++)
            for (int n = number(counts, layer, kinds[i]); n > 0; n--)
                cz_counts_put(counts, layer, best_slot(counts, layer, kinds[i]),
                              kinds[i], 1);
    }
}
