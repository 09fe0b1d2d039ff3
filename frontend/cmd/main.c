/* canzona: the driver.  Finds the command and reads its options. */
#include "frontend/cmd/cmd.h"

#include "frontend/run/run.h"
#include "frontend/syntax/parse.h"
#include "passes/passes.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

const cz_command *const cz_commands[] = {
    &cz_command_check,    &cz_command_plan,
    &cz_command_build,    &cz_command_run,
    &cz_command_simulate, &cz_command_tune,
    &cz_command_verify,   &cz_command_diff,
    &cz_command_fmt,      &cz_command_import,
    &cz_command_trace,    &cz_command_doc,
    &cz_command_explain,  &cz_command_lsp,
    &cz_command_help,     NULL};

static int64_t parse_count(const char *text, struct argp_state *state,
                           const char *what)
{
    int64_t value = 0;

    if (!cz_parse_integer(text, &value) || value > INT32_MAX)
        argp_error(state, "%s takes a number from 0 to %d, not \"%s\"", what,
                   INT32_MAX, text);
    return value;
}

static cz_diagnostics_form parse_form(const char *text,
                                      struct argp_state *state)
{
    static const char *const forms[] = {[CZ_DIAGNOSTICS_TEXT] = "text",
                                        [CZ_DIAGNOSTICS_JSON] = "json",
                                        [CZ_DIAGNOSTICS_SARIF] = "sarif"};

    for (int i = CZ_DIAGNOSTICS_TEXT; i <= CZ_DIAGNOSTICS_SARIF; i++)
        if (strcmp(text, forms[i]) == 0)
            return (cz_diagnostics_form)i;
    argp_error(state, "--diagnostics is text, json or sarif, not \"%s\"", text);
    return CZ_DIAGNOSTICS_TEXT;
}

/* What a run is checked for. */
static bool parse_check(const char *text, struct argp_state *state)
{
    const bool of_values = text && strcmp(text, "values") == 0;

    if (text && !of_values && strcmp(text, "bits") != 0)
        argp_error(state, "--check is bits or values, not \"%s\"", text);
    return of_values;
}

static bool is_ir_stage(const char *stage)
{
    if (strncmp(stage, CZ_AFTER, strlen(CZ_AFTER)) == 0)
        return cz_passes_find(stage + strlen(CZ_AFTER)) != NULL;
    return strcmp(stage, "scheduled") == 0 || strcmp(stage, "assigned") == 0 ||
           strcmp(stage, "source") == 0;
}

static void refuse_ir_stage(struct argp_state *state, const char *stage)
{
    char passes[256] = "";

    for (const cz_pass *pass = cz_passes; pass->name; pass++) {
        const size_t n = strlen(passes);
        snprintf(passes + n, sizeof passes - n, "%s%s", n ? ", " : "",
                 pass->name);
    }
    argp_error(state,
               "--ir is source, assigned, scheduled or after:PASS, not \"%s\"; "
               "passes are %s",
               stage, passes);
}

static error_t parse_switch(int key, char *arg, struct argp_state *state,
                            cz_cmd_options *options)
{
    switch (key) {
    case CZ_KEY_JSON:
        options->json = true;
        return 0;
    case CZ_KEY_CFLAGS:
        options->print_cflags = true;
        return 0;
    case CZ_KEY_STRICT:
        options->strict = true;
        return 0;
    case CZ_KEY_CHECK:
        options->check = true;
        options->of_values = parse_check(arg, state);
        return 0;
    case CZ_KEY_EXPAND:
        options->expand = true;
        return 0;
    case CZ_KEY_LATE:
        options->late = true;
        return 0;
    case CZ_KEY_PLANT:
        options->planted = true;
        return 0;
    case CZ_KEY_NO_BASELINES:
        options->no_baselines = true;
        return 0;
    case CZ_KEY_TIME:
        options->time = true;
        return 0;
    case CZ_KEY_EXPLAIN:
        options->explain = arg ? arg : "";
        return 0;
    case CZ_KEY_LEGEND:
        options->legend = true;
        return 0;
    case CZ_KEY_FORCE:
        options->force = true;
        return 0;
    case CZ_KEY_IR:
        options->ir = arg ? arg : "scheduled";
        if (!is_ir_stage(options->ir))
            refuse_ir_stage(state, options->ir);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Where an option's words go as they are; NULL: it has none such. */
static const char **words_of(cz_cmd_options *options, int key)
{
    switch (key) {
    case 'o':
        return &options->output;
    case CZ_KEY_TARGET:
        return &options->target;
    case CZ_KEY_WORLD:
        return &options->world;
    case CZ_KEY_MESH:
        return &options->mesh;
    case CZ_KEY_OPTIMIZER:
        return &options->optimizer;
    case CZ_KEY_HTML:
        return &options->html;
    case CZ_KEY_TRACE:
        return &options->trace;
    case CZ_KEY_AS:
        return &options->as;
    case CZ_KEY_IN:
        return &options->in;
    case CZ_KEY_OUT:
        return &options->out;
    default:
        return key >= CZ_KEY_SETTING && key < CZ_KEY_SETTING + CZ_N_SETTINGS
                   ? &options->settings[key - CZ_KEY_SETTING]
                   : NULL;
    }
}

static bool has_many(const cz_command *command)
{
    return strstr(command->operands, "...") != NULL;
}

/* FILE of "FILE...", NAME of "[NAME]". */
static const char *operand_of(const cz_command *command)
{
    static char name[16];
    const char *from = command->operands + (*command->operands == '[');

    snprintf(name, sizeof name, "%.*s", (int)strcspn(from, ".]"), from);
    return name;
}

/* As in clang and git the last value counts, so that a script may add one; it
 * is said where another was given.  -D and --allow-path add up. */
static void warn_of_twice(int key, const char *arg, struct argp_state *state,
                          cz_cmd_options *options)
{
    const struct argp_option *option = options->command->options;
    const char *value = arg ? arg : "";

    while (!cz_option_is_end(option) && option->key != key)
        option++;
    if (cz_option_is_end(option) || !option->arg || key == 'D' ||
        key == CZ_KEY_ALLOW_PATH)
        return;
    if (options->values[key] && strcmp(options->values[key], value) != 0)
        fprintf(stderr, "%s: --%s is given twice: the last counts\n",
                state->name, option->name);
    options->values[key] = value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    cz_cmd_options *options = state->input;
    const char **words = words_of(options, key);

    if (key > 0 && key < CZ_N_KEYS)
        warn_of_twice(key, arg, state, options);
    if (words) {
        *words = arg;
        return 0;
    }
    switch (key) {
    case 'D':
        options->defines[options->n_defines++] = arg;
        return 0;
    case CZ_KEY_ALLOW_PATH:
        options->allowed.paths[options->allowed.n++] = arg;
        return 0;
    case 'i':
        options->in_place = true;
        return 0;
    case CZ_KEY_STDIO:
        return 0;
    case CZ_KEY_DIAGNOSTICS:
        options->diagnostics = parse_form(arg, state);
        return 0;
    case CZ_KEY_STEPS:
        options->steps = parse_count(arg, state, "--steps");
        return 0;
    case CZ_KEY_SEED:
        options->seed = parse_count(arg, state, "--seed");
        return 0;
    case CZ_KEY_MICROBATCHES:
        options->microbatches = parse_count(arg, state, "--microbatches");
        if (options->microbatches == 0)
            argp_error(state, "--microbatches takes a number from 1 on");
        return 0;
    case ARGP_KEY_ARG:
        if (!*options->command->operands)
            argp_error(state, "there is nothing that \"%s\" could name", arg);
        if (options->n_inputs > 0 && !has_many(options->command))
            argp_error(state, "one %s only", operand_of(options->command));
        options->inputs[options->n_inputs++] = arg;
        options->input = options->inputs[0];
        return 0;
    case ARGP_KEY_END:
        if (!options->input && !options->print_cflags &&
            *options->command->operands && *options->command->operands != '[')
            argp_error(state, "which %s?", operand_of(options->command));
        return 0;
    default:
        return parse_switch(key, arg, state, options);
    }
}

/* -h, which argp leaves to its users. */
static error_t parse_help(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != 'h')
        return ARGP_ERR_UNKNOWN;
    argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
    return 0;
}

static const struct argp_option help_options[] = {
    {NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0}, {0}};
static const struct argp help_argp = {help_options, parse_help, NULL, NULL,
                                      NULL,         NULL,       NULL};
static const struct argp_child children[] = {{&help_argp, 0, NULL, 0}, {0}};

static struct argp argp_of(const cz_command *command)
{
    return (struct argp){command->options,
                         parse_option,
                         command->operands,
                         command->doc,
                         children,
                         NULL,
                         NULL};
}

void cz_command_print_help(const cz_command *command)
{
    const struct argp argp = argp_of(command);
    char program[64];

    snprintf(program, sizeof program, "canzona %s", command->name);
    argp_help(&argp, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, program);
}

static int run_command(const cz_command *command, int argc, char **argv)
{
    const struct argp argp = argp_of(command);
    cz_cmd_options options = {
        .command = command, .steps = 1, .microbatches = 12, .target = "cpu"};
    char program[64];
    int status = CZ_EXIT_ERRORS;

    snprintf(program, sizeof program, "canzona %s", command->name);
    argv[0] = program;
    options.defines = calloc((size_t)argc + 1, sizeof *options.defines);
    options.inputs = calloc((size_t)argc + 1, sizeof *options.inputs);
    options.allowed.paths =
        calloc((size_t)argc + 1, sizeof *options.allowed.paths);
    argp_err_exit_status = CZ_EXIT_USAGE;
    if (!cz_command_accepts(command, argc, argv))
        status = CZ_EXIT_USAGE;
    else if (options.defines && options.inputs && options.allowed.paths) {
        argp_parse(&argp, argc, argv, 0, NULL, &options);
        status = command->run(&options);
    }
    free(options.defines);
    free(options.inputs);
    free(options.allowed.paths);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("canzona: error: standard output cannot be written\n", stderr);
        return CZ_EXIT_ERRORS;
    }
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "--help";

    /* Passes let their memory go and take as much again: it stays here. */
    mallopt(M_MMAP_THRESHOLD, 1 << 25);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    const cz_command *command = cz_command_find(name);
    if (command)
        return run_command(command, argc - 1, argv + 1);
    if (strcmp(name, "--version") == 0) {
        puts("canzona " CANZONA_VERSION);
        if (argc > 2 && strcmp(argv[2], "--verbose") == 0)
            cz_found_print(stdout);
        return CZ_EXIT_OK;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        cz_commands_print_usage(argc > 1 ? stdout : stderr);
        return argc > 1 ? CZ_EXIT_OK : CZ_EXIT_USAGE;
    }
    cz_command_refuse(name);
    return CZ_EXIT_USAGE;
}
