/* Parameter families: parameters alike but for their indices, such as one
 * projection of all layers.  A family is a name with places for indices, a box
 * of index values, and one shape. */
#ifndef CZ_FRONTEND_MODEL_FAMILY_H
#define CZ_FRONTEND_MODEL_FAMILY_H

#include "dsl/syntax/ast.h"
#include "dsl/vocab/dtype.h"

enum { CZ_MAX_INDICES = 4, CZ_MAX_WORDS = 32, CZ_MAX_NDIM = 3 };

/* One segment of the name: `text`, or, when that is NULL, index `index`. */
typedef struct cz_word {
    const char *text;
    int index;
} cz_word;

/* Rows [base, base + size) of each repetition. */
typedef struct cz_piece {
    const char *name;
    int64_t base, size;
} cz_piece;

/* What fused storage holds: n times `period` rows. */
typedef struct cz_blocks {
    int64_t n, period;
    int n_pieces;
    const cz_piece *pieces;
} cz_blocks;

typedef struct cz_family {
    const cz_word *words;
    int n_words;
    int64_t first[CZ_MAX_INDICES], extents[CZ_MAX_INDICES];
    int n_indices;
    int64_t shape[CZ_MAX_NDIM];  /* global, stored layout */
    int64_t stored[CZ_MAX_NDIM]; /* the same with padding */
    int64_t shard[CZ_MAX_NDIM];  /* pieces of the mesh: bit a, axis a */
    int n_dims;
    int64_t chunk_axes; /* pieces that `shard` cuts chunk_dim over, inside the
                         * shards of its other axes; 0: none */
    int chunk_dim;
    bool ceil; /* to ceil-chunks, as FSDP does; else equally */
    cz_dtype dtype;
    int64_t spread;     /* pieces of the mesh whose coordinates hold other */
    int spread_index;   /* values of this index: coordinate c the c-th part */
    unsigned shared;    /* bit i: index i is one that the text shares out over
                         * ranks, or counts a batch, of whatever mesh */
    int64_t share_axes; /* pieces of the mesh; ranks at coordinate `share` */
    int64_t share;      /* over them have it.  0: all have */
    uint64_t home;      /* stages that have it: bit s, coordinate s over pp; 0
                         * where pp is 1, or nothing was said */
    bool expert;        /* sharded or spread over the experts' axes */
    bool transposed;    /* the optimizer sees the other order */
    bool frozen;        /* nobody trains it */
    const cz_blocks *blocks; /* storage of several matrices, or NULL */
    const cz_node *node;     /* PARAM, for messages */
} cz_family;

/* "model.layers.{0}.weight". */
const char *cz_family_pattern(cz_arena *arena, const cz_family *family);
/* The segments of one member's name; `index` has n_indices values. */
void cz_family_words(cz_arena *arena, const cz_family *family,
                     const int64_t *index, const char **words);
/* The first member's name. */
const char *cz_family_first_name(cz_arena *arena, const cz_family *family);
/* How many parameters; 0 when that does not fit. */
int64_t cz_family_count(const cz_family *family);
/* Elements of one parameter. */
int64_t cz_family_numel(const cz_family *family);
/* Alike in everything but the values of index `k`. */
bool cz_family_is_alike(const cz_family *a, const cz_family *b, int k);
/* Whether some name belongs to both. */
bool cz_family_overlaps(const cz_family *a, const cz_family *b);

#endif
