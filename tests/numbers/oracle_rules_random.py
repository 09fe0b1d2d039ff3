#!/usr/bin/python3
"""Random numbers of rules: their definition once more in NumPy, and what
statistics say of them.  See oracle_rules.py.

    oracle_rules_random.py RULE_TOOL
"""
import math
import sys
import unittest

import numpy as np

import drawn
import oracle_rules

ROWS, COLUMNS = 192, 256
CELLS = ROWS * COLUMNS


def made(expression, turned=False, t=1, seed=0.25, name=(0, 0)):
    """What the expression is, on a matrix that the optimizer sees as
    [ROWS, COLUMNS], stored as it is or transposed."""
    shape = (COLUMNS, ROWS) if turned else (ROWS, COLUMNS)
    rules = oracle_rules.lower(
        "use f(seed) as g on **\noptimizer f(seed) for [m, n] {\n"
        f"param <- {expression}\n}}\n", ROWS, COLUMNS)
    rule = rules["g.{}x{}".format(*shape) + (".t" if turned else "")]
    update, prologue, _ = rule
    zero = np.zeros(shape, np.float32)
    got = update(zero, zero, *prologue(t, 1.0, seed), *name)[0]
    return got.T if turned else got


def defined(*keys, name=(0, 0)):
    """uniform(x, *keys), of f32 keys, from the text of the manual."""
    return drawn.uniform((ROWS, COLUMNS), keys, name)


def correlation(a, b):
    return abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) * math.sqrt(a.size)


class Random(unittest.TestCase):
    def test_numbers_are_those_of_the_manual(self):
        for keys in ((0,), (3,), (3, 1), (-2.5, 7, 1000)):
            text = ", ".join(str(k) for k in keys)
            self.assertTrue(np.array_equal(made(f"uniform(param, {text})"),
                                           defined(*keys)), keys)

    def test_names_make_others(self):
        names = ((1, 0), (0, 1), (12345678, 87654))
        got = [made("uniform(param, 3)", name=n) for n in names]
        for n, u in zip(names, got):
            self.assertTrue(np.array_equal(u, defined(3, name=n)))
            self.assertLess(correlation(u, defined(3)), 4.5)
        self.assertLess(correlation(got[0], got[1]), 4.5)

    def test_keys_of_run_time(self):
        got = made("uniform(param, seed, t)", t=17, seed=1.7)
        self.assertTrue(np.array_equal(got, defined(1.7, 17)))

    def test_a_vector_has_the_numbers_of_its_first_row_or_column(self):
        got = made("0 * param + uniform(sum(grad, 1), 5) "
                   "+ 2 * uniform(sum(grad, 0), 5)")
        want = defined(5)[:, :1] + 2 * defined(5)[:1, :]
        self.assertLess(np.abs(got - want).max(), 1e-6)

    def test_uniform(self):
        u = made("uniform(param, 3)").astype(float)
        self.assertTrue(0 < u.min() < 1e-3 and 1 - 1e-3 < u.max() < 1)
        for power in (1, 2, 3, 4):
            mean, want = np.mean(u ** power), 1 / (power + 1)
            spread = math.sqrt((1 / (2 * power + 1) - want ** 2) / CELLS)
            self.assertLess(abs(mean - want), 4 * spread, power)

    def check_bins(self, u):
        """chi-square of 255 degrees of freedom, five deviations."""
        counts = np.bincount((u * 256).astype(int).ravel(), minlength=256)
        chi = np.sum((counts - u.size / 256) ** 2) / (u.size / 256)
        self.assertLess(abs(chi - 255), 5 * math.sqrt(2 * 255))

    def test_bins(self):
        for key in range(8):
            u = defined(key)
            self.check_bins(u)
            self.check_bins(u * 256 % 1)
            self.check_bins(u * 32768 % 1)

    def test_neighbours_keys_and_steps_have_nothing_in_common(self):
        u = defined(3, 1)
        for other in (defined(4, 1), defined(3, 2), defined(1, 3), defined(3),
                      np.roll(u, 1, 0), np.roll(u, 1, 1), np.roll(u, 16, 0),
                      np.roll(u, 64, 1)):
            self.assertLess(correlation(u, other), 4.5)
            self.assertLess(correlation((u - 0.5) ** 2, (other - 0.5) ** 2), 4.5)
        self.check_bins((u + defined(3, 2)) % 1)
        self.check_bins((u[1:] + u[:-1]) % 1)
        self.check_bins((u[:, 1:] + u[:, :-1]) % 1)

    def test_no_two_rows_are_alike(self):
        u = defined(0)
        self.assertGreater(len(np.unique(u)), CELLS - 2 * CELLS ** 2 / 2 ** 24)
        gram = np.corrcoef(u)
        self.assertLess(np.abs(gram - np.eye(ROWS)).max(), 6 / math.sqrt(COLUMNS))

    def test_normal_is_the_inverse_of_the_distribution(self):
        z, u = made("normal(param, 3, t)", t=5).astype(float), defined(3, 5)
        back = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))(z)
        self.assertLess(np.abs(back - u).max(), 5e-7)
        self.assertLess((np.abs(back - u) / np.minimum(u, 1 - u)).max(), 1e-5)
        for power, want, square in ((1, 0, 1), (2, 1, 3), (3, 0, 15),
                                    (4, 3, 105)):
            spread = math.sqrt((square - want ** 2) / CELLS)
            self.assertLess(abs(np.mean(z ** power) - want), 4 * spread)

    def test_storage_does_not_matter(self):
        for text in ("uniform(param, 3)", "normal(grad, 3)",
                     "uniform(grad', 3)'"):
            self.assertTrue(np.array_equal(made(text, True), made(text)), text)
        self.assertTrue(np.array_equal(made("uniform(param, 3)", True),
                                       defined(3)))


if __name__ == "__main__":
    oracle_rules.TOOL = sys.argv.pop(1)
    unittest.main()
