/* How many equal products to compute at once. */
#include "passes/gpu/tile_model.h"

#include "dsl/base/arithmetic.h"

/* Waves that are full enough, in hundredths. */
enum { FULL = 95 };

static bool is_full(const cz_tile_cost *cost, int sms)
{
    return (cz_wide)cost->n_tiles * 100 >= (cz_wide)cost->n_waves * sms * FULL;
}

int64_t cz_tile_batch(const cz_tile_product *product,
                      const cz_tile_machine *machine,
                      const cz_tile_measured *measured, int n_measured,
                      int64_t available)
{
    cz_tile_product p = *product;
    int64_t best = 0, best_clocks = 0;

    for (p.batch = 1; p.batch <= available; p.batch++) {
        cz_tile_choice choice;
        if (!cz_tile_choose(&p, machine, measured, n_measured, &choice))
            break;
        if (is_full(&choice.cost, machine->sms))
            return p.batch;
        if (!best || cz_solve_ratio_less(choice.cost.clocks, p.batch,
                                         best_clocks, best)) {
            best = p.batch;
            best_clocks = choice.cost.clocks;
        }
    }
    return best;
}
