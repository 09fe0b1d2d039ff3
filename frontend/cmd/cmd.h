/* The command line: options, commands, the job they share, and what several of
 * them do.  The driver (frontend/cmd) is the one place that sees every layer.
 */
#ifndef CZ_FRONTEND_CMD_CMD_H
#define CZ_FRONTEND_CMD_CMD_H

#include "dsl/base/diag.h"
#include "dsl/base/text.h"
#include "dsl/ir/ir.h"
#include "dsl/plan/document.h"
#include "dsl/plan/metrics.h"
#include "dsl/plan/plan.h"
#include "frontend/program/machine.h"
#include "frontend/report/report.h"
#include "frontend/rule/rule.h"
#include "passes/cost/machine.h"
#include "passes/simulate/simulate.h"

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

/* ---- processor time, for --time ---- */

/* In the order in which they run.  CZ_CLOCK(enum, name) */
#define CZ_CLOCKS(X)                                                           \
    X(FRONT, "front end")                                                      \
    X(OWNERS, "owners")                                                        \
    X(SCHEDULE, "schedule")                                                    \
    X(VIEW, "plan view")                                                       \
    X(CHOICE, "choice")                                                        \
    X(VERIFIER, "verifier")                                                    \
    X(HASH, "hash")                                                            \
    X(REPORT, "report")

typedef enum cz_clock {
#define CZ_CLOCK(tag, name) CZ_CLOCK_##tag,
    CZ_CLOCKS(CZ_CLOCK)
#undef CZ_CLOCK
        CZ_N_CLOCKS
} cz_clock;

typedef struct cz_clocks {
    clock_t since; /* when the part that runs now began */
    clock_t ticks[CZ_N_CLOCKS];
} cz_clocks;

/* Everything is zero, and a part begins now. */
void cz_clocks_begin(cz_clocks *clocks);
/* What was done since the last call was of this clock. */
void cz_clocks_end(cz_clocks *clocks, cz_clock clock);
/* A line for each part and one for their sum, in seconds. */
void cz_clocks_print(const cz_clocks *clocks, cz_text *out);

/* ---- options and commands ---- */

/* Exit statuses. */
enum {
#define CZ_EXIT(status, name, meaning) CZ_EXIT_##name = status,
#include "frontend/cmd/exit.def"
#undef CZ_EXIT
};

/* How diagnostics are written. */
typedef enum cz_diagnostics_form {
    CZ_DIAGNOSTICS_TEXT,
    CZ_DIAGNOSTICS_JSON,
    CZ_DIAGNOSTICS_SARIF
} cz_diagnostics_form;

/* What a simulation can be told, as it was written. */
typedef enum cz_setting {
    CZ_SETTING_MACHINE,
    CZ_SETTING_TOKENS,
    CZ_SETTING_MFU,
    CZ_SETTING_ACTIVE,
    CZ_SETTING_SEQUENCE,
    CZ_SETTING_GPUS, /* of tune, as is the next one */
    CZ_SETTING_MEMORY,
    CZ_SETTING_E,
    CZ_SETTING_CONTENTION,
    CZ_SETTING_JITTER,
    CZ_SETTING_STRAGGLERS,
    CZ_N_SETTINGS
} cz_setting;

/* Above all keys of options. */
enum { CZ_N_KEYS = 320 };

typedef struct cz_cmd_options {
    const struct cz_command *command;
    const char *input; /* the first of them */
    const char **inputs;
    int n_inputs;
    const char **defines;
    int n_defines;
    cz_allowed allowed; /* of --allow-path */
    bool one_rank;      /* every axis of the mesh is 1; no option sets it */
    const char *output;
    const char *ir; /* NULL: none; "scheduled", "assigned", "source" */
    const char *html, *trace; /* of a plan: files to write */
    const char *in, *out;     /* of a run: tensors */
    const char *as;           /* of help: for whom */
    const char *target;
    const char *world;            /* NULL: what the target's ranks run in */
    const char *mesh, *optimizer; /* of an import */
    bool json, check, print_cflags, strict, late, planted, in_place, expand;
    bool no_baselines, time, legend;
    const char *explain; /* NULL: not asked for; "": no part of it */
    bool force;          /* an output replaces what nobody has generated */
    bool of_values;      /* a run's check, of the plan that `build` makes */
    bool diagnostics_are_output; /* JSON and SARIF to stdout, not stderr */
    bool rules_alone;            /* a file of rules alone will do */
    cz_diagnostics_form diagnostics;
    int64_t steps, seed, microbatches;
    const cz_text *text; /* what `input` holds, where it was read already */
    const char *settings[CZ_N_SETTINGS]; /* of simulate; NULL: not given */
    const char *values[CZ_N_KEYS]; /* of options that have one, the last; NULL:
                                    * not given */
} cz_cmd_options;

/* Option keys beyond characters. */
enum {
    CZ_KEY_JSON = 256,
    CZ_KEY_IR,
    CZ_KEY_TARGET,
    CZ_KEY_CFLAGS,
    CZ_KEY_STRICT,
    CZ_KEY_STEPS,
    CZ_KEY_SEED,
    CZ_KEY_MICROBATCHES,
    CZ_KEY_CHECK,
    CZ_KEY_EXPAND,
    CZ_KEY_LATE,
    CZ_KEY_WORLD,
    CZ_KEY_PLANT,
    CZ_KEY_DIAGNOSTICS,
    CZ_KEY_MESH,
    CZ_KEY_OPTIMIZER,
    CZ_KEY_NO_BASELINES,
    CZ_KEY_TIME,
    CZ_KEY_HTML,
    CZ_KEY_TRACE,
    CZ_KEY_EXPLAIN,
    CZ_KEY_LEGEND,
    CZ_KEY_FORCE,
    CZ_KEY_ALLOW_PATH,
    CZ_KEY_AS,
    CZ_KEY_IN,
    CZ_KEY_OUT,
    CZ_KEY_STDIO,
    CZ_KEY_SETTING /* the first cz_setting; the others behind it */
};

typedef struct cz_command {
    const char *name, *summary;
    const struct argp_option *options;
    const char *doc; /* what it does; behind \v the example */
    int (*run)(const cz_cmd_options *options);
    const char *operands; /* FILE, "FILE..." any number, "[NAME]" one or none,
                           * "" none */
} cz_command;

extern const cz_command cz_command_check, cz_command_plan, cz_command_build,
    cz_command_run, cz_command_verify, cz_command_fmt, cz_command_import,
    cz_command_simulate, cz_command_tune, cz_command_diff, cz_command_trace,
    cz_command_doc, cz_command_explain, cz_command_lsp, cz_command_help;

/* Behind the last option of a list. */
static inline bool cz_option_is_end(const struct argp_option *option)
{
    return !option->name && !option->key && !option->doc;
}

/* All of them, in the order of the usage; NULL ends. */
extern const cz_command *const cz_commands[];

/* NULL: there is none of that name. */
const cz_command *cz_command_find(const char *name);
/* Two lines on stderr: in `where` there is no such `what`, which was meant
 * (NULL: who knows), and which command lists them. */
void cz_cmd_refuse_name(const char *where, const char *what, const char *name,
                        const char *nearest, const char *list);
/* The same of a command. */
void cz_command_refuse(const char *name);
/* What is printed for --help, of one command and of canzona. */
void cz_command_print_help(const cz_command *command);
void cz_commands_print_usage(FILE *out);
/* False after refusing an option that the command has not, and has one near to.
 * All others are left to argp. */
bool cz_command_accepts(const cz_command *command, int argc, char **argv);

#define CZ_OPTION_ALLOW_PATH                                                   \
    {                                                                          \
        "allow-path", CZ_KEY_ALLOW_PATH, "DIR", 0,                             \
            "Let the source name files under DIR, or DIR if it is a file, "    \
            "besides those under its own folder; also several",                \
            0                                                                  \
    }

/* Of what is compiled. */
#define CZ_OPTIONS_SOURCE                                                      \
    {"define",                                                                 \
     'D',                                                                      \
     "NAME=VALUE",                                                             \
     0,                                                                        \
     "Set a value of the source, as mesh.dp=4, lr=1e-3 or memory=80GB",        \
     0},                                                                       \
        CZ_OPTION_ALLOW_PATH

/* Of an iteration that is simulated. */
#define CZ_OPTIONS_ITERATION                                                   \
    {"tokens",                                                                 \
     CZ_SETTING_KEY(TOKENS),                                                   \
     "N",                                                                      \
     0,                                                                        \
     "Tokens of an iteration, over all ranks, as 4M (what the schedule says, " \
     "else 1048576)",                                                          \
     0},                                                                       \
        {"mfu",                                                                \
         CZ_SETTING_KEY(MFU),                                                  \
         "PERCENT",                                                            \
         0,                                                                    \
         "Of the machine's bf16 rate that forward and backward reach (45)",    \
         0},                                                                   \
    {                                                                          \
        "e", CZ_SETTING_KEY(E), "PERCENT", 0,                                  \
            "Of a link that reductions and gathers of unequal slices reach "   \
            "(as the "                                                         \
            "machine says, else 100)",                                         \
            0                                                                  \
    }

#define CZ_OPTION_DIAGNOSTICS                                                  \
    {                                                                          \
        "diagnostics", CZ_KEY_DIAGNOSTICS, "FORM", 0,                          \
            "Write errors as text (default), json or sarif; to standard "      \
            "error, but json and sarif of `check` to standard output",         \
            0                                                                  \
    }

#define CZ_OPTION_STRICT                                                       \
    {                                                                          \
        "strict", CZ_KEY_STRICT, NULL, 0, "Bit-equal to one rank on any mesh", \
            0                                                                  \
    }
#define CZ_OPTION_MICROBATCHES                                                 \
    {                                                                          \
        "microbatches", CZ_KEY_MICROBATCHES, "N", 0,                           \
            "Gradients of one step, over all ranks, which a strict plan adds " \
            "up one by one (default 12)",                                      \
            0                                                                  \
    }
#define CZ_OPTION_FORCE                                                        \
    {                                                                          \
        "force", CZ_KEY_FORCE, NULL, 0,                                        \
            "Overwrite a file that canzona has not generated (never FILE "     \
            "itself)",                                                         \
            0                                                                  \
    }

/* --ir=after:PASS, and how the module that it prints begins. */
#define CZ_AFTER "after:"
#define CZ_BEHIND_PASS "// behind the pass "

/* How far a job goes. */
typedef enum cz_job_goal {
    CZ_JOB_LOWERED,  /* front end only */
    CZ_JOB_AFTER,    /* up to the pass that --ir=after:PASS names */
    CZ_JOB_ASSIGNED, /* owners and buckets */
    CZ_JOB_PLANNED   /* scheduled and verified */
} cz_job_goal;

typedef struct cz_job {
    cz_rules_checked rules; /* where they were checked alone */
    cz_diagnostics_form diagnostics;
    bool diagnostics_are_output;
    cz_arena arena;
    cz_diags diags;
    cz_text text; /* of the input, which is read once */
    bool is_ir;   /* ... and is IR, not a source */
    cz_ir *ir;
    cz_ir *source;             /* before any pass; NULL where it came planned */
    const cz_plan_view *view;  /* of the planned module */
    const cz_metrics *metrics; /* of the view; NULL: nobody has asked */
    char plan_hash[65];        /* SHA-256 of the printed module, hex */
    cz_report_iteration iteration; /* without tokens: nobody has asked */
    cz_clocks clocks;              /* processor time so far */
} cz_job;

/* Read the input (.cz, or IR that `plan --ir` printed), and take it to the
 * goal.  Returns an exit status; cz_job_close() prints what there is to say
 * in any case. */
int cz_job_open(cz_job *job, const cz_cmd_options *options, cz_job_goal goal);
/* What the plan has ranks do, counted when it is asked for first. */
const cz_metrics *cz_job_metrics(cz_job *job);
/* The exit status that the diagnostics ask for. */
int cz_job_status(const cz_job *job);
/* Write diagnostics in the form and to the stream that the options ask for,
 * and let everything go. */
void cz_job_close(cz_job *job);
/* Diagnostics as text to stderr, in colour on a terminal unless NO_COLOR. */
void cz_print_diagnostics(const cz_diags *diags);

/* ---- what commands share ---- */

/* A file that a command writes. */
typedef struct cz_output {
    const char *path; /* "-": standard output; a pipe or /dev/null will do */
    cz_text text;
} cz_output;

/* All of them appear, or none, and what was there survives any failure.  An
 * input is never overwritten, unless the options say in place, and without
 * --force only what says CZ_GENERATED, or is empty, or equal.  False after
 * reporting the file that is in the way. */
bool cz_cmd_write(const cz_cmd_options *given, cz_diags *diags,
                  const cz_output *outputs, int n);

struct cz_import;
/* What import writes behind a program: the clause of a schedule that shortens
 * the iteration by 2 % or more, if there is one, and in a comment why, with the
 * iterations of the others. */
void cz_cmd_import_schedule(const struct cz_import *convert, cz_text *text);

/* Whether that would be allowed to write there, for commands that take long.
 * False after reporting so. */
bool cz_cmd_may_write(const cz_cmd_options *given, cz_diags *diags,
                      const char *path);

/* False after reporting a matrix whose buffers are more than a micro-group may
 * have (`group`), or a rank that allocates more than it may (`memory`,
 * unless it is left alone), with the least change that helps (CZ_INFEASIBLE).
 */
bool cz_cmd_caps_keep(cz_arena *arena, const cz_plan_view *view,
                      bool keeps_memory, cz_diags *diags);

/* The first `n` characters of `name`; *is_gpu is set where it is a GPU's, and
 * stays else.  False: there is no such target, which `command` says. */
bool cz_target_take(const char *command, const char *name, size_t n,
                    bool *is_gpu);
/* Whether a list of them, with commas in between, has a GPU's. */
bool cz_target_has_gpu(const char *list);

/* A plan as JSON text, from whatever names one on the command line. */

/* FILE is what `plan --json` printed, or a source or IR, which is planned
 * first, with the options' -D.  An exit status; what is wrong is reported, or
 * printed where planning failed.  The caller owns the text. */
int cz_cmd_plan_text(const cz_cmd_options *given, const char *file,
                     cz_diags *diags, bool *is_json, cz_text *text);

/* What of a plan is looked at: its own JSON, read back, and one step of it. */

/* Of the predicted time of updates of matrices, what is left with `form gram`
 * on a GPU; 1: as much. */
double cz_cmd_gram_ratio(const cz_job *job);

/* The job's plan, which is done.  Everything belongs to the job's arena; NULL
 * after reporting what is wrong, as constants that it does not say. */
const cz_report_context *cz_cmd_report_context(cz_job *job,
                                               const cz_cmd_options *given);
/* Its training iteration, likewise; NULL also where the plan names no machine,
 * has more than 65536 ranks, or a replica of the model without a token. */
const cz_report_iteration *cz_cmd_report_iteration(cz_job *job,
                                                   const cz_cmd_options *given);

/* Of a module that no pass has seen, and its plan: whether other buckets, or
 * another order inside them, make an iteration at least 2 % shorter, or
 * shorter at all where a baseline's is by 0.05 %, and the schedule leaves them
 * free.
 * Then the module has them.  Nothing is tried within 2 % of the least of its
 * kernels or links, if no baseline is shorter, or on more than 2048 ranks.
 * The iteration of what is chosen is *out, if that was simulated. */
bool cz_cmd_choose(cz_ir *source, const char *name, const cz_plan_view *view,
                   cz_report_iteration *out);

/* The machine `name`, or that of the document where it is NULL, with n -D, and
 * without measured times.  False after reporting, also one that is too small:
 * rates divide.  `input` is the plan's name in messages. */
bool cz_cmd_machine(cz_arena *arena, const char *input,
                    const cz_document *document, const char *name,
                    const char *const *defines, int n, cz_diags *diags,
                    cz_machine *out);
/* Whether kernels take as long on the machine as where the plan was made: it
 * may have other links. */
bool cz_cmd_has_kernels_of(const cz_document *document,
                           const cz_machine *machine);

#define CZ_SETTING_KEY(setting) (CZ_KEY_SETTING + CZ_SETTING_##setting)

/* All but the machine.  False after saying on stderr what is wrong. */
bool cz_cmd_simulate_options(const char *command, const cz_cmd_options *given,
                             cz_simulate_options *out);

#endif
