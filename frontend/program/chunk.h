/* `shard dim E over fsdp`: one dimension of each tensor is cut over an axis of
 * its own, inside the shards that the architecture's axes leave of it: to equal
 * parts, or, with `chunk`, as FSDP does: ceil(n / N) elements to each of the
 * first ranks, then a shorter shard, then none. */
#ifndef CZ_FRONTEND_PROGRAM_CHUNK_H
#define CZ_FRONTEND_PROGRAM_CHUNK_H

#include "frontend/model/model.h"
#include "frontend/program/policy.h"

/* Cut all families that the clauses match and that have the dimension.  False
 * after reporting one that cannot be cut so, or a path that matches nothing. */
bool cz_chunk_model(const cz_policy *policy, const cz_mesh *mesh,
                    cz_arena *arena, cz_diags *diags, cz_model *model);
/* The first stored element along dimension `d`, and the end, of the shard that
 * has `coordinate` over the axes which cut it. */
void cz_chunk_shard(const cz_mesh *mesh, const cz_family *family, int d,
                    int64_t coordinate, int64_t shard[2]);

#endif
