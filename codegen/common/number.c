/* Literals and names in generated C. */
#include "codegen/common/internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reads_back(const char *literal, double value, bool is_f32)
{
    return is_f32 ? strtof(literal, NULL) == (float)value
                  : strtod(literal, NULL) == value;
}

/* 17 digits tell any two doubles apart, so the loop always ends well.  "3" is
 * an int in C, and "3f" is nothing at all: hence the point. */
static void put_number(cz_text *out, double value, bool is_f32)
{
    enum { NUMBER_BYTES = 64, MOST_DIGITS = 17 };
    char literal[NUMBER_BYTES];

    if (isnan(value) || isinf(value)) {
        cz_text_puts(out, isnan(value) ? "NAN"
                          : value < 0  ? "-INFINITY"
                                       : "INFINITY");
        return;
    }
    for (int digits = 1; digits <= MOST_DIGITS; digits++) {
        snprintf(literal, sizeof literal, "%.*g", digits, value);
        if (reads_back(literal, value, is_f32))
            break;
    }
    cz_text_printf(out, "%s%s%s", literal, strpbrk(literal, ".e") ? "" : ".0",
                   is_f32 ? "f" : "");
}

void cz_emit_f32(cz_text *out, float value)
{
    put_number(out, (double)value, true);
}

void cz_emit_f64(cz_text *out, double value)
{
    put_number(out, value, false);
}

void cz_emit_string(cz_text *out, const char *string)
{
    cz_text_puts(out, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c; c++) {
        if (isalnum(*c) || *c == ' ' || strchr("._{}-/[],:", *c))
            cz_text_put(out, (const char *)c, 1);
        else
            cz_text_printf(out, "\\%03o", *c);
    }
    cz_text_puts(out, "\"");
}

void cz_emit_upper(cz_text *out, const char *name)
{
    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        const char upper = (char)(*c < 128 && isalnum(*c) ? toupper(*c) : '_');
        cz_text_put(out, &upper, 1);
    }
}

const char *cz_c_type(cz_dtype dtype)
{
    return cz_dtype_c_type(dtype);
}
