#!/usr/bin/python3
"""A training that is interrupted: states, masters and parameters are saved by their
pointers, another engine gets them and t, and goes on bit by bit.  Weights that are
loaded into a sealed engine are what it trains.

    oracle_restart.py CANZONA LIBCZR.A
"""
import unittest

import numpy as np

import embed
from training import TOOLS, decode, encode, main

STEPS = 10
OPTIONS = (None, embed.Options(late_device=1))

# Corrections of Adam's, phases that begin at t, keys that have t, masters.
SOURCE = """mesh dp = 1, tp = 1
model restarted {
    params %s {
        adam   : [17, 9]
        polar  : [24/tp, 16]
        phased : [16, 24/tp]
        noisy  : [12, 20/tp]
    }
}
optimizer noisy(lr = 0.01) for [m, n] {
    state mom : f32
    mom <- ema(mom, grad, 0.9)
    param <- param - lr * (mom + 0.1 * normal(grad, 3, t))
}
use adamw(lr = 0.01) as adam on adam
use muon(lr = 0.01) as polar on polar
use soap(lr = 0.01) as phased on phased
use noisy() as noisy on noisy
schedule {
    grads f32 partial over dp
    %s
}
"""


def bits(rank):
    """Parameters, states and masters, copied."""
    return ([array.copy() for array in rank.params.values()],
            [values for *_, values in rank.states()],
            [values.copy() for _, values in rank.lent_masters()])


def start(rank):
    for name, layout in rank.layouts.items():
        random = np.random.default_rng(len(name))
        shape = tuple(layout.globe[:layout.n_dims])
        rank.params[name][...] = encode(
            random.standard_normal(shape)[layout.window()], layout.param_dtype)


def steps(rank, first, end):
    for number in range(first, end):
        for name, layout in rank.layouts.items():
            random = np.random.default_rng((number, len(name), rank.dp))
            shape = tuple(layout.globe[:layout.n_dims])
            rank.grads[name][...] = encode(
                random.standard_normal(shape)[layout.window()],
                layout.grad_dtype)
        assert rank.step({}).step == number + 1
    return bits(rank)


class Restart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make = lambda mesh, *args: embed.Program(
            *TOOLS, "restarted", SOURCE % args, *mesh)
        cls.bf16 = make((2, 2), "bf16", "master f32")
        cls.f32 = make((3, 1), "f32", "")

    def assert_same(self, found, expected):
        for of_rank, of_other in zip(found, expected, strict=True):
            for arrays, others in zip(of_rank, of_other, strict=True):
                self.assertEqual([a.tobytes() for a in arrays],
                                 [a.tobytes() for a in others])

    def test_ten_steps_and_ten_are_twenty(self):
        def whole(rank):
            start(rank)
            rank.seal()
            return steps(rank, 0, 2 * STEPS)

        def half(rank):
            start(rank)
            rank.seal()
            return rank.rank, steps(rank, 0, STEPS)

        def rest(rank):
            params, states, masters = saved[rank.rank]
            for array, values in zip(rank.params.values(), params):
                array[...] = values
            rank.seal()
            for (*_, lent), values in zip(rank.lent_states(), states):
                lent[...] = values
            for (_, lent), values in zip(rank.lent_masters(), masters):
                lent[...] = values
            rank.must(rank.c.czr_step_set(rank.engine, STEPS))
            return steps(rank, STEPS, 2 * STEPS)
        for program in (self.bf16, self.f32):
            for options in OPTIONS:
                saved = dict(program.run(half, options))
                self.assert_same(program.run(rest, options),
                                 program.run(whole, options))

    def test_weights_loaded_after_seal_are_not_undone_by_masters(self):
        def before(rank):
            start(rank)
            rank.seal()
            return steps(rank, 0, 2)

        def behind(rank):
            rank.seal()
            start(rank)
            return steps(rank, 0, 2)

        def later(rank):
            rank.seal()
            states = [values for *_, values in rank.states()]
            steps(rank, 0, 2)
            start(rank)
            for (*_, lent), values in zip(rank.lent_states(), states):
                lent[...] = values
            rank.must(rank.c.czr_step_set(rank.engine, 0))
            rank.must(rank.c.czr_masters_renew(rank.engine))
            return steps(rank, 0, 2)
        for program in (self.bf16, self.f32):
            for options in OPTIONS:
                expected = program.run(before, options)
                self.assert_same(program.run(behind, options), expected)
                self.assert_same(program.run(later, options), expected)

    def test_masters_are_the_parameters_before_they_are_rounded(self):
        def body(rank):
            start(rank)
            rank.seal()
            steps(rank, 0, 1)
            differ = 0
            for name, master in rank.lent_masters():
                param = decode(rank.params[name]).ravel()
                near = np.isin(decode(encode(master, embed.BF16)), param)
                assert near.all(), name
                differ += (decode(encode(master, embed.BF16)) != master).sum()
            return differ
        self.assertGreater(sum(self.bf16.run(body)), 0)

    def test_a_step_that_cannot_be_set_is_refused(self):
        def body(rank):
            rank.seal()
            return [rank.c.czr_step_set(rank.engine, step)
                    for step in (-1, 1 << 53, (1 << 53) - 1)]
        for found in self.f32.run(body):
            self.assertEqual(found, [embed.ERR_ARGUMENT] * 2 + [embed.OK])


if __name__ == "__main__":
    main("restarts")
