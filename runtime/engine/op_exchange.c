/* Equal parts of a bucket and the slices of its owners: what lies in one of
 * them on a rank and in the other on another travels between the two. */
#include "runtime/engine/engine.h"

static czr_range common(czr_range a, czr_range b)
{
    const int64_t low = a.first > b.first ? a.first : b.first;
    const int64_t a_end = a.first + a.n, b_end = b.first + b.n;
    const int64_t high = a_end < b_end ? a_end : b_end;
    return (czr_range){low, high > low ? high - low : 0};
}

static void put_row(const czr_exchange *x, bool is_recv, int peer,
                    czr_range range, int64_t shift, czr_transfer_row *rows,
                    int64_t *n)
{
    const int64_t bytes = range.n * x->element;
    if (bytes > 0)
        rows[(*n)++] =
            (czr_transfer_row){.is_recv = is_recv,
                               .peer = (int16_t)peer,
                               .offset = (range.first + shift) * x->element,
                               .n_rows = 1,
                               .row_bytes = bytes,
                               .stride_bytes = bytes};
}

/* Both directions between this rank and a peer. */
static void put_peer(const czr_engine *engine, const czr_exchange *x,
                     const czr_spaces *spaces, int peer, int rank,
                     czr_transfer_row *rows, int64_t *n)
{
    const czr_range slice = czr_program_slice(engine->program, x->bucket, rank);
    const czr_range part = czr_program_part(engine->program, x->bucket, rank);
    const czr_range of_part = common(spaces->part, slice);
    const czr_range of_slice = common(spaces->slice, part);
    put_row(x, !x->to_owners, peer, of_part, x->part_shift, rows, n);
    put_row(x, x->to_owners, peer, of_slice, x->slice_shift, rows, n);
}

/* The rank differs from this one in its split coordinate alone. */
static bool is_peer(const czr_engine *engine, const czr_bucket *bucket,
                    int rank)
{
    const czr_program *program = engine->program;
    const uint32_t rest = czr_program_all_axes(program) & ~bucket->split_axes;
    return rank != engine->rank &&
           czr_program_coordinate(program, rest, rank) ==
               czr_program_coordinate(program, rest, engine->rank);
}

/* To itself; a rank's part and slice that lie at one place stay. */
static void copy_own(const czr_engine *engine, const czr_exchange *x,
                     const czr_spaces *spaces)
{
    const czr_range own = common(spaces->part, spaces->slice);
    const int64_t part = own.first + x->part_shift;
    const int64_t slice = own.first + x->slice_shift;
    if (own.n > 0 && part != slice)
        engine->device->ops->copy(
            engine->device,
            x->base + (x->to_owners ? slice : part) * x->element,
            x->base + (x->to_owners ? part : slice) * x->element,
            (size_t)(own.n * x->element));
}

void czr_op_exchange(czr_engine *engine, int op, const czr_exchange *x,
                     czr_turn *turn)
{
    const czr_comm *comm = engine->comms[op];
    const czr_bucket *bucket = &engine->program->buckets[x->bucket];
    const czr_spaces *spaces = &engine->spaces[x->bucket];
    int64_t n = 0;

    for (int i = 0; i < comm->size; i++)
        if (is_peer(engine, bucket, comm->ranks[i]))
            put_peer(engine, x, spaces, i, comm->ranks[i], spaces->rows, &n);
    copy_own(engine, x, spaces);
    for (int64_t i = 0; i < n; i++) {
        const czr_transfer_row *row = &spaces->rows[i];
        int64_t *bytes = row->is_recv ? engine->received : engine->sent;
        bytes[op] += row->row_bytes;
    }
    turn->has_unit = n > 0;
    turn->unit = (czr_unit){.kind = CZR_UNIT_TRANSFER,
                            .of.transfer = {spaces->rows, n, x->base}};
}
