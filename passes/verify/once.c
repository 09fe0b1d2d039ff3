/* V1 and the counting half of V9: runs of elements sorted and laid end to
 * end.  Each must begin where the one before it ended. */
#include "passes/verify/internal.h"

/* What a run is of: `key` orders the memory targets of a parameter, `replica`
 * the ranks that must each see all elements.  The parameter comes first, see
 * sort_by_key(). */
typedef struct run {
    int64_t param, key, replica, lo, hi, rank;
    int op;
} run;

typedef struct run_list {
    run *v;
    int n;
} run_list;

static int compare(const void *left, const void *right)
{
    const run *a = left, *b = right;
    int c = by_number(a->param, b->param);

    c = c ? c : by_number(a->key, b->key);
    c = c ? c : by_number(a->replica, b->replica);
    c = c ? c : by_number(a->lo, b->lo);
    c = c ? c : by_number(a->hi, b->hi);
    c = c ? c : by_number(a->rank, b->rank);
    return c;
}

static bool same_target(const run *a, const run *b)
{
    return a->param == b->param && a->key == b->key && a->replica == b->replica;
}

/* Elements from `at` on are missing: named is their owner, in the replica of
 * run `r`, whose operation does not reach them. */
static void reject_gap(verifier *v, const run *r, int64_t at, int64_t end,
                       const char *what)
{
    const cz_view_param *param = &v->view->params[r->param];
    const int64_t owner =
        owner_of(v, param->bucket, param->offset + at, r->rank);

    reject(v, (place){r->op, owner, r->param},
           "elements [%lld, %lld) are never %s", (long long)at, (long long)end,
           what);
}

/* Runs [first, end) of one target must cover its shard once. */
static void check_cover(verifier *v, const run_list *list, int first, int end,
                        const char *what)
{
    int64_t at = 0;

    for (int i = first; i < end; at = list->v[i++].hi) {
        const run *r = &list->v[i];
        if (r->lo < at)
            reject(v, (place){r->op, r->rank, r->param},
                   "elements [%lld, %lld) are %s twice", (long long)r->lo,
                   (long long)(r->hi < at ? r->hi : at), what);
        else if (r->lo > at)
            reject_gap(v, r, at, r->lo, what);
        if (v->n_errors)
            return;
    }
    const run *last = &list->v[end - 1];
    const int64_t n = elements_on(v, last->param, last->rank);
    if (at != n)
        reject_gap(v, last, at, n, what);
}

/* How many targets of each parameter and replica were found. */
typedef struct counts {
    int64_t n_replicas;
    int *n; /* [n_params * n_replicas] */
} counts;

static int *count_of(const counts *found, int64_t param, int64_t replica)
{
    return &found->n[param * found->n_replicas + replica];
}

/* Sort, check and count each target. */
static counts check_runs(verifier *v, run_list *list, int64_t n_replicas,
                         const char *what)
{
    const counts found = {n_replicas,
                          CZ_NEW(v->arena, int, v->view->n_params *n_replicas)};

    list->v = sort_by_key(v->arena, list->v, list->n, sizeof *list->v, 0,
                          v->view->n_params, compare);
    for (int first = 0, end; first < list->n && v->n_errors == 0; first = end) {
        end = first + 1;
        while (end < list->n && same_target(&list->v[first], &list->v[end]))
            end++;
        check_cover(v, list, first, end, what);
        ++*count_of(&found, list->v[first].param, list->v[first].replica);
    }
    return found;
}

/* Per reduction: all axes that do not split. */
static cz_ints *replica_axes(const verifier *v, int64_t *most)
{
    cz_ints *list = CZ_NEW(v->arena, cz_ints, v->view->n_reductions);

    *most = 1;
    for (int k = 0; k < v->view->n_reductions; k++) {
        const cz_ints *split = &v->view->reductions[k].split_axes;
        int64_t set = ((int64_t)1 << v->view->mesh->axes.n) - 1;
        for (int i = 0; i < split->n; i++)
            set &= ~((int64_t)1 << split->v[i]);
        list[k] = cz_view_axes_of(v->view, set,
                                  CZ_NEW(v->arena, int64_t, CZ_VIEW_MAX_AXES));
        const int64_t n = cz_view_extent(v->view, &list[k]);
        *most = n > *most ? n : *most;
    }
    return list;
}

static const cz_ints *replicas_of(const verifier *v, const cz_ints *axes,
                                  int64_t param)
{
    return &axes[v->view->patterns[v->view->params[param].pattern].reduction];
}

static bool persists(cz_slot_kind kind)
{
    return kind == CZ_SLOT_PARAM || kind == CZ_SLOT_STATE ||
           kind == CZ_SLOT_STORED;
}

/* A state that the owner alone has: check_owned() counts it. */
static bool is_whole(const cz_view_stage *stage, const cz_view_slot *slot)
{
    return slot->kind == CZ_SLOT_STATE && cz_view_is_shaped(stage);
}

enum { MAX_STATES = 64 };

static int64_t target_key(const cz_view_slot *slot)
{
    return (int64_t)slot->kind * MAX_STATES + slot->index;
}

static void add_writes(verifier *v, run_list *list, int op, int64_t rank,
                       const cz_view_kernel_entry *row, const cz_ints *others)
{
    const int64_t replica =
        cz_view_coordinate(v->view, replicas_of(v, others, row->param), rank);
    const cz_view_stage *stage = &v->view->stages[row->stage];
    const int64_t lo = row->offset - v->view->params[row->param].offset;

    for (int i = 0; i < stage->n_out; i++) {
        if (!persists(stage->out[i].kind) || is_whole(stage, &stage->out[i]))
            continue;
        if (cz_view_is_shaped(stage)) {
            reject(v, (place){op, rank, row->param},
                   "a stage on the whole matrix writes a parameter");
            return;
        }
        *CZ_PUSH(v->arena, list->v, list->n) = (run){row->param,
                                                     target_key(&stage->out[i]),
                                                     replica,
                                                     lo,
                                                     lo + row->count,
                                                     rank,
                                                     op};
    }
}

/* How many targets all stages of a rule write. */
static int64_t n_targets_of(verifier *v, int64_t param, bool has_master)
{
    const int rule = rule_of_param(v, param);
    static const cz_view_slot master = {.kind = CZ_SLOT_PARAM};
    static const cz_view_slot stored = {.kind = CZ_SLOT_STORED};
    bool seen[CZ_N_SLOTS * MAX_STATES] = {false};
    int64_t n = 0;

    for (int s = 0; s < v->view->n_stages; s++) {
        const cz_view_stage *stage = &v->view->stages[s];
        for (int i = 0; stage->rule == rule && i < stage->n_out; i++) {
            const int64_t key = target_key(&stage->out[i]);
            if (persists(stage->out[i].kind) &&
                !is_whole(stage, &stage->out[i]) && !seen[key]) {
                seen[key] = true;
                n++;
            }
        }
    }
    if (seen[target_key(&master)] && has_master && !seen[target_key(&stored)]) {
        place at = place_in_bucket(v, v->view->params[param].bucket, param);
        find_row(
            v,
            (row_filter){v->view->n_ops - 1, 0, CZ_STEP_KERNEL, -1, -1, param},
            &at);
        reject(v, at,
               "rule %s updates a master and leaves the parameter as it was",
               v->view->rules[rule].fact->sym_name);
    }
    return n;
}

static void check_written(verifier *v, const counts *found,
                          const cz_ints *others)
{
    for (int p = 0; p < v->view->n_params && v->n_errors == 0; p++) {
        const int bucket = v->view->params[p].bucket;
        if (bucket < 0) {
            reject(v, (place){v->view->n_ops - 1, 0, p},
                   "is the last, and the parameter has no place in a bucket");
            return;
        }
        const int64_t n =
            n_targets_of(v, p, v->view->buckets[bucket].has_master);
        const cz_ints *axes = replicas_of(v, others, p);
        const int64_t n_replicas = cz_view_extent(v->view, axes);
        for (int64_t c = 0; c < n_replicas && v->n_errors == 0; c++) {
            const int64_t near = cz_view_rank_at(v->view, axes, c, 0);
            const int64_t wanted = elements_on(v, p, near) > 0 ? n : 0;
            if (*count_of(found, p, c) != wanted)
                reject(v,
                       (place){
                           last_to_touch(v, p),
                           owner_of(v, bucket, v->view->params[p].offset, near),
                           p},
                       "is the last that touches it, and %lld of %lld (itself, "
                       "its stored copy, its states) were never updated",
                       (long long)(wanted - *count_of(found, p, c)),
                       (long long)wanted);
        }
    }
}

void check_once(verifier *v)
{
    int64_t most;
    const cz_ints *others = replica_axes(v, &most);
    run_list list = {NULL, 0};

    for (int o = 0; o < v->view->n_ops; o++) {
        const cz_view_op *op = &v->view->ops[o];
        for (int64_t rank = 0;
             op->kind == CZ_STEP_KERNEL && rank < v->view->n_ranks; rank++) {
            const row_range rows = rows_of(v, op, rank);
            for (int64_t i = rows.first; i < rows.end; i++)
                add_writes(v, &list, o, rank,
                           &v->view->tables[op->table].rows.kernel[i], others);
        }
    }
    const counts found = check_runs(v, &list, most, "updated");
    check_written(v, &found, others);
}

/* The runs of one operation that counts squares, by shard coordinate. */
static void add_spans(verifier *v, run_list *list, int number)
{
    const cz_view_op *op = &v->view->ops[number];

    for (int64_t rank = 0; rank < v->view->n_ranks; rank++) {
        const row_range rows = rows_of(v, op, rank);
        for (int64_t i = rows.first; i < rows.end; i++) {
            const cz_view_span_entry *row =
                &v->view->tables[op->table].rows.span[i];
            const cz_view_param *param = &v->view->params[row->param];
            int64_t storage[CZ_VIEW_MAX_AXES];
            const cz_ints axes = cz_view_axes_of(
                v->view, cz_view_distinct_set(v->view, param->pattern),
                storage);
            const int64_t lo = row->offset - param->offset;
            *CZ_PUSH(v->arena, list->v, list->n) =
                (run){row->param,
                      0,
                      cz_view_coordinate(v->view, &axes, rank),
                      lo,
                      lo + row->count,
                      rank,
                      number};
        }
    }
}

/* The operation that counts a bucket, else the one that sums the norm. */
static int counter_of(const verifier *v, int bucket)
{
    int found = last_op_of(v, bucket);

    for (int op = 0; op < v->view->n_ops; op++) {
        const cz_view_op *o = &v->view->ops[op];
        if (o->kind == CZ_STEP_SQUARE_SUM && o->fact->bucket == bucket)
            return op;
        if (o->kind == CZ_STEP_ALL_REDUCE)
            found = op;
    }
    return found;
}

/* Coordinates at which a parameter may have other elements, at most. */
static int64_t most_distinct(const verifier *v)
{
    int64_t most = 1;

    for (int f = 0; f < v->view->n_patterns; f++) {
        const int64_t n =
            cz_view_set_extent(v->view, cz_view_distinct_set(v->view, f));
        most = n > most ? n : most;
    }
    return most;
}

static void check_counted(verifier *v, const counts *found)
{
    for (int p = 0; p < v->view->n_params; p++) {
        const cz_view_param *param = &v->view->params[p];
        int64_t storage[CZ_VIEW_MAX_AXES];
        const cz_ints axes = cz_view_axes_of(
            v->view, cz_view_distinct_set(v->view, param->pattern), storage);
        const int64_t residents = first_resident(v, param->bucket);
        for (int64_t c = 0; c < cz_view_extent(v->view, &axes); c++) {
            const int64_t near = cz_view_rank_at(v->view, &axes, c, residents);
            if (!*count_of(found, p, c) && elements_on(v, p, near) > 0) {
                reject(v,
                       (place){counter_of(v, param->bucket),
                               owner_of(v, param->bucket, param->offset, near),
                               p},
                       "the norm never counts this shard");
                return;
            }
        }
    }
}

void check_norm(verifier *v)
{
    run_list list = {NULL, 0};

    if (!(v->view->policy->clip > 0 || v->view->policy->skip))
        return;
    for (int op = 0; op < v->view->n_ops; op++)
        if (v->view->ops[op].kind == CZ_STEP_SQUARE_SUM)
            add_spans(v, &list, op);
    const counts found =
        check_runs(v, &list, most_distinct(v), "counted in the norm");
    if (v->n_errors == 0)
        check_counted(v, &found);
}
