/* Processor time of the parts of a command. */
#include "frontend/cmd/cmd.h"

#include <string.h>

static const char *const names[CZ_N_CLOCKS] = {
#define CZ_CLOCK(tag, name) [CZ_CLOCK_##tag] = name,
    CZ_CLOCKS(CZ_CLOCK)
#undef CZ_CLOCK
};

void cz_clocks_begin(cz_clocks *clocks)
{
    memset(clocks, 0, sizeof *clocks);
    clocks->since = clock();
}

void cz_clocks_end(cz_clocks *clocks, cz_clock kind)
{
    const clock_t now = clock();

    clocks->ticks[kind] += now - clocks->since;
    clocks->since = now;
}

static void print_line(const char *name, clock_t ticks, cz_text *out)
{
    cz_text_printf(out, "%-10s %8.3f s\n", name,
                   (double)ticks / CLOCKS_PER_SEC);
}

void cz_clocks_print(const cz_clocks *clocks, cz_text *out)
{
    clock_t sum = 0;

    for (int i = 0; i < CZ_N_CLOCKS; i++) {
        print_line(names[i], clocks->ticks[i], out);
        sum += clocks->ticks[i];
    }
    print_line("all", sum, out);
}
