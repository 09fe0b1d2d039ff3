/* What trainers call of a world, on top of any implementation. */
#include "runtime/world/world.h"

#include "runtime/base/memory.h"
#include "runtime/program/program.h"
#include "runtime/base/testing.h"

int czr_world_rank(const czr_world *world)
{
    return world ? world->rank : 0;
}

int czr_world_size(const czr_world *world)
{
    return world ? world->size : 0;
}

void czr_testing_rank_order_reduction(czr_world *world, int is_on)
{
    world->rank_order_reduction = is_on != 0;
}

czr_status czr_comm_run(czr_comm *comm, const czr_collective *collective,
                        char *why)
{
    const czr_world_ops *ops = comm->world->ops;
    czr_recorder *recorder = &comm->world->recorder;
    const bool is_recorded = collective->op < 0;
    const int64_t number =
        is_recorded ? czr_recorder_begin(recorder,
                                         czr_collective_name(collective->kind),
                                         -1, 0, NULL)
                    : 0;

    ops->post(comm, collective);
    const czr_status status = ops->wait(comm, collective, why);
    if (is_recorded && status == CZR_OK)
        czr_recorder_end(recorder, number, 0);
    return status;
}

const char *czr_collective_name(czr_collective_kind kind)
{
    static const char *const names[] = {
        [CZR_COLLECTIVE_BARRIER] = "barrier",
        [CZR_COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
        [CZR_COLLECTIVE_ALL_GATHER] = "all_gather",
        [CZR_COLLECTIVE_ALL_REDUCE] = "all_reduce",
        [CZR_COLLECTIVE_SUM_SCATTER] = "sum_scatter",
        [CZR_COLLECTIVE_BAND_GATHER] = "band_gather",
        [CZR_COLLECTIVE_TRANSFER] = "transfer"};

    return names[kind];
}

size_t czr_collective_signature(const czr_collective *collective)
{
    switch (collective->kind) {
    case CZR_COLLECTIVE_ALL_REDUCE:
    case CZR_COLLECTIVE_SUM_SCATTER:
        return (collective->of.all_reduce.count +
                collective->of.all_reduce.band.blocks) *
                   CZR_N_SUMS +
               collective->of.all_reduce.type;
    case CZR_COLLECTIVE_BAND_GATHER:
        return (collective->of.band_gather.band.side +
                collective->of.band_gather.band.blocks) *
               collective->of.band_gather.element_bytes;
    case CZR_COLLECTIVE_REDUCE_SCATTER:
        return (size_t)collective->of.reduce_scatter.grad_stride *
                   CZR_N_DTYPES +
               collective->of.reduce_scatter.dtype;
    case CZR_COLLECTIVE_ALL_GATHER:
        /* A plan's members may have slices of unequal length. */
        return collective->op < 0 ? collective->of.all_gather.bytes : 0;
    case CZR_COLLECTIVE_BARRIER:
    case CZR_COLLECTIVE_TRANSFER:
        break;
    }
    return 0;
}

bool czr_collective_agrees(const czr_collective *a, const czr_collective *b)
{
    return a->kind == b->kind && a->op == b->op &&
           czr_collective_signature(a) == czr_collective_signature(b);
}

czr_status czr_world_join_axes(czr_world *world, czr_channel channel,
                               const czr_program *program, uint32_t axes,
                               int group, int stride, czr_comm **out)
{
    const int n = group > 0 ? group : czr_program_extent(program, axes);
    const int step = group > 0 ? stride : 1;
    const int own = czr_program_coordinate(program, axes, world->rank);
    const int first = own - own / step % n * step;
    int *ranks = czr_alloc((size_t)n, sizeof *ranks);

    *out = NULL;
    if (!ranks)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < n; i++)
        ranks[i] =
            czr_program_rank_at(program, axes, first + i * step, world->rank);
    const czr_status status = world->ops->join(world, channel, ranks, n, out);
    czr_free(ranks);
    return status;
}

czr_status czr_world_join_everyone(czr_world *world)
{
    czr_status status = CZR_OK;
    int *ranks = czr_alloc((size_t)world->size, sizeof *ranks);

    if (!ranks)
        return CZR_ERR_NO_MEMORY;
    for (int i = 0; i < world->size; i++)
        ranks[i] = i;
    for (int c = 0; c <= CZR_CHANNEL_PLAN && status == CZR_OK; c++)
        status = world->ops->join(world, (czr_channel)c, ranks, world->size,
                                  &world->everyone[c]);
    czr_free(ranks);
    return status;
}

static czr_status set_axis(czr_world *world, const czr_program *program, int a)
{
    const uint32_t axes = program->sets[a];
    const size_t n = strlen(program->names[a]) + 1;
    czr_mesh_axis *axis = &world->axes[a];

    axis->name = czr_alloc(n, 1);
    if (!axis->name)
        return CZR_ERR_NO_MEMORY;
    memcpy(axis->name, program->names[a], n);
    axis->size = czr_program_extent(program, axes);
    axis->coordinate = czr_program_coordinate(program, axes, world->rank);
    return czr_world_join_axes(world, CZR_CHANNEL_TRAINER, program, axes, 0, 0,
                               &axis->comm);
}

czr_status czr_world_set_mesh(czr_world *world, const czr_program *program)
{
    czr_world_clear_mesh(world);
    world->axes = czr_alloc((size_t)program->n_names, sizeof *world->axes);
    if (!world->axes)
        return CZR_ERR_NO_MEMORY;
    for (; world->n_axes < program->n_names; world->n_axes++) {
        const czr_status status = set_axis(world, program, world->n_axes);
        if (status != CZR_OK) {
            czr_free(world->axes[world->n_axes].name);
            return status;
        }
    }
    return CZR_OK;
}

void czr_world_clear_mesh(czr_world *world)
{
    for (int a = 0; a < world->n_axes; a++)
        czr_free(world->axes[a].name);
    czr_free(world->axes);
    world->axes = NULL;
    world->n_axes = 0;
}

static const czr_mesh_axis *find_axis(const czr_world *world, const char *name)
{
    for (int a = 0; a < world->n_axes; a++)
        if (strcmp(world->axes[a].name, name) == 0)
            return &world->axes[a];
    return NULL;
}

int czr_world_coordinate(const czr_world *world, const char *axis)
{
    if (!world || !axis)
        return czr_world_rank(world);
    const czr_mesh_axis *found = find_axis(world, axis);
    return found ? found->coordinate : 0;
}

int czr_world_extent(const czr_world *world, const char *axis)
{
    if (!world || !axis)
        return czr_world_size(world);
    const czr_mesh_axis *found = find_axis(world, axis);
    return found ? found->size : 1;
}

/* The communicator of an axis, of everyone for NULL; NULL if unknown. */
static czr_comm *comm_of(czr_world *world, const char *axis)
{
    const czr_mesh_axis *found = axis ? find_axis(world, axis) : NULL;

    if (!axis)
        return world->everyone[CZR_CHANNEL_TRAINER];
    return found ? found->comm : NULL;
}

const char *czr_world_error(const czr_world *world)
{
    return world ? world->error : "";
}

static czr_status run_for_trainer(czr_comm *comm,
                                  const czr_collective *collective)
{
    return comm ? czr_comm_run(comm, collective, comm->world->error)
                : CZR_ERR_NOT_FOUND;
}

czr_status czr_world_all_reduce(czr_world *world, const char *axis, void *data,
                                size_t count, czr_dtype dtype)
{
    static const czr_sum sums[] = {[CZR_F64] = CZR_SUM_F64,
                                   [CZR_F32] = CZR_SUM_F32,
                                   [CZR_BF16] = CZR_SUM_BF16};

    if (!world || (unsigned)dtype >= CZR_F16 || (!data && count))
        return CZR_ERR_ARGUMENT;
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_REDUCE,
        .op = -1,
        .of.all_reduce = {.data = data, .count = count, .type = sums[dtype]}};
    return run_for_trainer(comm_of(world, axis), &collective);
}

czr_status czr_world_all_gather(czr_world *world, const char *axis,
                                const void *send, void *receive, size_t count,
                                czr_dtype dtype)
{
    if (!world || (unsigned)dtype >= CZR_N_DTYPES ||
        (count && (!send || !receive)) ||
        count > SIZE_MAX / czr_dtype_bytes(dtype) / (size_t)world->size)
        return CZR_ERR_ARGUMENT;
    czr_comm *comm = comm_of(world, axis);
    const size_t bytes = count * czr_dtype_bytes(dtype);
    const size_t at = comm ? (size_t)comm->position * bytes : 0;
    const czr_collective collective = {
        .kind = CZR_COLLECTIVE_ALL_GATHER,
        .op = -1,
        .of.all_gather = {send, bytes, at, receive}};
    return run_for_trainer(comm, &collective);
}

czr_status czr_world_barrier(czr_world *world)
{
    const czr_collective collective = {.kind = CZR_COLLECTIVE_BARRIER,
                                       .op = -1};

    return world ? run_for_trainer(comm_of(world, NULL), &collective)
                 : CZR_ERR_ARGUMENT;
}
