#!/usr/bin/python3
"""Executed polar factors against bounds on rounding and against the SVD: one
step of Muon from zero, without momentum, so that the parameter is the polar
factor of the gradient and nothing else.

    oracle_run_polar.py CANZONA LIBCZR.A

Ends with a table of what was measured.
"""
import numpy as np

import embed
import rounding
from formulas import (JORDAN, POLAR_EXPRESS, bf16, distance, newton_schulz,
                      polar_factor, through_polynomials)
from training import (MESHES, SHAPES, Measured, build, main, shapes_of, train)

SEED = 23
POLAR = f"""mesh dp = 1, tp = 1
table one = [(3.4445, -4.7750, 2.0315)]
table two = one * 2
model polar {{
    params f32 {{
        {{once, twice, half, express}} {{{SHAPES}
        }}
        {{once, twice, half, express}}.large : [256/tp, 160]
    }}
}}
use muon(lr, coefficients = one)          as once    on once.**
use muon(lr, coefficients = two)          as twice   on twice.**
use muon(lr)                              as half    on half.**
use muon(lr, precision = f32,
         coefficients = polar_express)    as express on express.**
"""
# What a singular value of 1, rounded up, reaches first: one row or column.
THIN = """mesh dp = 1, tp = 1
model thin {
    params f32 {
        {half, exact} {
            number : [1, 1]
            row    : [1, 64/tp]
            long   : [1, 1000/tp]
            column : [64/tp, 1]
            pair   : [2, 64/tp]
            square : [8, 8/tp]
            tall   : [33, 17]
            wide   : [48/tp, 96]
        }
    }
}
use muon(lr, coefficients = polar_express) as half  on half.**
use muon(lr, precision = f32,
         coefficients = polar_express)     as exact on exact.**
"""
SQUARE = """mesh dp = 1, tp = 1
model square {
    params f32 {
        n8     : [8, 8/tp]
        n16    : [16/tp, 16]
        n32    : [32, 32/tp]
        n64    : [64/tp, 64]
        n96    : [96, 96/tp]
        near   : [34/tp, 32]
        tall   : [96/tp, 32]
        wide   : [32, 96/tp]
        odd    : [33, 17]
        line   : [1, 16/tp]
        long   : [8, 256/tp]
        turned : [24, 40/tp] stored transposed
    }
}
use muon(lr, precision = f32) as jordan on **
"""
LEAST, MOST = 0.6, 1.3  # what jordan's five steps have to reach
MARGIN = 1e-4  # and how far f32 may be from the formula


def gaussian(random, shape, n_ranks):
    return random.standard_normal((n_ranks, *shape)).astype(np.float32)


def mean_of(grad):
    """The mean over the dp ranks in float64, and a bound on its error in f32."""
    grad = grad.astype(float)
    return grad.mean(0), 4 * rounding.UNIT * np.abs(grad).mean(0)


def settled(random, shape, n_ranks):
    """Gaussian gradients whose mean in bf16 no order in which ranks add up has a say
    in, for the Gram matrix would carry that on to all elements: those so near a tie
    are a thousandth longer."""
    grads = gaussian(random, shape, n_ranks)
    mean = rounding.rounded(rounding.around(*mean_of(grads)))
    grads[:, mean.low != mean.high] *= np.float32(1.001)
    return grads


def of_rank_one(draw):
    """Gradients u v' with u and v drawn anew."""
    def matrix(random, shape, n_ranks):
        one = np.outer(draw(random, shape[0]), draw(random, shape[1]))
        return np.repeat(np.float32(one)[None], n_ranks, 0)
    return matrix


def unit(random, n):
    return np.arange(n) == random.integers(n)


# By name, vectors whose outer products have one singular value.
RANK_ONE = {
    "gaussian": of_rank_one(lambda random, n: random.standard_normal(n)),
    "signs": of_rank_one(lambda random, n: random.choice([-1, 1], n)),
    "constant": of_rank_one(lambda random, n: np.full(n, 1 + random.random())),
    "one element": of_rank_one(unit)}


def orthogonalised(program, mesh, draw=settled, options=None, seed=SEED):
    """By name: what polar made of a gradient, its mean over the dp ranks in
    float64, and a bound on the error of that mean in f32."""
    random = np.random.default_rng(seed)
    shapes = shapes_of(program)
    grads = {name: draw(random, shape, mesh[0])
             for name, shape in shapes.items()}
    hypers = {name: 1 if name.endswith("_LR") else 0
              for name in program.hypers}
    start = {name: np.zeros(shape, np.float32)
             for name, shape in shapes.items()}
    params = train(program, start, [grads], hypers, options).params
    return {name: (params[name].astype(float)
                   / np.float32(-0.2 * np.sqrt(max(shapes[name]))),
                   *mean_of(grad))
            for name, grad in grads.items()}


def reach_of(table, margin=0.0):
    """The least s from where on, up to 1, the table's steps end in range."""
    s = np.logspace(-5, 0, 500_001)
    end = through_polynomials(s, table)
    bad = np.flatnonzero((end < LEAST + margin) | (end > MOST - margin))
    return s[bad[-1] + 1]


REACH = {**{f"jordan, {n} rows": reach_of(JORDAN[:1] * n) for n in (5, 6, 7)},
         "polar_express": reach_of(POLAR_EXPRESS)}
SHARES = []


def within_reach(n_draws):
    """Gaussian gradients, drawn until five steps of jordan reach the least
    singular value of the ranks' mean; counts draws by shape."""
    reach = reach_of(JORDAN, MARGIN)

    def draw(random, shape, n_ranks):
        for n in range(1, 1000):
            n_draws[shape] = n
            grads = gaussian(random, shape, n_ranks)
            s = np.linalg.svd(grads.astype(float).mean(0), compute_uv=False)
            if s[-1] / np.linalg.norm(s) >= reach:
                return grads
        raise AssertionError(f"no {shape} within reach")
    return draw


class Polar(Measured):
    @classmethod
    def setUpClass(cls):
        cls.polar = build("polar", POLAR)
        cls.thin = build("thin", THIN)
        cls.square = build("square", SQUARE)
        cls.made = {mesh: orthogonalised(cls.polar[mesh], mesh)
                    for mesh in MESHES}

    def factors(self, mesh, group, made=None):
        """(name, orthogonalised gradient, gradient, its spread)."""
        made = made or self.made[mesh]
        return [(name, *made[name]) for name in made
                if name.startswith(group + ".")]

    # ---- rounding ----

    def check_rounding(self, mesh, group, n_rows, least, what, options=None):
        """No element is what no order of additions gives, and at least the
        share `least` of the elements leaves no choice."""
        made = options and orthogonalised(self.polar[mesh], mesh,
                                          options=options)
        out, fixed = 0, 1
        for name, o, grad, spread in self.factors(mesh, group, made):
            bounds = rounding.newton_schulz(grad, spread, JORDAN[:n_rows])
            self.assertLess(distance(bf16(o), o), 1e-6, f"{name} is no bf16")
            out = max(out, rounding.outside(bf16(o), bounds))
            fixed = min(fixed, rounding.decided(bounds))
        self.note(f"bf16, {n_rows} row(s){what}: share rounded elsewhere",
                  mesh, out, 0)
        self.note(f"bf16, {n_rows} row(s){what}: share without a choice",
                  mesh, fixed, least, ">=")

    def test_bf16_rounds_where_the_manual_says(self):
        for mesh in MESHES:
            self.check_rounding(mesh, "once", 1, 0.9, "")
            self.check_rounding(mesh, "twice", 2, 0.3, "")

    def test_own_product_rounds_where_the_manual_says(self):
        options = embed.Options(fixed_order_product=1)
        for mesh in MESHES:
            self.check_rounding(mesh, "once", 1, 0.9, ", own", options)
            self.check_rounding(mesh, "twice", 2, 0.3, ", own", options)

    def test_a_rounding_too_many_or_too_few_is_noticed(self):
        for name, _, grad, spread in self.factors((1, 1), "twice"):
            if name.endswith((".line", ".large")):
                continue
            bounds = rounding.newton_schulz(grad, spread, JORDAN[:2])
            share = lambda *steps: rounding.outside(
                rounding.planted(grad, JORDAN[:2], *steps), bounds)
            self.assertEqual(share(), 0, name)
            for fault in rounding.FAULTS:
                self.assertGreater(share(fault), 0.02, f"{fault} in {name}")

    def test_bf16_is_near_float64(self):
        """Within bf16's reach, and too far for anything more precise."""
        for mesh in MESHES:
            far = [distance(o, newton_schulz(grad, JORDAN))
                   for _, o, grad, _ in self.factors(mesh, "half")]
            self.note("jordan bf16 from float64, nearest", mesh, min(far),
                      1e-3, ">=")
            self.note("jordan bf16 from float64, farthest", mesh, max(far),
                      5e-2)

    # ---- the SVD ----

    def test_polar_express_reaches_the_svd(self):
        for mesh in MESHES:
            worst = max(distance(o, polar_factor(grad))
                        for _, o, grad, _ in self.factors(mesh, "express"))
            self.note("polar_express f32 against the SVD", mesh, worst, 1e-2)

    def check_rank_one(self, mesh, kind, group):
        """How far the one singular value is from 1, and the largest one; a
        single row or column, which has no other, is normalised."""
        near, most = 0, 0
        for seed in range(SEED, SEED + 2):
            made = orthogonalised(self.thin[mesh], mesh, RANK_ONE[kind],
                                  seed=seed)
            for name, o, grad, _ in self.factors(mesh, group, made):
                self.assertTrue(np.isfinite(o).all(), f"{kind}: {name}")
                u, _, v = np.linalg.svd(grad, full_matrices=False)
                near = max(near, abs(u[:, 0] @ o @ v[0] - 1))
                most = max(most, np.linalg.norm(o, 2))
                if 1 in grad.shape:
                    near = max(near, distance(o, polar_factor(grad)))
        return near, most

    def test_one_row_is_not_nan_under_polar_express(self):
        for mesh in MESHES:
            for group, what in (("half", "bf16"), ("exact", "f32")):
                near, most = np.max([self.check_rank_one(mesh, kind, group)
                                     for kind in RANK_ONE], axis=0)
                what = f"polar_express {what} of rank one:"
                self.note(f"{what} |value - 1|", mesh, near, 1e-2)
                self.note(f"{what} largest value", mesh, most, 1.01)

    def check_jordan(self, mesh, seed):
        """(largest element off the diagonal in the SVD's bases, smallest and
        largest on it, least input over the norm, draws of n64)."""
        n_draws = {}
        made = orthogonalised(self.square[mesh], mesh, within_reach(n_draws),
                              seed=seed)
        off, sizes, least = 0, [], 1
        for name, (o, grad, _) in made.items():
            u, s, v = np.linalg.svd(grad, full_matrices=False)
            s /= np.linalg.norm(s)
            inner = u.T @ o @ v.T
            off = max(off, np.abs(inner - np.diag(np.diag(inner))).max())
            sizes.extend(np.diag(inner))
            least = min(least, s.min())
            self.assertLess(np.abs(np.diag(inner) - through_polynomials(
                s, JORDAN)).max(), MARGIN, name)
        return off, min(sizes), max(sizes), least, n_draws[64, 64]

    def test_jordan_keeps_the_bases(self):
        for mesh in MESHES:
            off, low, high, least, draws = zip(
                *(self.check_jordan(mesh, seed)
                  for seed in range(SEED, SEED + 4)))
            self.note("jordan f32: smallest input over the norm", mesh,
                      min(least), REACH["jordan, 5 rows"], ">=")
            self.note("jordan f32: off the SVD's diagonal", mesh, max(off),
                      1e-4)
            self.note("jordan f32: largest singular value", mesh, max(high),
                      MOST)
            self.note("jordan f32: smallest singular value", mesh, min(low),
                      LEAST, ">=")
            self.note("jordan f32: most draws of a 64x64", mesh, max(draws),
                      100)

    def test_how_often_square_inputs_are_within_reach(self):
        """As often as Edelman's law of the smallest singular value of a
        square Gaussian matrix says (1988): exp(-x^2/2 - x) of them have it
        above x / sqrt(n), where the norm is n."""
        random = np.random.default_rng(SEED)
        for n, n_draws in ((8, 400), (16, 400), (32, 400), (64, 400),
                           (128, 100)):
            s = np.linalg.svd(random.standard_normal((n_draws, n, n)),
                              compute_uv=False)
            s /= np.linalg.norm(s, axis=1, keepdims=True)
            row = {}
            for name, reach in REACH.items():
                row[name] = np.mean(s[:, -1] >= reach)
                x = reach * n ** 1.5
                self.assertLess(abs(row[name] - np.exp(-x * x / 2 - x)), 0.1,
                                f"{name}, n = {n}")
            s /= s[:, :1]
            row["5 rows, spectral norm"] = np.mean(
                s[:, -1] >= REACH["jordan, 5 rows"])
            SHARES.append((n, row))


def print_shares():
    print(f"\nshare of square Gaussian inputs whose every singular value ends "
          f"in [{LEAST}, {MOST}], by n\nleast input over the norm: "
          + ", ".join(f"{name}: {reach:.3g}" for name, reach in REACH.items()))
    for n, row in SHARES:
        print(f"{n:4}", ", ".join(f"{k}: {v:.3f}" for k, v in row.items()))


if __name__ == "__main__":
    main(f"seed {SEED}", print_shares)
