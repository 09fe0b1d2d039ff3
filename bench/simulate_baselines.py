"""The published greedy on the parameters of a plan, as a baseline of its JSON, with
micro-groups one after the other.  Times are the plan's own kernels; all
arithmetic is in whole numbers."""

SECOND = 10**12
UNIT = 1 << 20
BYTES = {"f64": 8, "f32": 4, "bf16": 2}


def ceil(a, b):
    return -(-a // b)


class Kernels:
    """Times of stages, from their steps and the constants."""

    def __init__(self, plan):
        self.c = {c["name"]: c["value"] for c in plan["constants"]}
        self.stages = {(s["rule"], s["where"]): s for s in plan["stages"]}
        self.known = {}

    def send(self, data):
        return self.c["node_latency"] + ceil(data * SECOND, self.c["node_rate"])

    def map(self, data):
        return ceil(data * SECOND, self.c["memory_rate"])

    def step(self, step):
        c = self.c
        if step["kind"] == "map":
            return c["launch"] + self.map(step["bytes"])
        if step["kind"] == "call":
            return (c["launch"] * step["launches"] +
                    max(ceil(step["effort"] * SECOND, c["f32_rate"]),
                        self.map(step["bytes"])))
        rows = ceil(step["rows"], c["tile_rows"])
        columns = ceil(step["columns"], c["tile_columns"])
        tiles = rows * columns
        if step["symmetric"] and c["symmetric"]:
            tiles = sum(min(columns, ceil((i + 1) * c["tile_rows"],
                                          c["tile_columns"])) for i in range(rows))
        flops = (ceil(tiles, c["sms"]) * c["sms"] * 2 * c["tile_rows"] *
                 c["tile_columns"] * step["inner"])
        rate = c["bf16_rate" if step["dtype"] == "bf16" else "f32_rate"]
        return c["launch"] + max(ceil(flops * SECOND, rate), self.map(step["bytes"]))

    def whole(self, param):
        rule = param["rule"]
        if rule not in self.known:
            self.known[rule] = sum(map(self.step,
                                       self.stages[rule, "whole"]["steps"]))
        return self.known[rule]

    def shard(self, param):
        """Element-wise stages on one rank's shard."""
        return sum(self.c["launch"] + self.map(ceil(
            param["local_elements"] * step["bytes"], UNIT))
            for where in ("local", "before", "after")
            if (param["rule"], where) in self.stages
            for step in self.stages[param["rule"], where]["steps"])


def layer(name):
    """The order of the forward pass."""
    numbers = [int(s) for s in name.split(".") if s.isdigit()]
    return numbers[0] if numbers else 10**9 * (1 if "output" in name or
                                               "final" in name else -1)


def gradients(plan):
    """Trained parameters as their gradients come."""
    params = [p for p in plan["parameters"] if p["bucket"] is not None]
    numbered = sorted(enumerate(params), key=lambda x: (layer(x[1]["name"]), x[0]))
    return [p for _, p in reversed(numbered)]


def megatron_buckets(plan):
    """A bucket that holds enough is closed."""
    buckets, filled = [[]], 0
    for p in gradients(plan):
        if filled >= plan["policy"]["bucket_elements"]:
            buckets.append([])
            filled = 0
        buckets[-1].append(p)
        filled += p["local_elements"]
    return buckets


def greedy(buckets, n):
    """Owners: [bucket][rank], lists of parameters.  The greedy's G is the mean of
    all lengths; cuts are the items' ends nearest to running sums of targets."""
    total = sum(p["local_elements"] for b in buckets for p in b)
    load, owned = [0] * n, [None] * len(buckets)
    lengths = [sum(p["local_elements"] for p in b) for b in buckets]
    for b in sorted(range(len(buckets)), key=lambda i: -lengths[i]):
        gaps = [max(0, total - n * x) for x in load]  # n times d
        owned[b] = cut(buckets[b], lengths[b], gaps, n)
        for r, items in enumerate(owned[b]):
            load[r] += sum(p["local_elements"] for p in items)
    return owned


def cut(items, length, gaps, n):
    ends = [0]
    for p in items:
        ends.append(ends[-1] + p["local_elements"])
    whole = sum(gaps)
    parts, at, running = [], 0, 0
    for r in range(n):
        running += gaps[r] if whole else 1
        target, scale = length * running, whole or n
        last = len(items) if r == n - 1 else min(
            range(at, len(ends)), key=lambda i: (abs(ends[i] * scale - target), i))
        parts.append(items[at:last])
        at = last
    return parts


def least(loads):
    return min(range(len(loads)), key=lambda i: (loads[i], i))


def row_time(kernels, items, n_hosts):
    """Matrices dealt to hosts, longest first; all gather, compute, scatter."""
    compute, gather, scatter = ([0] * n_hosts for _ in range(3))
    matrices = [p for p in items if p["matrices"]]
    for p in sorted(matrices, key=lambda p: -kernels.whole(p)):
        host = least(compute)
        away = p["element_count"] - p["local_elements"]
        compute[host] += kernels.whole(p)
        gather[host] += away * 4
        scatter[host] += away * BYTES["bf16"]
    wire = sum(kernels.send(max(x)) for x in (gather, scatter) if max(x))
    return max(compute) + wire + sum(kernels.shard(p) for p in items)


def messages(plan, buckets, slices):
    """Of buckets with one reduction."""
    number = {p["name"]: i for i, p in enumerate(plan["parameters"])}
    return [{"reduction": plan["buckets"][0]["reduction"],
             "order": [number[p["name"]] for p in b],
             "elements": sum(s), "bytes": sum(s) * BYTES[b[0]["dtype"]], "slices": s}
            for b, s in zip(buckets, slices)]


def published(plan, n, n_hosts):
    kernels = Kernels(plan)
    buckets = megatron_buckets(plan)
    owned = greedy(buckets, n)
    times = [row_time(kernels, [p for b in owned for p in b[r]], n_hosts)
             for r in range(n)]
    slices = [[sum(p["local_elements"] for p in part) for part in b] for b in owned]
    zeros = [0] * (n * n_hosts)  # launches are in its times
    return {"name": "published greedy", "all_reduces": False, "gathers": True,
            "exposed": False, "bucket_elements": plan["policy"]["bucket_elements"],
            "time_ps": [t for t in times for _ in range(n_hosts)],
            "launches": zeros, "state_bytes": zeros, "groupings": [],
            "messages": messages(plan, buckets, slices)}
