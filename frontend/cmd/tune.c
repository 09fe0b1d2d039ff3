/* canzona tune: the mesh on which an iteration takes least time. */
#define _POSIX_C_SOURCE 200809L
#include "frontend/cmd/cmd.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "frontend/syntax/parse.h"
#include "frontend/tune/tune.h"

static const struct argp_option options[] = {
    {"gpus", CZ_SETTING_KEY(GPUS), "N", 0, "Ranks of the mesh", 0},
    CZ_OPTIONS_ITERATION,
    {"sequence", CZ_SETTING_KEY(SEQUENCE), "N", 0,
     "Tokens of a sequence (4096)", 0},
    {"memory", CZ_SETTING_KEY(MEMORY), "BYTES", 0,
     "Of a rank, activations included, as 141GB (what FILE says, else 80GB)",
     0},
    {"active", CZ_SETTING_KEY(ACTIVE), "PERCENT", 0,
     "Of experts' parameters that work on a token (what the model's "
     "configuration says, else 100)",
     0},
    {"output", 'o', "OUT.cz", 0,
     "Write the best here, not as FILE.tuned.cz: - is standard output; what "
     "the "
     "text names is looked for beside it",
     0},
    {"json", CZ_KEY_JSON, NULL, 0, "Print JSON (canzona.tune/1)", 0},
    CZ_OPTION_FORCE,
    CZ_OPTIONS_SOURCE,
    {0}};

static void show(const char *what, int done, int n)
{
    enum { WIDTH = 32 };
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = (int64_t)i * n < (int64_t)WIDTH * done ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s %d of %d %s", bar, done, n, what);
}

/* "80GB", "137438953472" */
static bool read_bytes(const char *text, int64_t *out)
{
    char digits[32];
    const size_t n = text ? strlen(text) : 0;
    if (!text)
        return true;
    snprintf(digits, sizeof digits, "%s", text);
    if (n > 1 && n < sizeof digits && digits[n - 1] == 'B')
        digits[n - 1] = '\0';
    return n < sizeof digits && cz_parse_integer(digits, out) && *out > 0;
}

static bool read_options(const cz_cmd_options *given, cz_tune_options *out)
{
    const char *gpus = given->settings[CZ_SETTING_GPUS];
    if (!cz_cmd_simulate_options("tune", given, &out->simulate))
        return false;
    if (!given->settings[CZ_SETTING_SEQUENCE])
        out->simulate.sequence = 4096;
    if (!gpus || !cz_parse_integer(gpus, &out->n_ranks) || out->n_ranks < 1 ||
        out->n_ranks > 1 << 20)
        fprintf(stderr,
                "canzona tune: --gpus takes a number from 1 to 1048576%s%s%s\n",
                gpus ? ", not \"" : ", as --gpus=256", gpus ? gpus : "",
                gpus ? "\"" : "");
    else if (!read_bytes(given->settings[CZ_SETTING_MEMORY],
                         &out->memory_bytes))
        fprintf(stderr,
                "canzona tune: --memory takes bytes, as 80GB, not \"%s\"\n",
                given->settings[CZ_SETTING_MEMORY]);
    else
        return true;
    return false;
}

/* The mesh is ours to choose. */
static bool check_defines(const cz_cmd_options *given)
{
    for (int i = 0; i < given->n_defines; i++)
        if (strncmp(given->defines[i], "mesh.", 5) == 0) {
            fprintf(stderr,
                    "canzona tune: it chooses the mesh: leave out -D %s\n",
                    given->defines[i]);
            return false;
        }
    return true;
}

/* Beside FILE, so that what it names is found. */
static const char *output_of(const cz_cmd_options *given, cz_arena *arena)
{
    static const char ending[] = ".cz";
    const size_t n = strlen(given->input), n_ending = sizeof ending - 1;
    const bool has_ending =
        n > n_ending && strcmp(given->input + n - n_ending, ending) == 0;
    if (given->output || strcmp(given->input, "-") == 0)
        return given->output;
    return cz_arena_printf(arena, "%.*s.tuned.cz",
                           (int)(has_ending ? n - n_ending : n), given->input);
}

static bool write_text(const cz_cmd_options *given, const char *path,
                       const cz_tune_result *result, cz_diags *diags)
{
    cz_output output = {.path = path};
    cz_text_printf(&output.text,
                   "# " CZ_GENERATED " tune --gpus=%" PRId64 ".\n",
                   result->n_ranks);
    cz_text_puts(&output.text, result->text);
    const bool ok = cz_cmd_write(given, diags, &output, 1);
    cz_text_fini(&output.text);
    return ok;
}

/* The same times from `simulate`. */
static void put_confirmation(const cz_cmd_options *given,
                             const cz_tune_result *r, const char *path,
                             cz_text *out)
{
    cz_text_printf(out,
                   "\n%s has the first; canzona simulate --tokens=%" PRId64
                   " --sequence=%" PRId64,
                   path, r->simulate.tokens, r->simulate.sequence);
    if (r->simulate.active != CZ_TIME_MILLION)
        cz_text_printf(out, " --active=%" PRId64 ".%04" PRId64,
                       r->simulate.active / 10000, r->simulate.active % 10000);
    if (given->settings[CZ_SETTING_MFU])
        cz_text_printf(out, " --mfu=%s", given->settings[CZ_SETTING_MFU]);
    if (given->settings[CZ_SETTING_E])
        cz_text_printf(out, " --e=%s", given->settings[CZ_SETTING_E]);
    for (int i = 0; i < given->n_defines; i++)
        cz_text_printf(out, " -D %s", given->defines[i]);
    cz_text_printf(out, " %s simulates it\n", path);
}

static int tune(const cz_cmd_options *given, cz_tune_options *tuned,
                cz_arena *arena, cz_diags *diags, cz_text *text)
{
    const char *why = "";
    cz_tune_result result;
    cz_text out = {0};
    if (!cz_text_read_file(text, given->input, CZ_MAX_SOURCE_BYTES, &why)) {
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s",
                      given->input, why);
        return CZ_EXIT_ERRORS;
    }
    const bool is_bar = isatty(STDERR_FILENO);
    tuned->progress = is_bar ? show : NULL;
    const bool ok = cz_tune(arena, tuned, diags, &result);
    if (is_bar)
        fputs("\r\033[K", stderr);
    if (!ok)
        return diags->refused ? CZ_EXIT_INFEASIBLE : CZ_EXIT_ERRORS;
    const char *path = output_of(given, arena);
    const bool is_printed = path && strcmp(path, "-") == 0;
    if (path && !write_text(given, path, &result, diags))
        return CZ_EXIT_ERRORS;
    if (given->json && !is_printed)
        cz_tune_json(arena, &result, &out);
    else if (!is_printed) {
        cz_tune_screen(arena, &result, &out);
        if (path)
            put_confirmation(given, &result, path, &out);
    }
    fwrite(cz_text_string(&out), 1, out.n, stdout);
    cz_text_fini(&out);
    return CZ_EXIT_OK;
}

static int run(const cz_cmd_options *given)
{
    cz_tune_options tuned = {.path = given->input,
                             .defines = given->defines,
                             .n_defines = given->n_defines,
                             .allowed = given->allowed,
                             .compiler = CANZONA_VERSION};
    cz_arena arena;
    cz_diags diags;
    cz_text text = {0};
    if (!check_defines(given) || !read_options(given, &tuned))
        return CZ_EXIT_USAGE;
    tuned.text = &text;
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    const int status = tune(given, &tuned, &arena, &diags, &text);
    cz_print_diagnostics(&diags);
    cz_text_fini(&text);
    cz_arena_fini(&arena);
    return status;
}

const cz_command cz_command_tune = {
    "tune",
    "find the mesh on which an iteration takes least time",
    options,
    "Search the meshes that the model of FILE can have, and clauses of its "
    "schedule, by the simulated time of an iteration; print the ten best and "
    "write the first as FILE.tuned.cz.\v"
    "Examples:\n\n"
    "  canzona tune --gpus=256 --tokens=1M examples/qwen3-32b.cz\n"
    "  canzona tune --gpus=1024 --memory=141GB examples/qwen3-235b-a22b.cz\n",
    run,
    "FILE"};
