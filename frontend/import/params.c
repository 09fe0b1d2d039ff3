/* params.json to a program.  Unknown keys are errors: what a dump says and we
 * do not know could change the plan. */
#include "frontend/import/internal.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/model/model.h"

/* ---- the keys of the document ---- */

enum part { SCHEMA, MESH, EXPERTS, PARAMETERS, N_PARTS };

static const char *const part_names[N_PARTS] = {"schema", "mesh", "experts",
                                                "parameters"};

typedef struct params_dump {
    const cz_json_text *text;
    cz_json_range parts[N_PARTS]; /* n = 0: absent */
    cz_import_mesh mesh;
    cz_import_list list;
} params_dump;

static bool bad_key(const cz_json_text *text, const cz_json_entry *member,
                    const char *why)
{
    cz_json_error(text, member->key_range, CZ_BAD_CONFIG, "\"%.64s\" %s",
                  member->key, why);
    return false;
}

static bool read_part(params_dump *dump, const cz_json_entry *member)
{
    for (int i = 0; i < N_PARTS; i++) {
        if (strcmp(part_names[i], member->key) != 0)
            continue;
        if (dump->parts[i].n > 0)
            return bad_key(dump->text, member, "is there twice");
        dump->parts[i] = member->value;
        return true;
    }
    return bad_key(dump->text, member, "is no key of " CZ_PARAMS_SCHEMA);
}

static bool read_root(params_dump *dump)
{
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, dump->text, cz_json_all(dump->text),
                              '{', "a dump of parameters"))
        return false;
    while (cz_json_next(&members, &member))
        if (!read_part(dump, &member))
            return false;
    return !members.failed;
}

static bool check_schema(const params_dump *dump)
{
    const cz_json_range part = dump->parts[SCHEMA];
    json_t *json = part.n > 0 ? cz_json_load(dump->text, part) : NULL;
    const char *schema = json_string_value(json);
    const bool good = schema && strcmp(schema, CZ_PARAMS_SCHEMA) == 0;

    if (!good && (json || part.n == 0))
        cz_json_error(dump->text, part, CZ_BAD_CONFIG,
                      "the \"schema\" is to be \"" CZ_PARAMS_SCHEMA "\"");
    json_decref(json);
    return good;
}

/* ---- the mesh ---- */

static bool read_axis(params_dump *dump, const cz_json_entry *member,
                      bool experts)
{
    json_t *json = cz_json_load(dump->text, member->value);
    const char *why =
        json
            ? cz_import_mesh_add(
                  &dump->mesh, member->key,
                  json_is_integer(json) ? json_integer_value(json) : 0, experts)
            : NULL;

    if (why)
        cz_json_error(dump->text, member->key_range, CZ_BAD_MESH,
                      "axis '%.64s': %s", member->key, why);
    const bool good = json && !why;
    json_decref(json);
    return good;
}

static bool read_axes(params_dump *dump, enum part part)
{
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, dump->text, dump->parts[part], '{',
                              part == MESH ? "\"mesh\"" : "\"experts\""))
        return false;
    while (cz_json_next(&members, &member))
        if (!read_axis(dump, &member, part == EXPERTS))
            return false;
    return !members.failed;
}

/* What the command line says of the mesh comes before what the dump does. */
static bool read_mesh(params_dump *dump, const cz_import_mesh *wanted)
{
    if (!read_axes(dump, MESH))
        return false;
    if (wanted->n > 0)
        dump->mesh = *wanted;
    return dump->parts[EXPERTS].n == 0 || read_axes(dump, EXPERTS);
}

/* ---- one parameter ---- */

typedef struct entry {
    params_dump *dump;
    cz_json_range at;
    json_t *json;
    cz_import_param param;
} entry;

static bool bad_param(const entry *e, cz_code code, const char *why)
{
    cz_json_error(e->dump->text, e->at, code, "parameter '%.260s' %s",
                  e->param.name, why);
    return false;
}

/* Append "/tp"; *ways is how many pieces there are so far. */
static bool add_axis(const entry *e, const json_t *axis, int64_t *ways,
                     const char **shard)
{
    const char *name = json_string_value(axis);
    const int64_t size = name ? cz_import_mesh_size(&e->dump->mesh, name) : 0;

    if (size == 0)
        return bad_param(e, CZ_BAD_MESH,
                         "is sharded over what is no axis of the mesh");
    if (strstr(*shard, name))
        return bad_param(e, CZ_BAD_MESH, "is sharded twice over one axis");
    *ways *= size; /* each axis once, and at most 2^20 ranks on each of seven */
    *shard = cz_arena_printf(e->dump->text->arena, "%s/%s", *shard, name);
    return true;
}

/* null, "tp" or ["dp", "tp"], major to minor. */
static bool read_shard(const entry *e, int dim, const json_t *json,
                       const char **shard)
{
    int64_t ways = 1;

    *shard = "";
    if (json_is_string(json) && !add_axis(e, json, &ways, shard))
        return false;
    for (size_t i = 0; i < json_array_size(json); i++)
        if (!add_axis(e, json_array_get(json, i), &ways, shard))
            return false;
    if (!json_is_null(json) && !json_is_string(json) && !json_is_array(json))
        return bad_param(e, CZ_BAD_CONFIG,
                         "has a \"shard\" that is neither null, an axis nor a "
                         "list of axes");
    return e->param.shape[dim] % ways == 0 ||
           bad_param(e, CZ_NOT_DIVISIBLE,
                     "has a dimension that its axes do not divide");
}

static bool read_shards(entry *e)
{
    const json_t *json = json_object_get(e->json, "shard");
    const char **shards =
        CZ_NEW(e->dump->text->arena, const char *, e->param.n_dims);

    if (!json)
        return true;
    if (json_array_size(json) != (size_t)e->param.n_dims)
        return bad_param(e, CZ_BAD_CONFIG,
                         "has a \"shard\" that is no array as long as its "
                         "shape");
    for (int i = 0; i < e->param.n_dims; i++)
        if (!read_shard(e, i, json_array_get(json, (size_t)i), &shards[i]))
            return false;
    e->param.shards = shards;
    return true;
}

static bool read_dtype(entry *e)
{
    const char *name = json_string_value(json_object_get(e->json, "dtype"));

    if (name && cz_dtype_find(name, &e->param.dtype) &&
        e->param.dtype != CZ_F16)
        return true;
    if (!name)
        return bad_param(e, CZ_BAD_TYPE, "has no \"dtype\"");
    cz_json_error(e->dump->text, e->at, CZ_UNSUPPORTED,
                  "parameter '%.260s' has type '%.32s'; bf16, f32 and f64 are "
                  "supported",
                  e->param.name, name);
    return false;
}

static bool check_keys(const entry *e)
{
    static const char *const known[] = {"name",  "shape",  "dtype",
                                        "shard", "frozen", "stage"};
    const char *key;
    json_t *value;

    json_object_foreach(e->json, key, value)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            found |= strcmp(known[i], key) == 0;
        if (!found)
            return bad_param(e, CZ_BAD_CONFIG,
                             "has a key that " CZ_PARAMS_SCHEMA " has not");
    }
    return true;
}

static bool read_frozen(entry *e)
{
    const json_t *frozen = json_object_get(e->json, "frozen");

    e->param.frozen = json_is_true(frozen);
    return !frozen || json_is_boolean(frozen) ||
           bad_param(e, CZ_BAD_TYPE, "has a \"frozen\" that is no truth");
}

static bool is_stage(const json_t *json, int64_t n_stages)
{
    const int64_t stage = json_is_integer(json) ? json_integer_value(json) : -1;
    return stage >= 0 && stage < n_stages;
}

/* 0 or [0, 3]: coordinates over pp; without stages they mean nothing. */
static bool read_stage(entry *e)
{
    const json_t *stage = json_object_get(e->json, "stage");
    const int64_t pp = cz_import_mesh_size(&e->dump->mesh, "pp");
    const int64_t n_stages = pp > 1 && pp < CZ_MAX_STAGES ? pp : CZ_MAX_STAGES;
    const bool many = json_is_array(stage);
    const size_t n = many ? json_array_size(stage) : 1;

    e->param.stages = stage ? "" : NULL;
    if (stage && (n == 0 || n > CZ_MAX_STAGES))
        return bad_param(e, CZ_BAD_CONFIG,
                         "has a \"stage\" of none or too many");
    for (size_t i = 0; stage && i < n; i++) {
        const json_t *at = many ? json_array_get(stage, i) : stage;
        if (!is_stage(at, n_stages))
            return bad_param(e, CZ_BAD_CONFIG,
                             "has a \"stage\" that is no coordinate over pp");
        e->param.stages = cz_arena_printf(e->dump->text->arena, "%s%s%" PRId64,
                                          e->param.stages, i > 0 ? ", " : "",
                                          (int64_t)json_integer_value(at));
    }
    return true;
}

static bool read_param(params_dump *dump, cz_json_range at, json_t *json)
{
    const json_t *name = json_object_get(json, "name");
    entry e = {.dump = dump, .at = at, .json = json};

    if (!json_is_string(name)) {
        cz_json_error(dump->text, at, CZ_BAD_CONFIG,
                      "a parameter is to be an object with a \"name\"");
        return false;
    }
    e.param.name = cz_arena_copy(dump->text->arena, json_string_value(name),
                                 json_string_length(name));
    return check_keys(&e) &&
           cz_import_read_shape(dump->text, at, json_object_get(json, "shape"),
                                &e.param) &&
           read_dtype(&e) && read_shards(&e) && read_frozen(&e) &&
           read_stage(&e) &&
           cz_import_list_add(dump->text, at, &dump->list, e.param);
}

static bool read_params(params_dump *dump)
{
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, dump->text, dump->parts[PARAMETERS],
                              '[', "\"parameters\""))
        return false;
    while (cz_json_next(&members, &member)) {
        json_t *json = cz_json_load(dump->text, member.value);
        const bool good = json && read_param(dump, member.value, json);
        json_decref(json);
        if (!good)
            return false;
    }
    return !members.failed && cz_import_list_check(dump->text, &dump->list);
}

bool cz_import_params(const cz_import *convert, const cz_json_text *text,
                      cz_text *out)
{
    params_dump dump = {.text = text};

    if (!read_root(&dump) || !check_schema(&dump) ||
        !read_mesh(&dump, &convert->mesh) || !read_params(&dump))
        return false;
    cz_import_write_model(convert, &dump.list, &dump.mesh, "", out);
    return true;
}
