#include "runtime/checkpoint/ranks.h"

czr_status czr_ranks_ready(czr_engine *engine, const char *folder)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (engine->status != CZR_OK)
        return engine->status;
    if (!folder || !*folder)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                 "a checkpoint has no folder");
    if (!engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    if (engine->cuda)
        return czr_engine_refuse(engine, CZR_ERR_UNSUPPORTED,
                                 "files of checkpoints are the host's: of a "
                                 "GPU read and write the boxes");
    return CZR_OK;
}

czr_status czr_ranks_agree(czr_engine *engine, czr_status own, const char *what)
{
    /* How many failed, and the sum of their ranks. */
    int64_t words[2] = {own != CZR_OK, own != CZR_OK ? engine->rank : 0};
    const czr_status status = czr_handshake_sum(engine, words, 2);

    if (own != CZR_OK || status != CZR_OK || words[0] == 0)
        return own != CZR_OK ? own : status;
    return words[0] == 1 ? czr_engine_refuse(engine, CZR_ERR_ABORTED,
                                             "rank %lld could not %s",
                                             (long long)words[1], what)
                         : czr_engine_refuse(engine, CZR_ERR_ABORTED,
                                             "%lld other ranks could not %s",
                                             (long long)words[0], what);
}
