/* For the double of the driver: the machine code of a text is a line for each
 * kernel that the text defines.  Of kernels that were registered with the sizes
 * of their arguments any text may be; others are products, by the name that
 * KERNEL has. */
#include "tests/gpu/double/fake.h"
#include "tests/gpu/bodies/plain_bodies.h"
#include "tests/gpu/bodies/product_bodies.h"
#include "tests/gpu/compile/fake_nvrtc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 64, LINE = MAX_NAME + 8 };

static const char marker[] = "extern \"C\" __global__";

static int count_kernels(const char *text)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, marker)); at++)
        n++;
    return n;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The word in front of a parameter list: the first parenthesis that is not that
 * of launch bounds. */
static void find_name(const char *at, char name[MAX_NAME])
{
    const char *bounds = strstr(at, "__launch_bounds__(");
    const char *open = strchr(at, '(');

    if (bounds && open && bounds < open)
        open = strchr(strchr(open, ')'), '(');
    const char *end = open ? open : at;
    const char *first = end;
    while (first > at && is_word(first[-1]))
        first--;
    snprintf(name, MAX_NAME, "%.*s", (int)(end - first), first);
}

/* What a header at the top of the text calls KERNEL. */
static void resolve(const char *text, char name[MAX_NAME])
{
    const char *define = strstr(text, "#define KERNEL ");

    if (!strcmp(name, "KERNEL") && define)
        sscanf(define, "#define KERNEL %63s", name);
}

static bool is_product(const char *text, char name[MAX_NAME])
{
    return sscanf(text, "#define KERNEL %63s", name) == 1 &&
           !fake_is_sized(name);
}

char *fake_nvrtc_code(const char *text)
{
    const size_t room = BODIES_CODE + (size_t)count_kernels(text) * LINE;
    char name[MAX_NAME], *code = malloc(room);

    if (!code)
        return NULL;
    if (is_product(text, name)) {
        if (!plain_bodies_write_code(text, code, room))
            bodies_write_code(name, strstr(text, "#define BM") != NULL, code);
        return code;
    }
    int n = snprintf(code, room, "FAKE sm_90\n");
    for (const char *at = text; (at = strstr(at, marker)); at++) {
        find_name(at + strlen(marker), name);
        resolve(text, name);
        n += snprintf(code + n, room - (size_t)n, "%s 0 *\n", name);
    }
    return code;
}
