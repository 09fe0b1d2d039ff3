/* canzona simulate: training iterations of a plan and its baselines. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cmd/cmd.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "frontend/document/read.h"
#include "frontend/report/report.h"

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE,
    CZ_OPTION_DIAGNOSTICS,
    {"machine", CZ_SETTING_KEY(MACHINE), "NAME|FILE.cz", 0,
     "Plan a source for this machine; one of another file, "
     "or beside plan JSON, times a plan that was made for its own, "
     "without baselines",
     0},
    CZ_OPTIONS_ITERATION,
    {"active", CZ_SETTING_KEY(ACTIVE), "PERCENT", 0,
     "Of experts' parameters that work on a token (the plan's)", 0},
    {"sequence", CZ_SETTING_KEY(SEQUENCE), "N", 0,
     "Tokens of a sequence, as 4096: also price attention, what ranks wait for "
     "of activations and shards, and the pipeline's bubble (left out)",
     0},
    {"contention", CZ_SETTING_KEY(CONTENTION), "PERCENT", 0,
     "Kernels are so much slower while links of their rank are at work (0)", 0},
    {"jitter", CZ_SETTING_KEY(JITTER), "PERCENT", 0,
     "Kernels are up to so much slower, at random (0)", 0},
    {"seed", CZ_KEY_SEED, "N", 0, "Of what is random (0)", 0},
    {"stragglers", CZ_SETTING_KEY(STRAGGLERS), "RANKS:FACTOR", 0,
     "So many ranks are slower by a factor, as 2:1.5", 0},
    {"json", CZ_KEY_JSON, NULL, 0, "Print JSON (canzona.simulation/1)", 0},
    {0}};

/* All that is read before anything is simulated. */
typedef struct simulation {
    const cz_cmd_options *given;
    cz_arena arena;
    cz_diags diags;
    cz_document document;
    cz_machine machine;
    cz_simulate_options options;
    int n_baselines; /* 0 on a machine with other kernels than the plan's,
                      * whose times theirs are */
} simulation;

/* ---- the machine ---- */

/* What a source is planned with: for the machine that is named, too. */
static cz_cmd_options with_machine(simulation *s)
{
    const char *name = s->given->settings[CZ_SETTING_MACHINE];
    const char *end = name ? strstr(name, ".cz") : NULL;
    cz_cmd_options out = *s->given;
    if (!name || (end && !end[strlen(".cz")]))
        return out;
    const char **defines =
        CZ_NEW(&s->arena, const char *, s->given->n_defines + 1);
    for (int i = 0; i < s->given->n_defines; i++)
        defines[i] = s->given->defines[i];
    defines[out.n_defines++] = cz_arena_printf(&s->arena, "machine=%s", name);
    out.defines = defines;
    out.settings[CZ_SETTING_MACHINE] = NULL;
    return out;
}

static bool read_machine(simulation *s, const char *name, bool has_defines)
{
    const int n = has_defines ? s->given->n_defines : 0;
    if (!cz_cmd_machine(&s->arena, s->given->input, &s->document, name,
                        s->given->defines, n, &s->diags, &s->machine))
        return false;
    s->options.machine = &s->machine;
    s->options.is_plans_machine = !name && n == 0;
    s->n_baselines = cz_cmd_has_kernels_of(&s->document, &s->machine)
                         ? s->document.n_baselines
                         : 0;
    return true;
}

/* ---- the simulation ---- */

static void show_progress(const char *name)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[Ksimulating %s", name);
}

/* Of the baselines of one name, which have different buckets or micro-groups,
 * the one with the shortest iteration. */
static cz_simulation_row *simulate(simulation *s, int *n)
{
    const cz_document *f = &s->document;
    cz_simulation_row *rows = NULL;
    *n = 0;
    show_progress("the plan");
    *CZ_PUSH(&s->arena, rows, *n) = (cz_simulation_row){
        "plan", -1, false, cz_simulate_plan(f, &s->options)};
    const cz_simulate_baselines *baselines =
        cz_simulate_baselines_make(&s->arena, f, &s->options);
    for (int i = 0; i < s->n_baselines; i++) {
        const cz_document_baseline *of = &f->baselines[i];
        cz_simulation_row row = {.name = of->name,
                                 .bucket_elements = of->bucket_elements,
                                 .is_even = cz_simulate_is_even(of)};
        int at = 1;
        if (of->is_grouped)
            continue;
        show_progress(of->name);
        while (at < *n && strcmp(rows[at].name, of->name) != 0)
            at++;
        if (!cz_simulate_baseline(
                baselines, i, at < *n ? rows[at].times.iteration : INT64_MAX,
                &row.times))
            continue;
        if (at == *n)
            CZ_PUSH(&s->arena, rows, *n);
        rows[at] = row;
    }
    return rows;
}

static const cz_simulation_row *best_even(const cz_simulation_row *rows, int n)
{
    const cz_simulation_row *best = NULL;
    for (int i = 1; i < n; i++)
        if (rows[i].is_even &&
            (!best || rows[i].times.iteration < best->times.iteration))
            best = &rows[i];
    return best;
}

/* The least e at which the plan's iteration is no longer than that: it never
 * gets longer as e grows. */
static int64_t find_level(simulation *s, int64_t iteration)
{
    enum { HUNDREDTH = 10000, N = 100 };
    cz_simulate_options slower = s->options;
    int low = 0, high = N + 1; /* too slow; as fast */
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        slower.uneven = (int64_t)middle * HUNDREDTH;
        const int64_t ours = cz_simulate_plan(&s->document, &slower).iteration;
        if (ours <= iteration)
            high = middle;
        else
            low = middle;
    }
    return high > N ? -1 : high == 1 ? 0 : (int64_t)high * HUNDREDTH;
}

static bool has_experts(const cz_document *f)
{
    for (int p = 0; p < f->n_params; p++)
        if (f->params[p].is_expert_partitioned)
            return true;
    return false;
}

static void print(simulation *s, const cz_simulation_row *rows, int n_rows)
{
    const cz_simulate_options *o = &s->options;
    const cz_simulation_row *even = best_even(rows, n_rows);
    const cz_simulation_report report = {
        .document = &s->document,
        .machine = s->machine.name,
        .has_experts = has_experts(&s->document),
        .tokens = o->tokens,
        .tokens_per_rank = o->tokens / cz_document_replicas(&s->document),
        .mfu = o->mfu,
        .active = o->active,
        .sequence = o->sequence,
        .model = cz_simulate_passes(&s->document, o),
        .e = o->uneven,
        .contention = o->contention,
        .jitter = o->jitter,
        .slowdown = o->slowdown,
        .seed = o->seed,
        .n_stragglers = o->n_stragglers,
        .n_rows = n_rows,
        .rows = rows,
        .best_even = even ? even->name : NULL,
        .even_e = even ? find_level(s, even->times.iteration) : -1};
    cz_text out = {0};
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    if (s->given->json)
        cz_simulation_json(&report, &out);
    else
        cz_simulation_screen(&report, &out);
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    cz_text_fini(&out);
}

/* Each replica of the model has a token at least. */
static bool check_tokens(simulation *s)
{
    const int64_t n_replicas = cz_document_replicas(&s->document);
    if (s->options.tokens >= n_replicas)
        return true;
    cz_diag_error(&s->diags, CZ_INFEASIBLE, (cz_span){0},
                  "%" PRId64 " tokens do not reach %" PRId64
                  " replicas of the model: take at least `--tokens=%" PRId64
                  "`",
                  s->options.tokens, n_replicas, n_replicas);
    return false;
}

static int run_text(simulation *s, cz_text *text)
{
    bool is_json;
    const cz_cmd_options planned = with_machine(s);
    const int status =
        cz_cmd_plan_text(&planned, s->given->input, &s->diags, &is_json, text);
    if (status != CZ_EXIT_OK)
        return status;
    if (!cz_document_read(&s->arena, s->given->input, text, &s->diags, false,
                          &s->document) ||
        !read_machine(
            s, (is_json ? s->given : &planned)->settings[CZ_SETTING_MACHINE],
            is_json))
        return CZ_EXIT_ERRORS;
    if (s->options.tokens == 0)
        s->options.tokens = s->document.tokens;
    if (s->options.active < 0)
        s->options.active = s->document.active;
    if (!check_tokens(s))
        return CZ_EXIT_INFEASIBLE;
    int n_rows;
    const cz_simulation_row *rows = simulate(s, &n_rows);
    print(s, rows, n_rows);
    return CZ_EXIT_OK;
}

static int run(const cz_cmd_options *given)
{
    simulation s = {.given = given};
    cz_text text = {0};
    if (!cz_cmd_simulate_options("simulate", given, &s.options))
        return CZ_EXIT_USAGE;
    cz_arena_init(&s.arena);
    cz_diags_init(&s.diags, &s.arena);
    const int status = run_text(&s, &text);
    cz_print_diagnostics(&s.diags);
    cz_text_fini(&text);
    cz_arena_fini(&s.arena);
    return status;
}

const cz_command cz_command_simulate = {
    "simulate",
    "simulate training iterations of a plan and its baselines",
    options,
    "Simulate training iterations of FILE, which is what `plan --json` "
    "printed, "
    "or a source, which is planned first.  Of the machine, -D "
    "machine.KEY=VALUE "
    "sets one constant.\v"
    "Examples:\n\n"
    "  canzona simulate --tokens=262144 examples/qwen3-32b.cz\n"
    "  canzona plan --json examples/qwen3-32b.cz > plan.json\n"
    "  canzona simulate --machine=h800 --e=85 plan.json\n",
    run,
    "FILE"};
