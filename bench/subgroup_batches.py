#!/usr/bin/python3
"""Prints what no plan could be below if there were batches: matrices and parts of
them in batches of 1, 2, 4, 8 and 16, bytes on the wire at most 1.05 of those of whole
matrices, micro-groups of at most 1 GiB.

    subgroup_batches.py CANZONA

`least work` is the bound `mean` of the plan's JSON.  `no plan below` is the bound by
fit under these caps: prices of matrices, elements and bytes come from a linear program
and prove nothing; that they refute a time is shown in exact integers, by
tests/plan/plan_fit.py.  `elements evenly`: of plans whose ranks all have as many of them.
The last column is the plan with `tolerance 0.05`, over its own least work.
"""
import math
import os
import sys
import tempfile

from scipy.optimize import linprog

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "tests"))
from plan_fit import is_load_worth  # noqa: E402
from subgroup_plans import TOLERANCE, run, sent, show, sources  # noqa: E402

CELLS = ("case", "kernels ms", "least work ms", "ratio", "wanted", "no plan below ms",
         "over least work", "elements evenly ms", "ratio with a tolerance")
WANTED = {"fused": 1.25, "split": 1.10}
STAGING = 2 ** 30
GRID = 3000   # parts of a time that loads are looked for in
STEPS = 9     # of bisection: to a part in 500 of what lies between
COLUMNS = 80  # loads looked for at one time
ONE = 2 ** 70


class Problem:
    """Pieces are (class, group, batch, ps, bytes)."""

    def __init__(self, plan, owners):
        classes, metrics = plan["classes"], plan["metrics"]
        self.n_ranks = len(metrics["time_ps"])
        self.counts = [of["matrices"] for of in classes]
        self.mean = mean_of(plan)
        every = [piece for c, of in enumerate(classes) for piece in pieces_of(c, of)]
        self.least = sum(n * min(ps * g // b for of, g, b, ps, _, _ in every if of == c)
                         for c, n in enumerate(self.counts))
        self.elements = (self.mean - 1) * self.n_ranks + 1 - self.least
        self.pieces = [piece[:5] for piece in every
                       if piece[2] == 1 or piece[5] <= STAGING]
        self.cap = sent(owners) // 20 + sum(
            of["matrices"] * of["forms"][0]["bytes"] for of in classes)


def mean_of(plan):
    return next(b["value"] for b in plan["metrics"]["bounds"] if b["name"] == "mean")


def kernels_of(plan):
    return max(plan["metrics"]["time_ps"])


def pieces_of(c, of):
    """All that is admitted, with its bytes of staging."""
    return [(c, form["group_size"], b["batch"], b["time_ps"], b["batch"] * form["bytes"],
             b["batch"] * form["staging_bytes"])
            for form in of["forms"] if form["admitted"] for b in form["batches"]]


# ---- prices ----

def best_load(sizes, worth, element):
    """What a load in so many parts of time is worth at most, how often it has each
    piece, and parts left for elements, of which one is worth `element`."""
    useful = [i for i, size in enumerate(sizes)
              if size <= GRID and worth[i] > element * size]
    best, last = [0.0] * (GRID + 1), [-1] * (GRID + 1)
    for at in range(1, GRID + 1):
        most, by = best[at - 1] + element, -1
        for i in useful:
            if sizes[i] <= at and best[at - sizes[i]] + worth[i] > most:
                most, by = best[at - sizes[i]] + worth[i], i
        best[at], last[at] = most, by
    load, idle, at = {}, 0, GRID
    while at > 0:
        i = last[at]
        if i >= 0:
            load[i] = load.get(i, 0) + 1
        idle += i < 0
        at -= sizes[i] if i >= 0 else 1
    return best[GRID], load, idle


def column_of(problem, load, idle, time_ps):
    """What a load holds of each class, of elements, and sends; of all in parts."""
    holds = [0.0] * len(problem.counts)
    size = 0.0
    for i, times in load.items():
        c, group, batch, _, wire = problem.pieces[i]
        holds[c] += times * batch / group / problem.counts[c]
        size += times * wire / group / problem.cap
    return [*holds, idle * time_ps / GRID / problem.elements, -size]


def prices_of(columns, n_rows):
    """Of the fewest loads that hold all and keep the cap: how many, and prices."""
    found = linprog([1.0] * len(columns), method="highs",
                    A_ub=[[-column[row] for column in columns] for row in range(n_rows)],
                    b_ub=[-1.0] * (n_rows - 1) + [1.0])
    return found.fun, [-price for price in found.ineqlin.marginals]


def first_columns(problem, time_ps):
    """Each class by itself in the least bytes; nothing but elements."""
    for c in range(len(problem.counts)):
        _, i = min((piece[4] / piece[2], i) for i, piece in enumerate(problem.pieces)
                   if piece[0] == c and piece[3] <= time_ps)
        yield column_of(problem, {i: 1}, 0, time_ps)
    yield column_of(problem, {}, GRID, time_ps)


def find_prices(problem, time_ps):
    """That may refute the time; None: the program has a plan of parts of loads."""
    sizes = [max(1, piece[3] * GRID // time_ps) if piece[3] <= time_ps else GRID + 1
             for piece in problem.pieces]
    columns = list(first_columns(problem, time_ps))
    for _ in range(COLUMNS):
        n_loads, prices = prices_of(columns, len(problem.counts) + 2)
        if n_loads <= problem.n_ranks:
            return None
        worth = [(batch * prices[c] / problem.counts[c] -
                  wire * prices[-1] / problem.cap) / group
                 for c, group, batch, _, wire in problem.pieces]
        most, load, idle = best_load(
            sizes, worth, prices[-2] * time_ps / GRID / problem.elements)
        if most <= 1 + 1e-9:
            break
        columns.append(column_of(problem, load, idle, time_ps))
    return prices


# ---- proof ----

def kept(kinds):
    """Those that no quicker one is worth as much as."""
    out = []
    for time, worth in sorted(kinds, key=lambda kind: (kind[0], -kind[1])):
        if worth > 0 and (not out or worth > out[-1][1]):
            out.append((time, worth))
    return out


def is_refuted(problem, prices, time_ps):
    """Whether loads that end by the time hold less than all that there is, by what it
    is worth.  Integers alone: of matrices in 2^-70, of bytes and elements in parts of
    that, all times the common multiple of group sizes."""
    scale = math.lcm(*(piece[1] for piece in problem.pieces))
    matrix = [int(price * ONE) // n for price, n in zip(prices, problem.counts)]
    elements, wire = (int(price * ONE) for price in prices[-2:])
    byte = wire // problem.cap
    whole = problem.elements
    added = [[] for _ in problem.counts]
    for c, group, batch, ps, size in problem.pieces:
        added[c].append((ps, (batch * matrix[c] - byte * size) * (scale // group) *
                         whole - scale * elements * ps))
    total = scale * whole * (elements - byte * problem.cap + sum(
        y * n for y, n in zip(matrix, problem.counts)))
    wanted = -(-(total - problem.n_ranks * scale * elements * time_ps) //
               problem.n_ranks)
    return wanted > 0 and not is_load_worth(
        [kind for kinds in added for kind in kept(kinds)], time_ps, wanted)


def least_time(problem, longest):
    """No plan ends before."""
    low, high = (problem.least + problem.elements) // problem.n_ranks, longest
    for _ in range(STEPS):
        middle = (low + high) // 2
        prices = find_prices(problem, middle)
        if prices and is_refuted(problem, prices, middle):
            low = middle + 1
        else:
            high = middle
    return low


def least_evenly(problem, longest):
    """Where all ranks have as many elements: of matrices alone, one element's
    picosecond aside, and theirs."""
    evenly, problem.elements = problem.elements // problem.n_ranks, 1
    return least_time(problem, longest - evenly) + evenly


def main():
    canzona, = sys.argv[1:]
    command = canzona, "plan", "--json", "--no-baselines"
    show(CELLS)
    print("|---" * len(CELLS) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for case, source in sources(folder):
            _, storage, mesh = case.split()
            if mesh != "32x8":
                continue
            plan = run(*command, source)
            problem = Problem(plan, run(*command, "-D", "tp_strategy=owner", source))
            kernels = kernels_of(plan)
            narrow = run(*command, *TOLERANCE, source)
            least = least_time(problem, kernels)
            show((case, f"{kernels / 1e9:.3f}", f"{problem.mean / 1e9:.3f}",
                  f"{kernels / problem.mean:.3f}", f"{WANTED[storage]:.2f}",
                  f"{least / 1e9:.3f}", f"{least / problem.mean:.3f}",
                  f"{least_evenly(problem, kernels) / 1e9:.3f}",
                  f"{kernels_of(narrow) / mean_of(narrow):.3f}"))


main()
