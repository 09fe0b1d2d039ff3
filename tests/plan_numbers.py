"""A plan as `canzona plan --json` prints it, with what follows from its numbers
at hand.  Written from the schema alone."""
import math

BYTES = {"f64": 8, "f32": 4, "bf16": 2}
ALIGN = 64


def round_up(n, multiple=ALIGN):
    return -(-n // multiple) * multiple


def wire_bytes(dtypes):
    return sum(BYTES[t] for t in dtypes)


def equal(what, found, expected):
    if found != expected:
        yield f"{what} is {found!r:.80}, not {expected!r:.80}"


class Plan:
    """A plan with what follows from it at hand."""

    def __init__(self, data):
        self.data = data
        self.sizes = {a["name"]: a["size"] for a in data["mesh"]["axes"]}
        self.axes = list(self.sizes)
        self.ranks = range(math.prod(self.sizes.values()))
        known = data["parameters"]
        self.params = [p for p in known if p["group"] and not p["tied_to"]]
        self.frozen = [p for p in known if not p["group"]]
        self.names = [p for p in known if p["group"] and p["tied_to"]]
        self.split_axes = data["policy"]["split_axes"]
        self.n_split = self.extent(self.split_axes)
        self.matrix_of = {m["parameter"]: m for m in data["matrices"]}
        self.stages = {}
        for stage in data["stages"]:
            self.stages[stage["rule"], stage["where"]] = stage

    def extent(self, axes):
        return math.prod(self.sizes[a] for a in axes)

    def coordinates(self, rank):
        found = {}
        for axis in reversed(self.axes):
            rank, found[axis] = divmod(rank, self.sizes[axis])
        return found

    def over(self, rank, axes):
        at, index = self.coordinates(rank), 0
        for axis in self.axes:
            if axis in axes:
                index = index * self.sizes[axis] + at[axis]
        return index

    def split(self, rank):
        return self.over(rank, self.split_axes)

    def members(self, rank, axes):
        """Ranks that agree with this one on all axes but these."""
        at = self.coordinates(rank)
        for other in self.ranks:
            there = self.coordinates(other)
            if all(there[a] == at[a] for a in self.axes if a not in axes):
                yield other

    def shard_axes(self, param):
        return [a for a in param["shard"] if a is not None]

    def shards(self, param):
        return self.extent(self.shard_axes(param))

    def bounds_dim(self, param):
        """The dimension that the bounds cut, and its axis."""
        cut = [(d, axis) for d, axis in enumerate(param["shard"])
               if axis is not None and self.sizes[axis] > 1]
        return cut[0] if len(cut) == 1 else (None, None)

    def elements(self, param, rank):
        """Of the shard on a rank."""
        if param["bounds"] is None:
            return param["local_elements"]
        d, axis = self.bounds_dim(param)
        part = self.over(rank, [axis])
        length = param["bounds"][part + 1] - param["bounds"][part]
        return param["element_count"] // param["shape"][d] * length

    def own_elements(self, matrix):
        """Of the owner's own shard."""
        param = self.params[matrix["parameter"]]
        return next((self.elements(param, r) for r in self.ranks
                     if self.owns(r, matrix)), 0)

    def flops(self, param, where):
        stage = self.stages.get((param["rule"], where))
        return stage["flops"] if stage else 0

    def near_flops(self, param):
        """Per element of the shard of a matrix, before and after."""
        return self.flops(param, "before") + self.flops(param, "after")

    def slice_of(self, bucket, coordinate):
        return bucket["slices"][coordinate + 1] - bucket["slices"][coordinate]

    def part(self, bucket, i, rank):
        """Elements of the bucket's i-th parameter in a rank's slice."""
        elements = self.elements(self.params[bucket["order"][i]], rank)
        return self.inside(bucket, i, elements, self.split(rank))

    @staticmethod
    def inside(bucket, i, elements, coordinate):
        """How many elements from the i-th offset on lie in a slice."""
        start = bucket["offsets"][i]
        low, high = bucket["slices"][coordinate:coordinate + 2]
        return max(0, min(start + elements, high) - max(start, low))

    def owns(self, rank, matrix):
        """Computes it whole: the owner, or its row where nothing shards it."""
        owner, param = matrix["owner"], self.params[matrix["parameter"]]
        return self.split(rank) == owner["split"] and (
            owner["shard"] is None or
            self.over(rank, self.shard_axes(param)) == owner["shard"])
