/* What was compared, as JSON: public optimizers with the same matrices,
 * micro-groups. */
#include "frontend/document/plan/internal.h"

#include "passes/baseline/compare.h"

/* ---- baselines ---- */

static void put_message(cz_report *r, const cz_compared_message *message)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "reduction",
                   r->view->reductions[message->reduction].sym_name);
    cz_json_ints(json, "order", message->params, message->n_params);
    cz_json_int(json, "elements", message->elements);
    cz_json_int(json, "bytes", message->bytes);
    cz_json_ints(json, "slices", message->slices, message->n_slices);
    cz_json_close(json);
}

static void put_groups(cz_report *r,
                       const cz_compared_micro_groups *micro_groups)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", micro_groups->name);
    cz_json_int(json, "groups", micro_groups->n_micro_groups);
    cz_json_int(json, "staging_bytes", micro_groups->staging_bytes);
    cz_json_ints(json, "time_ps", micro_groups->time_ps, r->view->n_ranks);
    cz_json_close(json);
}

static void put_baseline(cz_report *r, const cz_compared *it)
{
    cz_json *json = &r->json;
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", it->name);
    cz_json_int(json, "bucket_elements", it->bucket_elements);
    cz_json_bool(json, "all_reduces", it->all_reduces);
    cz_json_bool(json, "gathers", it->gathers);
    cz_json_bool(json, "exposed", it->is_exposed);
    cz_json_ints(json, "time_ps", it->time_ps, r->view->n_ranks);
    cz_json_ints(json, "launches", it->launches, r->view->n_ranks);
    cz_json_ints(json, "state_bytes", it->state_bytes, r->view->n_ranks);
    cz_json_ints(json, "sent_bytes", it->sent_bytes, r->view->n_ranks);
    cz_json_ints(json, "received_bytes", it->received_bytes, r->view->n_ranks);
    cz_json_open(json, "groupings", '[');
    for (int g = 0; g < it->n_choices; g++)
        put_groups(r, &it->micro_group_choices[g]);
    cz_json_close(json);
    cz_json_open(json, "messages", '[');
    for (int m = 0; m < it->n_messages; m++)
        put_message(r, &it->messages[m]);
    cz_json_close(json);
    cz_json_close(json);
}

void cz_report_put_baselines(cz_report *r)
{
    int n;
    const cz_compared *list = cz_compare(r->arena, r->view, r->times, true, &n);
    for (int i = 0; i < n; i++)
        put_baseline(r, &list[i]);
}

/* ---- what the planner compared ---- */

void cz_report_put_micro_group_choices(cz_report *r)
{
    const cz_fact_micro_group_choice *fact = r->view->micro_group_choice;
    cz_json_open(&r->json, "groupings", '[');
    for (int i = 0; fact && i < fact->n_micro_groups.n; i++) {
        const cz_document_micro_groups micro_group_choice = {
            fact->n_micro_groups.v[i], fact->time_ps.v[i]};
        cz_json_put_fields(&r->json, NULL, cz_document_micro_groups_fields,
                           &micro_group_choice);
    }
    cz_json_close(&r->json);
}
