/* What was found: a table, why its first row is first, a picture, JSON. */
#include "frontend/tune/internal.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/document/json.h"
#include "frontend/document/number.h"
#include "frontend/model/model.h"

/* ---- numbers ---- */

static void put_ms(cz_text *out, int width, int64_t ps)
{
    const int64_t size = ps < 0 ? -ps : ps;
    const int64_t tenths = size / 100000000 + (size % 100000000 >= 50000000);
    char text[32];
    snprintf(text, sizeof text, "%s%" PRId64 ".%" PRId64, ps < 0 ? "-" : "",
             tenths / 10, tenths % 10);
    cz_text_printf(out, "%*s", width, text);
}

/* Terms that add up to the iteration. */
enum { PRODUCTS, LINKS, BUBBLE, OPTIMIZER, N_TERMS };
static const char *const term_names[N_TERMS] = {"products", "links", "bubble",
                                                "optimizer"};

static int64_t term_of(const cz_tune_candidate *p, int term)
{
    const int64_t passes = p->model.forward + p->model.backward;
    switch (term) {
    case PRODUCTS:
        return passes - p->model.links;
    case LINKS:
        return p->model.links;
    case BUBBLE:
        return p->model.bubble;
    default: /* what of reductions, updates and gathers nothing hides */
        return p->times.iteration - passes - p->model.bubble;
    }
}

/* ---- the screen ---- */

static void put_head(const cz_tune_result *r, cz_text *out)
{
    cz_text_printf(
        out,
        "%" PRId64 " ranks, %s tokens an iteration in sequences of %s, at most "
        "%s on a rank%s\n"
        "assumed   %s; forward and backward at %" PRId64
        " %% of its bf16 rate, and the model terms of dsl/SIMULATE.md\n",
        r->n_ranks, cz_number_full(r->simulate.tokens).text,
        cz_number_full(r->simulate.sequence).text,
        cz_number_short(r->memory_bytes, "B").text,
        r->is_default_memory ? ", as nothing says more" : "", r->machine,
        r->simulate.mfu / 10000);
    if (r->simulate.active < CZ_TIME_MILLION)
        cz_text_printf(
            out, "          %s %% of experts work on a token\n",
            cz_number_ratio(r->simulate.active, 100, CZ_TIME_MILLION).text);
}

static void put_axes(const cz_tune_result *r, bool is_known,
                     const char *between, cz_text *out)
{
    int n = 0;
    for (int i = 0; i < CZ_TUNE_N_AXES; i++)
        if (r->is_known[i] == is_known && i != CZ_TUNE_EDP)
            cz_text_printf(out, "%s%s", n++ > 0 ? between : "",
                           cz_mesh_name(i));
}

static void put_space(const cz_tune_result *r, cz_text *out)
{
    bool is_all = true;
    for (int i = 0; i < CZ_TUNE_N_AXES; i++)
        is_all &= r->is_known[i] || i == CZ_TUNE_EDP;
    cz_text_puts(out, "searched  ");
    put_axes(r, true, " x ", out);
    if (!is_all) {
        cz_text_puts(out, "; not ");
        put_axes(r, false, ", ", out);
        cz_text_puts(out, ", over which neither model nor schedule divides");
    }
    cz_text_printf(out,
                   "\n          %d meshes: %d have less than a sequence on a "
                   "replica, %d too much memory, %d a bound above the tenth\n"
                   "          %d plans on the others, %d with too much memory "
                   "or refused\n\n",
                   r->n_meshes, r->n_short, r->n_full, r->n_slow, r->n_planned,
                   r->n_refused);
}

static void put_table(cz_arena *arena, const cz_tune_result *r, cz_text *out)
{
    int width = (int)strlen("mesh");
    for (int i = 0; i < r->n_best; i++) {
        const int n = (int)strlen(cz_tune_mesh_text(arena, r->best[i].mesh));
        width = n > width ? n : width;
    }
    cz_text_printf(out,
                   "    %-*s  iteration, its ratio, and what it is made "
                   "of, in ms\n",
                   width, "");
    cz_text_printf(out, "    %-*s %9s %7s", width, "mesh", "iteration",
                   "ratio");
    for (int t = 0; t < N_TERMS; t++)
        cz_text_printf(out, " %9s", term_names[t]);
    cz_text_printf(out, " %9s\n", "memory");
    for (int i = 0; i < r->n_best; i++) {
        const cz_tune_candidate *p = &r->best[i];
        cz_text_printf(out, "%2d  %-*s ", i + 1, width,
                       cz_tune_mesh_text(arena, p->mesh));
        put_ms(out, 9, p->times.iteration);
        cz_text_printf(
            out, " %7s",
            cz_number_ratio(p->times.iteration, 1, r->best[0].times.iteration)
                .text);
        for (int t = 0; t < N_TERMS; t++) {
            cz_text_puts(out, " ");
            put_ms(out, 9, term_of(p, t));
        }
        cz_text_printf(out, " %9s\n",
                       cz_number_short(p->memory_bytes, "B").text);
        const char *clauses = cz_tune_clauses_text(arena, p->clauses);
        if (*clauses)
            cz_text_printf(out, "      %s\n", clauses);
    }
}

static void put_reason(cz_arena *arena, const cz_tune_result *r, cz_text *out)
{
    const cz_tune_candidate *first = &r->best[0], *second = &r->best[1];
    const char *between = ": ";
    if (r->n_best < 2) {
        cz_text_puts(out, "\nno other mesh is feasible\n");
        return;
    }
    cz_text_printf(out, "\n%s takes ", cz_tune_mesh_text(arena, second->mesh));
    put_ms(out, 0, second->times.iteration - first->times.iteration);
    cz_text_printf(out, " ms more than %s",
                   cz_tune_mesh_text(arena, first->mesh));
    for (int t = 0; t < N_TERMS; t++) {
        const int64_t more = term_of(second, t) - term_of(first, t);
        cz_text_printf(out, "%s%s %s", between, term_names[t],
                       more < 0 ? "" : "+");
        put_ms(out, 0, more);
        between = ", ";
    }
    cz_text_puts(out, "\n");
}

/* ---- the picture ---- */

enum { COLUMNS = 64, LINES = 14 };

/* No other is both quicker and smaller. */
static bool is_pareto(const cz_tune_result *r, int i)
{
    const cz_tune_candidate *p = &r->candidates[i];
    for (int k = 0; k < r->n_candidates; k++) {
        const cz_tune_candidate *q = &r->candidates[k];
        if (q->times.iteration <= p->times.iteration &&
            q->memory_bytes <= p->memory_bytes &&
            (q->times.iteration < p->times.iteration ||
             q->memory_bytes < p->memory_bytes))
            return false;
    }
    return true;
}

static int place(int64_t value, int64_t low, int64_t high, int n)
{
    return high > low ? (int)((cz_wide)(value - low) * (n - 1) / (high - low))
                      : 0;
}

/* Iteration to the right, memory up: `o` where nothing else is better in both,
 * 1 to 9 and 0 the rows of the table. */
static void put_picture(const cz_tune_result *r, cz_text *out)
{
    char grid[LINES][COLUMNS + 1];
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {0, 0};
    memset(grid, ' ', sizeof grid);
    for (int i = 0; i < r->n_candidates; i++) {
        const int64_t at[2] = {r->candidates[i].times.iteration,
                               r->candidates[i].memory_bytes};
        for (int k = 0; k < 2; k++) {
            low[k] = at[k] < low[k] ? at[k] : low[k];
            high[k] = at[k] > high[k] ? at[k] : high[k];
        }
    }
    for (int pass = 0; pass < 3; pass++)
        for (int i = 0; i < (pass < 2 ? r->n_candidates : r->n_best); i++) {
            const int k = pass < 2 ? i : r->n_best - 1 - i;
            const cz_tune_candidate *p =
                pass < 2 ? &r->candidates[k] : &r->best[k];
            char *to =
                &grid[LINES - 1 -
                      place(p->memory_bytes, low[1], high[1], LINES)]
                     [place(p->times.iteration, low[0], high[0], COLUMNS)];
            if (pass == 2)
                *to = (char)('0' + (k + 1) % 10);
            else if (pass == 0 || is_pareto(r, i))
                *to = pass == 0 ? '.' : 'o';
        }
    cz_text_puts(out, "\nmemory of a rank and iteration; o: none is better in "
                      "both, 1 to 9, 0: rows above\n");
    for (int line = 0; line < LINES; line++) {
        grid[line][COLUMNS] = '\0';
        cz_text_printf(out, "%10s |%s\n",
                       line == 0           ? cz_number_short(high[1], "B").text
                       : line == LINES - 1 ? cz_number_short(low[1], "B").text
                                           : "",
                       grid[line]);
    }
    cz_text_printf(out, "%10s +", "");
    for (int i = 0; i < COLUMNS; i++)
        cz_text_puts(out, "-");
    cz_text_printf(out, "\n%10s  %-*s%s\n", "", COLUMNS - 9,
                   cz_number_time(low[0]).text, cz_number_time(high[0]).text);
}

void cz_tune_screen(cz_arena *arena, const cz_tune_result *r, cz_text *out)
{
    put_head(r, out);
    put_space(r, out);
    put_table(arena, r, out);
    put_reason(arena, r, out);
    put_picture(r, out);
}

/* ---- JSON ---- */

static void put_candidate(cz_json *json, const cz_tune_candidate *p)
{
    cz_json_open(json, NULL, '{');
    cz_json_open(json, "mesh", '{');
    for (int i = 0; i < CZ_TUNE_N_AXES; i++)
        cz_json_int(json, cz_mesh_name(i), p->mesh[i]);
    cz_json_close(json);
    cz_json_open(json, "clauses", '{');
    for (int i = 0; i < CZ_TUNE_N_CLAUSES; i++)
        if (p->clauses[i])
            cz_json_string(json, cz_tune_clauses[i].word, p->clauses[i]);
    cz_json_close(json);
    cz_json_int(json, "iteration_ps", p->times.iteration);
    cz_json_int(json, "bound_ps", p->bound_ps);
    for (int t = 0; t < N_TERMS; t++) {
        char key[32];
        snprintf(key, sizeof key, "%s_ps", term_names[t]);
        cz_json_int(json, key, term_of(p, t));
    }
    cz_json_int(json, "memory_bytes", p->memory_bytes);
    cz_json_int(json, "activation_bytes", p->model.activation_bytes);
    cz_json_int(json, "microbatches", p->model.microbatches);
    cz_json_close(json);
}

void cz_tune_json(cz_arena *arena, const cz_tune_result *r, cz_text *out)
{
    cz_json json;
    (void)arena;
    cz_json_init(&json, out);
    cz_json_open(&json, NULL, '{');
    cz_json_string(&json, "schema", "canzona.tune/1");
    cz_json_string(&json, "machine", r->machine);
    cz_json_int(&json, "ranks", r->n_ranks);
    cz_json_int(&json, "tokens", r->simulate.tokens);
    cz_json_int(&json, "sequence", r->simulate.sequence);
    cz_json_int(&json, "mfu", r->simulate.mfu);
    cz_json_int(&json, "active", r->simulate.active);
    cz_json_optional(&json, "e",
                     r->simulate.uneven > 0 ? r->simulate.uneven : -1);
    cz_json_int(&json, "memory_bytes", r->memory_bytes);
    cz_json_open(&json, "searched", '[');
    for (int i = 0; i < CZ_TUNE_N_AXES; i++)
        if (r->is_known[i] && i != CZ_TUNE_EDP)
            cz_json_string(&json, NULL, cz_mesh_name(i));
    cz_json_close(&json);
    cz_json_int(&json, "meshes", r->n_meshes);
    cz_json_int(&json, "without_sequence", r->n_short);
    cz_json_int(&json, "above_memory", r->n_full);
    cz_json_int(&json, "above_bound", r->n_slow);
    cz_json_int(&json, "planned", r->n_planned);
    cz_json_int(&json, "refused", r->n_refused);
    cz_json_open(&json, "best", '[');
    for (int i = 0; i < r->n_best; i++)
        put_candidate(&json, &r->best[i]);
    cz_json_close(&json);
    cz_json_string(&json, "text", r->text);
    cz_json_close(&json);
}
