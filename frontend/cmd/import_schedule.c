/* canzona import: the schedule that it writes for the mesh that is asked for,
 * chosen by the iteration that `plan` simulates.  What `plan` chooses itself,
 * it does not write. */
#include "frontend/cmd/cmd.h"

#include "dsl/plan/build/build.h"
#include "frontend/document/number.h"
#include "frontend/import/import.h"

#include <inttypes.h>
#include <string.h>

enum {
    GAIN = 50, /* nothing is written unless it saves one part in */
    /* Of parameters, and of these times ranks: beyond them a plan takes
     * seconds, and none is made. */
    MOST_PARAMS = 4096,
    MOST_WORK = 1 << 19
};

/* Clauses that `plan` does not choose where a schedule leaves them out. */
static const struct choice {
    const char *define, *clause;
} choices[] = {{"schedule.geometry=padded", "geometry padded"},
               {"schedule.geometry=equal", "geometry equal"},
               {"schedule.form=gram", "form gram"},
               {"schedule.layout=trainer", "layout trainer"}};

enum { N_CHOICES = sizeof choices / sizeof *choices };

/* A plan of the text, with one clause or none. */
typedef struct planned {
    int64_t iteration, tokens; /* picoseconds; 0: there is no plan */
    const char *machine;
} planned;

static cz_cmd_options options_of(const cz_import *convert, const cz_text *text,
                                 const char **define)
{
    return (cz_cmd_options){.command = &cz_command_plan,
                            .input = convert->output ? convert->output
                                                     : "imported.cz",
                            .text = text,
                            .defines = define,
                            .n_defines = *define ? 1 : 0,
                            .target = "cpu",
                            .no_baselines = true};
}

/* Import says nothing of what is wrong with a plan. */
static void close_unheard(cz_job *job)
{
    cz_diags_init(&job->diags, &job->arena);
    cz_job_close(job);
}

/* Parameters times ranks; INT64_MAX: too many, or nobody knows. */
static int64_t work_of(const cz_import *convert, const cz_text *text)
{
    const char *allowed[] = {convert->input}, *define = NULL;
    cz_cmd_options options = options_of(convert, text, &define);
    int64_t work = INT64_MAX;
    const cz_plan_view *view = NULL;
    cz_job job;

    options.allowed = (cz_allowed){.paths = allowed, .n = 1};
    if (cz_job_open(&job, &options, CZ_JOB_LOWERED) == CZ_EXIT_OK)
        view = cz_plan_view_build(&job.arena, job.ir, &job.diags);
    if (view && view->n_params <= MOST_PARAMS)
        work = (int64_t)view->n_params * view->n_ranks;
    close_unheard(&job);
    return work;
}

static planned plan(const cz_import *convert, const cz_text *text,
                    const char *define)
{
    const char *allowed[] = {convert->input};
    cz_cmd_options options = options_of(convert, text, &define);
    planned out = {0};
    cz_job job;

    options.allowed = (cz_allowed){.paths = allowed, .n = 1};
    if (cz_job_open(&job, &options, CZ_JOB_PLANNED) == CZ_EXIT_OK) {
        const cz_report_iteration *iteration =
            cz_cmd_report_iteration(&job, &options);
        if (iteration)
            out = (planned){.iteration = iteration->times.iteration,
                            .tokens = iteration->tokens,
                            .machine = cz_arena_printf(
                                convert->arena, "%s", job.view->machine->name)};
    }
    close_unheard(&job);
    return out;
}

static const char *time_of(cz_arena *arena, int64_t ps)
{
    return cz_arena_printf(arena, "%s", cz_number_time(ps).text);
}

/* "# geometry padded 2.36 s, form gram 2.29 s", of those that were planned and
 * are not written. */
static void put_others(cz_arena *arena, const planned *others, int best,
                       cz_text *out)
{
    int n = 0;

    for (int i = 0; i < N_CHOICES; i++) {
        if (i == best || others[i].iteration == 0)
            continue;
        cz_text_printf(out, "%s%s %s", n++ ? ", " : "# With ",
                       choices[i].clause, time_of(arena, others[i].iteration));
    }
    cz_text_puts(out, n ? ".\n" : "");
}

static void put_why(cz_arena *arena, const planned *first,
                    const planned *others, int best, cz_text *out)
{
    cz_text_printf(out,
                   "\n# An iteration of %" PRId64
                   " tokens on %s takes %s without a schedule: `plan` "
                   "chooses\n# buckets, their order, owners and subgroups.",
                   first->tokens, first->machine,
                   time_of(arena, first->iteration));
    if (best < 0)
        cz_text_puts(out, "  No clause saves 2 %.\n");
    else
        cz_text_printf(out, "  With `%s` it takes %s.\n", choices[best].clause,
                       time_of(arena, others[best].iteration));
    put_others(arena, others, best, out);
    if (best >= 0)
        cz_text_printf(out, "schedule {\n    %s\n}\n", choices[best].clause);
}

void cz_cmd_import_schedule(const cz_import *convert, cz_text *text)
{
    planned first = {0}, others[N_CHOICES] = {{0}};
    int best = -1;

    if (work_of(convert, text) <= MOST_WORK)
        first = plan(convert, text, NULL);
    if (first.iteration == 0) {
        cz_text_puts(text,
                     "\n# No iteration was simulated: `canzona plan` says "
                     "how long one takes on this mesh.\n");
        return;
    }
    for (int i = 0; i < N_CHOICES; i++)
        others[i] = plan(convert, text, choices[i].define);
    for (int i = 0; i < N_CHOICES; i++) {
        const int64_t least =
            best < 0 ? first.iteration : others[best].iteration;
        if (others[i].iteration > 0 &&
            others[i].iteration < least - least / GAIN)
            best = i;
    }
    put_why(convert->arena, &first, others, best, text);
}
