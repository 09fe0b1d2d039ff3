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
    uint64_t *marks; /* [n_ranks] what is known of each */
    int *starts;     /* [n_ranks + 1] of communicators in `members` */
    int *members;    /* [n_ranks] active ranks, communicator by communicator */
    int *seen; /* [n_ranks] of each colour: number of the parting it was last
                * found in */
    int n_partings;
} folder;

/* ---- marks ---- */

static uint64_t mix(uint64_t mark, uint64_t value)
{
    mark = (mark ^ value) * 0x9e3779b97f4a7c15u;
    return mark ^ mark >> 29;
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

/* Of an operation that starts everywhere by itself, all ranks as one. */
static int count_comms(const cz_timeline_op *op)
{
    return op->comm.n > 0 ? op->comm.n : 1;
}

static int comm_of(const cz_timeline_op *op, int rank)
{
    return op->comm.n > 0 && op->comm.of ? op->comm.of[rank] : 0;
}

/* Active ranks of each communicator: members [starts[c - 1], starts[c]), from 0
 * on. */
static void list_members(folder *f, const cz_timeline_op *op)
{
    const int n_ranks = f->list->n_ranks, n_comms = count_comms(op);
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

/* Each colour once; how many there are. */
static int part_colours(folder *f, int comm, marked *list)
{
    const int parting = ++f->n_partings;
    int n = 0;
    for (int i = first_member(f, comm); i < f->starts[comm]; i++) {
        const int colour = f->colour[f->members[i]];
        if (f->seen[colour] != parting)
            list[n++] = (marked){(uint64_t)colour, f->members[i]};
        f->seen[colour] = parting;
    }
    qsort(list, (size_t)n, sizeof *list, by_mark);
    return n;
}

/* Who waits for other colours is another colour. */
static void refine(folder *f)
{
    const int n_ranks = f->list->n_ranks;
    marked *list = CZ_NEW(f->arena, marked, n_ranks + 1);
    for (int o = 0; o < f->list->n_ops; o++)
        for (int r = 0; r < n_ranks; r++)
            f->marks[r] = mix(f->marks[r], (uint64_t)f->list->ops[o].ps[r] + 1);
    while (colour(f))
        for (int o = 0; o < f->list->n_ops; o++) {
            const cz_timeline_op *op = &f->list->ops[o];
            if (op->comm.n > 0)
                list_members(f, op);
            for (int c = 0; c < op->comm.n; c++) {
                const int n = part_colours(f, c, list);
                uint64_t mark = 0;
                for (int i = 0; i < n; i++)
                    mark = mix(mark, list[i].mark + 1);
                for (int i = first_member(f, c); i < f->starts[c]; i++)
                    f->marks[f->members[i]] =
                        mix(f->marks[f->members[i]], mark);
            }
        }
}

/* ---- the folded list ---- */

/* Colours of a communicator, unless an earlier one of the operation has them:
 * a rank of some colour is in one communicator, and all such ranks have equal
 * company. */
static cz_timeline_op fold_op(folder *f, const cz_timeline_op *op, marked *list)
{
    int *of = CZ_NEW(f->arena, int, f->n_colours + 1);
    int64_t *ps = CZ_NEW(f->arena, int64_t, f->n_colours + 1);
    cz_timeline_op out = *op;
    int n_comms = 0;
    for (int i = 0; i < f->n_colours; i++)
        ps[i] = -1;
    list_members(f, op);
    for (int c = 0; c < count_comms(op); c++) {
        const int n = part_colours(f, c, list);
        if (n == 0 || ps[list[0].mark] >= 0)
            continue;
        for (int i = 0; i < n; i++) {
            of[list[i].mark] = n_comms;
            ps[list[i].mark] = op->ps[list[i].rank];
        }
        n_comms++;
    }
    out.comm = (cz_timeline_comm){op->comm.n > 0 ? n_comms : 0, of};
    out.ps = ps;
    return out;
}

cz_timeline_list cz_timeline_fold(cz_arena *arena, const cz_timeline_list *list)
{
    const int n = list->n_ranks;
    folder f = {.arena = arena,
                .list = list,
                .colour = CZ_NEW(arena, int, n + 1),
                .marks = CZ_NEW(arena, uint64_t, n + 1),
                .members = CZ_NEW(arena, int, n + 1),
                .seen = CZ_NEW(arena, int, n + 1)};
    int most = 1;
    for (int o = 0; o < list->n_ops; o++)
        most = count_comms(&list->ops[o]) > most ? count_comms(&list->ops[o])
                                                 : most;
    f.starts = CZ_NEW(arena, int, most + 1);
    refine(&f);
    marked *scratch = CZ_NEW(arena, marked, n + 1);
    cz_timeline_list out = {f.n_colours, list->n_ops,
                            CZ_NEW(arena, cz_timeline_op, list->n_ops + 1)};
    for (int o = 0; o < list->n_ops; o++)
        out.ops[o] = fold_op(&f, &list->ops[o], scratch);
    return out;
}
