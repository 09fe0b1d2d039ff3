#!/usr/bin/python3
"""States that equal their transposes: which ones the compiler takes for such, that
they stay so bit by bit on every mesh, and what becomes of others that a trainer
loads.

    oracle_symmetric.py CANZONA LIBCZR.A
"""
import json
import pathlib
import subprocess
import tempfile

import numpy as np

import embed
from training import TOOLS, Measured, main

SEED, STEPS, LR, BETA = 11, 5, 0.02, 0.9
MESHES = [(1, 1), (2, 2), (1, 4)]
SHAPES = {"wide": (24, 60), "tall": (200, 36), "square": (40, 40),
          "turned": (36, 28)}
TEXT = """mesh dp = 1, tp = 1

model symmetric() {
    params f32 {
        wide   : [24/tp, 60]
        tall   : [200, 36/tp]
        square : [40/tp, 40]
        turned : [28, 36/tp] stored transposed
    }
}

# Of these l, r, even, root_l stay symmetric; odd does not, nor does odder, into which
# it goes, nor late, which a phase alone spoils, nor rows, which is not square.
optimizer sides(lr, const beta = 0.9) for [m, n] {
    state mom    : f32[m, n]
    state l      : f32[m, m] = 0.5 * identity
    state r      : f32[n, n] = 2
    state even   : f32[n, n] = 0
    state root_l : f32[m, m] = identity
    state odd    : f32[m, m] = identity
    state odder  : f32[m, m] = identity
    state late   : f32[n, n] = identity
    state rows   : f32[n, m] = 0
    mom    <- ema(mom, grad, beta)
    (w, q)  = eigh(l)
    l      <- ema(l, grad @ grad' / n, beta)
    r      <- 0.5 * (r + grad' @ grad / m) / (1 + norm(r))
    even   <- symmetric(mom' @ grad)
    root_l <- root(l, -1/2, 1e-3)
    odd    <- ema(odd, mom @ grad' / n, beta)
    odder  <- ema(odder, odd, beta)
    rows   <- grad'
    every 2 { late <- mom' @ grad / m }
    param  <- param - lr * (root_l @ grad) - lr * norm(w) * (grad @ r) -
              0.01 * lr * (odd @ grad + grad @ late + odder @ rows' + grad @ even)
}

use sides(lr) as sides on **
"""
SYMMETRIC = {"l", "r", "even", "root_l"}


def draw():
    """First values, and the gradients of every step and rank of dp."""
    random = np.random.default_rng(SEED)
    normal = lambda shape: np.float32(random.standard_normal(shape))
    stored = {name: shape[::-1] if name == "turned" else shape
              for name, shape in SHAPES.items()}
    start = {name: normal(shape) for name, shape in stored.items()}
    # Alike on all ranks of dp, and of few bits, so that any mean is exact.
    grads = [{name: np.round(4 * normal(shape)) / 4
              for name, shape in stored.items()} for _ in range(STEPS)]
    return start, grads


def spoil(rank):
    """What lies above the diagonals of symmetric states becomes anything."""
    for name, _, _, values in rank.lent_states():
        if name in SYMMETRIC:
            values[np.triu_indices(len(values), 1)] = 1e6


def turn(rank):
    """And what lies below it, which counts."""
    for name, _, _, values in rank.lent_states():
        if name == "l":
            values[np.tril_indices(len(values))] += np.float32(0.25)


def turn_both(rank):
    for name, _, _, values in rank.lent_states():
        if name == "l":
            values += np.float32(0.25)


class Symmetric(Measured):
    @classmethod
    def setUpClass(cls):
        cls.programs = {mesh: embed.Program(*TOOLS, "symmetric", TEXT, *mesh)
                        for mesh in MESHES}

    def run_on(self, mesh, between=lambda rank: None):
        """Parameters and states after all steps: {name: array}."""
        program = self.programs[mesh]
        start, grads = draw()

        def body(rank):
            for name, layout in rank.layouts.items():
                rank.params[name][...] = start[name][layout.window()]
            rank.seal()
            for i, step in enumerate(grads):
                if i == STEPS // 2:
                    between(rank)
                for name, layout in rank.layouts.items():
                    rank.grads[name][...] = step[name][layout.window()]
                rank.step({"SIDES_LR": LR})
            return ({n: (rank.layouts[n].window(), w.copy())
                     for n, w in rank.params.items()},
                    {(n, p): v for n, p, _, v in rank.states()})
        found = {}
        for params, states in program.run(body, embed.Options(threads=1)):
            for name, (window, values) in params.items():
                whole = found.setdefault(name, np.zeros_like(start[name]))
                whole[window] = values
            found.update({key: values for key, values in states.items()
                          if values.ndim == 2})
        return found

    def assert_same(self, a, b):
        self.assertEqual(a.keys(), b.keys())
        for key, values in a.items():
            self.assertEqual(values.tobytes(), b[key].tobytes(), key)

    def test_plan_says_which(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "symmetric.cz"
            file.write_text(TEXT, encoding="utf-8")
            plan = json.loads(subprocess.run(
                [TOOLS[0], "plan", "--json", file], check=True,
                stdout=subprocess.PIPE).stdout)
        names = {s["name"] for s in plan["states"] if s["symmetric"]}
        self.assertEqual(names, SYMMETRIC)
        for stage in plan["stages"]:
            if stage["where"] == "whole":
                self.assertEqual(sum(s["kind"] == "product" and s["symmetric"]
                                     for s in stage["steps"]), 2, stage["name"])

    def test_bits_on_every_mesh(self):
        first = None
        for mesh in MESHES:
            found = self.run_on(mesh)
            for key, values in found.items():
                if key[0] in SYMMETRIC:
                    self.assertEqual(values.tobytes(), values.T.tobytes(), key)
            first = first or found
            self.assert_same(first, found)

    def test_values(self):
        start, grads = draw()
        found = self.run_on((2, 2))
        for name in SHAPES:
            seen = lambda x: x.T if name == "turned" else x
            m, n = seen(start[name]).shape
            l, r = 0.5 * np.eye(m), np.full((n, n), 2.0)
            mom = np.zeros((m, n))
            for step in grads:
                g = seen(step[name]).astype(float)
                mom = BETA * mom + (1 - BETA) * g
                l = BETA * l + (1 - BETA) * np.einsum("ik,jk->ij", g, g) / n
                r = 0.5 * (r + np.einsum("ki,kj->ij", g, g) / m) / (
                    1 + np.linalg.norm(r))
            even = np.einsum("ki,kj->ij", mom, g)
            w, q = np.linalg.eigh(l + 1e-3 * np.eye(m))
            for state, want in (("l", l), ("r", r),
                                ("even", (even + even.T) / 2),
                                ("root_l", q @ np.diag(w ** -0.5) @ q.T)):
                error = found[state, name] - want
                self.note(f"{name}.{state}", (2, 2),
                          np.linalg.norm(error) / np.linalg.norm(want), 1e-5)

    def test_what_is_loaded_above_the_diagonal_does_not_count(self):
        for mesh in MESHES[:2]:
            self.assert_same(self.run_on(mesh), self.run_on(mesh, spoil))

    def test_what_is_loaded_below_the_diagonal_counts_on_both_sides(self):
        for mesh in MESHES[:2]:
            loaded = self.run_on(mesh, turn)
            self.assert_same(self.run_on(mesh, turn_both), loaded)
            self.assertNotEqual(loaded["wide"].tobytes(),
                                self.run_on(mesh)["wide"].tobytes())


if __name__ == "__main__":
    main(f"seed {SEED}, {STEPS} steps")
