/* Mutations of the list of operations. */
#include "tests/adversary/verify/mutation.h"

#include <string.h>

static mutable_op *pick_op(mutable_plan *plan, randoms *r)
{
    return &plan->ops[draw(r, plan->n_ops)];
}

static int64_t *waits_of(mutable_op *op)
{
    return (int64_t *)(uintptr_t)op->fact.waits.v; /* our own copy */
}

/* Everywhere in waits, operation i gets the number new_number[i]; -1: gone. */
static void renumber(mutable_plan *plan, const int *new_number)
{
    for (int i = 0; i < plan->n_ops; i++) {
        int64_t *waits = waits_of(&plan->ops[i]);
        int n = 0;
        for (int w = 0; w < plan->ops[i].fact.waits.n; w++)
            if (new_number[waits[w]] >= 0)
                waits[n++] = new_number[waits[w]];
        plan->ops[i].fact.waits.n = n;
    }
}

static bool drop_number(mutable_plan *plan, int dropped)
{
    int *numbers = CZ_NEW(plan->arena, int, plan->n_ops);

    for (int i = 0; i < plan->n_ops; i++)
        numbers[i] = i < dropped ? i : i - 1;
    numbers[dropped] = -1;
    memmove(&plan->ops[dropped], &plan->ops[dropped + 1],
            (size_t)(plan->n_ops - dropped - 1) * sizeof *plan->ops);
    plan->n_ops--;
    renumber(plan, numbers);
    return true;
}

bool drop_op(mutable_plan *plan, randoms *r)
{
    return drop_number(plan, (int)draw(r, plan->n_ops));
}

/* The copy comes anywhere behind, with the same waits. */
bool duplicate_op(mutable_plan *plan, randoms *r)
{
    const int first = (int)draw(r, plan->n_ops);
    const int copy = (int)draw_in(r, first + 1, plan->n_ops);
    int *numbers = CZ_NEW(plan->arena, int, plan->n_ops + 1);
    mutable_op op = plan->ops[first];

    op.fact.waits.v =
        memcpy(CZ_NEW(plan->arena, int64_t, op.fact.waits.n + 1),
               op.fact.waits.v, (size_t)op.fact.waits.n * sizeof(int64_t));
    for (int i = 0; i < plan->n_ops; i++)
        numbers[i] = i < copy ? i : i + 1;
    renumber(plan, numbers);
    memmove(&plan->ops[copy + 1], &plan->ops[copy],
            (size_t)(plan->n_ops++ - copy) * sizeof *plan->ops);
    plan->ops[copy] = op;
    return true;
}

/* Waits go with their operations: they name the same ones as before. */
static bool exchange(mutable_plan *plan, int a, int b)
{
    int *numbers = CZ_NEW(plan->arena, int, plan->n_ops);
    const mutable_op kept = plan->ops[a];

    for (int i = 0; i < plan->n_ops; i++)
        numbers[i] = i == a ? b : i == b ? a : i;
    plan->ops[a] = plan->ops[b];
    plan->ops[b] = kept;
    renumber(plan, numbers);
    return a != b;
}

bool swap_ops(mutable_plan *plan, randoms *r)
{
    const int a = (int)draw(r, plan->n_ops);

    return exchange(plan, a, (int)draw(r, plan->n_ops));
}

bool swap_neighbours(mutable_plan *plan, randoms *r)
{
    const int a = (int)draw(r, plan->n_ops - 1);

    return exchange(plan, a, a + 1);
}

bool drop_wait(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);
    const int n = op->fact.waits.n;

    if (n == 0)
        return false;
    waits_of(op)[draw(r, n)] = waits_of(op)[n - 1];
    op->fact.waits.n--;
    return true;
}

bool change_wait(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);
    const int64_t number = op - plan->ops;
    int64_t *wait;

    if (op->fact.waits.n == 0 || number < 2)
        return false;
    wait = &waits_of(op)[draw(r, op->fact.waits.n)];
    const int64_t was = *wait;
    *wait = chance(r, 8) ? draw(r, plan->n_ops) : draw(r, number);
    return *wait != was;
}

bool change_stream(mutable_plan *plan, randoms *r)
{
    static const int64_t streams[] = {0, 1, 2, 3, 16, 17, 255};
    mutable_op *op = pick_op(plan, r);
    const int64_t was = op->fact.stream;

    op->fact.stream = streams[draw(r, 7)];
    return op->fact.stream != was;
}

bool change_bucket(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);
    const int64_t was = op->fact.bucket;

    if (was < 0)
        return false;
    op->fact.bucket = draw_in(r, -1, plan->n_buckets);
    return op->fact.bucket != was;
}

/* Of the same kind of rows: of another kind, the view is not built. */
bool change_table(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);
    int table;

    if (op->view.table < 0)
        return false;
    table = (int)draw(r, plan->n_tables);
    if (table == op->view.table ||
        plan->tables[table].kind != plan->tables[op->view.table].kind)
        return false;
    op->view.table = table;
    return true;
}

bool change_comm(mutable_plan *plan, randoms *r)
{
    const int n_axes = plan->origin->mesh->axes.n;
    mutable_op *op = pick_op(plan, r);
    const int64_t bits = draw(r, (int64_t)1 << n_axes);
    int64_t *axes = CZ_NEW(plan->arena, int64_t, n_axes);
    int64_t was = 0;
    int n = 0;

    for (int i = 0; i < op->fact.comm.n; i++)
        was |= (int64_t)1 << op->fact.comm.v[i];
    for (int a = 0; a < n_axes; a++)
        if (bits >> a & 1)
            axes[n++] = a;
    op->fact.comm = (cz_ints){axes, n};
    return bits != was;
}

enum { N_TRIES = 64 };

/* Of a sum, if there is one. */
static cz_fact_op *pick_blocks(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);

    for (int i = 0; i < N_TRIES && op->view.kind != CZ_STEP_GROUP_SUM; i++)
        op = pick_op(plan, r);
    return &op->fact;
}

bool change_blocks(mutable_plan *plan, randoms *r)
{
    cz_fact_op *fact = pick_blocks(plan, r);
    const int64_t was = fact->block_size;

    fact->block_size = draw_in(r, 0, 5);
    return fact->block_size != was;
}

bool change_stride(mutable_plan *plan, randoms *r)
{
    cz_fact_op *fact = pick_blocks(plan, r);
    const int64_t was = fact->stride;

    fact->stride = draw_in(r, 0, 4);
    return fact->stride != was;
}

bool change_section(mutable_plan *plan, randoms *r)
{
    mutable_op *op = pick_op(plan, r);
    const cz_section was = op->view.section;

    op->view.section = (cz_section)draw(r, CZ_N_SECTIONS);
    return op->view.section != was;
}

/* ---- the guard, keep and undo ------------------------------------------- */

/* -1: the plan has none any more. */
static int pick_recover(const mutable_plan *plan, randoms *r)
{
    const int first = (int)draw(r, plan->n_ops);

    for (int i = 0; i < plan->n_ops; i++) {
        const int number = (first + i) % plan->n_ops;
        if (plan->ops[number].view.section == CZ_SECTION_RECOVER)
            return number;
    }
    return -1;
}

bool drop_recover(mutable_plan *plan, randoms *r)
{
    const int number = pick_recover(plan, r);

    return number >= 0 && drop_number(plan, number);
}

/* Behind what it should precede, or before what it should follow. */
bool move_recover(mutable_plan *plan, randoms *r)
{
    const int number = pick_recover(plan, r);

    return number >= 0 && exchange(plan, number, (int)draw(r, plan->n_ops));
}

/* One axis less: a part of the ranks agrees without the others. */
bool part_recover(mutable_plan *plan, randoms *r)
{
    const int number = pick_recover(plan, r);
    cz_ints *comm = number < 0 ? NULL : &plan->ops[number].fact.comm;

    if (!comm || comm->n == 0)
        return false;
    int64_t *axes = CZ_NEW(plan->arena, int64_t, comm->n);
    const int dropped = (int)draw(r, comm->n);
    for (int i = 0; i + 1 < comm->n; i++)
        axes[i] = comm->v[i + (i >= dropped)];
    *comm = (cz_ints){axes, comm->n - 1};
    return true;
}

/* It waits for less, or one that waited for it does no more. */
bool loosen_recover(mutable_plan *plan, randoms *r)
{
    const int number = pick_recover(plan, r);
    if (number < 0)
        return false;
    mutable_op *op = &plan->ops[number];
    const int n = op->fact.waits.n;
    bool any = n > 0;

    if (n > 0)
        waits_of(op)[draw(r, n)] = waits_of(op)[n - 1];
    op->fact.waits.n -= n > 0;
    for (int i = number + 1; i < plan->n_ops && !any; i++) {
        int64_t *waits = waits_of(&plan->ops[i]);
        cz_ints *list = &plan->ops[i].fact.waits;
        for (int w = 0; w < list->n && !any; w++)
            if (waits[w] == number) {
                waits[w] = waits[--list->n];
                any = true;
            }
    }
    return any;
}
