/* Who is to blame where a rank has not come in time.  All that stopped waiting
 * say for whom they waited; who does not answer, and holds up this rank or one
 * that it waits for, is named. */
#include "runtime/world/transport.h"

#include <stdio.h>

enum { ROLL_CALL = CZR_CHANNELS - 1, ROLL_CALL_MS = 1000, SILENT = 0xff };

static bool is_silent(const czr_transport_world *world, size_t rank)
{
    return world->waits[rank * (size_t)world->base.size] == SILENT;
}

/* Everybody's row of waits to everybody; how many answer. */
static int call_roll(czr_transport_world *world)
{
    const size_t size = (size_t)world->base.size;
    const size_t rank = (size_t)world->base.rank;
    const int64_t quarter_ms = world->base.deadline_ms / 4;
    const int64_t deadline_ms =
        quarter_ms < ROLL_CALL_MS ? quarter_ms : ROLL_CALL_MS;
    char why[CZR_WHY_BYTES];
    int n = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned char *row = world->waits + i * size;
        if (i == rank)
            continue;
        memset(row, SILENT, size);
        world->calls[n++] =
            (czr_message){(int)i, world->waits + rank * size, size, row, size};
    }
    world->transport.exchange(world->transport.user, ROLL_CALL, n, world->calls,
                              deadline_ms, why);
    n = 0;
    for (size_t i = 0; i < size; i++)
        n += i != rank && !is_silent(world, i);
    return n;
}

/* A silent rank that holds up rank `of`, directly or through others, and in
 * *waits who waits for it; -1: none.  Nearer ones first. */
static int find_root(czr_transport_world *world, int of, int *waits)
{
    const int size = world->base.size;
    czr_message *reached = world->calls; /* peers: the ranks, in order */
    int n = 0;

    reached[n++].peer = of;
    for (int i = 0; i < n; i++) {
        const int rank = reached[i].peer;
        for (int peer = 0; peer < size; peer++) {
            bool is_new = world->waits[rank * size + peer] != 0;
            for (int k = 0; k < n; k++)
                is_new &= reached[k].peer != peer;
            if (!is_new)
                continue;
            if (is_silent(world, (size_t)peer)) {
                *waits = rank;
                return peer;
            }
            reached[n++].peer = peer;
        }
    }
    return -1;
}

void czr_transport_explain(czr_transport_world *world, bool has_waited,
                           char *why)
{
    const long long deadline_ms = (long long)world->base.deadline_ms;
    int waits = world->base.rank;

    const int n_answers = call_roll(world);
    const int root = find_root(world, world->base.rank, &waits);
    if (n_answers == 0 && !has_waited)
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d came when others had waited %lld ms",
                 world->base.rank, deadline_ms);
    else if (root >= 0)
        snprintf(why, CZR_WHY_BYTES,
                 "rank %d waited %lld ms for rank %d, which did not come",
                 waits, deadline_ms, root);
    else if (!*why)
        snprintf(why, CZR_WHY_BYTES, "a rank did not come in %lld ms",
                 deadline_ms);
}
