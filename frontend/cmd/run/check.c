/* run --check: one rank's bits, the interpreter's values, the plan's counts. */
#include "frontend/cmd/run/internal.h"

#include "dsl/plan/metrics.h"
#include "frontend/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool fail(cz_job *job, const char *sentence)
{
    cz_diag_error(&job->diags, CZ_CHECK_FAILED, (cz_span){0}, "%s", sentence);
    return false;
}

/* ---- one rank ---- */

static const char *tensor_name(cz_job *job, const cz_run_tensor *tensor)
{
    return tensor->state ? cz_arena_printf(&job->arena, "state %s of %s",
                                           tensor->state, tensor->name)
                         : tensor->name;
}

static int by_name(const void *left, const void *right)
{
    const cz_run_tensor *a = left, *b = right;
    const int order = strcmp(a->name, b->name);

    if (order)
        return order;
    return strcmp(a->state ? a->state : "", b->state ? b->state : "");
}

const cz_run_tensor *cz_run_sorted(cz_job *job, const cz_run_result *result)
{
    const size_t n = (size_t)result->n_tensors;
    cz_run_tensor *list = CZ_NEW(&job->arena, cz_run_tensor, n + 1);

    memcpy(list, result->tensors, n * sizeof *list);
    qsort(list, n, sizeof *list, by_name);
    return list;
}

static bool same_bits(cz_job *job, const cz_run_result *many,
                      const cz_run_result *one, const char *where)
{
    const cz_run_tensor *ours = cz_run_sorted(job, many);
    const cz_run_tensor *theirs = cz_run_sorted(job, one);
    int64_t bytes = 0;

    if (many->n_tensors != one->n_tensors)
        return fail(job, "one rank has other tensors than many");
    for (int i = 0; i < many->n_tensors; i++) {
        const cz_run_tensor *a = &ours[i], *b = &theirs[i];
        if (by_name(a, b) != 0)
            return fail(job, "one rank has other tensors than many");
        if (a->n_bytes != b->n_bytes ||
            memcmp(a->bytes, b->bytes, (size_t)a->n_bytes) != 0)
            return fail(job,
                        cz_arena_printf(&job->arena,
                                        "%s has other bits than on one rank",
                                        tensor_name(job, a)));
        bytes += a->n_bytes;
    }
    printf("bits      equal to one rank's%s: %d tensors, %" PRId64 " bytes\n",
           where, many->n_tensors, bytes);
    return true;
}

static bool check_replicas(cz_job *job, const cz_run_result *result)
{
    return !result->replica_mismatches ||
           fail(job, "ranks that hold the same tensor differ");
}

/* On a thread, also where many ranks are on a GPU. */
static bool check_one_rank(cz_job *job, const cz_cmd_options *given,
                           const cz_run_request *request,
                           const cz_run_result *result)
{
    cz_cmd_options one = *given;
    cz_run_request again = *request;
    cz_run_result alone;
    cz_loaded loaded;
    cz_job reference;
    bool ok = false;

    if (job->is_ir) {
        puts(
            "bits      ranks that hold the same tensor have the same; one rank "
            "is not compared, since only a source has a plan for it");
        return true;
    }
    one.text = &job->text;
    one.one_rank = true;
    one.target = "cpu";
    again.progress = NULL;
    again.planted = false;
    again.gpu = NULL;
    again.world = NULL;
    if (cz_job_open(&reference, &one, CZ_JOB_PLANNED) == CZ_EXIT_OK &&
        cz_loaded_open(reference.view, reference.plan_hash, &reference.diags,
                       &loaded)) {
        again.view = reference.view;
        again.program = loaded.program;
        ok = cz_run_ranks(&again, &reference.arena, &alone) == CZR_OK;
        ok = ok ? same_bits(job, result, &alone,
                            request->gpu ? " on a thread" : "")
                : fail(job, alone.error);
        cz_loaded_close(&loaded);
    }
    cz_job_close(&reference);
    return ok;
}

/* ---- the plan's counts ---- */

static bool wrong_count(cz_job *job, int64_t rank, const char *what,
                        int64_t counted, int64_t planned)
{
    return fail(job, cz_arena_printf(&job->arena,
                                     "rank %" PRId64 ", %s: %" PRId64
                                     " counted, %" PRId64 " planned",
                                     rank, what, counted, planned));
}

static bool check_ops(cz_job *job, const cz_rank_metrics *plan,
                      const cz_run_result *result, int64_t rank)
{
    const int n_ops = job->view->n_ops;

    for (int op = 0; op < n_ops; op++) {
        const int64_t sent = result->sent[rank * n_ops + op];
        const int64_t received = result->received[rank * n_ops + op];
        if (sent != plan->op_sent[op])
            return wrong_count(job, rank, "bytes sent", sent,
                               plan->op_sent[op]);
        if (received != plan->op_received[op])
            return wrong_count(job, rank, "bytes received", received,
                               plan->op_received[op]);
    }
    return true;
}

static bool check_updates(cz_job *job, const cz_rank_metrics *plan,
                          const cz_run_result *result, int64_t rank)
{
    const int n_params = job->view->n_params;

    for (int p = 0; p < n_params; p++) {
        const int64_t at = rank * n_params + p;
        if (result->updates[at] != plan->updates[p])
            return wrong_count(job, rank, job->view->params[p].name,
                               result->updates[at], plan->updates[p]);
        if (result->full_matrix[at] != plan->full_matrix[p])
            return wrong_count(job, rank, job->view->params[p].name,
                               result->full_matrix[at], plan->full_matrix[p]);
    }
    return true;
}

/* Whether so many updates have been in each phase of each parameter's rule. */
static bool are_all_phases(const cz_plan_view *view, int64_t steps)
{
    for (int p = 0; p < view->n_params; p++) {
        const cz_view_param *param = &view->params[p];
        const cz_view_rule *rule =
            &view->rules[view->patterns[param->pattern].rule];
        uint32_t seen = 0;
        int n_seen = 0;
        for (int64_t t = 1; t <= steps && n_seen < rule->n_phases; t++) {
            const int phase = cz_view_phase_at(rule, param->stagger_offset, t);
            n_seen += (seen >> phase & 1U) == 0;
            seen |= (uint32_t)1 << phase;
        }
        if (n_seen < rule->n_phases)
            return false;
    }
    return true;
}

/* Which have memory of their own for what others use in turn. */
static bool has_batches(const cz_run_request *request)
{
    return request->gpu && request->cuda->batches;
}

/* Memory is there for all phases: what others alone need stays untouched.  So
 * is what sums of a product would need where a library makes the result itself.
 */
static bool touches_all_scratch(const cz_job *job,
                                const cz_run_request *request, int64_t steps)
{
    return are_all_phases(job->view, steps) && !has_batches(request) &&
           job->view->program->strict;
}

static bool is_peak(const cz_job *job, const cz_run_request *request,
                    int64_t steps, int64_t counted, int64_t planned)
{
    return touches_all_scratch(job, request, steps) ? counted == planned
                                                    : counted <= planned;
}

/* A GPU counts what was put on its streams, steps that it skipped, too. */
static bool has_counted_more(const cz_run_request *request,
                             const cz_run_result *result)
{
    return request->gpu && result->last.step < request->steps;
}

static bool check_counters(cz_job *job, const cz_run_request *request,
                           const cz_run_result *result)
{
    const int64_t steps = result->last.step;

    if (has_counted_more(request, result)) {
        puts("counters  not compared: those of a GPU have skipped steps, too");
        return true;
    }
    for (int rank = 0; rank < job->view->n_ranks; rank++) {
        const cz_rank_metrics mine =
            cz_metrics_rank(&job->arena, job->view, rank, steps);
        if (!check_ops(job, &mine, result, rank) ||
            !check_updates(job, &mine, result, rank))
            return false;
        if (steps && !is_peak(job, request, steps, result->peak_scratch[rank],
                              mine.peak_scratch))
            return wrong_count(job, rank, "peak scratch bytes",
                               result->peak_scratch[rank], mine.peak_scratch);
    }
    if (result->allocations)
        return fail(job, "the runtime allocated inside a step");
    printf("counters  equal to the plan's: updates, bytes sent and received%s; "
           "no allocation in a step\n",
           touches_all_scratch(job, request, steps) ? ", scratch"
                                                    : ", scratch no more");
    return true;
}

bool cz_run_check(cz_job *job, const cz_cmd_options *given,
                  const cz_run_request *request, const cz_run_result *result)
{
    /* all speak, whatever the first says */
    const bool has_bits =
        check_replicas(job, result) &&
        (given->of_values || check_one_rank(job, given, request, result));
    const bool has_counts = check_counters(job, request, result);
    const bool has_values = cz_run_reference(job, request, result);

    return has_bits && has_counts && has_values;
}
