/* Who owns each matrix, and the source, to whose lines the owners refer. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>
#include <string.h>

/* So that the page stays under a megabyte. */
enum {
    MAX_OWNERS = 2400,
    MAX_LINES = 2000,
    MAX_BYTES = 64 << 10 /* of all sources; an entity is up to six of one */
};

/* ---- owners ---- */

static void put_ranks(cz_page *page, const cz_document_matrix *m)
{
    cz_text text = {0};
    cz_report_owners(page->context->document, m, &text);
    cz_page_word(page, cz_text_string(&text));
    cz_text_fini(&text);
}

static bool is_of(const char *param_group, const cz_report_param_group *use)
{
    const size_t n = strlen(use->name);
    if (!use->has_index)
        return strcmp(param_group, use->name) == 0;
    return strncmp(param_group, use->name, n) == 0 && param_group[n] == '_' &&
           param_group[n + 1] &&
           param_group[n + 1 + strspn(param_group + n + 1, "0123456789")] == 0;
}

/* How many of a source's lines are shown, with what is left of lines and bytes;
 * *n_lines is how many it has. */
static int count_shown(const cz_source *source, int *lines_left,
                       size_t *bytes_left, int *n_lines)
{
    int n = 0;
    *n_lines = 0;
    for (size_t start = 0; start < source->n;) {
        const char *end =
            memchr(source->bytes + start, '\n', source->n - start);
        const size_t length =
            end ? (size_t)(end - source->bytes) - start + 1 : source->n - start;
        if (*lines_left > 0 && length <= *bytes_left) {
            n++;
            --*lines_left;
            *bytes_left -= length;
        } else
            *lines_left = 0;
        ++*n_lines;
        start += length;
    }
    return n;
}

/* The group, with a link to its `use` where the page has that. */
static void put_group(cz_page *page, const char *param_group, int n_shown)
{
    const cz_report_text *text = &page->context->text;
    int line = 0;
    for (int i = 0; i < text->n_uses && line == 0; i++)
        if (is_of(param_group, &text->uses[i]))
            line = text->uses[i].line;
    if (line == 0 || line > n_shown) {
        cz_page_word(page, param_group);
        return;
    }
    cz_text_printf(page->out, "<td><a href=\"#L%d\">", line);
    cz_page_escape(page, param_group);
    cz_page_raw(page, "</a></td>");
}

static void put_matrix(cz_page *page, const cz_document_matrix *m, int n_shown)
{
    const cz_document_param *param = &page->context->document->params[m->param];
    cz_page_raw(page, "<tr><td>");
    cz_page_escape(page, param->name);
    if (param->n_names > 1)
        cz_page_print(page, " and %d more", param->n_names - 1);
    cz_page_raw(page, "</td>");
    put_ranks(page, m);
    put_group(page, param->param_group, n_shown);
    cz_page_raw(page, "</tr>\n");
}

void cz_page_owners(cz_page *page)
{
    static const char *const columns[] = {"matrix", "owner", "group"};
    const cz_document *s = page->context->document;
    const cz_report_text *text = &page->context->text;
    const int n = s->n_matrices < MAX_OWNERS ? s->n_matrices : MAX_OWNERS;
    int lines = MAX_LINES, n_lines;
    size_t bytes = MAX_BYTES;
    const int n_shown =
        text->n_sources > 0
            ? count_shown(&text->sources[0], &lines, &bytes, &n_lines)
            : 0;
    if (n == 0)
        return;
    cz_page_open_section(page, "Owners",
                         "Who updates each matrix; the browser's search finds "
                         "names and ranks. A group leads to its use in the "
                         "source.");
    for (int i = 0; i < n; i++)
        if (s->params[s->matrices[i].param].n_names > 1) {
            cz_page_raw(page, "<p>Names of one line are of experts, one on "
                              "each of its ranks.</p>\n");
            break;
        }
    cz_page_raw(page, "<div class=\"long\">\n");
    cz_page_open_table(page, columns, 3);
    for (int i = 0; i < n; i++)
        put_matrix(page, &s->matrices[i], n_shown);
    cz_page_close_table(page);
    cz_page_raw(page, "</div>\n");
    if (n < s->n_matrices) {
        cz_page_raw(page, "<p>");
        cz_page_print(page, "The first %d of %d; plan --json has all.", n,
                      s->n_matrices);
        cz_page_raw(page, "</p>\n");
    }
    cz_page_raw(page, "</section>\n");
}

/* ---- source ---- */

/* A line of the first source has a name to which links lead. */
static void put_line(cz_page *page, const char *line, size_t n, int number)
{
    const char *tab;
    while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
        n--;
    if (number > 0)
        cz_text_printf(page->out, "<li id=\"L%d\">", number);
    else
        cz_page_raw(page, "<li>");
    for (; (tab = memchr(line, '\t', n)) != NULL; line = tab + 1) {
        cz_page_print(page, "%.*s", (int)(tab - line), line);
        cz_page_raw(page, "\t");
        n -= (size_t)(tab - line) + 1;
    }
    cz_page_print(page, "%.*s", (int)n, line);
    cz_page_raw(page, "</li>\n");
}

static void put_lines(cz_page *page, const cz_source *source, bool is_first,
                      int n_shown)
{
    const char *line = source->bytes;
    cz_page_raw(page, "<ol class=\"long source\">\n");
    for (int i = 1; i <= n_shown; i++) {
        const size_t left = source->n - (size_t)(line - source->bytes);
        const char *end = memchr(line, '\n', left);
        const size_t n = end ? (size_t)(end - line) + 1 : left;
        put_line(page, line, n, is_first ? i : 0);
        line += n;
    }
    cz_page_raw(page, "</ol>\n");
}

void cz_page_source(cz_page *page)
{
    const cz_report_text *text = &page->context->text;
    int lines = MAX_LINES, n_lines;
    size_t bytes = MAX_BYTES;
    if (text->n_sources == 0)
        return;
    cz_page_open_section(page, "Source",
                         "What the plan was made from, without the library "
                         "and without configurations.");
    if (text->n_defines > 0)
        cz_page_raw(page, "<p>With");
    for (int i = 0; i < text->n_defines; i++)
        cz_page_print(page, " -D %s", text->defines[i]);
    if (text->n_defines > 0)
        cz_page_raw(page, "</p>\n");
    for (int i = 0; i < text->n_sources; i++) {
        const cz_source *source = &text->sources[i];
        const int n = count_shown(source, &lines, &bytes, &n_lines);
        cz_page_raw(page, "<h3>");
        cz_page_escape(page, source->name);
        cz_page_raw(page, "</h3>\n");
        if (n > 0)
            put_lines(page, source, i == 0, n);
        if (n < n_lines) {
            cz_page_raw(page, "<p>");
            cz_page_print(page, "The first %d of %d lines.", n, n_lines);
            cz_page_raw(page, "</p>\n");
        }
    }
    cz_page_raw(page, "</section>\n");
}
