/* Facts to times, and times to words. */
#include "frontend/document/plan/geometry.h"

#include "frontend/document/number.h"
#include "passes/solve/geometry.h"

#include <inttypes.h>
#include <string.h>

enum { FULL_SPEED = 1000 };

static bool is_uneven(const char *name)
{
    return strcmp(name, "uneven") == 0;
}

static int64_t break_even(const cz_fact_geometry *fact, int64_t other_ps)
{
    int i = 0;
    while (i < fact->names.n && fact->names.v[i] != CZ_GEOMETRY_UNEVEN)
        i++;
    if (i == fact->names.n)
        return -1;
    const int64_t e = cz_geometry_break_even(fact->load_ps.v[i],
                                             fact->wire_ps.v[i], other_ps);
    return e > FULL_SPEED ? -1 : e;
}

static cz_document_option option_of(const cz_fact_geometry *fact, int i)
{
    cz_document_option out = {
        .name = cz_geometry_word((cz_geometry)fact->names.v[i]),
        .load_ps = fact->load_ps.v[i],
        .wire_ps = fact->wire_ps.v[i],
        .is_kept = fact->is_kept.v[i] != 0,
        .break_even = -1};
    const bool varies = fact->names.v[i] == CZ_GEOMETRY_UNEVEN;
    const cz_solve_geometry geometry =
        varies ? CZ_SLICES_UNEVEN : CZ_SLICES_PADDED;
    out.best_ps =
        cz_geometry_time(geometry, out.load_ps, out.wire_ps, fact->high);
    out.worst_ps =
        cz_geometry_time(geometry, out.load_ps, out.wire_ps, fact->low);
    if (!varies)
        out.break_even = break_even(fact, out.worst_ps);
    return out;
}

cz_document_geometry cz_report_geometry(cz_arena *arena,
                                        const cz_plan_view *view,
                                        const cz_fact_geometry *fact)
{
    cz_document_option *options =
        CZ_NEW(arena, cz_document_option, fact->names.n + 1);
    for (int i = 0; i < fact->names.n; i++)
        options[i] = option_of(fact, i);
    return (cz_document_geometry){
        .chosen = fact->buckets.n > 0
                      ? cz_geometry_word(
                            view->buckets[fact->buckets.v[0]].fact->geometry)
                      : "",
        .n_buckets = fact->buckets.n,
        .low = fact->low,
        .high = fact->high,
        .n_options = fact->names.n,
        .options = options};
}

/* "72.6 %" */
static void put_percent(cz_text *out, int64_t thousandths)
{
    cz_text_printf(out, "%" PRId64 ".%" PRId64 " %%", thousandths / 10,
                   thousandths % 10);
}

static void put_option(const cz_document_option *option, cz_text *out)
{
    cz_text_printf(out, "%s %s", option->name,
                   cz_number_time(option->best_ps).text);
    if (option->worst_ps != option->best_ps)
        cz_text_printf(out, " to %s", cz_number_time(option->worst_ps).text);
    if (option->break_even >= 0) {
        cz_text_puts(out, ", as uneven ones that reach ");
        put_percent(out, option->break_even);
    }
}

/* Some geometry keeps the cap on state. */
static bool can_be_kept(const cz_document_geometry *geometry)
{
    for (int i = 0; i < geometry->n_options; i++)
        if (geometry->options[i].is_kept)
            return true;
    return false;
}

/* What of the link uneven slices reach. */
static void put_reach(const cz_document_geometry *geometry, cz_text *out)
{
    cz_text_puts(out, " at ");
    put_percent(out, geometry->high);
    if (geometry->low != geometry->high) {
        cz_text_puts(out, " to ");
        put_percent(out, geometry->low);
    }
    cz_text_puts(out, " of the link");
}

/* "padded, of load and wire: uneven 1 ms to 2 ms where they reach 100.0 % to
 * 50.0 % of the link; padded 1.5 ms, as uneven ones that reach 70.0 %" */
void cz_report_put_geometry(const cz_document_geometry *geometry, cz_text *out)
{
    cz_text_printf(out, "%s, by load and wire: ", geometry->chosen);
    for (int i = 0; i < geometry->n_options; i++) {
        cz_text_puts(out, i > 0 ? "; " : "");
        put_option(&geometry->options[i], out);
        if (is_uneven(geometry->options[i].name))
            put_reach(geometry, out);
        if (!geometry->options[i].is_kept && can_be_kept(geometry))
            cz_text_puts(out, ", above the cap on state");
    }
}
