#!/usr/bin/python3
"""Checks what `canzona plan --json` printed: against plan.schema.json, that it
is canonical, and every figure by computing it again.  Written from the schema
alone; shares nothing with the compiler.

    check_plan.py FILE...                   check plans
    check_plan.py --run COMMAND ARG...      check what a command prints
    check_plan.py --self-test COMMAND...    also change every integer of the
                                            plan by one and expect a complaint
"""
import copy
import math
import os
import subprocess
import sys

from plan_numbers import BYTES, Plan, equal, round_up, wire_bytes
from plan_schema import Validator, canonical, parse
from plan_stored import check_stored

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- what is planned ----

def check_parameters(plan):
    data = plan.data
    yield from equal("mesh.ranks", data["mesh"]["ranks"], len(plan.ranks))
    yield from equal("trained, frozen, tied", data["parameters"],
                     plan.params + plan.frozen + plan.names)
    yield from equal("different names", len({p["name"] for p in data["parameters"]}),
                     len(data["parameters"]))
    for i, p in enumerate(plan.params + plan.frozen):
        yield from check_shape(plan, f"parameters[{i}]", p)
    yield from check_stored(plan)
    yield from check_trained(plan, data["policy"])
    yield from check_untrained(plan)


def check_shape(plan, name, p):
    yield from equal(f"{name}.shard", len(p["shard"]), len(p["shape"]))
    yield from equal(f"{name}.element_count", p["element_count"],
                     math.prod(p["shape"]))
    yield from equal(f"{name}.stage", p["stage"], 0)
    if p["bounds"] is not None:
        yield from check_bounds(plan, name, p)
        return
    yield from equal(f"{name}.local_elements * shards",
                     p["local_elements"] * plan.shards(p), p["element_count"])
    for d, axis in enumerate(p["shard"]):
        if axis is not None and p["shape"][d] % plan.sizes[axis]:
            yield f"{name}: {axis} does not divide dimension {d}"


def check_bounds(plan, name, p):
    d, axis = plan.bounds_dim(p)
    if d is None:
        yield f"{name}.bounds: no single dimension is cut"
        return
    bounds = p["bounds"]
    yield from equal(f"{name}.bounds", [len(bounds), bounds[0], bounds[-1],
                                        sorted(bounds)],
                     [plan.sizes[axis] + 1, 0, p["shape"][d], bounds])
    yield from equal(f"{name}.local_elements", p["local_elements"],
                     max(plan.elements(p, r) for r in plan.ranks))


def check_untrained(plan):
    for p in plan.frozen:
        yield from equal(f"{p['name']}, frozen", [p[key] for key in (
            "optimizer", "rule", "matrices", "tied_to", "grad", "master",
            "bucket", "offset")], [None, None, 0] + [None] * 5)
    trained = {p["name"]: p for p in plan.params}
    for p in plan.names:
        expected = dict(trained[p["tied_to"]], name=p["name"], tied_to=p["tied_to"])
        yield from equal(f"{p['name']}, tied", p, expected)


def check_trained(plan, policy):
    for i, p in enumerate(plan.params):
        name = f"parameters[{i}]"
        yield from equal(f"{name}.matrices", p["matrices"], i in plan.matrix_of)
        yield from equal(f"{name}.grad", p["grad"], policy["grad_dtype"])
        wider = BYTES[policy["master_dtype"]] > BYTES[p["dtype"]]
        yield from equal(f"{name}.master", p["master"],
                         policy["master_dtype"] if wider else p["dtype"])


def check_matrices(plan):
    for i, m in enumerate(plan.data["matrices"]):
        name, p = f"matrices[{i}]", plan.params[m["parameter"]]
        whole = plan.stages[p["rule"], "whole"]
        own = plan.own_elements(m)
        away = p["element_count"] - own
        yield from equal(f"{name}.rows, cols", [m["rows"], m["cols"]], p["shape"])
        yield from equal(f"{name}.view", m["view"],
                         "piece" if p["stored"] else "whole")
        yield from equal(f"{name}.batch, group_size",
                         [m["batch"], m["group_size"]], [1, 1])
        yield from equal(f"{name}.cost.flops", m["cost"]["flops"], whole["flops"] +
                         plan.near_flops(p) * own)
        yield from equal(f"{name}.cost.bytes", m["cost"]["bytes"], away *
                         wire_bytes(whole["gather"] + whole["scatter"]))
        for way in ("gather", "scatter"):
            yield from equal(f"{name}.wire.{way}", m["wire"][way], whole[way])
        if not m["owner"]["split"] < plan.n_split:
            yield f"{name}: no such owner"
        sharded = plan.shards(p) > 1
        yield from equal(f"{name} is sharded", m["owner"]["shard"] is not None,
                         sharded)
        yield from equal(f"{name} is in a micro-group",
                         m["micro_group"] is not None, sharded)
        if sharded and not m["owner"]["shard"] < plan.shards(p):
            yield f"{name}: no such owner"


def check_buckets(plan):
    places = {}
    for b, bucket in enumerate(plan.data["buckets"]):
        name, end = f"buckets[{b}]", 0
        slices = bucket["slices"]
        yield from equal(f"{name}: ends of slices",
                         [slices[0], slices[-1], len(slices), sorted(slices)],
                         [0, bucket["length"], plan.n_split + 1, slices])
        yield from equal(f"{name}: order and offsets", len(bucket["order"]),
                         len(bucket["offsets"]))
        for i, number in enumerate(bucket["order"]):
            p, offset = plan.params[number], bucket["offsets"][i]
            places.setdefault(number, []).append((b, offset))
            yield from equal(f"{name}: type of {number}",
                             [p["dtype"], p["group"]],
                             [bucket["dtype"], bucket["group"]])
            yield from equal(f"{name}: {number} starts", max(offset, end), offset)
            end = offset + p["local_elements"]
            matrix = plan.matrix_of.get(number)
            yield from equal(f"{name}.geometry", bucket["geometry"],
                             "owned" if matrix else "split")
            if matrix:
                yield from equal(
                    f"{name}: elements of {number} in its owner's slice",
                    plan.inside(bucket, i, p["local_elements"],
                                matrix["owner"]["split"]),
                    p["local_elements"])
        yield from equal(f"{name}.length", bucket["length"], round_up(end, 16))
        if bucket["geometry"] == "split":
            step = round_up(-(-bucket["length"] // plan.n_split), 16)
            yield from equal(f"{name}.slices", slices, [
                min(bucket["length"], step * r) for r in range(plan.n_split + 1)])
    for i, p in enumerate(plan.params):
        yield from equal(f"places of parameters[{i}]", places.get(i),
                         [(p["bucket"], p["offset"])])


def check_groups(plan):
    for g, group in enumerate(plan.data["groups"]):
        name = f"groups[{g}]"
        members = [plan.matrix_of[i] for i in group["members"]]
        yield from equal(f"{name}.members", sorted(group["members"]), sorted(
            i for i, m in plan.matrix_of.items() if m["micro_group"] == g))
        held = {}
        for m in members:
            p, owner = plan.params[m["parameter"]], tuple(m["owner"].values())
            yield from equal(f"{name}.axes", group["axes"], plan.shard_axes(p))
            slots = m["wire"]["gather"] + m["wire"]["scatter"]
            held[owner] = held.get(owner, 0) + sum(
                round_up(p["element_count"] * BYTES[t]) for t in slots)
        yield from equal(f"{name}.peak_bytes", group["peak_bytes"],
                         max(held.values()))
        for way in ("gather", "scatter"):
            yield from equal(f"{name}.{way}_bytes", group[f"{way}_bytes"], sum(
                wire_bytes(m["wire"][way]) *
                (plan.params[m["parameter"]]["element_count"] -
                 plan.own_elements(m)) for m in members))
        op = plan.data["schedule"][group["op"]]
        yield from equal(f"{name}.op", [op["kind"], op["stream"]], ["kernel", 0])


# ---- what it costs ----

def rank_flops(plan, rank):
    split, flops = plan.split(rank), 0
    for matrix in plan.data["matrices"]:
        p = plan.params[matrix["parameter"]]
        if matrix["owner"]["split"] == split:
            flops += plan.near_flops(p) * plan.elements(p, rank)
        if plan.owns(rank, matrix):
            flops += plan.flops(p, "whole")
    for bucket in plan.data["buckets"]:
        for i, number in enumerate(bucket["order"]):
            flops += (plan.flops(plan.params[number], "local") *
                      plan.part(bucket, i, rank))
    return flops


def rank_updates(plan, rank):
    return sum(plan.part(bucket, i, rank) for bucket in plan.data["buckets"]
               for i in range(len(bucket["order"])))


def rank_reduce(plan, rank):
    """Sent and received by reduce_scatter, bucket by bucket."""
    unit = plan.data["header"]["leaves"] * BYTES[plan.data["policy"]["grad_dtype"]]
    others = [r for r in plan.members(rank, plan.data["policy"]["reduce_axes"])
              if r != rank]
    for bucket in plan.data["buckets"]:
        own = plan.slice_of(bucket, plan.split(rank))
        away = sum(plan.slice_of(bucket, plan.split(r)) for r in others)
        yield away * unit, own * unit * len(others)


def rank_publish(plan, rank):
    others = [r for r in plan.members(rank, plan.split_axes) if r != rank]
    for bucket in plan.data["buckets"]:
        unit = BYTES[bucket["dtype"]]
        own = plan.slice_of(bucket, plan.split(rank))
        away = sum(plan.slice_of(bucket, plan.split(r)) for r in others)
        yield own * unit * len(others), away * unit


def rank_transfer(plan, rank):
    """(gather sent, gather received, scatter sent, scatter received)."""
    totals = [0, 0, 0, 0]
    for matrix in plan.data["matrices"]:
        p = plan.params[matrix["parameter"]]
        if matrix["owner"]["split"] != plan.split(rank) or plan.shards(p) == 1:
            continue
        own, away = plan.elements(p, rank), wire_bytes(matrix["wire"]["gather"])
        back = wire_bytes(matrix["wire"]["scatter"])
        if plan.owns(rank, matrix):
            totals[1] += away * (p["element_count"] - own)
            totals[2] += back * (p["element_count"] - own)
        else:
            totals[0] += away * own
            totals[3] += back * own
    return totals


def check_wire(plan):
    metrics = plan.data["metrics"]
    reduce = [list(rank_reduce(plan, r)) for r in plan.ranks]
    publish = [list(rank_publish(plan, r)) for r in plan.ranks]
    transfer = [rank_transfer(plan, r) for r in plan.ranks]
    sums = {
        "reduce_scatter": [(sum(x), sum(y)) for x, y in (zip(*r) for r in reduce)],
        "all_gather": [(sum(x), sum(y)) for x, y in (zip(*r) for r in publish)],
        "transfer": [(t[0] + t[2], t[1] + t[3]) for t in transfer],
    }
    for kind, ranks in sums.items():
        for side, way in enumerate(("sent_bytes", "received_bytes")):
            yield from equal(f"metrics.{way}.{kind}", metrics[way][kind],
                             [r[side] for r in ranks])
    yield from check_ops(plan, reduce, publish)


def check_ops(plan, reduce, publish):
    seen = {"reduce_scatter": [], "all_gather": [], "square_sum": [], "kernel": []}
    per_rank = {"reduce_scatter": reduce, "all_gather": publish}
    transfers = {"sent_bytes": 0, "received_bytes": 0}
    for i, op in enumerate(plan.data["schedule"]):
        name = f"schedule[{i}]"
        if any(w >= i for w in op["waits"]) or op["waits"] != sorted(set(op["waits"])):
            yield f"{name}.waits: {op['waits']}"
        if op["kind"] in seen and op["bucket"] is not None:
            seen[op["kind"]].append(op["bucket"])
        for side, way in enumerate(("sent_bytes", "received_bytes")):
            if op["kind"] == "transfer":
                transfers[way] += op[way]
                continue
            ranks = per_rank.get(op["kind"], [])
            yield from equal(f"{name}.{way}", op[way],
                             sum(r[op["bucket"]][side] for r in ranks))
    for kind, expected in expected_buckets(plan).items():
        yield from equal(f"buckets of {kind}", sorted(seen[kind]), expected)
    for way, found in transfers.items():
        yield from equal(f"all transfers: {way}", found, sum(
            g["gather_bytes"] + g["scatter_bytes"] for g in plan.data["groups"]))


def expected_buckets(plan):
    """Which buckets have an operation of each kind of their own."""
    policy, buckets = plan.data["policy"], plan.data["buckets"]
    every = list(range(len(buckets)))
    decides = float(policy["clip"]) > 0 or policy["skip"]
    gathered = {m["parameter"] for m in plan.data["matrices"]
                if m["owner"]["shard"] is not None}
    return {
        "reduce_scatter": every,
        "all_gather": every if plan.n_split > 1 else [],
        "square_sum": every if decides else [],
        "kernel": [b for b in every if not gathered.issuperset(buckets[b]["order"])],
    }


def check_memory(plan):
    data, metrics = plan.data, plan.data["metrics"]
    memory, policy = metrics["memory_bytes"], data["policy"]
    master = BYTES[policy["master_dtype"]]
    grad = data["header"]["leaves"] * BYTES[policy["grad_dtype"]]
    states = {}
    for state in data["states"]:
        states[state["rule"]] = states.get(state["rule"], 0) + BYTES[state["dtype"]]
    for rank in plan.ranks:
        expected = dict.fromkeys(memory, 0)
        expected["scratch"] = metrics["peak_scratch_bytes"][rank]
        for bucket in data["buckets"]:
            own, unit = plan.slice_of(bucket, plan.split(rank)), BYTES[bucket["dtype"]]
            rule = plan.params[bucket["order"][0]]["rule"]
            expected["param"] += bucket["length"] * unit
            expected["grad"] += bucket["length"] * grad
            expected["reduced"] += own * 4
            expected["master"] += own * master if master > unit else 0
            expected["state"] += own * states.get(rule, 0)
        for kind, value in expected.items():
            yield from equal(f"metrics.memory_bytes.{kind}[{rank}]",
                             memory[kind][rank], value)


def check_load(plan):
    data, metrics = plan.data, plan.data["metrics"]
    flops = [rank_flops(plan, r) for r in plan.ranks]
    yield from equal("metrics.flops", metrics["flops"], flops)
    yield from equal("metrics.matrices", metrics["matrices"], [
        sum(plan.owns(r, m) for m in data["matrices"]) for r in plan.ranks])
    yield from equal("metrics.updates", metrics["updates"],
                     [rank_updates(plan, r) for r in plan.ranks])
    yield from equal("metrics.max_over_mean", metrics["max_over_mean"],
                     [max(flops), sum(flops), len(flops)])
    item = max([m["cost"]["flops"] for m in data["matrices"]], default=0)
    yield from equal("metrics.bounds", [[b["name"], b["value"]] for b in
                                        metrics["bounds"]],
                     [["mean", -(-sum(flops) // len(flops))], ["item", item]])
    witness = metrics["bounds"][1]["witness"]
    yield from equal("the item bound's witness", item if witness is None else
                     plan.matrix_of[witness]["cost"]["flops"], item)
    yield from equal("the mean bound's witness", metrics["bounds"][0]["witness"],
                     None)
    if max(flops) < max(b["value"] for b in metrics["bounds"]):
        yield "the busiest rank is below a bound"
    yield from equal("baselines", data["baselines"][0]["flops_per_rank"], sum(
        plan.flops(p, "whole") + p["element_count"] *
        (plan.near_flops(p) + plan.flops(p, "local")) for p in plan.params))


CHECKS = (check_parameters, check_matrices, check_buckets, check_groups,
          check_wire, check_memory, check_load)


def check(data, validator):
    messages = list(validator.validate(data))
    if messages:
        return messages
    plan = Plan(data)
    try:
        return [m for part in CHECKS for m in part(plan)]
    except (LookupError, ValueError) as error:
        return [f"numbers that name nothing: {error!r}"]


def check_text(text, validator):
    try:
        data = parse(text)
    except ValueError as error:
        return [f"not JSON as we write it: {error}"]
    if canonical(data) + "\n" != text:
        return ["not canonical"]
    return check(data, validator)


# ---- the checker is checked ----

def integers(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from integers(item, path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from integers(item, path + (i,))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path


def is_free(path):
    """Inputs that no figure depends on, or that only order operations."""
    words = [str(p) for p in path]
    return (words[:2] in (["policy", "bucket_elements"], ["policy", "group_bytes"])
            or (words[0] == "stages" and words[-1] == "work_bytes")
            or (words[0] == "schedule" and words[2] in ("waits", "stream"))
            or (words[0] == "groups" and words[2] == "op")
            or words[2:4] == ["stored", "shape"]  # how much padding there is
            or words[-1] == "witness")


def self_test(data, validator, limit=1500):
    """Plans with one integer off by one that pass: there must be none."""
    paths = [p for p in integers(data) if not is_free(p)]
    for path in paths[::max(1, len(paths) // limit)]:
        changed = copy.deepcopy(data)
        place = changed
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] += 1
        if not check(changed, validator):
            yield f"one more in {path} is not noticed"


def read(arguments):
    if arguments[0] == "--run":
        result = subprocess.run(arguments[1:], stdout=subprocess.PIPE, check=False)
        if result.returncode != 0:
            sys.exit(f"{arguments[1]} ended with {result.returncode}")
        return [(" ".join(arguments[1:]), result.stdout.decode())]
    texts = []
    for path in arguments:
        with open(path, encoding="utf-8") as file:
            texts.append((path, file.read()))
    return texts


def main(arguments):
    with open(os.path.join(HERE, "plan.schema.json"), encoding="utf-8") as file:
        validator = Validator(parse(file.read()))
    mutate = arguments[0] == "--self-test"
    if mutate:
        arguments = ["--run"] + arguments[1:]
    failed = False
    for name, text in read(arguments):
        messages = check_text(text, validator)
        if mutate and not messages:
            messages = list(self_test(parse(text), validator))
        failed |= bool(messages)
        print("\n".join(f"{name}: {m}" for m in messages[:20]) or
              f"{name}: every figure computed again")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
