/* The table of measured tiles, as text. */
#include "passes/gpu/tile_model.h"

#include "dsl/base/checked.h"

#include <limits.h>
#include <string.h>

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* A positive number of digits alone; NULL otherwise. */
static const char *read_number(const char *at, int64_t *out)
{
    int64_t n = 0;

    at = skip_blanks(at);
    if (*at < '1' || *at > '9')
        return NULL;
    for (; *at >= '0' && *at <= '9'; at++)
        if (!cz_checked_mul(n, 10, &n) || !cz_checked_add(n, *at - '0', &n))
            return NULL;
    *out = n;
    return *at == ' ' || *at == '\t' || *at == '\n' || !*at ? at : NULL;
}

static const char *read_form(const char *at, cz_tile_product *p)
{
    static const char *const forms[] = {"general", "symmetric"};

    at = skip_blanks(at);
    const size_t n = strcspn(at, " \t\n");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i]) == n && !memcmp(at, forms[i], n)) {
            p->is_symmetric = i == 1;
            return at + n;
        }
    return NULL;
}

static bool is_shape(int64_t rows, int64_t cols)
{
    for (int i = 0; i < CZ_TILE_SHAPES; i++)
        if (cz_tile_shapes[i].rows == rows && cz_tile_shapes[i].cols == cols)
            return true;
    return false;
}

static const char *read_product(const char *at, cz_tile_measured *row)
{
    cz_tile_product *p = &row->product;
    int64_t *const sizes[] = {&p->m, &p->n, &p->k, &p->batch};
    int64_t sms = 0;

    at = read_number(at, &sms);
    at = at ? read_form(at, p) : NULL;
    for (size_t i = 0; at && i < sizeof sizes / sizeof *sizes; i++)
        at = read_number(at, sizes[i]);
    if (!at || sms > INT_MAX || (p->is_symmetric && p->m != p->n))
        return NULL;
    row->sms = (int)sms;
    return at;
}

/* A shape of tiles, or `library`, which symmetric products never go to. */
static const char *read_way(const char *at, cz_tile_measured *row)
{
    static const char library[] = "library";
    const size_t n = sizeof library - 1;
    int64_t rows, cols;

    at = skip_blanks(at);
    if (strcspn(at, " \t\n") == n && !memcmp(at, library, n))
        return row->product.is_symmetric ? NULL : at + n;
    if (!(at = read_number(at, &rows)) || !(at = read_number(at, &cols)) ||
        !is_shape(rows, cols))
        return NULL;
    row->rows = (int)rows;
    row->cols = (int)cols;
    return at;
}

/* The end of the line, or NULL. */
static const char *read_row(const char *at, cz_tile_measured *row)
{
    memset(row, 0, sizeof *row);
    at = read_product(at, row);
    at = at ? read_way(at, row) : NULL;
    at = at ? read_number(at, &row->time) : NULL;
    at = at ? skip_blanks(at) : NULL;
    return at && (!*at || *at == '\n') ? at : NULL;
}

bool cz_tile_measured_read(const char *text, cz_tile_measured *rows, int max,
                           int *n, int *line)
{
    *n = 0;
    *line = 1;
    for (const char *at = text; *at; ++*line) {
        const char *start = skip_blanks(at);
        if (*start == '#' || *start == '\n' || !*start) {
            at = start + strcspn(start, "\n");
        } else {
            at = *n < max ? read_row(start, &rows[*n]) : NULL;
            if (!at)
                return false;
            ++*n;
        }
        at += *at == '\n';
    }
    return true;
}
