/* `shard dim 0 over fsdp chunk`: every tensor is cut as FSDP does, ceil(n / N)
 * elements of one dimension to each of the first ranks, then a shorter shard,
 * then none. */
#ifndef CZ_FRONTEND_CHUNK_H
#define CZ_FRONTEND_CHUNK_H

#include "frontend/model.h"
#include "frontend/policy.h"

/* Cut all families that have the dimension.  False after reporting one that
 * another axis cuts too. */
bool cz_chunk_model(const cz_policy *policy, const cz_mesh *mesh,
                    cz_arena *arena, cz_diags *diags, cz_model *model);
/* Stored element of dimension `d` where shard `part` of `parts` begins. */
int64_t cz_chunk_start(const cz_family *family, int d, int64_t parts,
                       int64_t part);

#endif
