#!/usr/bin/python3
"""Gradients that rules cannot compute with, given to generated C: one status, or
one skipped step, on all ranks, and nothing written.

    oracle_guard.py CANZONA LIBCZR.A

How large they may be is found out besides: rules that square gradients end at
2^54, all others at 2^108, and with all elements just below nothing overflows.
"""
import unittest

import numpy as np

import embed
from training import TOOLS, attempted, main

MESH = (2, 2)
# Of each rule: what a use says, and the power of two below which gradients stay.
RULES = {"muon": ("muon(lr = 0.02)", 108), "sgd": ("sgd(lr = 0.1)", 108),
         "lion": ("lion(lr = 0.01)", 108), "adamw": ("adamw(lr = 0.01)", 54),
         "adafactor": ("adafactor(lr = 0.01)", 54), "namo": ("namo(lr = 0.02)", 54),
         "shampoo": ("shampoo(lr = 0.01)", 54), "soap": ("soap(lr = 0.01)", 54)}
LATE = embed.Options(late_device=1)


def source(schedule):
    params = "\n".join(f"        {name} {{ a : [12/tp, 8]\n b : [9, 10/tp] }}"
                       for name in RULES) + "\nadamw.copied : [9, 7]"
    uses = "\n".join(f"use {text} as {name} on {name}.**"
                     for name, (text, _) in RULES.items())
    return (f"mesh dp = 1, tp = 1\nmodel guarded {{\n    params bf16 {{\n{params}\n"
            f"    }}\n}}\n{uses}\nschedule {{\n    master f32\n{schedule}\n}}\n")


class Guard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = {
            policy: embed.Program(*TOOLS, "guarded", source(policy), *MESH)
            for policy in ("grads f32 partial over dp", "skip nonfinite",
                           "clip norm 1.0", "clip norm 1.0, skip nonfinite",
                           "grads f32 partial over dp sum")}

    def steps(self, policy, spoils, options=None):
        """Of each rank, after each step: the status, the sentence, the result,
        and the bits of all parameters and states, which are finite."""
        program = self.programs[policy]

        def one_step(rank, spoil):
            for name, layout in rank.layouts.items():
                size = tuple(layout.globe[:layout.n_dims])
                grad = spoil(name, rank, np.random.default_rng(
                    len(name)).standard_normal(size).astype(np.float32))
                rank.grads[name][...] = grad[layout.window()]
            found = attempted(rank, {})
            self.assertTrue(all(np.isfinite(np.frombuffer(bits, np.float32)).all()
                                for bits in found[3]))
            return found

        def body(rank):
            for name in rank.params:
                rank.params[name][...] = 0x3f80
            rank.seal()
            return [one_step(rank, spoil) for spoil in spoils]
        return program.run(body, options)

    def spoiled(self, name, value, at=(5, 3), dp=1, tps=(0, 1)):
        def spoil(tensor, rank, grad):
            if tensor == name and rank.dp == dp and rank.tp in tps:
                grad[at] = value
            return grad
        return spoil

    def bad_gradients(self):
        for value in (np.nan, np.inf, -np.inf):
            yield "sgd.b", value
        for name, (_, power) in RULES.items():
            yield f"{name}.a", np.float32(2.0 ** (power + 1))

    def check_refused(self, policy, bad, options=None):
        fine = lambda tensor, rank, grad: grad
        for name, value in bad:
            ranks = self.steps(policy, [fine, self.spoiled(name, value), fine],
                               options)
            found = [words for _, (_, words, *_), _ in ranks]
            with self.subTest(policy=policy, name=name, value=value):
                self.assertTrue(any(name in words for words in found) or
                                policy == "clip norm 1.0", found)
                for first, second, third in ranks:
                    self.assertEqual([first[0], second[0], third[0]],
                                     ["CZR_OK", "CZR_ERR_GRADIENT", "CZR_OK"])
                    self.assertEqual([first[2], second[2], third[2]],
                                     [(0, 1), (1, 1), (0, 2)])
                    self.assertEqual(first[3], second[3])
                    self.assertNotEqual(second[3], third[3])

    def test_one_bad_element_on_one_rank(self):
        for options in (None, LATE):
            self.check_refused("grads f32 partial over dp",
                               self.bad_gradients(), options)

    def test_not_finite_where_a_norm_clips(self):
        self.check_refused("clip norm 1.0", list(self.bad_gradients())[:3])

    def test_skipped_where_that_is_the_policy(self):
        fine = lambda tensor, rank, grad: grad
        for policy in ("skip nonfinite", "clip norm 1.0, skip nonfinite"):
            bad = list(self.bad_gradients())
            for name, value in bad if policy[0] == "s" else bad[:3]:
                ranks = self.steps(policy, [fine, self.spoiled(name, value)])
                for first, second in ranks:
                    self.assertEqual(second[0], "CZR_OK")
                    self.assertEqual(second[2], (1, 1), (policy, name, value))
                    self.assertEqual(first[3], second[3])

    def test_a_copy_of_a_gradient_that_the_norm_does_not_count(self):
        """One rank's alone is not finite, of those that tp replicates."""
        fine = lambda tensor, rank, grad: grad
        for policy in ("clip norm 1.0", "clip norm 1.0, skip nonfinite"):
            status = "CZR_OK" if "skip" in policy else "CZR_ERR_GRADIENT"
            for tp in (0, 1):
                for options in (None, LATE):
                    bad = self.spoiled("adamw.copied", np.nan, tps=(tp,))
                    for first, second, third in self.steps(
                            policy, [fine, bad, fine], options):
                        self.assertEqual(second[0], status, (policy, tp))
                        self.assertEqual(second[2], (1, 1))
                        self.assertEqual(first[3], second[3])
                        self.assertEqual((third[0], third[2]), ("CZR_OK", (0, 2)))

    def test_clipped_gradients_may_be_large(self):
        large = self.spoiled("adamw.a", np.float32(1e30))
        for steps in self.steps("clip norm 1.0", [large] * 2):
            self.assertEqual([step[0] for step in steps], ["CZR_OK"] * 2)

    def test_all_elements_just_below(self):
        """Twenty updates overflow nothing, of one sign and of any."""
        for sign in (np.abs, np.sign, lambda grad: grad):
            def large(tensor, rank, grad):
                power = RULES[tensor.split(".")[0]][1]
                unit = sign(grad) / np.abs(sign(grad)).max()
                return np.float32(unit * (1 - 2.0 ** -20) * 2.0 ** power)
            for steps in self.steps("grads f32 partial over dp", [large] * 20):
                self.assertEqual({step[:2] for step in steps}, {("CZR_OK", "")})
    
    def test_small_gradients_are_no_failure(self):
        for scale in (1e-36, 1e-44):
            small = lambda tensor, rank, grad: np.float32(grad * scale)
            for steps in self.steps("grads f32 partial over dp", [small] * 5):
                self.assertEqual({step[:2] for step in steps}, {("CZR_OK", "")})
    
    def test_a_sum_of_ranks_may_be_too_large(self):
        """Neither rank's gradient is."""
        half = lambda tensor, rank, grad: np.where(
            tensor == "adamw.b", np.float32(0.75 * 2.0 ** 54), grad)
        for (step,) in self.steps("grads f32 partial over dp sum", [half]):
            self.assertEqual(step[0], "CZR_ERR_GRADIENT")


if __name__ == "__main__":
    main("gradients out of range")
