/* Telling the kinds of input apart, by what they hold. */
#include "frontend/import/import.h"

#include <string.h>

#include "dsl/base/text_start.h"
#include "frontend/import/internal.h"
#include "frontend/format/format.h"

enum {
    N_START = 9,                /* a length of 8 bytes and the '{' behind it */
    MAX_PROGRAM_BYTES = 2 << 20 /* ten times what real models take */
};

typedef enum input_kind { CONFIG, INDEX, PARAMS, UNKNOWN } input_kind;

static input_kind kind_of_key(const char *key)
{
    static const struct {
        const char *key;
        input_kind kind;
    } table[] = {
        {"weight_map", INDEX}, {"parameters", PARAMS}, {"model_type", CONFIG}};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].key, key) == 0)
            return table[i].kind;
    return UNKNOWN;
}

static bool find_kind(const cz_json_text *text, input_kind *out)
{
    cz_json_members members;
    cz_json_entry member;

    *out = UNKNOWN;
    if (!cz_json_open_members(&members, text, cz_json_all(text), '{',
                              "the input"))
        return false;
    while (*out == UNKNOWN && cz_json_next(&members, &member))
        *out = kind_of_key(member.key);
    return !members.failed;
}

/* ---- reading ---- */

static bool cannot_read(const cz_import *convert, const char *why)
{
    cz_diag_error(convert->diags, CZ_CANNOT_READ, (cz_span){0}, "'%s' %s",
                  cz_import_base_name(convert->input), why);
    return false;
}

static bool read_json(const cz_import *convert, const cz_text *text,
                      cz_text *out)
{
    const cz_source source = {cz_import_base_name(convert->input), text->bytes,
                              text->n};
    const cz_json_text json = {convert->arena, convert->diags, &source};

    input_kind kind;

    if (!find_kind(&json, &kind))
        return false;
    switch (kind) {
    case INDEX:
        return cz_import_index(convert, &json, out);
    case PARAMS:
        return cz_import_params(convert, &json, out);
    case CONFIG:
        return cz_import_config(convert, &json, out);
    case UNKNOWN:
        break;
    }
    cz_json_error(&json, (cz_json_range){0, 1}, CZ_BAD_CONFIG,
                  "this is no input of import: a config.json has "
                  "\"model_type\", an index \"weight_map\", a dump "
                  "\"parameters\"");
    return false;
}

static bool read_input(const cz_import *convert, cz_text *text, cz_text *out)
{
    const bool is_stdin = strcmp(convert->input, "-") == 0;
    const char *why = NULL;
    bool good = is_stdin
                    ? cz_text_read_file(text, "-", CZ_IMPORT_MAX_JSON, &why)
                    : cz_text_read_start(text, convert->input, N_START, &why);

    if (!good)
        return cannot_read(convert, why);
    /* JSON has no control bytes; a safetensors file, whose header is shorter
     * than 2^32 bytes, begins with several. */
    const char *bytes = cz_text_string(text);
    const size_t blanks = strspn(bytes, " \t\r\n");

    if (text->n < 2 || bytes[blanks] != '{' ||
        memchr(bytes, '\0', text->n < N_START ? text->n : N_START))
        return cz_import_safetensors(convert, text, out);
    if (!is_stdin) {
        cz_text_fini(text);
        good =
            cz_text_read_file(text, convert->input, CZ_IMPORT_MAX_JSON, &why);
    }
    return good ? read_json(convert, text, out) : cannot_read(convert, why);
}

/* In canonical layout, which also shows that the text is one. */
static bool lay_out(const cz_import *convert, const cz_text *program,
                    cz_text *out)
{
    cz_source *source = CZ_NEW(convert->arena, cz_source, 1);

    if (program->n > MAX_PROGRAM_BYTES) {
        cz_diag_error(convert->diags, CZ_TOO_LARGE, (cz_span){0},
                      "the parameters are so many, and so little alike, that "
                      "their source has more than %d bytes",
                      MAX_PROGRAM_BYTES);
        return false;
    }
    *source = (cz_source){
        "imported.cz",
        cz_arena_copy(convert->arena, program->bytes, program->n), program->n};
    return cz_format(convert->arena, source, convert->diags, out);
}

bool cz_import_run(const cz_import *convert, cz_text *out)
{
    cz_text text = {0}, program = {0};
    const bool good =
        read_input(convert, &text, &program) && lay_out(convert, &program, out);

    cz_text_fini(&text);
    cz_text_fini(&program);
    return good;
}
