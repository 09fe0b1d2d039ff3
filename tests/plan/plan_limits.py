"""Whether a plan keeps the caps of its policy.  Written from the schema alone."""
from plan_baselines import gradient_order
from plan_slices import is_lent


def check_buckets(plan):
    """Closed when they hold enough: without the last to come, too few.  Where slices
    of matrices are padded in the trainer's buffers, they are filled besides."""
    cap, order = plan.data["policy"]["bucket_elements"], gradient_order(plan)
    turn = {number: i for i, number in enumerate(order)}
    for b, bucket in enumerate(plan.data["buckets"]):
        local = {n: plan.params[n]["local_elements"] for n in bucket["order"]}
        last = max(local, key=turn.get)
        room = (len(bucket["slices"]) * max(local.values())
                if is_lent(plan) and bucket["kind"] == "owned" else 0)
        if sum(local.values()) - local[last] >= cap + room:
            yield f"bucket above its cap: bucket {b} of {sum(local.values())}"


def check_groups(plan):
    cap = plan.data["policy"]["micro_group_bytes"]
    for g, group in enumerate(plan.data["groups"]):
        if cap and group["peak_bytes"] > cap:
            yield f"micro-group above its cap: group {g}, {group['peak_bytes']}"


def check_memory(plan):
    cap = plan.data["policy"]["memory_bytes"]
    memory = plan.data["metrics"]["memory_bytes"].values()
    for rank in plan.ranks if cap else ():
        size = sum(kind[rank] for kind in memory)
        if size > cap:
            yield f"memory above its cap: {size} of {cap} on rank {rank}"


def check_limits(plan):
    yield from check_buckets(plan)
    yield from check_groups(plan)
    yield from check_memory(plan)
