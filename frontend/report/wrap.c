/* Breaking lines at spaces. */
#include "frontend/report/wrap.h"

#include <string.h>

enum { HANG = 2 };

static int count_leading(const char *line, int n)
{
    int spaces = 0;
    while (spaces < n && line[spaces] == ' ')
        spaces++;
    return spaces;
}

/* Bytes of the line that fit, up to a space that has a word before it; where
 * none does, up to the first. */
static int count_fitting(const char *line, int n, int width)
{
    int end = 0;
    for (int i = count_leading(line, n); i < n; i++) {
        if (line[i] != ' ')
            continue;
        if (i > width && end > 0)
            return end;
        end = i;
        if (i > width)
            return end;
    }
    return n <= width || end == 0 ? n : end;
}

static void put_line(const char *line, int n, int width, cz_text *out)
{
    const int indent = count_leading(line, n) + HANG;
    int take = count_fitting(line, n, width);
    cz_text_put(out, line, (size_t)take);
    while (take < n) {
        line += take;
        n -= take;
        const int spaces = count_leading(line, n);
        line += spaces;
        n -= spaces;
        take = count_fitting(line, n, width - indent);
        cz_text_printf(out, "\n%*s", indent, "");
        cz_text_put(out, line, (size_t)take);
    }
}

void cz_report_wrap(const char *text, int width, cz_text *out)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        put_line(text, (int)n, width, out);
        text += n;
        if (*text == '\n') {
            cz_text_puts(out, "\n");
            text++;
        }
    }
}
