"""What the algebra of rules saved, computed again from stages, states and
products.  Written from the schema alone."""
from plan_numbers import BYTES, equal


def cut(plan, stage):
    """[count, before, after]: what could travel, and what does."""
    params = [p for p in plan.params if p["rule"] == stage["rule"]]
    rows, columns = params[0]["shape"]
    master = max(BYTES[plan.data["policy"]["master_dtype"]],
                 BYTES[params[0]["dtype"]])
    kept = master + sum(plan.widths.get(stage["rule"], []))
    slots = stage["gather"] + stage["scatter"]
    return [len(slots), rows * columns * (BYTES["f32"] + 2 * kept),
            rows * columns * sum(BYTES[d] for d in slots)]


def check_settled(plan, stage, name, it):
    """Of `count` states that are whole and of the matrix's shape, of all of these
    unless that is square or a vector's, as other states are."""
    rule = stage["rule"]
    shape = next(p["shape"] for p in plan.params if p["rule"] == rule)
    alike = [s for s in plan.data["states"]
             if s["rule"] == rule and s["whole"] and not s["extern"] and
             s["shape"] == shape]
    rows, columns = shape
    count = it["count"] if it else 0
    is_like_others = rows == columns or 1 in shape
    if count > len(alike) or (count < len(alike) and not is_like_others):
        yield f"{name}.count is {count} of {len(alike)} states"
    if it:
        yield from equal(f"{name}.before", it["before"],
                         count * 2 * rows * columns * BYTES["f32"])


def symmetric(stage):
    all_of = [s for s in stage["steps"]
              if s["kind"] == "product" and s["symmetric"]]
    return [len(all_of),
            sum(s["rows"] * s["columns"] * 2 * s["inner"] for s in all_of),
            sum(s["rows"] * (s["columns"] + 1) * s["inner"] for s in all_of)]


def check_copies(name, stage, it):
    """Of what is not made: no more products than there are, and nothing left."""
    products = [s for s in stage["steps"] if s["kind"] == "product"]
    if it["name"] == "epilogue" and not 0 < it["count"] <= len(products):
        yield f"{name}.count is {it['count']} of {len(products)} products"
    yield from equal(f"{name}.after", it["after"], 0)


def check_rewrites(plan):
    order = ["gram", "cut", "settled", "symmetric", "epilogue", "transpose"]
    for i, stage in enumerate(plan.data["stages"]):
        name = f"stages[{i}].rewrites"
        listed = {it["name"]: it for it in stage["rewrites"]}
        yield from equal(f"{name}, names", [it["name"] for it in stage["rewrites"]],
                         [n for n in order if n in listed])
        wanted = {}
        if stage["where"] == "whole":
            wanted = {"cut": cut(plan, stage), "symmetric": symmetric(stage)}
            yield from check_settled(plan, stage, f"{name}.settled",
                                     listed.get("settled"))
        for kind in ("cut", "symmetric"):
            it = listed.get(kind)
            count, before, after = wanted.get(kind, [0, 0, 0])
            yield from equal(f"{name}: {kind}",
                             it and [it["count"], it["before"], it["after"]],
                             [count, before, after] if before != after else None)
        for it in stage["rewrites"]:
            yield from equal(f"{name}.{it['name']}.unit", it["unit"],
                             "flops" if it["name"] in ("gram", "symmetric") else "bytes")
            if it["name"] in ("settled", "epilogue", "transpose"):
                yield from check_copies(f"{name}.{it['name']}", stage, it)
