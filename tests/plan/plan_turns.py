"""Families, and the turns of parameters whose rules have staggered events: from
names alone."""
import re

from plan_numbers import equal

ALIKE = ("shape", "dtype", "shard", "bounds", "group", "rule", "reduction",
         "spread", "home")


def members(plan):
    """Each family with its parameters."""
    first = 0
    for family in plan.data["families"]:
        end = first + family["parameters"]
        yield family, plan.params[first:end]
        first = end


def numbers_of(pattern, name):
    """Those of a name in place of {0}, {1}, ...; none where it is another's."""
    words = re.split(r"{(\d+)}", pattern)
    form = "(\\d+)".join(re.escape(word) for word in words[::2])
    found = re.fullmatch(form, name)
    return found and {int(k): int(n) for k, n in zip(words[1::2], found.groups())}


def check_names(families):
    for i, (family, params) in enumerate(families):
        name = f"families[{i}]"
        yield from equal(f"{name}: different kinds of parameters",
                         len({str([p[key] for key in ALIKE]) for p in params}), 1)
        for p in params:
            if any(numbers_of(family["pattern"], word) is None
                   for word in p["names"] or [p["name"]]):
                yield f"{name} is {family['pattern']}, which {p['name']} is not"


def check_turns(plan, families):
    staggered = {s["rule"] for s in plan.data["stages"]
                 if any(e["staggered"] for e in s["events"])}
    patterns = {}
    for family, params in families:
        patterns.setdefault(params[0]["group"], set()).add(family["pattern"])
    for family, params in families:
        pattern, indices = family["pattern"], family["turn_indices"]
        yield from equal(f"{pattern} has turns", indices is not None,
                         params[0]["rule"] in staggered)
        place = sorted(patterns[params[0]["group"]]).index(pattern)
        for p in params:
            turns = {place + sum(numbers_of(pattern, name)[k] for k in indices)
                     for name in p["names"] or [p["name"]]
                     } if indices is not None else {None}
            yield from equal(f"turn of {p['name']}", {p["turn"]}, turns)


def check_families(plan):
    families = list(members(plan))
    yield from equal("parameters of families",
                     sum(f["parameters"] for f in plan.data["families"]),
                     len(plan.params))
    wrong = list(check_names(families))
    yield from wrong or check_turns(plan, families)
