/* Lines of a screen, explained. */
#include "frontend/report/report.h"

#include <string.h>

static const struct {
    const char *label, *text;
} lines[] = {
#define CZ_LINE(label, text) {label, text},
#include "frontend/report/legend.def"
#undef CZ_LINE
};

static bool has_line(const char *screen, const char *label)
{
    const size_t n = strlen(label);

    for (const char *at = screen; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, label, n) == 0 && at[n] == ' ')
            return true;
    }
    return false;
}

void cz_report_legend(const char *screen, cz_text *out)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *text = lines[i].text;
        const char *label = lines[i].label;
        if (!has_line(screen, label))
            continue;
        for (int n; *text; text += n + (text[n] == '\n'), label = "") {
            n = (int)strcspn(text, "\n");
            cz_text_printf(out, "%-11s %.*s\n", label, n, text);
        }
    }
}
