/* run --check: independent answers to compare a run with.  Private to
 * frontend/cmd/run. */
#ifndef CZ_FRONTEND_CMD_RUN_INTERNAL_H
#define CZ_FRONTEND_CMD_RUN_INTERNAL_H

#include "dsl/reference/reference.h"
#include "frontend/cmd/cmd.h"
#include "frontend/run/run.h"

/* The same source on one rank must give the same bits, unless values alone are
 * asked for or the plan is from IR, which has no other mesh; ranks that have
 * the same tensor must have the same; the float64 interpreter of the math form
 * must agree within the bound that is printed; the engine's counters must equal
 * the plan's.  Prints a line for each that holds and reports what does not. */
bool cz_run_check(cz_job *job, const cz_cmd_options *given,
                  const cz_run_request *request, const cz_run_result *result);

/* By name, parameter before states: meshes number parameters in orders of their
 * own.  Lives in the job's arena. */
const cz_run_tensor *cz_run_sorted(cz_job *job, const cz_run_result *result);

/* ---- tensors of files ---- */

/* What --in names, closed by the caller.  False after reporting the first
 * tensor that is missing, of another shape or type than the plan's, or
 * nobody's. */
bool cz_run_take(cz_job *job, const cz_cmd_options *given, cz_tensors *out);
/* A line: of how many bytes results are, and a number that tells them from
 * others.  False after reporting a parameter that is not finite. */
bool cz_run_print_sum(cz_job *job, const cz_run_result *result);
/* Whether --out names what may be written, before there is anything. */
bool cz_run_may_write(cz_job *job, const cz_cmd_options *given);
/* Parameters and states to what --out names.  False after reporting. */
bool cz_run_write_results(cz_job *job, const cz_cmd_options *given,
                          const cz_run_result *result);

/* ---- the float64 interpreter on whole tensors ---- */

/* Repeat the run for one parameter of every rule, the first of its kind, by
 * the interpreter of math form, and compare what became of it.  Prints the
 * largest error and its bound; reports an error beyond it.  Rules whose
 * repetition would cost more than a few seconds are counted and left out. */
bool cz_run_reference(cz_job *job, const cz_run_request *request,
                      const cz_run_result *result);

/* ---- the interpreter beside a run, update after update ---- */

/* One parameter on its way through the steps. */
typedef struct cz_repetition {
    cz_job *job;
    const cz_run_request *request;
    const cz_run_result *result;
    const cz_run_result *after; /* [steps - 1] the run after each step but the
                                 * last; NULL: states are its own */
    cz_arena arena;
    int rule, param, n_states;
    int64_t n;
    double *first, *value, *grad;
    double **states;
    double
        *roundings;  /* [n_states] norms of what rounding may add in one call */
    double rounding; /* of what it may add to the parameter in all calls */
    float *sample, *microbatch;
} cz_repetition;

/* Whether a rule has factorisations. */
bool cz_calls_have_factors(const cz_plan_view *view, int rule);

/* How many updates the interpreter computes for one of a rule's. */
int cz_calls_per_update(const cz_plan_view *view, int rule);

/* The run's results after 1, 2, ... steps, all but the last; NULL: no rule
 * needs them, or they would take long, or a run failed.  Lives in the job's
 * arena. */
const cz_run_result *cz_calls_run_shorter(cz_job *job,
                                          const cz_run_request *request);

/* One update from where the repetition stands: with the run's states from
 * where each is computed, if it knows them; adds to roundings, too. */
void cz_calls_take(cz_repetition *r, int step, const cz_reference_call *call);

/* Compares states after a step with the run's, and goes on with these.  False,
 * and an error, if one is beyond the bound. */
bool cz_calls_take_over(cz_repetition *r, int step, double bound);

#endif
