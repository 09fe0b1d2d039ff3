"""Predicted times of a plan, computed again from the kernels of its stages and
the constants of its machine.  Written from the schema alone."""
from plan_numbers import equal

PS = 10 ** 12
ELEMENTS = 1 << 20
MOST_BATCH = 16
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
    waves = ceil_div(tiles(m, step) * batch, m["sms"])
    flops = (waves * m["sms"] * 2 * m["tile_rows"] * m["tile_columns"] *
             step["inner"])
    rate = m["bf16_rate" if step["dtype"] == "bf16" else "f32_rate"]
    return max(move, ceil_div(flops * PS, rate)) + launch


def batch_of(plan, rule):
    """What a rank has if all have as many."""
    n = 0
    for p in plan.params:
        if p["rule"] == rule:
            axes, coordinates = plan.home(p)
            copies = len(plan.ranks) // (plan.n_split(p) * plan.shards(p))
            n += copies * (len(coordinates) or 1) // plan.extent(axes)
    n //= len(plan.ranks)
    batch = 1
    while batch * 2 <= n and batch < MOST_BATCH:
        batch *= 2
    return batch


def mean_ps(m, stage, batch, launch):
    """Of a batch in the mean update: each phase as often as it comes."""
    phases = stage["phases"] or [{"updates": 1, "steps": stage["steps"]}]
    updates = sum(phase["updates"] for phase in phases)
    return ceil_div(sum(phase["updates"] * step_ps(m, step, batch, launch)
                        for phase in phases for step in phase["steps"]), updates)


def check_costliest(name, stage):
    """What the stage says is what its costliest phase does."""
    if not stage["phases"]:
        return
    flops = [phase["flops"] for phase in stage["phases"]]
    yield from equal(f"{name}.flops", stage["flops"], max(flops))
    if stage["steps"] not in [p["steps"] for p in stage["phases"]
                              if p["flops"] == stage["flops"]]:
        yield f"{name}.steps are of no phase with most flops"


def check_stage_times(plan):
    m = constants(plan)
    for i, stage in enumerate(plan.data["stages"]):
        name, is_whole = f"stages[{i}]", stage["where"] in BY_ROW
        batch = batch_of(plan, stage["rule"]) if stage["where"] == "whole" else 1
        if stage["measured"]:
            batch = min(batch, max(stage["batch"], 1))
        yield from equal(f"{name}.batch", stage["batch"], batch)
        if stage["measured"]:
            continue
        launch = m["launch"] if is_whole else 0
        time = mean_ps(m, stage, batch, launch) if m else 0
        yield from equal(f"{name}.time_ps", stage["time_ps"],
                         ceil_div(time, batch))
        yield from check_costliest(name, stage)


def work_ps(stage, rows, elements):
    if stage["where"] in BY_ROW:
        return rows * stage["time_ps"]
    return ceil_div(elements * stage["time_ps"], ELEMENTS)


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


def pigeonhole(longest, n):
    """The k + 1 shortest of the k n + 1 longest, and k + 1."""
    best, total = (0, None), [0]
    for ps in longest:
        total.append(total[-1] + ps)
    for k in range(1, (len(longest) - 1) // n + 1):
        best = max(best, (total[k * n + 1] - total[k * n - k], k + 1),
                   key=lambda bound: bound[0])
    return best


def check_times(plan):
    yield from check_stage_times(plan)
    for i, m in enumerate(plan.data["matrices"]):
        rule = plan.params[m["parameter"]]["rule"]
        stages = ([plan.data["stages"][s] for s in plan.segments(m)] or
                  [plan.stages[rule, "whole"]])
        yield from equal(f"matrices[{i}].cost.time_ps", m["cost"]["time_ps"],
                         sum(s["time_ps"] for s in stages))
    times, metrics = rank_times(plan), plan.data["metrics"]
    yield from equal("metrics.time_ps", metrics["time_ps"], times)
    yield from equal("metrics.max_over_mean", metrics["max_over_mean"],
                     [max(times), sum(times), len(times)])
