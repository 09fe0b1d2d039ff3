#!/usr/bin/python3
"""Strict sums of CUDA: what ranks that share a matrix make of their parts, added up
as a tree, has the bits of the one rank that has all of it.

    elementwise_parts.py CANZONA CXX SHAPES SEED

Another order of the tree, planted, must be noticed."""
import pathlib
import re
import subprocess
import sys
import tempfile

import elementwise

HEADER = elementwise.ROOT / "runtime/cuda/kernels" / "elementwise.cuh"
SOUND = "sums[i] = sums[2 * i] + sums[2 * i + 1]"
PLANTED = "sums[i] = sums[i] + sums[n + i]"
SOURCE = elementwise.ROOT / "tests/gpu/kernels/shared.cz"
PARTS = 8


def bodies(loop):
    return {n for k in loop.kernels for n in re.findall(r"\bbody_(\d+)\(", k.body)}


def is_sum(loop):
    """One matrix, and its sum."""
    return ([a.name for a in loop.arguments] == ["x0", "y0"] and
            [verb for k in loop.kernels for _, verb, _ in k.finish]
            == ["sum_parts"])


def n_parts(loop):
    return loop.kernels[0].finish[0][2]


def pairs(found, n_ranks):
    """(whole, part, number of ranks, by columns) as in pair_of_loops."""
    sums = [loop for loop in found if is_sum(loop)]
    for whole in sums:
        by_columns = whole.parts()[1] > 1
        for part in sums:
            alike = (n_parts(part) == 1 or
                     (part.parts()[1] > 1) == by_columns)
            if (n_parts(whole) == PARTS and n_parts(part) * n_ranks == PARTS
                    and alike and bodies(whole) == bodies(part)):
                yield found.index(whole), found.index(part), n_ranks, by_columns


def test(canzona, cxx, n_ranks, arguments, first):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        stem, found = elementwise.build(
            canzona, ["--strict", "-D", f"mesh.tp={n_ranks}", "-D",
                      "tp_strategy=gram"], SOURCE, folder)
        table = list(pairs(found, n_ranks))
        if {by_columns for *_, by_columns in table} != {False, True}:
            sys.exit(f"{n_ranks} ranks: no sums of rows, or none of columns")
        rows = "".join(f"    {{{w}, {p}, {n}, {int(c)}}},\n"
                       for w, p, n, c in table)
        more = (f"static const pair_of_loops pairs[] = {{\n{rows}}};\n"
                "static int test_all(int argc, char **argv)\n{\n"
                f"    return test_parts(argc, argv, pairs, {len(table)});\n}}\n")
        program = elementwise.compile_test(cxx, stem, found, folder, first,
                                           test="test_all", more=more)
        return subprocess.run([program, *arguments], check=False).returncode


def main():
    canzona, cxx = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    arguments = sys.argv[3:5]
    if any(test(canzona, cxx, n, arguments, "") for n in (2, 8)):
        sys.exit("sums of parts are not the sum")
    with tempfile.TemporaryDirectory() as planted:
        text = HEADER.read_text()
        if SOUND not in text:
            sys.exit(f"elementwise.cuh no longer has: {SOUND}")
        (pathlib.Path(planted) / HEADER.name).write_text(
            text.replace(SOUND, PLANTED))
        if not test(canzona, cxx, 2, arguments, planted):
            sys.exit("another order of the tree is not noticed")


if __name__ == "__main__":
    main()
