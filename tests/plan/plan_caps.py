#!/usr/bin/python3
"""Caps that no plan keeps: exit status 3, the reason, and the least change that
helps.  Each change that is named is made: with it there is a plan of which every
figure is computed again; with one byte less there is none.

    plan_caps.py CANZONA
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import check_plan
import plan_numbers
import plan_schema
import plan_times

HERE = pathlib.Path(__file__).resolve().parent
PLANNED, REFUSED = 0, 3

SOURCE = """mesh {mesh}
model caps(d = 64) {{ params bf16 {{
embed : [256/tp, d]
h[i < 3] {{ up : [4*d/tp, d]
down : [d, 4*d/tp]
norm : [d] }}
}} }}
use muon(lr) as matrices on h.*.{{up, down}}
use adamw(lr) as rest on **
schedule {{ {cap} }}
"""

# (name, mesh, cap that is too small, what is said besides)
CASES = [
    ("a matrix above the cap", "dp = 2, tp = 4", "group 1KiB", "h.0.up"),
    ("a matrix just above the cap", "dp = 2, tp = 8", "group 65535B", "65.54 kB"),
    ("no memory", "dp = 2, tp = 4", "memory 1", "scratch"),
    ("a rank above its memory", "dp = 3, tp = 2", "memory 100KiB", "state"),
    ("memory of one rank", "dp = 1", "memory 64KiB", "grad"),
]


# Plans that are slower than the fastest, and take less memory: of micro-groups,
# and of states.
STEERED = {
    "micro-groups": """mesh dp = 2, tp = 4
model m(d = 256) { params bf16 {
h[i < 16] { up : [4*d/tp, d]
down : [d, 4*d/tp] }
} }
use muon(lr) as matrices on **
schedule { tp owner%s }
""",
    "states": """mesh dp = 3
model m(d = 64) { params f32 {
x[i < 5] { w : [256, 512] }
y[i < 4] { w : [320, 2368] }
z[i < 5] { w : [192, 2304] }
} }
use muon(lr) as matrices on **
machine other from notes { launch = 0.0 }
machine other
schedule { strict, bucket 10M%s }
"""}


class Tool:
    def __init__(self, canzona, folder):
        self.canzona, self.path = canzona, pathlib.Path(folder) / "caps.cz"
        text = (HERE / "plan.schema.json").read_text()
        self.validator = plan_schema.Validator(plan_schema.parse(text))

    def plan(self, mesh, cap, options=()):
        """Status, what it said, complaints about a plan."""
        return self.plan_text(SOURCE.format(mesh=mesh, cap=cap), options)

    def plan_text(self, text, options=()):
        self.path.write_text(text)
        done = subprocess.run(
            [self.canzona, "plan", "--json", *options, self.path],
            capture_output=True, check=False, timeout=60)
        found = (check_plan.check_text(done.stdout.decode(), self.validator)
                 if done.returncode == PLANNED else [])
        self.data = plan_schema.parse(done.stdout.decode() or "{}")
        return done.returncode, done.stderr.decode(), found

    def times_one_by_one(self):
        return plan_times.times_one_by_one(plan_numbers.Plan(self.data))

    def memory(self):
        """Bytes of the fullest rank of the last plan."""
        kinds = self.data["metrics"]["memory_bytes"]
        return max(map(sum, zip(*kinds.values())))


def check_cap(tool, mesh, word, size):
    status, said, found = tool.plan(mesh, f"{word} {size}B")
    if status != PLANNED or found:
        yield f"{word} {size}B does not help: {said} {found[:3]}"
    status, said, _ = tool.plan(mesh, f"{word} {size - 1}B")
    if status != REFUSED or f"`{word} {size}B`" not in said:
        yield f"one byte less is no refusal that says so: {status}, {said}"


def check_group(tool, mesh, cap, options):
    """Sharing by as many ranks as is said helps, by half as many does not."""
    status, said, found = tool.plan(mesh, cap, options)
    if status != PLANNED or found:
        yield f"{options} does not help: {said} {found[:3]}"
    n = int(options[-1].split("=")[1])
    fewer = [*options[:-1], f"tp_subgroup={n // 2}"]
    if n > 2 and tool.plan(mesh, cap, fewer)[0] != REFUSED:
        yield f"{fewer} is enough"


def check_case(tool, mesh, cap, word):
    status, said, _ = tool.plan(mesh, cap)
    named = re.search(r"at least `(\w+) (\d+)B`", said)
    if status != REFUSED or word not in said or not named:
        yield f"status {status}: {said}"
        return
    yield from check_cap(tool, mesh, named[1], int(named[2]))
    shared = re.search(r"`(-D tp_strategy=gram -D tp_subgroup=\d+)`", said)
    if shared:
        yield from check_group(tool, mesh, cap, shared[1].split())


def check_steered(tool, source):
    """With a byte less than the fastest plan has there is another one, down to
    what a refusal names.  With a cap, and where a plan is strict, matrices are computed
    one by one."""
    tool.plan_text(source % "")
    fastest, times = tool.memory(), tool.times_one_by_one()
    tool.plan_text(source % f", memory {fastest}B")
    if any(abs(a - b) > plan_times.rounding(tool.data)
           for a, b in zip(tool.data["metrics"]["time_ps"], times)):
        yield f"memory {fastest}B, which the fastest plan takes, costs time"
    status, said, found = tool.plan_text(source % f", memory {fastest - 1}B")
    if status != PLANNED or found or tool.memory() >= fastest:
        yield f"memory {fastest - 1}B: {said} {found[:3]}"
        return
    _, said, _ = tool.plan_text(source % ", memory 1")
    least = int(re.search(r"at least `memory (\d+)B`", said)[1])
    status, said, _ = tool.plan_text(source % f", memory {least}B")
    if status != PLANNED or tool.memory() != least or least >= fastest:
        yield f"memory {least}B: {said}"


def main(canzona):
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(canzona, folder)
        found = [f"{name}: {m}" for name, *case in CASES
                 for m in check_case(tool, *case)]
        found += [f"{name}: {m}" for name, source in STEERED.items()
                  for m in check_steered(tool, source)]
    print("\n".join(found) or f"plan_caps: {len(CASES)} cases as told")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
