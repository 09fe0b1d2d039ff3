/* What a checkpoint holds: parameters, masters and states, as boxes of whole
 * tensors.  The list is the program's, so that all ranks have it alike. */
#include "runtime/czr_checkpoint.h"
#include "runtime/engine/engine.h"

#include <stdio.h>

/* A tensor of the list: a parameter at one coordinate of its experts, and what
 * of it. */
typedef struct entry {
    int param, coordinate;
    int what; /* 0: itself, 1: its master, else state number what - 2 */
} entry;

/* ---- the list ----------------------------------------------------------- */

static const czr_bucket *bucket_of(const czr_program *program, int param)
{
    return &program->buckets[program->places[param].bucket];
}

static const czr_states *states_of(const czr_program *program, int param)
{
    return &program->states[program->places[param].rule];
}

static int coordinates_of(const czr_program *program, int param)
{
    return czr_program_extent(program,
                              czr_program_pattern(program, param)->expert_axes);
}

static bool is_listed(const czr_program *program, int param, int what)
{
    if (what == 0)
        return true;
    if (what == 1)
        return bucket_of(program, param)->has_master;
    return !states_of(program, param)->of[what - 2].is_extern;
}

/* Tensors of a parameter at one coordinate. */
static int count_each(const czr_program *program, int param)
{
    int n = 0;

    for (int what = 0; what < states_of(program, param)->n + 2; what++)
        n += is_listed(program, param, what);
    return n;
}

static int count_all(const czr_program *program, int param)
{
    return count_each(program, param) * coordinates_of(program, param);
}

int czr_checkpoint_count(const czr_engine *engine)
{
    int n = 0;

    for (int p = 0; engine && p < engine->program->n_params; p++)
        n += count_all(engine->program, p);
    return n;
}

/* Goes on from the parameter that was asked for last: callers ask in order. */
static bool find_entry(czr_engine *engine, int number, entry *out)
{
    const czr_program *program = engine->program;
    int param = engine->checkpoint_param, first = engine->checkpoint_first;

    if (number < first)
        param = first = 0;
    while (param < program->n_params && number >= 0) {
        const int n = count_all(program, param);
        if (number < first + n)
            break;
        first += n;
        param++;
    }
    if (number < 0 || param == program->n_params)
        return false;
    engine->checkpoint_param = param;
    engine->checkpoint_first = first;
    const int each = count_each(program, param);
    int left = (number - first) % each;
    *out = (entry){.param = param, .coordinate = (number - first) / each};
    while (left > 0 || !is_listed(program, param, out->what))
        left -= is_listed(program, param, out->what++);
    return true;
}

/* ---- who has it --------------------------------------------------------- */

static uint32_t shard_axes(const czr_program *program, int param)
{
    const czr_pattern *pattern = czr_program_pattern(program, param);
    uint32_t axes = pattern->expert_axes;

    for (int d = 0; d < pattern->n_dims; d++)
        axes |= pattern->shard[d];
    return axes;
}

static const czr_state_desc *state_of(const czr_program *program,
                                      const entry *e)
{
    return e->what < 2 ? NULL : &states_of(program, e->param)->of[e->what - 2];
}

/* A state that its owner has whole. */
static bool is_owned(const czr_program *program, const entry *e)
{
    const czr_state_desc *state = state_of(program, e);

    return state && state->rows > 0;
}

/* Whether a rank has boxes, which may be empty. */
static bool has_any(const czr_program *program, const entry *e, int rank)
{
    const uint32_t axes = czr_program_pattern(program, e->param)->expert_axes;

    return czr_program_has_param(program, e->param, rank) &&
           czr_program_coordinate(program, axes, rank) == e->coordinate &&
           (!is_owned(program, e) ||
            czr_program_is_owner(program, e->param, rank));
}

/* Whether no lower rank has the same boxes. */
static bool is_main(const czr_engine *engine, const entry *e)
{
    const czr_program *program = engine->program;
    uint32_t axes = is_owned(program, e) ? 0 : shard_axes(program, e->param);

    if (e->what > 0 && !is_owned(program, e))
        axes |= bucket_of(program, e->param)->split_axes;
    const int own = czr_program_coordinate(program, axes, engine->rank);
    for (int rank = 0; rank < engine->rank; rank++)
        if (has_any(program, e, rank) &&
            czr_program_coordinate(program, axes, rank) == own)
            return false;
    return true;
}

/* ---- boxes -------------------------------------------------------------- */

/* The first box of elements [at, end) of an array of that shape, row-major: the
 * largest that begins there.  Returns where it ends. */
static int64_t next_box(int n_dims, const int64_t *shape, int64_t at,
                        int64_t end, czr_checkpoint_box *box)
{
    int64_t stride = 1, rest = at;
    int d = n_dims - 1;

    for (int i = n_dims - 1; i >= 0; i--) {
        box->strides[i] = stride;
        box->start[i] = rest % shape[i];
        box->shape[i] = 1;
        rest /= shape[i];
        stride *= shape[i];
    }
    /* Outwards as long as it begins at a row's start and the row fits. */
    while (d > 0 && box->start[d] == 0 && at + box->strides[d - 1] <= end) {
        box->shape[d] = shape[d];
        d--;
    }
    if (d < 0)
        return at + 1;
    const int64_t left = shape[d] - box->start[d];
    const int64_t fits = (end - at) / box->strides[d];
    box->shape[d] = fits < left ? fits : left;
    return at + box->shape[d] * box->strides[d];
}

/* Box number k of elements [first, first + n) of a shard, whose data begin with
 * the first; returns how many there are, up to k + 1. */
static int64_t range_box(const czr_shard *shard, int64_t first, int64_t n,
                         unsigned char *data, size_t element, int64_t k,
                         czr_checkpoint_box *box)
{
    int64_t at = first, n_boxes = 0;

    while (at < first + n && n_boxes <= k) {
        const int64_t begin = at;
        *box = (czr_checkpoint_box){.data = NULL};
        at = next_box(shard->n_dims, shard->shape, begin, first + n, box);
        box->data = data + (size_t)(begin - first) * element;
        for (int d = 0; d < shard->n_dims; d++)
            box->start[d] += shard->start[d];
        n_boxes++;
    }
    return n_boxes;
}

/* Elements of dimension d that lie evenly, from number `at` on. */
static int64_t even_run(const czr_loose *loose, int d, int64_t at)
{
    const czr_blocks *blocks = &loose->blocks[d];
    const int64_t left = loose->shape[d] - at;

    if (!blocks->block)
        return left;
    const int64_t run = blocks->block - (blocks->phase + at) % blocks->block;
    return run < left ? run : left;
}

static int64_t count_runs(const czr_loose *loose, int d)
{
    int64_t n = 0;

    for (int64_t at = 0; at < loose->shape[d]; at += even_run(loose, d, at))
        n++;
    return n;
}

/* The same of a parameter in memory of the trainer's: a box for each block of
 * fused storage that it lies in. */
static int64_t loose_box(const czr_loose *loose, const czr_shard *shard,
                         size_t element, int64_t k, czr_checkpoint_box *box)
{
    const int lead = loose->n_dims - shard->n_dims; /* of a batch: one matrix */
    int64_t n = 1, place = loose->origin;

    *box = (czr_checkpoint_box){.data = NULL};
    for (int d = loose->n_dims - 1; d >= 0; d--) {
        const int64_t runs = count_runs(loose, d);
        const czr_blocks *blocks = &loose->blocks[d];
        int64_t at = 0;
        for (int64_t i = runs ? k / n % runs : 0; i > 0; i--)
            at += even_run(loose, d, at);
        const int64_t from = blocks->phase + at;
        place += blocks->block ? from / blocks->block * blocks->jump +
                                     from % blocks->block * loose->strides[d]
                               : at * loose->strides[d];
        n *= runs;
        if (d < lead)
            continue;
        box->start[d - lead] = shard->start[d - lead] + at;
        box->shape[d - lead] =
            at < loose->shape[d] ? even_run(loose, d, at) : 0;
        box->strides[d - lead] = loose->strides[d];
    }
    box->data = loose->data + (ptrdiff_t)element * (ptrdiff_t)place;
    return n;
}

/* Box number k of a tensor on this rank, of how many; fewer are counted where k
 * is less. */
static int64_t find_box(const czr_engine *engine, const entry *e, int64_t k,
                        czr_checkpoint_box *box)
{
    const czr_program *program = engine->program;
    const czr_place *place = &program->places[e->param];
    const czr_spaces *spaces = &engine->spaces[place->bucket];
    const czr_shard shard = czr_program_shard(program, e->param, engine->rank);
    const czr_range held = engine->held[e->param].range;
    const czr_state_desc *state = state_of(program, e);

    if (!has_any(program, e, engine->rank))
        return 0;
    if (e->what == 0) {
        const size_t element =
            czr_dtype_bytes(program->buckets[place->bucket].dtype);
        const czr_loose *loose = &engine->bindings[e->param].param;
        if (loose->data)
            return shard.n ? loose_box(loose, &shard, element, k, box) : 0;
        return range_box(&shard, 0, shard.n,
                         spaces->param + (size_t)place->offset * element,
                         element, k, box);
    }
    if (state && state->rows > 0) {
        const czr_shard all = {.n_dims = 2,
                               .shape = {state->rows, state->columns}};
        return range_box(&all, 0, state->rows * state->columns,
                         czr_spaces_state(engine, e->param, e->what - 2, 0),
                         czr_dtype_bytes(state->dtype), k, box);
    }
    if (held.n == 0)
        return 0;
    const czr_dtype dtype = state ? state->dtype : program->master_dtype;
    unsigned char *data =
        state ? czr_spaces_state(engine, e->param, e->what - 2, held.first)
              : spaces->master + (size_t)(held.first - spaces->slice.first) *
                                     czr_dtype_bytes(dtype);
    return range_box(&shard, held.first - place->offset, held.n, data,
                     czr_dtype_bytes(dtype), k, box);
}

/* ---- for callers -------------------------------------------------------- */

static czr_status find(czr_engine *engine, int number, const void *out,
                       entry *e)
{
    if (!engine)
        return CZR_ERR_ARGUMENT;
    if (engine->status != CZR_OK)
        return engine->status;
    if (!engine->is_sealed)
        return czr_engine_refuse(engine, CZR_ERR_STATE, "not sealed yet");
    return out && find_entry(engine, number, e)
               ? CZR_OK
               : czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                   "no tensor %d of a checkpoint", number);
}

czr_status czr_checkpoint_get(czr_engine *engine, int number,
                              czr_checkpoint_tensor *out)
{
    czr_checkpoint_box box;
    entry e;
    const czr_status status = find(engine, number, out, &e);

    if (status != CZR_OK)
        return status;
    const czr_program *program = engine->program;
    const czr_pattern *pattern = czr_program_pattern(program, e.param);
    const czr_state_desc *state = state_of(program, &e);
    *out = (czr_checkpoint_tensor){
        .param = e.param,
        .state = e.what == 0 ? NULL
                 : state     ? state->name
                             : "master",
        .dtype = e.what == 0 ? bucket_of(program, e.param)->dtype
                 : state     ? state->dtype
                             : program->master_dtype,
        .n_dims = pattern->n_dims,
        .symmetric = state ? state->symmetric : 0};
    memcpy(out->shape, pattern->shape, sizeof out->shape);
    if (is_owned(program, &e)) {
        out->n_dims = 2;
        memset(out->shape, 0, sizeof out->shape);
        out->shape[0] = state->rows;
        out->shape[1] = state->columns;
    }
    const int holder =
        czr_program_rank_at(program, pattern->expert_axes, e.coordinate, 0);
    if (czr_program_name(program, e.param, holder, out->name,
                         sizeof out->name) >= sizeof out->name)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                 "the name of parameter %d is too long",
                                 e.param);
    while (find_box(engine, &e, out->n_boxes, &box) > out->n_boxes)
        out->n_boxes++;
    out->is_main = out->n_boxes > 0 && is_main(engine, &e);
    return CZR_OK;
}

czr_status czr_checkpoint_get_box(czr_engine *engine, int number, int64_t k,
                                  czr_checkpoint_box *out)
{
    entry e;
    const czr_status status = find(engine, number, out, &e);

    if (status != CZR_OK)
        return status;
    if (k < 0 || find_box(engine, &e, k, out) <= k)
        return czr_engine_refuse(engine, CZR_ERR_ARGUMENT,
                                 "tensor %d of a checkpoint has no box %lld "
                                 "here",
                                 number, (long long)k);
    if (e.what == 1) {
        czr_spaces_take_masters_now(engine);
        czr_written_allow(engine, e.param);
    }
    engine->has_given_states |= e.what > 1;
    return CZR_OK;
}
