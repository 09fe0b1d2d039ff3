/* Form of a program: cheap checks at every open, so that a table of another
 * compiler's making gives an error and no stray access. */
#include "runtime/program/check.h"

#include <limits.h>
#include <stdio.h>

#include "runtime/program/internal.h"
#include "runtime/program/program.h"
#include "runtime/base/memory.h"

static bool fail(const czr_check *c, const char *what, int64_t number)
{
    snprintf(c->why, c->n, "the program's form is wrong: %s (%lld)", what,
             (long long)number);
    return false;
}

/* ---- mesh and parameters ------------------------------------------------ */

static bool check_mesh(const czr_check *c)
{
    enum { MAX_AXES = 31 };
    const czr_program *p = c->program;
    int64_t ranks = 1;

    if (p->n_axes < 0 || p->n_axes > MAX_AXES)
        return fail(c, "number of axes", p->n_axes);
    for (int a = 0; a < p->n_axes; a++) {
        if (p->sizes[a] < 1)
            return fail(c, "size of an axis", a);
        ranks *= p->sizes[a];
        if (ranks > INT_MAX)
            return fail(c, "ranks", ranks);
    }
    const uint32_t all = czr_program_all_axes(p);
    if (p->arena_selector & ~all)
        return fail(c, "a set of axes", all);
    for (int i = 0; i < p->n_names; i++)
        if (p->sets[i] & ~all)
            return fail(c, "a named set of axes", i);
    return true;
}

/* Shards lie inside the dimension, and are as long together. */
static bool check_bounds(const int64_t *bounds, int parts, int64_t size)
{
    int64_t length = 0;

    for (int i = 0; i < parts; i++, bounds += 2) {
        const int64_t first = bounds[0], end = bounds[1];
        if (first < 0 || first > end || end > size)
            return false;
        length += end - first;
    }
    return length == size;
}

static bool check_cut(const czr_check *c, const czr_pattern *pattern, int d)
{
    const uint32_t axes = pattern->shard[d];
    const int64_t size = pattern->shape[d];

    if ((axes & ~czr_program_all_axes(c->program)) || size < 1)
        return false;
    const int parts = czr_program_extent(c->program, axes);
    return pattern->bounds[d] ? check_bounds(pattern->bounds[d], parts, size)
                              : size % parts == 0;
}

static bool check_pattern(const czr_check *c, const czr_pattern *pattern)
{
    if (pattern->n_indices > 4 || pattern->n_dims > 8)
        return fail(c, "dimensions of a pattern", pattern->first_param);
    for (int i = 0; i < pattern->n_indices; i++)
        if (pattern->extents[i] < 1)
            return fail(c, "index of a pattern", pattern->first_param);
    if ((pattern->expert_axes & ~czr_program_all_axes(c->program)) ||
        (pattern->expert_axes && pattern->expert_index >= pattern->n_indices))
        return fail(c, "expert axes of a pattern", pattern->first_param);
    for (int d = 0; d < pattern->n_dims; d++)
        if (!check_cut(c, pattern, d))
            return fail(c, "shard of a pattern", pattern->first_param);
    for (const char *at = pattern->name; *at; at++)
        if (*at == '{' &&
            (at[1] < '0' || at[1] >= '0' + pattern->n_indices || at[2] != '}'))
            return fail(c, "pattern of a pattern", pattern->first_param);
    return true;
}

static bool check_patterns(const czr_check *c)
{
    const czr_program *p = c->program;
    int64_t n = 0;

    for (int f = 0; f < p->n_patterns; f++) {
        if (p->patterns[f].first_param != n ||
            !check_pattern(c, &p->patterns[f]))
            return c->why[0] ? false : fail(c, "first of a pattern", f);
        n += czr_pattern_params(&p->patterns[f]);
    }
    return n == p->n_params || fail(c, "number of parameters", n);
}

/* A rank's part of each piece lies in its part of the storage. */
static bool check_piece(const czr_check *c, const czr_storage *storage,
                        const czr_stored_pattern *piece)
{
    if (!czr_is_below(piece->pattern, c->program->n_patterns))
        return false;
    const czr_pattern *pattern = &c->program->patterns[piece->pattern];
    const czr_shard all = czr_pattern_shard(c->program, &storage->of, c->rank);
    const czr_shard own = czr_pattern_shard(c->program, pattern, c->rank);

    if (piece->batch < 0 || piece->batch > 1 ||
        (piece->batch && pattern->n_indices == 0) ||
        pattern->n_dims + piece->batch != storage->of.n_dims ||
        pattern->dtype != storage->of.dtype ||
        czr_pattern_params(pattern) !=
            czr_pattern_params(&storage->of) *
                czr_stored_batch(c->program, piece) ||
        (piece->batch && czr_stored_batch(c->program, piece) != all.shape[0]))
        return false;
    for (int own_d = 0; own_d < own.n_dims && own.n > 0; own_d++) {
        const int d = own_d + piece->batch;
        const int64_t *map = piece->map[d];
        if (map[0] < 0 || map[1] < 1 || map[2] < map[1])
            return false;
        const int64_t first = czr_map(map, own.start[own_d]) - all.start[d];
        const int64_t last =
            czr_map(map, own.start[own_d] + own.shape[own_d] - 1) -
            all.start[d];
        if (!czr_is_below(first, all.shape[d]) ||
            !czr_is_below(last, all.shape[d]))
            return false;
    }
    return true;
}

/* Families that have no parameters of their own. */
static bool check_others(const czr_check *c)
{
    const czr_program *p = c->program;

    for (int f = 0; f < p->n_frozen; f++)
        if (!check_pattern(c, &p->frozen[f]))
            return false;
    for (int t = 0; t < p->n_ties; t++)
        if (!check_pattern(c, &p->ties[t]) ||
            !czr_is_below(p->ties[t].first_param, p->n_params))
            return c->why[0] ? false : fail(c, "parameter of a tie", t);
    for (int s = 0; s < p->n_storages; s++) {
        if (!check_pattern(c, &p->storages[s].of))
            return c->why[0] ? false : fail(c, "pieces of a storage", s);
        const czr_storage *storage = &p->storages[s];
        for (int i = 0; i < storage->n_patterns; i++)
            if (!check_piece(c, storage, &storage->patterns[i]))
                return c->why[0] ? false : fail(c, "pieces of a storage", s);
    }
    return true;
}

static bool check_bucket(const czr_check *c, int b)
{
    const czr_program *p = c->program;
    const czr_bucket *bucket = &p->buckets[b];

    if (bucket->split_axes & ~czr_program_all_axes(p))
        return fail(c, "split of bucket", b);
    if (bucket->grad_dtype != CZR_F32 && bucket->grad_dtype != CZR_BF16)
        return fail(c, "type of gradients", bucket->grad_dtype);
    if (!czr_residents_are_valid(p, bucket))
        return fail(c, "residents of bucket", b);
    if (bucket->is_equal > 1)
        return fail(c, "geometry of bucket", b);
    if (bucket->n_grads < 1 || bucket->divisor < 1)
        return fail(c, "leaves or terms of bucket", b);
    const int members = czr_program_extent(p, bucket->split_axes);
    if (bucket->slices[0] != 0 || bucket->slices[members] != bucket->length)
        return fail(c, "slices of bucket", b);
    for (int i = 0; i < members; i++)
        if (bucket->slices[i] > bucket->slices[i + 1])
            return fail(c, "slices of bucket", b);
    if ((unsigned)bucket->dtype >= CZR_F16)
        return fail(c, "type of bucket", b);
    return true;
}

static bool check_places(const czr_check *c)
{
    const czr_program *p = c->program;

    for (int b = 0; b < p->n_buckets; b++)
        if (!check_bucket(c, b))
            return false;
    for (int i = 0; i < p->n_params; i++) {
        const czr_place *place = &p->places[i];
        if (!czr_is_below(place->bucket, p->n_buckets) ||
            !czr_is_below(place->rule, p->n_rules) ||
            place->stagger_offset < 0 ||
            !czr_is_inside(place->offset, czr_program_shard(p, i, c->rank).n,
                           p->buckets[place->bucket].length))
            return fail(c, "place of parameter", i);
    }
    return true;
}

/* ---- stages, tables, operations ----------------------------------------- */

static bool are_slots(const czr_slot *slots, int n)
{
    for (int i = 0; i < n; i++)
        if (slots[i].kind > CZR_SLOT_TEMP || slots[i].dtype >= CZR_N_DTYPES)
            return false;
    return true;
}

static bool check_stages(const czr_check *c)
{
    const czr_program *p = c->program;

    for (int s = 0; s < p->n_stages; s++) {
        const czr_stage *stage = &p->stages[s];
        if (!stage->run || !are_slots(stage->in, stage->n_in) ||
            !are_slots(stage->out, stage->n_out))
            return fail(c, "slots of stage", s);
        for (int i = 0; i < stage->n_scalars; i++)
            if (stage->scalars[i] >= p->n_scalars &&
                stage->scalars[i] < CZR_NAME_SCALAR)
                return fail(c, "scalars of stage", s);
    }
    return true;
}

enum { MAX_EVENTS = 32, MAX_PHASES = 32 }; /* bits of sets of them */
enum { MAX_LIMIT = 128 };                  /* f32 has no more */

static bool are_phases(const czr_phases *phases)
{
    if (phases->n_events > MAX_EVENTS || phases->n_phases < 1 ||
        phases->n_phases > MAX_PHASES)
        return false;
    for (int e = 0; e < phases->n_events; e++)
        if (phases->events[e].start < 1 || phases->events[e].period < 0 ||
            !czr_is_below(phases->events[e].staggered, 2))
            return false;
    return true;
}

/* Its type exists; a whole one has elements, on a diagonal or symmetric only if
 * square; an extern is whole, in f32. */
static bool is_state(const czr_state_desc *state)
{
    const int64_t rows = state->rows, columns = state->columns;
    const bool is_shaped =
        rows > 0 && columns > 0 && rows <= INT64_MAX / 16 / columns;

    return (unsigned)state->dtype < CZR_F16 &&
           (is_shaped || (rows == 0 && columns == 0)) &&
           czr_is_below(state->symmetric, 2) &&
           ((!state->diagonal && !state->symmetric) ||
            (is_shaped && rows == columns)) &&
           czr_is_below(state->is_extern, 2) &&
           (!state->is_extern || (is_shaped && state->dtype == CZR_F32));
}

static bool check_variants(const czr_check *c)
{
    const czr_program *p = c->program;

    for (int r = 0; r < p->n_rules; r++) {
        if (!czr_is_below(p->states[r].limit, MAX_LIMIT + 1))
            return fail(c, "limit of rule", r);
        for (int k = 0; k < p->states[r].n; k++)
            if (!is_state(&p->states[r].of[k]))
                return fail(c, "states of rule", r);
    }
    for (int r = 0; p->phases && r < p->n_rules; r++)
        if (p->phases[r] && !are_phases(p->phases[r]))
            return fail(c, "phases of rule", r);
    for (int s = 0; p->variants && s < p->n_stages; s++) {
        const czr_variants *variants = &p->variants[s];
        if (!variants->phases)
            continue;
        if (!are_phases(variants->phases))
            return fail(c, "phases of stage", s);
        for (int i = 0; i < variants->phases->n_phases; i++)
            if (!variants->run[i])
                return fail(c, "bodies of stage", s);
    }
    return true;
}

static bool check_tables(const czr_check *c)
{
    const czr_program *p = c->program;

    for (int t = 0; t < p->n_tables; t++) {
        if (p->tables[t].selector & ~czr_program_all_axes(p))
            return fail(c, "selector of table", t);
        const czr_table *table = &p->tables[t];
        const int n = czr_table_lists(
            table, czr_program_extent(c->program, table->selector));

        if (n < 0)
            return fail(c, "lists of table", t);
        for (int i = 0; i < n; i++)
            if (table->starts[i] > table->starts[i + 1])
                return fail(c, "starts of table", t);
        if (table->starts[0] != 0)
            return fail(c, "starts of table", t);
        const czr_range rows = czr_program_rows(p, t, c->rank);
        for (int64_t i = rows.first; i < rows.first + rows.n; i++)
            if (!czr_check_row(c, &p->tables[t], i))
                return fail(c, "row of table", t);
    }
    return true;
}

/* What the table of an operation of this kind has; -1: it has none. */
static int row_kind_of(unsigned kind)
{
    enum { CZR_ENTRY_NONE = -1 };
    static const int kinds[CZR_N_OP_KINDS] = {
#define ABI_OP(tag, name, entry, ...) [CZR_##tag] = CZR_ENTRY_##entry,
#include "runtime/abi.def"
    };

    return kind < CZR_N_OP_KINDS ? kinds[kind] : CZR_ENTRY_NONE;
}

/* First and step of n positions in a communicator of so many. */
static bool are_positions(int first, int n, int step, int members)
{
    return first >= 0 && first < members && n > 0 && step > 0 &&
           n - 1 <= (members - 1 - first) / step;
}

/* So many steps that a place in the arena is not passed, with `left` bytes
 * behind it. */
static bool has_steps(int64_t left, int64_t n, int64_t step)
{
    return step >= 0 && left >= 0 && (step == 0 || n <= left / step);
}

/* What this rank has of a transfer lies in its scratch. */
static bool check_boxes(const czr_check *c, const czr_op *op)
{
    const czr_program *p = c->program;
    const czr_range rows = czr_program_rows(p, op->table, c->rank);
    const czr_transfer_entry *of = p->tables[op->table].rows;
    const int members = czr_program_extent(p, op->comm);
    const int self = czr_program_coordinate(p, op->comm, c->rank);

    for (int64_t i = rows.first; i < rows.first + rows.n; i++) {
        const czr_transfer_entry *row = &of[i];
        if (!are_positions(row->member, row->n_members, row->member_step,
                           members) ||
            !are_positions(row->peer, row->n_peers, row->peer_step, members) ||
            (p->phases && !czr_is_below(row->param, p->n_params)) ||
            row->n_rows < 0 || row->row_bytes < 0 ||
            row->stride_bytes < row->row_bytes)
            return false;
        if (!czr_program_has_member(row, self) || row->n_rows == 0 ||
            row->row_bytes == 0)
            continue;
        if (!czr_is_inside(row->offset, row->row_bytes, c->arena))
            return false;
        const int64_t left = c->arena - row->offset - row->row_bytes;
        if (!has_steps(left, row->n_rows - 1, row->stride_bytes) ||
            !has_steps(left - (row->n_rows - 1) * row->stride_bytes,
                       row->n_peers - 1, row->offset_step))
            return false;
    }
    return true;
}

/* A rank's rows lie in its part or its slice, as their way says.  Operations
 * without parts have none. */
static bool check_exchange(const czr_check *c, int number)
{
    const czr_program *p = c->program;
    const czr_op *op = &p->ops[number];
    const bool to_owners = op->kind == CZR_REDUCE_SCATTER;

    if (!czr_program_has_equal_parts(p, number))
        return op->table < 0;
    if (op->table < 0)
        return false;
    const czr_range rows = czr_program_rows(p, op->table, c->rank);
    const czr_exchange_entry *row =
        (const czr_exchange_entry *)p->tables[op->table].rows + rows.first;
    for (int64_t i = 0; i < rows.n; i++) {
        const bool of_slice = (row[i].is_recv != 0) == to_owners;
        const czr_range own =
            of_slice ? czr_program_slice(p, op->bucket, c->rank)
                     : czr_program_equal_part(p, op->bucket, c->rank);
        if (!czr_is_below(row[i].peer, czr_program_extent(p, op->comm)) ||
            !czr_is_inside(row[i].offset - own.first, row[i].count, own.n))
            return false;
    }
    return true;
}

/* Only sums are made in blocks, and these are equal. */
static bool check_blocks(const czr_check *c, const czr_op *op)
{
    const int64_t span = (int64_t)op->block_size * op->stride;

    if (op->kind != CZR_GROUP_SUM)
        return op->block_size == 0 && op->stride == 0;
    return op->block_size > 1 && op->stride > 0 &&
           czr_program_extent(c->program, op->comm) % span == 0;
}

/* What is gathered or scattered has an equal part on every member. */
static bool check_parts(const czr_check *c, const czr_op *op)
{
    const czr_program *p = c->program;
    const czr_range rows = czr_program_rows(p, op->table, c->rank);
    const czr_sum_entry *row = p->tables[op->table].rows;

    for (int64_t i = rows.first; i < rows.first + rows.n; i++)
        if (row[i].how != CZR_EXCHANGE_SUM &&
            (row[i].count % op->block_size != 0 ||
             row[i].band % op->block_size != 0))
            return false;
    return true;
}

static bool check_op(const czr_check *c, int number)
{
    const czr_program *p = c->program;
    const czr_op *op = &p->ops[number];
    const int rows = row_kind_of(op->kind);
    const bool has_bucket =
        op->kind == CZR_REDUCE_SCATTER || op->kind == CZR_ALL_GATHER;

    if (op->kind >= CZR_N_OP_KINDS || op->section >= CZR_N_SECTIONS)
        return fail(c, "kind or section of operation", number);
    if (op->comm & ~czr_program_all_axes(p))
        return fail(c, "communicator of operation", number);
    if (!check_blocks(c, op))
        return fail(c, "blocks of operation", number);
    if (has_bucket ? !czr_is_below(op->bucket, p->n_buckets)
                   : op->bucket >= p->n_buckets)
        return fail(c, "bucket of operation", number);
    if (has_bucket && (op->comm & p->buckets[op->bucket].resident_axes))
        return fail(c, "communicator of operation", number);
    const bool has_none = rows < 0 || (has_bucket && op->table < 0);
    if (has_none ? op->table >= 0
                 : !czr_is_below(op->table, p->n_tables) ||
                       (int)p->tables[op->table].kind != rows)
        return fail(c, "table of operation", number);
    if (has_bucket && !check_exchange(c, number))
        return fail(c, "exchange of operation", number);
    if (op->kind == CZR_TRANSFER && !check_boxes(c, op))
        return fail(c, "boxes of operation", number);
    if (op->kind == CZR_GROUP_SUM && !check_parts(c, op))
        return fail(c, "parts of operation", number);
    if (op->kind == CZR_PROLOGUE && !p->prologue)
        return fail(c, "prologue of operation", number);
    for (int i = 0; i < op->n_waits; i++)
        if (!czr_is_below(op->waits[i], number))
            return fail(c, "waits of operation", number);
    return true;
}

static bool check_ops(const czr_check *c)
{
    for (int op = 0; op < c->program->n_ops; op++)
        if (!check_op(c, op))
            return false;
    return true;
}

static bool check_arena(czr_check *c)
{
    const czr_program *p = c->program;

    if (p->arena_bytes)
        c->arena = p->arena_bytes[czr_program_coordinate(p, p->arena_selector,
                                                         c->rank)];
    return czr_is_inside(c->arena, 0, INT64_MAX / 2) ||
           fail(c, "arena", c->arena);
}

czr_status czr_check_program(const czr_program *program, int world_size,
                             int rank, char *why, size_t n)
{
    enum { HASH_DIGITS = 64 };
    czr_check c = {.program = program, .rank = rank, .why = why, .n = n};

    if (program->abi != CZR_ABI) {
        snprintf(why, n, "the program has tables of version %u, not %u",
                 program->abi, CZR_ABI);
        return CZR_ERR_VERSION;
    }
    if (!program->plan_hash || strlen(program->plan_hash) != HASH_DIGITS) {
        fail(&c, "length of the plan hash", 0);
        return CZR_ERR_VERSION;
    }
    if (!check_mesh(&c))
        return CZR_ERR_VERSION;
    if (czr_program_ranks(program) != world_size) {
        snprintf(why, n, "the plan has %d ranks, the world %d",
                 czr_program_ranks(program), world_size);
        return CZR_ERR_WORLD_SIZE;
    }
    return check_patterns(&c) && check_others(&c) && check_places(&c) &&
                   check_arena(&c) && check_stages(&c) && check_variants(&c) &&
                   check_tables(&c) && check_ops(&c)
               ? CZR_OK
               : CZR_ERR_VERSION;
}
