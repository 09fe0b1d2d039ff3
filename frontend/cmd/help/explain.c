/* canzona explain: what docs/errors.md says of a code.  The page travels inside
 * the binary. */
#include "frontend/cmd/cmd.h"

#include <string.h>
#include <strings.h>

#include "dsl/base/embedded.h"

extern const cz_embedded cz_error_files[]; /* docs/errors.md */

static const struct row {
    const char *name, *meaning;
} codes[] =
    {
#define CZ_DIAG(code, name, meaning, help) {#code, meaning},
#include "dsl/base/diag.def"
#undef CZ_DIAG
},
  statuses[] = {
#define CZ_EXIT(status, name, meaning) {#status, meaning},
#include "frontend/cmd/exit.def"
#undef CZ_EXIT
};

static void print_lists(void)
{
    puts("exit status");
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        printf("  %-6s %s\n", statuses[i].name, statuses[i].meaning);
    puts("\ncode");
    for (size_t i = 1; i < sizeof codes / sizeof *codes; i++)
        printf("  %-6s %s\n", codes[i].name, codes[i].meaning);
    puts("\n`canzona explain CODE` says what would be right, with an example.");
}

/* A section of the page, from behind the ## of its heading to the next one,
 * without the lines that fence its text. */
static void print_section(const char *from)
{
    for (bool is_first = true; *from; is_first = false) {
        const size_t n = strcspn(from, "\n") + 1;
        if (!is_first && strncmp(from, "## ", 3) == 0)
            return;
        if (strncmp(from, "```", 3) != 0)
            fwrite(from, 1, n, stdout);
        from += n;
    }
}

static int run(const cz_cmd_options *given)
{
    const char *names[CZ_N_CODES];
    char heading[32];

    if (!given->input) {
        print_lists();
        return CZ_EXIT_OK;
    }
    for (int i = 1; i < CZ_N_CODES; i++) {
        names[i - 1] = codes[i].name;
        if (strcasecmp(codes[i].name, given->input) != 0)
            continue;
        snprintf(heading, sizeof heading, "\n## %s: ", codes[i].name);
        print_section(strstr(cz_error_files[0].bytes, heading) +
                      strlen("\n## "));
        return CZ_EXIT_OK;
    }
    cz_cmd_refuse_name("canzona explain", "code", given->input,
                       cz_diag_nearest(given->input, names, CZ_N_CODES - 1),
                       "canzona explain");
    return CZ_EXIT_USAGE;
}

static const struct argp_option options[] = {{0}};

const cz_command cz_command_explain = {
    "explain",
    "what a code such as E0501 means",
    options,
    "Print what CODE of a message means, what would be right, and an example; "
    "without CODE all codes and exit statuses.\v"
    "Example:\n\n"
    "  canzona explain E0501\n",
    run,
    "[CODE]"};
