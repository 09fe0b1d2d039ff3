/* Literals and names in generated C. */
#include "codegen/codegen_internal.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };

/* "3" is an int in C, and "3f" is nothing at all. */
static void put_point(char *literal)
{
    if (!strpbrk(literal, ".en"))
        strcat(literal, ".0");
}

void cz_emit_f32(cz_text *out, float value)
{
    char literal[NUMBER_BYTES];

    if (isnan(value) || isinf(value)) {
        cz_text_puts(out, isnan(value) ? "NAN"
                          : value < 0  ? "-INFINITY"
                                       : "INFINITY");
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(literal, sizeof literal, "%.*g", digits, (double)value);
        if (strtof(literal, NULL) == value)
            break;
    }
    put_point(literal);
    cz_text_printf(out, "%sf", literal);
}

void cz_emit_f64(cz_text *out, double value)
{
    char literal[NUMBER_BYTES];

    if (isnan(value) || isinf(value)) {
        cz_text_puts(out, isnan(value) ? "NAN"
                          : value < 0  ? "-INFINITY"
                                       : "INFINITY");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(literal, sizeof literal, "%.*g", digits, value);
        if (strtod(literal, NULL) == value)
            break;
    }
    put_point(literal);
    cz_text_puts(out, literal);
}

/* Octal escapes end after three digits, so that a digit may follow. */
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
        char upper = *c < 128 && isalnum(*c) ? (char)toupper(*c) : '_';
        cz_text_put(out, &upper, 1);
    }
}

const char *cz_c_type(cz_dtype dtype)
{
    return cz_dtype_c_type(dtype);
}
