/* Model configurations: JSON to values. */
#include "frontend/names/config.h"

#include <string.h>

#include "frontend/document/json.h"

/* ---- places ---- */

/* Whether the string from `at` to `end` is `key` and a colon follows. */
static bool is_key(const cz_source *source, size_t at, size_t end,
                   const char *key)
{
    const size_t n = strlen(key);
    if (end - at != n + 2 || memcmp(source->bytes + at + 1, key, n) != 0)
        return false;
    while (end < source->n && strchr(" \t\r\n", source->bytes[end]))
        end++;
    return end < source->n && source->bytes[end] == ':';
}

/* A key with escapes in it is not found: then the text begins with it. */
cz_span cz_config_place(const cz_config *config, const char *key)
{
    const cz_source *source = config->source;
    int depth = 0;
    for (size_t i = 0; i < source->n; i++) {
        const char c = source->bytes[i];
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c != '"')
            continue;
        /* The byte behind the string that starts at `at`. */
        size_t at = i;
        for (at++; at < source->n && source->bytes[at] != '"'; at++)
            at += source->bytes[at] == '\\';
        const size_t end = at + 1 < source->n ? at + 1 : source->n;
        if (depth == 1 && is_key(source, i, end, key)) {
            cz_span span = cz_json_span(source, i);
            span.length = (uint32_t)(end - i);
            return span;
        }
        i = end - 1;
    }
    return cz_json_span(source, 0);
}

/* Of a key that ends at `end`: where it was first, if on the same level. */
static void note_first(const cz_source *source, size_t end, cz_diags *diags)
{
    size_t from = end;
    while (from > 0 && source->bytes[from - 1] != '"')
        from--;
    const cz_config config = {.source = source};
    char key[128];
    if (from == 0 || end - from >= sizeof key)
        return;
    memcpy(key, source->bytes + from, end - from);
    key[end - from] = '\0';
    const cz_span first = cz_config_place(&config, key);
    if (first.length > 1 && first.offset + 1 < from)
        cz_diag_note(diags, first, "first here");
}

/* Jansson's position is behind the token that it did not like. */
static size_t error_offset(const json_error_t *error)
{
    return error->position > 0 ? (size_t)error->position - 1 : 0;
}

/* ---- values ---- */

static cz_config_entry entry_of(cz_arena *arena, const char *key,
                                const json_t *json)
{
    cz_config_entry entry = {.is_scalar = true};
    entry.key = cz_arena_copy(arena, key, strlen(key));
    if (json_is_integer(json))
        entry.value = cz_value_int(json_integer_value(json));
    else if (json_is_real(json))
        entry.value = cz_value_real(json_real_value(json));
    else if (json_is_boolean(json))
        entry.value = cz_value_bool(json_is_true(json));
    else if (json_is_string(json))
        entry.value = cz_value_string(cz_arena_copy(
            arena, json_string_value(json), json_string_length(json)));
    else
        entry.is_scalar = false;
    return entry;
}

/* What transformers counts, or reads by another name: how many labels a
 * classifier tells apart is how many have a name, and experts were once another
 * model's. */
static const char labels[] = "id2label", n_labels[] = "num_labels";
static const char local_experts[] = "num_local_experts",
                  n_experts[] = "num_experts";
/* It writes what each layer is, where each interval-th attends to all. */
static const char layer_types[] = "layer_types",
                  interval[] = "full_attention_interval";

/* That interval, which is longer than the list where no layer is one; no scalar
 * where the list has none. */
static cz_config_entry interval_of(const json_t *types)
{
    const size_t n = json_array_size(types);
    cz_config_entry out = {interval, cz_value_int((int64_t)n + 1), true};

    for (size_t i = 0; i < n; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        const bool is_full = type && strcmp(type, "full_attention") == 0;
        const int64_t number = (int64_t)i + 1;
        if (is_full && out.value.integer > number)
            out.value = cz_value_int(number);
        out.is_scalar &= is_full == (number % out.value.integer == 0);
    }
    return out;
}

static void add_second_names(cz_arena *arena, json_t *root,
                             cz_config_entry **entries, int *n)
{
    json_t *named = json_object_get(root, labels);
    json_t *local = json_object_get(root, local_experts);

    if (json_is_object(named) && !json_object_get(root, n_labels))
        *CZ_PUSH(arena, *entries, *n) = (cz_config_entry){
            n_labels, cz_value_int((int64_t)json_object_size(named)), true};
    if (local && !json_is_null(local) && !json_object_get(root, n_experts))
        *CZ_PUSH(arena, *entries, *n) = entry_of(arena, n_experts, local);
    json_t *types = json_object_get(root, layer_types);
    if (json_is_array(types) && !json_object_get(root, interval))
        *CZ_PUSH(arena, *entries, *n) = interval_of(types);
}

static void read_entries(cz_arena *arena, json_t *root, cz_config *out)
{
    cz_config_entry *entries = NULL;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (!json_is_null(value))
            *CZ_PUSH(arena, entries, out->n) = entry_of(arena, key, value);
    }
    add_second_names(arena, root, &entries, &out->n);
    out->entries = entries;
}

/* ---- the text ---- */

/* Python writes Infinity where JSON has no number: no shape depends on such a
 * one, so it counts as absent.  The text with null and blanks there. */
static const char *without_infinity(cz_arena *arena, const cz_source *source)
{
    static const char infinity[] = "-Infinity", absent[] = "null     ";
    char *out = NULL;
    bool is_string = false;

    for (size_t i = 0; i < source->n; i++) {
        const char c = source->bytes[i];
        const size_t from = c != '-';
        const size_t n = sizeof infinity - 1 - from;
        is_string ^= c == '"';
        i += is_string && c == '\\';
        if (is_string || (c != 'I' && c != '-') || source->n - i < n ||
            memcmp(source->bytes + i, infinity + from, n) != 0)
            continue;
        if (!out)
            out = cz_arena_copy(arena, source->bytes, source->n);
        memcpy(out + i, absent, n);
        i += n - 1;
    }
    return out ? out : source->bytes;
}

bool cz_config_read(cz_arena *arena, const cz_source *source, cz_span place,
                    cz_diags *diags, cz_config *out)
{
    *out = (cz_config){.source = source};
    size_t where = 0;
    json_error_t error;
    if (cz_json_is_over_depth(source->bytes, source->n, CZ_MAX_CONFIG_DEPTH,
                              &where)) {
        cz_diag_error(diags, CZ_TOO_LARGE, cz_json_span(source, where),
                      "nesting deeper than %d", CZ_MAX_CONFIG_DEPTH);
        return false;
    }
    json_t *root = json_loadb(without_infinity(arena, source), source->n,
                              JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        cz_diag_error(
            diags, CZ_BAD_CONFIG, cz_json_span(source, error_offset(&error)),
            "this is not the JSON of a configuration: %s", error.text);
        if (json_error_code(&error) == json_error_duplicate_key)
            note_first(source, error_offset(&error), diags);
        return false;
    }
    const bool is_object = json_is_object(root);
    if (is_object)
        read_entries(arena, root, out);
    else
        cz_diag_error(diags, CZ_BAD_CONFIG, place, "'%s' holds no JSON object",
                      source->name);
    json_decref(root);
    return is_object;
}

const cz_config_entry *cz_config_find(const cz_config *config, const char *key)
{
    for (int i = 0; i < config->n; i++)
        if (strcmp(config->entries[i].key, key) == 0)
            return &config->entries[i];
    return NULL;
}

const char *cz_config_nearest(cz_arena *arena, const cz_config *config,
                              const char *key)
{
    const char **names = NULL;
    int n = 0;
    for (int i = 0; i < config->n; i++)
        *CZ_PUSH(arena, names, n) = config->entries[i].key;
    return cz_diag_nearest(key, names, n);
}
