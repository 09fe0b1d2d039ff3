"""A plan as `canzona plan --json` prints it, with what follows from its numbers
at hand.  Written from the schema alone."""
import math

BYTES = {"f64": 8, "f32": 4, "bf16": 2, "f16": 2}
ALIGN = 64


def round_up(n, multiple=ALIGN):
    return -(-n // multiple) * multiple


def wire_bytes(dtypes):
    return sum(BYTES[t] for t in dtypes)


def admits_bf16(plan):
    return float(plan.data["policy"]["tolerance"]) >= 0.05


def equal(what, found, expected):
    """One message if they differ."""
    if found != expected:
        yield f"{what} is {found!r:.80}, not {expected!r:.80}"


class Plan:
    """A plan with what follows from it at hand.  A `part` is what has a
    reduction: a trained parameter or a bucket."""

    def __init__(self, data):
        self.data = data
        self.sizes = {a["name"]: a["size"] for a in data["mesh"]["axes"]}
        self.axes = list(self.sizes)
        self.ranks = range(math.prod(self.sizes.values()))
        self.places = [self.coordinates(r) for r in self.ranks]
        self.indices, self.groups = {}, {}  # of over_all(), of communicators()
        known = data["parameters"]
        self.params = [p for p in known if p["group"] and not p["tied_to"]]
        self.frozen = [p for p in known if not p["group"]]
        self.ties = [p for p in known if p["group"] and p["tied_to"]]
        self.reductions = {r["name"]: r for r in data["reductions"]}
        self.splits = {name: [self.over(rank, r["split_axes"])
                              for rank in self.ranks]
                       for name, r in self.reductions.items()}
        self.matrix_of = {m["parameter"]: m for m in data["matrices"]}
        self.rows = {}
        self.held = {}
        self.widths, self.whole_states = {}, {}
        for state in data["states"]:
            width = BYTES[state["dtype"]]
            if state["whole"]:
                self.whole_states[state["rule"]] = round_up(
                    math.prod(state["shape"]) * width, 64) + \
                    self.whole_states.get(state["rule"], 0)
            else:
                self.widths.setdefault(state["rule"], []).append(width)
        self.stage_axes = [a for n in data["mesh"]["names"]
                           if n["name"] == "pp" for a in n["axes"]]
        self.stage_of = [self.over(rank, self.stage_axes)
                         for rank in self.ranks]
        self.stages = {}
        self.shared = {}
        for i, stage in enumerate(data["stages"]):
            if stage["where"] == "shared":
                self.shared.setdefault(
                    (stage["rule"], stage["group"], stage["dim"]), []).append(i)
            else:
                self.stages[stage["rule"], stage["where"]] = stage

    # ---- ranks ----

    def extent(self, axes):
        return math.prod(self.sizes[a] for a in axes)

    def coordinates(self, rank):
        found = {}
        for axis in reversed(self.axes):
            rank, found[axis] = divmod(rank, self.sizes[axis])
        return found

    def over(self, rank, axes):
        return self.over_all(frozenset(axes))[rank]

    def over_all(self, axes):
        """Of each rank its coordinate over the axes, numbers from 0."""
        if axes not in self.indices:
            index = [0] * len(self.ranks)
            for axis in self.axes:
                if axis in axes:
                    index = [i * self.sizes[axis] + at[axis]
                             for i, at in zip(index, self.places)]
            self.indices[axes] = index
        return self.indices[axes]

    def communicators(self, axes):
        """Lists of ranks that agree on all axes but these."""
        others = frozenset(self.axes) - frozenset(axes)
        if others not in self.groups:
            found = {}
            for rank in self.ranks:
                found.setdefault(self.over(rank, others), []).append(rank)
            self.groups[others] = list(found.values())
        return self.groups[others]

    # ---- who holds what ----

    def reduction(self, part):
        return self.reductions[part["reduction"]]

    def n_split(self, part):
        return self.extent(self.reduction(part)["split_axes"])

    def split(self, rank, part):
        return self.splits[part["reduction"]][rank]

    def shard_axes(self, param):
        """In mesh order, whichever dimension they divide."""
        held = [a for axes in param["shard"] for a in axes]
        return sorted(held, key=self.axes.index)

    def shards(self, param):
        return self.extent(self.shard_axes(param))

    def cut(self, shape, shard, bounds, d):
        """First element and end of each coordinate's shard of a dimension."""
        parts = self.extent(shard[d])
        if bounds is not None and bounds[d] is not None:
            return list(zip(bounds[d][::2], bounds[d][1::2]))
        step = shape[d] // parts
        return [(i * step, (i + 1) * step) for i in range(parts)]

    def home(self, part):
        """Axes and coordinates of who has a parameter or a bucket; no axes: all."""
        residents = (self.params[part["order"][0]] if "order" in part else part)["home"]
        return residents["axes"], residents["coordinates"]

    def is_home(self, part, rank):
        axes, coordinates = self.home(part)
        return not axes or self.over(rank, axes) in coordinates

    def elements(self, param, rank):
        """Of the shard on a rank."""
        if not self.is_home(param, rank):
            return 0
        if param["bounds"] is None:
            return param["local_elements"]
        count = 1
        for d, axes in enumerate(param["shard"]):
            first, end = self.cut(param["shape"], param["shard"], param["bounds"],
                                  d)[self.over(rank, axes)]
            count *= end - first
        return count

    def own_elements(self, matrix):
        """Of the owner's own shard."""
        param = self.params[matrix["parameter"]]
        if param["bounds"] is None:
            return param["local_elements"]
        return self.elements(param, self.owners(matrix)[0])

    def slice_of(self, bucket, coordinate):
        return bucket["slices"][coordinate + 1] - bucket["slices"][coordinate]

    def own_slice(self, bucket, rank):
        if not self.is_home(bucket, rank):
            return 0
        return self.slice_of(bucket, self.split(rank, bucket))

    def state_bytes(self, bucket, rank):
        """Of what a rank has of each parameter of a bucket."""
        if not self.is_home(bucket, rank):
            return 0
        key = id(bucket), self.split(rank, bucket)
        if key not in self.held:
            low, high = bucket["slices"][key[1]:key[1] + 2]
            self.held[key] = [i for i, p in enumerate(bucket["order"])
                              if bucket["offsets"][i] < high and low <
                              bucket["offsets"][i] + self.params[p]["local_elements"]]
        return sum(round_up(self.part(bucket, i, rank) * width, 64)
                   for i in self.held[key]
                   for width in self.widths.get(
                       self.params[bucket["order"][i]]["rule"], [])) + \
            sum(self.whole_bytes(bucket["order"][i], rank)
                for i in self.held[key])

    def whole_bytes(self, number, rank):
        """Of a parameter's whole states, which lie at its owner."""
        found = self.whole_states.get(self.params[number]["rule"], 0)
        matrix = self.matrix_of.get(number)
        return found if found and matrix and rank in self.owners(matrix) else 0

    def part(self, bucket, i, rank):
        """Elements of the bucket's i-th parameter in a rank's slice."""
        elements = self.elements(self.params[bucket["order"][i]], rank)
        return self.inside(bucket, i, elements, self.split(rank, bucket))

    @staticmethod
    def inside(bucket, i, elements, coordinate):
        """How many elements from the i-th offset on lie in a slice."""
        start = bucket["offsets"][i]
        low, high = bucket["slices"][coordinate:coordinate + 2]
        return max(0, min(start + elements, high) - max(start, low))

    def like(self, bucket):
        """Lists of ranks that have the same of it: at one coordinate over the
        axes that split it, of its home and those that cut it unevenly."""
        tell = set(self.reduction(bucket)["split_axes"])
        tell.update(self.home(bucket)[0])
        for number in bucket["order"]:
            if self.params[number]["bounds"] is not None:
                tell.update(self.shard_axes(self.params[number]))
        return self.communicators([a for a in self.axes if a not in tell])

    def row(self, matrix):
        """The ranks of the owner's split coordinate, at home."""
        p = self.params[matrix["parameter"]]
        key = p["reduction"], matrix["owner"]["split"], str(p["home"])
        if key not in self.rows:
            self.rows[key] = [r for r in self.ranks
                              if self.splits[key[0]][r] == key[1]
                              and self.is_home(p, r)]
        return self.rows[key]

    def owners(self, matrix):
        """Ranks of the row that compute it whole: the owner among those that
        share it, or all where nothing shards it."""
        shard = matrix["owner"]["shard"]
        return [r for r in self.row(matrix) if shard is None or
                self.member(matrix, r) is not None]

    # ---- sharing ----

    def member(self, matrix, rank):
        """Which of those who own or share it a rank is, if it is one."""
        axes = self.shard_axes(self.params[matrix["parameter"]])
        first, step = matrix["owner"]["shard"], matrix["stride"]
        block = range(first, first + matrix["group_size"] * step, step)
        at = self.over(rank, axes)
        return block.index(at) if at in block else None

    def segments(self, matrix):
        """Numbers of the stages that who shares it runs: those cut as its shards
        are, if there are such."""
        param = self.params[matrix["parameter"]]
        by_rows = [bool(axes) for axes in param["shard"]] == [True, False]
        found = [self.shared.get((param["rule"], matrix["group_size"], dim), [])
                 for dim in ((0, 1) if by_rows else (1, 0))]
        return found[0] or found[1]

    def is_local(self, matrix):
        """Each of those who share it has its shard of it, and exchanges nothing."""
        return (len(self.segments(matrix)) == 1 and self.kept(matrix) ==
                self.params[matrix["parameter"]]["element_count"])

    def matrix_flops(self, matrix):
        """Of the stages that see the matrix or a part, on one rank."""
        if matrix["group_size"] == 1:
            return self.flops(self.params[matrix["parameter"]], "whole")
        return sum(self.data["stages"][i]["flops"] for i in self.segments(matrix))

    def shard_box(self, param, rank):
        return [self.cut(param["shape"], param["shard"], param["bounds"],
                         d)[self.over(rank, axes)]
                for d, axes in enumerate(param["shard"])]

    def common(self, matrix, member, rank):
        """Elements of a member's part that a rank has in its shard."""
        param, count = self.params[matrix["parameter"]], 1
        group = matrix["group_size"]
        if group == 1:
            return self.elements(param, rank)
        dim = self.data["stages"][self.segments(matrix)[0]]["dim"]
        length = param["shape"][dim] // group
        for d, (first, end) in enumerate(self.shard_box(param, rank)):
            if d == dim:
                first = max(first, member * length)
                end = min(end, (member + 1) * length)
            count *= max(0, end - first)
        return count

    def kept(self, matrix):
        """Elements that travel to nobody."""
        first = [r for r in self.owners(matrix)][:1]
        if matrix["group_size"] == 1:
            return self.own_elements(matrix)
        axes = self.shard_axes(self.params[matrix["parameter"]])
        alike = [r for r in self.owners(matrix)
                 if all(self.places[r][a] == self.places[first[0]][a]
                        for a in self.axes if a not in axes)]
        return sum(self.common(matrix, self.member(matrix, r), r) for r in alike)

    # ---- work ----

    def flops(self, param, where):
        stage = self.stages.get((param["rule"], where))
        return stage["flops"] if stage else 0

    def near_flops(self, param):
        """Per element of the shard of a matrix, before and after."""
        return self.flops(param, "before") + self.flops(param, "after")
