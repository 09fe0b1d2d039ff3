/* Element types, one table row each. */
#ifndef CZ_DSL_VOCAB_DTYPE_H
#define CZ_DSL_VOCAB_DTYPE_H

#include <stdbool.h>

typedef enum cz_dtype {
#define CZ_DTYPE(tag, name, bytes, c_type, czr_tag) CZ_##tag,
#include "dsl/vocab/dtype.def"
#undef CZ_DTYPE
    CZ_N_DTYPES
} cz_dtype;

const char *cz_dtype_name(cz_dtype dtype);
int cz_dtype_bytes(cz_dtype dtype);
const char *cz_dtype_c_type(cz_dtype dtype);
const char *cz_dtype_czr_tag(cz_dtype dtype);
/* False when no element type has that name. */
bool cz_dtype_find(const char *name, cz_dtype *out);

#endif
