#!/usr/bin/python3
"""muonclip, executed, beside NumPy in float64, which clips head by head: 20 updates
of matrices wide, tall and stored transposed, with logits above, below and at the
threshold, none and negative ones, on one rank and on 2x2.

    oracle_muonclip.py CANZONA LIBCZR.A

In f32 within 1e-5 of the move, in bf16 within 2e-2 of a formula that rounds where
LANGUAGE.md says.
"""
import numpy as np

import embed
import optimizers as formula
from formulas import bf16
from training import TOOLS, Measured, main, shapes_of, train

SEED, STEPS, HEADS, CAP = 13, 20, 4, 1.25
SOURCE = """mesh dp = 1, tp = 1
model clipped {
    params f32 {
        {keys, grouped, rotary, values, half} {
            wide   : [24/tp, 60]
            tall   : [60, 22/tp]
            turned : [20, 36/tp] stored transposed
        }
    }
}
use muonclip(lr, threshold, heads = 4, precision = f32)             as keys    on keys.**
use muonclip(lr, threshold, heads = 4, precision = f32, power = 1.0) as grouped on grouped.**
use muonclip(lr, threshold, heads = 4, precision = f32, tail = 2)   as rotary  on rotary.**
use muonclip(lr, threshold, heads = 4, precision = f32, tail = 3, tail_power = 0.0) as values on values.**
use muonclip(lr, threshold, heads = 4)                              as half    on half.**
"""
WITH = {"keys": {}, "grouped": {"power": 1.0}, "rotary": {"tail": 2},
        "values": {"tail": 3, "tail_power": 0.0}, "half": {}}


class MuonClip(Measured):
    def check(self, mesh):
        program = embed.Program(*TOOLS, "clipped", SOURCE, *mesh)
        random = np.random.default_rng(SEED)
        draw = lambda shape: np.float32(random.standard_normal(shape))
        shapes = shapes_of(program)
        start = {name: np.float32(0.02) * draw(shape) for name, shape in shapes.items()}
        grads = [{name: [draw(shape)] * mesh[0]
                  for name, shape in shapes.items()} for _ in range(STEPS)]
        logits = np.float32(random.uniform(-2, 2, (STEPS, HEADS)))
        logits[2], logits[3] = CAP, 0
        hypers = {f"{group}_{name}".upper(): value for group in WITH
                  for name, value in (("lr", 0.02), ("threshold", CAP))}
        outcome = train(program, start, grads, hypers, externs=[
            {(name, "max_logit"): row for name in shapes} for row in logits])
        for name, first in start.items():
            group = name.split(".")[0]
            turn = np.transpose if name.endswith("turned") else formula.keep
            want = turn(formula.muonclip(
                turn(first.astype(float)),
                [turn(step[name][0].astype(float)) for step in grads],
                bf16 if group == "half" else formula.keep, logits.astype(float),
                lr=0.02, threshold=CAP, **WITH[group]))
            self.note(name, mesh, np.linalg.norm(outcome.params[name] - want) /
                      np.linalg.norm(want - first),
                      2e-2 if group == "half" else 1e-5)

    def test_one_rank(self):
        self.check((1, 1))

    def test_four_ranks(self):
        self.check((2, 2))


if __name__ == "__main__":
    main(f"seed {SEED}, {STEPS} steps")
