/* safetensors headers: tensors that are parameters, and the program of them. */
#include "frontend/import/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dsl/base/checked.h"
#include "dsl/base/text_start.h"

enum { LENGTH_BYTES = 8 };

/* ---- element types ---- */

typedef enum treatment { TAKEN, LEFT_OUT, REFUSED } treatment;

typedef struct format_dtype {
    const char *name;
    int bits;
    treatment treatment;
    cz_dtype dtype; /* of what is TAKEN */
} format_dtype;

static const format_dtype dtypes[] = {
    {"BF16", 16, TAKEN, CZ_BF16},    {"F32", 32, TAKEN, CZ_F32},
    {"F64", 64, TAKEN, CZ_F64},      {"F16", 16, REFUSED, CZ_F32},
    {"F8_E4M3", 8, REFUSED, CZ_F32}, {"F8_E5M2", 8, REFUSED, CZ_F32},
    {"F8_E8M0", 8, REFUSED, CZ_F32}, {"F6_E2M3", 6, REFUSED, CZ_F32},
    {"F6_E3M2", 6, REFUSED, CZ_F32}, {"F4", 4, REFUSED, CZ_F32},
    {"C64", 64, REFUSED, CZ_F32},    {"I64", 64, LEFT_OUT, CZ_F32},
    {"U64", 64, LEFT_OUT, CZ_F32},   {"I32", 32, LEFT_OUT, CZ_F32},
    {"U32", 32, LEFT_OUT, CZ_F32},   {"I16", 16, LEFT_OUT, CZ_F32},
    {"U16", 16, LEFT_OUT, CZ_F32},   {"I8", 8, LEFT_OUT, CZ_F32},
    {"U8", 8, LEFT_OUT, CZ_F32},     {"BOOL", 8, LEFT_OUT, CZ_F32},
};

static const format_dtype *find_dtype(const char *name)
{
    for (size_t i = 0; name && i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}

/* ---- one tensor ---- */

/* Of normalisation over batches, as PyTorch calls them. */
static bool is_statistic(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;
    return strcmp(last, "running_mean") == 0 ||
           strcmp(last, "running_var") == 0;
}

/* Where a tensor's data lie in its file, behind the header. */
typedef struct extent {
    int64_t begin, end;
    const char *name;
} extent;

/* One header, and what is known from earlier ones. */
typedef struct header {
    cz_json_text text;
    cz_safetensors *tensors;
    extent *extents;
    int n_extents;
} header;

static bool bad_tensor(const header *h, const cz_json_entry *member,
                       cz_code code, const char *why)
{
    cz_json_error(&h->text, member->key_range, code, "tensor '%.260s' %s",
                  member->key, why);
    return false;
}

static bool read_extent(header *h, const cz_json_entry *member,
                        const json_t *offsets, int64_t bits)
{
    const json_t *begin = json_array_get(offsets, 0);
    const json_t *end = json_array_get(offsets, 1);
    const extent found = {json_integer_value(begin), json_integer_value(end),
                          member->key};

    if (json_array_size(offsets) != 2 || !json_is_integer(begin) ||
        !json_is_integer(end) || found.begin < 0 || found.end < found.begin)
        return bad_tensor(h, member, CZ_BAD_CONFIG,
                          "has no \"data_offsets\", where its data begin and "
                          "end");
    if (found.end - found.begin != bits / 8 || bits % 8 != 0)
        return bad_tensor(h, member, CZ_SHAPE_MISMATCH,
                          "has data of another size than its shape and type "
                          "say");
    *CZ_PUSH(h->text.arena, h->extents, h->n_extents) = found;
    return true;
}

/* Bits of the tensor; -1 after reporting. */
static int64_t count_bits(const header *h, const cz_json_entry *member,
                          const json_t *shape, int bits)
{
    int64_t total = bits;

    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0 ||
            !cz_checked_mul(total, json_integer_value(size), &total)) {
            bad_tensor(h, member, CZ_BAD_DIMENSION,
                       "has a size that is no integer from 0 on, or is too "
                       "large");
            return -1;
        }
    }
    return total;
}

static bool read_tensor(header *h, const cz_json_entry *member,
                        const json_t *json)
{
    const char *type = json_string_value(json_object_get(json, "dtype"));
    const json_t *shape = json_object_get(json, "shape");
    const format_dtype *dtype = find_dtype(type);
    const cz_tensor_place new = {member->key, h->text.source->name};

    if (!dtype)
        return bad_tensor(h, member, CZ_BAD_TYPE,
                          type ? "has a \"dtype\" that safetensors has not"
                               : "has no \"dtype\"");
    if (!json_is_array(shape))
        return bad_tensor(h, member, CZ_BAD_CONFIG,
                          "has no \"shape\", an array of sizes");
    const int64_t bits = count_bits(h, member, shape, dtype->bits);
    if (bits < 0 ||
        !read_extent(h, member, json_object_get(json, "data_offsets"), bits))
        return false;
    *CZ_PUSH(h->text.arena, h->tensors->places, h->tensors->n_places) = new;
    cz_import_param param = {.name = member->key, .dtype = dtype->dtype};

    if (dtype->treatment == REFUSED) {
        cz_json_error(&h->text, member->key_range, CZ_UNSUPPORTED,
                      "tensor '%.240s' has type %s; parameters of type BF16, "
                      "F32 and F64 are supported",
                      member->key, dtype->name);
        return false;
    }
    if (is_statistic(member->key)) {
        cz_import_list_leave_out(&h->text, &h->tensors->list, member->key,
                                 "(a statistic of what passes, not trained)");
        return true;
    }
    if (dtype->treatment == LEFT_OUT) {
        cz_import_list_leave_out(
            &h->text, &h->tensors->list, member->key,
            cz_arena_printf(h->text.arena, "(%s is not trained)", dtype->name));
        return true;
    }
    return cz_import_read_shape(&h->text, member->key_range, shape, &param) &&
           cz_import_list_add(&h->text, member->key_range, &h->tensors->list,
                              param);
}

/* ---- one header ---- */

static bool read_member(header *h, const cz_json_entry *member)
{
    if (strcmp(member->key, "__metadata__") == 0) {
        /* __metadata__ maps strings to strings; nothing in it matters here. */
        cz_json_members members;
        cz_json_entry entry;

        if (!cz_json_open_members(&members, &h->text, member->value, '{',
                                  "__metadata__"))
            return false;
        while (cz_json_next(&members, &entry))
            if (cz_json_kind(&h->text, entry.value) != '"') {
                cz_json_error(&h->text, entry.key_range, CZ_BAD_CONFIG,
                              "__metadata__ maps strings to strings");
                return false;
            }
        return !members.failed;
    }
    json_t *json = cz_json_load(&h->text, member->value);
    const bool good = json && read_tensor(h, member, json);
    json_decref(json);
    return good;
}

static int by_begin(const void *left, const void *right)
{
    const extent *a = left, *b = right;

    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end != b->end ? (a->end < b->end ? -1 : 1)
                            : strcmp(a->name, b->name);
}

/* The data lie one behind the other, without holes or overlaps. */
static bool check_extents(header *h)
{
    int64_t at = 0;

    if (h->n_extents > 0)
        qsort(h->extents, (size_t)h->n_extents, sizeof *h->extents, by_begin);
    for (int i = 0; i < h->n_extents; i++) {
        const extent *e = &h->extents[i];
        if (e->begin != at) {
            cz_json_error(&h->text, (cz_json_range){0, 1}, CZ_BAD_CONFIG,
                          "the data of tensor '%.260s' begin at %" PRId64
                          ", where %" PRId64 " is %s",
                          e->name, e->begin, at,
                          e->begin > at ? "the end of what comes before"
                                        : "still within another tensor's");
            return false;
        }
        at = e->end;
    }
    if (cz_checked_add(h->tensors->data_bytes, at, &h->tensors->data_bytes))
        return true;
    cz_json_error(&h->text, (cz_json_range){0, 1}, CZ_TOO_LARGE,
                  "more data than 2^63 bytes");
    return false;
}

/* ---- files ---- */

static bool bad_file(const cz_import *convert, const char *name,
                     const char *why)
{
    cz_diag_error(convert->diags, CZ_BAD_CONFIG, (cz_span){0},
                  "'%s' is no safetensors file: %s", name, why);
    return false;
}

static uint64_t length_of(const cz_text *start)
{
    uint64_t length = 0;

    for (int i = LENGTH_BYTES; i-- > 0;)
        length = length << 8 | (unsigned char)start->bytes[i];
    return length;
}

/* A length of 8 printable characters is none that a header has. */
static bool is_text(const cz_text *start)
{
    bool all = true;
    for (int i = 0; i < LENGTH_BYTES; i++)
        all = all && (unsigned char)start->bytes[i] >= '\t';
    return all;
}

static bool check_length(const cz_import *convert, const char *name,
                         const cz_text *start)
{
    if (start->n < LENGTH_BYTES)
        return bad_file(convert, name,
                        "it ends within the length of its header");
    if (is_text(start))
        return bad_file(convert, name,
                        "it is text, and no JSON: import reads a config.json, "
                        "an index, a dump of parameters or safetensors");
    if (length_of(start) > CZ_IMPORT_MAX_HEADER)
        return bad_file(convert, name,
                        "its header would have more than 100 MB");
    return true;
}

/* `text` holds length and header, and maybe more. */
static bool read_bytes(const cz_import *convert, const char *name,
                       const cz_text *text, cz_safetensors *tensors)
{
    const size_t n = (size_t)length_of(text);
    const char *bytes = text->bytes + LENGTH_BYTES;

    if (text->n - LENGTH_BYTES < n)
        return bad_file(convert, name, "it ends within its header");
    if (n == 0 || *bytes != '{')
        return bad_file(convert, name, "its header is to begin with '{'");
    tensors->header_bytes += n;
    if (tensors->header_bytes > CZ_IMPORT_MAX_HEADER)
        return bad_file(convert, name,
                        "all headers together have more than 100 MB");
    const cz_source source = {name, bytes, n};
    header h = {.text = {convert->arena, convert->diags, &source},
                .tensors = tensors};
    cz_json_members members;
    cz_json_entry member;

    if (!cz_json_open_members(&members, &h.text, cz_json_all(&h.text), '{',
                              "a safetensors header"))
        return false;
    while (cz_json_next(&members, &member))
        if (!read_member(&h, &member))
            return false;
    return !members.failed && check_extents(&h);
}

/* At most n bytes of the file; false after reporting. */
static bool read_start(const cz_import *convert, const char *path,
                       const char *name, size_t n, cz_text *text)
{
    const char *why = NULL;

    if (cz_text_read_start(text, path, n, &why))
        return check_length(convert, name, text);
    cz_diag_error(convert->diags, CZ_CANNOT_READ, (cz_span){0}, "'%s' %s", name,
                  why);
    return false;
}

bool cz_safetensors_read(const cz_import *convert, const char *path,
                         const char *name, cz_safetensors *tensors)
{
    cz_text start = {0}, text = {0};
    const bool good =
        read_start(convert, path, name, LENGTH_BYTES, &start) &&
        read_start(convert, path, name,
                   LENGTH_BYTES + (size_t)length_of(&start), &text) &&
        length_of(&text) == length_of(&start) &&
        read_bytes(convert, name, &text, tensors);

    cz_text_fini(&start);
    cz_text_fini(&text);
    return good;
}

/* ---- programs ---- */

static const char hint[] =
    "# Nothing is sharded here.  For tensor parallelism write the axis behind "
    "the\n"
    "# dimension that it cuts: [4096/tp, 1024] where the outputs are cut, "
    "[1024, 4096/tp]\n"
    "# where the inputs are, and set tp in the mesh.\n";

bool cz_safetensors_write(const cz_import *convert, const cz_json_text *text,
                          const cz_safetensors *tensors, cz_text *out)
{
    if (!cz_import_list_check(text, &tensors->list))
        return false;
    cz_import_write_model(convert, &tensors->list, &convert->mesh, hint, out);
    return true;
}

bool cz_import_safetensors(const cz_import *convert, const cz_text *start,
                           cz_text *out)
{
    const char *name = cz_import_base_name(convert->input);
    const bool is_stdin = strcmp(convert->input, "-") == 0;
    const cz_source source = {name, "", 0};
    const cz_json_text text = {convert->arena, convert->diags, &source};
    cz_safetensors tensors = {.n_places = 0};

    if (is_stdin && !check_length(convert, name, start))
        return false;
    const bool good =
        is_stdin ? read_bytes(convert, name, start, &tensors)
                 : cz_safetensors_read(convert, convert->input, name, &tensors);
    return good && cz_safetensors_write(convert, &text, &tensors, out);
}
