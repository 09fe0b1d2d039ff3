/* Whole tensors of a file in the form of safetensors: what people hand in and
 * get back.  frontend/import reads headers of models alone, of any size. */
#ifndef CZ_FRONTEND_DOCUMENT_TENSORS_H
#define CZ_FRONTEND_DOCUMENT_TENSORS_H

#include "dsl/base/diag.h"
#include "dsl/vocab/dtype.h"

enum { CZ_TENSOR_MAX_DIMS = 8 };

typedef struct cz_tensor {
    const char *name;
    cz_dtype dtype;
    int n_dims;
    int64_t shape[CZ_TENSOR_MAX_DIMS];
    const unsigned char *bytes; /* of all elements, row-major; not aligned */
} cz_tensor;

typedef struct cz_tensors {
    cz_tensor *list; /* by name */
    int n;
    cz_text text; /* the file, which the bytes lie in */
} cz_tensors;

int64_t cz_tensor_elements(const cz_tensor *tensor);
/* "f32[4, 8]" */
const char *cz_tensor_describe(cz_arena *arena, const cz_tensor *tensor);

/* All of a file.  False after reporting what is no such file, or a tensor of it
 * that has another type than f32, bf16 and f64; nothing is held then. */
bool cz_tensors_open(cz_arena *arena, cz_diags *diags, const char *path,
                     cz_tensors *out);
void cz_tensors_close(cz_tensors *tensors);
/* NULL: there is none of that name. */
const cz_tensor *cz_tensors_find(const cz_tensors *tensors, const char *name);

/* A file of these tensors, in their order. */
void cz_tensors_print(const cz_tensor *list, int n, cz_text *out);

#endif
