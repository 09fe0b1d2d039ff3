/* Axes, coordinates, communicators and links of the ranks of a plan. */
#include "passes/simulate/internal.h"

static bool has(int64_t set, int axis)
{
    return set >> axis & 1;
}

int cz_simulate_extent(const cz_document *document, int64_t set)
{
    int n = 1;
    for (int a = 0; a < document->n_axes; a++)
        n *= has(set, a) ? (int)document->axes[a].size : 1;
    return n;
}

int cz_simulate_coordinate(const cz_document *document, int64_t set, int rank)
{
    int coordinate = 0, unit = 1;
    for (int a = document->n_axes - 1; a >= 0; a--) {
        const int size = (int)document->axes[a].size;
        if (has(set, a)) {
            coordinate += rank % size * unit;
            unit *= size;
        }
        rank /= size;
    }
    return coordinate;
}

bool cz_simulate_is_home(const cz_document *document,
                         const cz_document_home *home, int rank)
{
    if (home->set == 0)
        return true;
    const int at = cz_simulate_coordinate(document, home->set, rank);
    for (int i = 0; i < home->n; i++)
        if (home->coordinates[i] == at)
            return true;
    return false;
}

/* Blocks of the positions of the communicators over a set. */
static cz_timeline_comm blocks_of(cz_simulation *s, int64_t set, cz_block block)
{
    const cz_document *f = s->document;
    const cz_timeline_comm comm = cz_simulate_comm(s, set, (cz_block){0, 0});
    const int n_blocks = cz_simulate_extent(f, set) / (int)block.size;
    int *of = CZ_NEW(s->arena, int, f->n_ranks);
    for (int r = 0; r < f->n_ranks; r++)
        of[r] = comm.of[r] * n_blocks +
                (int)cz_block_number(block, cz_simulate_coordinate(f, set, r));
    return (cz_timeline_comm){comm.n * n_blocks, of};
}

cz_timeline_comm cz_simulate_comm(cz_simulation *s, int64_t set, cz_block block)
{
    const cz_document *f = s->document;
    const int64_t all = ((int64_t)1 << f->n_axes) - 1;
    cz_timeline_comm *comm = &s->cached[set];
    if (block.size > 0)
        return blocks_of(s, set, block);
    if (comm->n > 0)
        return *comm;
    int *of = CZ_NEW(s->arena, int, f->n_ranks);
    for (int r = 0; r < f->n_ranks; r++)
        of[r] = cz_simulate_coordinate(f, all & ~set, r);
    *comm = (cz_timeline_comm){cz_simulate_extent(f, all & ~set), of};
    return *comm;
}

/* The rank with that coordinate over a set, alike on all other axes. */
static int rank_at(const cz_document *document, int64_t set, int coordinate,
                   int rank)
{
    int result = 0, weight = 1;
    for (int a = document->n_axes - 1; a >= 0; a--) {
        const int size = (int)document->axes[a].size;
        result += (has(set, a) ? coordinate : rank) % size * weight;
        coordinate /= has(set, a) ? size : 1;
        rank /= size;
        weight *= size;
    }
    return result;
}

cz_link cz_simulate_link(const cz_document *document, const cz_machine *machine,
                         int64_t set, cz_block block)
{
    const int64_t node = machine->gpus_per_node;
    if (block.size == 0)
        block = (cz_block){cz_simulate_extent(document, set), 1};
    for (int r = 0; r < document->n_ranks; r++) {
        const int first = cz_simulate_coordinate(document, set, r);
        const int64_t last = first + (block.size - 1) * block.stride;
        if (cz_block_seat(block, first) == 0 &&
            rank_at(document, set, (int)last, r) / node != r / node)
            return CZ_LINK_NETWORK;
    }
    return CZ_LINK_NODE;
}
