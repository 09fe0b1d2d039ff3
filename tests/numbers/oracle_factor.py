#!/usr/bin/python3
"""Executed factorisations against NumPy in float64, on dp x tp ranks: what they
give, at sizes around LAPACK's blocks and on clustered and rank-deficient
spectra; and the status that each rank ends with where there is nothing to give.

    oracle_factor.py CANZONA LIBCZR.A

Ends with a table of the errors.
"""
import numpy as np

import embed
from training import TOOLS, MESHES, Measured, build, main, shapes_of, train

SIZES = (1, 2, 3, 17, 64, 129)
RULES = {
    "vectors": "(w, q) = eigh(a)\n    param <- q",
    "values": "(w, q) = eigh(a)\n    param <- q * transpose(w)",
    "orthogonal": "(q, r) = qr(a)\n    param <- q",
    "triangle": "(q, r) = qr(a)\n    param <- r",
    "lower": "param <- cholesky(a)",
    "solved": "l = cholesky(a)\n    param <- solve(l', solve(l, grad))",
    "above": "param <- solve(triu(grad), a)",
    "below": "param <- solve(triu(grad)', a)",
    "fourth": "param <- root(a, -1/4, 1e-3)",
    "inverse": "param <- root(a, -1, 0)",
    "newton": "param <- newton_root(a, -1/4, 1e-3)",
    "newton_third": "param <- newton_root(a, -1/3, 0, 1e-6, 200)",
}
DEFINITE = ("lower", "solved", "inverse", "above", "below", "newton_third")
POWERS = {"fourth": (-1 / 4, 1e-3), "inverse": (-1, 0), "newton": (-1 / 4, 1e-3),
          "newton_third": (-1 / 3, 0)}
SPECTRA = {
    "spread": lambda n: 1 + np.arange(n) / max(n - 1, 1),
    "clustered": lambda n: 1 + np.arange(n) % 3 + 1e-6 * np.arange(n) / n,
    "deficient": lambda n: np.where(np.arange(n) < n // 2, 0, 1 + np.arange(n) % 5),
}


def source():
    names = "\n".join(f"        {{{', '.join(RULES)}}}.n{n} : [{n}, {n}]"
                      for n in SIZES)
    names += f"\n        {{{', '.join(RULES)}}}.turned : [33, 33] stored transposed"
    uses = "\n".join(f"use {name}_rule() as {name} on {name}.**" for name in RULES)
    rules = "\n".join(f"""optimizer {name}_rule() for [m, n] {{
    if m == n {{
    a = symmetric(grad)
    {body}
    }} else {{
    param <- grad
    }}
}}""" for name, body in RULES.items())
    return (f"mesh dp = 1, tp = 1\nmodel factors {{\n    params f32 {{\n{names}\n"
            f"    }}\n}}\n{uses}\n{rules}\nschedule {{ grads f32 reduced }}\n")


FAILING = """mesh dp = 2, tp = 2
model failing {
    params f32 {
        first  : [8/tp, 8]
        second : [6/tp, 6]
    }
}
use halves(lr = 0.1) on **
optimizer halves(lr) for [m, n] {
    if m == n {
        param <- param - lr * %s
    } else {
        param <- grad
    }
}
def quotient(x) {
    (q, r) = qr(x)
    return solve(r, x)
}
schedule { grads f32 reduced }
"""


def symmetric(n, spectrum, random):
    q, _ = np.linalg.qr(random.standard_normal((n, n)))
    a = (q * spectrum(n)) @ q.T
    return ((a + a.T) / 2).astype(np.float32)


def relative(got, want):
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), 1e-30)


def error_of(name, got, a):
    """How far a result is from what defines it, in parts of n * 2^-23."""
    n = len(a)
    got, a = got.astype(float), a.astype(float)
    one, unit = np.eye(n), n * 2.0 ** -23
    w, q = np.linalg.eigh(a)
    if name == "vectors":
        d = got.T @ a @ got
        off = relative(d - np.diag(np.diag(d)) + a, a)
        assert np.all(np.diff(np.diag(d)) >= -unit * abs(w).max() * 8)
        return max(relative(got.T @ got, one), off) / unit
    if name == "values":
        return relative(np.linalg.norm(got, axis=0), abs(w)) / unit
    if name in ("orthogonal", "triangle"):
        x, r = np.linalg.qr(a)
        signs = np.where(np.diag(r) < 0, -1, 1)
        rank = np.linalg.matrix_rank(a, tol=1e-4)
        if rank < n:  # the rest of the basis is anyone's
            return relative(got.T @ got, one if name == "orthogonal" else
                            a.T @ a) / unit
        want = x * signs if name == "orthogonal" else signs[:, None] * r
        return relative(got, want) / unit
    if name == "lower":
        return relative(got, np.linalg.cholesky(a)) / unit
    if name == "solved":
        return relative(got, one) / unit
    if name in ("above", "below"):
        half = np.triu(a) if name == "above" else np.triu(a).T
        return relative(got, np.linalg.solve(half, a)) / unit
    p, eps = POWERS[name]
    lift = eps - min(w[0], 0)
    # the shift itself is known to rounding of the largest eigenvalue
    return relative(got, (q * (w + lift) ** p) @ q.T) / (
        unit * max(1, abs(w).max() / (w[0] + lift) * abs(p)))


class Factors(Measured):
    @classmethod
    def setUpClass(cls):
        cls.programs = build("factors", source())

    def check(self, mesh, kind, options=None, more=""):
        random = np.random.default_rng(7)
        program = self.programs[mesh]
        shapes = shapes_of(program)
        names = {name: symmetric(shape[0], SPECTRA[kind if name.split(".")[0]
                                                    not in DEFINITE else "spread"],
                                 random) for name, shape in shapes.items()}
        start = {name: np.zeros_like(a) for name, a in names.items()}
        grads = [{name: [a] * mesh[0] for name, a in names.items()}]
        outcome = train(program, start, grads, {}, options)
        for rule in RULES:
            seen = {name: value.T if name.endswith("turned") else value
                    for name, value in outcome.params.items()
                    if name.startswith(rule + ".")}
            worst = max(error_of(rule, value, names[name])
                        for name, value in seen.items())
            self.note(f"{rule}, {kind}{more}, parts of n 2^-23", mesh, worst, 3)

    def test_spectra(self):
        for mesh in MESHES:
            for kind in SPECTRA:
                self.check(mesh, kind)

    def test_own_product_late(self):
        self.check((2, 2), "spread", embed.Options(
            late_device=1, fixed_order_product=1), ", own product, late")


class Failures(Measured):
    def statuses(self, expression, grad):
        """Of each rank: status, and its sentence."""
        program = embed.Program(*TOOLS, "failing", FAILING % expression, 2, 2)

        def body(rank):
            for name, layout in rank.layouts.items():
                rank.params[name][...] = 1
                n = layout.globe[0]
                rank.grads[name][...] = grad(n, name)[layout.window()]
            rank.seal()
            status, said, _ = rank.attempt({})
            assert rank.attempt({})[0] == status
            return status, said
        return program.run(body)

    def check(self, expression, grad, name, tensor):
        found = self.statuses(expression, grad)
        self.assertIn(name, [status for status, _ in found])
        for status, why in found:
            self.assertIn(status, (name, "CZR_ERR_ABORTED"))
            self.assertIn(tensor, why)

    def test_indefinite(self):
        grad = lambda n, name: (np.eye(n) if name == "first" else
                                -np.eye(n)).astype(np.float32)
        self.check("cholesky(symmetric(grad))", grad, "CZR_ERR_NOT_POSITIVE",
                   "second")
        for root in ("root", "newton_root"):
            self.check(f"{root}(symmetric(grad), -1/2, 1e-6)", grad,
                       "CZR_ERR_NOT_POSITIVE", "second")

    def test_no_convergence(self):
        grad = lambda n, name: np.diag(
            np.float32([1] + (n - 1) * [1 if name == "first" else 1e-6]))
        self.check("newton_root(symmetric(grad), -1/2, 0, 1e-6, 9)", grad,
                   "CZR_ERR_NO_CONVERGENCE", "second")

    def test_not_finite(self):
        def grad(n, name):
            a = np.eye(n, dtype=np.float32)
            a[0, n - 1] = -1 if name == "first" else 0
            return a
        self.check("root(symmetric(grad + (grad - grad) / (grad + 1)), -1/2, 1e-6)",
                   grad, "CZR_ERR_NOT_FINITE", "first")

    def test_singular(self):
        grad = lambda n, name: np.full((n, n), name == "first", np.float32) + \
            np.eye(n, dtype=np.float32) * (name == "first")
        self.check("quotient(grad)", grad, "CZR_ERR_SINGULAR", "second")

    def test_noise_below_zero_does_not_fail(self):
        """The least eigenvalue is rounding of the largest; eps is lost beside
        both."""
        def grad(n, name):
            v = np.random.default_rng(n).standard_normal((n, 1))
            return np.float32(1e12 * v @ v.T)
        found = self.statuses("root(symmetric(grad), -1/4, 1e-12)", grad)
        self.assertEqual({status for status, _ in found}, {"CZR_OK"})

    def test_zeros_do_not_fail(self):
        found = self.statuses("root(symmetric(grad), -1/4, 1e-12)",
                              lambda n, name: np.zeros((n, n), np.float32))
        self.assertEqual({status for status, _ in found}, {"CZR_OK"})


if __name__ == "__main__":
    main("factorisations against float64")
