"""Fused and padded storage in a plan: pieces lie apart in their tensors, and
are cut where these are.  Written from the schema alone."""
from plan_numbers import equal


def places(p):
    """Per dimension where each element of a piece is stored."""
    numbers = p["stored"]["map"]
    for d, size in enumerate(p["shape"]):
        base, block, stride = numbers[3 * d:3 * d + 3]
        if block >= size and (block, stride) != (size, size):
            raise ValueError(f"{p['name']}: one block has the piece's length")
        yield [base + r // block * stride + r % block for r in range(size)]


def check_stored(plan):
    """Pieces lie apart in their tensors, and are cut where these are."""
    held, shapes = {}, {}
    for i, p in enumerate(plan.params):
        name, stored = f"parameters[{i}].stored", p["stored"]
        if stored is None:
            continue
        form = [stored["shape"], stored["bounds"]]
        yield from equal(f"{name}: shape, bounds", form,
                         shapes.setdefault(stored["name"], form))
        where = list(places(p))
        rows = held.setdefault(stored["name"], [set() for _ in where])
        overlaps = True
        for d, elements in enumerate(where):
            if max(elements) >= stored["shape"][d] or sorted(set(elements)) != elements:
                yield f"{name}: dimension {d} does not fit"
            overlaps = overlaps and not rows[d].isdisjoint(elements)
            rows[d].update(elements)
            yield from check_cuts(plan, name, p, d, elements)
        if overlaps:
            yield f"{name}: overlaps another piece"
    names = {p["name"] for p in plan.data["parameters"]}
    yield from equal("names of stored tensors", names & held.keys(), set())
    yield from check_full(held, shapes)


def check_full(held, shapes):
    """What no piece holds is padding, at the end of a dimension."""
    for name, rows in held.items():
        for d, elements in enumerate(rows):
            yield from equal(f"{name}: elements of dimension {d}",
                             sorted(elements), list(range(len(elements))))
            if len(elements) > shapes[name][0][d]:
                yield f"{name} is too small"


def check_cuts(plan, name, p, d, elements):
    axis = p["shard"][d]
    if axis is None:
        return
    parts = plan.sizes[axis]
    own = p["bounds"] or [p["shape"][d] // parts * i for i in range(parts + 1)]
    size = p["stored"]["shape"][d]
    cuts = p["stored"]["bounds"] or [size // parts * i for i in range(parts + 1)]
    yield from equal(f"{name}: cuts of dimension {d}",
                     [len(cuts), cuts[0], cuts[-1], sorted(cuts)],
                     [parts + 1, 0, size, cuts])
    yield from equal(f"{name}: shards of dimension {d}", own, [
        sum(e < cut for e in elements) for cut in cuts])
