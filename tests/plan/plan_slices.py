"""Slices of buckets: their padding, order and geometry, and what travels to and
from them, computed again from plan JSON."""
import bisect

from plan_numbers import BYTES, equal, round_up


def is_in_shards(plan, piece):
    """Whether each shard of the stored tensor has it as one part of its rows."""
    stored = piece["stored"]
    maps = [stored["map"][k:k + 3] for k in range(0, len(stored["map"]), 3)]
    return (stored["batch"] is None and piece["bounds"] is None and
            all(m[1] == n for m, n in zip(maps[1:], stored["shape"][1:])) and
            maps[0][1] * plan.extent(piece["shard"][0]) == piece["shape"][0])


def is_lent(plan):
    """Buckets are those of Megatron-core's DDP."""
    policy = plan.data["policy"]
    return (policy["layout"], policy["geometry"]) == ("trainer", "padded")


def runs(plan):
    """Numbers of all pieces of tensors that lie in the trainer's padded buckets as
    they are stored, each tensor's in that order."""
    found, tensors = [], {}
    if not is_lent(plan):
        return found
    for i, p in enumerate(plan.params):
        if p["stored"]:
            tensors.setdefault(p["stored"]["name"], []).append(i)
    for numbers in tensors.values():
        pieces = [plan.params[i] for i in numbers]
        at = {i: plan.params[i]["stored"]["map"] for i in numbers}
        order = sorted(numbers, key=lambda i: at[i][0])
        ends = [at[i][0] + at[i][1] for i in order]
        if (len(order) > 1 and all(is_in_shards(plan, p) for p in pieces) and
                [at[i][0] for i in order] == [0, *ends[:-1]] and
                ends[-1] * plan.extent(pieces[0]["shard"][0]) == pieces[0]["stored"]["shape"][0]
                and len({(i in plan.matrix_of, plan.params[i]["reduction"]) for i in order}) == 1
                and not any(plan.params[i]["local_elements"] % 16 for i in order[:-1])):
            found.append(order)
    return found


def alignment(plan):
    """Of starts and of slices."""
    return 64 if is_lent(plan) else 16


def padded_length(plan, bucket):
    """As many slices as there are, of the least length that will do."""
    n, align = plan.n_split(bucket), alignment(plan)
    run_of = {i: run[0] for run in runs(plan) for i in run}
    sizes = {}
    for i, offset in zip(bucket["order"], bucket["offsets"]):
        size, start = sizes.get(run_of.get(i, i), (0, offset))
        sizes[run_of.get(i, i)] = size + plan.params[i]["local_elements"], start
    if bucket["kind"] == "split":
        return n * round_up(-(-sum(round_up(size, align) for size, _ in sizes.values()) // n),
                            align)
    slices = [0] * n
    for size, offset in sizes.values():
        slices[bisect.bisect(bucket["slices"][:-1], offset) - 1] += round_up(size, align)
    return n * max(slices)


def check_lent(plan):
    """The trainer's padded buckets, as Megatron-core's DDP has them: of parameters of one
    kind each bucket has a run of those that gradients come to, in any order; tensors of
    several matrices lie as they are stored."""
    keys, buffers = gradient_keys(plan), {}
    place = {i: (p["bucket"], p["offset"]) for i, p in enumerate(plan.params)}
    behind = set()
    for run in runs(plan):
        for before, i in zip(run, run[1:]):
            bucket, offset = place[before]
            yield from equal(f"parameters[{i}] behind {before}", place[i],
                             (bucket, offset + plan.params[before]["local_elements"]))
            behind.add(i)
    for i, (_, offset) in place.items():
        if i not in behind:
            yield from equal(f"parameters[{i}]: start by 64", offset % 64, 0)
    for b, bucket in enumerate(plan.data["buckets"]):
        yield from equal(f"buckets[{b}]: slices by 64",
                         [s for s in bucket["slices"] if s % 64], [])
        key = bucket["reduction"], bucket["dtype"], bucket["kind"], str(plan.home(bucket))
        buffers.setdefault(key, []).append([keys[p] for p in bucket["order"]])
    for key, orders in buffers.items():
        yield from equal(f"{key}: buckets as gradients come",
                         [(max(b), min(a)) for a, b in zip(orders, orders[1:])
                          if max(b) > min(a)], [])


def gradient_keys(plan):
    """By layer, the first segment that is a number, behind one prefix; then as
    defined.  Gradients come backwards."""
    blocks, keys = {}, []
    for i, p in enumerate(plan.params):
        segments = (p["names"] or [p["name"]])[0].split(".")
        at = next((k for k, s in enumerate(segments) if s.isdecimal()), None)
        prefix = i if at is None else tuple(segments[:at])
        layer = 0 if at is None else int(segments[at])
        keys.append((blocks.setdefault(prefix, i), layer, i))
    return keys


def check_layout(plan):
    """In the trainer's order, in each bucket and from one to the next; matrices
    that other axes shard have buckets of their own."""
    yield from equal("geometries of buckets",
                     {b["geometry"] for b in plan.data["buckets"]} |
                     {plan.data["policy"]["geometry"]},
                     {plan.data["policy"]["geometry"]})
    if plan.data["policy"]["layout"] != "trainer":
        return
    if plan.data["policy"]["geometry"] == "padded":
        yield from check_lent(plan)
        return
    keys, buffers, axes = gradient_keys(plan), {}, {}
    for b, bucket in enumerate(plan.data["buckets"]):
        order = bucket["order"]
        yield from equal(f"buckets[{b}]: the trainer's order", order,
                         sorted(order, key=lambda p: keys[p], reverse=True))
        if bucket["geometry"] != "uneven":
            continue
        key = bucket["reduction"], bucket["dtype"], str(plan.home(bucket))
        buffers.setdefault(key, []).append(order)
        axes.setdefault(key, set()).update(
            tuple(plan.shard_axes(plan.params[p])) for p in order
            if p in plan.matrix_of and plan.shards(plan.params[p]) > 1)
    for key, orders in buffers.items():
        orders.sort(key=lambda order: keys[order[0]], reverse=True)
        order = sum(orders, [])
        if len(axes[key]) < 2:
            yield from equal("the trainer's order, bucket behind bucket", order,
                             sorted(order, key=lambda p: keys[p], reverse=True))


def pieces(plan, bucket, rank):
    """Elements of the equal part of a rank's split coordinate, and of the part
    and of the slice without the other."""
    if not plan.is_home(bucket, rank):
        return 0, 0, 0
    n, at = bucket["length"], plan.split(rank, bucket)
    step = round_up(-(-n // plan.n_split(bucket)), 16)
    start, end = min(n, at * step), min(n, (at + 1) * step)
    low, high = bucket["slices"][at:at + 2]
    kept = max(0, min(end, high) - max(start, low))
    return end - start, end - start - kept, high - low - kept


def exchanges(plan, bucket, axes):
    return bucket["geometry"] == "equal" and set(
        plan.reduction(bucket)["split_axes"]) <= set(axes)


def collective_bytes(plan, bucket, axes):
    """Per rank: elements of others, own ones times others, sent and received
    between parts and slices."""
    found, equal = {}, exchanges(plan, bucket, axes)
    for members in plan.communicators(axes):
        three = [pieces(plan, bucket, r) if equal else
                 (plan.own_slice(bucket, r), 0, 0) for r in members]
        for rank, (own, part, slice_) in zip(members, three):
            found[rank] = (sum(p[0] for p in three) - own,
                           own * (len(members) - 1), part, slice_)
    return [found[r] for r in plan.ranks]


def reduce_bytes(plan, bucket):
    """Per rank: sent and received by reduce_scatter."""
    reduction = plan.reduction(bucket)
    unit = reduction["leaves"] * BYTES[reduction["dtype"]]
    return [(others * unit + part * 4, own * unit + slice_ * 4)
            for others, own, part, slice_ in
            collective_bytes(plan, bucket, reduction["reduce_axes"])]


def gather_bytes(plan, bucket):
    """Per rank: sent and received by all_gather."""
    unit = BYTES[bucket["dtype"]]
    return [((own + slice_) * unit, (others + part) * unit)
            for others, own, part, slice_ in
            collective_bytes(plan, bucket, plan.reduction(bucket)["split_axes"])]
