#!/usr/bin/python3
"""What it costs to round before the norm is taken: polar factors in bf16 by `polar`
and `polar_norm_first`, executed, beside the same polynomials in NumPy's float64 and
beside the SVD.

    oracle_rounding.py CANZONA LIBCZR.A

One rounding becomes two, so that what rounding alone does may grow by sqrt(2): it
shows where singular values are as small as the rounding of others.
"""
import numpy as np

import embed
import optimizers as formula
from oracle_form import SEED, SHAPES, TABLES, spectra
from training import TOOLS, Measured, main, train

ORDERS = "polar", "polar_norm_first"
# By spectrum: how much farther from float64, and from the SVD's factor.
BOUNDS = {"Gaussian": (1.25, 1.02), "1e-5 to 1": (1.5, 1.05),
          "rank 10": (1.5, 1.5)}
SOURCE = """mesh dp = 1, tp = 1
model m() {{
    params f32 {{
        {{polar, polar_norm_first}} {{
            wide : [96, 480]
            tall : [384, 64]
        }}
    }}
}}
optimizer made(factor, coefficients) for [m, n] {{
    param <- f32(factor(grad, coefficients, bf16))
}}
use made(polar, {table})            as polar            on polar.**
use made(polar_norm_first, {table}) as polar_norm_first on polar_norm_first.**
"""


def of_its_rank(gradient):
    """Its polar factor, of the singular values that are not rounding alone."""
    left, s, right = np.linalg.svd(gradient, full_matrices=False)
    kept = s > 1e-6 * s[0]
    return left[:, kept] @ right[kept]


def distance(got, want):
    return np.linalg.norm(got - want) / np.linalg.norm(want)


class Rounding(Measured):
    def check(self, made, table, shape, spectrum, gradient):
        wants = (formula.polar(gradient, formula.TABLES[table], formula.keep),
                 of_its_rank(gradient))
        for want, than, bound in zip(wants, ("float64", "the SVD"),
                                     BOUNDS[spectrum]):
            first, last = (distance(made[f"{order}.{shape}"], want)
                           for order in ORDERS)
            self.note(f"{table}, {shape}, {spectrum}, from {than}: {last:.3g}, "
                      "rounded first", (1, 1), first, bound * last)

    def test_orders(self):
        for table in TABLES:
            program = embed.Program(*TOOLS, "made", SOURCE.format(table=table))
            drawn = {shape: spectra(*SHAPES[shape]) for shape in SHAPES}
            for spectrum in BOUNDS:
                gradients = {f"{order}.{shape}": np.float32(drawn[shape][spectrum])
                             for order in ORDERS for shape in SHAPES}
                start = {name: np.zeros_like(g) for name, g in gradients.items()}
                made = train(program, start, [
                    {name: [g] for name, g in gradients.items()}], {}).params
                for shape in SHAPES:
                    self.check(made, table, shape, spectrum,
                               gradients[f"polar.{shape}"].astype(float))


if __name__ == "__main__":
    main(f"one rounding before the norm, or after it: seed {SEED}")
