"""Megatron-LM's layer-wise optimizer on one domain of a plan's parameters,
computed again: buckets, owners, and what each split coordinate does.  Written
from the schema and Megatron's description of its layout."""
from plan_bounds import Form
from plan_groupings import Matrix, link_of
from plan_numbers import BYTES, round_up
from plan_times import batches, ceil_div, constants

SLICE, ALIGN = 64, 16  # alignment of padded slices, and of parameters
NAMES = tuple("Megatron layer-wise" + mode for mode in
              ("", ", duplicated", ", distributed", ", layer-sharded"))


def lengthened(slices, elements):
    """The shortest slice, and its length with so many elements more."""
    at = slices.index(min(slices))
    return at, round_up(slices[at], SLICE) + elements


def matrix_buckets(sizes, n, most):
    """Counts of matrices: closed with `most` elements and nine tenths of n times
    the largest, before the one that would make the longest slice longer."""
    found, slices, inside = [], [0] * n, []
    for size in sizes:
        at, end = lengthened(slices, size)
        enough = max(most, n * max(inside, default=0) * 9 // 10)
        padded = round_up(max(slices), SLICE)
        if inside and sum(inside) >= enough and min(slices) + size > padded:
            found.append(len(inside))
            inside, slices = [], [0] * n
            at, end = 0, size
        inside.append(size)
        slices[at] = end
    return found + [len(inside)] if inside else found


def even_buckets(sizes, most):
    found, inside = [], []
    for size in sizes:
        if inside and sum(inside) >= most:
            found.append(len(inside))
            inside = []
        inside.append(size)
    return found + [len(inside)] if inside else found


class Layout:
    """Buckets of a domain: lists of parameter numbers, and whether they are
    matrices'."""

    def __init__(self, plan, members, n, most):
        self.buckets = []
        for name in plan.reductions:
            mine = [k for k in members if plan.params[k]["reduction"] == name]
            for is_matrix in (True, False):
                part = [k for k in mine if is_matrix == (
                    (plan.params[k]["rule"], "whole") in plan.stages)]
                sizes = [plan.params[k]["local_elements"] for k in part]
                at = 0
                for count in (matrix_buckets(sizes, n, most) if is_matrix else
                              even_buckets(sizes, most)):
                    self.buckets.append((part[at:at + count], is_matrix))
                    at += count


def owners(sizes, times, n, load):
    """By falling time to who has least to do so far, of those whose slice stays
    within 1.3 times the mean; else to the shortest slice.  Owners, and the
    longest slice."""
    slices, found = [0] * n, {}
    cap = sum(sizes) * 13 // 10 // n
    for i in sorted(range(len(sizes)), key=lambda i: -times[i]):
        short = [r for r in range(n) if round_up(slices[r], SLICE) + sizes[i] <= cap]
        at = (min(short, key=lambda r: load[r]) if short else
              lengthened(slices, sizes[i])[0])
        slices[at] = round_up(slices[at], SLICE) + sizes[i]
        load[at] += times[i]
        found[i] = at
    return [found[i] for i in range(len(sizes))], round_up(max(slices), SLICE)


class Megatron:
    """Of one domain as plan_baselines.Expected has it."""

    def __init__(self, plan, domain, name, most, costs, order, sizes):
        self.plan, self.domain, self.name = plan, domain, name
        self.costs, self.sizes = costs, sizes
        self.n, self.hosts = plan.extent(domain.split), plan.extent(domain.axes)
        self.time = [[0] * self.hosts for _ in range(self.n)]
        self.updated, self.cut = ([[] for _ in range(self.n)] for _ in range(2))
        self.state, self.messages = [0] * self.n, []
        self.rows = [[] for _ in range(self.n)]
        self.classes = {}
        load, mine = [0] * self.n, set(domain.members)
        layout = Layout(plan, [k for k in order if k in mine], self.n, most)
        for bucket, is_matrix in layout.buckets:
            if is_matrix:
                self.add_matrices(bucket, load)
            else:
                self.add_rest(bucket)
        for row in range(self.n):
            self.add(row, self.row_time(
                [p for p in self.rows[row] if self.is_gathered(p)],
                [p["rule"] for p in self.rows[row] if not self.is_gathered(p)]))

    def add(self, row, time):
        """On each host."""
        self.time[row] = [t + time for t in self.time[row]]

    def is_gathered(self, p):
        return self.domain.axes and self.plan.shards(p) > 1

    def whole(self, p):
        return self.plan.stages[p["rule"], "whole"]["time_ps"]

    def add_matrices(self, bucket, load):
        params = [self.plan.params[k] for k in bucket]
        owned, longest = owners(
            [p["local_elements"] for p in params],
            [self.whole(p) + self.costs.near_ps(self.plan, p) for p in params],
            self.n, load)
        for p, owner in zip(params, owned):
            self.add(owner, self.costs.near_ps(self.plan, p))
            self.state[owner] += self.costs.state_bytes(self.plan, p)
            self.updated[owner].append(p)
            self.rows[owner].append(p)
        real = [round_up(p["local_elements"], ALIGN) for p in params]
        padding = (self.n * longest - sum(real)) * BYTES[params[0]["dtype"]]
        self.add_message(bucket, params, [longest] * self.n, padding)

    def add_rest(self, bucket):
        params, at = [self.plan.params[k] for k in bucket], 0
        length = sum(round_up(p["local_elements"], ALIGN) for p in params)
        step = round_up(ceil_div(length, self.n), ALIGN)
        ends = [min(length, step * r) for r in range(self.n + 1)]
        for p in params:
            size = p["local_elements"]
            time, state = (f(self.plan, p) for f in (self.costs.near_ps,
                                                     self.costs.state_bytes))
            for r in range(self.n):
                low, high = (min(max(e - at, 0), size) for e in ends[r:r + 2])
                self.add(r, time * high // size - time * low // size)
                self.state[r] += state * high // size - state * low // size
                self.cut[r].append(p)
            at += round_up(size, ALIGN)
        self.add_message(bucket, params, [b - a for a, b in zip(ends, ends[1:])], 0)

    def add_message(self, bucket, params, slices, padding):
        self.messages.append({
            "reduction": params[0]["reduction"], "order": bucket,
            "elements": sum(slices), "slices": slices,
            "bytes": padding + sum(round_up(p["local_elements"], ALIGN) *
                                   BYTES[p["dtype"]] for p in params)})

    # ---- matrices that ranks shard ----

    def row_time(self, params, alone):
        """Of each of its ranks; alone: rules of what nothing shards."""
        operation = self.costs.operation_ps
        if not params:
            return operation(self.plan, alone)
        rate, latency = link_of(self.plan, self.domain.axes)
        matrices = [Matrix(self.plan, p, self.sizes(p)[0], rate) for p in params]
        if self.name.endswith("layer-sharded"):
            return self.row_end(params, matrices, latency, alone)
        forms = [self.form_of(p) if self.name.endswith("distributed") else None
                 for p in params]
        found = sum(f["link_ps"] if f else latency + m.gather[0]
                    for f, m in zip(forms, matrices))
        found += operation(self.plan, alone + [
            p["rule"] for f, p in zip(forms, params) if not f])
        shared = [(p["rule"], self.classes[id(f)]["dim"]) for f, p in
                  zip(forms, params) if f]
        for key, form in dict(zip(shared, filter(None, forms))).items():
            found += self.shared_ps(form, shared.count(key))
        return found

    def row_end(self, params, matrices, latency, alone):
        """One host each, the longest first to the least loaded; they gather
        together, and scatter together."""
        load, rules = [0] * self.hosts, [list(alone) for _ in range(self.hosts)]
        both = {kind: [[0, 0] for _ in load] for kind in ("gather", "scatter")}
        for p, m in sorted(zip(params, matrices), key=lambda pm: -pm[1].compute):
            host = load.index(min(load))
            load[host] += m.compute
            rules[host].append(p["rule"])
            for kind, moved in both.items():
                for h, pair in enumerate(moved):
                    pair[h != host] += getattr(m, kind)[h != host]
        longest = max(self.costs.operation_ps(self.plan, of) for of in rules)
        return longest + 2 * latency + sum(max(map(max, moved))
                                           for moved in both.values())

    def form_of(self, p):
        """That in which all who shard it share it, each an equal part, if they
        can."""
        for c in self.plan.data["classes"] if p["bounds"] is None else ():
            if (c["rule"], self.plan.params[c["parameter"]]["shard"]) != (
                    p["rule"], p["shard"]):
                continue
            for form in c["forms"]:
                if (form["strategy"], form["dealt"], form["group_size"],
                        form["why"]) == ("gram", False, self.hosts, ""):
                    self.classes[id(form)] = c
                    return form
        return None

    def shared_ps(self, form, n):
        """Kernels of n matrices, in batches as large as the stage's go."""
        of = self.classes[id(form)]
        most = len(self.plan.stages[of["rule"], "whole"]["batch_ps"])
        known = {b["batch"]: b["time_ps"] for b in form["batches"]}
        modelled = Form(self.plan, constants(self.plan), of, form)
        return sum(known.get(batch) or modelled.time_ps(batch)
                   for batch in batches(n, most))
