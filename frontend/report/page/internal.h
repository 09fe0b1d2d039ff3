/* Private to frontend/report/page: a page while it is written.
 *
 *   page     escaped text, tables, pictures; the sections in order
 *   summary  what is planned, how long it takes, what bounds it
 *   gantt    a step on some ranks
 *   bars     one number of every rank, sorted
 *   wire     buckets, kinds of operations and axes
 *   tables   matrices, baselines, constants
 *   source   who owns each matrix, and the text that says what updates it */
#ifndef CZ_FRONTEND_REPORT_PAGE_INTERNAL_H
#define CZ_FRONTEND_REPORT_PAGE_INTERNAL_H

#include "dsl/base/embedded.h"
#include "frontend/report/internal.h"

typedef struct cz_page {
    const cz_report_context *context;
    cz_arena *arena;
    cz_text *out;
} cz_page;

extern const cz_embedded cz_page_files[]; /* page.css */

/* ---- text ---- */

/* What a person may have named: &, <, > and quotes as entities, control
 * characters as question marks. */
void cz_page_escape(cz_page *page, const char *text);
/* The same of a format's result. */
void cz_page_print(cz_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As it is: tags. */
void cz_page_raw(cz_page *page, const char *html);
/* "measured" or "assumed", small. */
void cz_page_basis(cz_page *page, const char *word);
void cz_page_open_section(cz_page *page, const char *title, const char *lead);
/* A table whose columns are these; those with a leading '#' are numbers. */
void cz_page_open_table(cz_page *page, const char *const *columns, int n);
void cz_page_close_table(cz_page *page);
/* Whole cells: a word, and what a format makes of numbers. */
void cz_page_word(cz_page *page, const char *text);
void cz_page_number(cz_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- svg: in hundredths of a unit; a picture is 960 units wide ---- */

#define CZ_PAGE_UNIT ((int64_t)100)
#define CZ_PAGE_WIDTH (960 * CZ_PAGE_UNIT)

/* value / most of a length. */
int64_t cz_page_scale(int64_t value, int64_t most, int64_t length);
void cz_page_open_svg(cz_page *page, int64_t height, const char *title);
void cz_page_close_svg(cz_page *page);
/* `title` shows where a pointer rests; NULL: none. */
void cz_page_rect(cz_page *page, const int64_t box[4], const char *style,
                  const char *title);
void cz_page_line(cz_page *page, const int64_t ends[4], const char *style);
/* `style` is start, middle or end, what of the text is at x; or on: the middle,
 * and on a rectangle. */
void cz_page_label(cz_page *page, int64_t x, int64_t y, const char *style,
                   const char *text);

/* ---- the parts ---- */

void cz_page_summary(cz_page *page);
void cz_page_gantt(cz_page *page);
void cz_page_bars(cz_page *page);
void cz_page_matrices(cz_page *page);
void cz_page_buckets(cz_page *page);
void cz_page_baselines(cz_page *page);
void cz_page_constants(cz_page *page);
void cz_page_owners(cz_page *page);
void cz_page_source(cz_page *page);

#endif
