/* What an operation of the list waits for: those before it with certain roles
 * that have a group of matrices or a bucket in common with it. */
#include "passes/schedule/internal.h"

#include <assert.h>
#include <stdlib.h>

/* Numbers by what they belong to, ascending: list[start[i]] and on. */
typedef struct by_key {
    int *start; /* [n_keys + 1] */
    int *list;
} by_key;

struct cz_schedule_needs {
    const cz_scheduler *s;
    by_key of_group;  /* operations of a group */
    by_key of_bucket; /* operations of no group, by their bucket; the last key
                       * is that of none */
    by_key buckets;   /* of a group's matrices */
    by_key groups;    /* that have matrices in a bucket */
};

typedef struct pair {
    int key, value;
} pair;

static int by_pair(const void *left, const void *right)
{
    const pair *a = left, *b = right;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key)
                            : (a->value > b->value) - (a->value < b->value);
}

/* Each pair once. */
static by_key sort(cz_arena *arena, pair *pairs, int n, int n_keys)
{
    by_key out = {CZ_NEW(arena, int, n_keys + 1), CZ_NEW(arena, int, n + 1)};
    int n_list = 0, key = 0;
    if (n > 0)
        qsort(pairs, (size_t)n, sizeof *pairs, by_pair);
    for (int i = 0; i < n; i++) {
        if (i > 0 && by_pair(&pairs[i - 1], &pairs[i]) == 0)
            continue;
        while (key < pairs[i].key)
            out.start[++key] = n_list;
        out.list[n_list++] = pairs[i].value;
    }
    while (key < n_keys)
        out.start[++key] = n_list;
    return out;
}

static int bucket_key(const cz_scheduler *s, int bucket)
{
    return bucket >= 0 ? bucket : s->view->n_buckets;
}

const cz_schedule_needs *cz_schedule_needs_find(const cz_scheduler *s)
{
    cz_arena *arena = s->arena;
    const cz_matrix_set *set = &s->sharded;
    const int n_groups = set->n_groups, n_buckets = s->view->n_buckets + 1;
    cz_schedule_needs *needs = CZ_NEW(arena, cz_schedule_needs, 1);
    pair *a = CZ_NEW(arena, pair, s->n_ops + set->n + 1);
    pair *b = CZ_NEW(arena, pair, s->n_ops + set->n + 1);
    int n_a = 0, n_b = 0;
    needs->s = s;
    for (int i = 0; i < s->n_ops; i++)
        if (s->ops[i].group >= 0)
            a[n_a++] = (pair){s->ops[i].group, i};
        else
            b[n_b++] = (pair){bucket_key(s, s->ops[i].bucket), i};
    needs->of_group = sort(arena, a, n_a, n_groups);
    needs->of_bucket = sort(arena, b, n_b, n_buckets);
    for (int i = 0; i < set->n; i++) {
        const int group = set->list[i].group, bucket = set->list[i].bucket;
        a[i] = (pair){group, bucket};
        b[i] = (pair){bucket, group};
    }
    needs->buckets = sort(arena, a, set->n, n_groups);
    needs->groups = sort(arena, b, set->n, n_buckets);
    return needs;
}

#define BIT(role) (1U << (role))

/* What an operation waits for: those before it with one of these roles and
 * with something in common. */
static unsigned needs_of(cz_role role)
{
    static const unsigned table[CZ_N_ROLES] = {
        [CZ_ROLE_LOCAL] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_ALONE] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_BEFORE] = BIT(CZ_ROLE_REDUCE),
        [CZ_ROLE_GATHER] = BIT(CZ_ROLE_BEFORE),
        [CZ_ROLE_WHOLE] = BIT(CZ_ROLE_GATHER) | BIT(CZ_ROLE_ADD),
        [CZ_ROLE_ADD] = BIT(CZ_ROLE_WHOLE),
        [CZ_ROLE_SCATTER] = BIT(CZ_ROLE_WHOLE),
        [CZ_ROLE_AFTER] = BIT(CZ_ROLE_SCATTER),
        [CZ_ROLE_PUBLISH] =
            BIT(CZ_ROLE_LOCAL) | BIT(CZ_ROLE_ALONE) | BIT(CZ_ROLE_AFTER),
    };
    assert(role >= 0 && role < CZ_N_ROLES);
    return table[role];
}

bool cz_schedule_needs_any(cz_role role)
{
    return needs_of(role) != 0;
}

/* Those of one key before `number` that it waits for. */
static void collect(const cz_schedule_needs *needs, const by_key *from, int key,
                    int number, const int *number_of, int **list, int *n)
{
    const cz_scheduler *s = needs->s;
    const unsigned roles = needs_of(s->ops[number].role);
    for (int k = from->start[key]; k < from->start[key + 1]; k++) {
        const int i = from->list[k];
        if (i >= number)
            break;
        if (number_of[i] >= 0 && roles & BIT(s->ops[i].role))
            *CZ_PUSH(s->arena, *list, *n) = number_of[i];
    }
}

static int ascending(const void *left, const void *right)
{
    const int a = *(const int *)left, b = *(const int *)right;
    return (a > b) - (a < b);
}

const int *cz_schedule_needs_of(const cz_schedule_needs *needs, int number,
                                const int *number_of, int *n)
{
    const cz_planned_op *op = &needs->s->ops[number];
    const bool is_group = op->group >= 0;
    const int key = is_group ? op->group : bucket_key(needs->s, op->bucket);
    const by_key *same = is_group ? &needs->of_group : &needs->of_bucket;
    const by_key *across = is_group ? &needs->buckets : &needs->groups;
    const by_key *other = is_group ? &needs->of_bucket : &needs->of_group;
    int *list = NULL;
    *n = 0;
    if (!cz_schedule_needs_any(op->role))
        return NULL;
    collect(needs, same, key, number, number_of, &list, n);
    for (int k = across->start[key]; k < across->start[key + 1]; k++)
        collect(needs, other, across->list[k], number, number_of, &list, n);
    if (*n > 0)
        qsort(list, (size_t)*n, sizeof *list, ascending);
    return list;
}
