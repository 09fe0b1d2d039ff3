/* A page: text and tags, pictures, and its sections in order. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>

static const char *entity_of(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return byte < ' ' || byte == 0x7f ? "?" : NULL;
    }
}

void cz_page_escape(cz_page *page, const char *text)
{
    for (; *text; text++) {
        const char *entity = entity_of((unsigned char)*text);
        if (entity)
            cz_text_puts(page->out, entity);
        else
            cz_text_put(page->out, text, 1);
    }
}

__attribute__((format(printf, 2, 0))) static void
print(cz_page *page, const char *format, va_list args)
{
    cz_text text = {0};
    cz_text_vprintf(&text, format, args);
    cz_page_escape(page, cz_text_string(&text));
    cz_text_fini(&text);
}

void cz_page_print(cz_page *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print(page, format, args);
    va_end(args);
}

void cz_page_raw(cz_page *page, const char *html)
{
    cz_text_puts(page->out, html);
}

void cz_page_basis(cz_page *page, const char *word)
{
    cz_page_raw(page, " <span class=\"basis\">");
    cz_page_escape(page, word);
    cz_page_raw(page, "</span>");
}

/* ---- sections and tables ---- */

void cz_page_open_section(cz_page *page, const char *title, const char *lead)
{
    cz_page_raw(page, "<section>\n<h2>");
    cz_page_escape(page, title);
    cz_page_raw(page, "</h2>\n<p>");
    cz_page_escape(page, lead);
    cz_page_raw(page, "</p>\n");
}

void cz_page_open_table(cz_page *page, const char *const *columns, int n)
{
    cz_page_raw(page, "<div class=\"wide\"><table>\n<thead><tr>");
    for (int i = 0; i < n; i++) {
        const bool is_number = columns[i][0] == '#';
        cz_page_raw(page, is_number ? "<th class=\"n\">" : "<th>");
        cz_page_escape(page, columns[i] + is_number);
        cz_page_raw(page, "</th>");
    }
    cz_page_raw(page, "</tr></thead>\n<tbody>\n");
}

void cz_page_close_table(cz_page *page)
{
    cz_page_raw(page, "</tbody></table></div>\n");
}

void cz_page_word(cz_page *page, const char *text)
{
    cz_page_raw(page, "<td>");
    cz_page_escape(page, text);
    cz_page_raw(page, "</td>");
}

void cz_page_number(cz_page *page, const char *format, ...)
{
    va_list args;
    cz_page_raw(page, "<td class=\"n\">");
    va_start(args, format);
    print(page, format, args);
    va_end(args);
    cz_page_raw(page, "</td>");
}

/* ---- pictures: rectangles, lines and labels, in hundredths ---- */

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
    cz_text_printf(page->out, "<rect class=\"%s\"", style);
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
    cz_text_printf(page->out, "<line class=\"%s\"", style);
    for (int i = 0; i < 4; i++)
        put_length(page, names[i], ends[i]);
    cz_page_raw(page, "/>\n");
}

void cz_page_label(cz_page *page, int64_t x, int64_t y, const char *style,
                   const char *text)
{
    cz_text_printf(page->out, "<text class=\"%s\"", style);
    put_length(page, "x", x);
    put_length(page, "y", y);
    cz_page_raw(page, ">");
    cz_page_escape(page, text);
    cz_page_raw(page, "</text>\n");
}

/* ---- the page ---- */

void cz_report_html(const cz_report_context *context, cz_text *out)
{
    cz_arena arena;
    cz_page page = {context, &arena, out};
    cz_arena_init(&arena);
    cz_page_raw(&page,
                "<!DOCTYPE html>\n<!-- " CZ_GENERATED " -->\n"
                "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                "<title>");
    cz_page_escape(&page, page.context->document->name);
    cz_page_raw(&page, ": plan</title>\n<style>\n");
    cz_text_put(page.out, cz_page_files[0].bytes, cz_page_files[0].n);
    cz_page_raw(&page, "</style>\n</head>\n<body>\n<main>\n");
    cz_page_summary(&page);
    cz_page_gantt(&page);
    cz_page_bars(&page);
    cz_page_matrices(&page);
    cz_page_owners(&page);
    cz_page_buckets(&page);
    cz_page_baselines(&page);
    cz_page_constants(&page);
    cz_page_source(&page);
    cz_page_raw(&page, "</main>\n</body>\n</html>\n");
    cz_arena_fini(&arena);
}
