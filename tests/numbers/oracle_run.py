#!/usr/bin/python3
"""Executed updates against formulas: generated C, driven as a trainer drives
it (embed.py), beside NumPy in float64 (formulas.py), on dp x tp ranks.

    oracle_run.py CANZONA LIBCZR.A

Ends with a table of the errors.
"""
import numpy as np

import embed
from formulas import JORDAN, adamw, bf16, distance, muon, newton_schulz, sgd
from training import (MESHES, SHAPES, Measured, build, gaussian, main, moved,
                      shapes_of, train)

SEED = 20
RULES = f"""mesh dp = 1, tp = 1
model rules {{
    params f32 {{
        {{exact, half, adamw, sgd, nesterov}} {{{SHAPES}
        }}
        {{adamw, sgd, nesterov}}.vector : [38/tp]
        {{adamw, sgd}}.bias : [7]
        {{exact, half}}.large : [256/tp, 160]
    }}
}}
use muon(lr, precision = f32)                       as exact    on exact.**
use muon(lr)                                        as half     on half.**
use adamw(lr)                                       as adamw    on adamw.**
use sgd(lr)                                         as sgd      on sgd.**
use sgd(lr, nesterov = true)                        as nesterov on nesterov.**
"""
LR = {"EXACT_LR": 0.02, "HALF_LR": 0.02, "ADAMW_LR": 1e-3, "SGD_LR": 0.05,
      "SGD_DECAY": 0.01, "NESTEROV_LR": 0.05, "NESTEROV_DECAY": 0.01}
GUARDED = """mesh dp = 1, tp = 1
model guarded {
    params f32 {
        matrix : [48, 24/tp]
        odd    : [9, 5]
        plain.matrix : [16/tp, 12]
        plain.vector : [21]
    }
}
use sgd(lr, momentum = 0) as sgd on plain.**
use adamw(lr)             as adamw on odd
use muon(lr)              as muon on **
schedule { clip norm 1.0, skip nonfinite }
"""
STORED = """mesh dp = 1, tp = 1
model stored {
    params %s {
        muon.matrix  : [48, 24/tp]
        muon.odd     : [11, 13]
        adamw.matrix : [16/tp, 12]
        adamw.vector : [21]
    }
}
use muon(lr)  as muon on muon.**
use adamw(lr) as adamw on **
"""
# Gradients of two types, in place, loose, and of fused storage.
NARROW = """mesh dp = 1, tp = 1
model narrow {
    params f32 {
        matrix : [48, 24/tp]
        odd    : [9, 5]
        vector : [21]
        fused  : [40/tp, 12] blocks 5 { a = 3, b = 5 }
        wide   : [16/tp, 12]
        both   : [24, 40/tp] stored transposed blocks 4 { a = 6, b = 4 }
    }
}
use muon(lr)              as muon on odd, both where rows == 24
use sgd(lr, momentum = 0) as sgd  on **
schedule {
    grads bf16 partial over dp
    grads f32 partial over dp on wide
}
"""


class Oracle(Measured):
    @classmethod
    def setUpClass(cls):
        cls.rules = build("rules", RULES)
        cls.guarded = build("guarded", GUARDED)
        cls.stored = build("stored", STORED % "bf16")
        cls.narrow = build("narrow", NARROW)
        cls.wide = build("stored", STORED % "f32")

    def trained(self, mesh, n_steps, hypers=None, spread=0.02, options=None):
        program = self.rules[mesh]
        data = gaussian(shapes_of(program), SEED, n_steps, mesh[0],
                        spread=spread)
        return train(program, data[0], data[1], {**LR, **(hypers or {})},
                     options), data

    def group_error(self, outcome, data, group, formula, error):
        """The worst error of a group's tensors; each has to have moved."""
        start, _, means = data
        names = [n for n in start if n.startswith(group + ".")]
        self.assertGreaterEqual(len(names), 6)
        worst = 0
        for name in names:
            want = formula(start[name].astype(float), means[name])
            self.assertGreater(distance(start[name], want), 1e-3)
            worst = max(worst, error(outcome.params[name], want, start[name]))
        return worst

    # ---- rules ----

    def check_muon(self, group, cast, bound, what, options=None):
        update = lambda got, want, start: distance(moved(got, start),
                                                   moved(want, start))
        for mesh in MESHES:
            for n_steps, decay in ((1, 0.1), (6, 0.1), (6, 2.0)):
                hypers = {f"{group.upper()}_DECAY": decay}
                outcome, data = self.trained(mesh, n_steps, hypers=hypers,
                                             options=options)
                worst = self.group_error(
                    outcome, data, group, lambda p, g: muon(
                        p, g, 0.02, 0.95, decay,
                        lambda u: newton_schulz(u, JORDAN, cast)), update)
                self.note(f"muon {what}, {n_steps} step(s), decay {decay}",
                          mesh, worst, bound)

    def test_muon_f32(self):
        self.check_muon("exact", lambda x: x, 1e-5, "f32")

    def test_muon_f32_own_product(self):
        self.check_muon("exact", lambda x: x, 1e-5, "f32, own product, late",
                        embed.Options(late_device=1, fixed_order_product=1))

    def test_muon_bf16(self):
        self.check_muon("half", bf16, 2e-2, "bf16")

    def test_momentum(self):
        for mesh in MESHES:
            outcome, (start, _, means) = self.trained(mesh, 4)
            worst = 0
            for name in (n for n in start if n.startswith("exact.")):
                mom = 0
                for grad in means[name]:
                    mom = 0.95 * mom + 0.05 * grad
                worst = max(worst, distance(outcome.states[name, "mom"], mom))
            self.note("muon's state after 4 steps", mesh, worst, 1e-6)

    def test_adamw(self):
        error = lambda got, want, _: np.abs(got - want).max()
        for mesh in MESHES:
            outcome, data = self.trained(mesh, 10, spread=1)
            self.note("adamw after 10 steps, largest", mesh, self.group_error(
                outcome, data, "adamw", lambda p, g: adamw(
                    p, g, 1e-3, 0.9, 0.999, 1e-8, 0.01), error), 1e-6)

    def test_sgd(self):
        error = lambda got, want, _: distance(got, want)
        for mesh in MESHES:
            outcome, data = self.trained(mesh, 10, spread=1)
            for group in ("sgd", "nesterov"):
                self.note(f"{group} after 10 steps", mesh, self.group_error(
                    outcome, data, group, lambda p, g: sgd(
                        p, g, 0.05, 0.9, 0.01, group == "nesterov"), error),
                    1e-6)

    # ---- clip and skip ----

    def guarded_run(self, mesh, n_steps, spoil=None, scale=1.0):
        program = self.guarded[mesh]
        data = gaussian(shapes_of(program), SEED + 1, n_steps, mesh[0], scale)
        if spoil:
            data = (data[0], spoil(data[1]), data[2])
        hypers = {"SGD_LR": 1.0, "ADAMW_LR": 1e-2, "MUON_LR": 1e-2}
        return train(program, data[0], data[1], hypers), data

    def test_clip(self):
        for mesh in MESHES:
            for scale in (1.0, 1e-3):
                outcome, (start, _, means) = self.guarded_run(mesh, 1,
                                                              scale=scale)
                norm = np.sqrt(sum(np.sum(g[0] ** 2) for g in means.values()))
                got = outcome.results[0][0]
                self.note(f"gradient norm, {norm:.3g}", mesh,
                          abs(got - norm) / norm, 1e-6)
                clip = min(1, 1 / (norm + 1e-6))
                self.assertEqual(clip < 1, scale == 1.0)
                plain = [n for n in start if n.startswith("plain.")]
                worst = max(distance(moved(outcome.params[n], start[n]),
                                     -clip * means[n][0]) for n in plain)
                self.note(f"gradient times clip, {clip:.3g}", mesh, worst,
                          5e-6)

    def spoilers(self):
        """Non-finite elements of one rank's gradient, each at another step."""
        for value, name, at in ((np.nan, "odd", (8, 4)),
                                (np.inf, "plain.vector", (20,)),
                                (-np.inf, "matrix", (0, 23))):
            def spoil(grads):
                bad = {n: [g.copy() for g in gs] for n, gs in grads[1].items()}
                bad[name][-1][at] = value
                return [grads[0], bad, *grads[1:]]
            yield f"{value} in {name}", spoil

    def test_skip(self):
        for mesh in MESHES:
            plain, _ = self.guarded_run(mesh, 3)
            for what, spoil in self.spoilers():
                first, _ = self.guarded_run(mesh, 1)
                bad, _ = self.guarded_run(mesh, 3, lambda g: spoil(g)[:2])
                whole, _ = self.guarded_run(mesh, 3, spoil)
                self.assertEqual([r[1:] for r in bad.results],
                                 [(0, 1), (1, 1)], what)
                self.assertEqual([r[1:] for r in whole.results],
                                 [(0, 1), (1, 1), (0, 2), (0, 3)], what)
                self.assertFalse(np.isfinite(bad.results[1][0]), what)
                self.assertEqual(self.difference(bad, first), 0, what)
                self.note(f"skip: {what}, then as if never seen", mesh,
                          self.difference(whole, plain), 0)
                self.assertGreater(self.difference(plain, first), 0)

    def difference(self, a, b):
        """The largest, over all parameters and states."""
        both = {**a.params, **a.states}, {**b.params, **b.states}
        self.assertEqual(both[0].keys(), both[1].keys())
        return max(np.abs(both[0][k] - both[1][k]).max() for k in both[0])

    # ---- gradients in bf16 ----

    def test_bf16_gradients_are_summed_in_f32(self):
        for mesh in MESHES:
            start, grads, means = gaussian(shapes_of(self.narrow[mesh]),
                                           SEED + 3, 1, mesh[0])
            got = train(self.narrow[mesh], start, grads, {
                "SGD_LR": 1.0, "SGD_DECAY": 0.0, "MUON_LR": 1e-2}).params
            for name in ("matrix", "vector", "fused", "wide"):
                arrive = [g if name == "wide" else bf16(g)
                          for g in grads[0][name]]
                mean = np.mean([g.astype(float) for g in arrive], axis=0)
                there = moved(got[name], start[name])
                self.note(f"mean of bf16 gradients, {name}", mesh,
                          distance(there, -mean), 1e-6)
                apart = distance(there, -means[name][0])
                if name != "wide":
                    self.note(f"their rounding shows, {name}", mesh, apart,
                              5e-4, ">=")

    # ---- parameters in bf16 ----

    def test_stored_is_the_rounded_master(self):
        hypers = {"MUON_LR": 0.02, "ADAMW_LR": 1e-3}
        for mesh in MESHES:
            start, grads, means = gaussian(shapes_of(self.stored[mesh]),
                                           SEED + 2, 8, mesh[0])
            start = {name: bf16(value) for name, value in start.items()}
            got = train(self.stored[mesh], start, grads, hypers).params
            master = train(self.wide[mesh], start, grads, hypers).params
            self.note("bf16 parameter less rounded f32 parameter", mesh,
                      max(np.abs(got[n] - bf16(master[n])).max() for n in got),
                      0)
            self.assertGreater(max(np.abs(got[n] - master[n]).max()
                                   for n in got), 0)
            names = [n for n in got if n.startswith("adamw.")]
            want = {n: adamw(start[n].astype(float), means[n], 1e-3, 0.9,
                             0.999, 1e-8, 0.01) for n in names}
            self.note("bf16 adamw in units of rounding", mesh,
                      max((np.abs(got[n] - want[n])
                           / np.abs(want[n]) * 256).max() for n in names),
                      1.01)


if __name__ == "__main__":
    main(f"seed {SEED}")
