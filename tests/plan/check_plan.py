#!/usr/bin/python3
"""Checks what `canzona plan --json` printed: against plan.schema.json, that it
is canonical, and every figure by computing it again.  Written from the schema
alone; shares nothing with the compiler.

    check_plan.py FILE...                   check plans
    check_plan.py --run COMMAND ARG...      check what a command prints
    check_plan.py --self-test COMMAND...    also change one integer, name or
                                            list of the plan after the other
                                            and expect complaints
"""
import os
import subprocess
import sys

from plan_baselines import check_baselines
from plan_bounds import check_bounds, check_classes
from plan_limits import check_limits
from plan_mutants import mutants
from plan_numbers import BYTES, Plan, equal, round_up, wire_bytes
from plan_parts import (check_groupings, check_mesh, check_parameters,
                        check_reductions, check_rules, check_states)
from plan_rewrites import check_rewrites
from plan_schema import Validator, canonical, parse
from plan_slices import (check_layout, gather_bytes, padded_length,
                         pieces, reduce_bytes)
from plan_times import check_times
from plan_trainer import check_trainer
from plan_turns import check_families
from plan_work import check_sharing, check_work

HERE = os.path.dirname(os.path.abspath(__file__))


# ---- how ----

def check_matrices(plan):
    for i, m in enumerate(plan.data["matrices"]):
        name, p = f"matrices[{i}]", plan.params[m["parameter"]]
        whole = plan.stages[p["rule"], "whole"]
        own = plan.own_elements(m)
        away, group = p["element_count"] - plan.kept(m), m["group_size"]
        sharded = plan.shards(p) > 1
        yield from equal(f"{name}.rows, cols", [m["rows"], m["cols"]], p["shape"])
        yield from equal(f"{name}.view", m["view"],
                         "piece" if p["stored"] else "whole")
        yield from equal(f"{name}.batch", m["batch"], max(1, len(p["names"])))
        yield from equal(f"{name} is shared", [m["strategy"], group > 0],
                         ["local" if plan.is_local(m) else
                          "gram" if group > 1 else "owner", True])
        first, step = m["owner"]["shard"] or 0, m["stride"]
        if (step < 1 or plan.shards(p) % (group * step) or
                first % (group * step) >= step or (group == 1 and step > 1)):
            yield f"{name}: {group} ranks, {step} apart, are no block of its shards"
        yield from equal(f"{name}: segments of who shares it",
                         [plan.data["stages"][s]["segment"]
                          for s in plan.segments(m)],
                         list(range(len(plan.segments(m)))) if group > 1 else [])
        yield from equal(f"{name}.cost.flops", m["cost"]["flops"],
                         plan.matrix_flops(m) + plan.near_flops(p) * own)
        yield from equal(f"{name}.cost.bytes", m["cost"]["bytes"],
                         mean_bytes(plan, m, "gather", away) +
                         mean_bytes(plan, m, "scatter", away) if sharded else 0)
        for way in ("gather", "scatter"):
            yield from equal(f"{name}.wire.{way}", m["wire"][way], whole[way])
        is_narrow = {"bf16", "f16"} & {*m["wire"]["gather"], *m["wire"]["scatter"]}
        if m["error_bound"] not in [[100, 10 ** 6]] * (not is_narrow) + [
                [50000, 10 ** 6]]:
            yield f"{name}.error_bound is {m['error_bound']}"
        if not m["owner"]["split"] < plan.n_split(p):
            yield f"{name}: no such owner"
        yield from equal(f"{name} is sharded", m["owner"]["shard"] is not None,
                         sharded)
        yield from equal(f"{name} is in a micro-group",
                         m["micro_group"] is not None,
                         sharded and not plan.is_local(m))
        if (m["owner"]["shard"] or 0) >= plan.shards(p):
            yield f"{name}: no such owner"


def check_buckets(plan):
    places = {}
    for b, bucket in enumerate(plan.data["buckets"]):
        name, end = f"buckets[{b}]", 0
        slices, n_split = bucket["slices"], plan.n_split(bucket)
        yield from equal(f"{name}: ends of slices",
                         [slices[0], slices[-1], len(slices), sorted(slices)],
                         [0, bucket["length"], n_split + 1, slices])
        yield from equal(f"{name}: order and offsets", len(bucket["order"]),
                         len(bucket["offsets"]))
        for i, number in enumerate(bucket["order"]):
            p, offset = plan.params[number], bucket["offsets"][i]
            places.setdefault(number, []).append((b, offset))
            yield from equal(f"{name}: type, reduction, home of {number}",
                             [p["dtype"], p["reduction"], plan.home(p)],
                             [bucket["dtype"], bucket["reduction"],
                              plan.home(bucket)])
            yield from equal(f"{name}: {number} starts", max(offset, end), offset)
            end = offset + p["local_elements"]
            matrix = plan.matrix_of.get(number)
            if matrix:
                yield from equal(
                    f"{name}: elements of {number} in its owner's slice",
                    plan.inside(bucket, i, p["local_elements"],
                                matrix["owner"]["split"]),
                    p["local_elements"])
        held = [number in plan.matrix_of for number in bucket["order"]]
        yield from equal(f"{name}.kind", bucket["kind"],
                         "owned" if all(held) else
                         "mixed" if any(held) else "split")
        yield from equal(f"{name}.groups", bucket["groups"], list(dict.fromkeys(
            plan.params[number]["group"] for number in bucket["order"])))
        yield from equal(f"{name}.length", bucket["length"],
                         padded_length(plan, bucket)
                         if bucket["geometry"] == "padded" else round_up(end, 16))
        yield from equal(f"{name}.pad", bucket["pad"], bucket["length"] - sum(
            plan.params[n]["local_elements"] for n in bucket["order"]))
        yield from equal(f"{name}: unaligned slices",
                         [s for s in slices if s % 16], [])
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
            p = plan.params[m["parameter"]]
            yield from equal(f"{name}.axes", group["axes"], plan.shard_axes(p))
            slots = m["wire"]["gather"] + m["wire"]["scatter"]
            size = sum(round_up(p["element_count"] // m["group_size"] * BYTES[t])
                       for t in slots)
            for rank in plan.owners(m):
                held[rank] = held.get(rank, 0) + size
        yield from equal(f"{name}.peak_bytes", group["peak_bytes"],
                         max(held.values()))
        for way in ("gather", "scatter"):
            yield from equal(f"{name}.{way}_bytes", group[f"{way}_bytes"], sum(
                mean_bytes(plan, m, way, plan.params[m["parameter"]][
                    "element_count"] - plan.kept(m)) for m in members))
        op = plan.data["schedule"][group["op"]]
        yield from equal(f"{name}.op", [op["kind"], op["stream"]], ["kernel", 0])


# ---- what it costs ----

def work(plan):
    """Per rank: flops, matrices alone or with others, elements updated."""
    flops, matrices, updates = ([0] * len(plan.ranks) for _ in range(3))
    for m in plan.data["matrices"]:
        p = plan.params[m["parameter"]]
        for rank in plan.row(m):
            flops[rank] += plan.near_flops(p) * plan.elements(p, rank)
        for rank in plan.owners(m):
            flops[rank] += plan.matrix_flops(m)
            matrices[rank] += 1
    for bucket in plan.data["buckets"]:
        local = [plan.flops(plan.params[n], "local") for n in bucket["order"]]
        for ranks in plan.like(bucket):
            parts = [plan.part(bucket, i, ranks[0]) for i in range(len(local))]
            for rank in ranks:
                flops[rank] += sum(f * n for f, n in zip(local, parts))
                updates[rank] += sum(parts)
    return flops, matrices, updates


def mean_bytes(plan, matrix, way, elements):
    """Of so many elements in the slots of a matrix that travel one way, in the
    mean update."""
    slots = matrix["wire"][way]
    phases = plan.stages[plan.params[matrix["parameter"]]["rule"], "whole"]["phases"]
    if not phases:
        return elements * wire_bytes(slots)
    total = sum(phase["updates"] * BYTES[slot] for phase in phases
                for slot, moves in zip(slots, phase[way]) if moves)
    return -(-elements * total // sum(phase["updates"] for phase in phases))


def transfer_bytes(plan, matrices):
    """Per rank: sent and received by micro-groups for these matrices."""
    sent, received = ([0] * len(plan.ranks) for _ in range(2))
    for matrix in matrices:
        p = plan.params[matrix["parameter"]]
        if plan.shards(p) == 1:
            continue
        group = matrix["group_size"]
        for rank in plan.row(matrix):
            own = [plan.common(matrix, k, rank) for k in range(group)]
            member = plan.member(matrix, rank)
            away = sum(own) - (0 if member is None else own[member])
            sent[rank] += mean_bytes(plan, matrix, "gather", away)
            received[rank] += mean_bytes(plan, matrix, "scatter", away)
            if member is not None:
                away = p["element_count"] // group - own[member]
                sent[rank] += mean_bytes(plan, matrix, "scatter", away)
                received[rank] += mean_bytes(plan, matrix, "gather", away)
    return list(zip(sent, received))


def sum_bytes(plan, matrices):
    """Per rank: sent, and as much received, by those who share matrices."""
    moved = [0] * len(plan.ranks)
    for matrix in matrices:
        group = matrix["group_size"]
        sums = [s for i in plan.segments(matrix)
                for s in plan.data["stages"][i]["sums"]]
        for rank in plan.owners(matrix) if group > 1 else []:
            for one in sums:
                count, unit = one["count"], BYTES[one["dtype"]]
                own = count // group + (plan.member(matrix, rank) < count % group)
                others = count - own if one["how"] == "sum" else 0
                if one["band"]:
                    own = own // one["band"] * (one["band"] // 2 + 1)
                moved[rank] += (others + own * (group - 1)) * unit
    return list(zip(moved, moved))


def check_wire(plan):
    metrics, buckets = plan.data["metrics"], plan.data["buckets"]
    reduce = [reduce_bytes(plan, b) for b in buckets]
    publish = [gather_bytes(plan, b) for b in buckets]
    transfer = transfer_bytes(plan, plan.data["matrices"])
    figures = {"reduce_scatter": reduce, "all_gather": publish,
               "transfer": [transfer],
               "group_sum": [sum_bytes(plan, plan.data["matrices"])]}
    for kind, lists in figures.items():
        for side, way in enumerate(("sent_bytes", "received_bytes")):
            yield from equal(f"metrics.{way}.{kind}", metrics[way][kind],
                             [sum(one[r][side] for one in lists)
                              for r in plan.ranks])
    yield from check_ops(plan, reduce, publish)
    yield from check_recover(plan)
    yield from check_transfers(plan)
    yield from check_work(plan, {"transfer": transfer_bytes,
                                 "group_sum": sum_bytes})


def gathered_bytes(plan, matrix):
    """Rank by rank: f32 gradients of a matrix that are elsewhere in its row."""
    p = plan.params[matrix["parameter"]]
    if plan.shards(p) == 1:
        return 0
    return BYTES["f32"] * sum(p["element_count"] - plan.elements(p, rank)
                              for rank in plan.row(matrix))


def check_gathered(plan):
    """What f32 gradients gathered by all would be, and that `tp auto` shares no
    more than `wire` says of it, or than owners alone send."""
    metrics, policy = plan.data["metrics"], plan.data["policy"]
    matrices = plan.data["matrices"]
    gathered = [gathered_bytes(plan, m) for m in matrices]
    yield from equal("metrics.gathered_gradient_bytes",
                     metrics["gathered_gradient_bytes"], sum(gathered))
    sent = sum(sum(metrics["sent_bytes"][kind]) for kind in ("transfer", "group_sum"))
    owned = [sum(out for out, _ in transfer_bytes(
        plan, [dict(m, group_size=1, stride=1)])) for m in matrices]
    most = sum(max(float(policy["wire"]) * g, o) for g, o in zip(gathered, owned))
    if policy["tp_strategy"] == "auto" and sent > most + len(matrices):
        yield (f"matrices send {sent} bytes, and {most:.0f} at most by wire "
               f"{policy['wire']}")


def check_ops(plan, reduce, publish):
    seen = {"reduce_scatter": [], "all_gather": [], "square_sum": [], "kernel": []}
    per_bucket = {"reduce_scatter": reduce, "all_gather": publish}
    for i, op in enumerate(plan.data["schedule"]):
        name, kind = f"schedule[{i}]", op["kind"]
        if any(w >= i for w in op["waits"]) or op["waits"] != sorted(set(op["waits"])):
            yield f"{name}.waits: {op['waits']}"
        if kind in seen and op["bucket"] is not None:
            seen[kind].append(op["bucket"])
        if kind in ("transfer", "group_sum"):
            continue
        yield from equal(f"{name}.axes", op["axes"], expected_axes(plan, op))
        for side, way in enumerate(("sent_bytes", "received_bytes")):
            ranks = per_bucket[kind][op["bucket"]] if kind in per_bucket else []
            yield from equal(f"{name}.{way}", op[way], sum(r[side] for r in ranks))
    for kind, expected in expected_buckets(plan).items():
        yield from equal(f"buckets of {kind}", sorted(seen[kind]), expected)


def travels(plan, m):
    """Whether its micro-group has transfers: some matrix of it is not shared by its
    shards' ranks as these lie."""
    if m["micro_group"] is None:
        return False
    members = plan.data["groups"][m["micro_group"]]["members"]
    return any(plan.kept(plan.matrix_of[i]) != plan.params[i]["element_count"]
               for i in members)


def check_transfers(plan):
    """Operations of micro-groups: what they move together over each axes."""
    ops = [op for op in plan.data["schedule"] if op["kind"] == "transfer"]
    over = {}
    for m in plan.data["matrices"]:
        axes = tuple(plan.shard_axes(plan.params[m["parameter"]]))
        if travels(plan, m):
            over.setdefault(axes, []).append(m)
    yield from equal("axes of transfers", set(over) |
                     {tuple(op["axes"]) for op in ops if op["sent_bytes"]}, set(over))
    for axes, matrices in over.items():
        moved = transfer_bytes(plan, matrices)
        for side, way in enumerate(("sent_bytes", "received_bytes")):
            yield from equal(
                f"transfers over {axes}: {way}",
                sum(op[way] for op in ops if tuple(op["axes"]) == axes),
                sum(m[side] for m in moved))


def expected_axes(plan, op):
    axes = {"reduce_scatter": "reduce_axes", "all_gather": "split_axes"}
    if op["kind"] in axes:
        bucket = plan.data["buckets"][op["bucket"]]
        return plan.reduction(bucket)[axes[op["kind"]]]
    return plan.axes if op["kind"] in ("all_reduce", "guard", "undo") else []


def check_recover(plan):
    """The guard, where nothing clips, and keep stand right before all that does
    not reduce; undo is the last.  No other is of their section."""
    ops = plan.data["schedule"]
    first = next((i for i, op in enumerate(ops) if op["section"] != "reduce"), 0)
    expected = ["guard"] * (float(plan.data["policy"]["clip"]) == 0) + ["keep"]
    found = [op["kind"] for op in ops[first:first + len(expected)]]
    yield from equal("before the update", found, expected)
    expected.append("undo")
    yield from equal("section recover", expected,
                     [op["kind"] for op in ops if op["section"] == "recover"])
    yield from equal("kind of the last operation", ops[-1]["kind"], "undo")


def expected_buckets(plan):
    """Which buckets have operations of each kind of their own: one kernel for
    matrices of which nothing travels, and one for what may be cut.  Joined ones are of
    all buckets from the last that has any, which is first in order, to 0."""
    policy, buckets = plan.data["policy"], plan.data["buckets"]
    every = list(range(len(buckets)))
    decides = float(policy["clip"]) > 0 or policy["skip"]
    gathered = {m["parameter"] for m in plan.data["matrices"]
                if m["owner"]["shard"] is not None and not plan.is_local(m)}
    if policy["joins_updates"] and len(every) > 1:
        alone = [b for b in every if (plan.matrix_of.keys() - gathered) & set(buckets[b]["order"])]
        kernels = [b for b in alone if alone == [0]]
    else:
        kernels = [b for b in every for of_matrices in {
            n in plan.matrix_of for n in buckets[b]["order"] if n not in gathered}]
    return {
        "reduce_scatter": every,
        "all_gather": [b for b in every if plan.n_split(buckets[b]) > 1],
        "square_sum": every if decides else [],
        "kernel": kernels,
    }


def check_batch(plan, name, batch):
    """Two or more parameters of one rule and, but for element-wise rows, which have
    no bytes, of one length; of a kernel that is on stream 0."""
    op = plan.data["schedule"][batch["operation"]]
    params = [plan.params[n] for n in batch["params"]]
    yield from equal(f"kind, stream of {name}", [op["kind"], op["stream"]],
                     ["kernel", 0])
    yield from equal(f"parts of {name}",
                     batch["coordinate"] < plan.extent(op["over"]), True)
    yield from equal(f"parameters of {name}", len(params) > 1, True)
    yield from equal(f"rules and lengths of {name}",
                     len({(p["rule"], batch["bytes"] and p["element_count"])
                          for p in params}), 1)


def check_gpu(plan):
    """What a GPU has behind the arena: the largest batch of a rank.  A strict
    plan has neither batches with bytes nor tiles, one with a cap on memory no such
    batches."""
    data, n_ranks = plan.data, len(plan.ranks)
    yield from equal("gpu, metrics.batch_bytes", "gpu" in data,
                     "batch_bytes" in data["metrics"])
    gpu = data.get("gpu", {"tilings": [], "batches": []})
    tiled = [tuple(t[key] for key in ("m", "n", "k", "batch", "symmetric",
                                      "addend"))
             for t in gpu["tilings"]]
    yield from equal("gpu.tilings of a product", len(set(tiled)), len(tiled))
    most, seen = [0] * n_ranks, set()
    for i, batch in enumerate(gpu["batches"]):
        yield from check_batch(plan, f"gpu.batches[{i}]", batch)
        own = [(batch["operation"], batch["coordinate"], n) for n in batch["params"]]
        yield from equal(f"gpu.batches[{i}].params again", seen.intersection(own),
                         set())
        seen.update(own)
        over = data["schedule"][batch["operation"]]["over"]
        for rank in plan.ranks:
            if plan.over(rank, over) == batch["coordinate"]:
                most[rank] = max(most[rank], batch["bytes"] * len(own))
    yield from equal("metrics.batch_bytes",
                     data["metrics"].get("batch_bytes", [0] * n_ranks), most)
    if data["header"]["strict"]:
        yield from equal("gpu.tilings of a strict plan", gpu["tilings"], [])
    if data["header"]["strict"] or data["policy"]["memory_bytes"] > 0:
        yield from equal("bytes of gpu.batches", sum(
            batch["bytes"] for batch in gpu["batches"]), 0)


def check_memory(plan):
    data, metrics = plan.data, plan.data["metrics"]
    memory, policy = metrics["memory_bytes"], data["policy"]
    master = BYTES[policy["master_dtype"]]
    for rank in plan.ranks:
        expected = dict.fromkeys(memory, 0)
        expected["scratch"] = metrics["peak_scratch_bytes"][rank]
        for bucket in data["buckets"]:
            if not plan.is_home(bucket, rank):
                continue
            own, unit = plan.own_slice(bucket, rank), BYTES[bucket["dtype"]]
            expected["param"] += bucket["length"] * unit
            reduction = plan.reduction(bucket)
            expected["grad"] += (bucket["length"] * BYTES[reduction["dtype"]] *
                                 reduction["leaves"])
            staged = pieces(plan, bucket, rank)[0]
            expected["reduced"] += 4 * (
                own + (staged if bucket["geometry"] == "equal" else 0))
            expected["master"] += own * master if master > unit else 0
            expected["state"] += plan.state_bytes(bucket, rank)
        for kind, value in expected.items():
            yield from equal(f"metrics.memory_bytes.{kind}[{rank}]",
                             memory[kind][rank], value)


def check_model(plan, updates, matrices):
    """Over all ranks: every element and matrix of the model, under each of its
    names, once per replica."""
    elements = n_matrices = 0
    for i, p in enumerate(plan.params):
        parts = plan.n_split(p) * plan.shards(p) * plan.extent(p["spread"])
        axes, coordinates = plan.home(p)
        replicas = (len(plan.ranks) // parts // plan.extent(axes) *
                    (len(coordinates) or 1) * max(1, len(p["names"])))
        elements += replicas * p["element_count"]
        if i in plan.matrix_of:
            n_matrices += replicas * plan.matrix_of[i]["group_size"]
    yield from equal("updates of all ranks", updates, elements)
    yield from equal("matrices of all ranks", matrices, n_matrices)


def check_load(plan):
    data, metrics = plan.data, plan.data["metrics"]
    flops, matrices, updates = work(plan)
    yield from equal("metrics.flops", metrics["flops"], flops)
    yield from equal("metrics.matrices", metrics["matrices"], matrices)
    yield from equal("metrics.updates", metrics["updates"], updates)
    yield from check_model(plan, sum(updates), sum(matrices))


CHECKS = (check_mesh, check_rules, check_reductions, check_parameters, check_states, check_families, check_sharing,
          check_matrices, check_buckets, check_layout,
          check_groups, check_groupings, check_wire, check_gathered, check_trainer,
          check_memory, check_gpu, check_load, check_times, check_limits,
          check_rewrites, check_classes, check_bounds, check_baselines)


def complaints(data, validator):
    fits = True
    for message in validator.validate(data):
        fits = False
        yield message
    if not fits:
        return
    plan = Plan(data)
    try:
        for part in CHECKS:
            yield from part(plan)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        yield f"numbers that name nothing: {error!r}"


def check(data, validator):
    return list(complaints(data, validator))


def check_text(text, validator):
    try:
        data = parse(text)
    except ValueError as error:
        return [f"not JSON as we write it: {error}"]
    if canonical(data) + "\n" != text:
        return ["not canonical"]
    return check(data, validator)


def self_test(data, validator, limit):
    """Plans with one thing wrong that pass: there must be none of about `limit`
    of each kind."""
    text = canonical(data)
    validator.remember(data)
    for what, mutant in mutants(data, limit):
        if next(complaints(mutant, validator), None) is None:
            yield f"{what} is not noticed"
    assert canonical(data) == text, "mutants share parts, which change"


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
    option, _, limit = arguments[0].partition("=")
    mutate = option == "--self-test"
    if mutate:
        arguments = ["--run"] + arguments[1:]
    failed = False
    for name, text in read(arguments):
        messages = check_text(text, validator)
        if mutate and not messages:
            messages = list(self_test(parse(text), validator, int(limit or 300)))
        failed |= bool(messages)
        print("\n".join(f"{name}: {m}" for m in messages[:20]) or
              f"{name}: every figure computed again")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
