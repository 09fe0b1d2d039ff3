/* What units of a world over MPI take beside the calls of MPI that do the same:
 * medians of turns that alternate, and of the ratios of each.  A turn begins
 * with a barrier and takes as long as on its slowest rank.
 *
 *     mpirun -n 2 bench_mpi [TURNS] */
#include "runtime/czr_mpi.h"
#include "runtime/world/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 64 << 20, TURNS = 41, US = 1000000, ALIGN = 4096 };
/* Bytes of the whole: from where bandwidth begins to count. */
static const size_t sizes[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

typedef struct bench {
    czr_comm *comm;
    int rank, ranks;
    unsigned char *ours, *theirs, *out;
} bench;

/* Each does one thing of n bytes, by a unit of ours or by MPI. */
typedef struct operation {
    const char *name;
    void (*ours)(const bench *b, size_t n);
    void (*theirs)(const bench *b, size_t n);
} operation;

static void fail(const char *why)
{
    fprintf(stderr, "bench_mpi: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* As an operation of a plan, which no rank asks for. */
static void run_unit(const bench *b, czr_collective *unit)
{
    const czr_world_ops *ops = b->comm->world->ops;
    char why[CZR_WHY_BYTES];

    ops->post(b->comm, unit);
    if (ops->wait(b->comm, unit, why) != CZR_OK)
        fail(why);
}

static void sum(const bench *b, size_t n, czr_collective_kind kind)
{
    run_unit(b, &(czr_collective){.kind = kind,
                                  .of.all_reduce = {.data = b->ours,
                                                    .count = n / sizeof(float),
                                                    .type = CZR_SUM_F32}});
}

static void our_all_reduce(const bench *b, size_t n)
{
    sum(b, n, CZR_COLLECTIVE_ALL_REDUCE);
}

static void their_all_reduce(const bench *b, size_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, b->theirs, (int)(n / sizeof(float)), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
}

static void our_reduce_scatter(const bench *b, size_t n)
{
    sum(b, n, CZR_COLLECTIVE_SUM_SCATTER);
}

static void their_reduce_scatter(const bench *b, size_t n)
{
    MPI_Reduce_scatter_block(b->theirs, b->out,
                             (int)(n / sizeof(float)) / b->ranks, MPI_FLOAT,
                             MPI_SUM, MPI_COMM_WORLD);
}

static void our_all_gather(const bench *b, size_t n)
{
    const size_t part = n / (size_t)b->ranks;

    run_unit(b,
             &(czr_collective){.kind = CZR_COLLECTIVE_ALL_GATHER,
                               .of.all_gather = {.send = b->out,
                                                 .bytes = part,
                                                 .at = part * (size_t)b->rank,
                                                 .receive = b->ours}});
}

static void their_all_gather(const bench *b, size_t n)
{
    const int part = (int)(n / (size_t)b->ranks);

    MPI_Allgather(b->out, part, MPI_BYTE, b->theirs, part, MPI_BYTE,
                  MPI_COMM_WORLD);
}

/* To the next rank, from the one before. */
static void our_transfer(const bench *b, size_t n)
{
    const int next = (b->rank + 1) % b->ranks;
    const int last = (b->rank + b->ranks - 1) % b->ranks;
    const czr_box boxes[] = {
        {.is_recv = 0, .peer = next, .n_rows = 1, .row_bytes = (int64_t)n},
        {.is_recv = 1,
         .peer = last,
         .n_rows = 1,
         .row_bytes = (int64_t)n,
         .offset = (int64_t)n}};

    run_unit(b,
             &(czr_collective){
                 .kind = CZR_COLLECTIVE_TRANSFER,
                 .of.transfer = {.rows = boxes, .n_rows = 2, .base = b->ours}});
}

static void their_transfer(const bench *b, size_t n)
{
    MPI_Sendrecv(b->theirs, (int)n, MPI_BYTE, (b->rank + 1) % b->ranks, 0,
                 b->theirs + n, (int)n, MPI_BYTE,
                 (b->rank + b->ranks - 1) % b->ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static const operation operations[] = {
    {"all_reduce", our_all_reduce, their_all_reduce},
    {"reduce_scatter", our_reduce_scatter, their_reduce_scatter},
    {"all_gather", our_all_gather, their_all_gather},
    {"transfer", our_transfer, their_transfer}};

/* Seconds, of the slowest rank. */
static double time_of(void (*run)(const bench *, size_t), const bench *b,
                      size_t n)
{
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    run(b, n);
    double took = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, compare);
    return values[n / 2];
}

static void measure(const bench *b, const operation *of, size_t n, int turns)
{
    double *took = malloc(3 * (size_t)turns * sizeof *took);

    if (!took)
        fail("no memory");
    time_of(of->ours, b, n);
    time_of(of->theirs, b, n);
    for (int i = 0; i < turns; i++) {
        took[i] = time_of(of->ours, b, n);
        took[turns + i] = time_of(of->theirs, b, n);
        took[2 * turns + i] = took[i] / took[turns + i];
    }
    if (b->rank == 0)
        printf("| %s | %zu | %.0f | %.0f | %.2f |\n", of->name, n >> 10,
               US * median(took, turns), US * median(took + turns, turns),
               median(took + 2 * turns, turns));
    free(took);
}

/* What MPI and ours have added up is the same, where sums have one order. */
static void check_sums(const bench *b)
{
    const size_t n = sizes[0] / sizeof(float);
    float *ours = (float *)b->ours, *theirs = (float *)b->theirs;

    for (size_t i = 0; i < n; i++)
        ours[i] = theirs[i] = (float)(i % 97) + (float)b->rank;
    our_all_reduce(b, sizes[0]);
    their_all_reduce(b, sizes[0]);
    if (memcmp(ours, theirs, sizes[0]) != 0)
        fail("our sums are not those of MPI");
}

int main(int argc, char **argv)
{
    const int turns = argc > 1 ? atoi(argv[1]) : TURNS;
    czr_world *world;
    int level, ranks[64];
    bench b = {0};

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (turns < 1)
        fail("the number of turns is 1 or more");
    if (czr_world_mpi_open(MPI_COMM_WORLD, &world) != CZR_OK)
        fail("no world");
    MPI_Comm_rank(MPI_COMM_WORLD, &b.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &b.ranks);
    for (int i = 0; i < b.ranks; i++)
        ranks[i] = i;
    b.ours = aligned_alloc(ALIGN, MOST_BYTES);
    b.theirs = aligned_alloc(ALIGN, MOST_BYTES);
    b.out = aligned_alloc(ALIGN, MOST_BYTES);
    if (!b.ours || !b.theirs || !b.out ||
        world->ops->join(world, CZR_CHANNEL_PLAN, ranks, b.ranks, &b.comm))
        fail("no memory");
    memset(b.ours, 0, MOST_BYTES);
    memset(b.theirs, 0, MOST_BYTES);
    memset(b.out, 0, MOST_BYTES);
    check_sums(&b);
    if (b.rank == 0)
        printf("| unit | KiB | ours us | MPI us | ours/MPI |\n"
               "|---|---:|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            measure(&b, &operations[i], sizes[k], turns);
    czr_world_close(world);
    MPI_Finalize();
    free(b.ours);
    free(b.theirs);
    free(b.out);
    return 0;
}
