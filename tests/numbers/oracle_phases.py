#!/usr/bin/python3
"""Rules with `first` and `every`, executed on dp x tp ranks beside NumPy in
float64: tests/phases with all arithmetic in f32.

    oracle_phases.py CANZONA LIBCZR.A

Ends with a table of the errors.
"""
import pathlib

import numpy as np

import embed
from formulas import (JORDAN, distance, lazy_muon, lookahead, newton_schulz,
                      seeded_muon, staggered_muon)
from training import TOOLS, Measured, gaussian, main, shapes_of, train

MESHES = [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)]
STEPS = 12
SEED = 40
SOURCES = pathlib.Path(__file__).resolve().parents[1] / "fixtures/phases"


def source(name):
    text = (SOURCES / f"{name}.cz").read_text(encoding="utf-8")
    return text.replace("params bf16", "params f32").replace(
        "jordan)", "jordan, f32)")


def polar(u):
    return newton_schulz(u, JORDAN)


class Phases(Measured):
    @classmethod
    def setUpClass(cls):
        cls.programs = {name: [
            (mesh, embed.Program(*TOOLS, name, source(name), *mesh))
            for mesh in MESHES] for name in ("elements", "matrices", "staggered")}

    def trained(self, program, mesh, hypers, change=lambda grads: grads):
        start, grads, means = gaussian(shapes_of(program), SEED, STEPS,
                                       mesh[0])
        return train(program, start, change(grads), hypers), start, means

    def compare(self, what, mesh, outcome, start, want):
        """Each tensor's move against the formula's, which is a real one."""
        worst = 0
        for name in want:
            self.assertGreater(distance(start[name], want[name]), 1e-3)
            worst = max(worst, distance(outcome.params[name] - start[name],
                                        want[name] - start[name]))
        self.note(what, mesh, worst, 1e-5)

    def test_matrices(self):
        for mesh, program in self.programs["matrices"]:
            outcome, start, means = self.trained(
                program, mesh, {"SEEDED_LR": 0.02, "LAZY_LR": 0.02})
            for group, formula in (
                    ("seeded", lambda p, g: seeded_muon(p, g, 0.02, 0.95,
                                                        polar)),
                    ("lazy", lambda p, g: lazy_muon(p, g, 0.02, 0.95, polar,
                                                    2))):
                want = {name: formula(start[name].astype(float), means[name])
                        for name in start if name.startswith(group)}
                self.assertEqual(len(want), 3)
                self.compare(f"{group} muon", mesh, outcome, start, want)

    # Its place among "layers.{0}.tall", "layers.{0}.wide" and "odd", plus its layer.
    TURNS = {"layers.0.tall": 0, "layers.1.tall": 1, "layers.2.tall": 2,
             "layers.0.wide": 1, "layers.1.wide": 2, "layers.2.wide": 3, "odd": 2}

    def check_staggered(self, what, steps, change):
        for mesh, program in self.programs["staggered"]:
            outcome, start, means = self.trained(
                program, mesh, {"MATRICES_LR": 0.02, "ELEMENTS_LR": 0.1}, change)
            grads = self.clipped(means, steps)
            want = {name: staggered_muon(start[name].astype(float), grads[name],
                                         0.02, 0.95, polar, 4, turn)
                    for name, turn in self.TURNS.items()}
            self.compare(f"staggered muon, {what}", mesh, outcome, start, want)
            for turn in range(4):
                other = staggered_muon(start["odd"].astype(float), grads["odd"],
                                       0.02, 0.95, polar, 4, turn)
                same = distance(other, want["odd"]) < 1e-3
                self.assertEqual(same, turn == self.TURNS["odd"])

    def test_staggered(self):
        self.check_staggered("all steps", range(STEPS), lambda grads: grads)

    def test_a_skipped_step_takes_nobodys_turn(self):
        def spoil(grads):
            for step in (0, 5):
                grads[step] = {name: [g.copy() for g in ranks]
                               for name, ranks in grads[step].items()}
                grads[step]["odd"][-1][3] = np.nan
            return grads
        self.check_staggered("steps 1, 6 skipped", [1, 2, 3, 4, *range(6, STEPS)],
                             spoil)

    def clipped(self, means, steps):
        """Gradients of some steps by name, each step's norm at most 1."""
        out = {name: [] for name in means}
        for step in steps:
            norm = np.sqrt(sum(np.sum(g[step] ** 2) for g in means.values()))
            for name, grads in means.items():
                out[name].append(min(1, 1 / (norm + 1e-6)) * grads[step])
        return out

    def check_elements(self, what, steps, change):
        for mesh, program in self.programs["elements"]:
            outcome, start, means = self.trained(
                program, mesh, {"LOOKAHEAD_LR": 0.1}, change)
            self.assertEqual(outcome.results[-1][2], len(steps))
            grads = self.clipped(means, steps)
            want = {name: lookahead(start[name].astype(float), grads[name],
                                    0.1, 0.9, 0.5, 5) for name in start}
            self.compare(f"lookahead, {what}", mesh, outcome, start, want)

    def test_elements(self):
        self.check_elements("all steps", range(STEPS), lambda grads: grads)

    def test_a_skipped_step_is_no_update(self):
        """Not even the first: the second step is then update 1."""
        def spoil(grads):
            for step in (0, 4, 5):
                grads[step] = {name: [g.copy() for g in ranks]
                               for name, ranks in grads[step].items()}
                grads[step]["vector"][-1][3] = np.nan
            return grads
        self.check_elements("steps 1, 5, 6 skipped",
                            [1, 2, 3, *range(6, STEPS)], spoil)


if __name__ == "__main__":
    main(f"seed {SEED}, {STEPS} steps")
