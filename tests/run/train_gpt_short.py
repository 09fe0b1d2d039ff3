#!/usr/bin/python3
"""A few steps of the trainer: it learns, the mesh does not matter, wrong
arguments are refused.  Argument: the program."""
import subprocess
import sys
import tempfile
import unittest

from train_gpt import Run, largest_difference

PROGRAM = sys.argv.pop(1)
# What is validated is a tenth of the text.
TEXT = dict(data="/usr/share/common-licenses/GPL-3", batch=8)
STEPS = dict(steps=12, eval_every=4, **TEXT)
UNTRAINED = 5.5  # nats; ln 256 is 5.545
LEARNED = 4.5


class Training(unittest.TestCase):
    def check_meshes(self, optimizer):
        one = Run(PROGRAM, optimizer=optimizer, ranks="1x1", **STEPS)
        four = Run(PROGRAM, optimizer=optimizer, ranks="2x2", **STEPS)
        self.assertEqual(len(one.rows), 3)
        self.assertLess(one.validations()[-1], LEARNED)
        self.assertGreater(one.validations()[0], one.validations()[-1])
        self.assertLess(
            largest_difference(one.validations(), four.validations()), 2e-3)

    def test_muon_learns_alike_on_one_and_four_ranks(self):
        self.check_meshes("muon")

    def test_adamw_learns_alike_on_one_and_four_ranks(self):
        self.check_meshes("adamw")

    def test_tiny_rate_leaves_the_loss_where_it_was(self):
        run = Run(PROGRAM, steps=1, lr_muon=1e-9, lr_adamw=1e-9, **TEXT)
        self.assertGreater(run.validations()[-1], UNTRAINED)


class Arguments(unittest.TestCase):
    def status(self, *arguments):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True,
                              text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_wrong_usage(self):
        for arguments in (["--stepz", "3"], ["--steps", "0"], ["--steps"],
                          ["--ranks", "2"], ["--ranks", "97x1"],
                          ["--optimizer", "sgd"], ["--lr-muon", "nan"]):
            code, text = self.status(*arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn("train_gpt:", text)

    def test_help_has_an_example(self):
        code, text = self.status("--help")
        self.assertEqual(code, 0)
        self.assertIn("example: train_gpt", text)

    def test_text_must_be_there_and_long_enough(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"short")
            file.flush()
            self.assertEqual(self.status("--data", file.name)[0], 1)
        self.assertEqual(self.status("--data", "no such file")[0], 1)


if __name__ == "__main__":
    unittest.main()
