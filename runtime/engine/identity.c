/* Who ranks are.  In the sum that decides a step each has a word of its own;
 * all see all of them, so that none goes on with gradients of another engine,
 * at another update or by other run-time values. */
#include "runtime/engine/engine.h"

#include <stdio.h>

/* Of a word, from its lowest bit on. */
enum { VALUES_BITS = 24, UPDATE_BITS = 24, ENGINE_BITS = 15 };

/* As collect_step.cu does. */
static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

int64_t czr_identity_word(int number, int64_t update, const double *hypers,
                          int n)
{
    uint64_t hash = 0, bits;

    for (int i = 0; i < n; i++) {
        memcpy(&bits, &hypers[i], sizeof bits);
        hash = mix(hash, bits);
    }
    const uint64_t engine = (uint64_t)number % (1 << ENGINE_BITS);
    const uint64_t t = (uint64_t)update % (1 << UPDATE_BITS);
    return (int64_t)(engine << (UPDATE_BITS + VALUES_BITS) | t << VALUES_BITS |
                     hash % (1 << VALUES_BITS));
}

bool czr_identity_find(const int64_t *words, int n, int ranks[2])
{
    int most = 0, votes = 0; /* a majority's, where there is one */

    for (int k = 0; k < n; k++) {
        if (!words[k])
            continue;
        if (votes == 0)
            most = k;
        votes += words[k] == words[most] ? 1 : -1;
    }
    for (int k = 0; k < n; k++)
        if (words[k] && words[k] != words[most]) {
            ranks[0] = k;
            ranks[1] = most;
            return true;
        }
    return false;
}

czr_status czr_identity_stop(czr_engine *engine, const int ranks[2],
                             const int64_t words[2])
{
    long long engines[2], updates[2];

    for (int i = 0; i < 2; i++) {
        engines[i] = words[i] >> (UPDATE_BITS + VALUES_BITS);
        updates[i] = words[i] >> VALUES_BITS & ((1 << UPDATE_BITS) - 1);
    }
    if (engines[0] != engines[1])
        return czr_engine_stop(
            engine, CZR_ERR_MISMATCH,
            "rank %d steps engine %lld of its world, and rank %d engine %lld: "
            "all ranks step their engines in the same order",
            ranks[0], engines[0], ranks[1], engines[1]);
    if (updates[0] != updates[1])
        return czr_engine_stop(engine, CZR_ERR_MISMATCH,
                               "rank %d is at update %lld, and rank %d at "
                               "update %lld",
                               ranks[0], updates[0], ranks[1], updates[1]);
    return czr_engine_stop(engine, CZR_ERR_MISMATCH,
                           "rank %d was given other run-time values, as "
                           "learning rates, than rank %d for update %lld",
                           ranks[0], ranks[1], updates[0]);
}

void czr_identity_put(czr_engine *engine)
{
    memset(engine->rank_words, 0,
           (size_t)engine->world->size * sizeof *engine->rank_words);
    engine->rank_words[engine->rank] =
        czr_identity_word(engine->number, engine->steps + 1, engine->hypers,
                          engine->program->n_hypers);
}

czr_status czr_identity_check(czr_engine *engine)
{
    int ranks[2];

    if (!czr_identity_find(engine->rank_words, engine->world->size, ranks))
        return CZR_OK;
    const int64_t words[] = {engine->rank_words[ranks[0]],
                             engine->rank_words[ranks[1]]};
    return czr_identity_stop(engine, ranks, words);
}
