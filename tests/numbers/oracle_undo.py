#!/usr/bin/python3
"""Rules that fail although gradients are fine, in generated C: a factorisation
that cannot be, 0 / 0, a rate without bounds.  Where steps are undone all ranks
return one status from that step, all parameters and states have the bits that
they had, and what follows has those of a training without that step.  Where they
are not, a parameter that is not finite is told by all ranks from the next step.

    oracle_undo.py CANZONA LIBCZR.A
"""
import ctypes as ct
import unittest

import numpy as np

import embed
from training import TOOLS, attempted, main

MESHES = ((2, 2), (1, 4))
MATRICES = [f"m{i}" for i in range(8)]
VECTORS = ["e0", "e1"]
POLICIES = ("", "clip norm 1e6", "skip nonfinite", "clip norm 1e6, skip nonfinite",
            "geometry equal")
UNDO = [embed.Options(undo=1, late_device=late) for late in (0, 1)]
NO_UNDO = [None, embed.Options(late_device=1)]

SOURCE = """mesh dp = 1, tp = 1
model failing {
    params %s {
        {%s} : [12/tp, 12]
        {%s} : [10, 12/tp]
    }
}
use %s as matrices on m*
use signs(lr = 0.1) as rest on **
optimizer halves(lr) for [m, n] {
    state mom : f32
    if m == n {
        mom <- 0.9 * mom + grad
        param <- param - lr * solve(cholesky(symmetric(grad)), mom)
    } else {
        param <- grad
    }
}
optimizer signs(lr) for any {
    state mom : f32
    mom <- 0.9 * mom + grad
    param <- param - lr * mom / abs(grad)
}
schedule {
    group %s, grads f32 partial over dp
    %s
}
"""


def source(policy="", dtype="f32", rule="halves(lr = 0.01)"):
    master = "master f32" if dtype == "bf16" else ""
    return SOURCE % (dtype, ", ".join(MATRICES), ", ".join(VECTORS), rule,
                     "4KiB" if "shampoo" in rule else "2KiB",
                     ", ".join(filter(None, (master, policy))))


def fine(name, rank, random):
    """Positive definite where it is square, nowhere zero."""
    n = 12 if name in MATRICES else 10
    grad = 0.1 + random.random((n, 12), np.float32)
    return grad + 20 * np.eye(n, 12, dtype=np.float32)


def bad(tensor):
    """-I is not positive definite, and m / |0| no number."""
    def spoiled(name, rank, random):
        grad = fine(name, rank, random)
        if name == tensor and name in MATRICES:
            grad = -np.eye(12, dtype=np.float32)
        elif name == tensor:
            grad[7, 5] = 0
        return grad
    return spoiled


def nan(name, rank, random):
    return np.full_like(fine(name, rank, random), np.nan)


class Undo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make = lambda mesh, *args: embed.Program(
            *TOOLS, "failing", source(*args), *mesh)
        cls.plain = {(mesh, policy, "f32"): make(mesh, policy)
                     for mesh in MESHES for policy in POLICIES}
        for mesh in MESHES:
            cls.plain[mesh, "", "bf16"] = make(mesh, "", "bf16")
        cls.alone = make((1, 1))
        cls.roots = {mesh: make(mesh, "", "f32", "shampoo(lr = 0.01)")
                     for mesh in MESHES}

    def steps(self, program, grads, options=None, before=None, rates=()):
        """Of each rank, after each step: the status, the sentence, whether it was
        skipped and t, the bits of parameters and states."""
        def one_step(rank, number, grad):
            for name, layout in rank.layouts.items():
                random = np.random.default_rng(MATRICES.index(name) if name
                                               in MATRICES else 99)
                rank.grads[name][...] = grad(name, rank.dp, random)[layout.window()]
            if before:
                before(rank, number)
            return attempted(rank, {"REST_LR": rates[number]} if number < len(rates)
                             else {})

        def body(rank):
            for name in rank.params:
                rank.params[name][...] = (0x3f80 if rank.params[name].dtype
                                          == np.uint16 else 1)
            rank.seal()
            return [one_step(rank, i, grad) for i, grad in enumerate(grads)]
        return program.run(body, options)

    def check_undone(self, ranks, clean, status, words):
        """The second of three steps failed; the clean training has two."""
        for (first, second, third), (once, twice) in zip(ranks, clean):
            self.assertEqual([step[0] for step in (first, second, third)],
                             ["CZR_OK", status, "CZR_OK"])
            self.assertIn(words, second[1])
            self.assertEqual([step[2] for step in (first, second, third)],
                             [(0, 1), (1, 1), (0, 2)])
            self.assertEqual(first[3], once[3])
            self.assertEqual(second[3], once[3])
            self.assertEqual(third[3], twice[3])

    def check_tensors(self, program, tensors):
        """Numbers of the ranks that are said to have failed."""
        clean, found = self.steps(program, [fine] * 2), set()
        for tensor in tensors:
            status = ("CZR_ERR_NOT_POSITIVE" if tensor in MATRICES else
                      "CZR_ERR_PARAM")
            for options in UNDO:
                ranks = self.steps(program, [fine, bad(tensor), fine], options)
                self.check_undone(ranks, clean, status, tensor)
                said = {rank[1][1].split(": ", 1)[1] for rank in ranks}
                self.assertEqual(len(said), 1, said)
                found.add(said.pop().split("on rank ")[1][0])
        return found

    def test_all_ranks_are_as_before_whatever_fails(self):
        for mesh in MESHES:
            found = self.check_tensors(self.plain[mesh, "", "f32"],
                                       MATRICES + VECTORS)
            self.assertEqual(found, set("0123"))

    def test_with_masters_and_with_each_policy(self):
        for (mesh, policy, dtype), program in self.plain.items():
            if (policy, dtype) != ("", "f32"):
                with self.subTest(mesh=mesh, policy=policy, dtype=dtype):
                    self.check_tensors(program, (MATRICES[0], MATRICES[5], "e1"))

    def test_eigenvalues_that_do_not_converge_on_each_rank(self):
        for mesh, program in self.roots.items():
            plant = program.c.czr_testing_fail_eigh
            clean = self.steps(program, [fine] * 2)
            for failing in range(4):
                def before(rank, number):
                    plant(2 if (rank.rank, number) == (failing, 1) else 0)
                for options in UNDO:
                    ranks = self.steps(program, [fine] * 3, options, before)
                    self.check_undone(ranks, clean, "CZR_ERR_NO_CONVERGENCE",
                                      f"on rank {failing}:")

    def test_a_rate_that_overflows_is_undone(self):
        for mesh in MESHES:
            program = self.plain[mesh, "", "f32"]
            clean = self.steps(program, [fine] * 2)
            for options in UNDO:
                ranks = self.steps(program, [fine] * 3, options,
                                   rates=(np.nan, 1e39))
                self.check_undone(ranks, clean, "CZR_ERR_PARAM",
                                  "not finite; the step is undone")

    def test_told_with_the_next_step_where_nothing_is_undone(self):
        for (mesh, policy, dtype), program in self.plain.items():
            for options in NO_UNDO:
                for after in (fine, nan):
                    ranks = self.steps(
                        program, [fine, bad("e1"), after, fine], options)
                    with self.subTest(mesh=mesh, policy=policy, dtype=dtype):
                        self.check_told(ranks)

    def check_told(self, ranks):
        for _, second, third, fourth in ranks:
            self.assertEqual([second[0], third[0], fourth[0]],
                             ["CZR_OK"] + ["CZR_ERR_PARAM"] * 2)
            self.assertIn("e1, on rank", third[1])
            self.assertIn("in update 2", third[1])
            self.assertEqual(second[3], third[3])

    def test_gradients_that_nobody_looks_at(self):
        """What is not finite is told all the same: by the parameter that it makes."""
        tensors = VECTORS
        clean = self.steps(self.alone, [fine] * 2)
        for late in (0, 1):
            look, assume = (embed.Options(late_device=late, assume_finite=n)
                            for n in (0, 1))
            undo = embed.Options(late_device=late, assume_finite=1, undo=1)
            self.assertEqual(self.steps(self.alone, [fine] * 2, assume), clean)
            for tensor in tensors:
                one_nan = lambda name, rank, random: (
                    nan if name == tensor else fine)(name, rank, random)
                grads = [fine, one_nan, fine, fine]
                (_, second, third, _), = self.steps(self.alone, grads, look)
                self.assertEqual((second[0], third[0]), ("CZR_ERR_GRADIENT", "CZR_OK"))
                (_, second, third, fourth), = self.steps(self.alone, grads, assume)
                self.assertEqual([second[0], third[0], fourth[0]],
                                 ["CZR_OK"] + ["CZR_ERR_PARAM"] * 2)
                self.assertIn(f"{tensor}, on rank 0", third[1])
                self.check_undone(self.steps(self.alone, grads[:3], undo), clean,
                                  "CZR_ERR_PARAM", tensor)

    def test_a_plan_that_skips_is_not_assumed_finite(self):
        program = embed.Program(*TOOLS, "failing", source("skip nonfinite"), 1, 1)
        with self.assertRaisesRegex(Exception, "assume_finite"):
            self.steps(program, [fine], embed.Options(assume_finite=1))

    def test_one_rank_alone_asked_to_undo_is_refused(self):
        program = self.plain[MESHES[0], "", "f32"]
        c, opened = program.c, [None] * program.ranks

        def on_rank(world, _):
            rank, engine = c.czr_world_rank(world), ct.c_void_p()
            status = c.czr_open(program.address, world, ct.byref(
                embed.Options(undo=rank == 2)), ct.byref(engine))
            opened[rank] = (c.czr_status_name(status).decode(),
                            c.czr_error(engine).decode())
            c.czr_close(engine)
            return embed.OK
        program.must(c.czr_world_threads_run(program.ranks,
                                             embed.BODY(on_rank), None))
        self.assertEqual({status for status, _ in opened},
                         {"CZR_ERR_MISMATCH"})
        for _, words in opened:
            self.assertIn("ranks 0 and 2 are not asked alike to undo", words)

    def test_a_factorisation_that_fails_poisons_where_nothing_is_undone(self):
        for mesh in MESHES:
            ranks = self.steps(self.plain[mesh, "", "f32"],
                               [fine, bad("m3"), fine])
            for _, second, third in ranks:
                self.assertIn(second[0], ("CZR_ERR_NOT_POSITIVE",
                                          "CZR_ERR_ABORTED"))
                self.assertEqual(second[0], third[0])
                self.assertIn("m3", third[1])


if __name__ == "__main__":
    main("rules that fail")
