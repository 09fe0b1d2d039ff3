/* An iteration of a plan: its schedule, between passes of the model. */
#include "passes/simulate/internal.h"

typedef struct lister {
    const int64_t **ps; /* [n_ops] of the schedule */
    int *first_layer;   /* [n_buckets] whose gradients come last */
    bool *has;          /* [n_layers * n_buckets] */
    int *gather_of;     /* [n_buckets] in the iteration before; -1: none */
    int *backward;      /* [n_layers] operations */
    int *number_of;     /* [n_ops] in the list */
} lister;

static void find_buckets(cz_simulation *s, lister *l)
{
    const cz_document *f = s->document;
    for (int b = 0; b < f->n_buckets; b++) {
        l->first_layer[b] = s->layers.n - 1;
        l->gather_of[b] = -1;
    }
    for (int p = 0; p < f->n_params; p++) {
        const int b = f->params[p].bucket, layer = s->layers.of_param[p];
        if (b < 0)
            continue;
        l->has[layer * f->n_buckets + b] = true;
        if (layer < l->first_layer[b])
            l->first_layer[b] = layer;
    }
}

/* Buckets of one message wait for the last gradient of any. */
static void join_messages(const cz_document *f, int *first_layer)
{
    for (int a = 0; a < f->n_buckets; a++)
        for (int b = 0; b < f->n_buckets; b++)
            if (f->buckets[a].message == f->buckets[b].message &&
                first_layer[b] < first_layer[a])
                first_layer[a] = first_layer[b];
}

void *cz_simulate_plan_lister(cz_simulation *s)
{
    const cz_document *f = s->document;
    lister *l = CZ_NEW(s->arena, lister, 1);
    l->ps = CZ_NEW(s->arena, const int64_t *, f->n_ops);
    l->first_layer = CZ_NEW(s->arena, int, f->n_buckets);
    l->has = CZ_NEW(s->arena, bool, (size_t)s->layers.n *(size_t)f->n_buckets);
    l->gather_of = CZ_NEW(s->arena, int, f->n_buckets);
    l->backward = CZ_NEW(s->arena, int, s->layers.n);
    l->number_of = CZ_NEW(s->arena, int, f->n_ops);
    find_buckets(s, l);
    join_messages(f, l->first_layer);
    for (int i = 0; i < f->n_ops; i++)
        l->ps[i] = cz_simulate_op_ps(s, i);
    return l;
}

/* A layer waits for the gathers of its buckets. */
static void list_forward(cz_simulation *s, const lister *l)
{
    const int n_buckets = s->document->n_buckets;
    int **waits = CZ_NEW(s->arena, int *, s->layers.n);
    int *n_waits = CZ_NEW(s->arena, int, s->layers.n);
    for (int layer = 0; layer < s->layers.n; layer++)
        for (int b = 0; b < n_buckets; b++)
            if (l->has[layer * n_buckets + b] && l->gather_of[b] >= 0)
                *CZ_PUSH(s->arena, waits[layer], n_waits[layer]) =
                    l->gather_of[b];
    cz_simulate_list_forward(s, waits, n_waits);
}

static cz_simulate_part part_of(const cz_document_op *op)
{
    static const cz_simulate_part parts[] = {
        [CZ_SECTION_REDUCE] = CZ_PART_REDUCE,
        [CZ_SECTION_DECIDE] = CZ_PART_DECIDE,
        [CZ_SECTION_UPDATE] = CZ_PART_UPDATE,
        [CZ_SECTION_RECOVER] = CZ_PART_DECIDE};
    return op->kind == CZ_STEP_ALL_GATHER ? CZ_PART_GATHER : parts[op->section];
}

static void list_op(cz_simulation *s, lister *l, int i)
{
    const cz_document_op *op = &s->document->ops[i];
    int *waits = CZ_NEW(s->arena, int, op->n_waits + 1);
    int n = 0;
    for (; n < op->n_waits; n++)
        waits[n] = l->number_of[op->waits[n]];
    if (op->kind == CZ_STEP_REDUCE_SCATTER)
        waits[n++] = l->backward[l->first_layer[op->bucket]];
    l->number_of[i] =
        cz_simulate_append_op(s, part_of(op), op, l->ps[i], waits, n);
    if (op->kind == CZ_STEP_ALL_GATHER)
        l->gather_of[op->bucket] = l->number_of[i];
}

void cz_simulate_list_plan(cz_simulation *s, void *kept)
{
    lister *l = kept;
    list_forward(s, l);
    cz_simulate_list_backward(s, l->backward);
    for (int i = 0; i < s->document->n_ops; i++)
        list_op(s, l, i);
}
