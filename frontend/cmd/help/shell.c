/* canzona help --as=FORM: completions of shells and the manual page, from the
 * same tables as --help.  Texts of tables are quoted as each form wants. */
#include "frontend/cmd/help/internal.h"

#include <ctype.h>
#include <string.h>

static bool has_letter(const struct argp_option *option)
{
    return option->key > 0 && option->key <= CHAR_MAX && isalpha(option->key);
}

static bool is_optional(const struct argp_option *option)
{
    return (option->flags & OPTION_ARG_OPTIONAL) != 0;
}

/* `text` with `prefix` before each character of `special`. */
static void put_escaped(const char *text, const char *special,
                        const char *prefix, FILE *out)
{
    for (; *text; text++)
        fprintf(out, "%s%c", strchr(special, *text) ? prefix : "", *text);
}

/* Within quotes ' of a shell. */
static void put_quoted(const char *text, const char *special, FILE *out)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            fprintf(out, "%s%c", strchr(special, *text) ? "\\" : "", *text);
}

#define EACH_COMMAND(at)                                                       \
    (const cz_command *const *at = cz_commands; *(at); (at)++)
#define EACH_OPTION(at, command)                                               \
    (const struct argp_option *at = (command)->options; !cz_option_is_end(at); \
     (at)++)

/* What follows a command that takes no FILE: as words, or as the shell command
 * that prints them.  NULL: files. */
static const char *words_of(const cz_command *command)
{
    return strcmp(command->operands, "[COMMAND]") == 0
               ? "canzona help | sed -n 's/^  \\([a-z]*\\)  .*/\\1/p'"
           : strcmp(command->operands, "[CODE]") == 0
               ? "canzona explain | sed -n 's/^  \\(E[0-9]*\\) .*/\\1/p'"
           : strcmp(command->operands, "[NAME]") == 0
               ? "canzona doc | sed -n '/^`/d; s/^  //; p'"
               : NULL;
}

/* ---- bash ---- */

static void put_bash(FILE *out)
{
    fputs(
        "# bash completion of canzona, as `canzona help --as=bash` prints it\n"
        "_canzona()\n{\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} options= words=\n"
        "    case $COMP_CWORD:${COMP_WORDS[1]} in\n    1:*) words=\"--help "
        "--version",
        out);
    for
        EACH_COMMAND(at)
    fprintf(out, " %s", (*at)->name);
    fputs("\" ;;\n", out);
    for
        EACH_COMMAND(at)
        {
            fprintf(out, "    *:%s) options=\"--help", (*at)->name);
        for
            EACH_OPTION(option, *at)
            {
                if (option->name)
                    fprintf(out, " --%s%s", option->name,
                            option->arg && !is_optional(option) ? "=" : "");
                if (has_letter(option))
                    fprintf(out, " -%c", option->key);
            }
        fputs("\"", out);
        if (words_of(*at))
            fprintf(out, "\n        words=$(%s)", words_of(*at));
        fputs(" ;;\n", out);
        }
    fputs("    esac\n"
          "    [[ $word == -* && -n $options ]] && words=$options\n"
          "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
          "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
          "    return 0\n}\n"
          "complete -o default -F _canzona canzona\n",
          out);
}

/* ---- zsh ---- */

static void put_zsh_option(const struct argp_option *option, FILE *out)
{
    const char *const takes = !option->arg          ? ""
                              : is_optional(option) ? "=-"
                                                    : "=";

    if (option->name && has_letter(option))
        fprintf(out, "'*'{-%c%s,--%s%s}'", option->key, option->arg ? "+" : "",
                option->name, takes);
    else if (option->name)
        fprintf(out, "'--%s%s", option->name, takes);
    else
        fprintf(out, "'-%c%s", option->key, option->arg ? "+" : "");
    fputs("[", out);
    put_quoted(option->doc, "[]\\", out);
    fputs("]", out);
    if (option->arg) {
        fputs(is_optional(option) ? "::" : ":", out);
        put_escaped(option->arg, ":", "\\", out);
        fputs(":_files", out);
    }
    fputs("' ", out);
}

static void put_zsh(FILE *out)
{
    fputs("#compdef canzona\n"
          "# zsh completion of canzona, as `canzona help --as=zsh` prints it\n"
          "_canzona() {\n"
          "    local -a commands words_here\n"
          "    commands=(\n",
          out);
    for
        EACH_COMMAND(at)
        {
            fprintf(out, "        '%s:", (*at)->name);
            put_quoted((*at)->summary, ":\\", out);
            fputs("'\n", out);
        }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $words[1] in\n",
          out);
    for
        EACH_COMMAND(at)
        {
            fprintf(out, "    %s)\n", (*at)->name);
            if (words_of(*at))
                fprintf(out, "        words_here=($(%s))\n", words_of(*at));
            fputs("        _arguments -s '--help[Give this help list]' ", out);
        for
            EACH_OPTION(option, *at)
        put_zsh_option(option, out);
        fputs(words_of(*at) ? "'*:word:compadd -a words_here' ;;\n"
                            : "'*:FILE:_files' ;;\n",
              out);
        }
    fputs("    esac\n}\n_canzona \"$@\"\n", out);
}

/* ---- fish ---- */

static void put_fish(FILE *out)
{
    fputs(
        "# fish completion of canzona, as `canzona help --as=fish` prints it\n",
        out);
    for
        EACH_COMMAND(at)
        {
            fprintf(out,
                    "complete -c canzona -n __fish_use_subcommand -xa %s -d '",
                    (*at)->name);
            put_escaped((*at)->summary, "'\\", "\\", out);
            fputs("'\n", out);
        for
            EACH_OPTION(option, *at)
            {
                fprintf(
                    out,
                    "complete -c canzona -n '__fish_seen_subcommand_from %s'",
                    (*at)->name);
                if (option->name)
                    fprintf(out, " -l %s", option->name);
                if (has_letter(option))
                    fprintf(out, " -s %c", option->key);
                fprintf(out, "%s -d '",
                        option->arg && !is_optional(option) ? " -r" : "");
                put_escaped(option->doc, "'\\", "\\", out);
                fputs("'\n", out);
            }
        if (words_of(*at)) {
            fprintf(out,
                    "complete -c canzona -n '__fish_seen_subcommand_from %s' "
                    "-xa '(",
                    (*at)->name);
            put_escaped(words_of(*at), "'\\", "\\", out);
            fputs(" | string split \" \")'\n", out);
        }
        }
}

/* ---- the manual page ---- */

/* Text up to `end`, filled. */
static void put_roff(const char *text, const char *end, FILE *out)
{
    bool is_first = true;

    for (; text < end; text++) {
        if (is_first && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        fputs(*text == '\\'  ? "\\e"
              : *text == '-' ? "\\-"
                             : (char[]){*text, '\0'},
              out);
        is_first = *text == '\n';
    }
    fputs("\n", out);
}

static void put_roff_options(const cz_command *command, FILE *out)
{
    if (!cz_option_is_end(command->options))
        fputs(".SH OPTIONS\n", out);
    for
        EACH_OPTION(option, command)
        {
            fputs(".TP\n", out);
            if (has_letter(option))
                fprintf(out, "\\fB\\-%c\\fR%s", option->key,
                        option->name ? ", " : "");
            if (option->name) {
                fputs("\\fB\\-\\-", out);
                put_escaped(option->name, "-", "\\", out);
                fprintf(
                    out, "\\fR%s%s%s%s%s", is_optional(option) ? "[" : "",
                    option->arg ? "=\\fI" : "", option->arg ? option->arg : "",
                    option->arg ? "\\fR" : "", is_optional(option) ? "]" : "");
            }
            fputs("\n", out);
            put_roff(option->doc, option->doc + strlen(option->doc), out);
        }
}

/* The last paragraph of what stands behind \v are examples, which begin with
 * two blanks each; the words before say so. */
static void put_roff_text(const cz_command *command, FILE *out)
{
    const char *behind = strchr(command->doc, '\v');
    const char *end = command->doc + strlen(command->doc);
    const char *examples = strstr(command->doc, "\n\n  ");
    const char *text_end = examples ? examples : end;

    for (const char *at = behind; examples && at < examples; at++)
        if (strncmp(at, "Example", strlen("Example")) == 0)
            text_end = at;
    fputs(".SH DESCRIPTION\n", out);
    put_roff(command->doc, behind, out);
    if (behind + 1 < text_end) {
        fputs(".PP\n", out);
        put_roff(behind + 1, text_end, out);
    }
    put_roff_options(command, out);
    if (examples) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        put_roff(examples + 2, end - 1, out);
        fputs(".fi\n", out);
    }
}

static void put_statuses(FILE *out)
{
    static const char *const statuses[] = {
#define CZ_EXIT(status, name, meaning) [status] = meaning,
#include "frontend/cmd/exit.def"
#undef CZ_EXIT
    };
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        fprintf(out, ".TP\n%zu\n", i);
        put_roff(statuses[i], statuses[i] + strlen(statuses[i]), out);
    }
}

static void put_man_of(const cz_command *command, FILE *out)
{
    fputs(".TH CANZONA\\-", out);
    for (const char *at = command->name; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fprintf(out,
            " 1 \"\" \"canzona " CANZONA_VERSION "\"\n"
            ".SH NAME\ncanzona\\-%s \\- ",
            command->name);
    put_roff(command->summary, command->summary + strlen(command->summary),
             out);
    fprintf(out, ".SH SYNOPSIS\n\\fBcanzona %s\\fR [\\fIOPTION\\fR...] %s\n",
            command->name, command->operands);
    put_roff_text(command, out);
    put_statuses(out);
    fputs(".SH SEE ALSO\n.BR canzona (1)\n", out);
}

/* The page of all commands leads to those of each. */
static void put_man(FILE *out)
{
    fputs(".TH CANZONA 1 \"\" \"canzona " CANZONA_VERSION "\"\n"
          ".SH NAME\n"
          "canzona \\- compile matrix optimizers to static distributed plans\n"
          ".SH SYNOPSIS\n"
          "\\fBcanzona\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] \\fIFILE\\fR\n"
          ".SH COMMANDS\n"
          "FILE may be \\- for standard input.\n",
          out);
    for
        EACH_COMMAND(at)
        {
            fprintf(out, ".TP\n.BR canzona\\-%s (1)\n", (*at)->name);
            put_roff((*at)->summary, (*at)->summary + strlen((*at)->summary),
                     out);
        }
    put_statuses(out);
}

static const struct form {
    const char *name;
    void (*put)(FILE *out);
} forms[] = {
    {"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}, {"man", put_man}};

bool cz_help_print_as(const char *form, const cz_command *command, FILE *out)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(forms[i].name, form) == 0 && !command) {
            forms[i].put(out);
            return true;
        }
    if (command && strcmp(form, "man") == 0) {
        put_man_of(command, out);
        return true;
    }
    fprintf(stderr,
            command ? "canzona help: --as=%s has all commands in it; a page of "
                      "one is --as=man\n"
                    : "canzona help: --as is bash, zsh, fish or man, not "
                      "\"%s\"\n",
            form);
    return false;
}
