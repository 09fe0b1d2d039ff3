/* A simulation, for people and as JSON. */
#include "frontend/report/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "frontend/document/json.h"

/* ---- screen ---- */

/* Milliseconds, one decimal, half up, in a column. */
static void put_ms(cz_text *out, int64_t ps)
{
    const int64_t tenths = ps / 100000000 + (ps % 100000000 >= 50000000);
    cz_text_printf(out, "%7" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
}

/* "400M", "1.50 M" */
static cz_number bucket_size(int64_t elements)
{
    cz_number out = {""};
    if (elements > 0 && elements % 1000000 == 0)
        snprintf(out.text, sizeof out.text, "%" PRId64 "M", elements / 1000000);
    else if (elements > 0)
        out = cz_number_short(elements, "");
    return out;
}

static void put_part(cz_text *out, const char *what, int64_t ps)
{
    cz_text_printf(out, "  %-26s", what);
    put_ms(out, ps);
    cz_text_puts(out, "\n");
}

/* Of even collectives nobody doubts how fast they are. */
static void put_level(const cz_simulation_report *report, cz_text *out)
{
    if (report->best_even)
        cz_text_printf(
            out, "level with the best even one, %s, at %se%s%s\n",
            report->best_even,
            report->even_e < 0    ? "no "
            : report->even_e == 0 ? "any "
                                  : "",
            report->even_e > 0 ? " = " : "",
            report->even_e > 0 ? cz_number_percent(report->even_e).text : "");
}

void cz_simulation_screen(const cz_simulation_report *report, cz_text *out)
{
    cz_text_printf(out,
                   "%-11s %s tokens an iteration, %s on each of %d ranks\n"
                   "%-11s %s; forward and backward at %s of its bf16 rate\n"
                   "%-11s unequal slices reach %s of a link",
                   report->document->name, cz_number_full(report->tokens).text,
                   cz_number_full(report->tokens_per_rank).text,
                   report->document->n_ranks, "machine", report->machine,
                   cz_number_percent(report->mfu).text, "assumed",
                   report->e > 0 ? cz_number_percent(report->e).text
                                 : "what the machine says, else all");
    if (report->has_experts)
        cz_text_printf(out, "; %s of experts work on a token",
                       cz_number_percent(report->active).text);
    cz_text_puts(out, "\n");
    if (report->sequence > 0)
        cz_text_printf(out,
                       "%-11s attention over sequences of %s tokens, links of "
                       "activations, bubbles; %s microbatches\n",
                       "", cz_number_full(report->sequence).text,
                       cz_number_full(report->model.microbatches).text);
    if (report->contention > 0)
        cz_text_printf(out, "%-11s kernels %s slower while links are at work\n",
                       "", cz_number_percent(report->contention).text);
    if (report->jitter > 0 || report->n_stragglers > 0)
        cz_text_printf(out,
                       "%-11s kernels up to %s slower; %d stragglers, %s times "
                       "as slow; seed %" PRId64 "\n",
                       "disturbed", cz_number_percent(report->jitter).text,
                       report->n_stragglers,
                       cz_number_ratio(report->slowdown, 1, 1000000).text,
                       report->seed);
    cz_text_printf(out, "\n%-34s%7s%10s%8s%9s%12s\n%-34s%7s%10s%8s%9s%12s\n",
                   "", "buckets", "iteration", "", "step", "with gather", "",
                   "", "ms", "ratio", "ms", "ms");
    const cz_simulate_times *plan = &report->rows[0].times;
    for (int i = 0; i < report->n_rows; i++) {
        const cz_simulation_row *row = &report->rows[i];
        cz_text_printf(out, "%-34.34s%7s ", row->name,
                       bucket_size(row->bucket_elements).text);
        put_ms(out, row->times.iteration);
        cz_text_printf(
            out, "%8s",
            cz_number_ratio(row->times.iteration, 1, plan->iteration).text);
        put_ms(out, row->times.step);
        cz_text_puts(out, "   ");
        put_ms(out, row->times.step_gather);
        cz_text_puts(out, "\n");
    }
    if (report->n_rows == 1 && report->document->n_baselines > 0)
        cz_text_puts(out,
                     "baselines are left out: the plan's machine has other "
                     "kernels, and theirs are timed there\n");
    put_level(report, out);
    const int64_t n = report->document->n_ranks;
    cz_text_puts(out, "\nof the plan, on the busiest rank\n");
    put_part(out, "forward", plan->forward);
    put_part(out, "backward", plan->backward);
    if (report->sequence > 0) {
        put_part(out, "  of both, links", plan->links);
        put_part(out, "bubble of the pipeline", plan->bubble);
    }
    put_part(out, "reduction, links", plan->reduce);
    put_part(out, "gathers, links", plan->gather);
    put_part(out, "update, kernels", plan->update);
    put_part(out, "  mean of ranks",
             plan->update_sum / n + (plan->update_sum % n != 0));
    if (report->sequence > 0)
        cz_text_printf(
            out, "  %-26s%s\n", "activations",
            cz_number_short(report->model.activation_bytes, "B").text);
}

/* ---- JSON ---- */

#define TIME(name)                                                             \
    CZ_JSON_FIELD(cz_simulation_row, times.name, #name "_ps", NUMBER, 0, 0)
static const cz_json_field row_fields[] = {
    CZ_JSON_FIELD(cz_simulation_row, name, "name", WORD, 0, 0),
    CZ_JSON_FIELD(cz_simulation_row, bucket_elements, "bucket_elements",
                  OPTIONAL, 0, 0),
    TIME(iteration),
    TIME(step),
    TIME(step_gather),
    TIME(forward),
    TIME(backward),
    TIME(links),
    TIME(bubble),
    TIME(reduce),
    TIME(gather),
    TIME(update),
    TIME(update_sum),
    {0}};

void cz_simulation_json(const cz_simulation_report *report, cz_text *out)
{
    cz_json json;
    cz_json_init(&json, out);
    cz_json_open(&json, NULL, '{');
    cz_json_string(&json, "schema", "canzona.simulation/1");
    cz_json_string(&json, "plan", report->document->name);
    cz_json_string(&json, "plan_hash", report->document->plan_hash);
    cz_json_string(&json, "machine", report->machine);
    cz_json_int(&json, "ranks", report->document->n_ranks);
    cz_json_int(&json, "tokens", report->tokens);
    cz_json_int(&json, "mfu", report->mfu);
    cz_json_int(&json, "active", report->active);
    cz_json_optional(&json, "sequence",
                     report->sequence > 0 ? report->sequence : -1);
    cz_json_int(&json, "microbatches", report->model.microbatches);
    cz_json_int(&json, "activation_bytes", report->model.activation_bytes);
    cz_json_optional(&json, "e", report->e > 0 ? report->e : -1);
    cz_json_int(&json, "contention", report->contention);
    cz_json_int(&json, "jitter", report->jitter);
    cz_json_int(&json, "seed", report->seed);
    cz_json_int(&json, "stragglers", report->n_stragglers);
    cz_json_int(&json, "slowdown", report->slowdown);
    cz_json_string(&json, "best_even",
                   report->best_even ? report->best_even : "");
    cz_json_optional(&json, "even_e", report->even_e);
    cz_json_put_list(&json, "rows", row_fields, sizeof *report->rows,
                     report->rows, report->n_rows);
    cz_json_close(&json);
}
