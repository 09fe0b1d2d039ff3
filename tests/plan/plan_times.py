"""Predicted times of a plan, computed again from the kernels of its stages and
the constants of its machine.  Written from the schema alone."""
import math

from plan_numbers import Plan, equal

PS = 10 ** 12
ELEMENTS = 1 << 20
MOST_BATCH = 16
CAP = 1 << 30
BY_ROW = ("whole", "shared")


def ceil_div(a, b):
    return -(-a // b)


def constants(plan):
    return {c["name"]: c["value"] for c in plan.data["constants"]}


def tiles(m, step):
    rows = ceil_div(step["rows"], m["tile_rows"])
    columns = ceil_div(step["columns"], m["tile_columns"])
    if not (step["symmetric"] and m["symmetric"]):
        return rows * columns
    return sum(min(columns, ceil_div((r + 1) * m["tile_rows"], m["tile_columns"]))
               for r in range(rows))


def step_ps(m, step, batch, launch):
    """All of a batch in one kernel."""
    move = ceil_div(step["bytes"] * batch * PS, m["memory_rate"])
    if step["kind"] == "map":
        return move + launch
    if step["kind"] == "call":
        effort = ceil_div(step["effort"] * batch * PS, m["f32_rate"])
        return max(move, effort) + step["launches"] * launch
    waves = ceil_div(tiles(m, step) * batch, m["sms"])
    flops = (waves * m["sms"] * 2 * m["tile_rows"] * m["tile_columns"] *
             step["inner"])
    rate = m["bf16_rate" if step["dtype"] in ("bf16", "f16") else "f32_rate"]
    return max(move, ceil_div(flops * PS, rate)) + launch


def most_together(plan, stage):
    """The largest batch that an operation has, where nothing caps memory."""
    if plan.data["header"]["strict"]:
        return 1
    cap = plan.data["policy"]["micro_group_bytes"] or CAP
    return max(1, min(MOST_BATCH, cap // max(stage["work_bytes"], 1)))


def batch_of(plan, stage):
    """What a rank has if all have as many."""
    n = 0
    for p in plan.params:
        if p["rule"] == stage["rule"]:
            axes, coordinates = plan.home(p)
            copies = len(plan.ranks) // (plan.n_split(p) * plan.shards(p))
            n += copies * (len(coordinates) or 1) // plan.extent(axes)
    n //= len(plan.ranks)
    batch = 1
    while batch * 2 <= min(n, most_together(plan, stage)):
        batch *= 2
    return batch


def batches(n, most):
    """Sizes of the batches of n matrices."""
    return [most] * (n // most) + [n % most] * (n % most > 0)


def matrices_ps(stage, n):
    """Of n matrices of an operation."""
    of = stage["batch_ps"]
    return sum(of[batch - 1] for batch in batches(n, len(of))) if of else 0


def mean_ps(m, stage, batch, launch):
    """Of a batch in the mean update: each phase as often as it comes."""
    phases = stage["phases"] or [{"updates": 1, "steps": stage["steps"]}]
    updates = sum(phase["updates"] for phase in phases)
    return ceil_div(sum(phase["updates"] * step_ps(m, step, batch, launch)
                        for phase in phases for step in phase["steps"]), updates)


def check_phase_times(name, m, stage, batch, launch):
    for k, phase in enumerate(stage["phases"]):
        time = mean_ps(m, {"phases": [dict(phase, updates=1)]}, batch, launch)
        yield from equal(f"{name}.phases[{k}].time_ps", phase["time_ps"],
                         ceil_div(time, batch) if m else 0)


def check_costliest(name, stage):
    """What the stage says is what its costliest phase does."""
    if not stage["phases"]:
        return
    flops = [phase["flops"] for phase in stage["phases"]]
    yield from equal(f"{name}.flops", stage["flops"], max(flops))
    if stage["steps"] not in [p["steps"] for p in stage["phases"]
                              if p["flops"] == stage["flops"]]:
        yield f"{name}.steps are of no phase with most flops"


def check_batches(plan, m, stage):
    """Of what is measured batches are made; the others are the model's."""
    is_whole, measured = stage["where"] == "whole", stage["measured_batches"]
    most = most_together(plan, stage) if m and is_whole else 0
    if plan.data["policy"]["memory_bytes"]:
        most = min(most, 1)
    yield from equal("batch_ps", len(stage["batch_ps"]), most)
    yield from equal("measured_batches", measured,
                     sorted(set(measured) & set(range(1, most + 1))))
    for n, time in enumerate(stage["batch_ps"], 1):
        largest = max((b for b in measured if b <= n), default=0)
        if 0 < largest < n:
            expected = stage["batch_ps"][largest - 1] + stage["batch_ps"][n - largest - 1]
        else:
            expected = time if largest else mean_ps(m, stage, n, m["launch"])
        yield from equal(f"batch_ps of {n}", time, expected)


def is_measured(stage, batch):
    """Whether measured batches are all that it is made of."""
    while batch:
        largest = max((b for b in stage["measured_batches"] if b <= batch), default=0)
        if not largest:
            return False
        batch -= largest
    return True


def check_stage_times(plan):
    m = constants(plan)
    for i, stage in enumerate(plan.data["stages"]):
        name, is_whole = f"stages[{i}]", stage["where"] == "whole"
        batch = batch_of(plan, stage) if m and is_whole else int(bool(m))
        yield from equal(f"{name}.batch", stage["batch"], batch)
        yield from (f"{name}.{text}" for text in check_batches(plan, m, stage))
        launch = m["launch"] if stage["where"] in BY_ROW and m else 0
        if is_whole and batch and batch <= len(stage["batch_ps"]):
            time = stage["batch_ps"][batch - 1]
            yield from equal(f"{name}.measured", stage["measured"],
                             is_measured(stage, batch))
        elif stage["measured"]:
            continue
        else:
            time = mean_ps(m, stage, batch, launch) if m else 0
        yield from equal(f"{name}.time_ps", stage["time_ps"],
                         ceil_div(time, batch or 1))
        yield from check_phase_times(name, m, stage, batch, launch)
        yield from check_costliest(name, stage)


def work_ps(stage, rows, elements):
    if stage["where"] == "whole":
        return matrices_ps(stage, rows)
    if stage["where"] == "shared":
        return rows * stage["time_ps"]
    return ceil_div(elements * stage["time_ps"], ELEMENTS)


def priced(plan, time_of):
    """The plan as if each matrix were computed by itself, in time_of(its stage)."""
    stages = [dict(s, time_ps=time_of(s), batch_ps=[time_of(s)])
              if s["where"] == "whole" else s for s in plan.data["stages"]]
    return Plan(dict(plan.data, stages=stages))


def rounding(data):
    """Picoseconds that rounding up part by part may add to a rank."""
    return len(data["schedule"]) * len(data["stages"])


def times_one_by_one(plan):
    """Of ranks, in batches of one."""
    return rank_times(priced(plan, lambda stage: stage["batch_ps"][0]))


def rank_times(plan):
    times = [0] * len(plan.ranks)
    for op in plan.data["schedule"]:
        for work in op["work"]:
            stage = plan.data["stages"][work["stage"]]
            at = [work_ps(stage, *both)
                  for both in zip(work["rows"], work["elements"])]
            for rank in plan.ranks:
                times[rank] += at[plan.over(rank, op["over"])]
    return times


# ---- the longest update ----

MOST_UPDATES = 256


def fires(event, turn, t):
    if t <= event["start"] or not event["period"]:
        return t == event["start"]
    early = turn if event["staggered"] else 0
    return (t - event["start"] + early) % event["period"] == 0


def phase_of(stage, turn, t):
    due = [e for e, event in enumerate(stage["events"]) if fires(event, turn, t)]
    return next(p for p in stage["phases"] if p["fires"] == due)


def phase_ps(m, stage, phase, n):
    """Of n matrices of an operation, in this phase of the stage; -1: it has none."""
    if phase < 0:
        return matrices_ps(stage, n)
    body = {"phases": [dict(stage["phases"][phase], updates=1)]}
    return sum(mean_ps(m, body, batch, m["launch"])
               for batch in batches(n, len(stage["batch_ps"])))


def update_ps(plan, t, together):
    """An operation has the matrices of a micro-group, or those that nothing shards:
    of a bucket, or of all where updates are joined."""
    ranks, counts = [0] * len(plan.ranks), {}
    joins = plan.data["policy"]["joins_updates"]
    m = constants(plan)
    for matrix in plan.data["matrices"]:
        param = plan.params[matrix["parameter"]]
        stage = plan.stages[param["rule"], "whole"]
        if matrix["group_size"] > 1:
            continue
        turn = 0 if together else param["turn"] or 0
        phase = stage["phases"].index(phase_of(stage, turn, t)) if stage["phases"] else -1
        operation = (matrix["micro_group"], param["bucket"]
                     if matrix["micro_group"] is None and not joins else None)
        for rank in plan.owners(matrix):
            key = rank, operation, param["rule"], phase
            counts[key] = counts.get(key, 0) + 1
    for (rank, _, rule, phase), n in counts.items():
        ranks[rank] += phase_ps(m, plan.stages[rule, "whole"], phase, n)
    return max(ranks)


def longest_update(plan):
    events = [e for s in plan.data["stages"] if s["where"] == "whole"
              for e in s["events"]]
    if not events or not plan.data["constants"]:
        return None
    first = first_of(events)
    n = min(MOST_UPDATES, math.lcm(*[e["period"] or 1 for e in events]))
    most = [max(update_ps(plan, t, together) for t in range(first, first + n))
            for together in (False, True)]
    return {"first": first, "updates": n, "time_ps": most[0],
            "together_ps": most[1]}


def first_of(events):
    """From when updates repeat."""
    return max(e["start"] + (e["staggered"] or not e["period"]) for e in events)


def updates_of(stage):
    """How often each phase comes in a period, all turns together."""
    events = stage["events"]
    turns = math.lcm(*[e["period"] for e in events if e["staggered"]])
    period = math.lcm(*[e["period"] or 1 for e in events])
    sets = [phase["fires"] for phase in stage["phases"]]
    found = [[e for e, event in enumerate(events) if fires(event, turn, t)]
             for turn in range(turns)
             for t in range(first_of(events), first_of(events) + period)]
    return [found.count(due) for due in sets]


def check_events(plan):
    """Stages of a rule have its events, and phases come as these say."""
    of = {}
    for i, stage in enumerate(plan.data["stages"]):
        yield from equal(f"stages[{i}].events", stage["events"],
                         of.setdefault(stage["rule"], stage["events"]))
        if stage["phases"]:
            yield from equal(f"stages[{i}], updates of phases",
                             [p["updates"] for p in stage["phases"]],
                             updates_of(stage))


def check_times(plan):
    yield from check_stage_times(plan)
    for i, m in enumerate(plan.data["matrices"]):
        rule = plan.params[m["parameter"]]["rule"]
        stages = ([plan.data["stages"][s] for s in plan.segments(m)] or
                  [plan.stages[rule, "whole"]])
        yield from equal(f"matrices[{i}].cost.time_ps", m["cost"]["time_ps"],
                         sum(s["time_ps"] for s in stages))
    times, metrics = rank_times(plan), plan.data["metrics"]
    yield from check_events(plan)
    yield from equal("metrics.longest_update", metrics["longest_update"],
                     longest_update(plan))
    yield from equal("metrics.time_ps", metrics["time_ps"], times)
    yield from equal("metrics.max_over_mean", metrics["max_over_mean"],
                     [max(times), sum(times), len(times)])
