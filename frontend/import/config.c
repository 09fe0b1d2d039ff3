/* config.json to a program.  The file stays where it is and is named by its
 * path from the program; the compiler reads it each time. */
#define _XOPEN_SOURCE 700
#include "frontend/import/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/base/embedded.h"
#include "dsl/base/utf8.h"
#include "frontend/model/model.h"
#include "frontend/program/compile.h"
#include "frontend/names/config.h"

/* ---- architectures ---- */

static const char folder[] = "std/arch/", ending[] = ".cz";

/* The model_type that a file of the library is named for, or NULL: a program
 * that is imported has the storage of the configuration's publisher. */
static const char *architecture_of(cz_arena *arena, const cz_embedded *file)
{
    const size_t n = strlen(file->path);
    const size_t around = strlen(folder) + strlen(ending);

    if (strncmp(file->path, folder, strlen(folder)) != 0 || n <= around)
        return NULL;
    return cz_arena_copy(arena, file->path + strlen(folder), n - around);
}

typedef struct names {
    const char **list;
    int n;
} name_list;

static const char *joined(cz_arena *arena, name_list names)
{
    const char *out = "";

    for (int i = 0; i < names.n; i++)
        out = cz_arena_printf(arena, "%s%s%s", out, i > 0 ? ", " : "",
                              names.list[i]);
    return out;
}

/* The model_type, which the library knows; NULL after reporting. */
static const char *find_type(const cz_import *convert, const cz_config *config)
{
    const cz_config_entry *entry = cz_config_find(config, "model_type");
    const cz_span place = {.source = config->source};
    name_list known = {NULL, 0};

    for (const cz_embedded *file = cz_std_files; file->path; file++) {
        const char *name = architecture_of(convert->arena, file);
        if (name && !cz_architecture_has_storage(name))
            *CZ_PUSH(convert->arena, known.list, known.n) = name;
    }
    for (size_t i = 0; cz_architecture_alias(i); i++)
        *CZ_PUSH(convert->arena, known.list, known.n) =
            cz_architecture_alias(i);

    if (!entry || !entry->is_scalar || entry->value.kind != CZ_VALUE_STRING) {
        cz_diag_error(convert->diags, CZ_MISSING_KEY, place,
                      "a configuration has a string \"model_type\"; the "
                      "library knows %s",
                      joined(convert->arena, known));
        return NULL;
    }
    for (int i = 0; i < known.n; i++)
        if (strcmp(known.list[i], entry->value.string) == 0)
            return known.list[i];
    const char *near =
        cz_diag_nearest(entry->value.string, known.list, known.n);

    cz_diag_error(convert->diags, CZ_UNKNOWN_NAME, place,
                  "the library has no architecture for model_type \"%.64s\"; "
                  "it has %s",
                  entry->value.string, joined(convert->arena, known));
    if (near)
        cz_diag_note(convert->diags, (cz_span){0}, "did you mean '%s'?", near);
    cz_diag_note(convert->diags, (cz_span){0},
                 "import the model's safetensors (a header or the index is "
                 "enough), or write the architecture: \"Models\" in "
                 "dsl/LANGUAGE.md");
    return NULL;
}

/* What Muon moves: the products with activations, no embedding, no router. */
static cz_import_paths paths_of(const char *architecture)
{
    static const struct {
        const char *architecture;
        cz_import_paths paths;
    } table[] = {
        {"deepseek_v3",
         {"model.layers.**.*_proj*.weight, model.layers.**.experts.**", NULL}},
        {"gpt2", {"transformer.h.**.c_*.weight", NULL}},
        {"gpt_oss",
         {"model.layers.**.*_proj.weight, model.layers.**.experts.*_proj",
          "**.experts.*_bias"}},
        {"mamba", {"backbone.layers.**.*_proj.weight", "**.A_log"}},
        {"mamba2", {"backbone.layers.**.*_proj.weight", NULL}},
        {"mixtral",
         {"model.layers.**.*_proj.weight, model.layers.**.experts.**", NULL}},
        {"qwen3_moe",
         {"model.layers.**.*_proj.weight, model.layers.**.experts.**", NULL}},
        {"qwen3_next",
         {"model.layers.**.*_proj*.weight, model.layers.**.experts.**", NULL}},
        {"vit",
         {"vit.encoder.layer.**.{query, key, value, dense}.weight",
          "vit.embeddings.{cls_token, position_embeddings}"}},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].architecture, architecture) == 0)
            return table[i].paths;
    return (cz_import_paths){"model.layers.**.*_proj.weight", NULL};
}

/* ---- the path ---- */

/* The folder of a file, without links and dots; NULL when there is none. */
static const char *folder_of(cz_arena *arena, const char *path)
{
    const char *base = cz_import_base_name(path);
    const char *name =
        cz_arena_printf(arena, "%.*s.", (int)(base - path), path);
    char *real = realpath(name, NULL);
    const char *out = real ? cz_arena_copy(arena, real, strlen(real)) : NULL;

    free(real);
    return out && strcmp(out, "/") == 0 ? "" : out;
}

/* Bytes that both begin with, up to a slash or the end. */
static size_t common_folders(const char *a, const char *b)
{
    size_t common = 0;

    for (size_t i = 0;; i++) {
        const bool ends = (a[i] == '/' || !a[i]) && (b[i] == '/' || !b[i]);
        if (ends)
            common = i;
        if (a[i] != b[i] || !a[i])
            return common;
    }
}

/* `path`, as seen from the folder of the program. */
static const char *path_from_program(const cz_import *convert)
{
    cz_arena *arena = convert->arena;
    const char *base = cz_import_base_name(convert->input);
    const char *to = folder_of(arena, convert->input);
    const char *from = folder_of(arena, convert->output ? convert->output : "");

    if (!to || !from)
        return NULL;
    const size_t common = common_folders(from, to);
    const char *up = "";
    for (const char *at = from + common; *at; at++)
        if (*at == '/')
            up = cz_arena_printf(arena, "../%s", up);
    const char *down = to + common + (to[common] == '/');
    return cz_arena_printf(arena, "%s%s%s%s", up, down, *down ? "/" : "", base);
}

/* A string of the language, or NULL when none can hold the text. */
static const char *quoted(cz_arena *arena, const char *text)
{
    cz_text out = {0};
    const char *end = text + strlen(text);

    cz_text_puts(&out, "\"");
    while (*text) {
        const size_t n = cz_utf8_length(text, (size_t)(end - text));
        if (n == 0 || (unsigned char)*text < ' ') {
            cz_text_fini(&out);
            return NULL;
        }
        if (*text == '"' || *text == '\\')
            cz_text_puts(&out, "\\");
        cz_text_put(&out, text, n);
        text += n;
    }
    cz_text_puts(&out, "\"");
    const char *string = cz_arena_copy(arena, cz_text_string(&out), out.n);
    cz_text_fini(&out);
    return string;
}

/* ---- the program ---- */

/* An error in what was written, which nobody sees; what is wrong with the
 * configuration has its place there. */
static void repeat(const cz_import *convert, const cz_diag *error,
                   const char *written)
{
    const cz_source *source = error->span.source;
    const bool is_seen =
        source && strcmp(source->name, cz_import_base_name(written)) != 0;
    cz_diag_error(convert->diags, error->code,
                  is_seen ? error->span : (cz_span){0}, "%s", error->message);
}

/* Compile what was written, so that a key that the configuration lacks shows
 * now.  What is not supported yet is not the configuration's fault. */
static bool check(const cz_import *convert, const cz_text *text)
{
    const char *input = convert->input;
    cz_diags diags;

    cz_diags_init(&diags, convert->arena);
    const cz_compile_options options = {
        .path = convert->output ? convert->output : "imported.cz",
        .text = text,
        .allowed = {&input, 1},
        .compiler = ""};
    cz_ir_close(cz_compile(convert->arena, &options, &diags));
    for (int i = 0; i < diags.n; i++)
        if (diags.list[i].severity == CZ_ERROR &&
            diags.list[i].code != CZ_UNSUPPORTED) {
            repeat(convert, &diags.list[i], options.path);
            return false;
        }
    return true;
}

static int64_t layers_of(const cz_config *config)
{
    static const char *const keys[] = {"num_hidden_layers", "n_layer"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const cz_config_entry *entry = cz_config_find(config, keys[i]);
        if (entry && entry->is_scalar && entry->value.kind == CZ_VALUE_INT)
            return entry->value.integer;
    }
    return 0;
}

bool cz_import_config(const cz_import *convert, const cz_json_text *text,
                      cz_text *out)
{
    cz_config config;
    const bool is_named = strcmp(convert->input, "-") != 0;
    const char *path = is_named ? path_from_program(convert) : NULL;
    const char *string = path ? quoted(convert->arena, path) : NULL;

    if (text->source->n > CZ_MAX_CONFIG_BYTES) {
        cz_diag_error(convert->diags, CZ_CANNOT_READ, (cz_span){0},
                      "'%s' is too large", text->source->name);
        return false;
    }
    cz_source *source = CZ_NEW(convert->arena, cz_source, 1);
    *source = *text->source; /* messages outlive the text */
    source->bytes =
        cz_arena_copy(convert->arena, text->source->bytes, source->n);
    if (!cz_config_read(convert->arena, source, (cz_span){0}, convert->diags,
                        &config))
        return false;
    const char *type = find_type(convert, &config);
    const char *name = type ? cz_architecture_of(type) : NULL;
    if (type && !is_named)
        cz_diag_error(convert->diags, CZ_CANNOT_READ, (cz_span){0},
                      "a program names its configuration, which cannot be "
                      "standard input");
    else if (type && !string)
        cz_diag_error(convert->diags, CZ_CANNOT_READ, (cz_span){0},
                      "no path leads from the program to '%s'", convert->input);
    if (!type || !string)
        return false;
    cz_import_write_title(convert, out);
    cz_import_mesh_print(&convert->mesh, out);
    cz_text_printf(out, "model %s from %s%s\n\n", name, string,
                   strncmp(path, "../", 3) == 0
                       ? "  # outside this folder: --allow-path=DIR"
                       : "");
    cz_import_write_uses(convert, paths_of(name), out);
    cz_import_write_schedule(out);
    /* Layers that stages cannot have equally many of are listed, as even as it
     * goes. */
    const int64_t pp = cz_import_mesh_size(&convert->mesh, "pp");
    const int64_t n = layers_of(&config);

    if (pp > 1 && pp <= CZ_MAX_STAGES && n > 0 && n % pp != 0) {
        cz_text_puts(out, "\nschedule {\n    pipeline (");
        for (int64_t stage = 0; stage < pp; stage++)
            cz_text_printf(out, "%s%" PRId64, stage > 0 ? ", " : "",
                           n / pp + (stage < n % pp));
        cz_text_printf(out, ")  # of %" PRId64 " layers\n}\n", n);
    }
    return check(convert, out);
}
