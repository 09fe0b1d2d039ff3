#!/usr/bin/python3
"""One wrong number on one rank of 4096 is found, whichever rank, table and
column it is in, and the rank that is named is that one or one of its row.

    verify_large.py CANZONA SEED N
"""
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIZES = [512, 8]  # dp, tp
SOURCE = ["-D", "mesh.dp=512", "-D", "mesh.tp=8", ROOT / "examples/qwen3-32b.cz"]
# Columns in which any other number is wrong (runtime/abi.def), and their number.
WIDTH = {"kernel": 8, "transfer": 14, "sum": 7, "span": 3}
FATAL = {"kernel": {"offset": 2, "count": 3},
         "transfer": {"peer": 2, "row_bytes": 5, "phases": 7, "n_members": 9,
                      "n_peers": 11},
         "sum": {"offset": 1, "count": 2},
         "span": {"offset": 1, "count": 2}}
TABLE = re.compile(r'row = "(\w+)", rows = array<i64: ([-\d, ]+)>, selector = '
                   r'array<i64: ([\d, ]+)>, starts = array<i64: ([\d, ]+)>')
NAMED = re.compile(r"operation \d+ \(\w+\) on rank (\d+), .*\[E0602\]")


def numbers(text):
    return [int(x) for x in text.split(",")]


def coordinate(axes, rank):
    position = dict(enumerate(divmod(rank, SIZES[1])))
    result = 0
    for axis in axes:
        result = result * SIZES[axis] + position[axis]
    return result


class Mutant:
    """A number of one coordinate's rows, changed by one."""

    def __init__(self, text, rng, tables):
        table = rng.choice(tables)
        kind, rows = table.group(1), numbers(table.group(2))
        self.axes, starts = numbers(table.group(3)), numbers(table.group(4))
        row = rng.randrange(starts[-1])
        self.at = max(c for c, start in enumerate(starts[:-1]) if start <= row)
        column = rng.choice(sorted(FATAL[kind]))
        place = row * WIDTH[kind] + FATAL[kind][column]
        rows[place] += -1 if rows[place] > 1 else 1
        self.name = f"{kind} {column} at {self.at} over axes {self.axes}"
        self.text = (text[:table.start(2)] + ", ".join(map(str, rows))
                     + text[table.end(2):])

    def complaint(self, canzona):
        done = subprocess.run([canzona, "verify", "-"], input=self.text,
                              text=True, capture_output=True, check=False,
                              timeout=120)
        named = NAMED.search(done.stderr)
        if done.returncode != 1 or not named:
            return f"{self.name}: status {done.returncode}: {done.stderr[:300]}"
        rank = int(named.group(1))
        others = range(rank - rank % SIZES[1], rank - rank % SIZES[1] + SIZES[1])
        if self.at not in {coordinate(self.axes, r) for r in others}:
            return f"{self.name}: {named.group(0)}"
        return None


def main(canzona, seed, n):
    text = subprocess.run([canzona, "plan", "--ir", *SOURCE], text=True,
                          capture_output=True, check=True).stdout
    tables = list(TABLE.finditer(text))
    if {table.group(1) for table in tables} != set(WIDTH):
        sys.exit("the plan has not all kinds of rows")
    rng = random.Random(int(seed))
    mutants = [Mutant(text, rng, tables) for _ in range(int(n))]
    found = [m for m in (mutant.complaint(canzona) for mutant in mutants) if m]
    print("\n".join(found) or f"verify_large: seed {seed}, {n} mutants found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
