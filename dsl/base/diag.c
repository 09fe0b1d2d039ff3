/* Diagnostics: collecting them, and printing them with line and caret. */
#include "dsl/base/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "dsl/base/utf8.h"

static const char *const code_names[] = {
#define CZ_DIAG(code, name, meaning, help) #code,
#include "dsl/base/diag.def"
#undef CZ_DIAG
};

const char *cz_code_name(cz_code code)
{
    return code_names[code];
}

void cz_diags_init(cz_diags *diags, cz_arena *arena)
{
    *diags = (cz_diags){.arena = arena};
}

static bool is_same(const cz_diag *a, const cz_diag *b)
{
    return a->severity == b->severity && a->code == b->code &&
           a->span.source == b->span.source &&
           a->span.offset == b->span.offset &&
           strcmp(a->message, b->message) == 0;
}

static bool is_known(const cz_diags *diags, const cz_diag *diag)
{
    for (int i = 0; i < diags->n; i++)
        if (is_same(&diags->list[i], diag))
            return true;
    return false;
}

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Names may be megabytes: the middle of a long message is left out. */
enum { MAX_MESSAGE = 1000, KEPT_BEFORE = 600, KEPT_BEHIND = 300 };

static const char *shorten(cz_arena *arena, const char *message, size_t n)
{
    size_t head = KEPT_BEFORE, tail = n - KEPT_BEHIND;
    while (is_inside_character(message[head]))
        head--;
    while (is_inside_character(message[tail]))
        tail++;
    return cz_arena_printf(arena, "%.*s...%s", (int)head, message,
                           message + tail);
}

__attribute__((format(printf, 2, 0))) static const char *
format_message(cz_arena *arena, const char *format, va_list args)
{
    cz_text text;
    cz_text_init(&text);
    cz_text_vprintf(&text, format, args);
    const char *message =
        text.n > MAX_MESSAGE
            ? shorten(arena, cz_text_string(&text), text.n)
            : cz_arena_copy(arena, cz_text_string(&text), text.n);
    cz_text_fini(&text);
    return message;
}

/* An error or a warning; its notes follow its fate. */
__attribute__((format(printf, 3, 0))) static void
report(cz_diags *diags, cz_diag diag, const char *format, va_list args)
{
    diags->dropped = diags->n_errors >= CZ_MAX_ERRORS;
    if (diags->dropped)
        return;
    diag.message = format_message(diags->arena, format, args);
    diags->dropped = is_known(diags, &diag);
    if (diags->dropped)
        return;
    *CZ_PUSH(diags->arena, diags->list, diags->n) = diag;
    diags->n_errors += diag.severity == CZ_ERROR;
    diags->refused |= diag.code == CZ_UNSUPPORTED || diag.code == CZ_INFEASIBLE;
}

void cz_diag_error(cz_diags *diags, cz_code code, cz_span span,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(diags, (cz_diag){CZ_ERROR, code, span, NULL}, format, args);
    va_end(args);
}

void cz_diag_warning(cz_diags *diags, cz_code code, cz_span span,
                     const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(diags, (cz_diag){CZ_WARNING, code, span, NULL}, format, args);
    va_end(args);
}

void cz_diag_note(cz_diags *diags, cz_span span, const char *format, ...)
{
    if (diags->dropped)
        return;
    va_list args;
    va_start(args, format);
    const char *message = format_message(diags->arena, format, args);
    va_end(args);
    *CZ_PUSH(diags->arena, diags->list, diags->n) =
        (cz_diag){CZ_NOTE, CZ_NO_CODE, span, message};
}

static int last_of(const cz_diags *diags)
{
    int i = diags->n - 1;
    while (i >= 0 && diags->list[i].severity == CZ_NOTE)
        i--;
    return diags->dropped ? -1 : i;
}

const cz_diag *cz_diag_last(const cz_diags *diags)
{
    const int i = last_of(diags);
    return i >= 0 ? &diags->list[i] : NULL;
}

void cz_diag_move(cz_diags *diags, cz_span place, const char *note)
{
    const int i = last_of(diags);
    if (i < 0)
        return;
    const cz_diag first = {CZ_NOTE, CZ_NO_CODE, diags->list[i].span,
                           cz_arena_printf(diags->arena, "%s", note)};
    diags->list[i].span = place;
    *CZ_PUSH(diags->arena, diags->list, diags->n) = first;
    memmove(&diags->list[i + 2], &diags->list[i + 1],
            (size_t)(diags->n - i - 2) * sizeof *diags->list);
    diags->list[i + 1] = first;
}

bool cz_diag_has(const cz_diags *diags, cz_code code, const char *message)
{
    for (int i = 0; i < diags->n; i++)
        if (diags->list[i].code == code &&
            strcmp(diags->list[i].message, message) == 0)
            return true;
    return false;
}

/* ---- printing ---------------------------------------------------------- */

static const struct style {
    const char *name, *colour;
} styles[] = {[CZ_ERROR] = {"error", "\033[1;31m"},
              [CZ_WARNING] = {"warning", "\033[1;35m"},
              [CZ_NOTE] = {"note", "\033[1;36m"}};

/* Bytes of the printable character at `at`, or 0: control characters and
 * what is no UTF-8 are not shown. */
static size_t printable_length(const char *at, size_t n)
{
    const size_t length = cz_utf8_length(at, n);
    const unsigned char first = length > 0 ? (unsigned char)at[0] : 0;
    const bool is_c1 = first == 0xc2 && (unsigned char)at[1] < 0xa0;

    return first < 0x20 || first == 0x7f || is_c1 ? 0 : length;
}

/* The user's text never steers the terminal. */
static void put_visible(cz_text *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t length = printable_length(bytes + i, n - i);
        if (length > 0)
            cz_text_put(out, bytes + i, length);
        else
            cz_text_put(out, bytes[i] == '\t' ? "\t" : "?", 1);
        i += length > 0 ? length : 1;
    }
}

/* The part of a source line that is shown: all of it, or a window around the
 * caret.  `at` is the caret's place in it. */
struct view {
    const char *bytes;
    size_t n, at;
    bool starts_late, ends_early;
};

enum { MAX_SHOWN = 160, SHOWN_BEFORE = 60 };

static struct view view_of(const cz_span *span)
{
    const cz_source *source = span->source;
    const size_t start = span->offset - (span->column - 1);
    const char *line = source->bytes + start;
    const char *end = memchr(line, '\n', source->n - start);
    struct view view = {line, end ? (size_t)(end - line) : source->n - start,
                        span->column - 1, false, false};

    if (view.n > 0 && line[view.n - 1] == '\r')
        view.n--;
    if (view.n <= MAX_SHOWN)
        return view;
    size_t skip = view.at > SHOWN_BEFORE ? view.at - SHOWN_BEFORE : 0;
    while (skip > 0 && is_inside_character(line[skip]))
        skip--;
    view.bytes += skip;
    view.n -= skip;
    view.at -= skip;
    view.starts_late = skip > 0;
    view.ends_early = view.n > MAX_SHOWN;
    if (view.ends_early)
        view.n = MAX_SHOWN;
    while (view.ends_early && view.n > 0 &&
           is_inside_character(view.bytes[view.n]))
        view.n--;
    return view;
}

static void put_source_line(cz_text *out, const cz_span *span,
                            const char *colour)
{
    const struct view view = view_of(span);

    cz_text_printf(out, "%5u | %s", span->line, view.starts_late ? "..." : "");
    put_visible(out, view.bytes, view.n);
    cz_text_puts(out, view.ends_early ? "...\n" : "\n");
    const size_t length = span->length;
    cz_text_printf(out, "      | %s", view.starts_late ? "   " : "");
    for (size_t i = 0; i < view.at; i++)
        if (i >= view.n || !is_inside_character(view.bytes[i]))
            cz_text_put(out, i < view.n && view.bytes[i] == '\t' ? "\t" : " ",
                        1);
    cz_text_printf(out, "%s^", colour);
    for (size_t i = view.at + 1; i < view.at + length && i < view.n; i++)
        if (!is_inside_character(view.bytes[i]))
            cz_text_put(out, "~", 1);
    cz_text_printf(out, "%s\n", *colour ? "\033[0m" : "");
}

static void print_one(const cz_diag *diag, cz_text *out, bool colour)
{
    const struct style *style = &styles[diag->severity];
    const cz_span *span = &diag->span;

    if (span->source) {
        put_visible(out, span->source->name, strlen(span->source->name));
        cz_text_puts(out, ":");
    }
    if (span->source && span->line)
        cz_text_printf(out, "%u:%u:", span->line, span->column);
    cz_text_printf(out, "%s%s%s:%s ", span->source ? " " : "",
                   colour ? style->colour : "", style->name,
                   colour ? "\033[0m" : "");
    put_visible(out, diag->message, strlen(diag->message));
    if (diag->severity != CZ_NOTE)
        cz_text_printf(out, " [%s]", cz_code_name(diag->code));
    cz_text_puts(out, "\n");
    if (span->source && span->line)
        put_source_line(out, span, colour ? style->colour : "");
}

/* A source that is read again has the same warnings. */
static bool is_printed(const cz_diags *diags, int i)
{
    const cz_diag *one = &diags->list[i];
    for (int k = 0; k < i && one->severity == CZ_WARNING; k++)
        if (diags->list[k].severity == CZ_WARNING &&
            diags->list[k].span.offset == one->span.offset &&
            diags->list[k].code == one->code &&
            strcmp(diags->list[k].message, one->message) == 0)
            return true;
    return false;
}

void cz_diags_print(const cz_diags *diags, cz_text *out, bool colour)
{
    bool is_repeated = false; /* and so are its notes */
    for (int i = 0; i < diags->n; i++) {
        if (diags->list[i].severity != CZ_NOTE)
            is_repeated = is_printed(diags, i);
        if (!is_repeated)
            print_one(&diags->list[i], out, colour);
    }
    if (diags->n_errors >= CZ_MAX_ERRORS)
        cz_text_printf(out, "note: stopped after %d errors\n", CZ_MAX_ERRORS);
}

/* ---- did you mean ------------------------------------------------------- */

enum { MAX_NAME = 64 }; /* longer names get no suggestion */

static int least(int a, int b, int c)
{
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Capitals are their small letters: ADAMW is near to adamw. */
static bool is_other(char a, char b)
{
    return tolower((unsigned char)a) != tolower((unsigned char)b);
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b:
 * optimal string alignment, three rows of the table at a time. */
static int edit_distance(const char *a, int n_a, const char *b, int n_b)
{
    int rows[3][MAX_NAME + 1];

    for (int j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= n_a; i++) {
        int *row = rows[i % 3];
        const int *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n_b; j++) {
            row[j] = least(up[j] + 1, row[j - 1] + 1,
                           up[j - 1] + is_other(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
                a[i - 2] == b[j - 1] && up2[j - 2] + 1 < row[j])
                row[j] = up2[j - 2] + 1;
        }
    }
    return rows[n_a % 3][n_b];
}

const char *cz_diag_nearest(const char *name, const char *const *candidates,
                            int n)
{
    const size_t n_name = strlen(name);
    const char *best = NULL;

    if (n_name == 0 || n_name > MAX_NAME)
        return NULL;
    /* A third of the letters may be wrong, and one always. */
    int limit = n_name < 6 ? 1 : (int)(n_name / 3);
    for (int i = 0; i < n; i++) {
        const size_t n_other = strlen(candidates[i]);
        if (n_other == 0 || n_other > MAX_NAME)
            continue;
        const int edits =
            edit_distance(name, (int)n_name, candidates[i], (int)n_other);
        if (edits <= limit && edits < (int)n_name) {
            best = candidates[i];
            limit = edits - 1;
        }
    }
    return best;
}
