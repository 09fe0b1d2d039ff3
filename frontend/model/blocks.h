/* Fused storage: what a stored tensor holds, and the parts that rules see.
 * Along the rows that an optimizer sees, a list of pieces repeats. */
#ifndef CZ_FRONTEND_MODEL_BLOCKS_H
#define CZ_FRONTEND_MODEL_BLOCKS_H

#include "frontend/names/eval.h"
#include "frontend/model/family.h"
#include "frontend/model/mesh.h"

/* Evaluate `pad(V, multiple)` to V and the next multiple of it; axes of the
 * mesh are names of their sizes there.  False after reporting. */
bool cz_pad_read(const cz_node *call, cz_env *env, const cz_mesh *mesh,
                 cz_diags *diags, int64_t *size, int64_t *stored);
/* The BLOCKS of a family whose shape is known, into family->blocks.  Sizes must
 * add up and names differ.  False after reporting. */
bool cz_blocks_build(const cz_node *node, cz_env *env, const cz_mesh *mesh,
                     cz_diags *diags, cz_family *family);

/* What a rule sees as one: the stored tensor (piece -1), a piece joined from
 * all repetitions (repeat -1), or one repetition of it; of a batch of matrices,
 * each one for itself; and of that a tile. */
typedef struct cz_part {
    int piece;
    int64_t repeat;
    bool batch;    /* the first of three dimensions counts matrices */
    int64_t tile;  /* rows and columns of a tile, the last ones less; 0: all */
    int64_t at[2]; /* the tile's row and column among the tiles */
} cz_part;

/* The whole tensor, without padding. */
cz_part cz_part_whole(void);
/* The stored dimension that the optimizer sees as rows (0) or columns (1) of a
 * matrix, or of each one of a batch. */
int cz_matrix_dim(const cz_family *family, int k);
bool cz_part_equal(const cz_part *a, const cz_part *b);
/* The family as a rule sees the part: its shape, and no blocks.  A batch has
 * one index more, its last; ranks that cut the batch share out its values. */
cz_family cz_part_family(const cz_family *family, cz_part part);
/* Whether that is the tensor as the trainer holds it. */
bool cz_part_is_stored(const cz_family *family, cz_part part);
/* What tells its name from the stored tensor's: "", "[q]", "[q.3]",
 * "[unpadded]", and in a batch "[{1}]", "[{1}.q]", "[{1}.q.3]"; of a tile
 * "[0,1]", "[q.0,1]", "[q.3.0,1]" and so on. */
const char *cz_part_suffix(cz_arena *arena, const cz_family *family,
                           cz_part part);
/* Base, block and stride of each stored dimension (dsl/vocab/facts.def, piece).
 */
void cz_part_map(const cz_family *family, cz_part part,
                 int64_t map[CZ_MAX_NDIM][3]);

#endif
