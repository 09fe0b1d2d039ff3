/* canzona help: the commands, and what to say of one or of an option that is
 * not there.  Knows the tables of commands and options, not what they do. */
#include "frontend/cmd/help/internal.h"

#include <string.h>

enum { MAX_NAMES = 64, MAX_NAME = 32, MAX_DEFINE = 128 };

/* What argp adds to every command. */
static const struct argp_option added[] = {
    {"help", '?', NULL, 0, "Give this help list", 0},
    {"usage", 0, NULL, 0, "Give a short usage message", 0},
    {0}};

const cz_command *cz_command_find(const char *name)
{
    for (const cz_command *const *at = cz_commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

void cz_commands_print_usage(FILE *out)
{
    fputs("Usage: canzona COMMAND [OPTION...] FILE\n"
          "Compile matrix optimizers to static distributed plans.\n\n",
          out);
    for (const cz_command *const *at = cz_commands; *at; at++)
        fprintf(out, "  %-10s %s\n", (*at)->name, (*at)->summary);
    fputs("\n`canzona help COMMAND` has options and an example.  FILE may be "
          "- for\nstandard input.  `canzona --version --verbose` says "
          "which libraries are found.\nStart with:\n\n"
          "  canzona plan examples/qwen3-32b.cz\n",
          out);
}

void cz_cmd_refuse_name(const char *where, const char *what, const char *name,
                        const char *nearest, const char *list)
{
    fprintf(stderr, "%s: there is no %s \"%s\"%s%s%s\n`%s` lists them.\n",
            where, what, name, nearest ? "; did you mean \"" : "",
            nearest ? nearest : "", nearest ? "\"?" : "", list);
}

void cz_command_refuse(const char *name)
{
    const char *names[MAX_NAMES];
    int n = 0;

    for (const cz_command *const *at = cz_commands; *at && n < MAX_NAMES; at++)
        names[n++] = (*at)->name;
    cz_cmd_refuse_name("canzona", "command", name,
                       cz_diag_nearest(name, names, n), "canzona help");
}

/* ---- options ---- */

/* The option of a long name or of its beginning, n characters. */
static const struct argp_option *find_long(const struct argp_option *options,
                                           const char *name, size_t n)
{
    for (; !cz_option_is_end(options); options++)
        if (options->name && strncmp(options->name, name, n) == 0)
            return options;
    return NULL;
}

static const struct argp_option *find_key(const struct argp_option *options,
                                          int key)
{
    for (; !cz_option_is_end(options); options++)
        if (options->key == key)
            return options;
    return NULL;
}

/* Whether the word behind belongs to the option. */
static bool takes_next(const struct argp_option *option)
{
    return option && option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

/* "--explain" for "--exlain", or NULL. */
static const char *nearest_option(const struct argp_option *options,
                                  const char *word, char (*names)[MAX_NAME])
{
    const char *list[MAX_NAMES];
    int n = 0;

    for (const struct argp_option *at = added; !cz_option_is_end(at); at++)
        snprintf(names[n++], MAX_NAME, "--%s", at->name);
    for (; !cz_option_is_end(options) && n < MAX_NAMES; options++)
        if (options->name)
            snprintf(names[n++], MAX_NAME, "--%s", options->name);
    for (int i = 0; i < n; i++)
        list[i] = names[i];
    return cz_diag_nearest(word, list, n);
}

/* Of letters such as -iD: the last that may take the next word. */
static bool letters_take_next(const struct argp_option *options,
                              const char *letters)
{
    for (; *letters; letters++) {
        const struct argp_option *option = find_key(options, *letters);
        if (option && option->arg)
            return letters[1] == '\0' && takes_next(option);
    }
    return false;
}

bool cz_command_accepts(const cz_command *command, int argc, char **argv)
{
    const struct argp_option *options = command->options;

    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *word = argv[i];
        if (strncmp(word, "--", 2) != 0) {
            i += *word == '-' && letters_take_next(options, word + 1);
            continue;
        }
        const size_t n = strcspn(word, "=");
        const struct argp_option *option = find_long(options, word + 2, n - 2);
        if (option || find_long(added, word + 2, n - 2)) {
            i += word[n] == '\0' && takes_next(option);
            continue;
        }
        char name[MAX_NAME], names[MAX_NAMES][MAX_NAME], where[64], list[64];
        snprintf(name, sizeof name, "%.*s", (int)n, word);
        const char *nearest = nearest_option(options, name, names);
        char define[MAX_DEFINE];
        snprintf(define, sizeof define, "-D %s", word + 2);
        if (word[n] == '=' && strchr(word + n + 1, '='))
            define[n + 1] = '.'; /* --mesh=dp=4 is -D mesh.dp=4 */
        if (!nearest && word[n] == '=' && find_key(options, 'D'))
            nearest = define; /* a value of the source, as --tokens=4M */
        if (!nearest)
            continue;
        snprintf(where, sizeof where, "canzona %s", command->name);
        snprintf(list, sizeof list, "canzona help %s", command->name);
        cz_cmd_refuse_name(where, "option", name, nearest, list);
        return false;
    }
    return true;
}

static int run(const cz_cmd_options *given)
{
    const cz_command *command =
        given->input ? cz_command_find(given->input) : NULL;

    if (given->as && (command || !given->input))
        return cz_help_print_as(given->as, command, stdout) ? CZ_EXIT_OK
                                                            : CZ_EXIT_USAGE;
    if (command)
        cz_command_print_help(command);
    else if (!given->input)
        cz_commands_print_usage(stdout);
    else
        cz_command_refuse(given->input);
    return command || !given->input ? CZ_EXIT_OK : CZ_EXIT_USAGE;
}

static const struct argp_option options[] = {
    {"as", CZ_KEY_AS, "FORM", 0,
     "Print all commands as bash, zsh or fish completes them; as a page of "
     "man, COMMAND too",
     0},
    {0}};

const cz_command cz_command_help = {
    "help",
    "options of a command, and an example",
    options,
    "Print what COMMAND does, its options and an example.\v"
    "Examples:\n\n"
    "  canzona help plan\n"
    "  eval \"$(canzona help --as=bash)\"\n",
    run,
    "[COMMAND]"};
