/* Questions about a program: coordinates, parameters, names, slices.  Knows
 * nothing of engines. */
#ifndef CZR_PROGRAM_PROGRAM_H
#define CZR_PROGRAM_PROGRAM_H

#include "runtime/base/box.h"

#include <stdbool.h>

/* Elements of a bucket: [first, first + n). */
typedef struct czr_range {
    int64_t first, n;
} czr_range;

static inline czr_range czr_range_overlap(czr_range a, czr_range b)
{
    const int64_t first = a.first > b.first ? a.first : b.first;
    const int64_t a_end = a.first + a.n, b_end = b.first + b.n;
    const int64_t end = a_end < b_end ? a_end : b_end;

    return (czr_range){first, end > first ? end - first : 0};
}

/* A parameter's shard on one rank: the public layout's geometry. */
typedef struct czr_shard {
    int n_dims;
    int64_t shape[8], start[8]; /* of the shard, and where it starts */
    int64_t n;                  /* elements */
} czr_shard;

/* Ranks of the mesh, and coordinates over a set of axes (bit a: axis a),
 * row-major in mesh order. */
int czr_program_ranks(const czr_program *program);
uint32_t czr_program_all_axes(const czr_program *program);
int czr_program_extent(const czr_program *program, uint32_t axes);
int czr_program_coordinate(const czr_program *program, uint32_t axes, int rank);
/* The rank that has `coordinate` over `axes` and agrees with `rank` on all
 * other axes. */
int czr_program_rank_at(const czr_program *program, uint32_t axes,
                        int coordinate, int rank);

const czr_pattern *czr_program_pattern(const czr_program *program, int param);
int czr_pattern_params(const czr_pattern *pattern);
czr_shard czr_program_shard(const czr_program *program, int param, int rank);
czr_shard czr_pattern_shard(const czr_program *program,
                            const czr_pattern *pattern, int rank);

/* The element of a storage that a piece's element r lies at; `map` is base,
 * block and stride. */
static inline int64_t czr_map(const int64_t map[3], int64_t r)
{
    return map[0] + r / map[1] * map[2] + r % map[1];
}

/* The parameter that has the name on a rank, the names of ties included, or -1;
 * with rank -1, the one that has it on any rank. */
int czr_program_find(const czr_program *program, const char *name, int rank);
/* How many parameters of a piece's pattern one stored tensor holds on a rank:
 * those of a batch, or 1. */
int czr_stored_batch(const czr_program *program,
                     const czr_stored_pattern *stored);
/* The stored tensor that has the name on a rank (or, -1, on any), with *member
 * of it, or NULL.  A tie to a
 * piece is another name of the tensor that holds it. */
const czr_storage *czr_program_find_storage(const czr_program *program,
                                            const char *name, int rank,
                                            int *member);
bool czr_program_is_frozen(const czr_program *program, const char *name);
/* The name on a rank into text[n], cut where it is too long; returns its
 * length. */
size_t czr_program_name(const czr_program *program, int param, int rank,
                        char *text, size_t n);

/* Whether a rank has a bucket, and a parameter: elsewhere there is no memory
 * for it and nothing to do. */
bool czr_program_is_resident(const czr_program *program, int bucket, int rank);
bool czr_program_has_param(const czr_program *program, int param, int rank);
/* Whether it is the one that computes a whole matrix. */
bool czr_program_is_owner(const czr_program *program, int param, int rank);
/* Is a bucket's home coordinates over axes that do not split it? */
bool czr_residents_are_valid(const czr_program *program,
                             const czr_bucket *bucket);

/* The part of an equal bucket that a rank sums: equal ones, but for the last,
 * that begin at multiples of CZR_EQUAL_PART_ALIGN elements. */
enum { CZR_EQUAL_PART_ALIGN = 16 };
czr_range czr_program_equal_part(const czr_program *program, int bucket,
                                 int rank);
/* The slice of a bucket that a rank owns, where that is resident. */
czr_range czr_program_slice(const czr_program *program, int bucket, int rank);
/* Whether a reduce_scatter or all_gather is between equal parts: its members
 * have all of the split.  Else each has its slice.  And that part or slice. */
bool czr_program_has_equal_parts(const czr_program *program, int op);
czr_range czr_program_range(const czr_program *program, int op, int rank);

/* Rows of a table that this rank has. */
czr_range czr_program_rows(const czr_program *program, int table, int rank);
/* How many lists a table has for so many coordinates; -1: they are not numbered
 * in order. */
int czr_table_lists(const czr_table *table, int n_coordinates);
/* Rows of a table, of all its lists. */
int64_t czr_program_all_rows(const czr_program *program, int table);

/* Whether the member at a position has an entry's boxes. */
static inline bool czr_program_has_member(const czr_transfer_entry *entry,
                                          int position)
{
    const int behind = position - entry->member;

    return behind >= 0 && behind % entry->member_step == 0 &&
           behind / entry->member_step < entry->n_members;
}
/* How many boxes a rank has in a transfer, and these into `boxes`, or NULL. */
int64_t czr_program_boxes(const czr_program *program, int op, int rank,
                          czr_box *boxes);

/* Streams of all operations are below this. */
int czr_program_streams(const czr_program *program);

bool czr_op_is_communication(const czr_op *op);
const char *czr_op_kind_name(unsigned kind);

#endif
