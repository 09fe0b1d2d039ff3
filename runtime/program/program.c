/* Coordinates, parameter names and ranges of a program. */
#include "runtime/program/program.h"

#include <stdio.h>

uint32_t czr_program_all_axes(const czr_program *program)
{
    return program->n_axes >= 32 ? UINT32_MAX
                                 : ((uint32_t)1 << program->n_axes) - 1;
}

static bool has_axis(uint32_t axes, int axis)
{
    return axes >> axis & 1;
}

int czr_program_extent(const czr_program *program, uint32_t axes)
{
    int extent = 1;

    for (int a = 0; a < program->n_axes; a++)
        if (has_axis(axes, a))
            extent *= program->sizes[a];
    return extent;
}

int czr_program_ranks(const czr_program *program)
{
    return czr_program_extent(program, czr_program_all_axes(program));
}

int czr_program_coordinate(const czr_program *program, uint32_t axes, int rank)
{
    int coordinate = 0, weight = 1;

    for (int a = program->n_axes - 1; a >= 0; a--) {
        if (has_axis(axes, a)) {
            coordinate += rank % program->sizes[a] * weight;
            weight *= program->sizes[a];
        }
        rank /= program->sizes[a];
    }
    return coordinate;
}

int czr_program_rank_at(const czr_program *program, uint32_t axes,
                        int coordinate, int rank)
{
    int result = 0, weight = 1;

    for (int a = program->n_axes - 1; a >= 0; a--) {
        const int size = program->sizes[a];
        result += (has_axis(axes, a) ? coordinate : rank) % size * weight;
        weight *= size;
        rank /= size;
        if (has_axis(axes, a))
            coordinate /= size;
    }
    return result;
}

int czr_pattern_params(const czr_pattern *pattern)
{
    int n = 1;

    for (int i = 0; i < pattern->n_indices; i++)
        n *= pattern->extents[i];
    return n;
}

const czr_pattern *czr_program_pattern(const czr_program *program, int param)
{
    int low = 0, high = program->n_patterns - 1;

    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (program->patterns[middle].first_param <= param)
            low = middle;
        else
            high = middle - 1;
    }
    return &program->patterns[low];
}

static void cut_dimension(const czr_program *program,
                          const czr_pattern *pattern, int rank, int d,
                          czr_shard *shard)
{
    const uint32_t axes = pattern->shard[d];
    const int part = czr_program_coordinate(program, axes, rank);

    if (pattern->bounds[d]) {
        const int64_t *bounds = pattern->bounds[d] + 2 * (ptrdiff_t)part;
        shard->start[d] = bounds[0];
        shard->shape[d] = bounds[1] - bounds[0];
    } else {
        shard->shape[d] = pattern->shape[d] / czr_program_extent(program, axes);
        shard->start[d] = shard->shape[d] * part;
    }
}

czr_shard czr_program_shard(const czr_program *program, int param, int rank)
{
    return czr_pattern_shard(program, czr_program_pattern(program, param),
                             rank);
}

czr_shard czr_pattern_shard(const czr_program *program,
                            const czr_pattern *pattern, int rank)
{
    czr_shard shard = {.n_dims = pattern->n_dims, .n = 1};

    for (int d = 0; d < shard.n_dims; d++) {
        cut_dimension(program, pattern, rank, d, &shard);
        shard.n *= shard.shape[d];
    }
    return shard;
}

/* Values of an index that other coordinates of a spread have before this
 * rank's. */
static int values_before(const czr_program *program, const czr_pattern *pattern,
                         int index, int rank)
{
    return pattern->expert_axes && index == pattern->expert_index
               ? czr_program_coordinate(program, pattern->expert_axes, rank) *
                     pattern->extents[index]
               : 0;
}

/* The place of a value among a rank's, or, with rank -1, among those of the
 * rank that has it; -1 if there is none. */
static int place_of_value(const czr_program *program,
                          const czr_pattern *pattern, int index, int64_t value,
                          int rank)
{
    const int extent = pattern->extents[index];
    value -= pattern->first[index];
    if (rank >= 0)
        value -= values_before(program, pattern, index, rank);
    else if (pattern->expert_axes && index == pattern->expert_index &&
             value >= 0 &&
             value / extent < czr_program_extent(program, pattern->expert_axes))
        value %= extent;
    return value >= 0 && value < extent ? (int)value : -1;
}

/* Reads "{i}" at the pattern and a canonical number at the name; -1: none. */
static int64_t match_index(const char **pattern, const char **name, int *which)
{
    int64_t value = 0;
    const char *digits = *name;

    *which = (*pattern)[1] - '0';
    *pattern += sizeof "{0}" - 1;
    while (**name >= '0' && **name <= '9' && *name - digits < 10)
        value = value * 10 + (*(*name)++ - '0');
    if (*name == digits || (*digits == '0' && *name - digits > 1))
        return -1;
    return value;
}

/* The member of the pattern that has this name on a rank, from 0, or -1. */
static int match_pattern(const czr_program *program, const czr_pattern *pattern,
                         const char *name, int rank)
{
    const char *text = pattern->name;
    int index[4] = {0}, param = 0;

    while (*text) {
        int which;
        if (*text == '{') {
            const int64_t value = match_index(&text, &name, &which);
            index[which] = value < 0 ? -1
                                     : place_of_value(program, pattern, which,
                                                      value, rank);
            if (index[which] < 0)
                return -1;
        } else if (*text++ != *name++) {
            return -1;
        }
    }
    for (int i = 0; i < pattern->n_indices; i++)
        param = param * pattern->extents[i] + index[i];
    return *name ? -1 : param;
}

/* On this rank, or, with rank -1, on any. */
static bool is_there(const czr_program *program, int param, int rank)
{
    return rank < 0 || czr_program_has_param(program, param, rank);
}

int czr_program_find(const czr_program *program, const char *name, int rank)
{
    for (int f = 0; f < program->n_patterns; f++) {
        const czr_pattern *pattern = &program->patterns[f];
        const int member = match_pattern(program, pattern, name, rank);
        if (member >= 0 && is_there(program, pattern->first_param, rank))
            return pattern->first_param + member;
    }
    for (int t = 0; t < program->n_ties; t++)
        if (match_pattern(program, &program->ties[t], name, rank) >= 0 &&
            is_there(program, program->ties[t].first_param, rank))
            return program->ties[t].first_param;
    return -1;
}

int czr_stored_batch(const czr_program *program,
                     const czr_stored_pattern *piece)
{
    const czr_pattern *pattern = &program->patterns[piece->pattern];

    return piece->batch ? pattern->extents[pattern->n_indices - 1] : 1;
}

/* The storage that a parameter is a piece of, or NULL. */
static const czr_storage *storage_of(const czr_program *program, int param,
                                     int *member)
{
    const czr_pattern *pattern = czr_program_pattern(program, param);

    for (int s = 0; s < program->n_storages; s++) {
        const czr_storage *storage = &program->storages[s];
        for (int i = 0; i < storage->n_patterns; i++)
            if (&program->patterns[storage->patterns[i].pattern] == pattern) {
                *member = (param - pattern->first_param) /
                          czr_stored_batch(program, &storage->patterns[i]);
                return storage;
            }
    }
    return NULL;
}

const czr_storage *czr_program_find_storage(const czr_program *program,
                                            const char *name, int rank,
                                            int *member)
{
    for (int s = 0; s < program->n_storages; s++) {
        const czr_storage *storage = &program->storages[s];
        const int first =
            program->patterns[storage->patterns[0].pattern].first_param;
        *member = match_pattern(program, &storage->of, name, rank);
        if (*member >= 0 && is_there(program, first, rank))
            return storage;
    }
    for (int t = 0; t < program->n_ties; t++)
        if (match_pattern(program, &program->ties[t], name, rank) >= 0 &&
            is_there(program, program->ties[t].first_param, rank))
            return storage_of(program, program->ties[t].first_param, member);
    return NULL;
}

bool czr_program_is_frozen(const czr_program *program, const char *name)
{
    for (int f = 0; f < program->n_frozen; f++)
        if (match_pattern(program, &program->frozen[f], name, -1) >= 0)
            return true;
    return false;
}

static void append(char *text, size_t n, size_t *length, const char *piece)
{
    for (; *piece; piece++, (*length)++)
        if (*length + 1 < n)
            text[*length] = *piece;
}

size_t czr_program_name(const czr_program *program, int param, int rank,
                        char *text, size_t n)
{
    const czr_pattern *pattern = czr_program_pattern(program, param);
    int index[4] = {0};
    size_t length = 0;

    param -= pattern->first_param;
    for (int i = pattern->n_indices - 1; i >= 0; i--) {
        index[i] = pattern->first[i] + param % pattern->extents[i] +
                   values_before(program, pattern, i, rank);
        param /= pattern->extents[i];
    }
    for (const char *c = pattern->name; *c; c++) {
        char piece[16] = {*c};
        if (*c == '{') {
            snprintf(piece, sizeof piece, "%d", index[c[1] - '0']);
            c += sizeof "{0}" - 2;
        }
        append(text, n, &length, piece);
    }
    if (n)
        text[length < n ? length : n - 1] = '\0';
    return length;
}

czr_range czr_program_slice(const czr_program *program, int bucket, int rank)
{
    const czr_bucket *b = &program->buckets[bucket];
    const int owner = czr_program_coordinate(program, b->split_axes, rank);

    return (czr_range){b->slices[owner],
                       b->slices[owner + 1] - b->slices[owner]};
}

czr_range czr_program_equal_part(const czr_program *program, int bucket,
                                 int rank)
{
    const czr_bucket *b = &program->buckets[bucket];
    const int64_t n = czr_program_extent(program, b->split_axes);
    const int64_t at = czr_program_coordinate(program, b->split_axes, rank);
    const int64_t units = b->length / CZR_EQUAL_PART_ALIGN +
                          (b->length % CZR_EQUAL_PART_ALIGN != 0);
    const int64_t step = (units / n + (units % n != 0)) * CZR_EQUAL_PART_ALIGN;
    const int64_t first = at * step < b->length ? at * step : b->length;
    const int64_t left = b->length - first;

    return (czr_range){first, left < step ? left : step};
}

bool czr_program_has_equal_parts(const czr_program *program, int op)
{
    const czr_op *row = &program->ops[op];
    const czr_bucket *bucket = &program->buckets[row->bucket];

    return bucket->is_equal && !(bucket->split_axes & ~row->comm);
}

czr_range czr_program_range(const czr_program *program, int op, int rank)
{
    const int bucket = program->ops[op].bucket;

    return czr_program_has_equal_parts(program, op)
               ? czr_program_equal_part(program, bucket, rank)
               : czr_program_slice(program, bucket, rank);
}

czr_range czr_program_rows(const czr_program *program, int table, int rank)
{
    const czr_table *rows = &program->tables[table];
    const int own = czr_program_coordinate(program, rows->selector, rank);
    const int at = rows->lists ? rows->lists[own] : own;

    return (czr_range){rows->starts[at],
                       rows->starts[at + 1] - rows->starts[at]};
}

int czr_table_lists(const czr_table *table, int n_coordinates)
{
    int n = 0;

    if (!table->lists)
        return n_coordinates;
    for (int c = 0; c < n_coordinates; c++)
        if (table->lists[c] == n)
            n++;
        else if (table->lists[c] < 0 || table->lists[c] > n)
            return -1;
    return n;
}

int64_t czr_program_all_rows(const czr_program *program, int table)
{
    const czr_table *of = &program->tables[table];

    return of->starts[czr_table_lists(
        of, czr_program_extent(program, of->selector))];
}

int64_t czr_program_boxes(const czr_program *program, int op, int rank,
                          czr_box *boxes)
{
    const int table = program->ops[op].table;
    const czr_range range = czr_program_rows(program, table, rank);
    const czr_transfer_entry *rows = program->tables[table].rows;
    const int self =
        czr_program_coordinate(program, program->ops[op].comm, rank);
    int64_t n = 0;

    for (int64_t i = range.first; i < range.first + range.n; i++) {
        const czr_transfer_entry *row = &rows[i];
        if (!czr_program_has_member(row, self))
            continue;
        for (int k = 0; boxes && k < row->n_peers; k++)
            boxes[n + k] =
                (czr_box){.param = row->param,
                          .is_recv = row->is_recv,
                          .peer = row->peer + k * row->peer_step,
                          .offset = row->offset + k * row->offset_step,
                          .n_rows = row->n_rows,
                          .row_bytes = row->row_bytes,
                          .stride_bytes = row->stride_bytes,
                          .phases = row->phases};
        n += row->n_peers;
    }
    return n;
}

int czr_program_streams(const czr_program *program)
{
    int n = 0;

    for (int op = 0; op < program->n_ops; op++)
        if (program->ops[op].stream >= n)
            n = program->ops[op].stream + 1;
    return n;
}

bool czr_op_is_communication(const czr_op *op)
{
    return op->kind == CZR_REDUCE_SCATTER || op->kind == CZR_ALL_GATHER ||
           op->kind == CZR_ALL_REDUCE || op->kind == CZR_TRANSFER ||
           op->kind == CZR_GROUP_SUM || op->kind == CZR_GUARD ||
           op->kind == CZR_UNDO;
}

const char *czr_op_kind_name(unsigned kind)
{
    static const char *const names[CZR_N_OP_KINDS] = {
#define ABI_OP(tag, name, ...) [CZR_##tag] = #name,
#include "runtime/abi.def"
    };

    return kind < CZR_N_OP_KINDS ? names[kind] : "unknown";
}
