/* The models that the planner is measured on: Megatron's storage, each tensor
 * whole, as it is defined there (per layer linear_proj, linear_qkv with its
 * norm, the norms of query and key, linear_fc1 with its norm, linear_fc2), in
 * gradient order.  Newton-Schulz costs 5 (4 k^2 l + 2 k^3) operations, k the
 * shorter side, at 600 TFLOP/s; AdamW 30 bytes an element at 2.6 TB/s. */
#ifndef CZ_TESTS_UNIT_PASSES_SOLVE_INVENTORY_H
#define CZ_TESTS_UNIT_PASSES_SOLVE_INVENTORY_H

#include "passes/solve/problem.h"

typedef struct model {
    int64_t hidden, layers, q, kv, head, ffn, vocabulary;
    bool tied;
    int64_t experts, expert_ffn; /* 0: dense */
} model;

static const model qwen3_1_7b = {2048, 28,     2048, 1024, 128,
                                 6144, 151936, true, 0,    0};
static const model qwen3_4b = {2560, 36,     4096, 1024, 128,
                               9728, 151936, true, 0,    0};
static const model qwen3_8b = {4096,  36,     4096,  1024, 128,
                               12288, 151936, false, 0,    0};
static const model qwen3_32b = {5120,  64,     8192,  1024, 128,
                                25600, 151936, false, 0,    0};
static const model qwen3_235b = {4096,  94,     8192,  512, 128,
                                 12288, 151936, false, 128, 1536};

enum {
    MUON_STATE_BYTES = 8,  /* master and momentum, f32 */
    ADAMW_STATE_BYTES = 12 /* master and two moments */
};

typedef struct inventory {
    cz_arena *arena;
    cz_solve_problem problem;
    cz_solve_class *classes;
    int *class_of;
    int64_t tp;
} inventory;

static inline int64_t newton_schulz_ps(int64_t rows, int64_t cols)
{
    const int64_t k = rows < cols ? rows : cols, l = rows < cols ? cols : rows;
    return 5 * (4 * k * k * l + 2 * k * k * k) / 600;
}

static inline int add_class(inventory *list, cz_solve_class c)
{
    *CZ_PUSH(list->arena, list->classes, list->problem.n_classes) = c;
    return list->problem.n_classes - 1;
}

static inline int matrix_class(inventory *list, int64_t rows, int64_t cols)
{
    const int64_t shard = rows * cols / list->tp;
    return add_class(list,
                     (cz_solve_class){.elements = shard,
                                      .cost_ps = newton_schulz_ps(rows, cols),
                                      .state_bytes = shard * MUON_STATE_BYTES});
}

/* AdamW's: tp ranks hold 1 / cut of it each. */
static inline int vector_class(inventory *list, int64_t elements, int64_t cut)
{
    const int64_t shard = elements / cut;
    return add_class(list,
                     (cz_solve_class){.elements = shard,
                                      .cost_ps = shard * 300 / 26,
                                      .state_bytes = shard * ADAMW_STATE_BYTES,
                                      .divisible = true});
}

static inline void add_item(inventory *list, int number)
{
    *CZ_PUSH(list->arena, list->class_of, list->problem.n_items) = number;
}

/* The items were added as they are defined; gradients come the other way. */
static inline cz_solve_problem finish(inventory *list, int n_ranks, int n_hosts,
                                      int64_t capacity)
{
    const int n = list->problem.n_items;
    int *reversed = CZ_NEW(list->arena, int, n + 1);
    for (int i = 0; i < n; i++)
        reversed[i] = list->class_of[n - 1 - i];
    list->problem.class_of = reversed;
    list->problem.classes = list->classes;
    list->problem.n_ranks = n_ranks;
    list->problem.n_hosts = n_hosts;
    list->problem.align = 64;
    cz_solve_fill_buckets(list->arena, &list->problem, capacity);
    return list->problem;
}

/* All but experts, on n_ranks coordinates of tp ranks each. */
static inline cz_solve_problem dense_problem(cz_arena *arena, const model *m,
                                             int n_ranks, int tp)
{
    inventory list = {.arena = arena, .tp = tp};
    const int table = vector_class(&list, m->vocabulary * m->hidden, tp);
    const int norm = vector_class(&list, m->hidden, 1);
    const int head_norm = vector_class(&list, m->head, 1);
    const int proj = matrix_class(&list, m->hidden, m->q);
    const int qkv = matrix_class(&list, m->q + 2 * m->kv, m->hidden);
    const int fc1 = matrix_class(&list, 2 * m->ffn, m->hidden);
    const int fc2 = matrix_class(&list, m->hidden, m->ffn);
    add_item(&list, table);
    for (int64_t layer = 0; layer < m->layers; layer++) {
        const int layout[] = {proj,      norm, qkv, head_norm,
                              head_norm, norm, fc1, fc2};
        for (int i = 0; i < (m->experts ? 6 : 8); i++)
            add_item(&list, layout[i]);
    }
    add_item(&list, norm);
    if (!m->tied)
        add_item(&list, table);
    return finish(&list, n_ranks, tp, 400000000);
}

/* The experts that one coordinate of ep has, on n_ranks ranks. */
static inline cz_solve_problem expert_problem(cz_arena *arena, const model *m,
                                              int ep, int n_ranks)
{
    inventory list = {.arena = arena, .tp = 1};
    const int fc1 = matrix_class(&list, 2 * m->expert_ffn, m->hidden);
    const int fc2 = matrix_class(&list, m->hidden, m->expert_ffn);
    for (int64_t layer = 0; layer < m->layers; layer++)
        for (int matrix = 0; matrix < 2; matrix++)
            for (int64_t e = 0; e < m->experts / ep; e++)
                add_item(&list, matrix ? fc2 : fc1);
    return finish(&list, n_ranks, 1, 400000000);
}

#endif
