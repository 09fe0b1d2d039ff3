#!/usr/bin/python3
"""Plans at the edges: one rank, primes, a mesh larger than the work, stages
without parameters, 100,000 parameters.  Each gives a plan of which every figure
is computed again, or is refused with the reason and the nearest change that
helps; within 4 s of processor time and 512 MB.

    plan_edge.py CANZONA [WORD]     (only the cases whose name has WORD)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import check_plan
import plan_schema

HERE = pathlib.Path(__file__).resolve().parent
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LIMIT_S = 4.0
LIMIT_BYTES = 512 << 20
PLANNED, ERRORS, REFUSED = 0, 1, 3

RULES = """use muon(lr) as matrices on **.w
use adamw(lr) as rest on **
schedule { clip norm 1.0, skip nonfinite %s }
"""


def model(mesh, params, more=""):
    return f"{mesh}\nmodel edge() {{ params bf16 {{\n{params}\n}} }}\n" + (
        RULES % more)


def gpt(mesh):
    lines = (EXAMPLES / "gpt.cz").read_text().splitlines()
    return "\n".join(mesh if line.startswith("mesh ") else line
                     for line in lines) + "\n"


def layers(n, what, by=""):
    return f"h[i < {n}{by}] {{\n{what}\n}}"


MATRIX, VECTOR = "w : [16, 16]", "v : [16]"
PRIME = "w : [91/tp, 26]\nv : [143]"
STAGED = "embed : [64, 16] stage first\n" + layers(6, f"{MATRIX}\n{VECTOR}", "/pp")
EXPERTS = layers(15, "w : [14, 6]", "/ep") + f"\n{VECTOR}"

# (name, source, exit status, what a refusal must say)
CASES = [
    ("one rank", gpt("mesh dp = 1"), PLANNED, []),
    ("one rank, every axis named",
     gpt("mesh pp = 1, dp = 1, cp = 1, tp = 1"), PLANNED, []),
    ("one number", model("mesh dp = 1", "w : [1, 1]"), PLANNED, []),
    ("vectors alone", model("mesh dp = 5", "v : [7]").replace(
        "use muon(lr) as matrices on **.w\n", ""), PLANNED, []),
    ("a prime of ranks", gpt("mesh dp = 97"), PLANNED, []),
    ("primes on both axes", model("mesh dp = 11, tp = 13", layers(5, PRIME)),
     PLANNED, []),
    ("a prime that does not divide", gpt("mesh dp = 2, tp = 7"), ERRORS,
     ["cannot be cut by tp = 7", "the nearest size that works is tp = 8"]),
    ("primes of experts",
     model("mesh dp = 15\nmesh experts edp = 5, ep = 3", EXPERTS), PLANNED, []),
    ("more ranks than matrices", gpt("mesh dp = 64, tp = 4"), PLANNED, []),
    ("more ranks than elements", model("mesh dp = 512", layers(
        3, "w : [1, 1]\nv : [1]")), PLANNED, []),
    ("a mesh larger than the work", gpt("mesh dp = 1024, tp = 4"), PLANNED, []),
    ("more ranks than are possible", gpt("mesh dp = 1048583"), ERRORS,
     ["1048583", "at most 1048576 is possible"]),
    ("stages without parameters", model(
        "mesh pp = 4, dp = 3", STAGED, ", pipeline (3, 0, 3, 0)"), PLANNED, []),
    ("all parameters on the last stage", model(
        "mesh pp = 3, dp = 2", layers(6, MATRIX, "/pp"),
        ", pipeline (0, 0, 6)"), PLANNED, []),
    ("layers that stages do not divide", model(
        "mesh pp = 4, dp = 2", layers(6, MATRIX, "/pp")), ERRORS,
     ["cannot be dealt out evenly to pp = 4", "write `pipeline (2, 2, 1, 1)`"]),
    ("100,000 parameters", model("mesh dp = 4", layers(
        50_000, f"{MATRIX}\n{VECTOR}")), PLANNED, []),
    ("20,000 parameters on 64 ranks", model("mesh dp = 32, tp = 2", layers(
        10_000, f"w : [16/tp, 16]\n{VECTOR}")), PLANNED, []),
    ("a bucket for each of 4,000 matrices", model("mesh dp = 2, tp = 2", layers(
        4_000, "w : [8/tp, 8]"), ", bucket 1"), PLANNED, []),
    ("a bucket for each of 5,000 matrices", model("mesh dp = 2, tp = 2", layers(
        5_000, "w : [8/tp, 8]"), ", bucket 1"), ERRORS,
     ["at most 4096 buckets", "5000", "a larger `bucket`"]),
]


def run(canzona, path):
    """Status, what it printed and said, seconds, bytes."""
    command = [canzona, "plan", "--json", path]
    with tempfile.TemporaryFile() as said, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=said) as process:
        printed = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        return (process.returncode, printed, said.read().decode(),
                usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def complaints(case, done, validator):
    _, _, expected, words = case
    status, printed, said, _, _ = done
    if status != expected:
        yield f"status {status}, expected {expected}: {said[:500]}"
    elif status == PLANNED:
        yield from check_plan.check_text(printed, validator)[:5]
    else:
        yield from (f"does not say '{w}': {said}" for w in words if w not in said)
    if status != PLANNED and printed:
        yield "prints a plan that is none"


def excess(done, is_sanitized):
    _, _, _, seconds, size = done
    if seconds > LIMIT_S and not is_sanitized:
        yield f"{seconds:.2f} s, more than {LIMIT_S}"
    if size > LIMIT_BYTES and not is_sanitized:
        yield f"{size >> 20} MiB, more than {LIMIT_BYTES >> 20}"


def main(canzona, word=""):
    schema = plan_schema.parse((HERE / "plan.schema.json").read_text())
    validator = plan_schema.Validator(schema)
    is_sanitized = b"__asan_init" in pathlib.Path(canzona).read_bytes()
    cases = [case for case in CASES if word in case[0]]
    found, every = [], []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "edge.cz"
        for case in cases:  # a child's peak is at least what we hold then
            path.write_text(case[1])
            every.append(run(canzona, path))
    for case, done in zip(cases, every):
        found += [f"{case[0]}: {m}" for m in (
            *complaints(case, done, validator), *excess(done, is_sanitized))]
    print("\n".join(found) or f"plan_edge: {len(cases)} cases as told")
    return 1 if found or not cases else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
