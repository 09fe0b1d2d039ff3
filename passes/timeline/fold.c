/* Refinement of colours: ranks of one colour have had equal times and equal
 * company so far; a colour that turns out to be two is parted, until none is.
 * Colours are told apart by hashes of 64 bits. */
#include "passes/timeline/fold.h"

#include <stdlib.h>

typedef struct folder {
    cz_arena *arena;
    const cz_timeline_list *list;
    int n_colours;
    int *colour;     /* [n_ranks] numbered by their first ranks */
    int *first;      /* [n_colours] those */
    uint64_t *marks; /* [n_ranks] what is known of each */
    int *starts;     /* [n_ranks + 1] of communicators in `members` */
    int *members;    /* [n_ranks] active ranks, communicator by communicator */
    int *seen; /* [n_ranks] of each colour: number of the parting it was last
                * found in */
    int n_partings;
    int *like; /* [n_ops] the first operation with its times and its
                * communicators */
} folder;

/* ---- marks ---- */

static uint64_t mix(uint64_t mark, uint64_t value)
{
    mark = (mark ^ value) * 0x9e3779b97f4a7c15u;
    return mark ^ mark >> 29;
}

/* So far from linear that sums of them tell sets of colours apart. */
static uint64_t mark_of(int colour)
{
    return mix(mix(mix((uint64_t)colour + 1, 1), 2), 3);
}

typedef struct marked {
    uint64_t mark;
    int rank;
} marked;

static int by_mark(const void *left, const void *right)
{
    const marked *a = left, *b = right;
    if (a->mark != b->mark)
        return a->mark < b->mark ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Colours from marks; false when there are no more than before. */
static bool colour(folder *f)
{
    const int n = f->list->n_ranks, before = f->n_colours;
    cz_arena scratch;
    cz_arena_init(&scratch);
    marked *list = CZ_NEW(&scratch, marked, n);
    int *number = CZ_NEW(&scratch, int, n);
    for (int r = 0; r < n; r++)
        list[r] = (marked){f->marks[r], r};
    qsort(list, (size_t)n, sizeof *list, by_mark);
    for (int i = 0, first = 0; i < n; i++) {
        first = i > 0 && list[i].mark == list[first].mark ? first : i;
        f->colour[list[i].rank] = list[first].rank;
    }
    f->n_colours = 0;
    for (int r = 0; r < n; r++) {
        if (f->colour[r] == r)
            number[r] = f->n_colours++;
        f->colour[r] = number[f->colour[r]];
        f->marks[r] = (uint64_t)f->colour[r];
    }
    cz_arena_fini(&scratch);
    return f->n_colours > before;
}

/* ---- communicators ---- */

static int comm_of(const cz_timeline_op *op, int rank)
{
    return op->comm.of ? op->comm.of[rank] : 0;
}

/* Active ranks of each communicator: members [starts[c - 1], starts[c]), from 0
 * on. */
static void list_members(folder *f, const cz_timeline_op *op)
{
    const int n_ranks = f->list->n_ranks, n_comms = op->comm.n;
    for (int c = 0; c <= n_comms; c++)
        f->starts[c] = 0;
    for (int r = 0; r < n_ranks; r++)
        if (op->ps[r] >= 0 && comm_of(op, r) + 1 < n_comms)
            f->starts[comm_of(op, r) + 1]++;
    for (int c = 1; c <= n_comms; c++)
        f->starts[c] += f->starts[c - 1];
    for (int r = 0; r < n_ranks; r++)
        if (op->ps[r] >= 0)
            f->members[f->starts[comm_of(op, r)]++] = r;
}

static int first_member(const folder *f, int comm)
{
    return comm > 0 ? f->starts[comm - 1] : 0;
}

/* A rank of each colour; how many there are. */
static int part_colours(folder *f, int comm, int *list)
{
    const int parting = ++f->n_partings;
    int n = 0;
    for (int i = first_member(f, comm); i < f->starts[comm]; i++) {
        const int colour = f->colour[f->members[i]];
        if (f->seen[colour] != parting)
            list[n++] = f->members[i];
        f->seen[colour] = parting;
    }
    return n;
}

/* ---- operations that are alike ---- */

typedef struct said {
    uint64_t what;
    int op;
} said;

static int by_what(const void *left, const void *right)
{
    const said *a = left, *b = right;
    return a->what != b->what ? (a->what > b->what) - (a->what < b->what)
                              : (a->op > b->op) - (a->op < b->op);
}

/* first[n_ops]: of those in the list the first that says the same. */
static void find_first(said *list, int n, int *first)
{
    if (n > 0)
        qsort(list, (size_t)n, sizeof *list, by_what);
    for (int i = 0; i < n; i++)
        first[list[i].op] = i > 0 && list[i].what == list[i - 1].what
                                ? first[list[i - 1].op]
                                : list[i].op;
}

static void find_alike(folder *f)
{
    const int n_ops = f->list->n_ops;
    said *list = CZ_NEW(f->arena, said, n_ops + 1);
    for (int o = 0; o < n_ops; o++)
        list[o] = (said){(uintptr_t)f->list->ops[o].ps, o};
    find_first(list, n_ops, f->like);
    for (int o = 0; o < n_ops; o++) {
        const cz_timeline_comm *comm = &f->list->ops[o].comm;
        const cz_timeline_comm *first = &f->list->ops[f->like[o]].comm;
        if (comm->n != first->n || comm->of != first->of)
            f->like[o] = o;
    }
}

/* Of those that start together the first with its ranks in its communicators:
 * numbers in `joint`, and how many. */
static int find_joint(folder *f, int *joint)
{
    const int n_ops = f->list->n_ops;
    said *list = CZ_NEW(f->arena, said, n_ops + 1);
    int *first = CZ_NEW(f->arena, int, n_ops + 1);
    int n = 0, n_joint = 0;
    for (int o = 0; o < n_ops; o++) {
        const cz_timeline_op *op = &f->list->ops[o];
        if (op->comm.n == 0 || f->like[o] != o)
            continue;
        list[n] = (said){0, o};
        for (int r = 0; r < f->list->n_ranks; r++)
            list[n].what = mix(
                list[n].what, op->ps[r] < 0 ? 0 : (uint64_t)comm_of(op, r) + 1);
        n++;
    }
    find_first(list, n, first);
    for (int i = 0; i < n; i++)
        if (first[list[i].op] == list[i].op)
            joint[n_joint++] = list[i].op;
    return n_joint;
}

/* Who waits for other colours is another colour. */
static void refine(folder *f)
{
    const int n_ranks = f->list->n_ranks;
    int *list = CZ_NEW(f->arena, int, n_ranks + 1);
    int *joint = CZ_NEW(f->arena, int, f->list->n_ops + 1);
    const int n_joint = find_joint(f, joint);
    for (int o = 0; o < f->list->n_ops; o++)
        for (int r = 0; r < n_ranks && f->like[o] == o; r++)
            f->marks[r] = mix(f->marks[r], (uint64_t)f->list->ops[o].ps[r] + 1);
    while (colour(f))
        for (int i = 0; i < n_joint; i++) {
            const cz_timeline_op *op = &f->list->ops[joint[i]];
            list_members(f, op);
            for (int c = 0; c < op->comm.n; c++) {
                const int n = part_colours(f, c, list);
                uint64_t mark = 0;
                for (int k = 0; k < n; k++)
                    mark += mark_of(f->colour[list[k]]);
                for (int k = first_member(f, c); k < f->starts[c]; k++)
                    f->marks[f->members[k]] =
                        mix(f->marks[f->members[k]], mark);
            }
        }
}

/* ---- the folded list ---- */

/* Colours of a communicator, unless an earlier one of the operation has them:
 * a rank of some colour is in one communicator, and all such ranks have equal
 * company. */
static cz_timeline_op fold_op(folder *f, const cz_timeline_op *op, int *list)
{
    int *of = CZ_NEW(f->arena, int, f->n_colours + 1);
    int64_t *ps = CZ_NEW(f->arena, int64_t, f->n_colours + 1);
    cz_timeline_op out = *op;
    int n_comms = 0;
    for (int i = 0; i < f->n_colours; i++)
        ps[i] = op->comm.n > 0 ? -1 : op->ps[f->first[i]];
    if (op->comm.n > 0)
        list_members(f, op);
    for (int c = 0; c < op->comm.n; c++) {
        const int n = part_colours(f, c, list);
        if (n == 0 || ps[f->colour[list[0]]] >= 0)
            continue;
        for (int i = 0; i < n; i++) {
            of[f->colour[list[i]]] = n_comms;
            ps[f->colour[list[i]]] = op->ps[list[i]];
        }
        n_comms++;
    }
    out.comm = (cz_timeline_comm){n_comms, of};
    out.ps = ps;
    return out;
}

cz_timeline_list cz_timeline_fold(cz_arena *arena, const cz_timeline_list *list,
                                  const int **n_alike)
{
    const int n = list->n_ranks;
    folder f = {.arena = arena,
                .list = list,
                .colour = CZ_NEW(arena, int, n + 1),
                .marks = CZ_NEW(arena, uint64_t, n + 1),
                .members = CZ_NEW(arena, int, n + 1),
                .seen = CZ_NEW(arena, int, n + 1),
                .like = CZ_NEW(arena, int, list->n_ops + 1)};
    int most = 1;
    for (int o = 0; o < list->n_ops; o++)
        most = list->ops[o].comm.n > most ? list->ops[o].comm.n : most;
    f.starts = CZ_NEW(arena, int, most + 1);
    find_alike(&f);
    refine(&f);
    int *scratch = CZ_NEW(arena, int, n + 1);
    int *n_of = CZ_NEW(arena, int, f.n_colours + 1);
    f.first = CZ_NEW(arena, int, f.n_colours + 1);
    for (int r = n - 1; r >= 0; r--) {
        f.first[f.colour[r]] = r;
        n_of[f.colour[r]]++;
    }
    if (n_alike)
        *n_alike = n_of;
    cz_timeline_list out = {f.n_colours, list->n_ops,
                            CZ_NEW(arena, cz_timeline_op, list->n_ops + 1)};
    for (int o = 0; o < list->n_ops; o++) {
        const cz_timeline_op *like = &out.ops[f.like[o]];
        out.ops[o] = list->ops[o];
        if (f.like[o] == o)
            out.ops[o] = fold_op(&f, &list->ops[o], scratch);
        out.ops[o].comm = like->comm;
        out.ops[o].ps = like->ps;
    }
    return out;
}
