/* IR text from outside.  MLIR's parser can crash on it, so it meets a check of
 * size, bytes and nesting first, then a parser in a child process, and only
 * then the parser here. */
#define _POSIX_C_SOURCE 200809L
#include "dsl/base/utf8.h"
#include "dsl/ir/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void reject(cz_diags *diags, const char *why)
{
    cz_diag_error(diags, CZ_BAD_IR, (cz_span){0}, "this IR text %s", why);
}

/* ---- the scan ---- */

static bool is_utf8(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n;) {
        const size_t length = cz_utf8_length(bytes + i, n - i);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

/* The last byte of the string or comment that starts at i; else i. */
static size_t skip_quiet(const char *bytes, size_t n, size_t i)
{
    if (bytes[i] == '"') {
        for (i++; i < n && bytes[i] != '"' && bytes[i] != '\n'; i++)
            if (bytes[i] == '\\')
                i++;
        return i;
    }
    if (bytes[i] == '/' && i + 1 < n && bytes[i + 1] == '/')
        while (i < n && bytes[i] != '\n')
            i++;
    return i;
}

/* Deepest nesting of ( [ { <, outside strings and comments; the > of an arrow
 * closes nothing. */
static int nesting(const char *bytes, size_t n)
{
    int depth = 0, deepest = 0;
    for (size_t i = 0; i < n; i++) {
        i = skip_quiet(bytes, n, i);
        if (i >= n)
            break;
        const bool is_arrow = bytes[i] == '>' && i > 0 && bytes[i - 1] == '-';
        if (strchr("([{<", bytes[i]))
            depth++;
        else if (strchr(")]}>", bytes[i]) && depth > 0 && !is_arrow)
            depth--;
        if (depth > deepest)
            deepest = depth;
    }
    return deepest;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The last byte of "%name" or "%name#3" that starts at i. */
static size_t skip_value(const char *bytes, size_t n, size_t i)
{
    static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789$._-";
    while (i + 1 < n && bytes[i + 1] && strchr(name_bytes, bytes[i + 1]))
        i++;
    if (i + 2 < n && bytes[i + 1] == '#' && is_digit(bytes[i + 2]))
        for (i += 2; i + 1 < n && is_digit(bytes[i + 1]);)
            i++;
    return i;
}

/* Whether there is a `#name` or a `!name`.  Nothing that we print has one, and
 * a few lines of aliases of aliases are a text of any length. */
static bool has_alias(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        i = skip_quiet(bytes, n, i);
        if (i < n && bytes[i] == '%')
            i = skip_value(bytes, n, i);
        else if (i < n && (bytes[i] == '#' || bytes[i] == '!'))
            return true;
    }
    return false;
}

static bool scan(const char *bytes, size_t n, cz_diags *diags)
{
    if (n > CZ_IR_MAX_TEXT)
        reject(diags, "is larger than 64 MiB");
    else if (!is_utf8(bytes, n))
        reject(diags, "is not valid UTF-8 or holds a NUL");
    else if (nesting(bytes, n) > CZ_IR_MAX_NESTING)
        reject(diags, "nests brackets more than 64 deep");
    else if (has_alias(bytes, n))
        reject(diags, "has an alias (#name or !name)");
    else
        return true;
    return false;
}

/* ---- parsing ---- */

static bool parse_here(cz_ir *ir, const char *bytes, size_t n)
{
    const int before = ir->diags->n_errors;
    const MlirModule module =
        mlirModuleCreateParse(ir->context, mlirStringRefCreate(bytes, n));
    if (mlirModuleIsNull(module)) {
        /* MLIR fails without a word where a fact is written without quotes. */
        if (ir->diags->n_errors == before)
            reject(ir->diags, "does not parse");
        return false;
    }
    mlirModuleDestroy(ir->module);
    ir->module = module;
    return true;
}

static cz_ir *parse(const char *bytes, size_t n, cz_diags *diags)
{
    cz_ir *ir = cz_ir_open(diags);
    if (ir && parse_here(ir, bytes, n) && cz_ir_verify(ir))
        return ir;
    cz_ir_close(ir);
    return NULL;
}

/* Of the processor, for the child: ten times what a good text takes. */
enum { MIN_SECONDS = 2, BYTES_PER_SECOND = 1 << 18 };

/* In the child: everything that the parent will do, in silence, then print,
 * since a printer can crash as well. */
static void rehearse(const char *bytes, size_t n)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    cz_arena arena;
    cz_diags diags;
    cz_text text;

    const rlim_t seconds = MIN_SECONDS + n / BYTES_PER_SECOND;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    cz_arena_init(&arena);
    cz_diags_init(&diags, &arena);
    cz_text_init(&text);
    cz_ir *ir = parse(bytes, n, &diags);
    if (ir)
        cz_ir_print(ir, &text);
    _exit(0);
}

/* Whether a parser of its own process comes through. */
static bool survives(const char *bytes, size_t n, cz_diags *diags)
{
    int status = 0;
    const pid_t child = fork();
    if (child < 0) {
        reject(diags, "cannot be checked: no process to parse it in");
        return false;
    }
    if (child == 0)
        rehearse(bytes, n);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    const bool is_late = WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU ||
                                                 WTERMSIG(status) == SIGKILL);
    reject(diags, is_late ? "keeps the parser busy for too long"
                          : "crashes the parser");
    return false;
}

cz_ir *cz_ir_parse(const char *bytes, size_t n, cz_diags *diags)
{
    if (!scan(bytes, n, diags) || !survives(bytes, n, diags))
        return NULL;
    return parse(bytes, n, diags);
}
