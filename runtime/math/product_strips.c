/* Products made strip by strip, whoever makes the strips.  Of a symmetric one
 * each ends at the diagonal, and is mirrored while caches hold it. */
#include "runtime/math/product.h"

#include "runtime/math/library.h"

#include <stdatomic.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Of n_rows each, but for the last. */
typedef struct strips {
    const czr_host_math *math;
    const czr_product *product;
    czr_make_rows make_rows;
    size_t n_rows;
    _Atomic long long n_left; /* the first so many */
} strips;

static void make_strip(const strips *s, size_t first, int thread)
{
    const czr_product *p = s->product;
    const size_t n_rows = least(s->n_rows, p->m - first);
    const size_t n_columns = p->symmetric ? first + n_rows : p->n;

    /* Without `out` rows stay where they are made. */
    const czr_rows strip = {
        .c = p->c + (p->out ? (size_t)thread * s->n_rows : first) * p->n,
        .stride = p->out ? n_columns : p->n,
        .first = first,
        .n_rows = n_rows,
        .n_columns = n_columns,
        .thread = thread};
    s->make_rows(s->math, p, &strip);
    if (p->out)
        czr_product_finish_rows(p, &strip);
    /* No strip reads or writes what lies above the diagonal of another. */
    if (p->symmetric)
        czr_mirror_rows(p->out ? p->out : p->c, p->out ? p->out_dtype : CZR_F32,
                        p->n, first, n_rows);
}

/* The last is the longest where each ends at the diagonal. */
static void take_strips(void *user, int thread)
{
    strips *s = user;

    for (long long n; (n = atomic_fetch_sub(&s->n_left, 1)) > 0;)
        make_strip(s, (size_t)(n - 1) * s->n_rows, thread);
}

void czr_product_by_strips(const czr_host_math *math, const czr_product *p,
                           int n_threads, czr_make_rows make_rows)
{
    const size_t room = p->out && p->held_rows ? p->held_rows : p->m;
    const size_t of_thread = p->out ? room / (size_t)n_threads : room;
    strips s = {math, p, make_rows, least(CZR_STRIP_ROWS, of_thread), 0};

    if (of_thread == 0) {
        n_threads = 1;
        s.n_rows = room;
    }
    s.n_left = p->m ? (long long)((p->m - 1) / s.n_rows + 1) : 0;
    if (n_threads > 1)
        czr_library_run_threads(n_threads, take_strips, &s);
    else
        take_strips(&s, 0);
}
