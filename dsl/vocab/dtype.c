/* Element types: the table, read. */
#include "dsl/vocab/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    int bytes;
    const char *c_type, *czr_tag;
} table[] = {
#define CZ_DTYPE(tag, name, bytes, c_type, czr_tag)                            \
    {name, bytes, c_type, czr_tag},
#include "dsl/vocab/dtype.def"
#undef CZ_DTYPE
};

const char *cz_dtype_name(cz_dtype dtype)
{
    return table[dtype].name;
}

int cz_dtype_bytes(cz_dtype dtype)
{
    return table[dtype].bytes;
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
