/* Lists of parameters. */
#include "frontend/import/internal.h"

#include <stdlib.h>
#include <string.h>

#include "dsl/base/checked.h"

enum { MAX_LEFT_OUT = 20 /* names in comments */ };

/* Elements of a shape, or -1 where 2^62 do not hold them. */
static int64_t count_elements(const int64_t *shape, int n_dims)
{
    int64_t numel;

    return cz_checked_product(shape, n_dims, &numel) ? numel : -1;
}

static bool bad_shape(const cz_json_text *text, cz_json_range at,
                      const cz_import_param *param, cz_code code,
                      const char *why)
{
    cz_json_error(text, at, code, "tensor '%s' %s", param->name, why);
    return false;
}

bool cz_import_read_shape(const cz_json_text *text, cz_json_range at,
                          const json_t *json, cz_import_param *param)
{
    const size_t n = json_array_size(json);
    int64_t *shape = CZ_NEW(text->arena, int64_t, n + 1);

    if (!json_is_array(json))
        return bad_shape(text, at, param, CZ_BAD_CONFIG,
                         "has no \"shape\", an array of sizes");
    if (n > CZ_IMPORT_MAX_NDIM)
        return bad_shape(text, at, param, CZ_TOO_LARGE,
                         "has more than 8 dimensions");
    for (size_t i = 0; i < n; i++) {
        const json_t *size = json_array_get(json, i);
        shape[i] = json_is_integer(size) ? json_integer_value(size) : 0;
        if (shape[i] < 1 || shape[i] > CZ_MAX_DIM)
            return bad_shape(text, at, param, CZ_BAD_DIMENSION,
                             "has a size that is no integer from 1 to 2^40");
    }
    param->shape = shape;
    param->n_dims = (int)n;
    return count_elements(shape, (int)n) > 0 ||
           bad_shape(text, at, param, CZ_TOO_LARGE,
                     "has more than 2^62 elements");
}

bool cz_import_list_add(const cz_json_text *text, cz_json_range at,
                        cz_import_list *list, cz_import_param param)
{
    const char *why = cz_import_bad_name(param.name);

    if (why) {
        cz_json_error(text, at, CZ_BAD_PATH,
                      "tensor '%.260s' %s: no path can name it", param.name,
                      why);
        return false;
    }
    if (list->n == CZ_IMPORT_MAX_PARAMS) {
        cz_json_error(text, at, CZ_TOO_LARGE, "more than %d tensors",
                      CZ_IMPORT_MAX_PARAMS);
        return false;
    }
    *CZ_PUSH(text->arena, list->params, list->n) = param;
    return true;
}

void cz_import_list_leave_out(const cz_json_text *text, cz_import_list *list,
                              const char *name, const char *why)
{
    if (list->n_comments < MAX_LEFT_OUT)
        *CZ_PUSH(text->arena, list->comments, list->n_comments) =
            cz_arena_printf(text->arena, "left out: %.240s %s", name, why);
    else if (list->n_comments == MAX_LEFT_OUT)
        *CZ_PUSH(text->arena, list->comments, list->n_comments) =
            "left out: more of the like";
}

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

bool cz_import_list_check(const cz_json_text *text, const cz_import_list *list)
{
    const char **names = CZ_NEW(text->arena, const char *, list->n);
    const cz_json_range start = {0, 1};

    if (list->n == 0) {
        cz_json_error(text, start, CZ_BAD_CONFIG,
                      "there is no tensor that could be trained");
        return false;
    }
    for (int i = 0; i < list->n; i++)
        names[i] = list->params[i].name;
    qsort(names, (size_t)list->n, sizeof *names, by_name);
    for (int i = 1; i < list->n; i++)
        if (strcmp(names[i], names[i - 1]) == 0) {
            cz_json_error(text, start, CZ_DUPLICATE_NAME,
                          "tensor '%s' is there twice", names[i]);
            return false;
        }
    return true;
}
