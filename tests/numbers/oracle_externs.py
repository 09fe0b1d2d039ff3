#!/usr/bin/python3
"""Rules with externs, given as a trainer gives them (embed.py), beside NumPy in
float64: 12 updates of matrices wide, tall, square, fused, in a batch and stored
transposed.  Then every way to give one wrongly, or not at all.

    oracle_externs.py CANZONA LIBCZR.A
"""
import pathlib
import subprocess
import tempfile

import numpy as np

import embed
from training import MESHES, TOOLS, Measured, main, train

SEED, STEPS, LR = 11, 12, 0.02
TEXT = """mesh dp = 1, tp = 1

model externs() {
    params f32 {
        wide   : [24/tp, 60]
        tall   : [58, 22/tp]
        square : [40/tp, 40]
        turned : [20, 36/tp] stored transposed
        fused  : [30, 16/tp] blocks 3 { a = 4, b = 6 }
        batch  : [3, 12, 8/tp]
    }
}

optimizer clipped(lr) for [m, n] {
    extern bound  : f32[m]
    extern weight : f32[1, n]
    extern length : f32
    extern mask   : f32[m, n]
    rows   = min(1, bound / norm(grad, 1))
    param <- param - lr * length * rows * weight * (mask + grad)
}

use clipped(lr) as clipped on **
schedule { skip nonfinite }
"""
UNITS = {"wide": (24, 60), "tall": (58, 22), "square": (40, 40),
         "turned": (36, 20), "fused[a]": (12, 16), "fused[b]": (18, 16),
         **{f"batch[{i}]": (12, 8) for i in range(3)}}


def drawn(random):
    """One step's externs of all matrices, as the rule sees them."""
    return {(unit, name): np.float32(random.uniform(0.5, 4, shape))
            for unit, (m, n) in UNITS.items()
            for name, shape in (("bound", (m, 1)), ("weight", (1, n)),
                                ("length", (1, 1)), ("mask", (m, n)))}


def stored(key, values):
    """What the trainer hands over of a matrix that is stored transposed."""
    is_matrix = key[1] == "mask"
    return values.T if key[0] == "turned" and is_matrix else values


def matrix(wholes, unit):
    """One matrix of the stored tensors, as the rule sees it."""
    name, _, piece = unit.rstrip("]").partition("[")
    whole = wholes[name]
    if name == "fused":
        rows = np.arange(30).reshape(3, 10)
        return whole[(rows[:, :4] if piece == "a" else rows[:, 4:]).ravel()]
    return whole[int(piece)] if piece else whole.T if unit == "turned" else whole


def clipped(w, grads, given):
    for g, of in zip(grads, given):
        rows = np.minimum(1, of["bound"] /
                          np.sqrt((g * g).sum(1, keepdims=True)))
        w = w - LR * of["length"] * rows * of["weight"] * (of["mask"] + g)
    return w


def shapes():
    return {"wide": (24, 60), "tall": (58, 22), "square": (40, 40),
            "turned": (20, 36), "fused": (30, 16), "batch": (3, 12, 8)}


class Externs(Measured):
    def test_updates(self):
        for mesh in MESHES:
            program = embed.Program(*TOOLS, "externs", TEXT, *mesh)
            random = np.random.default_rng(SEED)
            draw = lambda shape: np.float32(random.standard_normal(shape))
            start = {name: draw(s) for name, s in shapes().items()}
            grads = [{name: [draw(s) for _ in range(mesh[0])]
                      for name, s in shapes().items()} for _ in range(STEPS)]
            given = [drawn(random) for _ in range(STEPS)]
            outcome = train(program, start, grads, {"CLIPPED_LR": LR},
                            externs=[{key: stored(key, value)
                                      for key, value in step.items()}
                                     for step in given])
            means = [{name: np.mean([g.astype(float) for g in ranks], 0)
                      for name, ranks in step.items()} for step in grads]
            for unit in UNITS:
                first = matrix(start, unit).astype(float)
                want = clipped(first, [matrix(step, unit) for step in means],
                               [{name: values.astype(float) for (of, name),
                                 values in step.items() if of == unit}
                                for step in given])
                error = matrix(outcome.params, unit) - want
                self.note(unit, mesh, np.linalg.norm(error) /
                          np.linalg.norm(want - first), 1e-5)

    def test_ir_that_writes_one(self):
        text = TEXT.replace("extern mask   : f32[m, n]",
                            "state mask : f32[m, 2]").replace(
            "(mask + grad)", "(norm(mask) + grad)\n    mask <- length")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "written.cz"
            file.write_text(text, encoding="utf-8")
            ir = subprocess.run([TOOLS[0], "plan", "--ir", file], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        old = "state_extern = array<i64: 1, 1, 1, 0>"
        self.assertIn(old, ir)
        for given, said in (("1, 1, 1, 1", "writes 'mask', which is an extern"),
                            ("1, 1, 1, 2", "state_extern"),
                            ("1, 1, 1", "differ in number")):
            done = subprocess.run(
                [TOOLS[0], "verify", "-"], text=True, check=False,
                input=ir.replace(old, f"state_extern = array<i64: {given}>"),
                stderr=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)
            self.assertIn(said, done.stderr)

    def on_ranks(self, mesh, body, text=TEXT):
        program = embed.Program(*TOOLS, "externs", text, *mesh)
        return program.run(body)

    def test_given_wrongly(self):
        def body(rank):
            ones = np.ones(3000)
            said = [rank.give("wide", "length", ones[:1])]
            rank.seal()
            said += [rank.give(*wrong) for wrong in (
                ("wide", "length", ones[:2]), ("wide", "bound", ones[:23]),
                ("wide", "mask", ones), ("wide", "heads", ones[:1]),
                ("narrow", "length", ones[:1]), ("fused", "length", ones[:1]),
                ("batch", "length", ones[:1]), ("wide", "", ones[:1]))]
            return said
        for said in self.on_ranks((2, 2), body):
            self.assertEqual(said, ["CZR_ERR_STATE"] + 3 * ["CZR_ERR_SHAPE"] +
                             5 * ["CZR_ERR_NOT_FOUND"])

    def test_list(self):
        wanted = {key: stored(key, values).shape for key, values in
                  drawn(np.random.default_rng(SEED)).items()}
        for found in self.on_ranks((2, 2), lambda rank: rank.externs()):
            self.assertEqual(found, wanted)

    def give_all(self, rank, but=()):
        for key, values in drawn(np.random.default_rng(SEED)).items():
            if key not in but:
                self.assertEqual(rank.give(*key, values), "CZR_OK")

    def fill(self, rank, value):
        for grad in rank.grads.values():
            grad[...] = value

    def test_not_given(self):
        """Before the first step, or not since the last, applied or skipped."""
        for n_steps, value in ((0, 1), (1, 1), (1, np.nan)):
            def body(rank):
                rank.seal()
                self.fill(rank, value)
                for _ in range(n_steps):
                    self.give_all(rank)
                    self.assertEqual(rank.step({"CLIPPED_LR": LR}).skipped,
                                     int(np.isnan(value)))
                self.give_all(rank, but=[("turned", "bound")])
                rank.step({"CLIPPED_LR": LR})
            with self.assertRaisesRegex(
                    RuntimeError, "CZR_ERR_EXTERN.*bound of turned was not"):
                self.on_ranks((2, 1), body)

    def test_one_rank_forgets(self):
        def body(rank):
            rank.seal()
            self.fill(rank, 1)
            self.give_all(rank, but=[("wide", "length")] * (rank.rank == 3))
            rank.step({"CLIPPED_LR": LR})
        with self.assertRaisesRegex(RuntimeError,
                                    "CZR_ERR_EXTERN|CZR_ERR_ABORTED"):
            self.on_ranks((2, 2), body)

    def test_elsewhere(self):
        text = """mesh pp = 2, dp = 1, tp = 1
model stages() {
    params f32 {
        layers[i < 4/pp].weight : [6, 5]
        still : [3] frozen
    }
}
optimizer scaled(lr) for [m, n] {
    extern length : f32
    param <- param - lr * length * grad
}
use scaled(lr) on **
"""
        program = embed.Program(*TOOLS, "stages", text, 1, 1, 2)

        def body(rank):
            rank.seal()
            return ([rank.give(name, "length", 1) for name in
                     ("layers.0.weight", "layers.3.weight", "still")],
                    {name for name, _ in rank.externs()})
        (first, ours), (last, theirs) = program.run(body)
        self.assertEqual(first, ["CZR_OK", "CZR_ERR_ELSEWHERE",
                                 "CZR_ERR_FROZEN"])
        self.assertEqual(last, ["CZR_ERR_ELSEWHERE", "CZR_OK",
                                "CZR_ERR_FROZEN"])
        self.assertEqual(ours, {"layers.0.weight", "layers.1.weight"})
        self.assertEqual(theirs, {"layers.2.weight", "layers.3.weight"})


if __name__ == "__main__":
    main(f"seed {SEED}, {STEPS} steps")
