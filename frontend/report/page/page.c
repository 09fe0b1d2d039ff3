/* The page: head, style, and its sections in order. */
#include "frontend/report/page/internal.h"

void cz_report_html(const cz_look *look, cz_text *out)
{
    cz_arena arena;
    cz_page page = {look, &arena, out};
    cz_arena_init(&arena);
    cz_page_raw(&page,
                "<!DOCTYPE html>\n"
                "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                "<title>");
    cz_page_escape(&page, page.look->document->name);
    cz_page_raw(&page, ": plan</title>\n<style>\n");
    cz_text_put(page.out, cz_page_files[0].bytes, cz_page_files[0].n);
    cz_page_raw(&page, "</style>\n</head>\n<body>\n<main>\n");
    cz_page_summary(&page);
    cz_page_gantt(&page);
    cz_page_bars(&page);
    cz_page_matrices(&page);
    cz_page_buckets(&page);
    cz_page_baselines(&page);
    cz_page_constants(&page);
    cz_page_raw(&page, "</main>\n</body>\n</html>\n");
    cz_arena_fini(&arena);
}
