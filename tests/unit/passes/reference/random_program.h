/* Random programs of one rule: states of any shape, factorisations of matrices
 * no worse than x x' + I, chains of defs with states of their own, phases.
 * Values stay of moderate size, so that no NaN hides what differs. */
#ifndef CZ_TESTS_PASSES_RANDOM_PROGRAM_H
#define CZ_TESTS_PASSES_RANDOM_PROGRAM_H

#include "dsl/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What a rule may have; counted, so that a generator that stops drawing one is
 * noticed. */
#define RP_FEATURES(X)                                                         \
    X(STATE_MM, "state [m, m]")                                                \
    X(STATE_NN, "state [n, n]")                                                \
    X(STATE_ROW, "state [1, n]")                                               \
    X(STATE_COLUMN, "state [m, 1]")                                            \
    X(STATE_TURNED, "state [n, m]")                                            \
    X(EXTERN, "extern")                                                        \
    X(EIGH, "eigh")                                                            \
    X(QR, "qr")                                                                \
    X(CHOLESKY, "cholesky")                                                    \
    X(SOLVE, "solve")                                                          \
    X(ROOT, "root")                                                            \
    X(NEWTON_ROOT, "newton_root")                                              \
    X(CHAIN, "chain of defs")                                                  \
    X(PART, "part with states")                                                \
    X(WIDE, "wide def")                                                        \
    X(EVERY, "every")                                                          \
    X(FIRST, "first")

typedef enum rp_feature {
#define RP_ENUM(tag, name) RP_##tag,
    RP_FEATURES(RP_ENUM)
#undef RP_ENUM
        RP_N_FEATURES
} rp_feature;

/* Of the header's lengths, or 1. */
typedef enum rp_shape {
    RP_MN,
    RP_NM,
    RP_MM,
    RP_NN,
    RP_ROW,
    RP_COLUMN,
    RP_N_SHAPES
} rp_shape;

static const char rp_sides[RP_N_SHAPES][2] = {
    {'m', 'n'}, {'n', 'm'}, {'m', 'm'}, {'n', 'n'}, {'1', 'n'}, {'m', '1'}};

enum { RP_VALUES = 64, RP_NAME = 16 };

typedef struct rp_writer {
    uint64_t random;
    cz_text *out;
    uint32_t features;
    int n_names; /* v0, v1, ... */
    int n;       /* values so far */
    struct rp_value {
        char name[RP_NAME];
        rp_shape shape;
        bool is_read;
    } values[RP_VALUES];
} rp_writer;

static inline int rp_draw(rp_writer *w, int n)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)n);
}

static inline void rp_has(rp_writer *w, rp_feature feature)
{
    w->features |= (uint32_t)1 << feature;
}

static inline void rp_read(rp_writer *w, const char *name)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->values[i].name, name) == 0)
            w->values[i].is_read = true;
}

/* A form with $1, $2, $3 for what they are called, which are read then. */
static inline void rp_put(rp_writer *w, const char *form, const char *one,
                          const char *two, const char *three)
{
    for (const char *c = form; *c; c++)
        if (*c == '$') {
            const char *name = *++c == '1' ? one : *c == '2' ? two : three;
            cz_text_puts(w->out, name);
            rp_read(w, name);
        } else {
            cz_text_printf(w->out, "%c", *c);
        }
}

/* ---- values ---- */

static inline void rp_keep(rp_writer *w, const char *name, rp_shape shape)
{
    if (w->n == RP_VALUES)
        return;
    snprintf(w->values[w->n].name, RP_NAME, "%s", name);
    w->values[w->n].is_read = false;
    w->values[w->n++].shape = shape;
}

/* An earlier value of that shape, or NULL; late ones more often. */
static inline const char *rp_pick(rp_writer *w, rp_shape shape)
{
    const int some = rp_draw(w, w->n), other = rp_draw(w, w->n);
    const int start = some > other ? some : other;

    for (int i = 0; i < w->n; i++) {
        const int at = (start + w->n - i) % w->n;
        if (w->values[at].shape == shape)
            return w->values[at].name;
    }
    return NULL;
}

static inline rp_shape rp_shape_of(char rows, char columns)
{
    int i = 0;

    while (i < RP_N_SHAPES &&
           (rp_sides[i][0] != rows || rp_sides[i][1] != columns))
        i++;
    return (rp_shape)i;
}

/* A new value, `form` of three earlier ones, of that shape; none where one of
 * them is NULL. */
static inline void rp_bind(rp_writer *w, rp_shape shape, const char *form,
                           const char *one, const char *two, const char *three)
{
    char name[RP_NAME];

    if (shape == RP_N_SHAPES || !one || !two || !three)
        return;
    snprintf(name, sizeof name, "v%d", w->n_names++);
    cz_text_printf(w->out, "    %s = ", name);
    rp_put(w, form, one, two, three);
    cz_text_puts(w->out, "\n");
    rp_keep(w, name, shape);
}

/* ---- statements ---- */

static inline void rp_element(rp_writer *w)
{
    static const char *const forms[] = {"0.6 * $1 - 0.3 * $2",
                                        "$1 + 0.4 * $2",
                                        "tanh($1) * $2 / (1 + norm($2))",
                                        "cos($1) - 0.2 * sin($2)",
                                        "where($1 > 0.1, $2, 0.5)",
                                        "sqrt(abs($1) + 0.1) - 0.1 * $2",
                                        "f32(bf16($1)) + 0.2 * $2",
                                        "max($1, -0.5 * $2)",
                                        "$1 / (1 + abs($2))"};
    const rp_shape shape = (rp_shape)rp_draw(w, RP_N_SHAPES);
    const char *a = rp_pick(w, shape), *b = rp_pick(w, shape);

    rp_bind(w, shape, forms[rp_draw(w, 9)], a, b, "");
}

static inline void rp_turn(rp_writer *w)
{
    const rp_shape from = (rp_shape)rp_draw(w, RP_N_SHAPES);
    const rp_shape to = rp_shape_of(rp_sides[from][1], rp_sides[from][0]);

    rp_bind(w, to, "$1'", rp_pick(w, from), "", "");
}

static inline void rp_product(rp_writer *w)
{
    const rp_shape left = (rp_shape)rp_draw(w, RP_ROW); /* matrices alone */
    const rp_shape right = (rp_shape)rp_draw(w, RP_ROW);

    if (rp_sides[left][1] != rp_sides[right][0])
        return;
    rp_bind(w, rp_shape_of(rp_sides[left][0], rp_sides[right][1]),
            rp_draw(w, 3) ? "$1 @ $2 / (1 + norm($1))"
                          : "(bf16($1) @ bf16($2)) / (1 + norm($1))",
            rp_pick(w, left), rp_pick(w, right), "");
}

/* Over a dimension, and back over it. */
static inline void rp_reduce(rp_writer *w)
{
    switch (rp_draw(w, 4)) {
    case 0:
        rp_bind(w, RP_COLUMN, "mean($1, 1)", rp_pick(w, RP_MN), "", "");
        break;
    case 1:
        rp_bind(w, RP_ROW, "largest($1, 0)", rp_pick(w, RP_MN), "", "");
        break;
    case 2:
        rp_bind(w, RP_MN, "$1 / (1 + abs($2))", rp_pick(w, RP_MN),
                rp_pick(w, RP_COLUMN), "");
        break;
    default:
        rp_bind(w, RP_MN, "$1 - 0.5 * $2", rp_pick(w, RP_MN),
                rp_pick(w, RP_ROW), "");
    }
}

/* What symmetric(x x' + I) becomes: $1 is x, $2 a matrix of as many rows. */
static inline void rp_factor(rp_writer *w)
{
#define SPD "symmetric($1 @ $1' + eye($1 @ $1'))"
    static const struct {
        rp_feature feature;
        const char *form;
    } rows[] = {{RP_ROOT, "root(" SPD ", -1/4, 1e-4)"},
                {RP_NEWTON_ROOT, "newton_root(" SPD ", -1/2, 1e-4)"},
                {RP_CHOLESKY, "0.5 * cholesky(" SPD ")"},
                {RP_EIGH, "by_eigenvalues(" SPD ")"},
                {RP_SOLVE, "solve(cholesky(" SPD "), $2)"},
                {RP_SOLVE, "solve(cholesky(" SPD ")', $2)"},
                {RP_QR, "solved_by_reflections(" SPD ", $2)"}};
#undef SPD
    const int row = rp_draw(w, 7);
    const rp_shape from = rp_draw(w, 2) ? RP_MN : RP_NM;
    const rp_shape square = from == RP_MN ? RP_MM : RP_NN;
    const bool solves =
        rows[row].feature == RP_SOLVE || rows[row].feature == RP_QR;
    const char *x = rp_pick(w, from);

    if (!x)
        return;
    rp_has(w, rows[row].feature);
    rp_bind(w, solves ? from : square, rows[row].form, x, rp_pick(w, from), "");
}

/* Of defs, each of which has one row of rp_defs(). */
static inline void rp_call(rp_writer *w)
{
    const char *x = rp_pick(w, RP_MN);

    switch (rp_draw(w, 5)) {
    case 0:
        rp_bind(w, RP_MN, "$1 |> softened(0.5) |> shortened()", x, "", "");
        rp_has(w, RP_CHAIN);
        break;
    case 1:
        rp_bind(w, RP_MN, "iterated($1) |> softened(0.25)", x, "", "");
        rp_has(w, RP_WIDE);
        rp_has(w, RP_CHAIN);
        break;
    case 2:
        rp_bind(w, RP_MN, "tracked($1, 0.8)", x, "", "");
        rp_has(w, RP_PART);
        break;
    case 3:
        rp_bind(w, RP_MN, "twice_tracked($1, m, n)", x, "", "");
        rp_has(w, RP_PART);
        rp_has(w, RP_CHAIN);
        break;
    default:
        rp_bind(w, RP_MN, "normalised($1, m)", x, "", "");
        rp_has(w, RP_PART);
    }
}

static inline void rp_statement(rp_writer *w)
{
    switch (rp_draw(w, 10)) {
    case 0:
        rp_turn(w);
        break;
    case 1:
    case 2:
    case 3:
        rp_product(w);
        break;
    case 4:
        rp_reduce(w);
        break;
    case 5:
    case 6:
        rp_factor(w);
        break;
    case 7:
    case 8:
        rp_call(w);
        break;
    default:
        rp_element(w);
    }
}

/* ---- states ---- */

static inline void rp_state_name(char *name, int state)
{
    snprintf(name, RP_NAME, "s%d", state);
}

/* In all updates, in some, or in the first otherwise than in others. */
static inline void rp_write(rp_writer *w, int state, rp_shape shape)
{
    char name[RP_NAME];
    const char *a = rp_pick(w, shape), *b = rp_pick(w, shape);

    rp_state_name(name, state);
    switch (rp_draw(w, 4)) {
    case 0:
        rp_put(w, "    every 2 from 1 { $1 <- ema($1, $2, 0.5) }\n", name, a,
               b);
        rp_has(w, RP_EVERY);
        break;
    case 1:
        rp_put(w, "    first { $1 <- $2 } else { $1 <- ema($1, $3, 0.7) }\n",
               name, a, b);
        rp_has(w, RP_FIRST);
        break;
    case 2:
        if (shape == RP_MM || shape == RP_NN) {
            rp_put(w, "    $1 <- ema($1, symmetric($2), 0.6)\n", name, a, b);
            break;
        }
        /* fall through */
    default:
        rp_put(w, "    $1 <- ema($1, $2, 0.9)\n", name, a, b);
    }
}

static inline rp_feature rp_feature_of(rp_shape shape)
{
    static const rp_feature rows[RP_N_SHAPES] = {
        [RP_MM] = RP_STATE_MM,     [RP_NN] = RP_STATE_NN,
        [RP_ROW] = RP_STATE_ROW,   [RP_COLUMN] = RP_STATE_COLUMN,
        [RP_NM] = RP_STATE_TURNED, [RP_MN] = RP_N_FEATURES};

    return rows[shape];
}

static inline void rp_declare(rp_writer *w, int state, rp_shape shape)
{
    const bool is_square = shape == RP_MM || shape == RP_NN;
    char name[RP_NAME];

    rp_state_name(name, state);
    cz_text_printf(w->out, "    state %s : f32[%c, %c] = %s\n", name,
                   rp_sides[shape][0], rp_sides[shape][1],
                   is_square && rp_draw(w, 2) ? "identity" : "0");
    rp_keep(w, name, shape);
    if (shape != RP_MN)
        rp_has(w, rp_feature_of(shape));
}

/* ---- rules ---- */

static const char rp_defs[] =
    "def softened(x, by) { return x / (1 + by * abs(x)) }\n"
    "def shortened(x) { return softened(x, 0.1) / (1 + norm(x)) }\n"
    "def iterated(x) wide {\n"
    "    u = shortened(x)\n"
    "    for (a, b) in [(1.5, -0.5)] * 2 { u = a * u + b * (u @ u') @ u }\n"
    "    return u\n"
    "}\n"
    "def by_eigenvalues(a) {\n"
    "    (w, q) = eigh(a)\n"
    "    return q @ (sqrt(abs(w)) * q') / (1 + norm(w))\n"
    "}\n"
    "def solved_by_reflections(a, x) {\n"
    "    (q, r) = qr(a)\n"
    "    return solve(r, q' @ x)\n"
    "}\n"
    "def tracked(x, b) {\n"
    "    state v : f32\n"
    "    v <- ema(v, x * x, b)\n"
    "    return x / (sqrt(v) + 0.5)\n"
    "}\n"
    "def normalised(x, m) {\n"
    "    state rows : f32[m, 1]\n"
    "    rows <- ema(rows, mean(x * x, 1), 0.5)\n"
    "    return x / (sqrt(rows) + 0.5)\n"
    "}\n"
    "def twice_tracked(x, m, n) {\n"
    "    state gram : f32[n, n] = identity\n"
    "    gram <- ema(gram, x' @ x, 0.9)\n"
    "    y = tracked(x, 0.6) |> softened(0.5)\n"
    "    return y @ root(gram, -1/2, 1e-2) / (1 + norm(y))\n"
    "}\n";

/* What the gradient has of each shape. */
static inline void rp_begin(rp_writer *w)
{
    static const char *const forms[RP_N_SHAPES] = {
        [RP_MN] = "0.7 * $1 + 0.1 * param",
        [RP_NM] = "$1'",
        [RP_MM] = "$1 @ $1'",
        [RP_NN] = "$1' @ $1",
        [RP_ROW] = "mean($1 * $1, 0)",
        [RP_COLUMN] = "sum($1, 1)"};

    rp_keep(w, "grad", RP_MN);
    rp_keep(w, "param", RP_MN);
    for (int i = 0; i < RP_N_SHAPES; i++)
        if (rp_draw(w, 4))
            rp_bind(w, (rp_shape)i, forms[i], "grad", "", "");
}

static inline void rp_rule(rp_writer *w)
{
    const int n_states = 1 + rp_draw(w, 3), n = 4 + rp_draw(w, 8);
    rp_shape shapes[3];

    cz_text_puts(w->out, "optimizer drawn(lr = 0.1) for [m, n] {\n");
    for (int i = 0; i < n_states; i++)
        rp_declare(w, i, shapes[i] = (rp_shape)rp_draw(w, RP_N_SHAPES));
    if (rp_draw(w, 4) == 0) {
        cz_text_puts(w->out, "    extern given : f32[m]\n");
        rp_keep(w, "given", RP_COLUMN);
        rp_has(w, RP_EXTERN);
    }
    rp_begin(w);
    for (int i = 0; i < n; i++)
        rp_statement(w);
    for (int i = 0; i < n_states; i++) {
        rp_write(w, i, shapes[i]);
        rp_statement(w);
    }
    rp_put(w, "    param <- param - lr * ($1 + 0.5 * $2 - 0.2 * $3) / (1",
           rp_pick(w, RP_MN), rp_pick(w, RP_MN), rp_pick(w, RP_MN));
    for (int i = 0; i < w->n; i++) /* nothing is dead */
        if (!w->values[i].is_read)
            rp_put(w, " + norm($1)", w->values[i].name, "", "");
    cz_text_puts(w->out, ")\n}\n");
}

/* A program of that seed; what its rule has. */
static inline uint32_t rp_program(unsigned seed, cz_text *out)
{
    static const char *const stored[] = {"", "", " stored transposed"};
    rp_writer w = {.random = seed, .out = out};

    rp_draw(&w, 2);
    cz_text_puts(out, "mesh dp = 2, tp = 1\nmodel m() {\n");
    cz_text_printf(out, "    params %s {\n", rp_draw(&w, 3) ? "f32" : "bf16");
    for (int i = 0; i < 2; i++)
        cz_text_printf(out, "        w%d : [%d, %d]%s\n", i, 1 + rp_draw(&w, 5),
                       1 + rp_draw(&w, 5), stored[rp_draw(&w, 3)]);
    cz_text_puts(out, "    }\n}\nuse drawn() as drawn on **\n");
    cz_text_puts(out, rp_defs);
    rp_rule(&w);
    return w.features;
}

#endif
