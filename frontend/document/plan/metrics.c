/* What a plan costs, rank by rank, as JSON. */
#include "frontend/document/plan/internal.h"

#include "dsl/base/checked.h"
#include "passes/cost/gradient_gather.h"
#include "passes/bound/time_bounds.h"
#include "passes/cost/trainer_wire.h"
#include "passes/cost/update_time.h"

static const char *step_name(cz_step_kind kind)
{
    static const char *const names[CZ_N_STEPS] = {
#define CZ_STEP(tag, name, what) name,
#include "dsl/vocab/step.def"
#undef CZ_STEP
    };
    return names[kind];
}

/* One number of every rank. */
typedef int64_t (*figure)(const cz_report *, int rank, int kind);

static int64_t flops_of(const cz_report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].flops;
}

static int64_t time_of(const cz_report *r, int rank, int kind)
{
    (void)kind;
    return r->rank_ps[rank];
}

static int64_t matrices_of(const cz_report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].n_matrices;
}

static int64_t updates_of(const cz_report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].n_updates;
}

static int64_t sum_of_kind(const cz_report *r, const int64_t *bytes, int kind)
{
    int64_t sum = 0;
    for (int i = 0; i < r->view->n_ops; i++)
        if ((int)r->view->ops[i].kind == kind)
            sum += bytes[i];
    return sum;
}

static int64_t sent_of(const cz_report *r, int rank, int kind)
{
    return sum_of_kind(r, r->metrics->ranks[rank].sent, kind);
}

static int64_t received_of(const cz_report *r, int rank, int kind)
{
    return sum_of_kind(r, r->metrics->ranks[rank].received, kind);
}

static int64_t memory_of(const cz_report *r, int rank, int kind)
{
    return r->metrics->ranks[rank].memory[kind];
}

static int64_t peak_of(const cz_report *r, int rank, int kind)
{
    (void)kind;
    return r->metrics->ranks[rank].peak_scratch;
}

static int64_t batches_of(const cz_report *r, int rank, int kind)
{
    const cz_fact_batch_arena *arena = r->view->batch_arena;
    (void)kind;
    return arena->bytes.v[cz_view_coordinate(r->view, &arena->selector, rank)];
}

static void put_figure(cz_report *r, const char *key, figure value, int kind)
{
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '[');
    for (int rank = 0; rank < r->metrics->n_ranks; rank++)
        cz_json_int(&r->json, value(r, rank, kind));
    cz_json_close(&r->json, ']');
}

static void put_wire(cz_report *r, const char *key, figure value)
{
    static const cz_step_kind kinds[] = {CZ_STEP_REDUCE_SCATTER,
                                         CZ_STEP_ALL_GATHER, CZ_STEP_TRANSFER,
                                         CZ_STEP_GROUP_SUM};
    cz_json_key(&r->json, key);
    cz_json_open(&r->json, '{');
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        put_figure(r, step_name(kinds[i]), value, (int)kinds[i]);
    cz_json_close(&r->json, '}');
}

static void put_trainer_wire(cz_report *r)
{
    const cz_trainer_wire wire = cz_trainer_wire_find(r->view);
    cz_json_key(&r->json, "trainer_bytes");
    cz_json_open(&r->json, '{');
    cz_json_put_int(&r->json, "gradients", wire.gradient_bytes);
    cz_json_put_int(&r->json, "parameters", wire.parameter_bytes);
    cz_json_close(&r->json, '}');
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
    const int64_t *groups = cz_forms_admitted(r->arena, &r->forms, &n);
    cz_json_put_ints(&r->json, "admits", groups,
                     cz_time_bound_is_of_links(kind) ? 0 : n);
}

static void put_prices(cz_report *r, const cz_time_bound *bound)
{
    cz_json *json = &r->json;
    cz_json_key(json, "prices");
    if (!bound->prices) {
        cz_json_null(json);
        return;
    }
    cz_json_open(json, '{');
    cz_json_put_ints(json, "classes", bound->prices, r->forms.n_classes);
    cz_json_put_int(json, "elements", bound->elements_price);
    cz_json_close(json, '}');
}

static void put_bound(cz_report *r, cz_time_bound_kind kind,
                      const cz_time_bound *bound)
{
    cz_json *json = &r->json;
    const bool is_of_links = cz_time_bound_is_of_links(kind);
    cz_json_open(json, '{');
    cz_json_put_string(json, "name", cz_time_bound_name(kind));
    cz_json_put_string(json, "of", is_of_links ? "links" : "kernels");
    cz_json_put_int(json, "value", bound->value_ps);
    cz_json_put_optional(json, "plan", plan_value(r, kind));
    cz_json_put_optional(json, "witness", bound->param);
    cz_json_put_int(json, "ranks", bound->n_ranks);
    cz_json_put_int(json, "items", bound->n_items);
    cz_json_put_int(json, "bytes", bound->bytes);
    put_prices(r, bound);
    put_admits(r, kind);
    cz_json_close(json, '}');
}

static void put_bounds(cz_report *r)
{
    cz_json_key(&r->json, "bounds");
    cz_json_open(&r->json, '[');
    if (r->has_machine) {
        const cz_time_bounds bounds = cz_time_bounds_find(
            r->arena, r->view, &r->machine, r->times, &r->forms);
        for (int k = 0; k < CZ_TIME_N_BOUNDS; k++)
            put_bound(r, (cz_time_bound_kind)k, &bounds.of[k]);
    }
    cz_json_close(&r->json, ']');
}

static void put_longest_update(cz_report *r)
{
    cz_json *json = &r->json;
    cz_update_time time;
    cz_json_key(json, "longest_update");
    if (!r->has_machine ||
        !cz_update_time_find(r->arena, r->view, r->times, &time)) {
        cz_json_null(json);
        return;
    }
    cz_json_open(json, '{');
    cz_json_put_int(json, "first", time.first);
    cz_json_put_int(json, "updates", time.n);
    cz_json_put_int(json, "time_ps", time.most_ps);
    cz_json_put_int(json, "together_ps", time.together_ps);
    cz_json_close(json, '}');
}

void cz_report_put_metrics(cz_report *r)
{
    cz_json *json = &r->json;
    const cz_rank_load load = cz_rank_load_of(r->rank_ps, r->view->n_ranks);
    cz_json_key(json, "metrics");
    cz_json_open(json, '{');
    put_figure(r, "flops", flops_of, 0);
    put_figure(r, "time_ps", time_of, 0);
    put_figure(r, "matrices", matrices_of, 0);
    put_figure(r, "updates", updates_of, 0);
    put_wire(r, "sent_bytes", sent_of);
    put_wire(r, "received_bytes", received_of);
    put_trainer_wire(r);
    cz_json_put_int(&r->json, "gathered_gradient_bytes",
                    cz_gradient_gather_bytes(r->view));
    cz_json_key(json, "memory_bytes");
    cz_json_open(json, '{');
    for (int k = 0; k < CZ_N_MEMORIES; k++)
        put_figure(r, cz_memory_name((cz_memory)k), memory_of, k);
    cz_json_close(json, '}');
    put_figure(r, "peak_scratch_bytes", peak_of, 0);
    if (r->view->batch_arena)
        put_figure(r, "batch_bytes", batches_of, 0);
    cz_json_put_ints(
        json, "max_over_mean",
        (const int64_t[]){load.max_ps, load.sum_ps, r->view->n_ranks}, 3);
    put_longest_update(r);
    put_bounds(r);
    cz_json_close(json, '}');
}
