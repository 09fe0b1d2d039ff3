/* Products made strip by strip, whoever makes the strips.  Of a symmetric one
 * each ends at the diagonal, and the rest is mirrored. */
#include "runtime/product.h"

bool czr_product_is_apart(const czr_product *p)
{
    return p->out && p->out != p->a && p->out != p->b;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static czr_rows strip_of(const czr_product *p, size_t first, bool in_room)
{
    const size_t n_rows = least(CZR_STRIP_ROWS, p->m - first);
    const size_t n_columns = p->symmetric ? first + n_rows : p->n;

    return (czr_rows){.c = in_room ? p->c : p->c + first * p->n,
                      .stride = in_room ? n_columns : p->n,
                      .first = first,
                      .n_rows = n_rows,
                      .n_columns = n_columns};
}

void czr_product_by_strips(const czr_host_math *math, const czr_product *p,
                           czr_make_rows make_rows)
{
    const bool in_room = czr_product_is_apart(p);

    for (size_t first = 0; first < p->m; first += CZR_STRIP_ROWS) {
        const czr_rows strip = strip_of(p, first, in_room);
        make_rows(math, p, &strip);
        if (in_room)
            czr_product_finish_rows(p, &strip);
    }
    if (p->symmetric)
        czr_mirror_lower(in_room ? p->out : p->c,
                         in_room ? p->out_dtype : CZR_F32, p->n);
    if (p->out && !in_room)
        czr_product_finish(p);
}
