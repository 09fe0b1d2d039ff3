/* From a list of parameters to statements: indices are found again, so that
 * `layers.0.w` to `layers.63.w` become `layers[i < 64].w : ...`.
 * Knows nothing of where the list comes from, nor what is written around. */
#ifndef CZ_FRONTEND_IMPORT_FAMILIES_H
#define CZ_FRONTEND_IMPORT_FAMILIES_H

#include "dsl/base/diag.h"
#include "dsl/vocab/dtype.h"

#include <stdint.h>

enum {
    CZ_IMPORT_MAX_NDIM = 8,
    CZ_IMPORT_MAX_PARAMS = 1 << 18,
    CZ_IMPORT_MAX_WORDS = 32, /* segments of a name, as in any model */
    CZ_IMPORT_MAX_WORD = 128, /* bytes of a segment, likewise */
    CZ_IMPORT_MAX_NAME = 240  /* bytes of a name, likewise */
};

typedef struct cz_import_param {
    const char *name;
    int n_dims;
    const int64_t *shape;      /* global */
    const char *const *shards; /* per dimension "", "/tp", "/dp/tp"...; NULL:
                                  nothing is sharded */
    cz_dtype dtype;
    bool frozen;
    const char *stages; /* "0, 3", or NULL: not said */
} cz_import_param;

/* What a model's file is made of.  All memory belongs to the arena. */
typedef struct cz_import_list {
    cz_import_param *params;
    int n;
    const char **comments; /* lines about what was left out */
    int n_comments;
} cz_import_list;

/* Why no path of the language can be that name, or NULL. */
const char *cz_import_bad_name(const char *name);
/* Bytes of the name before its first index: of "model.layers.3.w" those of
 * "model.layers"; 0 when there is no index. */
size_t cz_import_stack_length(const char *name);

/* Print the statements that define exactly these parameters, whose names are
 * good ones and differ.  `dtype` is the type of the block around them. */
void cz_import_families(cz_arena *arena, const cz_import_list *list,
                        cz_dtype dtype, cz_text *out);

#endif
