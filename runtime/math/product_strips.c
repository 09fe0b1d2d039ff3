/* Products made strip by strip, whoever makes the strips.  Of a symmetric one
 * each ends at the diagonal, and the rest is mirrored. */
#include "runtime/math/product.h"

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void czr_product_by_strips(const czr_host_math *math, const czr_product *p,
                           czr_make_rows make_rows)
{
    for (size_t first = 0; first < p->m;) {
        /* Without `out` rows stay where they are made. */
        const size_t room = p->out && p->held_rows ? p->held_rows : p->m;
        const size_t n_rows = least(least(CZR_STRIP_ROWS, room), p->m - first);
        const size_t n_columns = p->symmetric ? first + n_rows : p->n;

        const czr_rows strip =
            (czr_rows){.c = p->out ? p->c : p->c + first * p->n,
                       .stride = p->out ? n_columns : p->n,
                       .first = first,
                       .n_rows = n_rows,
                       .n_columns = n_columns};
        make_rows(math, p, &strip);
        if (p->out)
            czr_product_finish_rows(p, &strip);
        first += strip.n_rows;
    }
    if (p->symmetric && p->out)
        czr_mirror_lower(p->out, p->out_dtype, p->n);
    else if (p->symmetric)
        czr_mirror_lower(p->c, CZR_F32, p->n);
}
