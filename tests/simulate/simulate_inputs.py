"""Figures made up for a plan's structure: a machine, kernels, geometries,
messages and baselines, from a seed."""
import copy
import math
import random

SECOND = 10**12
UNITS = {"launch": SECOND, "node_latency": SECOND, "network_latency": SECOND}

# Near an H100 in nodes of eight.
MACHINE = {
    "gpus_per_node": 8, "sms": 132, "tile_rows": 128, "tile_columns": 256,
    "symmetric": 1, "bf16_rate": 790e12, "f32_rate": 52e12,
    "memory_rate": 2.85e12, "launch": 3e-6, "node_rate": 360e9,
    "node_latency": 15e-6, "network_rate": 40e9, "network_latency": 30e-6,
}
COUNTS = ("gpus_per_node", "sms", "tile_rows", "tile_columns", "symmetric")


def constants(draw):
    """The machine above, each rate and latency within a factor of two."""
    return [{"name": name, "unit": "", "source": "made up", "measured": False,
             "value": value if name in COUNTS else
             int(value * UNITS.get(name, 1) * 2 ** draw.uniform(-1, 1))}
            for name, value in MACHINE.items()]


def uneven_reduces(draw):
    return [{"link": draw.choice(("node", "network")),
             "bytes": draw.choice((1 << 10, 1 << 16, 1 << 20, 1 << 26)),
             "roots": draw.choice((1, 2, 3, 8)), "measured": draw.random() < 0.3,
             "thousandths": draw.randrange(400, 1001)}
            for _ in range(draw.choice((0, 1, 6)))]


def product(draw):
    rows, columns, inner = (draw.choice((16, 300, 2048, 5120)) for _ in range(3))
    symmetric = draw.random() < 0.5
    columns = rows if symmetric else columns
    return {"kind": "product", "rows": rows, "columns": columns, "inner": inner,
            "symmetric": symmetric, "dtype": draw.choice(("bf16", "f32")),
            "bytes": 2 * (rows * inner + inner * columns + rows * columns)}


def steps(draw, stage):
    if stage["where"] not in ("whole", "shared"):
        return [{"kind": "map", "bytes": draw.randrange(4, 40) << 20}
                for _ in range(draw.randrange(1, 3))]
    return [product(draw) if draw.random() < 0.7 else
            {"kind": "map", "bytes": draw.randrange(1 << 28)}
            for _ in range(draw.randrange(1, 8))]


def slices(draw, elements, n, is_even):
    """n lengths, equal or not."""
    if is_even or draw.random() < 0.5:
        step = -(-elements // n)
        ends = [min(elements, step * (i + 1)) for i in range(n)]
    else:
        ends = sorted(draw.randrange(elements + 1) for _ in range(n - 1))
        ends.append(elements)
    return [b - a for a, b in zip([0] + ends, ends)]


def message(draw, plan, bucket, is_even):
    """Some parameters that are at home where those of the bucket are, of its
    reduction."""
    def kind(p):
        return p["home"], plan["buckets"][p["bucket"]]["reduction"]
    sizes = {a["name"]: a["size"] for a in plan["mesh"]["axes"]}
    how = next(r for r in plan["reductions"] if r["name"] == bucket["reduction"])
    params = plan["parameters"]
    like = kind(params[bucket["order"][0]])
    known = [n for n, p in enumerate(params)
             if not p["tied_to"] and p["bucket"] is not None and kind(p) == like]
    n = math.prod(sizes[a] for a in how["split_axes"])
    return {"reduction": bucket["reduction"],
            "order": draw.sample(known, draw.randrange(1, min(len(known), 4) + 1)),
            "elements": bucket["length"],
            "bytes": bucket["length"] * draw.choice((2, 4)),
            "slices": slices(draw, bucket["length"], n, is_even)}


def baseline(draw, plan, name, bucket_elements):
    buckets = draw.sample(plan["buckets"], len(plan["buckets"]))
    is_even = draw.random() < 0.5
    groupings = [{"name": f"grouping {i}",
                  "time_ps": [draw.randrange(10**11) for _ in
                              range(plan["mesh"]["ranks"])]}
                 for i in range(draw.randrange(3))]
    return {"name": name, "groupings": groupings,
            "bucket_elements": bucket_elements,
            "all_reduces": draw.random() < 0.3,
            "gathers": draw.random() < 0.8,
            "exposed": draw.random() < 0.3,
            "time_ps": [draw.randrange(10**11) for _ in
                        range(plan["mesh"]["ranks"])],
            "state_bytes": [0] * plan["mesh"]["ranks"],
            "launches": [draw.randrange(1000) for _ in
                         range(plan["mesh"]["ranks"])],
            "messages": [message(draw, plan, bucket, is_even)
                         for bucket in buckets]}


def make_up(plan, seed):
    """The same schedule, with other figures."""
    draw = random.Random(seed)
    plan = copy.deepcopy(plan)
    plan["constants"] = constants(draw)
    plan["uneven_reduce"] = uneven_reduces(draw)
    for stage in plan["stages"]:
        stage["steps"] = steps(draw, stage)
        stage["batch_ps"] = [draw.randrange(10**10)
                             for _ in range(draw.choice((0, 1, 4, 16)))]
        stage["time_ps"] = draw.randrange(10**10)
    for i, bucket in enumerate(plan["buckets"]):
        bucket["message"] = i // draw.choice((1, 1, 2))
        bucket["geometry"] = draw.choice(("padded", "equal", "uneven", "uneven"))
    sizes = draw.sample((1, 40000000, 123456789), 3)
    plan["baselines"] = [baseline(draw, plan, f"baseline {i // 2}", size)
                         for i, size in enumerate(sizes)]
    return plan
