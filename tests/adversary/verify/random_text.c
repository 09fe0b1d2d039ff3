/* Random programs: one function per part of the language. */
#include "tests/adversary/verify/random_text.h"

#include <inttypes.h>

enum { MAX_MATRICES = 4, MAX_VECTORS = 3 };

typedef struct writer {
    randoms *r;
    cz_text *out;
    const text_limits *limits;
    int64_t tp;
    bool has_fsdp;
} writer;

static void put_mesh(writer *w)
{
    int64_t dp, more;

    do {
        dp = draw_in(w->r, 1, w->limits->max_dp);
        more = chance(w->r, 2) ? draw_in(w->r, 2, 3) : 1;
        w->tp = draw_in(w->r, 1, w->limits->max_tp);
    } while (dp * more * w->tp > w->limits->max_ranks);
    w->has_fsdp = more > 1 && chance(w->r, 2);
    cz_text_printf(
        w->out, "mesh dp = %" PRId64 ", %s = %" PRId64 ", tp = %" PRId64 "\n\n",
        dp, w->has_fsdp ? "fsdp" : "cp", more, w->tp);
}

static const char *dtype(writer *w)
{
    return chance(w->r, 2) ? "bf16" : "f32";
}

static void put_dimension(writer *w, bool is_sharded)
{
    const int64_t n = w->tp * draw_in(w->r, 1, w->limits->max_unit);

    if (chance(w->r, 6))
        cz_text_printf(w->out, "pad(%" PRId64 ", %" PRId64 ")%s",
                       draw_in(w->r, 1, n), w->tp * draw_in(w->r, 1, 3),
                       is_sharded ? "/tp" : "");
    else
        cz_text_printf(w->out, is_sharded ? "%" PRId64 "/tp" : "%" PRId64, n);
}

/* Fused storage whose repetitions ranks may cut anywhere. */
static void put_fused(writer *w, const char *indent, const char *name,
                      int64_t number)
{
    const int64_t n = draw_in(w->r, 1, 3);
    const int64_t period =
        w->tp * draw_in(w->r, 2, 2 + w->limits->max_unit / 4);
    const int64_t first = draw_in(w->r, 1, period - 1);
    const bool is_turned = chance(w->r, 4);

    cz_text_printf(w->out, "%s%s%" PRId64 " : %s[", indent, name, number,
                   dtype(w));
    if (is_turned)
        cz_text_printf(w->out, "%" PRId64 ", ", draw_in(w->r, 1, 9));
    cz_text_printf(w->out, "%" PRId64 "/tp", n * period);
    if (!is_turned)
        cz_text_printf(w->out, ", %" PRId64, draw_in(w->r, 1, 9));
    cz_text_printf(
        w->out, "]%s blocks %" PRId64 " { a = %" PRId64 ", b = %" PRId64 " }\n",
        is_turned ? " stored transposed" : "", n, first, period - first);
}

static void put_matrix(writer *w, const char *indent, const char *name,
                       int64_t number)
{
    const int64_t sharded = draw_in(w->r, -1, 1);

    if (chance(w->r, 4)) {
        put_fused(w, indent, name, number);
        return;
    }
    cz_text_printf(w->out, "%s%s%" PRId64 " : %s[", indent, name, number,
                   dtype(w));
    put_dimension(w, sharded == 0);
    cz_text_puts(w->out, ", ");
    put_dimension(w, sharded == 1);
    cz_text_puts(w->out, chance(w->r, 5) ? "] stored transposed\n" : "]\n");
}

static void put_vector(writer *w, const char *indent, int64_t number)
{
    cz_text_printf(w->out, "%sv%" PRId64 " : %s[", indent, number, dtype(w));
    put_dimension(w, chance(w->r, 3));
    cz_text_puts(w->out, "]\n");
}

static void put_model(writer *w)
{
    const int64_t n_matrices = draw_in(w->r, 1, MAX_MATRICES);
    const int64_t n_vectors = draw_in(w->r, 1, MAX_VECTORS);

    cz_text_printf(w->out, "model m(layers = %" PRId64 ") {\n    params %s {\n",
                   draw_in(w->r, 1, 4), dtype(w));
    put_matrix(w, "        ", "embed", 0);
    cz_text_puts(w->out, "        h[i < layers] {\n");
    for (int64_t i = 0; i < n_matrices; i++)
        put_matrix(w, "            ", "w", i);
    for (int64_t i = 0; i < n_vectors; i++)
        put_vector(w, "            ", i);
    cz_text_puts(w->out, "        }\n    }\n}\n\n");
}

/* Rules that need whole matrices: one that keeps values for "after" and reads
 * a second state there, one with norms along both dimensions, one that reads
 * one of two statistics every other update, one with whole states that it
 * renews late, by a factorisation and a start of their own, beside one of the
 * shards, one that asks where elements stand and draws numbers by name, place
 * and update, one that the trainer gives something, a chain of parts with
 * states of their own, and one with symmetric states that reads the parameter
 * as a matrix. */
static const char rules[] =
    "optimizer careful(lr, momentum = 0.9) for [m, n] {\n"
    "    state mom, slow : f32[m, n] = 0\n"
    "    mom <- ema(mom, grad, momentum)\n"
    "    slow <- ema(slow, mom, 0.5)\n"
    "    o = mom / (norm(mom) + 1e-7)\n"
    "    param <- param - lr * (where(o * grad > 0, o, 0) + 0.1 * slow)\n"
    "}\n\n"
    "optimizer edges(lr) for [m, n] {\n"
    "    u = grad / (sum(grad * grad, 1) + 1e-3)\n"
    "    param <- param - lr * (u + grad / (sum(grad * grad, 0) + 1e-3))\n"
    "}\n\n"
    "optimizer seldom(lr, momentum = 0.9) for [m, n] {\n"
    "    state mom, slow, base : f32[m, n] = 0\n"
    "    mom <- ema(mom, grad, momentum)\n"
    "    slow <- ema(slow, grad * grad, momentum)\n"
    "    every 2 from 1 { base <- slow / (norm(slow) + 1e-7) }\n"
    "    param <- param - lr * (base + mom / (norm(mom) + 1e-7))\n"
    "}\n\n"
    "optimizer rooted(lr, momentum = 0.9) for [m, n] {\n"
    "    state mom : f32[m, n] = 0\n"
    "    state left, base : f32[m, m] = 0\n"
    "    state column : f32[1, n] = 0\n"
    "    mom <- ema(mom, grad, momentum)\n"
    "    first { left <- grad @ grad' } else {\n"
    "        left <- ema(left, grad @ grad', 0.5)\n"
    "    }\n"
    "    column <- ema(column, sum(grad * grad, 0), 0.5)\n"
    "    every 2 from 1 {\n"
    "        base <- cholesky(symmetric(left + (1 + norm(left)) * eye(left)))\n"
    "    }\n"
    "    param <- param - lr * (base @ mom) / (1 + column)\n"
    "}\n\n"
    "optimizer placed(lr) for [m, n] {\n"
    "    state mom : f32[m, n] = 0\n"
    "    mom <- ema(mom, triu(grad) - tril(grad), 0.9)\n"
    "    u = mom * uniform(mom, 1, t) + 0.01 * row(mom)\n"
    "    param <- param - lr * u / (norm(u) + 1e-7)\n"
    "}\n\n"
    "optimizer headed(lr) for [m, n] {\n"
    "    extern limit : f32[3]\n"
    "    extern mask : f32[m]\n"
    "    state seen : f32[3, 1] = 0\n"
    "    seen <- ema(seen, limit, 0.5)\n"
    "    param <- param - lr * mask * grad / (1 + norm(seen))\n"
    "}\n\n"
    "def normalised(x, m) {\n"
    "    state v : f32[m, 1]\n"
    "    v <- ema(v, mean(x * x, 1), 0.9)\n"
    "    return x / (sqrt(v) + 1e-4)\n"
    "}\n\n"
    "optimizer chained(lr) for [m, n] {\n"
    "    slow = averaged(grad, 0.99)\n"
    "    param <- lerp(slow, averaged(grad, 0.9), 0.5) |> normalised(m) |>\n"
    "             polar(quintic) |> descended(param, lr)\n"
    "}\n\n"
    "optimizer even(lr) for [m, n] {\n"
    "    state left : f32[m, m] = identity\n"
    "    state right : f32[n, n] = 0.1 * identity\n"
    "    left <- ema(left, grad @ grad', 0.9)\n"
    "    right <- ema(right, symmetric(param' @ param), 0.9)\n"
    "    param <- param - lr * root(left, -1/4, 1e-3) @ grad / (1 + "
    "norm(right))\n"
    "}\n\n";

static void put_use(writer *w, const char *name, const char *on,
                    bool for_matrices)
{
    static const char *const matrix_rules[] = {
        "muon(lr = 0.02)",   "muon(lr = 0.02, precision = f32)",
        "careful(lr = 0.1)", "edges(lr = 0.1)",
        "seldom(lr = 0.1)",  "rooted(lr = 0.1)",
        "placed(lr = 0.1)",  "headed(lr = 0.1)",
        "chained(lr = 0.1)", "even(lr = 0.1)"};
    static const char *const any_rules[] = {"adamw(lr = 0.01)",
                                            "sgd(lr = 0.1, nesterov = true)",
                                            "sgd(lr = 0.1, decay = 0.1)"};

    static const char *const views[] = {"", "", " view each", " view whole",
                                        " view whole tiles"};
    const int64_t view = draw(w->r, for_matrices ? 5 : 4);

    cz_text_printf(w->out, "use %s as %s on %s%s",
                   for_matrices ? matrix_rules[draw(w->r, 10)]
                                : any_rules[draw(w->r, 3)],
                   name, on, views[view]);
    if (view == 4)
        cz_text_printf(w->out, " %" PRId64, draw_in(w->r, 2, 16));
    cz_text_puts(w->out, "\n");
}

static void put_uses(writer *w)
{
    put_use(w, "first", "h.*.w0", !chance(w->r, 6));
    if (chance(w->r, 2))
        put_use(w, "matrices", "** where ndim == 2", !chance(w->r, 4));
    else if (chance(w->r, 2))
        put_use(w, "embedding", "embed0", !chance(w->r, 4));
    put_use(w, "rest", "**", false);
}

/* How buckets are cut, and whose order they have. */
static void put_buffers(writer *w)
{
    static const char *const geometries[] = {"uneven", "padded", "equal"};

    cz_text_printf(w->out, "\n    geometry %s", geometries[draw(w->r, 3)]);
    if (chance(w->r, 4))
        cz_text_puts(w->out, ", layout trainer");
}

static void put_schedule(writer *w)
{
    cz_text_printf(w->out, "\nschedule {\n    grads %s partial over dp",
                   chance(w->r, 4) ? "bf16" : "f32");
    cz_text_puts(w->out, chance(w->r, 4) ? " sum\n" : "\n");
    cz_text_puts(w->out, "    state f32 split over dp\n");
    if (chance(w->r, 2))
        cz_text_puts(w->out, "    clip norm 1.0\n");
    if (chance(w->r, 2))
        cz_text_puts(w->out, "    skip nonfinite\n");
    if (!chance(w->r, 3))
        cz_text_printf(w->out, "    bucket %" PRId64 "\n",
                       draw_in(w->r, 8, 2000));
    if (w->has_fsdp)
        cz_text_printf(w->out, "    shard dim %" PRId64 " over fsdp chunk\n",
                       draw(w->r, 2));
    if (w->has_fsdp && chance(w->r, 2))
        cz_text_printf(w->out,
                       "    shard dim %" PRId64 " over fsdp chunk on h.*.w0\n",
                       draw(w->r, 3));
    cz_text_puts(w->out, "    tp auto");
    if (!chance(w->r, 3))
        cz_text_printf(w->out, ", group %" PRId64 "KiB", draw_in(w->r, 1, 12));
    put_buffers(w);
    if (chance(w->r, 2))
        cz_text_puts(w->out, "\n    tolerance 0.05");
    if (chance(w->r, 2))
        cz_text_puts(w->out, "\n    wire 4");
    cz_text_puts(w->out, "\n}\n");
}

void random_text(randoms *r, const text_limits *limits, cz_text *out)
{
    writer w = {.r = r, .out = out, .limits = limits};

    put_mesh(&w);
    put_model(&w);
    cz_text_puts(out, rules);
    put_uses(&w);
    put_schedule(&w);
}
