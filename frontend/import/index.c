/* An index: the headers of its shards have the shapes; that index and headers
 * speak of the same tensors is checked. */
#include "frontend/import/internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHARDS = 4096 };

typedef struct index_entry {
    const char *name, *file;
    cz_json_range at;
} index_entry;

typedef struct index_file {
    const cz_import *convert;
    const cz_json_text *text;
    cz_json_range weight_map, metadata; /* n = 0: absent */
    index_entry *entries;
    int n;
    const char **shards; /* different ones, in the order of the index */
    int n_shards;
} index_file;

/* ---- reading ---- */

static bool read_root(index_file *index)
{
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, index->text, cz_json_all(index->text),
                              '{', "an index"))
        return false;
    while (cz_json_next(&members, &member)) {
        cz_json_range *known =
            strcmp(member.key, "weight_map") == 0 ? &index->weight_map
            : strcmp(member.key, "metadata") == 0 ? &index->metadata
                                                  : NULL;
        if (known && known->n > 0) {
            cz_json_error(index->text, member.key_range, CZ_DUPLICATE_NAME,
                          "\"%s\" is there twice", member.key);
            return false;
        }
        if (known)
            *known = member.value;
    }
    return !members.failed;
}

/* A file beside the index, and no other. */
static bool is_plain_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

static bool add_shard(index_file *index, const index_entry *entry)
{
    cz_arena *arena = index->text->arena;

    for (int i = index->n_shards; i-- > 0;)
        if (strcmp(index->shards[i], entry->file) == 0)
            return true;
    if (index->n_shards == MAX_SHARDS) {
        cz_json_error(index->text, entry->at, CZ_TOO_LARGE,
                      "more than %d shards", MAX_SHARDS);
        return false;
    }
    *CZ_PUSH(arena, index->shards, index->n_shards) = entry->file;
    return true;
}

static bool read_entry(index_file *index, const cz_json_entry *member)
{
    cz_arena *arena = index->text->arena;
    json_t *json = cz_json_load(index->text, member->value);
    const char *file = json_string_value(json);
    index_entry entry = {member->key, NULL, member->key_range};

    if (file && is_plain_name(file))
        entry.file = cz_arena_copy(arena, file, strlen(file));
    else if (json)
        cz_json_error(index->text, member->value, CZ_BAD_CONFIG,
                      "tensor '%.260s' is to name a file beside the index",
                      member->key);
    json_decref(json);
    if (!entry.file || !add_shard(index, &entry))
        return false;
    *CZ_PUSH(arena, index->entries, index->n) = entry;
    return true;
}

static bool read_weight_map(index_file *index)
{
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, index->text, index->weight_map, '{',
                              "weight_map"))
        return false;
    while (cz_json_next(&members, &member)) {
        if (!read_entry(index, &member))
            return false;
        if (index->n > 2 * CZ_IMPORT_MAX_PARAMS) {
            cz_json_error(index->text, member.key_range, CZ_TOO_LARGE,
                          "more than %d tensors", 2 * CZ_IMPORT_MAX_PARAMS);
            return false;
        }
    }
    return !members.failed;
}

/* ---- index and headers ---- */

static bool read_shards(const index_file *index, cz_safetensors *tensors)
{
    const char *input = index->convert->input;
    const char *base = cz_import_base_name(input);

    for (int i = 0; i < index->n_shards; i++) {
        const char *path =
            cz_arena_printf(index->text->arena, "%.*s%s", (int)(base - input),
                            input, index->shards[i]);
        if (!cz_safetensors_read(index->convert, path, index->shards[i],
                                 tensors)) {
            cz_diag_note(index->convert->diags, (cz_span){0},
                         "the shapes of an index are in its shards; the first "
                         "bytes of each, with the header, are enough");
            return false;
        }
    }
    return true;
}

static int by_place(const void *left, const void *right)
{
    const cz_tensor_place *a = left, *b = right;
    const int order = strcmp(a->name, b->name);

    return order != 0 ? order : strcmp(a->file, b->file);
}

static int by_entry(const void *left, const void *right)
{
    const index_entry *a = left, *b = right;

    return strcmp(a->name, b->name);
}

static bool disagree(const index_file *index, cz_json_range at,
                     const cz_tensor_place *place, const char *how)
{
    cz_json_error(index->text, at, CZ_BAD_CONFIG, "tensor '%.260s' %s '%.260s'",
                  place->name, how, place->file);
    return false;
}

/* Both sides are sorted by name. */
static bool check_tensors(const index_file *index, cz_safetensors *tensors)
{
    static const cz_tensor_place none[1];
    const cz_tensor_place *places = tensors->places ? tensors->places : none;
    const cz_json_range start = {0, 1};
    int n = 0;

    if (tensors->places)
        qsort(tensors->places, (size_t)tensors->n_places, sizeof *places,
              by_place);
    if (index->n)
        qsort(index->entries, (size_t)index->n, sizeof *index->entries,
              by_entry);
    for (int i = 0; i < index->n; i++) {
        const index_entry *entry = &index->entries[i];
        const int order =
            n < tensors->n_places ? strcmp(places[n].name, entry->name) : 1;
        if (order < 0)
            break;
        if (order > 0 || strcmp(places[n].file, entry->file) != 0)
            return disagree(index, entry->at,
                            &(cz_tensor_place){entry->name, entry->file},
                            "is not in");
        n++;
    }
    return n == tensors->n_places ||
           disagree(index, start, &places[n],
                    "is not in the index, or twice in the shards, but in");
}

/* The size that the index states in bytes, or -1 where it states none; some
 * writers print it as a float. */
static bool total_size(const index_file *index, int64_t *out)
{
    *out = -1;
    if (index->metadata.n == 0)
        return true;
    json_t *metadata = cz_json_load(index->text, index->metadata);
    const json_t *size = json_object_get(metadata, "total_size");
    const double real = json_real_value(size);

    if (json_is_integer(size))
        *out = json_integer_value(size);
    else if (json_is_real(size) && real >= 0 && real < 0x1p62 &&
             floor(real) == real)
        *out = (int64_t)real;
    else if (size)
        cz_json_error(index->text, index->metadata, CZ_BAD_CONFIG,
                      "total_size is no number of bytes");
    const bool good = metadata && (!size || *out >= 0);
    json_decref(metadata);
    return good;
}

static bool check_size(const index_file *index, const cz_safetensors *tensors)
{
    int64_t size;

    if (!total_size(index, &size))
        return false;
    if (size < 0 || size == tensors->data_bytes)
        return true;
    cz_json_error(index->text, index->metadata, CZ_BAD_CONFIG,
                  "total_size is %" PRId64 ", but the shards have %" PRId64
                  " bytes of data",
                  size, tensors->data_bytes);
    return false;
}

bool cz_import_index(const cz_import *convert, const cz_json_text *text,
                     cz_text *out)
{
    index_file index = {.convert = convert, .text = text};
    cz_safetensors tensors = {.n_places = 0};

    return read_root(&index) && read_weight_map(&index) &&
           read_shards(&index, &tensors) && check_tensors(&index, &tensors) &&
           check_size(&index, &tensors) &&
           cz_safetensors_write(convert, text, &tensors, out);
}
