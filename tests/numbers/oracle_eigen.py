#!/usr/bin/python3
"""Rules with a polar factor by eigenvalues, executed, beside NumPy in float64,
which takes it by singular values: generated C on 2x2 ranks, 20 updates, matrices
wide, tall, square, of one row, of prime sizes and stored transposed.

    oracle_eigen.py CANZONA LIBCZR.A

Singular values are 1 to 2, half of them 0, or spread over one decade or three, in
bases that stay.  Ends with a table of the errors.
"""
import numpy as np

import embed
import optimizers as formula
from training import TOOLS, Measured, main, shapes_of, train

SEED = 52
STEPS = 20
MESH = (2, 2)
SOURCE = """mesh dp = 1, tp = 1
model eigen {
    params f32 {
        {polargrad, muon, mop} {
            wide   : [24/tp, 60]
            tall   : [58, 22/tp]
            square : [40/tp, 40]
            line   : [1, 34/tp]
            prime  : [13, 29]
            turned : [20, 36/tp] stored transposed
        }
    }
}
use polargrad(factor = polar_eigh) as polargrad on polargrad.**
use muon(lr, factor = polar_eigh)  as muon      on muon.**
use mop()                          as mop       on mop.**
"""
HYPERS = {"POLARGRAD_LR": 0.002, "MUON_LR": 0.02, "MUON_DECAY": 0.1,
          "MOP_LR": 0.002}
FORMULAS = {
    "polargrad": lambda w, g: formula.polargrad(
        w, g, formula.keep, lr=0.002, factor=formula.polar_eigh),
    "muon": lambda w, g: formula.muon(
        w, g, formula.keep, lr=0.02, decay=0.1, factor=formula.polar_eigh),
    "mop": lambda w, g: formula.mop(w, g, formula.keep, lr=0.002),
}
BOUND = 1e-5
SPECTRA = {"1 to 2": lambda n: 1 + np.arange(n) / n,
           "half of them 0": lambda n: np.where(2 * np.arange(n) < n, 1.5, 0),
           "a decade": lambda n: np.logspace(-1, 0, n),
           "three decades": lambda n: np.logspace(-3, 0, n)}


def data(shapes, spectrum, scale):
    random = np.random.default_rng(SEED)
    draw = lambda m, n: np.linalg.qr(random.standard_normal((m, n)))[0]
    start, grads = {}, [{} for _ in range(STEPS)]
    for name, (m, n) in shapes.items():
        s = min(m, n)
        left, right, values = draw(m, s), draw(n, s), scale * spectrum(s)
        start[name] = np.float32(0.02 * random.standard_normal((m, n)))
        for step in grads:
            weights = values * (1 + 0.1 * random.random(s))
            step[name] = [np.float32((left * weights) @ right.T)] * MESH[0]
    return start, grads


class Eigen(Measured):
    @classmethod
    def setUpClass(cls):
        cls.program = embed.Program(*TOOLS, "eigen", SOURCE, *MESH)

    def check(self, what, spectrum, scale=1.0):
        start, grads = data(shapes_of(self.program), spectrum, scale)
        outcome = train(self.program, start, grads, HYPERS)
        for group, update in FORMULAS.items():
            if scale != 1 and group != "muon":
                continue  # their steps are as long as gradients
            worst = 0
            for name in (n for n in start if n.startswith(group + ".")):
                first, got = start[name].astype(float), outcome.params[name]
                turn = np.transpose if name.endswith("turned") else formula.keep
                want = turn(update(turn(first), [turn(g[name][0].astype(float))
                                                 for g in grads]))
                moves = np.linalg.norm(want - first)
                self.assertTrue(np.isfinite(got).all(), name)
                worst = max(worst, np.linalg.norm(got - want) /
                            max(moves, 0.1 * np.linalg.norm(first)))
            self.note(f"{group}, singular values {what}", MESH, worst, BOUND)

    def test_spectra(self):
        for what, spectrum in SPECTRA.items():
            self.check(what, spectrum)

    def test_scales(self):
        for scale in (1e30, 1e-30):
            self.check(f"1 to 2, times {scale:g}", SPECTRA["1 to 2"], scale)

    def test_zero(self):
        self.check("0", np.zeros)


if __name__ == "__main__":
    main(f"polar factors by eigenvalues: seed {SEED}, {STEPS} steps")
