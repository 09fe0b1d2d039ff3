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
from formulas import (JORDAN, bf16, distance, newton_schulz, polar_factor,
                      through_polynomials)
from training import (MESHES, SHAPES, Measured, build, main, shapes_of, train)

SEED = 23
POLAR = f"""mesh dp = 1, tp = 1
table one = [(3.4445, -4.7750, 2.0315)]
table two = one * 2
model polar {{
    params f32 {{
        {{once, twice, half, jordan, express}} {{{SHAPES}
        }}
        {{once, twice, half, express}}.large : [256/tp, 160]
    }}
}}
use muon(lr, coefficients = one)          as once    on once.**
use muon(lr, coefficients = two)          as twice   on twice.**
use muon(lr)                              as half    on half.**
use muon(lr, precision = f32)             as jordan  on jordan.**
use muon(lr, precision = f32,
         coefficients = polar_express)    as express on express.**
"""
# Five steps lift a singular value by 3.4445^5 = 485 at most; what is below
# 0.6 of a 485th of the norm, as the last of a square Gaussian matrix may be,
# stays below 0.6 by the formula alone.
JORDAN_REACH = 1.5e-3


def gaussian(random, shape, n_ranks):
    return random.standard_normal((n_ranks, *shape)).astype(np.float32)


def orthogonalised(program, mesh, draw=gaussian, options=None, seed=SEED):
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
                   grad.astype(float).mean(0),
                   4 * rounding.UNIT * np.abs(grad.astype(float)).mean(0))
            for name, grad in grads.items()}


class Polar(Measured):
    @classmethod
    def setUpClass(cls):
        cls.polar = build("polar", POLAR)
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

    def test_jordan_keeps_the_bases(self):
        for mesh in MESHES:
            off, least, most = 0, np.inf, 0
            for name, o, grad, _ in self.factors(mesh, "jordan"):
                u, s, v = np.linalg.svd(grad, full_matrices=False)
                s /= np.linalg.norm(s)
                inner = u.T @ o @ v.T
                sizes = np.diag(inner)
                off = max(off, np.abs(inner - np.diag(sizes)).max())
                want = through_polynomials(s, JORDAN)
                self.assertLess(np.abs(sizes - want).max(), 1e-4, name)
                self.assertGreater(np.mean(s > JORDAN_REACH), 0.95)
                sizes = sizes[s > JORDAN_REACH]
                least, most = min(least, sizes.min()), max(most, sizes.max())
            self.note("jordan f32: off the SVD's diagonal", mesh, off, 1e-4)
            self.note("jordan f32: largest singular value", mesh, most, 1.3)
            self.note("jordan f32: smallest singular value", mesh, least, 0.6,
                      ">=")


if __name__ == "__main__":
    main(f"seed {SEED}")
