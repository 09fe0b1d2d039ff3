"""Training iterations, simulated: a second evaluator, written from
dsl/SIMULATE.md alone.  A flow of completions in float64, where the compiler
walks one list in whole numbers."""
import bisect
import math

STREAMS = 3
ITERATIONS = 4
BYTES = {"f64": 8, "f32": 4, "bf16": 2}
UNIT = 1 << 20
WHOLE, TOGETHER = ("whole", "shared"), 64


class Op:
    """On the ranks in `ps`: picoseconds of each."""

    def __init__(self, part, iteration, stream, ps, waits=(), axes=(),
                 block=(0, 0)):
        self.part, self.iteration, self.stream = part, iteration, stream
        self.ps, self.waits, self.axes, self.block = ps, waits, axes, block


class Mesh:
    def __init__(self, plan):
        self.sizes = {a["name"]: a["size"] for a in plan["mesh"]["axes"]}
        self.ranks = range(math.prod(self.sizes.values()))
        self.known = {}

    def extent(self, axes):
        return math.prod(self.sizes[a] for a in axes)

    def over(self, axes):
        """The coordinate of each rank."""
        key = frozenset(axes)
        if key not in self.known:
            self.known[key] = [self.coordinate(r, key) for r in self.ranks]
        return self.known[key]

    def coordinate(self, rank, axes):
        digits = {}
        for axis in reversed(self.sizes):
            rank, digits[axis] = divmod(rank, self.sizes[axis])
        index = 0
        for axis, size in self.sizes.items():
            if axis in axes:
                index = index * size + digits[axis]
        return index

    def communicators(self, axes, block=(0, 0)):
        """Lists of ranks; with a group and a stride, of blocks of so many, so
        far apart."""
        group, stride = block
        found = {}
        others = self.over([a for a in self.sizes if a not in axes])
        place = self.over(axes)
        for rank in self.ranks:
            where = ((place[rank] // (group * stride), place[rank] % stride)
                     if group else 0)
            found.setdefault((others[rank], where), []).append(rank)
        return list(found.values())


class Costs:
    """Times of kernels and links."""

    def __init__(self, mesh, constants, e, unevens):
        self.mesh, self.c, self.e, self.unevens = mesh, constants, e, unevens
        self.links = {}

    def link(self, axes, block=(0, 0)):
        key = frozenset(axes), block
        if key not in self.links:
            node = self.c["gpus_per_node"]
            inside = all(len({r // node for r in members}) == 1
                         for members in self.mesh.communicators(axes, block))
            kind = "node" if inside else "network"
            self.links[key] = (self.c[kind + "_rate"],
                               self.c[kind + "_latency"], kind)
        return self.links[key]

    def part(self, kind, data, roots):
        """Of the link's rate: the nearest entry's, measured ones first; of
        equally near ones the first."""
        def far(value, wanted):
            return (value > wanted, abs(value - wanted))
        known = [u for u in self.unevens if u["link"] == kind]
        if self.e is not None or not known:
            return self.e or 1
        nearest = min(known, key=lambda u: (not u["measured"], far(u["roots"], roots),
                                            far(u["bytes"], data)))
        return nearest["thousandths"] / 1000

    def ring(self, axes, data, uneven=False):
        n = self.mesh.extent(axes)
        rate, latency, kind = self.link(axes)
        if n == 1:
            return 0
        rate *= self.part(kind, data, n) if uneven else 1
        return latency + data * (n - 1) / n / rate * 1e12

    def map(self, data):
        return self.c["launch"] + data / self.c["memory_rate"] * 1e12

    def step(self, step, batch):
        if step["kind"] == "map":
            return self.map(step["bytes"] * batch)
        if step["kind"] == "call":
            return (self.c["launch"] * step["launches"] +
                    max(step["effort"] / self.c["f32_rate"],
                        step["bytes"] / self.c["memory_rate"]) * batch * 1e12)
        tall, wide = self.c["tile_rows"], self.c["tile_columns"]
        rows, columns = -(-step["rows"] // tall), -(-step["columns"] // wide)
        tiles = rows * columns
        if step["symmetric"] and self.c["symmetric"]:
            tiles = sum(1 for i in range(rows) for j in range(columns)
                        if j * wide < (i + 1) * tall)
        waves = -(-tiles * batch // self.c["sms"])
        flops = waves * self.c["sms"] * 2 * tall * wide * step["inner"]
        rate = self.c["bf16_rate" if step["dtype"] == "bf16" else "f32_rate"]
        return self.c["launch"] + max(flops / rate,
                                      step["bytes"] * batch /
                                      self.c["memory_rate"]) * 1e12

    def batches(self, stage, rows):
        """How many of which size an operation's matrices are computed in."""
        most = len(stage["batch_ps"]) or 1
        return [(rows // most, most), (1, rows % most)]

    def matrices(self, stage, batch, is_plans):
        if batch == 0:
            return 0
        if is_plans:
            return (stage["batch_ps"] or [stage["time_ps"]])[batch - 1]
        return sum(self.step(s, batch) for s in stage["steps"])

    def stage(self, stage, rows, elements, together, is_plans):
        if stage["where"] in WHOLE:
            return sum(n * self.matrices(stage, batch, is_plans)
                       for n, batch in self.batches(stage, rows))
        return sum(-(-rows // together) * self.c["launch"] +
                   elements * s["bytes"] / UNIT / self.c["memory_rate"] * 1e12
                   for s in stage["steps"])


def is_uneven(lengths, whole):
    share = -(-whole // len(lengths))
    return max(lengths) > -(-share // 64) * 64


def layer_number(name):
    for segment in name.split("."):
        if segment.isdigit() and len(segment) < 10:
            return int(segment)
    return None


class Covered:
    """What spans, which may overlap, cover of time."""

    def __init__(self, spans):
        self.starts, self.ends, self.before = [], [], []
        covered = 0
        for at, to in sorted(spans):
            if self.ends and at <= self.ends[-1]:
                covered += max(0, to - self.ends[-1])
                self.ends[-1] = max(self.ends[-1], to)
            else:
                self.starts.append(at)
                self.ends.append(to)
                self.before.append(covered)
                covered += to - at

    def until(self, time):
        i = bisect.bisect_right(self.starts, time) - 1
        return self.before[i] + min(time, self.ends[i]) - self.starts[i] if i >= 0 else 0


class Simulation:
    def __init__(self, plan, constants, tokens, mfu, active, sequence, e, contention,
                 is_plans):
        self.plan, self.mesh = plan, Mesh(plan)
        self.costs = Costs(self.mesh, constants, e, plan["uneven_reduce"])
        self.is_plans, self.contention = is_plans, contention
        self.rate = constants["bf16_rate"] * mfu
        self.tokens, self.active = tokens, active
        self.how = {r["name"]: r for r in plan["reductions"]}
        self.params = [p for p in plan["parameters"] if not p["tied_to"]]
        self.sequence, self.bubbles, self.links = sequence, (0, 0), {}
        self.activations = self.microbatches = 0
        self.find_layers()
        if sequence:
            self.add_terms()
        self.ops = []

    # ---- the model ----

    def homes(self, part):
        home = part["home"]
        over = self.mesh.over(home["axes"])
        return [r for r in self.mesh.ranks
                if not home["axes"] or over[r] in home["coordinates"]]

    def find_layers(self):
        numbers = [layer_number(p["name"]) for p in self.params]
        known = sorted({n for n in numbers if n is not None})
        together = len(known) // 512 + 1
        behind = -(-len(known) // together) + 1
        seen, self.layer = False, []
        for p, n in zip(self.params, numbers):
            seen = seen or n is not None
            if n is not None:
                self.layer.append(1 + known.index(n) // together)
            else:
                late = seen or "head" in p["name"] or "output" in p["name"]
                self.layer.append(behind if late else 0)
        self.forward = [{} for _ in range(behind + 1)]
        self.backward = [{} for _ in range(behind + 1)]
        for p, layer in zip(self.params, self.layer):
            self.add_work(p, layer)

    def is_expert(self, p):
        return bool(p["names"]) or self.is_called(p, ("experts",))

    def part(self, p):
        return self.active if self.is_expert(p) else 1

    def add_work(self, p, layer):
        n = p["element_count"] * max(1, len(p["names"]))
        n *= self.part(p)
        ranks = self.homes(p)
        frozen = p["bucket"] is None
        for times, factor in ((self.forward, 2), (self.backward, 2 if frozen else 4)):
            ps = factor * n * self.tokens / len(ranks) / self.rate * 1e12
            for r in ranks:
                times[layer][r] = times[layer].get(r, 0) + ps

    # ---- with a length of sequences ----

    def named(self, *names):
        found = [a for n in self.plan["mesh"]["names"] if n["name"] in names
                 for a in n["axes"]]
        return [a for a in self.mesh.sizes if a in found]

    def rings(self, axes, data):
        return (self.costs.ring(axes, data) +
                (self.microbatches - 1) * self.costs.ring(axes, 0))

    def is_called(self, p, words):
        parts = p["name"].replace("[", ".").replace("]", ".").split(".")
        return any(w in words and (w != "c_proj" or parts[i - 1] == "attn")
                   for i, w in enumerate(parts) if w != "c_proj" or i > 0)

    def add_terms(self):
        self.microbatches = max(1, self.tokens // self.sequence //
                                self.mesh.extent(self.named("dp", "fsdp")))
        sizes = {}
        for p in self.params:
            for n in set(p["shape"][-2:]) if len(p["shape"]) > 1 else ():
                sizes[n] = sizes.get(n, 0) + 1
        self.width = min(sizes, key=lambda n: (-sizes[n], n)) if sizes else 0
        products = [dict(ps) for ps in self.forward + self.backward]
        shares = {}
        for p, layer in zip(self.params, self.layer):
            ranks = tuple(self.homes(p))
            shares.setdefault((layer, ranks), []).append(p)
        kept, beside = dict.fromkeys(self.mesh.ranks, 0), [{}, {}]
        for (layer, ranks), params in shares.items():
            found = [self.terms(layer, len(ranks), params, back)
                     for back in (False, True)]
            for r in ranks:
                kept[r] += self.kept(params, len(ranks)) if layer > 0 else 0
                for back, (flops, waits, gathers) in enumerate(found):
                    times = (self.forward, self.backward)[back][layer]
                    computed = flops / self.rate * 1e12
                    products[layer + back * len(self.forward)][r] += computed
                    times[r] += computed + waits
                    at = beside[back].setdefault((layer, r), [0])
                    at[0] += gathers
        for back, found in enumerate(beside):
            for (layer, r), (ps,) in found.items():
                times = (self.forward, self.backward)[back][layer]
                times[r] = max(times[r], ps)
        for ps, computed in zip(self.forward + self.backward, products):
            for r in ps:
                self.links[r] = self.links.get(r, 0) + ps[r] - computed[r]
        stages = self.mesh.extent(self.named("pp"))
        self.activations = max(kept.values()) * min(1, stages / self.microbatches)
        self.bubbles = [self.bubble(stages, times)
                        for times in (self.forward, self.backward)]

    def bubble(self, stages, times):
        if stages == 1:
            return 0
        busiest = max(sum(ps.get(r, 0) for ps in times) for r in self.mesh.ranks)
        rate, latency, _ = self.costs.link(self.named("pp"))
        data = self.tokens * self.width * 2 * stages / len(self.mesh.ranks)
        return ((stages - 1) * busiest / self.microbatches +
                self.microbatches * latency + data / rate * 1e12)

    def kept(self, params, n):
        return sum(self.tokens * sum(p["shape"][-2:]) * math.prod(p["shape"][:-2]) *
                   2 / n * max(1, len(p["names"])) * self.part(p)
                   for p in params if len(p["shape"]) > 1)

    def terms(self, layer, n, params, back):
        """Flops of a rank, what it waits for, and what runs beside."""
        fsdp, cp = self.named("fsdp"), self.named("cp")
        flops = waits = gathered = grads = experts = 0
        out = key = None
        spread, cut_experts = set(), set()
        for p in params:
            own = set(fsdp) - set(self.named("ep") if self.is_expert(p) else ())
            cuts = [[a for a in cut if a not in own] for cut in p["shard"]]
            parts = self.mesh.extent([a for cut in cuts for a in cut])
            if any(a in own for cut in p["shard"] for a in cut):
                gathered += p["element_count"] // parts * BYTES[p["dtype"]]
                if p["bucket"] is not None:
                    grads += p["element_count"] // parts * BYTES[p["grad"]]
            if len(p["shape"]) < 2:
                continue
            made = (self.tokens * parts / n * p["shape"][-2] *
                    math.prod(p["shape"][:-2]) * 2)
            made *= max(1, len(p["names"])) * self.part(p)
            if self.is_expert(p):
                if p["shape"][-2] == self.width:
                    experts += made
                    spread.update(p["spread"])
                    cut_experts.update(cuts[-1])
            elif cuts[-1]:
                waits += 2 * self.rings(cuts[-1], made)
            if layer > 0 and self.is_called(p, ("o_proj", "wo", "o", "linear_proj",
                                                "c_proj")):
                out = p
            elif layer > 0 and self.is_called(p, ("k_proj", "wk", "k")):
                key = p
        if experts:
            waits += 2 * self.rings(spread, experts / self.mesh.extent(cut_experts))
            waits += 2 * self.rings(cut_experts, experts)
        if out:
            width = out["shape"][-1]
            flops = ((4 if back else 2) * self.sequence * width * self.tokens / n)
            kept = key["shape"][-2] if key else width
            waits += (2 if back else 1) * self.rings(
                cp, self.tokens * self.mesh.extent(cp) / n * 2 * kept * 2)
        gathers = self.rings(fsdp, gathered) if gathered else 0
        gathers += self.rings(fsdp, grads) if back and grads else 0
        return flops, waits, gathers

    # ---- lists ----

    def add(self, *values):
        self.ops.append(Op(*values))
        return len(self.ops) - 1

    def passes(self, i, waits):
        fill, drain = (dict.fromkeys(self.mesh.ranks, ps) if ps else {}
                       for ps in self.bubbles)
        self.add("bubble", i, 0, fill)
        for layer, ps in enumerate(self.forward):
            self.add("forward", i, 0, ps, waits.get(layer, ()))
        last = len(self.backward) - 1
        ops = {layer: self.add("backward", i, 0, self.backward[layer])
               for layer in range(last, -1, -1)}
        self.add("bubble", i, 0, drain)
        return ops

    def own(self, bucket):
        lists = [bucket["slices"]] + ([bucket["fills"]] if "fills" in bucket else [])
        return [sum(b[i + 1] - b[i] for b in lists)
                for i in range(len(bucket["slices"]) - 1)]

    def traffic(self, bucket):
        """Elements that travel, and whether their slices are uneven."""
        own = self.own(bucket)
        if bucket["geometry"] == "padded":
            return len(own) * max(own), False
        if bucket["geometry"] == "equal":
            return bucket["length"], False
        return bucket["length"], is_uneven(own, bucket["length"])

    def exchange_ps(self, bucket, axes, unit):
        """Between equal parts and the slices of owners."""
        if bucket["geometry"] != "equal":
            return 0
        n, bounds = bucket["length"], bucket["slices"]
        step = -(-n // (len(bounds) - 1))
        step = -(-step // 16) * 16
        most = 0
        for i, (low, high) in enumerate(zip(bounds, bounds[1:])):
            start, end = min(n, i * step), min(n, (i + 1) * step)
            kept = max(0, min(end, high) - max(start, low))
            most = max(most, end - start - kept, high - low - kept)
        rate, latency, _ = self.costs.link(axes)
        return latency + most * unit / rate * 1e12 if most else 0

    def reduce_ps(self, bucket):
        """Without the latency."""
        how = self.how[bucket["reduction"]]
        n, uneven = self.traffic(bucket)
        axes = how["reduce_axes"]
        rest = [a for a in axes if a not in how["split_axes"]]
        ps = self.costs.ring(axes, n * how["leaves"] * BYTES[how["dtype"]], uneven)
        if set(rest) != set(axes):
            ps += self.costs.ring(rest, self.mesh.extent(rest) *
                                  max(self.own(bucket)) * 4, uneven)
        ps += self.exchange_ps(bucket, how["split_axes"], 4)
        return ps - self.costs.link(axes)[1]

    def message(self, bucket):
        number = self.plan["buckets"].index(bucket)
        key = bucket.get("message", number)
        return [b for k, b in enumerate(self.plan["buckets"])
                if b.get("message", k) == key]

    def op_ps(self, op, sent):
        """{rank: picoseconds}; `sent` are the messages that are on their way."""
        kind, c = op["kind"], self.costs
        bucket = None if op["bucket"] is None else self.plan["buckets"][op["bucket"]]
        ranks = self.mesh.ranks
        if kind == "kernel":
            return self.kernel_ps(op)
        if kind in ("transfer", "group_sum"):
            return self.transfer_ps(op)
        if bucket is not None:
            ranks = self.homes(self.plan["parameters"][bucket["order"][0]])
        if kind == "all_gather":
            n, uneven = self.traffic(bucket)
            unit = BYTES[bucket["dtype"]]
            return dict.fromkeys(ranks, c.ring(op["axes"], n * unit, uneven) +
                                 self.exchange_ps(bucket, op["axes"], unit))
        if kind in ("keep", "undo"):
            return {}
        if kind in ("all_reduce", "guard"):
            return dict.fromkeys(ranks, c.ring(op["axes"], 0))
        if kind in ("decide", "prologue"):
            return dict.fromkeys(ranks, c.c["launch"])
        how = self.how[bucket["reduction"]]
        if kind == "reduce_scatter" and self.mesh.extent(how["reduce_axes"]) > 1:
            together = self.message(bucket)
            first = id(together[0]) not in sent
            sent.add(id(together[0]))
            return dict.fromkeys(ranks, first * (
                c.link(how["reduce_axes"])[1] +
                sum(self.reduce_ps(b) for b in together)))
        unit = 4
        if kind == "reduce_scatter":
            unit += how["leaves"] * BYTES[how["dtype"]]
        own, over = self.own(bucket), self.mesh.over(how["split_axes"])
        return {r: c.map(own[over[r]] * unit) for r in ranks}

    def kernel_ps(self, op):
        over, found = self.mesh.over(op["over"]), {}
        stages = [self.plan["stages"][w["stage"]] for w in op["work"]]
        for r in self.mesh.ranks:
            at = over[r]
            if any(w["rows"][at] for w in op["work"]):
                # element-wise rows of a launch: all, or those of a batch
                together = max((len(s["batch_ps"]) or 1
                                for s, w in zip(stages, op["work"])
                                if s["where"] in WHOLE and w["rows"][at]),
                               default=TOGETHER)
                found[r] = sum(self.costs.stage(s, w["rows"][at], w["elements"][at],
                                                together, self.is_plans)
                               for s, w in zip(stages, op["work"]))
        return found

    def transfer_ps(self, op):
        over, found = self.mesh.over(op["over"]), {}
        block = op["group"], op["stride"]
        rate, latency, _ = self.costs.link(op["axes"], block)
        for members in self.mesh.communicators(op["axes"], block):
            moved = {r: max(op["sent"][over[r]], op["received"][over[r]])
                     for r in members}
            ps = latency + max(moved.values()) / rate * 1e12
            found.update({r: ps for r, n in moved.items() if n})
        return found

    def list_plan(self):
        gathers, sent = {}, set()
        held = {}
        for p, layer in zip(self.params, self.layer):
            if p["bucket"] is not None:
                held.setdefault(p["bucket"], set()).add(layer)
        costs = [self.op_ps(op, sent) for op in self.plan["schedule"]]
        for i in range(ITERATIONS):
            waits = {}
            for b, op in gathers.items():
                for layer in held[b]:
                    waits.setdefault(layer, []).append(op)
            backward, number = self.passes(i, waits), []
            for op, ps in zip(self.plan["schedule"], costs):
                after = [number[w] for w in op["waits"]]
                part = "gather" if op["kind"] == "all_gather" else op["section"]
                part = "decide" if part == "recover" else part
                if op["kind"] == "reduce_scatter":
                    together = self.message(self.plan["buckets"][op["bucket"]])
                    after.append(backward[min(
                        min(held[self.plan["buckets"].index(b)]) for b in together)])
                number.append(self.add(part, i, op["stream"], ps, after, op["axes"],
                                       (op["group"], op["stride"])))
                if op["kind"] == "all_gather":
                    gathers[op["bucket"]] = number[-1]

    def list_baseline(self, base):
        every, everywhere = self.mesh.ranks, list(self.mesh.sizes)
        layer_of = {id(p): layer for p, layer in zip(self.params, self.layer)}
        held, ranks = [], []
        for message in base["messages"]:
            members = [self.plan["parameters"][n] for n in message["order"]]
            held.append({layer_of[id(p)] for p in members})
            ranks.append(self.homes(members[0]))
        by_need = sorted(range(len(held)), key=lambda m: (min(held[m]), -m))
        policy, gathers = self.plan["policy"], {}
        agreed = dict.fromkeys(every, self.costs.ring(everywhere, 0))
        for i in range(ITERATIONS):
            waits = {}
            for m, op in gathers.items():
                layers = range(len(self.forward)) if base.get("exposed") else held[m]
                for layer in layers:
                    waits.setdefault(layer, []).append(op)
            backward, after = self.passes(i, waits), []
            for m in reversed(by_need):
                axes, ps, _ = self.message_costs(base, base["messages"][m])
                after.append(self.add("reduce", i, 1, dict.fromkeys(ranks[m], ps),
                                      [backward[min(held[m])]], axes))
            if policy["skip"] or policy["clip"] != "0":
                after = [self.add("decide", i, 0, self.squares(
                    base["messages"][m], ranks[m]), [reduced])
                         for m, reduced in zip(reversed(by_need), after)]
            if policy["clip"] == "0":
                after = [self.add("decide", i, 1, agreed, after, everywhere)]
            if policy["skip"] or policy["clip"] != "0":
                summed = self.add("decide", i, 1, agreed, after, everywhere)
                after = [self.add("decide", i, 0, dict.fromkeys(
                    every, self.costs.c["launch"]), [summed])]
            after = [self.add("update", i, 0, dict.fromkeys(
                every, self.costs.c["launch"]), after)]
            update = self.add("update", i, 0, {
                r: ps + base["launches"][r] * self.costs.c["launch"]
                for r, ps in enumerate(base["time_ps"])}, after)
            for m in by_need if base["gathers"] else ():
                message = base["messages"][m]
                split = self.how[message["reduction"]]["split_axes"]
                if self.mesh.extent(split) > 1:
                    _, _, ps = self.message_costs(base, message)
                    gathers[m] = self.add("gather", i, 1,
                                          dict.fromkeys(ranks[m], ps),
                                          [update], split)

    def squares(self, message, ranks):
        """Of its own slice, on each of the ranks."""
        split = self.how[message["reduction"]]["split_axes"]
        own = message["slices"]
        return {r: self.costs.map(own[self.mesh.coordinate(r, split)] * 4) for r in ranks}

    def message_costs(self, base, message):
        """Axes and time of a reduction, and time of a gather."""
        c, how = self.costs, self.how[message["reduction"]]
        axes, split = how["reduce_axes"], how["split_axes"]
        rest = [a for a in axes if a not in split]
        uneven = is_uneven(message["slices"], message["elements"])
        ps = c.ring(axes, message["elements"] * how["leaves"] * BYTES[how["dtype"]],
                    uneven)
        if self.mesh.extent(axes) == 1:
            ps = c.map(message["elements"] *
                       (how["leaves"] * BYTES[how["dtype"]] + 4))
        elif base.get("all_reduces"):
            ps *= 2
        elif set(rest) != set(axes):
            ps += c.ring(rest, self.mesh.extent(rest) * max(message["slices"]) * 4,
                         uneven)
        return axes, ps, c.ring(split, message["bytes"], uneven)

    # ---- times ----

    def run(self):
        """When each operation ends on each of its ranks."""
        queues = {}
        for number, op in enumerate(self.ops):
            for rank in op.ps:
                queues.setdefault((rank, op.stream), []).append(number)
        place = dict.fromkeys(queues, 0)
        free = dict.fromkeys(queues, 0.0)
        end = [{} for _ in self.ops]
        arrived, groups = {}, {}
        todo = list(queues)
        while todo:
            rank, stream = todo.pop()
            at = place[rank, stream]
            if at == len(queues[rank, stream]):
                continue
            number = queues[rank, stream][at]
            op = self.ops[number]
            waits = [w for w in op.waits if rank in self.ops[w].ps]
            if rank in end[number] or any(rank not in end[w] for w in waits):
                continue
            start = max([free[rank, stream]] + [end[w][rank] for w in waits])
            members = [rank]
            if op.axes:
                members = self.members(op, number, rank, groups)
                waiting = arrived.setdefault((number, members[0]), {})
                waiting[rank] = start
                if len(waiting) < len(members):
                    continue
                start = max(waiting.values())
            for r in members:
                end[number][r] = free[r, stream] = start + op.ps[r]
                place[r, stream] += 1
                todo.extend((r, s) for s in range(STREAMS) if (r, s) in queues)
        return end

    def members(self, op, number, rank, groups):
        if number not in groups:
            groups[number] = {}
            for members in self.mesh.communicators(op.axes, op.block):
                there = [r for r in members if r in op.ps]
                groups[number].update(dict.fromkeys(there, there))
        return groups[number][rank]

    def beside_links(self, end):
        """How long each kernel ran while a link of its rank did."""
        busy = {}
        for number, op in enumerate(self.ops):
            if op.stream != 0:
                for r, ps in op.ps.items():
                    busy.setdefault(r, []).append((end[number][r] - ps, end[number][r]))
        apart = {r: Covered(spans) for r, spans in busy.items()}
        for number, op in enumerate(self.ops):
            if op.stream == 0 and op.part != "bubble":
                yield number, {
                    r: apart[r].until(end[number][r]) - apart[r].until(end[number][r] - ps)
                    if r in apart else 0 for r, ps in op.ps.items()}

    def contended(self):
        end, calm = self.run(), [op.ps for op in self.ops]
        share = self.contention / (1 + self.contention)
        for _ in range(3 if self.contention else 0):
            for number, beside in list(self.beside_links(end)):
                self.ops[number].ps = {r: ps + beside[r] * share if ps > 0 else ps
                                       for r, ps in calm[number].items()}
            end = self.run()
        return end

    def times(self):
        end = self.contended()

        def last(part, iteration):
            return max((t for op, ends in zip(self.ops, end) for t in ends.values()
                        if (op.part, op.iteration) == (part, iteration)), default=0)

        def busy(part, computes):
            sums = dict.fromkeys(self.mesh.ranks, 0)
            for op in self.ops:
                if (op.part, op.iteration, op.stream == 0) == (part, 2, computes):
                    for r, ps in op.ps.items():
                        sums[r] += ps
            return sums.values()

        reduced = max(last("reduce", 2), last("decide", 2))
        forward = max(busy("forward", True))
        step = max(0, last("update", 2) - reduced)
        return {"iteration_ps": last("backward", 3) - last("backward", 2),
                "step_ps": step,
                "step_gather_ps": max(step, last("forward", 3) - reduced - forward -
                                      self.bubbles[0]),
                "forward_ps": forward,
                "backward_ps": max(busy("backward", True)),
                "links_ps": max(self.links.values(), default=0),
                "bubble_ps": sum(self.bubbles),
                "reduce_ps": max(busy("reduce", False)),
                "gather_ps": max(busy("gather", False)),
                "update_ps": max(busy("update", True)),
                "update_sum_ps": sum(busy("update", True))}


def times_of(plan, constants, options, is_plans, base=None):
    """Of one baseline, or of the plan."""
    simulation = Simulation(plan, constants, *[options[key] for key in (
        "tokens", "mfu", "active", "sequence", "e", "contention")], is_plans)
    if base:
        simulation.list_baseline(base)
    else:
        simulation.list_plan()
    return {**simulation.times(), "activation_bytes": simulation.activations,
            "microbatches": simulation.microbatches}


def baseline_ways(plan):
    """Each with its own time, or where it has micro-groups with those of each."""
    for base in plan["baselines"]:
        for g in base["groupings"] or [base]:
            yield {**base, "time_ps": g["time_ps"]}


def simulate(plan, constants, options, is_plans):
    """Times of the plan, then of its baselines; of those of one name that of the shortest iteration, and its buckets."""
    found = {}
    for way in baseline_ways(plan):
        times = {**times_of(plan, constants, options, is_plans, way),
                 "bucket_elements": way["bucket_elements"]}
        known = found.setdefault(way["name"], times)
        if times["iteration_ps"] < known["iteration_ps"]:
            found[way["name"]] = times
    return [times_of(plan, constants, options, is_plans)] + list(found.values())


def even_names(plan):
    """Of each way, by its name and buckets, whether all its messages are."""
    return {(way["name"], way["bucket_elements"]): not any(
        is_uneven(m["slices"], m["elements"]) for m in way["messages"])
        for way in baseline_ways(plan)}
