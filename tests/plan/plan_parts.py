"""What a plan says is planned: the mesh, the reductions and the parameters.
Checks of check_plan.py, written from the schema alone."""
import math
import re

from plan_numbers import BYTES, equal

DENSE = ("pp", "dp", "fsdp", "cp", "tp")


def check_axes(plan, what, axes):
    """A list of axes has each once, in mesh order."""
    yield from equal(what, axes, [a for a in plan.axes if a in axes])


# ---- the mesh ----

def check_mesh(plan):
    mesh = plan.data["mesh"]
    names = [n["name"] for n in mesh["names"]]
    yield from equal("mesh.ranks", mesh["ranks"], len(plan.ranks))
    yield from equal("axes of different names", len(plan.axes), len(mesh["axes"]))
    yield from equal("different names of axes", len(set(names)), len(names))
    dense = [n for n in mesh["names"] if n["name"] in DENSE]
    yield from equal("mesh.names: dense axes first", mesh["names"][:len(dense)],
                     dense)
    yield from equal("axes of the dense names",
                     [a for n in dense for a in n["axes"]], plan.axes)
    for n in dense:
        pieces = [f"{n['name']}.{i}" for i in range(len(n["axes"]))]
        yield from equal(f"axes of {n['name']}", n["axes"],
                         pieces if len(pieces) > 1 else [n["name"]])
    yield from check_experts(plan, mesh["names"][len(dense):], dense)


def check_experts(plan, experts, dense):
    """The experts' factoring: all ranks of a pipeline stage once."""
    stages = [a for n in dense if n["name"] == "pp" for a in n["axes"]]
    if experts:
        yield from equal("axes of the experts' names",
                         [a for n in experts for a in n["axes"]],
                         [a for a in plan.axes
                          if plan.sizes[a] > 1 and a not in stages])


# ---- reductions ----

def check_reductions(plan):
    reductions = plan.data["reductions"]
    yield from equal("different reductions", len(plan.reductions),
                     len(reductions))
    kinds = {str(dict(r, name="")) for r in reductions}
    yield from equal("reductions that differ", len(kinds), len(reductions))
    yield from equal("reductions in use", {p["reduction"] for p in plan.params},
                     set(plan.reductions))
    for r in reductions:
        for key in ("reduce_axes", "split_axes"):
            yield from check_axes(plan, f"{r['name']}.{key}", r[key])
    yield from check_terms(plan, reductions)


def check_terms(plan, reductions):
    """Those of a sum, one's own, or those of the dense gradients, which take
    part in another reduction or are there once per coordinate over dp."""
    dp = [a for n in plan.data["mesh"]["names"] if n["name"] == "dp"
          for a in n["axes"]]
    known = {plan.extent(r["reduce_axes"]) * r["leaves"] for r in reductions}
    known |= {1, plan.extent(dp)}
    means = {r["terms"] for r in reductions} - {1}
    arrives = any(not r["reduce_axes"] and r["terms"] == 1 for r in reductions)
    for r in reductions:
        if r["terms"] not in known:
            yield f"{r['name']}.terms is {r['terms']}, not of {sorted(known)}"
    if len(means) > 1 and not arrives:
        yield f"means of {sorted(means)} terms in one plan"


# ---- parameters ----

def check_parameters(plan):
    data = plan.data
    yield from equal("trained, frozen, tied", data["parameters"],
                     plan.params + plan.frozen + plan.ties)
    names = every_name(plan)
    yield from equal("different names", len(set(names)), len(names))
    for i, p in enumerate(plan.params + plan.frozen):
        yield from check_shape(plan, f"parameters[{i}]", p)
    yield from check_stored(plan)
    yield from check_trained(plan, data["policy"])
    yield from check_untrained(plan)
    yield from check_spreads(plan)


def every_name(plan):
    """Of all parameters on all ranks, and of ties."""
    names = [n for p in plan.params + plan.frozen
             for n in p["names"] or [p["name"]]]
    return names + [p["name"] for p in plan.ties]


def check_shape(plan, name, p):
    yield from equal(f"{name}.shard", len(p["shard"]), len(p["shape"]))
    yield from equal(f"{name}.element_count", p["element_count"],
                     math.prod(p["shape"]))
    yield from check_home(plan, name, p)
    for d, axes in enumerate(p["shard"]):
        yield from check_axes(plan, f"{name}.shard[{d}]", axes)
    if p["bounds"] is None:
        yield from check_even(plan, name, p)
    else:
        yield from check_bounds(plan, name, p)
    held = plan.shard_axes(p) + p["spread"] + p["home"]["axes"]
    if p["reduction"] is not None:
        reduction = plan.reduction(p)
        held += set(reduction["reduce_axes"] + reduction["split_axes"])
    yield from equal(f"{name}: axes that shard, spread, home or reduce it",
                     len(held), len(set(held)))


def check_home(plan, name, p):
    """Some coordinates of its axes, and the stages among them."""
    axes, coordinates = plan.home(p)
    yield from check_axes(plan, f"{name}.home.axes", axes)
    yield from equal(f"{name}.home.coordinates", coordinates, sorted(
        set(coordinates) & set(range(plan.extent(axes)))))
    yield from equal(f"{name}.home has axes", bool(axes), bool(coordinates))
    stages = set(plan.stage_axes) & set(axes)
    yield from equal(f"{name}.stage", p["stage"], sorted({
        plan.stage_of[r] for r in plan.ranks if plan.is_home(p, r)})
        if stages else [])


def check_even(plan, name, p):
    yield from equal(f"{name}.local_elements * shards",
                     p["local_elements"] * plan.shards(p), p["element_count"])
    for d, axes in enumerate(p["shard"]):
        if p["shape"][d] % plan.extent(axes):
            yield f"{name}: {axes} do not divide dimension {d}"


def check_bounds(plan, name, p):
    """Shards are the whole dimension, each element once."""
    yield from equal(f"{name}.bounds", len(p["bounds"]), len(p["shape"]))
    if p["bounds"] == [None] * len(p["shape"]):
        yield f"{name}.bounds: none"
    for d, axes in enumerate(p["shard"]):
        cuts = plan.cut(p["shape"], p["shard"], p["bounds"], d)
        held = sorted(cut for cut in cuts if cut[0] != cut[1])
        yield from equal(f"{name}: shards of dimension {d}",
                         [len(cuts), [first for first, _ in held] + [p["shape"][d]]],
                         [plan.extent(axes), [0] + [end for _, end in held]])
        if any(end < first for first, end in cuts):
            yield f"{name}: a shard of dimension {d} ends before it begins"
    yield from equal(f"{name}.local_elements", p["local_elements"],
                     max(plan.elements(p, r) for r in plan.ranks))


def check_trained(plan, policy):
    for i, p in enumerate(plan.params):
        name = f"parameters[{i}]"
        yield from equal(f"{name}.matrices", p["matrices"], i in plan.matrix_of)
        yield from equal(f"{name}.grad", p["grad"], plan.reduction(p)["dtype"])
        wider = BYTES[policy["master_dtype"]] > BYTES[p["dtype"]]
        yield from equal(f"{name}.master", p["master"],
                         policy["master_dtype"] if wider else p["dtype"])


def check_untrained(plan):
    for p in plan.frozen:
        yield from equal(f"{p['name']}, frozen", [p[key] for key in (
            "optimizer", "rule", "reduction", "turn", "spread", "names", "stage",
            "matrices", "tied_to", "grad", "master", "bucket", "offset")],
            [None] * 4 + [[], [], [], 0] + [None] * 5)
    trained = {p["name"]: p for p in plan.params}
    for p in plan.ties:
        expected = dict(trained[p["tied_to"]], name=p["name"], tied_to=p["tied_to"])
        yield from equal(f"{p['name']}, tied", p, expected)


# ---- pieces of storage ----

def places(p):
    """Per dimension where each element of a piece is stored."""
    numbers = p["stored"]["map"]
    for d, size in enumerate(p["shape"]):
        base, block, stride = numbers[3 * d:3 * d + 3]
        if block >= size and (block, stride) != (size, size):
            raise ValueError(f"{p['name']}: one block has the piece's length")
        yield [base + r // block * stride + r % block for r in range(size)]


def meet(where, other):
    """Whether two pieces share elements: rows and columns of a tile, say."""
    return not any(taken.isdisjoint(elements)
                   for elements, taken in zip(where, other))


def check_stored(plan):
    """Pieces lie apart in their tensors, and are cut where these are."""
    held, shapes = {}, {}
    for i, p in enumerate(plan.params):
        name, stored = f"parameters[{i}].stored", p["stored"]
        if stored is None:
            continue
        form = [stored["shape"], stored["bounds"]]
        whole = form[0] if stored["batch"] is None else form[0][1:]
        yield from equal(f"{name}: shape, bounds", form,
                         shapes.setdefault(stored["name"], form))
        yield from equal(f"{name}.map", len(stored["map"]), 3 * len(p["shape"]))
        where = list(places(p))
        at = stored["name"], stored["batch"]
        others = held.setdefault(at, [])
        yield from check_batch(plan, name, p)
        for d, elements in enumerate(where):
            if max(elements) >= whole[d] or sorted(set(elements)) != elements:
                yield f"{name}: dimension {d} does not fit"
            yield from check_cuts(plan, name, p, d, elements)
        if any(meet(where, other) for other in others):
            yield f"{name}: overlaps another piece"
        others.append([set(elements) for elements in where])
    yield from equal("names of stored tensors",
                     {at[0] for at in held} & set(every_name(plan)), set())
    yield from check_full(held, shapes)


def check_full(held, shapes):
    """What no piece holds is padding, at the end of a dimension."""
    for (name, _), pieces in held.items():
        rows = [set.union(*of) for of in zip(*pieces)]
        sizes = shapes[name][0][-len(rows):]
        for d, elements in enumerate(rows):
            yield from equal(f"{name}: elements of dimension {d}",
                             sorted(elements), list(range(len(elements))))
            if len(elements) > sizes[d]:
                yield f"{name} is too small"
        yield from equal(f"{name}: elements that pieces have",
                         sum(math.prod(map(len, of)) for of in pieces),
                         math.prod(map(len, rows)))


def check_batch(plan, name, p):
    """A batch is dealt out, and each rank's part of it is there."""
    stored, number = p["stored"], p["stored"]["batch"]
    yield from equal(f"{name}: dimensions", len(stored["shape"]),
                     len(p["shape"]) + (number is not None))
    if number is not None and not number < stored["shape"][0] // plan.extent(p["spread"]):
        yield f"{name}.batch: no such matrix"


def check_cuts(plan, name, p, d, elements):
    """A shard holds what the same shard of the stored tensor holds."""
    stored, skip = p["stored"], p["stored"]["batch"] is not None
    shard = [[]] * skip + p["shard"]
    cuts = plan.cut(stored["shape"], shard, stored["bounds"], d + skip)
    held = sorted(cut for cut in cuts if cut[0] != cut[1])
    yield from equal(f"{name}: cuts of dimension {d}",
                     [len(cuts), [first for first, _ in held] + [stored["shape"][d + skip]]],
                     [plan.extent(p["shard"][d]), [0] + [end for _, end in held]])
    yield from equal(f"{name}: shards of dimension {d}",
                     plan.cut(p["shape"], p["shard"], p["bounds"], d),
                     [tuple(sum(e < bound for e in elements) for bound in cut)
                      for cut in cuts])


# ---- parameters dealt out ----

def check_spreads(plan):
    alike = {}
    for i, p in enumerate(plan.params):
        name, n = f"parameters[{i}]", plan.extent(p["spread"])
        yield from check_axes(plan, f"{name}.spread", p["spread"])
        yield from equal(f"{name}.names", len(p["names"]), n if p["spread"] else 0)
        if not p["spread"]:
            continue
        yield from equal(f"{name}.names[0]", p["names"][0], p["name"])
        pattern, step = dealt(p["names"])
        if pattern is None:
            yield f"{name}.names: {p['names']} are not dealt out evenly"
        alike.setdefault((pattern, *p["spread"]), []).append((name, step))
    for parameters in alike.values():
        for name, step in parameters:
            yield from equal(f"{name}: how far its names are apart", step,
                             len(parameters))


def dealt(names):
    """How names that differ in one number are written, and the one distance
    between neighbours; None twice when they are not so."""
    words = [re.findall(r"\d+|\D+", name) for name in names]
    columns = list(zip(*words))
    differ = [i for i, column in enumerate(columns) if len(set(column)) > 1]
    if len({len(w) for w in words}) != 1 or len(differ) != 1:
        return None, None
    at = differ[0]
    if not all(word.isdecimal() for word in columns[at]):
        return None, None
    numbers = [int(word) for word in columns[at]]
    steps = {b - a for a, b in zip(numbers, numbers[1:])}
    if len(steps) != 1:
        return None, None
    return "".join(words[0][:at] + ["*"] + words[0][at + 1:]), steps.pop()


def check_groupings(plan):
    """The plan's is the fastest; none is done before the kernels of a rank."""
    ways = plan.data["groupings"]
    if ways:
        best = min(ways, key=lambda w: w["time_ps"])
        free = plan.data["policy"]["memory_bytes"] == 0
        found = [w["groups"] for w in ways if w is best or not free]
        if len(plan.data["groups"]) not in found:
            yield "groupings: the plan's is none, or not the fastest"
        for i, way in enumerate(ways):
            if 2 * way["time_ps"] < max(plan.data["metrics"]["time_ps"]):
                yield f"groupings[{i}]: all is done before the kernels of a rank"


def check_rules(plan):
    """Groups and rules are those of the parameters, and each rule has stages."""
    data = plan.data
    groups = {u["name"]: u["optimizer"] for u in data["uses"]}
    rules = {r["name"]: r["group"] for r in data["rules"]}
    yield from equal("names of rules", len(rules), len(data["rules"]))
    for p in plan.params:
        yield from equal(f"optimizer, group of {p['name']}",
                         [groups.get(p["group"]), rules.get(p["rule"])],
                         [p["optimizer"], p["group"]])
    yield from equal("rules of stages", {s["rule"] for s in data["stages"]}, set(rules))


def check_states(plan):
    """A whole one has rows and columns, and only such a one is square or given."""
    for state in plan.data["states"]:
        what, shape = f"state {state['name']} of {state['rule']}", state["shape"]
        yield from equal(f"{what}: dimensions", len(shape), 2 * state["whole"])
        if state["diagonal"] and not (shape and shape[0] == shape[1]):
            yield f"{what} has a diagonal and is not square"
        if state["extern"] and not (state["whole"] and state["dtype"] == "f32"
                                    and not state["diagonal"]):
            yield f"{what} is an extern and not whole in f32, without a first value"
