"""Public micro-groups of the published greedy's rows, computed again: which
matrices go together, who computes each, and when the row is done.  Written from
the schema alone."""
from plan_numbers import equal, wire_bytes
from plan_times import PS, ceil_div, constants, matrices_ps

SLOT = 400 << 20
NAMES = ("no", "single", "slot", "global")


def link_of(plan, axes):
    """Rate and latency: those of the node where it has all of a row."""
    m = constants(plan)
    near = all(len({rank // m["gpus_per_node"] for rank in row}) == 1
               for row in plan.communicators(axes))
    name = "node" if near else "network"
    return m[f"{name}_rate"], m[f"{name}_latency"]


class Matrix:
    """What one matrix asks of its owner, and of each other rank of the row."""

    def __init__(self, plan, p, least, rate):
        whole = plan.stages[p["rule"], "whole"]
        self.elements = p["element_count"]
        self.whole, self.compute = whole, whole["time_ps"]
        moved = self.elements - least
        each = ceil_div(moved, plan.shards(p) - 1)
        self.gather, self.scatter = (
            [ceil_div(n * wire_bytes(whole[kind]) * PS, rate) for n in (moved, each)]
            for kind in ("gather", "scatter"))
        self.staging = self.elements * wire_bytes(whole["gather"])


def together_ps(matrices):
    """Of what a rank has in one operation."""
    return sum(matrices_ps(whole, sum(m.whole is whole for m in matrices))
               for whole in {id(m.whole): m.whole for m in matrices}.values())


# ---- who computes what, group by group: lists of (rank, matrix) ----

def dealt(matrices, n):
    return [[(k % n, m) for k, m in enumerate(matrices[i:i + n])]
            for i in range(0, len(matrices), n)]


def filled(matrices, n, closes_before):
    """To the least loaded rank; a group ends with the matrix that fills one, or
    before the one that would be too much."""
    groups, load = [[]], [0] * n
    most = SLOT * n
    if not closes_before:
        most = max([most] + [m.elements for m in matrices])
    for m in matrices:
        rank = load.index(min(load))
        if closes_before and groups[-1] and load[rank] + m.elements > most:
            groups.append([])
            load, rank = [0] * n, 0
        groups[-1].append((rank, m))
        load[rank] += m.elements
        if not closes_before and load[rank] >= most:
            groups.append([])
            load = [0] * n
    return [g for g in groups if g]


def grouped(name, matrices, n):
    largest = sorted(matrices, key=lambda m: -m.elements)
    if name == "no":
        return dealt(matrices, n)
    if name == "single":
        return dealt(largest, n)
    if name == "slot":
        return filled(largest, n, False)
    return filled(sorted(matrices[::-1], key=lambda m: -m.elements), n, True)


# ---- when ----

class Row:
    """Ranks with one stream of kernels and one of transfers each; a transfer
    begins on all that have a part together."""

    def __init__(self, n, latency):
        self.n, self.latency = n, latency
        self.computed, self.moved = [0] * n, [0] * n

    def transfer(self, group, kind, after):
        """Ends per rank of what waits for `after`."""
        own, other = [0] * self.n, [0] * self.n
        for rank, m in group:
            mine, each = getattr(m, kind)
            own[rank] += mine
            for r in range(self.n):
                other[r] += each if r != rank else 0
        times = [max(pair) for pair in zip(own, other)]
        begin = max((max(self.moved[r], after[r])
                     for r, time in enumerate(times) if time), default=0)
        ends = [0] * self.n
        for r, time in enumerate(times):
            if time:
                ends[r] = self.moved[r] = begin + time + self.latency
        return ends

    def compute(self, group, after):
        for r in range(self.n):
            time = together_ps([m for rank, m in group if rank == r])
            self.computed[r] = max(self.computed[r], after[r]) + time
        return list(self.computed)


def row_ps(groups, n, latency):
    """A gather waits for the scatter of the group before the last."""
    row, none = Row(n, latency), [0] * n
    gathered = row.transfer(groups[0], "gather", none) if groups else none
    scattered = [none]
    for g, group in enumerate(groups):
        following = none
        if g + 1 < len(groups):
            following = row.transfer(groups[g + 1], "gather", scattered[-1])
        scattered.append(row.transfer(group, "scatter",
                                      row.compute(group, gathered)))
        gathered = following
    return max(row.moved + row.computed)


def staging_of(groups, n):
    held = [[sum(m.staging for rank, m in g if rank == r) for r in range(n)]
            for g in groups]
    return max((a + b for now, then in zip(held, held[1:] + [[0] * n])
                for a, b in zip(now, then)), default=0)


class Grouped:
    """One grouping of the rows of one domain: `rows` are lists of parameters."""

    def __init__(self, plan, name, rows, axes, least):
        rate, latency = link_of(plan, axes)
        n = plan.extent(axes)
        self.time, self.groups, self.staging = [], 0, 0
        for row in rows:
            matrices = [Matrix(plan, p, least(p), rate) for p in row]
            groups = grouped(name, matrices, n)
            self.time.append(row_ps(groups, n, latency))
            self.groups = max(self.groups, len(groups))
            self.staging = max(self.staging, staging_of(groups, n))


def check_groupings(plan, baseline, domains, least):
    """`domains`: of each its split axes, shard axes, first parameter, time of
    each split coordinate's other kernels on one rank, and rows."""
    found = baseline["groupings"]
    is_any = any(any(rows) for *_, rows in domains)
    names = NAMES if is_any else ()
    yield from equal("groupings", [g["name"] for g in found], list(names))
    for grouping in found:
        times, groups, staging = [0] * len(plan.ranks), 0, 0
        for split, axes, first, others, rows in domains:
            it = None
            if any(rows):
                it = Grouped(plan, grouping["name"], rows, axes, least)
                groups, staging = max(groups, it.groups), max(staging, it.staging)
            for rank in plan.ranks:
                if plan.is_home(first, rank):
                    at = plan.over(rank, split)
                    times[rank] += others[at] + (it.time[at] if it else 0)
        what = f"groupings, {grouping['name']}: "
        yield from equal(what + "groups", grouping["groups"], groups)
        yield from equal(what + "staging_bytes", grouping["staging_bytes"], staging)
        yield from equal(what + "time_ps", grouping["time_ps"], times)
