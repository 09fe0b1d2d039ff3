/* What files of checkpoints are written in. */
#include "runtime/checkpoint/internal.h"

#include <stdarg.h>
#include <stdio.h>

void czr_key_of(const czr_checkpoint_tensor *tensor, char key[CZR_KEY_BYTES])
{
    snprintf(key, CZR_KEY_BYTES, "%s%s%s", tensor->name,
             tensor->state ? "#" : "", tensor->state ? tensor->state : "");
}

void czr_file_name(int64_t save, int rank, char name[CZR_FILE_NAME_BYTES])
{
    snprintf(name, CZR_FILE_NAME_BYTES, "save%lld.rank%d.safetensors",
             (long long)save, rank);
}

int64_t czr_count_of(int n_dims, const int64_t *shape)
{
    int64_t n = 1;

    for (int d = 0; d < n_dims; d++)
        if (shape[d] < 0 || __builtin_mul_overflow(n, shape[d], &n))
            return -1;
    return n;
}

/* ---- reading ------------------------------------------------------------ */

bool czr_take(const char **at, const char *end, const char *literal)
{
    const size_t n = strlen(literal);

    if ((size_t)(end - *at) < n || memcmp(*at, literal, n) != 0)
        return false;
    *at += n;
    return true;
}

bool czr_take_number(const char **at, const char *end, int64_t *out)
{
    const char *const first = *at;

    *out = 0;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at)
        if (__builtin_mul_overflow(*out, INT64_C(10), out) ||
            __builtin_add_overflow(*out, (int64_t)(**at - '0'), out))
            return false;
    return *at > first;
}

bool czr_take_text(const char **at, const char *end, char *to, size_t size)
{
    size_t n = 0;

    for (; *at < end && **at != '"'; ++*at) {
        if (**at < ' ' || **at == '\\' || n + 1 >= size)
            return false;
        to[n++] = **at;
    }
    to[n] = '\0';
    return *at < end;
}

bool czr_take_numbers(const char **at, const char *end, int64_t *to, int most,
                      int *n)
{
    *n = 0;
    if (!czr_take(at, end, "["))
        return false;
    while (!czr_take(at, end, "]"))
        if (*n == most || (*n > 0 && !czr_take(at, end, ",")) ||
            !czr_take_number(at, end, &to[(*n)++]))
            return false;
    return true;
}

static const char *const labels[CZR_N_DTYPES] = {[CZR_F64] = "F64",
                                                 [CZR_F32] = "F32",
                                                 [CZR_BF16] = "BF16",
                                                 [CZR_F16] = "F16"};

const char *czr_dtype_label(czr_dtype dtype)
{
    return labels[dtype];
}

bool czr_take_dtype(const char **at, const char *end, czr_dtype *out)
{
    for (int i = 0; i < CZR_N_DTYPES; i++) {
        const char *from = *at;
        if (czr_take(&from, end, labels[i]) && czr_take(&from, end, "\"")) {
            *out = (czr_dtype)i;
            *at = from;
            return true;
        }
    }
    return false;
}

/* ---- writing ------------------------------------------------------------ */

bool czr_print(char *text, size_t size, size_t *n, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const int more = vsnprintf(text + *n, size - *n, format, args);
    va_end(args);
    if (more < 0 || (size_t)more >= size - *n)
        return false;
    *n += (size_t)more;
    return true;
}

bool czr_print_numbers(char *text, size_t size, size_t *n,
                       const int64_t *numbers, int count)
{
    bool ok = true;

    for (int i = 0; i < count && ok; i++)
        ok = czr_print(text, size, n, i ? ",%lld" : "%lld",
                       (long long)numbers[i]);
    return ok;
}
