/* Random rules and random arguments, from a printed seed. */
#ifndef CZ_TESTS_PASSES_RANDOM_RULE_H
#define CZ_TESTS_PASSES_RANDOM_RULE_H

#include <stdio.h>

#include "tests/unit/passes/eval.h"

enum { N_STATES = 2, N_IN = 2 + N_STATES, N_SCALARS = 3 };

typedef struct random {
    uint64_t state;
} random;

static inline unsigned draw(random *r, unsigned n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(r->state >> 33) % n;
}

/* ---- random graphs ---- */

typedef struct maker {
    random *random;
    cz_graph *graph;
    cz_ir_type shape; /* of the rule */
} maker;

static inline cz_ir_type type_of(const maker *m, int node)
{
    return m->graph->nodes[node].type;
}

/* An earlier node of that shape and type, or -1. */
static inline int pick(maker *m, cz_ir_type type)
{
    int start = (int)draw(m->random, (unsigned)m->graph->n);

    for (int i = 0; i < m->graph->n; i++) {
        int node = (start + i) % m->graph->n;
        if (cz_ir_type_equal(type_of(m, node), type))
            return node;
    }
    return -1;
}

static inline int add(maker *m, cz_graph_kind kind, cz_opcode op,
                      cz_ir_type type, const int *in, int n_in, unsigned dims)
{
    cz_graph_node node = {
        .kind = kind, .op = op, .type = type, .n_in = n_in, .dims = dims};

    for (int i = 0; i < n_in; i++)
        node.in[i] = in[i];
    if (op == CZ_OP_COMPARE)
        node.predicate = draw(m->random, 2) ? "olt" : "oge";
    return cz_graph_add(m->graph, &node);
}

static inline int constant(maker *m, cz_ir_type type)
{
    cz_graph_node node = {.kind = CZ_GRAPH_CONSTANT, .type = type};

    node.constant = eval_round(0.25 + 0.37 * draw(m->random, 4), type.dtype);
    return cz_graph_add(m->graph, &node);
}

static inline int add_arithmetic(maker *m, cz_ir_type type)
{
    static const cz_opcode ops[] = {CZ_OP_ADD, CZ_OP_SUB, CZ_OP_MUL,
                                    CZ_OP_MUL, CZ_OP_ADD, CZ_OP_SQRT,
                                    CZ_OP_ABS, CZ_OP_NEG, CZ_OP_DIV};
    cz_opcode op = ops[draw(m->random, 9)];
    int in[3] = {pick(m, type), pick(m, type), 0};
    bool unary = op == CZ_OP_SQRT || op == CZ_OP_ABS || op == CZ_OP_NEG;

    if (in[0] < 0)
        return -1;
    if (draw(m->random, 4) == 0)
        in[1] = constant(m, type);
    else if (draw(m->random, 5) == 0 && type.dtype == CZ_F32)
        in[1] =
            cz_graph_scalar(m->graph, (int)draw(m->random, N_SCALARS), type);
    return add(m, CZ_GRAPH_ELEMENT, op, type, in, unary ? 1 : 2, 0);
}

static inline int add_select(maker *m, cz_ir_type type)
{
    int in[3] = {pick(m, type), pick(m, type), pick(m, type)};
    cz_ir_type truth = type;

    truth.is_bool = true;
    in[0] = add(m, CZ_GRAPH_ELEMENT, CZ_OP_COMPARE, truth, in, 2, 0);
    return add(m, CZ_GRAPH_ELEMENT, CZ_OP_SELECT, type, in, 3, 0);
}

static inline int add_conversion(maker *m, cz_ir_type type)
{
    static const struct {
        cz_opcode op;
        cz_dtype from, to;
    } rows[] = {{CZ_OP_TRUNCATE, CZ_F32, CZ_BF16},
                {CZ_OP_EXTEND, CZ_BF16, CZ_F32},
                {CZ_OP_EXTEND, CZ_F32, CZ_F64},
                {CZ_OP_TRUNCATE, CZ_F64, CZ_F32}};
    unsigned row = draw(m->random, 4);
    int from = pick(m, cz_ir_type_with(type, rows[row].from));

    return from < 0
               ? -1
               : cz_graph_unary(m->graph, rows[row].op, from, rows[row].to);
}

static inline cz_ir_type turned(cz_ir_type type)
{
    int64_t rows = type.shape[0];

    type.shape[0] = type.shape[1];
    type.shape[1] = rows;
    return type;
}

static inline int add_transpose(maker *m, cz_ir_type type)
{
    int from = pick(m, turned(type));

    return from < 0
               ? -1
               : add(m, CZ_GRAPH_TRANSPOSE, CZ_OP_CONSTANT, type, &from, 1, 0);
}

/* The numbers of the rows, or of the columns, of such a matrix. */
static inline int add_index(maker *m, cz_ir_type type)
{
    const unsigned dims = 1 + draw(m->random, 2);
    const cz_ir_type to = {
        .dtype = CZ_F32, .rank = 1, .shape = {type.shape[dims == 1 ? 1 : 0]}};
    const int index = add(m, CZ_GRAPH_INDEX, CZ_OP_CONSTANT, to, NULL, 0, 0);

    return add(m, CZ_GRAPH_BROADCAST, CZ_OP_CONSTANT,
               cz_ir_type_with(type, CZ_F32), &index, 1, dims);
}

static inline int add_reduce(maker *m, cz_ir_type type)
{
    unsigned dims = 1 + draw(m->random, 3);
    int from = pick(m, cz_ir_type_with(type, CZ_F64));
    cz_ir_type to = {.dtype = CZ_F64, .rank = dims == 3 ? 0 : 1};

    if (from < 0)
        return -1;
    if (dims != 3)
        to.shape[0] = type.shape[dims == 1 ? 1 : 0];
    return add(m, CZ_GRAPH_REDUCE,
               draw(m->random, 3) ? CZ_OP_CONSTANT : CZ_OP_MAX, to, &from, 1,
               dims);
}

static inline int add_broadcast(maker *m, cz_ir_type type)
{
    unsigned dims = 1 + draw(m->random, 3);
    cz_ir_type from = {.dtype = CZ_F32, .rank = dims == 3 ? 0 : 1};
    int node;

    if (dims != 3)
        from.shape[0] = type.shape[dims == 1 ? 1 : 0];
    node = pick(m, from);
    return node < 0 ? -1
                    : add(m, CZ_GRAPH_BROADCAST, CZ_OP_CONSTANT,
                          cz_ir_type_with(type, CZ_F32), &node, 1, dims);
}

static inline int add_product(maker *m, cz_ir_type type)
{
    cz_dtype dtype = draw(m->random, 2) ? CZ_F32 : CZ_BF16;
    int64_t inner = m->shape.shape[draw(m->random, 2)];
    cz_ir_type a = cz_ir_type_with(type, dtype), b = a;
    int in[2];

    a.shape[1] = b.shape[0] = inner;
    in[0] = pick(m, a);
    in[1] = pick(m, b);
    if (draw(m->random, 2) && in[0] >= 0 && type.shape[0] == type.shape[1])
        in[1] = add(m, CZ_GRAPH_TRANSPOSE, CZ_OP_CONSTANT, turned(a), in, 1, 0);
    return in[0] < 0 || in[1] < 0
               ? -1
               : add(m, CZ_GRAPH_PRODUCT, CZ_OP_CONSTANT,
                     cz_ir_type_with(type, CZ_F32), in, 2, 0);
}

/* A matrix shape: mostly the rule's, else one of its squares or turned. */
static inline cz_ir_type any_shape(maker *m)
{
    cz_ir_type type = m->shape;

    switch (draw(m->random, 6)) {
    case 0:
        return turned(type);
    case 1:
        type.shape[0] = type.shape[1];
        return type;
    case 2:
        type.shape[1] = type.shape[0];
        return type;
    default:
        return type;
    }
}

static inline cz_ir_type small_shape(maker *m)
{
    cz_ir_type type = {.dtype = draw(m->random, 2) ? CZ_F32 : CZ_F64};

    type.rank = (int)draw(m->random, 2);
    if (type.rank > 0)
        type.shape[0] = m->shape.shape[draw(m->random, 2)];
    return type;
}

/* m / |m|, as norms are written. */
static inline void add_norm(maker *m)
{
    cz_ir_type wide = cz_ir_type_with(m->shape, CZ_F64);
    cz_ir_type sum = {.dtype = CZ_F64};
    unsigned dims = 1 + draw(m->random, 3);
    int in[2] = {pick(m, m->shape), 0}, x;

    if (dims != 3) {
        sum.rank = 1;
        sum.shape[0] = m->shape.shape[dims == 1 ? 1 : 0];
    }
    x = cz_graph_unary(m->graph, CZ_OP_EXTEND, in[0], CZ_F64);
    x = add(m, CZ_GRAPH_ELEMENT, CZ_OP_MUL, wide, (int[]){x, x}, 2, 0);
    x = add(m, CZ_GRAPH_REDUCE, CZ_OP_CONSTANT, sum, &x, 1, dims);
    x = cz_graph_unary(m->graph, CZ_OP_SQRT, x, CZ_F64);
    x = cz_graph_unary(m->graph, CZ_OP_TRUNCATE, x, CZ_F32);
    in[1] = add(m, CZ_GRAPH_BROADCAST, CZ_OP_CONSTANT, m->shape, &x, 1, dims);
    add(m, CZ_GRAPH_ELEMENT, CZ_OP_DIV, m->shape, in, 2, 0);
}

/* a x + (b g + c g @ g) @ x with g = x @ x', perhaps rounded. */
static inline void add_newton_schulz(maker *m)
{
    bool round = draw(m->random, 2);
    cz_dtype dtype = round ? CZ_BF16 : CZ_F32;
    cz_ir_type square = cz_ir_type_with(m->shape, CZ_F32);
    int x = pick(m, m->shape), narrow = x, g, t, y;

    square.shape[1] = square.shape[0];
    if (round)
        narrow = cz_graph_unary(m->graph, CZ_OP_TRUNCATE, x, CZ_BF16);
    t = add(m, CZ_GRAPH_TRANSPOSE, CZ_OP_CONSTANT,
            turned(cz_ir_type_with(m->shape, dtype)), &narrow, 1, 0);
    g = add(m, CZ_GRAPH_PRODUCT, CZ_OP_CONSTANT, square, (int[]){narrow, t}, 2,
            0);
    y = add(m, CZ_GRAPH_PRODUCT, CZ_OP_CONSTANT, square, (int[]){g, g}, 2, 0);
    y = add(m, CZ_GRAPH_ELEMENT, CZ_OP_MUL, square,
            (int[]){y, constant(m, square)}, 2, 0);
    g = add(m, CZ_GRAPH_ELEMENT, CZ_OP_MUL, square,
            (int[]){constant(m, square), g}, 2, 0);
    y = add(m, CZ_GRAPH_ELEMENT, draw(m->random, 2) ? CZ_OP_ADD : CZ_OP_SUB,
            square, (int[]){g, y}, 2, 0);
    y = add(m, CZ_GRAPH_PRODUCT, CZ_OP_CONSTANT, m->shape, (int[]){y, narrow},
            2, 0);
    add(m, CZ_GRAPH_ELEMENT, CZ_OP_ADD, m->shape, (int[]){x, y}, 2, 0);
}

static inline void add_something(maker *m, bool elementwise)
{
    cz_ir_type type = elementwise ? m->shape : any_shape(m);

    switch (draw(m->random, elementwise ? 10 : 26)) {
    case 8:
        add_select(m, m->shape);
        break;
    case 7:
    case 9:
        add_conversion(m, type);
        break;
    case 10:
    case 11:
        add_transpose(m, type);
        break;
    case 12:
        add_reduce(m, type);
        break;
    case 13:
    case 14:
        add_broadcast(m, type);
        break;
    case 15:
        add_arithmetic(m, small_shape(m));
        break;
    case 16:
        add_conversion(m, small_shape(m));
        break;
    case 17:
    case 18:
    case 19:
        add_product(m, type);
        break;
    case 20:
    case 21:
    case 22:
        add_norm(m);
        break;
    case 24:
    case 25:
        add_index(m, type);
        break;
    case 23:
        add_newton_schulz(m);
        break;
    default:
        add_arithmetic(m, m->shape);
    }
}

static inline cz_graph *random_rule(cz_arena *arena, random *r,
                                    cz_ir_type shape)
{
    maker m = {r, cz_graph_make(arena), shape};
    bool elementwise = draw(r, 5) == 0;
    int n = 5 + (int)draw(r, 40);

    for (int i = 0; i < N_IN; i++)
        cz_graph_in(m.graph, i, shape);
    for (int i = 0; i < n; i++)
        add_something(&m, elementwise);
    for (int i = 0; i <= N_STATES; i++) {
        int node = m.graph->n - 1 - (int)draw(r, N_IN);
        while (!cz_ir_type_equal(type_of(&m, node), shape))
            node--;
        for (unsigned k = draw(r, 3); k > 0; k--)
            node = add(&m, CZ_GRAPH_ELEMENT, CZ_OP_ADD, shape,
                       (int[]){node, pick(&m, shape)}, 2, 0);
        cz_graph_add_out(m.graph, node);
    }
    return m.graph;
}

/* ---- trials ---- */

typedef struct trial {
    unsigned seed;
    cz_arena arena;
    cz_cut_rule rule;
    cz_ir_type shape;
    int64_t count;
    float scalars[N_SCALARS];
    void *slots[EVAL_SLOTS];
    double *in[N_IN];
    double **want; /* values of all nodes of the graph */
} trial;

static inline void **slot_of(trial *t, int argument)
{
    static const cz_slot_kind kinds[] = {CZ_SLOT_GRAD, CZ_SLOT_PARAM};

    if (argument < 2)
        return &t->slots[EVAL_STRIDE * (int)kinds[argument]];
    return &t->slots[EVAL_STRIDE * CZ_SLOT_STATE + argument - 2];
}

static inline void fill(trial *t, random *r)
{
    for (int i = 0; i < EVAL_SLOTS; i++)
        t->slots[i] = CZ_NEW(&t->arena, double, t->count);
    for (int i = 0; i < N_SCALARS; i++)
        t->scalars[i] = (float)draw(r, 1000) / 700.0f;
    for (int i = 0; i < N_IN; i++) {
        t->in[i] = CZ_NEW(&t->arena, double, t->count);
        for (int64_t k = 0; k < t->count; k++) {
            double x = (double)draw(r, 20000) / 9000.0 - 1.0;
            cz_dtype dtype = i == 1 ? t->rule.param : CZ_F32;
            t->in[i][k] = eval_round(x, dtype);
        }
    }
}

static inline double **reference(trial *t)
{
    double scalars[N_SCALARS];

    for (int i = 0; i < N_SCALARS; i++)
        scalars[i] = (double)t->scalars[i];
    return eval_graph(&t->arena, t->rule.update, t->in, scalars, 0);
}

/* A rule of that seed with its arguments; begin and end are a pair. */
static inline void trial_begin(trial *t, unsigned seed)
{
    static const cz_dtype states[N_STATES] = {CZ_F32, CZ_F32};
    static const bool whole[N_STATES] = {false};
    random r = {seed};
    int64_t shape[2];

    *t = (trial){
        .seed = seed,
        .rule = {.n_states = N_STATES, .states = states, .full_matrix = whole}};
    cz_arena_init(&t->arena);
    shape[0] = 1 + draw(&r, 5);
    shape[1] = 1 + draw(&r, 5);
    t->shape = cz_ir_tensor_type(CZ_F32, 2, shape);
    t->count = shape[0] * shape[1];
    t->rule.param = draw(&r, 4) == 0 ? CZ_BF16 : CZ_F32;
    t->rule.has_stored = t->rule.param == CZ_F32 && draw(&r, 2);
    t->rule.stored = t->rule.has_stored ? CZ_BF16 : t->rule.param;
    t->rule.update = random_rule(&t->arena, &r, t->shape);
    fill(t, &r);
    t->want = reference(t);
}

static inline void trial_end(trial *t)
{
    cz_arena_fini(&t->arena);
}

/* Arguments as they were, in the slots. */
static inline void trial_reset(trial *t)
{
    for (int i = 0; i < N_IN; i++)
        for (int64_t k = 0; k < t->count; k++)
            eval_store(*slot_of(t, i), i == 1 ? t->rule.param : CZ_F32, k,
                       t->in[i][k]);
}

static inline bool values_are(const trial *t, const void *bytes, cz_dtype dtype,
                              const double *want)
{
    for (int64_t k = 0; k < t->count; k++) {
        double got = eval_load(bytes, dtype, k);
        double rounded = eval_round(want[k], dtype);
        if (eval_same(got, rounded))
            continue;
        fprintf(stderr, "seed %u: %.17g is not %.17g\n", t->seed, got, rounded);
        return false;
    }
    return true;
}

/* Do the slots hold what the rule's graph says? */
static inline bool trial_holds(trial *t)
{
    const int *out = t->rule.update->out;
    bool ok = true;

    for (int i = 0; i <= N_STATES; i++)
        ok = ok && values_are(t, *slot_of(t, i + 1),
                              i == 0 ? t->rule.param : CZ_F32, t->want[out[i]]);
    if (t->rule.has_stored && out[0] != 1)
        ok = ok && values_are(t, t->slots[EVAL_STRIDE * CZ_SLOT_STORED],
                              CZ_BF16, t->want[out[0]]);
    return ok;
}

#endif
