#!/usr/bin/python3
"""Rules with states of shapes of their own, executed as generated C, beside NumPy
in float64: 20 updates of matrices wide, tall, square, of one row and of prime
sizes, on one rank and on 2x2.

    oracle_states.py CANZONA LIBCZR.A
"""
import numpy as np

import embed
from training import TOOLS, Measured, main, shapes_of, train

SEED, STEPS, LR, BETA = 7, 20, 0.02, 0.9
TEXT = """mesh dp = 1, tp = 1

model states() {
    params f32 {
        wide   : [24/tp, 60]
        tall   : [58, 22/tp]
        square : [40/tp, 40]
        line   : [1, 34/tp]
        prime  : [13, 29]
    }
}

optimizer sides(lr, const beta = 0.9) for [m, n] {
    state v : f32[m, 1] = 1
    state l : f32[m, m] = 0.5 * identity
    v     <- ema(v, mean(grad^2, 1), beta)
    l     <- ema(l, grad @ grad' / n, beta)
    param <- param - lr * l @ (grad / sqrt(v))
}

use sides(lr) as sides on **
"""


def sides(w, grads):
    """The moves, and both states at the end."""
    v, l = np.ones((len(w), 1)), 0.5 * np.eye(len(w))
    for g in grads:
        v = BETA * v + (1 - BETA) * np.mean(g * g, axis=1, keepdims=True)
        l = BETA * l + (1 - BETA) * np.einsum("ik,jk->ij", g, g) / g.shape[1]
        w = w - LR * l.dot(g / np.sqrt(v))
    return w, v, l


def apart(got, want, of):
    return np.linalg.norm(got - want) / np.linalg.norm(of)


class States(Measured):
    def check(self, dp, tp):
        program = embed.Program(*TOOLS, "states", TEXT, dp, tp)
        random = np.random.default_rng(SEED)
        start = {name: np.float32(random.standard_normal(shape))
                 for name, shape in shapes_of(program).items()}
        grads = [{name: [np.float32(random.standard_normal(w.shape))
                         for _ in range(dp)] for name, w in start.items()}
                 for _ in range(STEPS)]
        outcome = train(program, start, grads, {"SIDES_LR": LR})
        for name, first in start.items():
            w, v, l = sides(first.astype(float),
                            [np.mean([g.astype(float) for g in step[name]], 0)
                             for step in grads])
            errors = [apart(outcome.params[name], w, w - first),
                      apart(outcome.states[name, "v"], v, v),
                      apart(outcome.states[name, "l"], l, l)]
            self.note(name, (dp, tp), max(errors), 1e-5)

    def test_one_rank(self):
        self.check(1, 1)

    def test_four_ranks(self):
        self.check(2, 2)


if __name__ == "__main__":
    main(f"seed {SEED}, {STEPS} steps")
