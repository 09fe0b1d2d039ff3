/* The head of a page: what is planned, and how good the plan is. */
#include "frontend/report/page/internal.h"

#include <inttypes.h>
#include <string.h>

static void put_head(cz_page *page)
{
    const cz_document *s = page->context->document;
    int64_t elements = 0, n_matrices = 0;
    int n = 0;
    for (int i = 0; i < s->n_matrices; i++)
        n_matrices += s->matrices[i].batch;
    for (int i = 0; i < s->n_params; i++) {
        elements += s->params[i].elements * s->params[i].n_names;
        n += s->params[i].n_names;
    }
    cz_page_raw(page, "<h1>");
    cz_page_escape(page, s->name);
    cz_page_raw(page, "</h1>\n<p>");
    for (int a = 0; a < s->n_names; a++)
        cz_page_print(page, "%s%s %" PRId64, a ? ", " : "mesh ",
                      s->names[a].name, s->names[a].size);
    cz_page_print(page, "%s%d rank%s; %s elements in %d parameters",
                  s->n_names > 0 ? ": " : "", s->n_ranks,
                  s->n_ranks == 1 ? "" : "s",
                  cz_number_short(elements, "").text, n);
    if (n_matrices > 0)
        cz_page_print(page, ", %" PRId64 " matrices with owners", n_matrices);
    cz_page_raw(page, "<br/>\nplan <code>");
    cz_page_escape(page, s->plan_hash);
    cz_page_raw(page, "</code><br/>\nsource <code>");
    cz_page_escape(page, s->source_hash);
    cz_page_raw(page, "</code><br/>\n");
    cz_page_print(page, "canzona %s; objective: %s%s", s->compiler,
                  s->objective, s->is_strict ? "; strict" : "");
    cz_page_raw(page, "</p>\n");
}

/* ---- cards ---- */

/* `basis` is NULL where there is none to tell. */
static void put_card(cz_page *page, cz_number number, const char *basis,
                     const char *what)
{
    cz_page_raw(page, "<div class=\"card\"><b>");
    cz_page_escape(page, number.text);
    if (basis)
        cz_page_basis(page, basis);
    cz_page_raw(page, "</b><span>");
    cz_page_escape(page, what);
    cz_page_raw(page, "</span></div>\n");
}

/* What a user pays, first. */
static void put_iteration(cz_page *page, const char *basis)
{
    const cz_report_iteration *it = page->context->iteration;

    if (!it)
        return;
    const cz_simulate_times *t = &it->times;
    put_card(page, cz_number_time(t->iteration), basis,
             cz_arena_printf(page->arena, "an iteration of %s tokens",
                             cz_number_full(it->tokens).text));
    put_card(page, cz_number_time(t->iteration - t->forward - t->backward),
             basis, "of it behind forward and backward");
    put_card(page, cz_number_time(t->step), basis,
             "a step of the optimizer in it");
}

static void put_cards(cz_page *page)
{
    const cz_document *s = page->context->document;
    const cz_document_bound *bound = cz_document_binding(s);
    const cz_rank_sums time = cz_rank_sums_of(s->time_ps, s->n_ranks);
    const int64_t makespan = page->context->timeline->makespan;
    const cz_basis of_times = cz_basis_of(s);
    const char *basis = cz_basis_word(&of_times);
    cz_page_raw(page, "<div class=\"cards\">\n");
    put_iteration(page, basis);
    put_card(page, cz_number_time(time.max), basis,
             "optimizer's kernels on the busiest rank");
    if (bound)
        put_card(page, cz_number_ratio(time.max, 1, bound->value), NULL,
                 "of their lower bound");
    const cz_number load = cz_number_ratio(time.max, time.n, time.sum);
    if (strcmp(load.text, "1.000") != 0)
        put_card(page, load, NULL, "load, max over mean");
    put_card(page, cz_number_time(makespan), basis,
             "one step by itself, links included");
    int64_t most = 0;
    for (int r = 0; r < s->n_ranks; r++) {
        int64_t sum = 0;
        for (int k = 0; k < CZ_N_STEPS; k++)
            sum += s->sent[k] ? s->sent[k][r] : 0;
        most = sum > most ? sum : most;
    }
    put_card(page, cz_number_short(most, "B"), NULL,
             "sent in a step by the rank that sends most");
    cz_page_raw(page, "</div>\n");
}

/* ---- bounds ---- */

static void put_bound(cz_page *page, const cz_document_bound *bound)
{
    const cz_basis basis = cz_basis_of(page->context->document);
    cz_text witness = {0}, admits = {0};
    cz_bound_witness(page->context->document, bound, &witness);
    cz_bound_admits(bound, &admits);
    cz_page_raw(page, "<tr><td>");
    cz_page_print(page, "%s of %s", bound->name,
                  bound->is_of_links ? "links" : "kernels");
    if (bound == cz_document_binding(page->context->document))
        cz_page_raw(page, " <b>(binding)</b>");
    cz_page_raw(page, "</td><td class=\"n\">");
    cz_page_print(page, "%s", cz_number_time(bound->value).text);
    cz_page_basis(page, cz_basis_word(&basis));
    cz_page_raw(page, "</td>");
    if (bound->plan >= 0)
        cz_page_number(page, "%s",
                       cz_number_ratio(bound->plan, 1, bound->value).text);
    else
        cz_page_number(page, "-"); /* it is not known */
    cz_page_word(page, cz_text_string(&admits));
    cz_page_word(page, cz_text_string(&witness));
    cz_page_raw(page, "</tr>\n");
    cz_text_fini(&witness);
    cz_text_fini(&admits);
}

/* " 13 constants of a machine, all assumed" */
static void put_basis(cz_page *page, int n, int n_measured, const char *what)
{
    cz_page_print(page, " %d %s, ", n, what);
    if (n_measured > 0 && n_measured < n)
        cz_page_print(page, "%d of them measured, the rest assumed",
                      n_measured);
    else
        cz_page_print(page, "all %s", n_measured ? "measured" : "assumed");
}

void cz_page_summary(cz_page *page)
{
    static const char *const columns[] = {"bound", "#at least", "#plan's",
                                          "for", "witness"};
    const cz_document *s = page->context->document;
    const cz_basis basis = cz_basis_of(s);
    put_head(page);
    put_cards(page);
    cz_page_open_table(page, columns, 5);
    for (int i = 0; i < s->n_bounds; i++)
        if (s->bounds[i].value > 0)
            put_bound(page, &s->bounds[i]);
    cz_page_close_table(page);
    cz_page_raw(page, "<p>Times follow from");
    put_basis(page, basis.n_constants, basis.n_measured_constants,
              "constants of a machine");
    if (basis.n_stages > 0) {
        cz_page_raw(page, ", and from");
        put_basis(page, basis.n_stages, basis.n_measured_stages,
                  "times of whole matrices");
    }
    cz_page_raw(page, ".</p>\n");
}
