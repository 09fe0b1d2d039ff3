/* Axes, coordinates, communicators and links of the ranks of a plan. */
#include "passes/simulate/internal.h"

static bool has(int64_t set, int axis)
{
    return set >> axis & 1;
}

int cz_simulate_extent(const cz_figures *figures, int64_t set)
{
    int n = 1;
    for (int a = 0; a < figures->n_axes; a++)
        n *= has(set, a) ? (int)figures->sizes[a] : 1;
    return n;
}

int cz_simulate_coordinate(const cz_figures *figures, int64_t set, int rank)
{
    int coordinate = 0, unit = 1;
    for (int a = figures->n_axes - 1; a >= 0; a--) {
        const int size = (int)figures->sizes[a];
        if (has(set, a)) {
            coordinate += rank % size * unit;
            unit *= size;
        }
        rank /= size;
    }
    return coordinate;
}

bool cz_simulate_is_home(const cz_figures *figures, const cz_figures_home *home,
                         int rank)
{
    if (home->set == 0)
        return true;
    const int at = cz_simulate_coordinate(figures, home->set, rank);
    for (int i = 0; i < home->n; i++)
        if (home->coordinates[i] == at)
            return true;
    return false;
}

/* Blocks of the positions of the communicators over a set. */
static cz_pipeline_comm blocks_of(cz_simulation *s, int64_t set, cz_block block)
{
    const cz_figures *f = s->figures;
    const cz_pipeline_comm comm = cz_simulate_comm(s, set, (cz_block){0, 0});
    const int n_blocks = cz_simulate_extent(f, set) / (int)block.size;
    int *of = CZ_NEW(s->arena, int, f->n_ranks);
    for (int r = 0; r < f->n_ranks; r++)
        of[r] = comm.of[r] * n_blocks +
                (int)cz_block_number(block, cz_simulate_coordinate(f, set, r));
    return (cz_pipeline_comm){comm.n * n_blocks, of};
}

cz_pipeline_comm cz_simulate_comm(cz_simulation *s, int64_t set, cz_block block)
{
    const cz_figures *f = s->figures;
    const int64_t all = ((int64_t)1 << f->n_axes) - 1;
    cz_pipeline_comm *comm = &s->cached[set];
    if (block.size > 0)
        return blocks_of(s, set, block);
    if (comm->n > 0)
        return *comm;
    int *of = CZ_NEW(s->arena, int, f->n_ranks);
    for (int r = 0; r < f->n_ranks; r++)
        of[r] = cz_simulate_coordinate(f, all & ~set, r);
    *comm = (cz_pipeline_comm){cz_simulate_extent(f, all & ~set), of};
    return *comm;
}

/* From the first rank of a communicator to its last. */
static int64_t reach(const cz_figures *figures, int64_t set)
{
    int64_t stride = 1, sum = 0;
    for (int a = figures->n_axes - 1; a >= 0; a--) {
        if (has(set, a))
            sum += (figures->sizes[a] - 1) * stride;
        stride *= figures->sizes[a];
    }
    return sum;
}

cz_link cz_simulate_link(const cz_figures *figures, const cz_machine *machine,
                         int64_t set)
{
    const int64_t node = machine->gpus_per_node;
    const int64_t span = reach(figures, set);
    for (int r = 0; r < figures->n_ranks; r++)
        if (cz_simulate_coordinate(figures, set, r) == 0 &&
            r / node != (r + span) / node)
            return CZ_LINK_NETWORK;
    return CZ_LINK_NODE;
}
