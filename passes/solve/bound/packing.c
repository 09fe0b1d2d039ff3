/* Bisection over time, and for each time prices that refute it, from the
 * linear program of what loads of ranks hold all matrices. */
#include "passes/solve/bound/packing.h"

#include "dsl/base/arithmetic.h"
#include "passes/solve/bound/cover.h"

#include <string.h>

enum {
    BYTE_BITS = 20,  /* a byte's price in 2^-60, where more than */
    MANY_BYTES = 30, /* 2^30 bytes may be sent, else in 2^-40 */
    N_COLUMNS = 200, /* loads tried for one time */
    PRECISION = 4096 /* of the time, that it is looked for with */
};
#define MOST_WORTH ((cz_wide)1 << 60)

typedef struct fit {
    cz_arena *arena;
    const cz_packing_problem *problem;
    int64_t time_ps;
    cz_bin_loader *loader;
    int n_rows;  /* of the program: classes, what is divisible, bytes */
    int *row_of; /* [class] its row; -1: it has none */
    cz_packing_prices tried; /* at the time looked at */
} fit;

/* If any is. */
static int row_of_divisible(const fit *f)
{
    return f->n_rows - 2;
}

static bool ends_in_time(const fit *f, const cz_bin_item *item)
{
    return item->alone_ps <= f->time_ps;
}

/* Lightest on the wire of those that end in time; NULL: none. */
static const cz_bin_item *lightest_of(const fit *f, int of)
{
    const cz_bin_item *best = NULL;
    for (int i = 0; i < f->problem->n_items; i++) {
        const cz_bin_item *item = &f->problem->items[i];
        if (item->of == of && ends_in_time(f, item) &&
            (!best || cz_solve_ratio_less(item->wire_bytes, item->batch,
                                          best->wire_bytes, best->batch)))
            best = item;
    }
    return best;
}

static bool has_ways(const fit *f)
{
    for (int c = 0; c < f->problem->n_classes; c++)
        if (f->row_of[c] >= 0 && !lightest_of(f, c))
            return false;
    return true;
}

/* The lightest of those that end in time all together. */
static bool keep_the_cap(const fit *f)
{
    cz_wide bytes = 0;
    for (int c = 0; c < f->problem->n_classes; c++) {
        if (f->row_of[c] < 0)
            continue;
        const cz_bin_item *item = lightest_of(f, c);
        bytes +=
            (cz_wide)item->wire_bytes * f->problem->counts[c] / item->batch;
    }
    return bytes <= f->problem->wire_cap_bytes;
}

/* ---- is a time refuted by the prices tried ---- */

/* False: too much to be computed with. */
static bool set_worth(const fit *f)
{
    for (int i = 0; i < f->problem->n_items; i++) {
        cz_bin_item *item = &f->problem->items[i];
        cz_wide worth = (cz_wide)f->tried.matrix[item->of] * item->batch;
        worth -=
            (cz_wide)f->tried.byte * item->wire_bytes >> f->tried.byte_bits;
        item->worth = 0;
        if (worth <= 0 || !ends_in_time(f, item))
            continue;
        if (worth * (f->time_ps / item->compute_ps + 1) > MOST_WORTH)
            return false;
        item->worth = (int64_t)((worth + item->g - 1) / item->g);
    }
    return (cz_wide)f->tried.divisible * f->time_ps <
           MOST_WORTH * cz_solve_max(f->problem->divisible_ps, 1);
}

/* What all matrices and all that is divisible are worth, less the bytes of the
 * cap. */
static cz_wide worth_of_all(const fit *f)
{
    cz_wide sum = f->tried.divisible;
    for (int c = 0; c < f->problem->n_classes; c++)
        sum += (cz_wide)f->tried.matrix[c] * f->problem->counts[c];
    return f->tried.byte == 0
               ? sum
               : sum - 1 -
                     ((cz_wide)f->tried.byte * f->problem->wire_cap_bytes >>
                      f->tried.byte_bits);
}

/* `best` gets the load that is worth most; nothing when that is beyond what
 * can be computed with. */
static bool do_prices_refute(const fit *f, cz_bin_load *best)
{
    const cz_bin_divisible divisible = {f->problem->divisible_ps,
                                        f->tried.divisible};
    *best = (cz_bin_load){.n = 0};
    return set_worth(f) &&
           worth_of_all(f) >
               (cz_wide)f->problem->n_ranks *
                   cz_bin_most_worth(f->loader, &divisible, f->time_ps, best);
}

/* ---- the program ---- */

static int64_t limit(cz_wide value, int64_t most)
{
    return value > most ? most : (int64_t)value;
}

static void add_to_column(const fit *f, const cz_bin_item *item, int64_t times,
                          int64_t *column)
{
    const int64_t count = f->problem->counts[item->of];
    const cz_wide ranks =
        (cz_wide)f->problem->n_ranks * times * CZ_COVER_ONE / item->g;
    const int64_t cap = cz_solve_max(f->problem->wire_cap_bytes, 1);
    column[f->row_of[item->of]] +=
        cz_solve_max(1, limit(ranks * item->batch / count, CZ_COVER_ONE << 24));
    column[f->n_rows - 1] += limit(ranks / cap * item->wire_bytes +
                                       ranks % cap * item->wire_bytes / cap,
                                   CZ_COVER_ONE << 24);
}

static void add_divisible(const fit *f, int64_t ps, int64_t *column)
{
    if (f->problem->divisible_ps > 0)
        column[row_of_divisible(f)] +=
            limit((cz_wide)f->problem->n_ranks * ps * CZ_COVER_ONE /
                      f->problem->divisible_ps,
                  CZ_COVER_ONE << 24);
}

static cz_cover *start(const fit *f)
{
    int64_t **first = CZ_NEW(f->arena, int64_t *, f->n_rows);
    for (int c = 0; c < f->problem->n_classes; c++) {
        const int row = f->row_of[c];
        if (row < 0)
            continue;
        first[row] = CZ_NEW(f->arena, int64_t, f->n_rows);
        add_to_column(f, lightest_of(f, c), 1, first[row]);
    }
    if (f->problem->divisible_ps > 0) {
        int64_t *column = CZ_NEW(f->arena, int64_t, f->n_rows);
        first[row_of_divisible(f)] = column;
        add_divisible(f, f->time_ps, column);
    }
    return cz_cover_make(f->arena, f->n_rows, first);
}

static bool is_empty(const cz_bin_load *load)
{
    return load->n == 0 && load->divisible_ps == 0;
}

/* Leaves them in f->tried. */
static bool find_refuting_prices(fit *f)
{
    cz_bin_load load;
    if (do_prices_refute(f, &load)) /* those of another time */
        return true;
    cz_cover *cover = start(f);
    for (int i = 0; i < N_COLUMNS; i++) {
        /* From parts of all ranks' time to parts of one's. */
        const int64_t *of_rows = cz_cover_prices(cover);
        const cz_wide ranks = (cz_wide)f->problem->n_ranks
                              << (CZ_PACKING_RANK_BITS - CZ_COVER_BITS);
        const int64_t cap = cz_solve_max(f->problem->wire_cap_bytes, 1);
        for (int c = 0; c < f->problem->n_classes; c++)
            f->tried.matrix[c] = f->row_of[c] < 0
                                     ? 0
                                     : limit(of_rows[f->row_of[c]] * ranks /
                                                 f->problem->counts[c],
                                             INT64_MAX / 2);
        f->tried.divisible =
            f->problem->divisible_ps > 0
                ? limit(of_rows[row_of_divisible(f)] * ranks, INT64_MAX / 2)
                : 0;
        f->tried.byte =
            limit((of_rows[f->n_rows - 1] * ranks << f->tried.byte_bits) / cap,
                  INT64_MAX / 2);
        if (do_prices_refute(f, &load))
            return true;
        if (cz_cover_value(cover) <= CZ_COVER_ONE || is_empty(&load))
            return false;
        int64_t *column = CZ_NEW(f->arena, int64_t, f->n_rows);
        for (int j = 0; j < load.n; j++)
            add_to_column(f, load.of[j].item, load.of[j].times, column);
        add_divisible(f, load.divisible_ps, column);
        if (!cz_cover_add(cover, column))
            return false;
    }
    return false;
}

/* ---- the least time ---- */

/* `kept` gets the last prices that refuted a time. */
static bool is_refuted(fit *f, int64_t time_ps, cz_packing_prices *kept)
{
    f->time_ps = time_ps;
    if (!has_ways(f))
        return true;
    if (!find_refuting_prices(f))
        return !keep_the_cap(f);
    memcpy(kept->matrix, f->tried.matrix,
           sizeof *kept->matrix * (size_t)f->problem->n_classes);
    kept->divisible = f->tried.divisible;
    kept->byte = f->tried.byte;
    return true;
}

/* No time below is possible. */
static int64_t least_time(fit *f, int64_t low, cz_packing_prices *kept)
{
    int64_t high = low > 0 ? low : 1;
    while (high < INT64_MAX / 4 && is_refuted(f, high, kept)) {
        low = high + 1;
        high *= 2;
    }
    while (high - low > low / PRECISION) {
        const int64_t middle = low + (high - low) / 2;
        if (is_refuted(f, middle, kept))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of what is divisible by itself. */
static int64_t least_mean(const cz_packing_problem *problem)
{
    return problem->divisible_ps / problem->n_ranks;
}

static cz_packing_prices make_prices(const fit *f)
{
    return (cz_packing_prices){
        .matrix = CZ_NEW(f->arena, int64_t, f->problem->n_classes),
        .byte_bits =
            f->problem->wire_cap_bytes >> MANY_BYTES > 0 ? BYTE_BITS : 0};
}

cz_packing cz_packing_find(cz_arena *arena, const cz_packing_problem *problem)
{
    fit f = {.arena = arena, .problem = problem, .time_ps = INT64_MAX};
    cz_packing out = {.most = -1, .prices = make_prices(&f)};
    f.tried = make_prices(&f);
    f.loader = cz_bin_loader_make(arena, problem->items, problem->n_items);
    f.row_of = CZ_NEW(f.arena, int, f.problem->n_classes);
    for (int c = 0; c < f.problem->n_classes; c++)
        f.row_of[c] = f.problem->counts[c] > 0 ? f.n_rows++ : -1;
    f.n_rows += (f.problem->divisible_ps > 0) + 1;
    if (problem->n_items == 0 || !has_ways(&f) || !keep_the_cap(&f))
        return out;
    out.time_ps = least_time(
        &f, cz_solve_max(problem->low_ps, least_mean(problem)), &out.prices);
    /* The class whose matrices together are worth most; -1: none are. */
    const cz_packing_prices *kept = &out.prices;
    int class = -1;
    cz_wide most = 0;
    for (int c = 0; c < f.problem->n_classes; c++) {
        const cz_wide worth = (cz_wide)kept->matrix[c] * f.problem->counts[c];
        if (worth <= most)
            continue;
        most = worth;
        class = c;
    }
    out.most = class;
    return out;
}
