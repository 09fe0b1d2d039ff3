#!/usr/bin/python3
"""Edits of printed IR that leave it well-formed and make it compute something
else, or write where nothing is: each is refused, for the reason that it has.

    verify_edits.py CANZONA
"""
import re
import subprocess
import sys
import unittest

CANZONA = None
MUON = """mesh dp = 2, tp = 2
model m() {
    params f32 {
        a : [24/tp, 16]
        b : [16/tp, 24]
        n : [5]
    }
}
use muon(lr = 0.01) as m on a, b
use adamw(lr = 0.01) as r on **
"""
NARROW = MUON.replace("params f32", "params bf16")
TALL = MUON.replace("[24/tp, 16]", "[64/tp, 8]")
# Of one column and of one row, in equal parts on four ranks.
LINES = """mesh dp = 1, tp = 4
model m() {
    params f32 {
        a : [64/tp, 1]
        b : [1, 64/tp]
    }
}
use muon(lr = 0.01, precision = f32) on **
schedule { tp gram }
"""
# Its whole stage takes the largest of the numbers of rows, of which a map makes
# one that has no operand.
EIGEN = """mesh dp = 1, tp = 1
model m() { params f32 { a : [24, 16] } }
use mop(lr = 0.01) on **
"""
CHOICE = """mesh dp = 1, tp = 1
model m() { params f32 { a : [24] } }
optimizer choosing(lr) for any {
    param <- param - lr * where(grad > 0, grad, 0)
}
use choosing(lr = 0.1) on **
"""
STEP = CHOICE.replace("where(grad > 0, grad, 0)", "floor(grad * 0.25)")
CHOICES = """mesh dp = 1, tp = 2
model choices {
    params f32 { w : [6/tp, 4] }
}
optimizer choosing(lr) for [m, n] {
    state mom : f32[m, n] = 0
    mom <- ema(mom, grad, 0.5)
    o = mom / (norm(mom) + 1e-7)
    far = where(norm(grad) > 100, 3, 0.25)
    param <- param - lr * far * (where(o * grad > 0, o, 0) + where(o < 7, o, 2))
}
use choosing(lr = 0.1) on **
"""
FLOOR = EIGEN.replace("mop(lr", "polargrad(lr")
TOLERANT = """mesh dp = 1, tp = 2
model m() { params f32 { a : [24/tp, 16] } }
use muon(lr = 0.01, precision = f32, factor = polar_norm_first) on **
schedule { tolerance 0.05 }
"""
CONSTANT = re.compile(r"arith\.constant ([-+0-9.e]+) : f(?:32|64)$", re.M)


def run(text, *arguments):
    return subprocess.run([CANZONA, *arguments, "-"], input=text, text=True,
                          capture_output=True, check=False)


class Edits(unittest.TestCase):
    plans = {}

    def planned(self, source):
        if source not in self.plans:
            done = run(source, "plan", "--ir")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(run(done.stdout, "verify").returncode, 0)
            self.plans[source] = done.stdout
        return self.plans[source]

    def refuses(self, source, pattern, replacement, reason):
        text = self.planned(source)
        edited, n = re.subn(pattern, replacement, text, count=1, flags=re.S)
        self.assertTrue(n and edited != text, "nothing was edited")
        done = run(edited, "verify")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, f"{reason}.*\\[E0602\\]")

    # ---- sizes and places ----

    def test_a_body_of_another_shape(self):
        self.refuses(MUON, "body = @m.24x16.whole.kernel",
                     "body = @m.16x24.whole.kernel",
                     "stage m.24x16.whole reads a value of another size")

    def test_a_body_of_half_the_size(self):
        text = self.planned(TALL)
        at = text.index("func.func @m.64x8.whole.kernel(")
        end = text.index("\n  }", at)
        body = text[at:end].replace("64x8x", "32x8x").replace("64, 8>", "32, 8>")
        done = run(text[:at] + body + text[end:], "verify")
        self.assertRegex(done.stderr, "stage m.64x8.whole reads a value of "
                         "another size than its space.*E0602")

    def test_an_accumulator_that_lies_nowhere(self):
        self.refuses(MUON, r"(beta = -4[^}]*?offsets = array<i64: \d+), \d+>",
                     r"\1, -1>", "makes of a product's sum what it has no "
                     "accumulator for")

    def test_a_run_of_elements_that_is_transposed(self):
        self.refuses(MUON, r"(body = @m.24x16.before.map0[^}]*out_access = "
                     r"array<i64: )0, 0", r"\g<1>0, 5",
                     "does not go element by element")

    def test_a_map_without_operands_over_another_space(self):
        for space, reason in (("1, 8", "has a space that no matrix of its "
                               "update has"),
                              ("1, 24", "leaves another value")):
            self.refuses(EIGEN, r'("kernel.map"\(\) [^}]*space = array<i64: )1, 16',
                         rf"\g<1>{space}", reason)

    # ---- types ----

    def test_a_master_as_narrow_as_its_parameters(self):
        self.refuses(NARROW, 'master_dtype = "f32"', 'master_dtype = "bf16"',
                     "the stage takes its parameter as f32, which is kept as "
                     "bf16")

    def test_a_master_that_is_wider_than_stages_take_it(self):
        self.refuses(MUON, 'master_dtype = "f32"', 'master_dtype = "f64"',
                     "the stage takes its parameter as f32, which is kept as "
                     "f64")

    # ---- matrices of one row or column, and constants ----

    def test_constants_of_shared_rows_and_columns(self):
        for of in "64x1", "1x64":
            at = f"func.func @muon.{of}.shared4.kernel.*?"
            for number in "beta = -4.775000", "alpha = 2.031500", "beta = 3.444":
                self.refuses(LINES, f"({at}{number})", r"\g<1>7",
                             "leaves another value")

    def test_a_floor_that_only_tiny_norms_reach(self):
        self.refuses(FLOOR, r"(whole.map1\(.*?constant )1.0+e-15", r"\g<1>0.0",
                     "leaves another value")

    def test_a_constant_of_either_side_of_a_choice(self):
        text = self.planned(CHOICES)
        found = [m for m in CONSTANT.finditer(text)
                 if m.start() > text.index(".map")]
        self.assertGreaterEqual(len(found), 8)
        for of in found:
            for by in (-1.0, 1.0):
                done = run(text[:of.start(1)] + f"{float(of[1]) + by:.9e}" +
                           text[of.end(1):], "verify")
                self.assertIn("[E0602]", done.stderr, f"{of[1]} {by:+}")

    def test_a_constant_in_front_of_a_step(self):
        self.refuses(STEP, r"(local.map0\(.*?constant )2.5", r"\g<1>2.6",
                     "leaves another value")

    def test_a_comparison_that_counts_what_is_equal(self):
        self.refuses(CHOICE, r"(local.map0\(.*?arith.cmpf )ogt", r"\g<1>oge",
                     "leaves another value")

    # ---- rounding ----

    def test_a_state_that_is_rounded_on_its_way(self):
        for rule in r"r.any.local.map0", "m.24x16.before.map0":
            text = self.planned(MUON)
            at = text.index(f"func.func private @{rule}(")
            end = text.index("\n  }", at)
            body = text[at:end]
            result = re.search(r"return (%\d+),", body)[1]
            body = body.replace(f"return {result},",
                                f"%r = arith.truncf {result} : f32 to bf16\n"
                                "    %s = arith.extf %r : bf16 to f32\n"
                                "    return %s,")
            done = run(text[:at] + body + text[end:], "verify")
            self.assertRegex(done.stderr, "leaves what is rounded elsewhere in "
                             "mo?m? than.*E0602", rule)

    def test_a_square_that_is_rounded_to_a_type_that_it_exceeds(self):
        # Squares of bf16 have the digits of f32, and another range.
        self.refuses(MUON, r"(m.24x16.whole.map0\(%arg0: bf16\).*?)"
                     r"    return (%\d+) : f64",
                     r"\1    %r = arith.truncf \2 : f64 to f32\n"
                     r"    %s = arith.extf %r : f32 to f64\n"
                     r"    return %s : f64",
                     "leaves what is rounded elsewhere")

    def test_two_states_of_one_name(self):
        done = run(self.planned(MUON).replace('states = ["m", "v"]',
                                              'states = ["m", "m"]', 1), "verify")
        self.assertEqual(done.returncode, 1)
        self.assertIn("two states are called 'm'", done.stderr)

    def test_bf16_that_no_tolerance_admits(self):
        self.assertIn('in_dtypes = ["bf16"]', self.planned(TOLERANT))
        self.refuses(TOLERANT, "tolerance = 5.0+e-02", "tolerance = 0.0",
                     "leaves what is rounded elsewhere")

    def test_bf16_on_its_way_that_does_not_travel(self):
        text = self.planned(TOLERANT)
        at = text.index("func.func private @muon.24x16.whole.map1(")
        end = text.index("\n  }", at)
        body = re.sub(r"return (%\d+) : f32",
                      r"%r = arith.truncf \1 : f32 to bf16\n"
                      r"    %s = arith.extf %r : bf16 to f32\n"
                      r"    return %s : f32", text[at:end])
        self.assertNotEqual(body, text[at:end])
        done = run(text[:at] + body + text[end:], "verify")
        self.assertRegex(done.stderr, "leaves what is rounded elsewhere.*E0602")


if __name__ == "__main__":
    CANZONA = sys.argv.pop(1)
    unittest.main()
