/* Reading a sentence of the verifier, and looking up what it names. */
#include "tests/adversary/verify/sentence.h"

#include "dsl/plan/box.h"

#include <stdio.h>
#include <string.h>

typedef struct named {
    int op, rank, param;
} named;

static int find_param(const cz_plan_view *view, const char *name)
{
    for (int p = 0; p < view->n_params; p++)
        for (int64_t c = 0;
             c < view->patterns[view->params[p].pattern].expert_extent; c++)
            if (strcmp(view->params[p].names[c], name) == 0)
                return p;
    return -1;
}

static int64_t param_of_row(const cz_view_table *table, int64_t row)
{
    switch (table->kind) {
    case CZ_ENTRY_KERNEL:
        return table->rows.kernel[row].param;
    case CZ_ENTRY_TRANSFER:
        return table->rows.transfer[row].param;
    case CZ_ENTRY_SUM:
        return table->rows.sum[row].param;
    case CZ_ENTRY_SPAN:
        return table->rows.span[row].param;
    case CZ_ENTRY_EXCHANGE:
    case CZ_N_ENTRY_KINDS:
        break;
    }
    return -1;
}

/* The rank is of the row's members; a row whose members the communicator has
 * not is of all who hold it. */
static bool is_of(const cz_plan_view *view, const cz_view_op *op,
                  const cz_view_transfer_entry *row, int rank)
{
    const int64_t last = row->member + (row->n_members - 1) * row->member_step;

    return last >= cz_view_extent(view, &op->fact->comm) ||
           cz_view_has_member(row,
                              cz_view_coordinate(view, &op->fact->comm, rank));
}

static bool has_row(const cz_plan_view *view, const named *n, int rank)
{
    const int number = view->ops[n->op].table;
    const cz_view_table *table;
    int64_t coordinate;

    if (number < 0)
        return false;
    table = &view->tables[number];
    coordinate = cz_view_coordinate(view, &table->fact->selector, rank);
    for (int64_t i = table->starts[coordinate];
         i < table->starts[coordinate + 1]; i++)
        if (param_of_row(table, i) == n->param &&
            (table->kind != CZ_ENTRY_TRANSFER ||
             is_of(view, &view->ops[n->op], &table->rows.transfer[i], rank)))
            return true;
    return false;
}

static bool has_row_anywhere(const cz_plan_view *view, const named *n)
{
    for (int rank = 0; rank < view->n_ranks; rank++)
        if (has_row(view, n, rank))
            return true;
    return false;
}

static bool has_bucket(const cz_plan_view *view, const cz_view_op *op)
{
    return op->fact->bucket >= 0 && op->fact->bucket < view->n_buckets;
}

/* By its rows, or by its bucket. */
static bool handles(const cz_plan_view *view, const named *n)
{
    const cz_view_op *op = &view->ops[n->op];

    return (has_bucket(view, op) &&
            view->params[n->param].bucket == op->fact->bucket) ||
           (op->table >= 0 && has_row_anywhere(view, n));
}

/* It has a table in which no rank finds a row, perhaps since one was taken out:
 * then no tensor is its own, and any may be named. */
static bool has_no_rows(const cz_plan_view *view, const cz_view_op *op)
{
    if (op->table < 0)
        return false;
    const cz_view_table *table = &view->tables[op->table];
    return table->starts[table->n_coordinates] == 0;
}

/* Some serve all tensors. */
static bool deals_with(const cz_plan_view *view, const named *n)
{
    const cz_view_op *op = &view->ops[n->op];
    const bool needs_bucket =
        op->kind == CZ_STEP_REDUCE_SCATTER || op->kind == CZ_STEP_ALL_GATHER;

    return handles(view, n) || has_no_rows(view, op) ||
           (needs_bucket ? !has_bucket(view, op) : op->table < 0);
}

/* Of a tensor that the whole list has left out, any operation may be named. */
static bool is_left_out(const cz_plan_view *view, const named *n)
{
    for (int op = 0; op < view->n_ops; op++) {
        const named other = {op, n->rank, n->param};
        if (handles(view, &other))
            return false;
    }
    return true;
}

/* A slice that descends is the mistake itself: any of the bucket may lie where
 * it should. */
static bool owns(const cz_plan_view *view, const named *n)
{
    const cz_view_param *param = &view->params[n->param];
    const int64_t end =
        param->offset + view->patterns[param->pattern].local_elements;
    const int64_t *slices = view->buckets[param->bucket].fact->slices.v;
    const int64_t c = cz_view_coordinate(
        view, &cz_view_bucket_reduction(view, param->bucket)->split_axes,
        n->rank);

    return cz_view_is_resident(view, param->pattern, n->rank) &&
           (slices[c] > slices[c + 1] ||
            (slices[c] < end && param->offset < slices[c + 1]));
}

/* Equal parts reach every rank that has the bucket. */
static bool exchanges(const cz_plan_view *view, const named *n)
{
    const cz_view_op *op = &view->ops[n->op];

    return op->table >= 0 &&
           view->tables[op->table].kind == CZ_ENTRY_EXCHANGE &&
           cz_view_is_resident(view, view->params[n->param].pattern, n->rank);
}

/* Gathers and what serves all tensors reach every rank. */
static bool takes_part(const cz_plan_view *view, const named *n)
{
    const cz_view_op *op = &view->ops[n->op];

    return exchanges(view, n) || has_row(view, n, n->rank) || owns(view, n) ||
           has_no_rows(view, op) ||
           (op->table < 0 && op->kind != CZ_STEP_REDUCE_SCATTER);
}

const char *sentence_fault(const cz_plan_view *view, const char *sentence)
{
    char kind[32], tensor[128];
    named n;
    int end = 0;

    if (sscanf(sentence, "operation %d (%31[a-z_]) on rank %d, %127[^:]:%n",
               &n.op, kind, &n.rank, tensor, &end) != 4 ||
        end == 0)
        return "does not name operation, kind, rank and tensor";
    if (n.op < 0 || n.op >= view->n_ops ||
        strcmp(kind, cz_step_kind_word(view->ops[n.op].kind)) != 0)
        return "names an operation that the plan has not";
    if (n.rank < 0 || n.rank >= view->n_ranks)
        return "names a rank that the mesh has not";
    n.param = find_param(view, tensor);
    if (n.param < 0)
        return "names a tensor that the plan has not";
    if (!deals_with(view, &n) && !is_left_out(view, &n))
        return "names a tensor that the operation has nothing to do with";
    if (!takes_part(view, &n))
        return "names a rank that has neither rows nor elements of the tensor";
    return NULL;
}

bool sentences_are_right(const cz_plan_view *view, const char *done,
                         const cz_diags *diags, bool verbose)
{
    bool ok = true;

    for (int i = 0; i < diags->n; i++) {
        const char *sentence = diags->list[i].message;
        const char *fault = sentence_fault(view, sentence);
        if (verbose)
            printf("%s: %s\n", done, sentence);
        if (fault)
            printf("%s: a sentence that %s: %s\n", done, fault, sentence);
        ok = ok && !fault;
    }
    return ok;
}
