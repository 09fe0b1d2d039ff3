#!/usr/bin/python3
"""Experts as one tensor each and as one batch of matrices for all, with gate and
up interleaved by rank: the same logical values and gradients give the same bits,
also where ranks share the batch out.  Generated C, driven as a trainer drives it.

    storage_batch.py CANZONA LIBCZR.A
"""
import sys
import unittest

import numpy as np

import embed
import training

TOOLS = []
D, F, EXPERTS, STEPS, SEED = 12, 16, 4, 3, 5
HYPERS = {"MATRICES_LR": 0.02, "REST_LR": 0.01}
PARTS = {"gate": (F, D), "up": (F, D), "down": (D, F)}

SEPARATE = f"""mesh dp = 1, tp = 1
model separate {{
    params bf16 {{
        experts[e < {EXPERTS}] {{
            {{gate, up}} : [{F}/tp, {D}]
            down : [{D}, {F}/tp]
        }}
        norm : [{D}]
    }}
}}
"""
BATCH = f"""mesh dp = 1, tp = 1, ep = EP of dp
model batch {{
    params bf16 {{
        gate_up : [{EXPERTS}/ep, 2*{F}/etp, {D}] blocks etp {{ gate = {F}/etp, up = {F}/etp }}
        down : [{EXPERTS}/ep, {F}/etp, {D}] stored transposed
        norm : [{D}]
    }}
}}
"""
RULES = """
use adamw(lr) as rest on norm
use muon(lr) as matrices on **

schedule {
    clip norm 1.0, skip nonfinite
    strict
}
"""


def logical():
    yield "norm", (D,)
    for e in range(EXPERTS):
        for part, shape in PARTS.items():
            yield f"experts.{e}.{part}", shape


def to_batch(whole, tp):
    """Each rank's gate and up stand together; down is stored transposed."""
    expert = lambda e, part: whole[f"experts.{e}.{part}"]
    fused = [np.concatenate([expert(e, part).reshape(tp, -1, D)
                             for part in ("gate", "up")], axis=1).reshape(-1, D)
             for e in range(EXPERTS)]
    return {"norm": whole["norm"], "gate_up": np.stack(fused),
            "down": np.stack([expert(e, "down").T for e in range(EXPERTS)])}


class Batch(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(SEED)
        draw = lambda shape: random.standard_normal(shape).astype(np.float32)
        self.start = {n: np.float32(0.02) * draw(s) for n, s in logical()}
        self.grads = [{n: draw(s) for n, s in logical()} for _ in range(STEPS)]

    def separate(self):
        program = embed.Program(*TOOLS, "separate", SEPARATE + RULES, 1, 1)
        grads = [{n: [g] for n, g in step.items()} for step in self.grads]
        return training.train(program, self.start, grads, HYPERS)

    def batch(self, dp, tp, ep):
        """An expert's gradients come from the ranks that have it alone: one of
        dp / ep counts as much as dp / ep of dp do."""
        text = (BATCH + RULES).replace("EP", str(ep))
        program = embed.Program(*TOOLS, "batch", text, dp, tp)
        grads = [{n: [g * np.float32(1 if n == "norm" else ep)] * dp
                  for n, g in to_batch(step, tp).items()} for step in self.grads]
        return training.train(program, to_batch(self.start, tp), grads, HYPERS)

    def check(self, dp, tp, ep):
        want = to_batch(self.separate().params, tp)
        got = self.batch(dp, tp, ep)
        self.assertEqual([r[1:] for r in got.results],
                         [(0, i + 1) for i in range(STEPS)])
        self.assertEqual(want.keys(), got.params.keys())
        for name, array in want.items():
            np.testing.assert_array_equal(
                np.asarray(array, np.float32).view(np.uint32),
                np.asarray(got.params[name], np.float32).view(np.uint32), name)
        moved = np.abs(want["gate_up"] - to_batch(self.start, tp)["gate_up"])
        self.assertGreater(moved.max(), 1e-3)
        print(f"dp {dp}, tp {tp}, ep {ep}: a batch has the bits of its matrices")

    def test_on_one_rank(self):
        self.check(1, 1, 1)

    def test_gate_and_up_by_rank(self):
        self.check(1, 2, 1)
        self.check(2, 4, 1)

    def test_dealt_out(self):
        self.check(2, 1, 2)
        self.check(4, 1, 4)
        self.check(4, 2, 2)


if __name__ == "__main__":
    TOOLS = [sys.argv.pop(1), sys.argv.pop(1)]
    unittest.main()
