/* safetensors: 8 bytes of a header's length, the header in JSON, and data. */
#include "frontend/document/tensors.h"

#include "dsl/base/checked.h"
#include "frontend/document/json.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LENGTH_BYTES = 8, MAX_HEADER_BYTES = 100 * 1000 * 1000 };

int64_t cz_tensor_elements(const cz_tensor *tensor)
{
    int64_t n = 1;

    for (int d = 0; d < tensor->n_dims; d++)
        n *= tensor->shape[d];
    return n;
}

const char *cz_tensor_describe(cz_arena *arena, const cz_tensor *tensor)
{
    const char *text =
        cz_arena_printf(arena, "%s[", cz_dtype_name(tensor->dtype));

    for (int d = 0; d < tensor->n_dims; d++)
        text = cz_arena_printf(arena, "%s%s%" PRId64, text, d ? ", " : "",
                               tensor->shape[d]);
    return cz_arena_printf(arena, "%s]", text);
}

static int by_name(const void *left, const void *right)
{
    const cz_tensor *a = left, *b = right;

    return strcmp(a->name, b->name);
}

const cz_tensor *cz_tensors_find(const cz_tensors *tensors, const char *name)
{
    const cz_tensor key = {.name = name};

    return tensors->n ? bsearch(&key, tensors->list, (size_t)tensors->n,
                                sizeof key, by_name)
                      : NULL;
}

/* ---- reading ---- */

typedef struct reading {
    cz_arena *arena;
    cz_diags *diags;
    const char *path;
    const unsigned char *data; /* behind the header */
    int64_t n_bytes;           /* of the data */
} reading;

static bool bad_file(const reading *r, const char *why)
{
    cz_diag_error(r->diags, CZ_BAD_CONFIG, (cz_span){0},
                  "'%s' is no safetensors file: %s", r->path, why);
    return false;
}

static bool bad_tensor(const reading *r, const char *name, cz_code code,
                       const char *why)
{
    cz_diag_error(r->diags, code, (cz_span){0}, "'%s': tensor '%.260s' %s",
                  r->path, name, why);
    return false;
}

static bool take_dtype(const reading *r, const json_t *json, cz_tensor *out)
{
    const char *type = json_string_value(json_object_get(json, "dtype"));

    for (int d = 0; type && d < CZ_N_DTYPES; d++)
        if (d != CZ_F16 && strcasecmp(type, cz_dtype_name((cz_dtype)d)) == 0) {
            out->dtype = (cz_dtype)d;
            return true;
        }
    return bad_tensor(r, out->name, CZ_BAD_TYPE,
                      type ? cz_arena_printf(r->arena,
                                             "has type %.16s; a run takes F32 "
                                             "and BF16",
                                             type)
                           : "has no \"dtype\"");
}

/* The shape, and the bytes that it has; -1 after reporting. */
static int64_t take_shape(const reading *r, const json_t *json, cz_tensor *out)
{
    const json_t *shape = json_object_get(json, "shape");
    const size_t n = json_array_size(shape);
    int64_t bytes = cz_dtype_bytes(out->dtype);
    bool ok = json_is_array(shape) && n <= CZ_TENSOR_MAX_DIMS;

    out->n_dims = (int)n;
    for (size_t d = 0; d < n && ok; d++) {
        const json_t *size = json_array_get(shape, d);
        out->shape[d] = json_integer_value(size);
        ok = json_is_integer(size) && out->shape[d] >= 0 &&
             cz_checked_mul(bytes, out->shape[d], &bytes);
    }
    if (ok)
        return bytes;
    bad_tensor(r, out->name, CZ_BAD_DIMENSION,
               "has no \"shape\" of at most 8 sizes");
    return -1;
}

static bool take_tensor(const reading *r, const char *name, const json_t *json,
                        cz_tensor *out)
{
    const json_t *offsets = json_object_get(json, "data_offsets");
    const json_t *first = json_array_get(offsets, 0);
    const json_t *last = json_array_get(offsets, 1);
    const int64_t begin = json_integer_value(first);
    const int64_t end = json_integer_value(last);

    out->name = cz_arena_copy(r->arena, name, strlen(name));
    if (!take_dtype(r, json, out))
        return false;
    const int64_t bytes = take_shape(r, json, out);
    if (bytes < 0)
        return false;
    if (json_array_size(offsets) != 2 || !json_is_integer(first) ||
        !json_is_integer(last) || begin < 0 || end < begin || end > r->n_bytes)
        return bad_tensor(r, name, CZ_BAD_CONFIG,
                          "has no \"data_offsets\" within the file");
    if (end - begin != bytes)
        return bad_tensor(r, name, CZ_SHAPE_MISMATCH,
                          "has data of another size than its shape and type "
                          "say");
    out->bytes = r->data + begin;
    return true;
}

static bool take_header(const reading *r, const char *bytes, size_t n,
                        cz_tensors *out)
{
    json_error_t error;
    size_t where;
    const char *name;
    json_t *member,
        *root = cz_json_is_over_depth(bytes, n, CZ_JSON_MAX_DEPTH, &where)
                    ? NULL
                    : json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &error);
    bool ok = json_is_object(root) || bad_file(r, "its header is not JSON");

    if (ok)
        json_object_foreach(root, name, member)
        {
            if (ok && strcmp(name, "__metadata__") != 0)
                ok = take_tensor(r, name, member,
                                 CZ_PUSH(r->arena, out->list, out->n));
        }
    json_decref(root);
    if (ok && out->n)
        qsort(out->list, (size_t)out->n, sizeof *out->list, by_name);
    return ok;
}

static bool take_file(reading *r, cz_tensors *out)
{
    uint64_t length = 0;

    if (out->text.n < LENGTH_BYTES)
        return bad_file(r, "it ends within the length of its header");
    for (int i = LENGTH_BYTES; i-- > 0;)
        length = length << CHAR_BIT | (unsigned char)out->text.bytes[i];
    if (length > MAX_HEADER_BYTES)
        return bad_file(r, "its header would have more than 100 MB");
    if (length > out->text.n - LENGTH_BYTES)
        return bad_file(r, "it ends within its header");
    const char *header = out->text.bytes + LENGTH_BYTES;
    r->data = (const unsigned char *)header + length;
    r->n_bytes = (int64_t)(out->text.n - LENGTH_BYTES - length);
    return take_header(r, header, (size_t)length, out);
}

bool cz_tensors_open(cz_arena *arena, cz_diags *diags, const char *path,
                     cz_tensors *out)
{
    reading r = {.arena = arena, .diags = diags, .path = path};
    const char *why = "";

    *out = (cz_tensors){0};
    if (!cz_text_read_file(&out->text, path, SIZE_MAX / 4, &why)) {
        cz_diag_error(diags, CZ_CANNOT_READ, (cz_span){0}, "%s %s", path, why);
        return false;
    }
    if (take_file(&r, out))
        return true;
    cz_tensors_close(out);
    return false;
}

void cz_tensors_close(cz_tensors *tensors)
{
    cz_text_fini(&tensors->text);
    *tensors = (cz_tensors){0};
}

/* ---- writing ---- */

static void print_entry(cz_json *json, const cz_tensor *tensor, int64_t begin,
                        int64_t end)
{
    const char *name = cz_dtype_name(tensor->dtype);
    char dtype[8] = "";

    for (size_t i = 0; name[i] && i + 1 < sizeof dtype; i++)
        dtype[i] = (char)toupper(name[i]);
    cz_json_open(json, tensor->name, '{');
    cz_json_string(json, "dtype", dtype);
    cz_json_ints(json, "shape", tensor->shape, tensor->n_dims);
    cz_json_ints(json, "data_offsets", (const int64_t[]){begin, end}, 2);
    cz_json_close(json);
}

static int64_t bytes_of(const cz_tensor *tensor)
{
    return cz_tensor_elements(tensor) * cz_dtype_bytes(tensor->dtype);
}

void cz_tensors_print(const cz_tensor *list, int n, cz_text *out)
{
    cz_text header = {0};
    char length[LENGTH_BYTES];
    int64_t at = 0;
    cz_json json;

    cz_json_init(&json, &header);
    cz_json_open(&json, NULL, '{');
    cz_json_open(&json, "__metadata__", '{');
    cz_json_string(&json, "generator", CZ_GENERATED);
    cz_json_close(&json);
    for (int i = 0; i < n; i++) {
        print_entry(&json, &list[i], at, at + bytes_of(&list[i]));
        at += bytes_of(&list[i]);
    }
    cz_json_close(&json);
    while (header.n % LENGTH_BYTES)
        cz_text_puts(&header, " ");
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (char)((uint64_t)header.n >> i * CHAR_BIT & UCHAR_MAX);
    cz_text_put(out, length, sizeof length);
    cz_text_put(out, header.bytes, header.n);
    for (int i = 0; i < n; i++)
        cz_text_put(out, (const char *)list[i].bytes,
                    (size_t)bytes_of(&list[i]));
    cz_text_fini(&header);
}
