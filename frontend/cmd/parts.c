/* Processor time of the parts of a command. */
#include "frontend/cmd/cmd.h"

#include <string.h>

static const char *const names[CZ_N_PARTS] = {
#define CZ_PART(tag, name) [CZ_PART_##tag] = name,
    CZ_PARTS(CZ_PART)
#undef CZ_PART
};

void cz_parts_begin(cz_parts *parts)
{
    memset(parts, 0, sizeof *parts);
    parts->since = clock();
}

void cz_parts_end(cz_parts *parts, cz_part part)
{
    const clock_t now = clock();

    parts->ticks[part] += now - parts->since;
    parts->since = now;
}

static void print_line(const char *name, clock_t ticks, cz_text *out)
{
    cz_text_printf(out, "%-10s %8.3f s\n", name,
                   (double)ticks / CLOCKS_PER_SEC);
}

void cz_parts_print(const cz_parts *parts, cz_text *out)
{
    clock_t sum = 0;

    for (int i = 0; i < CZ_N_PARTS; i++) {
        print_line(names[i], parts->ticks[i], out);
        sum += parts->ticks[i];
    }
    print_line("all", sum, out);
}
