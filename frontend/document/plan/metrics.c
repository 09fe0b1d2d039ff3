/* What a plan costs, rank by rank, as JSON. */
#include "frontend/document/plan/internal.h"

#include <string.h>

#include "dsl/base/checked.h"
#include "passes/cost/wire.h"
#include "passes/bound/time_bounds.h"
#include "passes/cost/update_time.h"

/* A member of every rank's metrics. */
static void put_member(cz_report *r, const char *key, size_t at)
{
    cz_json_open(&r->json, key, '[');
    for (int rank = 0; rank < r->metrics->n_ranks; rank++) {
        int64_t value;
        memcpy(&value, (const char *)&r->metrics->ranks[rank] + at,
               sizeof value);
        cz_json_int(&r->json, NULL, value);
    }
    cz_json_close(&r->json);
}

/* Scratch of batches, of each rank. */
static void put_batches(cz_report *r)
{
    const cz_fact_batch_arena *arena = r->view->batch_arena;

    cz_json_open(&r->json, "batch_bytes", '[');
    for (int rank = 0; rank < r->metrics->n_ranks; rank++)
        cz_json_int(&r->json, NULL,
                    arena->bytes.v[cz_view_coordinate(r->view, &arena->selector,
                                                      rank)]);
    cz_json_close(&r->json);
}

/* What every rank sends or receives, by kind of operation. */
static void put_wire(cz_report *r, const char *key, bool is_sent)
{
    static const cz_step_kind kinds[] = {CZ_STEP_REDUCE_SCATTER,
                                         CZ_STEP_ALL_GATHER, CZ_STEP_TRANSFER,
                                         CZ_STEP_GROUP_SUM};
    cz_json_open(&r->json, key, '{');
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        cz_json_open(&r->json, cz_step_kind_word(kinds[k]), '[');
        for (int rank = 0; rank < r->metrics->n_ranks; rank++) {
            const cz_rank_metrics *of = &r->metrics->ranks[rank];
            cz_json_int(&r->json, NULL,
                        is_sent ? of->sent[kinds[k]] : of->received[kinds[k]]);
        }
        cz_json_close(&r->json);
    }
    cz_json_close(&r->json);
}

static void put_trainer_wire(cz_report *r)
{
    const cz_trainer_wire wire = cz_trainer_wire_find(r->view);
    cz_json_open(&r->json, "trainer_bytes", '{');
    cz_json_int(&r->json, "gradients", wire.gradient_bytes);
    cz_json_int(&r->json, "parameters", wire.parameter_bytes);
    cz_json_close(&r->json);
}

/* What the plan has of it: kernels of the busiest rank; of links the mean of
 * all that ranks send, which is not known between nodes. */
static int64_t plan_value(const cz_report *r, cz_time_bound_kind kind)
{
    int64_t sent = 0;
    if (!cz_time_bound_is_of_links(kind))
        return cz_rank_load_of(r->rank_ps, r->view->n_ranks).max_ps;
    if (kind == CZ_TIME_NETWORK)
        return -1;
    for (int k = 0; k < CZ_N_STEPS; k++)
        sent = cz_time_add(sent, r->metrics->sent[k].sum);
    return cz_time_of(cz_ceil_div(sent, r->view->n_ranks),
                      r->machine.node_rate);
}

/* Links have to carry that whatever matrices do. */
static void put_admits(cz_report *r, cz_time_bound_kind kind)
{
    int n;
    const int64_t *micro_groups = cz_forms_admitted(r->arena, &r->forms, &n);
    cz_json_ints(&r->json, "admits", micro_groups,
                 cz_time_bound_is_of_links(kind) ? 0 : n);
}

static void put_prices(cz_report *r, const cz_time_bound *bound)
{
    cz_json *json = &r->json;
    if (!bound->prices) {
        cz_json_string(json, "prices", NULL);
        return;
    }
    cz_json_open(json, "prices", '{');
    cz_json_ints(json, "classes", bound->prices, r->forms.n_classes);
    cz_json_int(json, "elements", bound->elements_price);
    cz_json_close(json);
}

static void put_bound(cz_report *r, cz_time_bound_kind kind,
                      const cz_time_bound *bound)
{
    cz_json *json = &r->json;
    const bool is_of_links = cz_time_bound_is_of_links(kind);
    cz_json_open(json, NULL, '{');
    cz_json_string(json, "name", cz_time_bound_name(kind));
    cz_json_string(json, "of", is_of_links ? "links" : "kernels");
    cz_json_int(json, "value", bound->value_ps);
    cz_json_optional(json, "plan", plan_value(r, kind));
    cz_json_optional(json, "witness", bound->param);
    cz_json_int(json, "ranks", bound->n_ranks);
    cz_json_int(json, "bytes", bound->bytes);
    put_prices(r, bound);
    put_admits(r, kind);
    cz_json_close(json);
}

static void put_bounds(cz_report *r)
{
    cz_json_open(&r->json, "bounds", '[');
    if (r->has_machine) {
        const cz_time_bounds bounds = cz_time_bounds_find(
            r->arena, r->view, &r->machine, r->times, &r->forms);
        for (int k = 0; k < CZ_TIME_N_BOUNDS; k++)
            put_bound(r, (cz_time_bound_kind)k, &bounds.of[k]);
    }
    cz_json_close(&r->json);
}

static void put_longest_update(cz_report *r)
{
    cz_json *json = &r->json;
    cz_update_time time;
    if (!r->has_machine ||
        !cz_update_time_find(r->arena, r->view, r->times, &time)) {
        cz_json_string(json, "longest_update", NULL);
        return;
    }
    cz_json_open(json, "longest_update", '{');
    cz_json_int(json, "first", time.first);
    cz_json_int(json, "updates", time.n);
    cz_json_int(json, "time_ps", time.most_ps);
    cz_json_int(json, "together_ps", time.together_ps);
    cz_json_close(json);
}

void cz_report_put_metrics(cz_report *r)
{
    cz_json *json = &r->json;
    const cz_rank_load load = cz_rank_load_of(r->rank_ps, r->view->n_ranks);
    cz_json_open(json, "metrics", '{');
    put_member(r, "flops", offsetof(cz_rank_metrics, flops));
    cz_json_ints(json, "time_ps", r->rank_ps, r->view->n_ranks);
    put_member(r, "matrices", offsetof(cz_rank_metrics, n_matrices));
    put_member(r, "updates", offsetof(cz_rank_metrics, n_updates));
    put_wire(r, "sent_bytes", true);
    put_wire(r, "received_bytes", false);
    put_trainer_wire(r);
    cz_json_int(&r->json, "gathered_gradient_bytes",
                cz_gradient_gather_bytes(r->view));
    cz_json_open(json, "memory_bytes", '{');
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        put_member(r, cz_memory_name((cz_memory)k),
                   offsetof(cz_rank_metrics, memory) +
                       (size_t)k * sizeof(int64_t));
    cz_json_close(json);
    put_member(r, "peak_scratch_bytes",
               offsetof(cz_rank_metrics, peak_scratch));
    if (r->view->batch_arena)
        put_batches(r);
    cz_json_ints(json, "max_over_mean",
                 (const int64_t[]){load.max_ps, load.sum_ps, r->view->n_ranks},
                 3);
    put_longest_update(r);
    put_bounds(r);
    cz_json_close(json);
}
