/* canzona check: names, shapes and types; nothing is planned. */
#include "frontend/cmd/cmd.h"

static const struct argp_option options[] = {
    CZ_OPTIONS_SOURCE, CZ_OPTION_DIAGNOSTICS, {0}};

static void print_count(const char **between, int n, const char *what)
{
    if (n > 0)
        printf("%s%d %s%s", *between, n, what, n == 1 ? "" : "s");
    if (n > 0)
        *between = ", ";
}

/* What a file of rules alone holds; of a program, nothing. */
static void print_rules(const cz_rules_checked *rules)
{
    const char *between = "checked for all shapes: ";
    print_count(&between, rules->n_optimizers, "optimizer");
    print_count(&between, rules->n_defs, "def");
    print_count(&between, rules->n_tables, "table");
    if (rules->n_optimizers + rules->n_defs + rules->n_tables > 0)
        printf("\n");
}

static int run(const cz_cmd_options *given)
{
    cz_cmd_options options_here = *given;
    cz_job job;
    int status;

    options_here.diagnostics_are_output = true;
    options_here.rules_alone = true;
    status = cz_job_open(&job, &options_here, CZ_JOB_LOWERED);
    if (status == CZ_EXIT_OK && options_here.diagnostics == CZ_DIAGNOSTICS_TEXT)
        print_rules(&job.rules);
    cz_job_close(&job);
    return status;
}

const cz_command cz_command_check = {
    "check",
    "parse and type-check a source",
    options,
    "Parse FILE and check names, shapes and types.\v"
    "Prints nothing when all is well with a program; of a file that has "
    "optimizers, defs and tables alone, what was checked.  With "
    "--diagnostics=json or sarif the "
    "document goes to standard output, also when it has nothing to say.  "
    "Examples:\n\n"
    "  canzona check -D mesh.tp=4 examples/qwen3-32b.cz\n"
    "  canzona check --diagnostics=sarif examples/gpt.cz > gpt.sarif\n",
    run,
    "FILE"};
