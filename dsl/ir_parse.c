/* IR text from outside.  MLIR's parser can crash on it, so it meets a check of
 * size, bytes and nesting first, then a parser in a child process, and only
 * then the parser here. */
#define _POSIX_C_SOURCE 200809L
#include "dsl/ir_internal.h"

#include <fcntl.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void reject(cz_diags *diags, const char *why)
{
    cz_diag_error(diags, CZ_BAD_IR, (cz_span){0}, "this IR text %s", why);
}

/* ---- the scan ---- */

/* Bytes of the UTF-8 sequence at `s`, of at most n bytes; 0 when there is
 * none: a stray byte, an overlong form, a surrogate, beyond U+10FFFF. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    static const struct {
        unsigned char mask, lead, low, high; /* bounds of the second byte */
        size_t length;
    } forms[] = {
        {0x80, 0x00, 0x00, 0x00, 1}, {0xff, 0xe0, 0xa0, 0xbf, 3},
        {0xff, 0xed, 0x80, 0x9f, 3}, {0xf0, 0xe0, 0x80, 0xbf, 3},
        {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4},
        {0xfc, 0xf0, 0x80, 0xbf, 4}, {0xfe, 0xc0, 0x01, 0x00, 0},
        {0xe0, 0xc0, 0x80, 0xbf, 2},
    };
    size_t i = 0;
    const size_t n_forms = sizeof forms / sizeof *forms;
    while (i < n_forms && (s[0] & forms[i].mask) != forms[i].lead)
        i++;
    if (i == n_forms || forms[i].length > n)
        return 0;
    if (forms[i].length > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
        return 0;
    for (size_t k = 2; k < forms[i].length; k++)
        if ((s[k] & 0xc0) != 0x80)
            return 0;
    return forms[i].length;
}

static bool is_utf8(const char *bytes, size_t n)
{
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0; i < n;) {
        const size_t length = s[i] ? utf8_length(s + i, n - i) : 0;
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

/* Behind the string or the comment that starts at i; i where none does. */
static size_t skip_quiet(const char *bytes, size_t n, size_t i)
{
    if (bytes[i] == '"') {
        for (i++; i < n && bytes[i] != '"' && bytes[i] != '\n'; i++)
            if (bytes[i] == '\\')
                i++;
        return i + 1;
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

static bool scan(const char *bytes, size_t n, cz_diags *diags)
{
    if (n > CZ_IR_MAX_TEXT)
        reject(diags, "is larger than 64 MiB");
    else if (!is_utf8(bytes, n))
        reject(diags, "is not valid UTF-8 or holds a NUL");
    else if (nesting(bytes, n) > CZ_IR_MAX_NESTING)
        reject(diags, "nests brackets more than 64 deep");
    else
        return true;
    return false;
}

/* ---- parsing ---- */

/* The module of `bytes` in an open IR, unverified beyond what MLIR does. */
static bool parse_here(cz_ir *ir, const char *bytes, size_t n)
{
    const MlirOperation op = mlirOperationCreateParse(
        ir->context, mlirStringRefCreate(bytes, n), cz_ir_str("IR"));
    if (mlirOperationIsNull(op))
        return false;
    mlirModuleDestroy(ir->module);
    ir->module = mlirModuleFromOperation(op);
    if (!mlirModuleIsNull(ir->module))
        return true;
    reject(ir->diags, "is not a module");
    mlirOperationDestroy(op);
    return false;
}

static cz_ir *parse(const char *bytes, size_t n, cz_diags *diags)
{
    cz_ir *ir = cz_ir_open(diags);
    if (ir && parse_here(ir, bytes, n) && cz_ir_verify(ir))
        return ir;
    cz_ir_close(ir);
    return NULL;
}

/* In the child: everything that the parent will do, in silence, then print,
 * since a printer can crash as well. */
static void rehearse(const char *bytes, size_t n)
{
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    cz_arena arena;
    cz_diags diags;
    cz_text text;

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
    reject(diags, "crashes the parser");
    return false;
}

cz_ir *cz_ir_parse(const char *bytes, size_t n, cz_diags *diags)
{
    if (!scan(bytes, n, diags) || !survives(bytes, n, diags))
        return NULL;
    return parse(bytes, n, diags);
}
