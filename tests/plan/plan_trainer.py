"""What the trainer itself sends so that gradients arrive as the plan wants them
and ranks have their parameters: rank by rank, from who holds what."""
from plan_numbers import BYTES, equal

DENSE, EXPERTS = ("pp", "dp", "fsdp", "cp"), ("pp", "edp")


def named(plan, *names):
    return {a for n in plan.data["mesh"]["names"] if n["name"] in names
            for a in n["axes"]}


def data_axes(plan, param):
    """Along which ranks make different gradients."""
    dealt_out = named(plan, "ep") & {*param["spread"], *plan.home(param)[0],
                                     *plan.shard_axes(param)}
    return named(plan, *(EXPERTS if dealt_out else DENSE))


def sharded(plan, param):
    """Elements sent where ranks shard it: of a gradient the shards of others, of
    a parameter one's own to each of them."""
    axes = data_axes(plan, param) & set(plan.shard_axes(param))
    gradients = parameters = 0
    for ranks in plan.communicators(axes):
        held = [plan.elements(param, rank) for rank in ranks]
        gradients += sum(sum(held) - own for own in held)
        parameters += sum(own * (len(ranks) - 1) for own in held)
    return gradients, parameters


def summed(plan, param):
    """Elements sent where ranks hold it alike: each sends its part of the rest
    twice, around a ring."""
    axes, _ = plan.home(param)
    over = set(axes) | data_axes(plan, param).difference(
        plan.reduction(param)["reduce_axes"], plan.shard_axes(param),
        param["spread"])
    sent = 0
    for ranks in plan.communicators(over):
        held = [plan.elements(param, r) for r in ranks if plan.is_home(param, r)]
        sent += 2 * sum(held[1:])
    return sent


def form(param):
    return str([param[key] for key in ("shape", "dtype", "shard", "bounds", "home",
                                       "spread", "reduction")])


def check_trainer(plan):
    alike = {}
    for param in plan.params + plan.frozen:
        alike.setdefault(form(param), []).append(param)
    found = {"gradients": 0, "parameters": 0}
    for same in alike.values():
        gradients, parameters = sharded(plan, same[0])
        found["parameters"] += len(same) * parameters * BYTES[same[0]["dtype"]]
        if same[0]["reduction"]:
            gradients += summed(plan, same[0])
            found["gradients"] += (len(same) * gradients *
                                   BYTES[plan.reduction(same[0])["dtype"]])
    yield from equal("metrics.trainer_bytes",
                     plan.data["metrics"]["trainer_bytes"], found)
