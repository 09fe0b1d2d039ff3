#!/usr/bin/python3
"""Plans of random problems against proven optima.

usage: solve_oracle.py SOLVE_TOOL COUNT SECONDS

Of each of COUNT seeded problems (12 to 60 parameters, 2 to 8 ranks, 1 to 6
buckets) HiGHS, SciPy's solver of mixed integer programs, finds the least load
of the fullest rank, once with the order inside buckets free and once with
contiguous slices in the order given, and proves it.  Our plan is read from the
tool and evaluated here.  A problem that HiGHS cannot prove within SECONDS is
made smaller until it can, which is counted and printed.  Free plans must be
within 1.005 of the optimum, contiguous ones within 1.3, and 1.2 at the
median.  --self-test plants worse plans and expects to see them.
"""
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix

JOBS = 2  # problems at a time
GAP = 1e-4  # what HiGHS may leave open; ratios are to its proven bound
WORST_FREE, MEDIAN_FIXED, WORST_FIXED = 1.005, 1.2, 1.3


class Problem:
    """Ranks, buckets of class numbers, and classes (elements, cost, divisible)."""

    def __init__(self, ranks, classes, buckets):
        self.ranks, self.classes, self.buckets = ranks, classes, buckets

    def items(self):
        return [c for bucket in self.buckets for c in bucket]

    def text(self, trainer):
        items = self.items()
        rows = [[self.ranks, 1, 1, int(trainer), 0, len(self.classes),
                 len(items), len(self.buckets)]]
        rows += [[n, cost, 0, 8 * n, int(divisible)]
                 for n, cost, divisible in self.classes]
        rows += [items, [len(bucket) for bucket in self.buckets]]
        return "\n".join(" ".join(map(str, row)) for row in rows)

    def smaller(self):
        """Without the last quarter of each bucket, or with a rank less."""
        if len(self.items()) > 16 or self.ranks == 2:
            kept = [bucket[:max(1, 3 * len(bucket) // 4)]
                    for bucket in self.buckets]
            return Problem(self.ranks, self.classes, kept)
        return Problem(self.ranks - 1, self.classes, self.buckets)


def draw(seed):
    """Half of the problems have few classes, as models do."""
    rng = random.Random(seed)
    n = rng.randint(12, 60)
    n_classes = rng.randint(3, 8) if seed % 2 else n
    classes = []
    for _ in range(n_classes):
        elements = rng.randint(1000, 100000)
        classes.append((elements, elements * rng.randint(50, 150), False))
    table = rng.randint(1000, 200000)
    classes.append((table, table * rng.randint(5, 50), True))
    items = [rng.randrange(n_classes) if seed % 2 else i for i in range(n)]
    rng.shuffle(items)
    for _ in range(rng.randint(0, 3)):
        items[rng.randrange(n)] = n_classes
    cuts = sorted(rng.sample(range(1, n), rng.randint(1, 6) - 1))
    buckets = [items[a:b] for a, b in zip([0] + cuts, cuts + [n])]
    return Problem(rng.randint(2, 8), classes, buckets)


class Program:
    """A mixed integer program, row by row; variable 0 is the load.  Costs are
    divided by `least`, so that tolerances are of numbers around 1."""

    def __init__(self, least):
        self.least = least
        self.cost, self.whole = [1.0], [0]
        self.low, self.high = [1.0], [np.inf]
        self.rows = []

    def variable(self, high, whole):
        self.cost.append(0.0)
        self.whole.append(int(whole))
        self.low.append(0.0)
        self.high.append(high)
        return len(self.cost) - 1

    def row(self, terms, low, high):
        self.rows.append((terms, low, high))

    def solve(self, seconds):
        """(proven bound, solved)."""
        where = [(i, v, a) for i, (terms, _, _) in enumerate(self.rows)
                 for v, a in terms]
        i, v, a = zip(*where)
        matrix = coo_matrix((a, (i, v)), (len(self.rows), len(self.cost)))
        result = milp(
            self.cost, integrality=self.whole,
            bounds=Bounds(self.low, self.high),
            constraints=LinearConstraint(matrix.tocsr(),
                                         [r[1] for r in self.rows],
                                         [r[2] for r in self.rows]),
            options={"time_limit": seconds, "mip_rel_gap": GAP})
        bound = getattr(result, "mip_dual_bound", None)
        if result.status != 0 or bound is None:
            return None, False
        return bound * self.least, True


def lower_bound(problem):
    """Mean, longest whole item, pigeonhole: what the load cannot be below."""
    whole = sorted((problem.classes[c][1] for c in problem.items()
                    if not problem.classes[c][2]), reverse=True)
    total = sum(problem.classes[c][1] for c in problem.items())
    n = problem.ranks
    bounds = [total / n] + whole[:1]
    bounds += [sum(whole[k * n - k:k * n + 1])
               for k in range(1, (len(whole) - 1) // n + 1)]
    return max(bounds)


def free_program(problem, least):
    """How many of each class a rank has; ranks by falling load."""
    program, items = Program(least), problem.items()
    numbers = {c: items.count(c) for c in set(items)}
    loads = []
    for _ in range(problem.ranks):
        loads.append([])
        for c, n in numbers.items():
            _, cost, divisible = problem.classes[c]
            loads[-1].append((program.variable(n, not divisible),
                              cost / least))
    for k, n in enumerate(numbers.values()):
        program.row([(load[k][0], 1) for load in loads], n, n)
    for load in loads:
        program.row([(0, -1)] + load, -np.inf, 0)
    for one, other in zip(loads, loads[1:]):
        program.row([(v, -a) for v, a in one] + other, -np.inf, 0)
    return program


def fixed_program(problem, least):
    """done[r]: how much of an item the ranks up to r have; falls along a
    bucket, 0 or 1 if whole, and an item begins when the one before is done."""
    program = Program(least)
    loads = [[] for _ in range(problem.ranks)]
    for bucket in problem.buckets:
        before = None
        for c in bucket:
            _, cost, divisible = problem.classes[c]
            done = [program.variable(1, not divisible)
                    for _ in range(problem.ranks - 1)]
            for r, v in enumerate(done):
                loads[r].append((v, cost / least))
                loads[r + 1].append((v, -cost / least))
                if r:
                    program.row([(v, 1), (done[r - 1], -1)], 0, np.inf)
                if before:
                    begun = before[r]
                    if divisible:
                        begun = program.variable(1, True)
                        program.row([(before[r], 1), (begun, -1)], 0, np.inf)
                    program.row([(begun, 1), (v, -1)], 0, np.inf)
            before = done
    last = sum(problem.classes[c][1] for c in problem.items()) / least
    for r, load in enumerate(loads):
        constant = last if r == problem.ranks - 1 else 0
        program.row([(0, -1)] + load, -np.inf, -constant)
    return program


def run(tool, problem, trainer):
    """The tool's plan: lines as {name: lists of integers}."""
    out = subprocess.run([tool], input=problem.text(trainer), text=True,
                         check=True, capture_output=True, timeout=120).stdout
    plan = {}
    for line in out.splitlines():
        name, *words = line.split()
        if name != "method":
            plan.setdefault(name, []).append([int(word) for word in words])
    return plan


def fullest(problem, plan, trainer):
    """Load of the fullest rank, after proof that the plan is one."""
    loads, first = [0.0] * problem.ranks, 0
    owner = plan["owner"][0]
    for b, bucket in enumerate(problem.buckets):
        order, slices, fills = (plan[name][b]
                                for name in ("order", "slices", "fills"))
        assert sorted(order) == list(range(first, first + len(bucket)))
        assert not trainer or order == sorted(order)
        assert slices[0] == 0 and slices[-1] == fills[0]
        assert slices == sorted(slices) and fills == sorted(fills)
        assert not trainer or fills[0] == fills[-1]
        offset = 0
        for item in order:
            n, cost, divisible = problem.classes[bucket[item - first]]
            shares = [overlap(bounds[r], bounds[r + 1], offset, offset + n)
                      for r in range(problem.ranks)
                      for bounds in (slices, fills)]
            shares = [a + b for a, b in zip(shares[::2], shares[1::2])]
            assert sum(shares) == n
            assert divisible or shares[owner[item]] == n, "whole item is cut"
            for r, share in enumerate(shares):
                loads[r] += cost * share / n
            offset += n
        assert offset == fills[-1]
        first += len(bucket)
    return max(loads)


def overlap(a, b, c, d):
    return max(0, min(b, d) - max(a, c))


def prove(problem, build, seconds):
    """(problem, proven least load, times it was made smaller)."""
    times = 0
    while True:
        least = lower_bound(problem)
        bound, solved = build(problem, least).solve(seconds)
        if solved:
            return problem, max(bound, least), times
        problem, times = problem.smaller(), times + 1


def ratio(tool, seconds, trainer, seed):
    """(our load over the least, seed, whether the problem was made smaller)."""
    build = fixed_program if trainer else free_program
    problem, least, times = prove(draw(seed), build, seconds)
    load = fullest(problem, run(tool, problem, trainer), trainer)
    assert load > least * (1 - 1e-6), "below what is proven: who is wrong?"
    return load / least, seed, times > 0


def ratios(tool, count, seconds, trainer):
    with ProcessPoolExecutor(JOBS) as pool:
        found = sorted(pool.map(partial(ratio, tool, seconds, trainer),
                                range(1, count + 1)))
    print(f"{'contiguous' if trainer else 'free'}: {count} problems, "
          f"{sum(f[2] for f in found)} of them made smaller: "
          f"median {found[count // 2][0]:.5f}, "
          f"worst {found[-1][0]:.5f} (seed {found[-1][1]})", flush=True)
    return [f[0] for f in found]


def self_test():
    """A plan that leaves a rank idle is seen; so is one that cuts a matrix."""
    problem = Problem(2, [(10, 100, False)], [[0, 0]])
    good = {"order": [[0, 1]], "slices": [[0, 10, 20]], "fills": [[20] * 3],
            "owner": [[0, 1]]}
    assert fullest(problem, good, True) == 100
    idle = dict(good, slices=[[0, 20, 20]], owner=[[0, 0]])
    assert fullest(problem, idle, True) == 200
    for build in (free_program, fixed_program):
        bound, solved = build(problem, 1).solve(10)
        assert solved and abs(bound - 100) < 1e-3
    try:
        fullest(problem, dict(good, slices=[[0, 5, 20]]), True)
    except AssertionError:
        return
    raise SystemExit("a cut matrix was not seen")


def main():
    self_test()
    if sys.argv[1] == "--self-test":
        return 0
    tool, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    free = ratios(tool, count, seconds, False)
    fixed = ratios(tool, count, seconds, True)
    ok = (free[-1] <= WORST_FREE and fixed[count // 2] <= MEDIAN_FIXED and
          fixed[-1] <= WORST_FIXED)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
