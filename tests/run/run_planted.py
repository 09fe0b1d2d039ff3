#!/usr/bin/python3
"""`canzona run --check` of Shampoo: first updates agree with the float64
interpreter whatever rounding of L and R does to their roots, of square matrices of
any condition and of singular ones; what is planted in the generated C is noticed,
as text that is replaced before it is compiled.

    run_planted.py CANZONA
"""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

CANZONA = sys.argv.pop(1)
SEEDS, STEPS = range(2, 8), 2
PARAMS = """mesh dp = 1, tp = 1
model planted {
    params f32 {
%s
    }
}
"""
SHAPES = {"square": "[16, 16]", "large": "[48, 48]", "wide": "[12, 20]",
          "turned": "[20, 14] stored transposed"}
USES = {"plain": "shampoo(lr = 0.01)",
        "averaged": "shampoo(lr = 0.01, betas = (0.9, 0.95), graft = true)",
        "halves": "shampoo(lr = 0.01, exponent = -1/2)",
        "newton": "shampoo(lr = 0.01, inverse = coupled_newton, eps = 1e-6)"}
# Copies the source with what is planted, and compiles that.
COMPILER = r"""#!/usr/bin/python3
import json, os, re, sys
pattern, by = json.loads(os.environ["PLANTED"])
source = sys.argv[-1]
with open(source) as file:
    text, n = re.subn(pattern, by, file.read())
if not n:
    sys.exit("nothing to plant")
with open(source, "w") as file:
    file.write(text)
compiler = os.environ["COMPILER"]
os.execvp(compiler, [compiler, *sys.argv[1:]])
"""


def after(call, tensor, factor):
    """A loop behind a call (whose group 2 is a count) that scales what it wrote."""
    return call, rf"\1 for (int i = 0; i < \2; i++) {tensor}[i] *= {factor}f;"


# What is wrong: its use, what replaces what, on which shapes, and what is said.
PLAIN, SQUARES, ROOT = USES["plain"], ["square", "large"], r"state (a|b) of"
MOMENTUM = r"(loop_\d+\((\d+), call->scalars[^;]*, state0, w17\);)"
PLANTED = {
    "exponent": (PLAIN, (r"\{-0\.25,", "{-0.255,"), SHAPES, ROOT),
    "exponent of one": (PLAIN, (r"(\{state4\}, \.parameters = \{)-0\.25",
                                r"\1-0.5"), SHAPES, "state b of"),
    "epsilon": ("shampoo(lr = 0.01, eps = 0.1)", (r" 0\.1\},", " 0.102},"),
                ["square", "wide"], ROOT),
    "what the root is of": (PLAIN, (r"a = w14, \.out", "a = state1, .out"),
                            SQUARES, "state b of"),
    "its scale": (PLAIN, after(r"(loop_\d+\((\d+), state2, [^;]*, w14\);)", "w14",
                               1.002), SQUARES, "state b of"),
    "factor": (PLAIN, after(r"(loop_\d+\(acc0, (\d+), [^;]*, state1\);)",
                            "state1", 1.0002), SHAPES, "state l of"),
    "momentum": (PLAIN, after(MOMENTUM, "state0", 1.0002), SHAPES,
                 "state mom of"),
    "update": (PLAIN, after(MOMENTUM, "w17", 1.001), SHAPES,
               "of its update from"),
}


def program(use, shapes):
    params = "\n".join(f"        {name} : {SHAPES[name]}" for name in shapes)
    return PARAMS % params + f"use {use} as all on **\n"


class Run(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.compiler = os.path.join(self.folder.name, "cc")
        with open(self.compiler, "w") as file:
            file.write(COMPILER)
        os.chmod(self.compiler, stat.S_IRWXU)

    def run_check(self, text, seed, planted):
        """What was said; nothing planted: ('$', '') changes nothing."""
        path = os.path.join(self.folder.name, "planted.cz")
        with open(path, "w") as file:
            file.write(text)
        done = subprocess.run(
            [CANZONA, "run", "--check", f"--steps={STEPS}", f"--seed={seed}",
             path], capture_output=True, text=True, timeout=100,
            env={**os.environ, "CC": self.compiler,
                 "COMPILER": os.environ.get("CC", "cc"),
                 "PLANTED": json.dumps(planted)})
        return done.returncode, done.stdout + done.stderr

    def test_first_updates_agree(self):
        """Before states were handed over, up to 1e-2 of the update, and more."""
        for seed in SEEDS:
            for name, use in USES.items():
                with self.subTest(name, seed=seed):
                    status, said = self.run_check(program(use, SHAPES), seed,
                                                  (r"\Z", ""))
                    self.assertEqual(status, 0, said)
                    self.assertIn(f"{len(SHAPES)} of {len(SHAPES)} rules", said)

    def test_what_is_planted_is_noticed(self):
        for name, (use, planted, shapes, expected) in PLANTED.items():
            for shape in shapes:
                with self.subTest(name, shape=shape):
                    status, said = self.run_check(program(use, [shape]), 1,
                                                  planted)
                    self.assertEqual(status, 1, said)
                    self.assertRegex(said, expected)


if __name__ == "__main__":
    print(f"seeds {list(SEEDS)}, {STEPS} steps")
    unittest.main()
