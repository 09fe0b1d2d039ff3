#!/usr/bin/python3
"""Rules that ask where an element stands, against NumPy: see oracle_rules.py.

    oracle_rules_index.py RULE_TOOL
"""
import sys
import unittest

import numpy as np

import oracle_rules
from formulas import distance


class Index(unittest.TestCase):
    cases = oracle_rules.Rules.cases

    def check(self, body, formula):
        oracle_rules.Rules.check_formula(self, body, formula)

    def test_rows_and_columns(self):
        self.check("param <- lr * row(param) + param * column(grad) + "
                   "row(grad')' * grad - column(param')'",
                   lambda p, g: 0.5 * np.arange(len(p))[:, None]
                   + p * np.arange(p.shape[1]) + np.arange(p.shape[1]) * g
                   - np.arange(len(p))[:, None])

    def test_a_row_of_a_vector_is_its_own(self):
        self.check("v = sum(grad, 1)\nw = sum(grad, 0)\n"
                   "param <- param + v * row(v) + column(v) + row(w) "
                   "- w * column(w)",
                   lambda p, g: p + (g.sum(1) * np.arange(len(p)))[:, None]
                   - g.sum(0) * np.arange(p.shape[1]))

    def test_numbers_of_no_tensor(self):
        self.check("param <- param * iota(m) + grad * sum(iota(floor(1.5 * n) - n))",
                   lambda p, g: p * np.arange(len(p))[:, None]
                   + g * sum(range(p.shape[1] // 2)))

    def test_triangles(self):
        self.check("param <- triu(param) - lr * tril(grad)",
                   lambda p, g: np.triu(p) - 0.5 * np.tril(g))

    def test_diagonals(self):
        self.check("s = grad @ param'\n"
                   "param <- diag(s) * param + diagonal(diag(s)) @ grad "
                   "- eye(s) @ param + eye(grad)",
                   lambda p, g: np.diag(g @ p.T)[:, None] * (p + g) - p
                   + np.eye(*p.shape))

    def test_traces(self):
        self.check("param <- param * trace(grad @ param') / trace(grad @ grad')",
                   lambda p, g: p * np.sum(g * p) / np.sum(g ** 2))

    def test_extremes(self):
        self.check("param <- grad / largest(abs(grad), 1) + param * least(grad) "
                   "- largest(param, 0) + least(param', 0)' + largest(grad)",
                   lambda p, g: g / np.abs(g).max(1, keepdims=True)
                   + p * g.min() - p.max(0) + p.min(1, keepdims=True)
                   + g.max())

    def test_nan_is_the_largest_and_the_least(self):
        rule = oracle_rules.lower(
            "use f(lr) as g on **\noptimizer f(lr) for [m, n] {\n"
            "param <- 0 * param + largest(grad, 1) + least(grad, 0)\n}\n")
        rule = rule[f"g.{oracle_rules.ROWS}x{oracle_rules.COLUMNS}"]
        grad = oracle_rules.normal(5, oracle_rules.ROWS, oracle_rules.COLUMNS)
        grad[3, 7] = np.nan
        got = oracle_rules.steps(rule, np.zeros_like(grad), [grad], [1.0],
                                 n_states=0)
        gone = np.zeros(grad.shape, bool)
        gone[3, :] = gone[:, 7] = True
        self.assertTrue(np.array_equal(np.isnan(got), gone))

    def check_order(self, body, formula):
        self.check("v = floor(2 * sum(grad, 1))\n"
                   "v = where(row(v) == 3, (v - v) / (v - v), v)\n"
                   "v = where(row(v) > 7, -v, v)\n" + body,
                   lambda p, g: formula(p, g, self.unordered(g)))

    def unordered(self, grad):
        """Many ties, and one NaN."""
        v = np.floor(2 * grad.sum(1))
        v[3] = np.nan
        v[8:] *= -1
        self.assertLess(len(np.unique(v)), len(v))
        return v

    def test_argsort(self):
        self.check_order(
            "param <- 0 * param + argsort(v) + lr * argsort(v, true)",
            lambda p, g, v: 0 * p
            + (np.argsort(v, kind="stable")
               + 0.5 * np.argsort(-v, kind="stable"))[:, None])

    def test_gather(self):
        self.check_order("param <- gather(param, argsort(v))",
                         lambda p, g, v: p[np.argsort(v, kind="stable")])

    def test_the_largest_rows_and_back(self):
        def kept(p, v):
            rows = np.argsort(-v, kind="stable")[:-(-len(v) // 4)]
            out = np.zeros_like(p)
            out[rows] = p[rows]
            return out
        self.check_order("s = largest_rows(v, ceil(m / 4))\n"
                         "param <- scatter(gather(param, s), s, param) + grad",
                         lambda p, g, v: kept(p, v) + g)

    def test_top_k(self):
        def largest(v, k):
            mask = np.zeros(len(v))
            mask[np.argsort(-v, kind="stable")[:k]] = 1
            return mask[:, None]
        self.check_order("param <- top_k(v, 5) * param + grad",
                         lambda p, g, v: largest(v, 5) * p + g)

    def test_behind_a_symmetric_product(self):
        self.check("s = triu(grad @ grad')\nparam <- s @ param",
                   lambda p, g: np.triu(g @ g.T) @ p)


if __name__ == "__main__":
    oracle_rules.TOOL = sys.argv.pop(1)
    unittest.main()
