"""Slices of buckets: their padding, order and geometry, and what travels to and
from them, computed again from plan JSON."""
import bisect

from plan_numbers import BYTES, equal, round_up


def padded_length(plan, bucket):
    """As many slices as there are, of the least length that will do."""
    n = plan.n_split(bucket)
    sizes = [round_up(plan.params[i]["local_elements"], 16) for i in bucket["order"]]
    if bucket["kind"] == "split":
        return n * round_up(-(-sum(sizes) // n), 16)
    slices = [0] * n
    for offset, size in zip(bucket["offsets"], sizes):
        slices[bisect.bisect(bucket["slices"][:-1], offset) - 1] += size
    return n * max(slices)


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
