"""What the operations of a plan run and move, rank by rank, computed again from
who owns what.  Written from the schema alone."""
from math import isqrt

from plan_numbers import admits_bf16, equal


def spread(plan, op, amounts):
    """A list over the coordinates of an operation, rank by rank."""
    return [amounts[plan.over(rank, op["over"])] for rank in plan.ranks]


def listed(plan, name, op):
    """Lists that are too short or too long."""
    n = plan.extent(op["over"])
    wanted = n if op["kind"] in ("transfer", "group_sum") else 0
    for way in ("sent", "received"):
        yield from equal(f"length of {name}.{way}", len(op[way]), wanted)
    for work in op["work"]:
        for key in ("rows", "elements"):
            yield from equal(f"length of {name}.work.{key}", len(work[key]), n)
    if op["kind"] != "group_sum":
        yield from equal(f"{name}.group, stride", [op["group"], op["stride"]],
                         [0, 0])
    if op["kind"] != "kernel" and op["work"]:
        yield f"{name} runs something"
    yield from equal(f"{name}.over, in order", op["over"],
                     [a for a in plan.axes if a in op["over"]])


class Tally:
    """Rows and elements of every stage on every rank."""

    def __init__(self, plan):
        self.plan = plan
        self.counts = {}

    def add(self, stage, rank, rows, elements):
        if rows or elements:
            old = self.counts.get((stage, rank), (0, 0))
            self.counts[stage, rank] = old[0] + rows, old[1] + elements

    def add_op(self, op):
        for work in op["work"]:
            each = zip(self.plan.ranks, spread(self.plan, op, work["rows"]),
                       spread(self.plan, op, work["elements"]))
            for rank, rows, elements in each:
                self.add(work["stage"], rank, rows, elements)

    def add_matrix(self, m, places):
        p = self.plan.params[m["parameter"]]
        for where in ("before", "after"):
            stage = places.get((p["rule"], where))
            for rank in self.plan.row(m) if stage is not None else []:
                n = self.plan.elements(p, rank)
                self.add(stage, rank, n > 0, n)
        self.add_whole(m, places)

    def add_whole(self, m, places, first_alone=False):
        p = self.plan.params[m["parameter"]]
        stages = self.plan.segments(m) or [places[p["rule"], "whole"]]
        for rank in self.plan.owners(m):
            for stage in stages[:1] if first_alone else stages:
                self.add(stage, rank, 1, p["element_count"] // m["group_size"])

    def add_bucket(self, bucket, places):
        alike = self.plan.like(bucket)
        for i, number in enumerate(bucket["order"]):
            stage = places.get((self.plan.params[number]["rule"], "local"))
            if stage is None:
                continue
            for ranks in alike:
                n = self.plan.part(bucket, i, ranks[0])
                for rank in ranks:
                    self.add(stage, rank, n > 0, n)


def check_work(plan, moves):
    data = plan.data
    places = {(s["rule"], s["where"]): i for i, s in enumerate(data["stages"])}
    found, expected = Tally(plan), Tally(plan)
    messages = [m for i, op in enumerate(data["schedule"])
                for m in listed(plan, f"schedule[{i}]", op)]
    if messages:
        yield from messages
        return
    for op in data["schedule"]:
        found.add_op(op)
    for m in data["matrices"]:
        expected.add_matrix(m, places)
    for bucket in data["buckets"]:
        expected.add_bucket(bucket, places)
    yield from equal("work of all operations", sorted(found.counts.items()),
                     sorted(expected.counts.items()))
    yield from check_group_work(plan, places)
    for kind, count in moves.items():
        yield from check_moves(plan, kind, count(plan, data["matrices"]))
    yield from check_sharers(plan)


def check_group_work(plan, places):
    for g, group in enumerate(plan.data["groups"]):
        found, expected = Tally(plan), Tally(plan)
        found.add_op(plan.data["schedule"][group["op"]])
        for number in group["members"]:
            expected.add_whole(plan.matrix_of[number], places, True)
        yield from equal(f"work of groups[{g}]", sorted(found.counts.items()),
                         sorted(expected.counts.items()))


def check_moves(plan, kind, expected):
    sums = [[0, 0] for _ in plan.ranks]
    for i, op in enumerate(plan.data["schedule"]):
        if op["kind"] != kind:
            continue
        for side, way in enumerate(("sent", "received")):
            each = spread(plan, op, op[way])
            yield from equal(f"schedule[{i}].{way}_bytes", op[f"{way}_bytes"],
                             sum(each))
            for rank, n in zip(plan.ranks, each):
                sums[rank][side] += n
    yield from equal(f"bytes of all {kind} operations", [tuple(s) for s in sums],
                     expected)


def check_sharers(plan):
    """Sums are made over the axes that shard what is shared."""
    over = {(m["group_size"], m["stride"],
             *plan.shard_axes(plan.params[m["parameter"]]))
            for m in plan.data["matrices"]
            if m["group_size"] > 1 and not plan.is_local(m)}
    yield from equal("blocks and axes of sums", {
        (op["group"], op["stride"], *op["axes"]) for op in plan.data["schedule"]
        if op["kind"] == "group_sum"}, over)


def has_parts(one, group):
    """Equal ones, of a band blocks of rows of a square matrix."""
    side = isqrt(one["count"])
    if one["band"]:
        return (one["how"] != "sum" and side * side == one["count"] and
                side % one["band"] == 0 and one["band"] % group == 0)
    return one["how"] == "sum" or one["count"] % group == 0


def check_sharing(plan):
    """Who shares stages, and that sums stand behind all segments but the last."""
    for i, stage in enumerate(plan.data["stages"]):
        how = [stage["group"], stage["dim"], stage["segment"], stage["sums"]]
        if stage["where"] != "shared":
            yield from equal(f"stages[{i}] is not shared", how, [1, 0, 0, []])
    for (rule, group, _), numbers in plan.shared.items():
        stages = [plan.data["stages"][i] for i in numbers]
        yield from (f"parts of {one} shared by {group}" for s in stages
                    for one in s["sums"] if not has_parts(one, group))
        yield from (f"{one} in bf16, which nothing admits" for s in stages
                    for one in s["sums"] if one["how"] != "gather" and
                    one["dtype"] == "bf16" and not admits_bf16(plan))
        yield from equal(f"sums of {rule} shared by {group}",
                         [bool(s["sums"]) for s in stages],
                         [True] * (len(stages) - 1) + [False])
        yield from equal(f"cut of {rule} shared by {group}",
                         [s["dim"] in (0, 1) and s["dim"] for s in stages],
                         [stages[0]["dim"]] * len(stages))
