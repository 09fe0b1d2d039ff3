#!/usr/bin/python3
"""Every optimizer of the library, as a use with its defaults: the bits of one rank
on dp x tp, the plan's counters, and within bounds of its text in float64
(`canzona run --check`).

    library_run.py CANZONA FOLDER DP TP

Also, defaults are those of the formulas in optimizers.py and preconditioners.py,
which were written from the sources apart from ours.
"""
import inspect
import pathlib
import subprocess
import sys
import tempfile

import optimizers
import preconditioners
from optimizers_page import HEADER, formals

CANZONA, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
DP, TP = sys.argv[3:]
STEPS = 11  # soap's first refresh, for which scratch is planned, is at the last
LEAST_DEFAULTS = 40
SHAPES = """
            wide   : [24/tp, 40]
            tall   : [36, 20/tp]
            odd    : [7, 11]"""
# Of what takes roots at the first update: both sides of full rank.
ROOTED = ("shampoo",)
# Else its first step divides rounding errors by themselves.
MORE = {"soap_eo": ", eps = 0.01"}
SQUARES = """
            sharded : [24/tp, 24]
            odd     : [11, 11]"""


def entries():
    """name: its formals."""
    texts = [f.read_text(encoding="utf-8") for f in sorted(FOLDER.glob("*.cz"))]
    return {name: formals(header) for text in texts
            for name, header, *_ in HEADER.findall(text)}


def program(names):
    params = "\n".join(f"        {name} {{"
                       f"{SQUARES if name in ROOTED else SHAPES}\n        }}"
                       for name in names)
    uses = "\n".join(f"use {name}(lr = 0.01{MORE.get(name, '')}) on {name}.**"
                     for name in names)
    return (f"mesh dp = {DP}, tp = {TP}\nmodel library {{\n    params f32 {{\n"
            f"{params}\n    }}\n}}\n{uses}\n")


def run(names):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "library.cz"
        file.write_text(program(names), encoding="utf-8")
        done = subprocess.run([CANZONA, "run", "--check", f"--steps={STEPS}",
                               file], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def defaults(found):
    """(entry, argument, ours, the formula's) of each number that both have."""
    for name, given in found.items():
        formula = (getattr(optimizers, name, None) or
                   getattr(preconditioners, name, None))
        signature = inspect.signature(formula).parameters if formula else {}
        for argument, value in signature.items():
            if isinstance(value.default, float) and given.get(argument):
                yield name, argument, float(given[argument]), value.default


def main():
    found = entries()
    pairs = list(defaults(found))
    wrong = [f"{name}: {argument} is {ours}, the source's {theirs}"
             for name, argument, ours, theirs in pairs if ours != theirs]
    if len(pairs) < LEAST_DEFAULTS:
        wrong.append(f"{len(pairs)} defaults were compared")
    status, said = run(found)
    print(said, "\n".join(wrong), sep="\n")
    print(f"{len(found)} optimizers, {len(pairs)} defaults")
    sys.exit(status or bool(wrong))


if __name__ == "__main__":
    main()
