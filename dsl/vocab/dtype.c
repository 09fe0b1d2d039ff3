/* Element types: the table, read. */
#include "dsl/vocab/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    int bytes;
    const char *c_type, *czr_tag;
} table[] = {
#define ABI_DTYPE(tag, name, bytes, c_type)                                    \
    {#name, bytes, #c_type, "CZR_" #tag},
#include "runtime/abi.def"
};

const char *cz_dtype_name(cz_dtype dtype)
{
    return table[dtype].name;
}

int cz_dtype_bytes(cz_dtype dtype)
{
    return table[dtype].bytes;
}

bool cz_dtype_is_narrow(cz_dtype dtype)
{
    return table[dtype].bytes == 2;
}

cz_dtype cz_dtype_of_bytes(int64_t bytes)
{
    int dtype = 0;
    while (dtype < CZ_N_DTYPES - 1 && table[dtype].bytes != bytes)
        dtype++;
    return (cz_dtype)dtype;
}

const char *cz_dtype_c_type(cz_dtype dtype)
{
    return table[dtype].c_type;
}

const char *cz_dtype_czr_tag(cz_dtype dtype)
{
    return table[dtype].czr_tag;
}

bool cz_dtype_find(const char *name, cz_dtype *out)
{
    for (int i = 0; i < CZ_N_DTYPES; i++) {
        if (strcmp(table[i].name, name) == 0) {
            *out = (cz_dtype)i;
            return true;
        }
    }
    return false;
}
