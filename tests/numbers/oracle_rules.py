#!/usr/bin/python3
"""Rules against formulas: what rule_tool prints is evaluated here, operation
by operation, and compared with updates written in NumPy from the papers.

    oracle_rules.py RULE_TOOL

The evaluator rounds as the types say; it shares nothing with the compiler but
the text of the IR.
"""
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from formulas import (JORDAN, adamw, bf16, distance, muon, newton_schulz, sgd,
                      through_polynomials)

TOOL = None
ROWS, COLUMNS = 24, 40


# ---- numbers ----

def rounded(x, dtype):
    if dtype == "bf16":
        return bf16(x)
    return np.asarray(x, {"f32": np.float32, "f64": np.float64}[dtype])


# ---- an evaluator of the math form ----

UNARY = {"math.sqrt": np.sqrt, "math.absf": np.abs, "math.tanh": np.tanh,
         "math.cos": np.cos, "math.sin": np.sin, "math.exp": np.exp, "math.log": np.log, "math.floor": np.floor,
         "arith.negf": np.negative}
BINARY = {"arith.addf": np.add, "arith.subf": np.subtract,
          "arith.mulf": np.multiply, "arith.divf": np.divide,
          "arith.maximumf": np.maximum, "arith.minimumf": np.minimum,
          "math.powf": np.power, "math.copysign": np.copysign}
COMPARE = {"olt": np.less, "ole": np.less_equal, "ogt": np.greater,
           "oge": np.greater_equal, "oeq": np.equal, "une": np.not_equal}


def hashed(a, b):
    """SplitMix64 of both, as IR.md says; integers below 2^53."""
    x = np.atleast_1d(np.asarray(a, np.float64)).view(np.uint64)
    y = np.atleast_1d(np.asarray(b, np.float64)).view(np.uint64)
    y = y >> np.uint64(28) | y << np.uint64(36)
    x = x + np.uint64(0x9e3779b97f4a7c15) * (y + np.uint64(1))
    for shift, factor in ((30, 0xbf58476d1ce4e5b9), (27, 0x94d049bb133111eb)):
        x = (x ^ x >> np.uint64(shift)) * np.uint64(factor)
    x = (x ^ x >> np.uint64(31)) >> np.uint64(11)
    return x.astype(np.float64).reshape(np.broadcast_shapes(np.shape(a),
                                                            np.shape(b)))


LINE = re.compile(r'(?:(%\w+) = )?"?([\w.]+)"?(.*)')
TYPE = re.compile(r"(?:tensor<((?:\d+x)*)(\w+)>|(\w+))$")


def parse_type(text):
    """"tensor<4x6xf32>" to ((4, 6), "f32"); a scalar has shape ()."""
    dims, element, scalar = TYPE.search(text.strip()).groups()
    if scalar:
        return (), scalar
    return tuple(int(d) for d in dims.split("x")[:-1]), element


class Function:
    def __init__(self, text):
        head, *lines = text.strip().split("\n")
        self.arguments = re.findall(r"(%arg\d+): ([\w<>]+)", head)
        self.lines = [line.strip() for line in lines if line.strip() != "}"]

    def __call__(self, *values):
        names = {name: rounded(value, parse_type(kind)[1])
                 for (name, kind), value in zip(self.arguments, values)}
        assert len(values) == len(self.arguments)
        for line in self.lines:
            result, op, rest = LINE.match(line).groups()
            operands = [names[n] for n in re.findall(r"%\w+", rest)]
            if op == "return":
                return operands
            with np.errstate(all="ignore"):
                names[result] = self.apply(op, rest, operands)
        raise AssertionError("no return")

    def apply(self, op, rest, x):
        shape, dtype = parse_type(rest)
        if op == "canzona.hash":
            return hashed(x[0], x[1])
        if op in UNARY:
            return rounded(UNARY[op](x[0]), dtype)
        if op in BINARY:
            return rounded(BINARY[op](x[0], x[1]), dtype)
        if op in ("arith.extf", "arith.truncf"):
            return rounded(x[0], dtype)
        if op == "arith.cmpf":
            return COMPARE[rest.split(",")[0].strip()](x[0], x[1])
        if op == "arith.select":
            return np.where(x[0], x[1], x[2])
        if op == "arith.constant":
            value = float(re.search(r"(?:dense<)?([-+.\deE]+)", rest).group(1))
            return rounded(np.full(shape, value), dtype)
        if op == "tensor.splat":
            return np.broadcast_to(x[0], shape)
        if op == "linalg.matmul":
            wide = [v.astype(np.float64) for v in x]
            return rounded(wide[0] @ wide[1] + wide[2], dtype)
        if op == "canzona.transpose":
            return x[0].T
        if op == "canzona.index":
            return np.arange(shape[0], dtype=np.float32)
        dims = tuple(int(d) for d in
                     re.search(r"dims = array<i64: ([\d, ]+)>", rest)
                     .group(1).split(","))
        if op == "canzona.reduce":
            return (x[0].max if 'kind = "max"' in rest else x[0].sum)(axis=dims)
        assert op == "canzona.broadcast", op
        return np.broadcast_to(np.expand_dims(x[0], dims), shape)


def lower(source, rows=ROWS, columns=COLUMNS):
    """Rules by symbol: (update, prologue, text of the update)."""
    with tempfile.NamedTemporaryFile("w", suffix=".cz") as file:
        file.write(source)
        file.flush()
        done = subprocess.run([TOOL, file.name, str(rows), str(columns)],
                              stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    texts = dict(re.findall(r"func\.func @([\w.]+)(\(.*?\n  \})", done.stdout,
                            re.S))
    return {name[:-len(".update")]:
            (Function(text), Function(texts[name[:-6] + "prologue"]), text)
            for name, text in texts.items() if name.endswith(".update")}


def steps(rule, param, grads, hypers, clip=1.0, n_states=1):
    """Run a rule over some gradients; the parameter at the end."""
    update, prologue, _ = rule
    states = [np.zeros_like(param) for _ in range(n_states)]
    for t, grad in enumerate(grads, 1):
        scalars = prologue(t, clip, *hypers)
        param, *states = update(grad, param, *states, *scalars)
    return param.astype(np.float64)


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Rules(unittest.TestCase):
    def cases(self, rules, group):
        """The three layouts: (rule, param, grads) stored, and how to turn
        them to what the optimizer sees."""
        for tail, shape, turn in ((f"{ROWS}x{COLUMNS}", (ROWS, COLUMNS), False),
                                  (f"{COLUMNS}x{ROWS}", (COLUMNS, ROWS), False),
                                  (f"{COLUMNS}x{ROWS}.t", (COLUMNS, ROWS),
                                   True)):
            grads = [normal(seed, *shape) for seed in range(1, 4)]
            yield (rules[f"{group}.{tail}"], normal(0, *shape), grads,
                   (lambda x: x.T) if turn else (lambda x: x))

    def check_muon(self, source, polar, bound, clip=1.0):
        for rule, param, grads, turn in self.cases(lower(source), "g"):
            got = steps(rule, param, grads, [1.0, 0.9, 0.1], clip)
            want = muon(turn(param).astype(float),
                        [turn(g).astype(float) for g in grads], 1.0, 0.9, 0.1,
                        polar, clip)
            self.assertLess(distance(turn(got), want), bound)
            self.assertGreater(distance(turn(param), want), 0.1)

    def test_muon_f32(self):
        self.check_muon("use muon(lr, precision = f32) as g on **\n",
                        lambda u: newton_schulz(u, JORDAN), 1e-5)

    def test_muon_clips_first(self):
        # so small that eps in the norm tells the clipped gradient apart
        self.check_muon("use muon(lr, precision = f32) as g on **\n",
                        lambda u: newton_schulz(u, JORDAN), 1e-5, clip=1e-7)

    def test_muon_bf16(self):
        self.check_muon("use muon(lr) as g on **\n",
                        lambda u: newton_schulz(u, JORDAN, bf16), 2e-2)

    def orthogonal(self, arguments, grad, group="g"):
        """What polar made of a gradient; the first step sees it alone."""
        rule = lower(f"use muon(lr, {arguments}) as {group} on **\n")[
            f"{group}.{ROWS}x{COLUMNS}"]
        step = steps(rule, np.zeros_like(grad), [grad], [1.0, 0.0, 0.0])
        return -step / (0.2 * np.sqrt(COLUMNS))

    def test_polar_express_reaches_the_svd(self):
        grad = normal(7, ROWS, COLUMNS)
        u, _, v = np.linalg.svd(grad.astype(float), full_matrices=False)
        o = self.orthogonal("coefficients = polar_express, precision = f32",
                            grad)
        self.assertLess(distance(o, u @ v), 1e-2)

    def test_jordan_keeps_the_bases(self):
        grad = normal(8, ROWS, COLUMNS)
        u, s, v = np.linalg.svd(grad.astype(float), full_matrices=False)
        s = through_polynomials(
            s / (np.linalg.norm(grad.astype(float)) + 1e-7), JORDAN)
        inner = u.T @ self.orthogonal("precision = f32", grad) @ v.T
        self.assertLess(np.abs(inner - np.diag(s)).max(), 1e-4)
        self.assertTrue(np.all((s > 0.6) & (s < 1.3)))

    def test_huge_gradients(self):
        grad = np.float32(1e30) * normal(9, ROWS, COLUMNS)
        self.assertTrue(np.isfinite(self.orthogonal("precision = f32",
                                                    grad)).all())

    def test_zero_gradient(self):
        o = self.orthogonal("precision = f32",
                            np.zeros((ROWS, COLUMNS), np.float32))
        self.assertEqual(np.abs(o).max(), 0)

    def test_muon_transposes_factors_only(self):
        rules = lower("use muon(lr) as g on **\n")
        for _, _, text in rules.values():
            for name in re.findall(r'(%\w+) = "canzona.transpose"', text):
                users = [line for line in text.split("\n")
                         if re.search(re.escape(name) + r"\b", line)][1:]
                self.assertTrue(users)
                self.assertTrue(all("linalg.matmul" in u for u in users))

    def test_adamw(self):
        rule = lower("use adamw(lr) as g on **\n")["g.any"]
        grads = [normal(seed, 500) for seed in range(1, 11)]
        param = normal(0, 500)
        hypers = [1e-3, 0.9, 0.999, 1e-8, 0.01]
        got = steps(rule, param, grads, hypers, n_states=2)
        want = adamw(param.astype(float), [g.astype(float) for g in grads],
                     *hypers)
        self.assertLess(np.abs(got - want).max(), 1e-6)
        self.assertGreater(np.abs(param - want).max(), 1e-3)

    def test_sgd(self):
        for nesterov in (False, True):
            word = str(nesterov).lower()
            rule = lower(f"use sgd(lr, nesterov = {word}) as g on **\n")["g.any"]
            grads = [normal(seed, 500) for seed in range(1, 6)]
            got = steps(rule, normal(0, 500), grads, [0.1, 0.9, 0.01])
            want = sgd(normal(0, 500).astype(float),
                       [g.astype(float) for g in grads], 0.1, 0.9, 0.01,
                       nesterov)
            self.assertLess(np.abs(got - want).max(), 1e-5)

    def check_formula(self, body, formula, defs=""):
        """One written parameter against a formula of (param, grad); the
        hyperparameter lr is one half."""
        source = (f"use f(lr) as g on **\n{defs}"
                  f"optimizer f(lr) for [m, n] {{\n{body}\n}}\n")
        for rule, param, grads, turn in self.cases(lower(source), "g"):
            got = turn(steps(rule, param, grads[:1], [0.5], n_states=0))
            want = formula(turn(param).astype(float),
                           turn(grads[0]).astype(float))
            self.assertLess(distance(got, want), 1e-6)

    def test_row_and_column_means(self):
        self.check_formula(
            "r = mean(grad * grad, 1)\nc = mean(grad * grad, 0)\n"
            "param <- param - lr * grad / sqrt(r * c / mean(r, 0))",
            lambda p, g: p - 0.5 * g / np.sqrt(
                np.outer((g ** 2).mean(1), (g ** 2).mean(0))
                / (g ** 2).mean()))

    def test_norms(self):
        self.check_formula(
            "param <- param / norm(param) + grad / norm(grad, 0) "
            "+ norm(grad, 1) * grad",
            lambda p, g: p / np.linalg.norm(p) + g / np.linalg.norm(g, axis=0)
            + np.linalg.norm(g, axis=1)[:, None] * g)

    def test_choices(self):
        self.check_formula(
            "param <- where(grad' > 0, grad', param')' "
            "+ where(lr > 1, grad, -grad) + sign(grad) + max(min(grad, 1), lr)",
            lambda p, g: np.where(g > 0, g, p) - g + np.sign(g)
            + np.maximum(np.minimum(g, 1), 0.5))

    def test_products_of_every_layout(self):
        self.check_formula(
            "a = (param' @ grad)'\nb = lr * grad @ a' @ param' @ grad\n"
            "param <- (param @ a - b) / norm(b)",
            lambda p, g: (p @ (p.T @ g).T - 0.5 * g @ (p.T @ g) @ p.T @ g)
            / np.linalg.norm(0.5 * g @ (p.T @ g) @ p.T @ g))

    def test_scalars_scale_the_product(self):
        self.check_formula(
            "param <- grad * lr @ grad' / 2 * lr @ param / norm(grad)",
            lambda p, g: 0.125 * g @ g.T @ p / np.linalg.norm(g))

    def test_wide_turns_all_it_returns(self):
        self.check_formula(
            "(y, g) = pair(grad, mean(param, 1))\n"
            "param <- y + where(norm(g) > lr, param, grad)",
            lambda p, g: p + (g + p.mean(1, keepdims=True)),
            defs="def pair(x, v) wide { return (x + v, (x * v) @ x') }\n")

    def test_numbers_choose_too(self):
        self.check_formula(
            "a = where(lr < 1, min(lr, t), 7)\n"
            "b = where(lr > 1, exp(lr), log(lr) - floor(1.5) * abs(-lr))\n"
            "param <- a * grad - b * param",
            lambda p, g: 0.5 * g - (np.log(0.5) - 0.5) * p)

    def test_angles(self):
        self.check_formula(
            "param <- cos(grad) - lr * sin(3 * param) + sin(lr)",
            lambda p, g: np.cos(g) - 0.5 * np.sin(3 * p) + np.sin(0.5))

    def test_a_rate_that_falls_as_a_cosine(self):
        self.check_formula(
            "rate = lr * 0.5 * (1 + cos(pi * min(t / 8, 1)))\n"
            "param <- param - rate * grad",
            lambda p, g: p - 0.25 * (1 + np.cos(np.pi / 8)) * g)

    def test_rows_by_number(self):
        def formula(_, x):
            for i, rate in enumerate((0.5, 2, 3, 0.5, 2)):
                x = (i + 1) * rate * x + 2 + i
            return x / np.linalg.norm(x)

        self.check_formula(
            "x = grad\nfor i in 0..5 {\n"
            "x = (i + 1) * rates[i] * x + rows[1][0] + i\n}\n"
            "param <- x / norm(x)", formula,
            defs="table rates = [0.5, 2, 3] then cycle\n"
                 "table rows = [(1, 4), (2, 5)]\n")

    def test_a_step_counts_from_one(self):
        self.check_formula("param <- grad * (lr^t + 2^-1) + param ^ 2",
                           lambda p, g: g * (0.5 + 0.5) + p ** 2)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
