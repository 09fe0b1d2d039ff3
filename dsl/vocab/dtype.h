/* Element types, as in runtime/abi.def. */
#ifndef CZ_DSL_VOCAB_DTYPE_H
#define CZ_DSL_VOCAB_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum cz_dtype {
#define ABI_DTYPE(tag, name, bytes, c_type) CZ_##tag,
#include "runtime/abi.def"
    CZ_N_DTYPES
} cz_dtype;

const char *cz_dtype_name(cz_dtype dtype);
int cz_dtype_bytes(cz_dtype dtype);
/* bf16 or f16: what tensor cores multiply. */
bool cz_dtype_is_narrow(cz_dtype dtype);
/* The type of parameters whose elements have so many bytes. */
cz_dtype cz_dtype_of_bytes(int64_t bytes);
const char *cz_dtype_c_type(cz_dtype dtype);
const char *cz_dtype_czr_tag(cz_dtype dtype);
/* False when no element type has that name. */
bool cz_dtype_find(const char *name, cz_dtype *out);

#endif
