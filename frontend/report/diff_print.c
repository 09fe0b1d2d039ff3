/* Differences, for people and as JSON. */
#include "frontend/report/diff.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/document/json.h"
#include "frontend/report/look.h"
#include "frontend/document/number.h"

enum { MAX_SHOWN = 5 }; /* of a section */

/* ---- text ---- */

static void put_number(cz_diff_unit unit, int64_t value, cz_text *out)
{
    if (value < 0)
        cz_text_puts(out, "none");
    else if (unit == CZ_DIFF_TIME)
        cz_number_time(out, value);
    else if (unit == CZ_DIFF_BYTES)
        cz_number_short(out, value, "B");
    else
        cz_number_full(out, value);
}

/* What was and what is, a line each. */
static void put_texts(const cz_difference *d, cz_text *out)
{
    cz_text_printf(out, "  %s\n", d->name);
    if (d->before_text)
        cz_text_printf(out, "    - %s\n", d->before_text);
    if (d->after_text)
        cz_text_printf(out, "    + %s\n", d->after_text);
}

static void put_numbers(const cz_difference *d, cz_text *out)
{
    cz_text_printf(out, "  %-20s ", d->name);
    put_number(d->unit, d->before, out);
    cz_text_puts(out, " -> ");
    put_number(d->unit, d->after, out);
    if (d->unit >= CZ_DIFF_TIME && d->before > 0 && d->after >= 0) {
        cz_text_puts(out, ", times ");
        cz_number_ratio(out, d->after, 1, d->before);
    }
    cz_text_puts(out, "\n");
}

static void put_section(const cz_difference *all, int n, cz_text *out)
{
    cz_text_printf(out, "%s: %d difference%s\n", all[0].section, n,
                   n == 1 ? "" : "s");
    for (int i = 0; i < n && i < MAX_SHOWN; i++)
        (all[i].unit == CZ_DIFF_TEXT ? put_texts : put_numbers)(&all[i], out);
    if (n > MAX_SHOWN)
        cz_text_printf(out, "  and %d more\n", n - MAX_SHOWN);
}

void cz_diff_print(const cz_difference *all, int n, cz_text *out)
{
    if (n == 0)
        cz_text_puts(out, "no differences\n");
    for (int i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && strcmp(all[end].section, all[i].section) == 0)
            end++;
        put_section(&all[i], end - i, out);
    }
}

/* ---- JSON ---- */

static void put_value(cz_json *json, const char *key, const cz_difference *d,
                      int64_t number, const char *text)
{
    if (d->unit != CZ_DIFF_TEXT)
        cz_json_optional(json, key, number);
    else
        cz_json_string(json, key, text);
}

static void put_row(cz_json *json, const cz_difference *d)
{
    static const char *const units[] = {[CZ_DIFF_TEXT] = "text",
                                        [CZ_DIFF_COUNT] = "1",
                                        [CZ_DIFF_TIME] = "ps",
                                        [CZ_DIFF_BYTES] = "byte"};
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "section", d->section);
    cz_json_string(json, "name", d->name);
    cz_json_string(json, "unit", units[d->unit]);
    put_value(json, "before", d, d->before, d->before_text);
    put_value(json, "after", d, d->after, d->after_text);
    cz_json_close(json);
}

void cz_diff_json(const cz_document *before, const cz_document *after,
                  const cz_difference *all, int n, cz_text *out)
{
    cz_json json;
    cz_json_init(&json, out);
    cz_json_open(&json, NULL, '{');
    cz_json_string(&json, "schema", "canzona.diff/1");
    cz_json_string(&json, "before", before->plan_hash);
    cz_json_string(&json, "after", after->plan_hash);
    cz_json_open(&json, "differences", '[');
    for (int i = 0; i < n; i++)
        put_row(&json, &all[i]);
    cz_json_close(&json);
    cz_json_close(&json);
}
