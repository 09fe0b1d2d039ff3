/* Text and tags of a page. */
#include "frontend/report/page/internal.h"

#include "frontend/document/number.h"

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

void cz_page_print(cz_page *page, const char *format, ...)
{
    cz_text text = {0};
    va_list args;
    va_start(args, format);
    cz_text_vprintf(&text, format, args);
    va_end(args);
    cz_page_escape(page, cz_text_string(&text));
    cz_text_fini(&text);
}

void cz_page_raw(cz_page *page, const char *html)
{
    cz_text_puts(page->out, html);
}

/* ---- numbers ---- */

void cz_page_time(cz_page *page, int64_t ps)
{
    cz_number_time(page->out, ps);
}

void cz_page_bytes(cz_page *page, int64_t bytes)
{
    cz_number_short(page->out, bytes, "B");
}

void cz_page_ratio(cz_page *page, int64_t value, int64_t factor, int64_t by)
{
    cz_number_ratio(page->out, value, factor, by);
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

void cz_page_close_section(cz_page *page)
{
    cz_page_raw(page, "</section>\n");
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

void cz_page_row(cz_page *page)
{
    cz_page_raw(page, "<tr>");
}

void cz_page_end_row(cz_page *page)
{
    cz_page_raw(page, "</tr>\n");
}

void cz_page_cell(cz_page *page, bool is_number)
{
    cz_page_raw(page, is_number ? "<td class=\"n\">" : "<td>");
}

void cz_page_end_cell(cz_page *page)
{
    cz_page_raw(page, "</td>");
}

void cz_page_word(cz_page *page, const char *text)
{
    cz_page_cell(page, false);
    cz_page_escape(page, text);
    cz_page_end_cell(page);
}
