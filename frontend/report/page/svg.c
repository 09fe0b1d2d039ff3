/* Pictures of a page: rectangles, lines and labels, in hundredths. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>

__extension__ typedef __int128 wide;

int64_t cz_page_scale(int64_t value, int64_t most, int64_t length)
{
    return most > 0 ? (int64_t)((wide)value * length / most) : 0;
}

/* ` name="12.34"`; not negative. */
static void put_length(cz_page *page, const char *name, int64_t hundredths)
{
    const int64_t rest = hundredths % CZ_PAGE_UNIT;
    cz_text_printf(page->out, " %s=\"%" PRId64, name,
                   hundredths / CZ_PAGE_UNIT);
    if (rest > 0)
        cz_text_printf(page->out, ".%02" PRId64, rest);
    cz_text_puts(page->out, "\"");
}

static void put_style(cz_page *page, const char *style)
{
    cz_text_printf(page->out, " class=\"%s\"", style);
}

void cz_page_open_svg(cz_page *page, int64_t height, const char *title)
{
    cz_text_printf(page->out,
                   "<div class=\"wide\"><svg viewBox=\"0 0 %" PRId64 " %" PRId64
                   "\" role=\"img\"><title>",
                   CZ_PAGE_WIDTH / CZ_PAGE_UNIT, height / CZ_PAGE_UNIT);
    cz_page_escape(page, title);
    cz_page_raw(page, "</title>\n");
}

void cz_page_close_svg(cz_page *page)
{
    cz_page_raw(page, "</svg></div>\n");
}

void cz_page_rect(cz_page *page, const int64_t box[4], const char *style,
                  const char *title)
{
    static const char *const names[] = {"x", "y", "width", "height"};
    cz_page_raw(page, "<rect");
    put_style(page, style);
    for (int i = 0; i < 4; i++)
        put_length(page, names[i], box[i]);
    if (!title) {
        cz_page_raw(page, "/>\n");
        return;
    }
    cz_page_raw(page, "><title>");
    cz_page_escape(page, title);
    cz_page_raw(page, "</title></rect>\n");
}

void cz_page_line(cz_page *page, const int64_t ends[4], const char *style)
{
    static const char *const names[] = {"x1", "y1", "x2", "y2"};
    cz_page_raw(page, "<line");
    put_style(page, style);
    for (int i = 0; i < 4; i++)
        put_length(page, names[i], ends[i]);
    cz_page_raw(page, "/>\n");
}

void cz_page_label(cz_page *page, int64_t x, int64_t y, const char *style,
                   const char *text)
{
    cz_page_raw(page, "<text");
    put_style(page, style);
    put_length(page, "x", x);
    put_length(page, "y", y);
    cz_page_raw(page, ">");
    cz_page_escape(page, text);
    cz_page_raw(page, "</text>\n");
}
