/* The revised simplex method with an explicit inverse of the basis. */
#include "passes/solve/bound/cover.h"

#include "dsl/base/arithmetic.h"

enum {
    OVER = 64,       /* what being above the last row's 1 costs */
    LEAST_PIVOT = 12 /* bits */
};

struct cz_cover {
    int n;            /* rows, and columns in the basis */
    int64_t *inverse; /* [column of the basis][row] */
    int64_t *weight;  /* [column of the basis] */
    int64_t *cost;    /* [column of the basis] */
    int64_t *prices;  /* [row] */
    int64_t *column;  /* [row] one that enters by itself */
    int64_t *entry; /* [column of the basis] the entering one in terms of it */
};

static int64_t limit(cz_wide value)
{
    if (value > INT64_MAX / 2)
        return INT64_MAX / 2;
    return value < -(INT64_MAX / 2) ? -(INT64_MAX / 2) : (int64_t)value;
}

static int64_t times(int64_t a, int64_t b)
{
    return limit((cz_wide)a * b / CZ_COVER_ONE);
}

static int64_t over(int64_t a, int64_t b)
{
    return limit((cz_wide)a * CZ_COVER_ONE / b);
}

static int64_t *row_of(const cz_cover *c, int k)
{
    return c->inverse + (size_t)k * (size_t)c->n;
}

/* ---- pivots ---- */

static void pivot(cz_cover *c, int leaving)
{
    int64_t *pivot_row = row_of(c, leaving);
    const int64_t by = c->entry[leaving];
    c->weight[leaving] = over(c->weight[leaving], by);
    for (int i = 0; i < c->n; i++)
        pivot_row[i] = over(pivot_row[i], by);
    for (int k = 0; k < c->n; k++) {
        const int64_t part = c->entry[k];
        if (k == leaving || part == 0)
            continue;
        c->weight[k] =
            cz_solve_max(0, c->weight[k] - times(part, c->weight[leaving]));
        for (int i = 0; i < c->n; i++)
            row_of(c, k)[i] =
                limit((cz_wide)row_of(c, k)[i] - times(part, pivot_row[i]));
    }
}

static bool enter(cz_cover *c, const int64_t *column, int64_t cost)
{
    for (int k = 0; k < c->n; k++) {
        cz_wide sum = 0;
        for (int i = 0; i < c->n; i++)
            sum += times(row_of(c, k)[i], column[i]);
        c->entry[k] = limit(sum);
    }
    /* The column that leaves, first of those that are used up first; -1: none.
     */
    int leaving = -1;
    for (int k = 0; k < c->n; k++)
        if (c->entry[k] > (int64_t)1 << LEAST_PIVOT &&
            (leaving < 0 ||
             cz_solve_ratio_less(c->weight[k], c->entry[k], c->weight[leaving],
                                 c->entry[leaving])))
            leaving = k;
    if (leaving < 0)
        return false;
    pivot(c, leaving);
    c->cost[leaving] = cost;
    return true;
}

/* ---- prices ---- */

static void find_prices(cz_cover *c)
{
    for (int i = 0; i < c->n; i++) {
        cz_wide sum = 0;
        for (int k = 0; k < c->n; k++)
            sum += times(c->cost[k], row_of(c, k)[i]);
        c->prices[i] = limit(i == c->n - 1 ? -sum : sum);
    }
}

/* Too much of a row, too little of the last or too much of it: false when
 * nothing of that would help. */
static bool enter_unit(cz_cover *c)
{
    int row = 0;
    while (row < c->n && c->prices[row] >= 0)
        row++;
    const bool is_over =
        row == c->n && c->prices[c->n - 1] > OVER * CZ_COVER_ONE;
    if (row == c->n && !is_over)
        return false;
    row -= is_over;
    for (int i = 0; i < c->n; i++)
        c->column[i] = 0;
    c->column[row] = row < c->n - 1 || is_over ? -CZ_COVER_ONE : CZ_COVER_ONE;
    return enter(c, c->column, is_over ? OVER * CZ_COVER_ONE : 0);
}

/* Until prices are no less than 0: what rounding leaves below is cut off. */
static void settle(cz_cover *c)
{
    find_prices(c);
    for (int i = 0; i < 4 * c->n && enter_unit(c); i++)
        find_prices(c);
    for (int i = 0; i < c->n; i++)
        c->prices[i] = cz_solve_max(0, c->prices[i]);
}

/* ---- from outside ---- */

cz_cover *cz_cover_make(cz_arena *arena, int n_rows, int64_t *const *first)
{
    cz_cover *c = CZ_NEW(arena, cz_cover, 1);
    const int last = n_rows - 1;
    *c = (cz_cover){.n = n_rows,
                    .inverse = CZ_NEW(arena, int64_t, n_rows * n_rows),
                    .weight = CZ_NEW(arena, int64_t, n_rows),
                    .cost = CZ_NEW(arena, int64_t, n_rows),
                    .prices = CZ_NEW(arena, int64_t, n_rows),
                    .column = CZ_NEW(arena, int64_t, n_rows),
                    .entry = CZ_NEW(arena, int64_t, n_rows)};
    int64_t left = CZ_COVER_ONE;
    for (int k = 0; k < last; k++) {
        c->weight[k] = over(CZ_COVER_ONE, first[k][k]);
        c->cost[k] = CZ_COVER_ONE;
        row_of(c, k)[k] = c->weight[k];
        row_of(c, last)[k] = -times(first[k][last], c->weight[k]);
        left = limit((cz_wide)left + row_of(c, last)[k]);
    }
    const bool is_over = left < 0;
    row_of(c, last)[last] = CZ_COVER_ONE;
    for (int i = 0; i < n_rows && is_over; i++)
        row_of(c, last)[i] = -row_of(c, last)[i];
    c->weight[last] = is_over ? -left : left;
    c->cost[last] = is_over ? OVER * CZ_COVER_ONE : 0;
    settle(c);
    return c;
}

const int64_t *cz_cover_prices(const cz_cover *cover)
{
    return cover->prices;
}

int64_t cz_cover_value(const cz_cover *cover)
{
    cz_wide sum = 0;
    for (int k = 0; k < cover->n; k++)
        sum += times(cover->cost[k], cover->weight[k]);
    return limit(sum);
}

bool cz_cover_add(cz_cover *cover, const int64_t *column)
{
    if (!enter(cover, column, CZ_COVER_ONE))
        return false;
    settle(cover);
    return true;
}
