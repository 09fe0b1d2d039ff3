"""Bounds of a plan and the ways that it left out, computed again from its
classes, stages, mesh and constants.  Written from the schema alone."""
import json

from plan_fit import check_fit
from plan_numbers import BYTES, admits_bf16, equal, wire_bytes
from plan_times import (ELEMENTS, MOST_BATCH, PS, ceil_div, constants, mean_ps,
                        step_ps)

CAP = 1 << 30


# ---- classes ----

def is_of(plan, of, p):
    first = plan.params[of["parameter"]]
    return (p["rule"], p["shard"]) == (first["rule"], first["shard"])


def count(p):
    return max(1, len(p["names"]))


def near(plan, m, p):
    """The most that divide the ranks that shard it into blocks in one node each."""
    rows = plan.communicators(plan.shard_axes(p))
    n = plan.shards(p)
    return max(size for size in range(1, n + 1) if n % size == 0 and
               all(row[at] // m["gpus_per_node"] ==
                   row[at + size - 1] // m["gpus_per_node"]
                   for row in rows for at in range(0, n, size)))


def is_admitted(plan, of, group):
    policy = plan.data["policy"]
    if of["shards"] == 1 or policy["tp_strategy"] == "owner":
        return group == 1
    asked = policy["tp_subgroup"] or of["shards"]
    return policy["tp_strategy"] == "auto" or group == asked


def check_executed(plan, of):
    """The last form of a group is what its stages do: as many bytes of sums."""
    last = {f["group_size"]: f["steps"] for f in of["forms"]}
    for (rule, group, dim), numbers in plan.shared.items():
        if (rule, dim) == (of["rule"], of["dim"]) and group in last:
            sums = [one for i in numbers for one in plan.data["stages"][i]["sums"]]
            yield from equal(f"bytes of sums of {group}",
                             sum(s["sum_bytes"] for s in last[group]),
                             sum(one["count"] * BYTES[one["dtype"]]
                                 for one in sums if one["how"] != "gather"))


class Form:
    """One form of a class, and what follows from it."""

    def __init__(self, plan, m, of, form):
        self.m, self.of, self.form = m, of, form
        self.group = form["group_size"]
        self.param = plan.params[of["parameter"]]
        self.whole = plan.stages[self.param["rule"], "whole"]
        self.steps = form["steps"] if self.group > 1 else self.whole["steps"]
        self.admits_bf16 = admits_bf16(plan)

    def link(self, members):
        name = "node" if members <= self.of["near"] else "network"
        return self.m[f"{name}_rate"], self.m[f"{name}_latency"]

    def travels(self):
        """Elements that a rank of the group gathers.  Its own shard lies in its
        part, but in blocks of near ranks of a row that spans nodes."""
        elements = self.param["element_count"]
        shard = elements // self.of["shards"]
        cut = [d for d, axes in enumerate(self.param["shard"]) if axes]
        if self.group > 1 and cut != [self.of["dim"]]:
            shard //= self.group
        elif 1 < self.group < self.of["shards"] > self.of["near"]:
            shard = 0
        return ceil_div(elements, self.group) - shard

    def rounds(self):
        """Bytes that each of the group sends behind each step, and receives."""
        for s in self.form["steps"]:
            for size in self.travelling(s):
                if size:
                    yield size * (self.group - 1)

    def travelling(self, step):
        """Of sums, both ways unless they are scattered, and of what is gathered."""
        band = step["band"]
        sums, rows = (size // band * (band // 2 + 1) if band else size
                      for size in (step["sum_bytes"], step["gather_bytes"]))
        return sums * (1 if step["scatter"] else 2), rows

    def link_ps(self):
        rate, latency = self.link(self.of["shards"])
        found = 0
        for slots in (self.whole["gather"], self.whole["scatter"]):
            size = self.travels() * wire_bytes(slots)
            found += ceil_div(size * PS, rate) + latency if size else 0
        rate, latency = self.link(self.group)
        return found + sum(
            ceil_div(ceil_div(size, self.group) * PS, rate) + latency
            for size in self.rounds())

    def bytes(self):
        sent = sum(sum(self.travelling(s)) * (self.group - 1) // self.group
                   for s in self.form["steps"])
        return self.group * (sent + self.travels() * wire_bytes(
            self.whole["gather"] + self.whole["scatter"]))

    def staging(self):
        part = ceil_div(self.param["element_count"], self.group)
        if not self.travels():
            part = 0
        return (part * wire_bytes(self.whole["gather"]) +
                max((s["sum_bytes"] for s in self.form["steps"]), default=0) +
                max((s["gather_bytes"] for s in self.form["steps"]), default=0))

    def check_steps(self):
        if self.group == 1:
            yield from equal("steps", self.form["steps"], [])
            return
        yield from equal("steps", [s["kind"] for s in self.form["steps"]],
                         [s["kind"] for s in self.whole["steps"]])
        for i, (part, all_of) in enumerate(zip(self.steps, self.whole["steps"])):
            lengths = [k for k in ("rows", "columns", "inner") if k in all_of]
            cut = [k for k in lengths if part[k] != all_of[k]]
            yield from equal(f"steps[{i}]: what is cut", [part[k] for k in cut],
                             [ceil_div(all_of[k], self.group) for k in cut])
            if len(cut) > 1 or part["bytes"] > all_of["bytes"] or (
                    part["bytes"] * self.group < all_of["bytes"]):
                yield f"steps[{i}] is no part of the whole one"
            if lengths and part["symmetric"] != (
                    all_of["symmetric"] and part["rows"] == part["columns"]):
                yield f"steps[{i}].symmetric"
            if part["gather_bytes"] and not self.form["dealt"]:
                yield f"steps[{i}] deals out"
            if not self.is_exchange(part, all_of):
                yield f"steps[{i}]: what the group exchanges"

    def sum_sizes(self, all_of):
        """Of a product's sums: f32, or bf16 where it is tolerated and the product
        is of that."""
        elements = all_of["rows"] * all_of["columns"]
        is_narrow = self.admits_bf16 and all_of["dtype"] == "bf16"
        return [0, 4 * elements] + [2 * elements] * is_narrow

    def is_exchange(self, part, all_of):
        """Bands are of equal blocks on each rank."""
        sums, rows, band = part["sum_bytes"], part["gather_bytes"], part["band"]
        if part["scatter"] and not (sums and rows and part["behind_bytes"]):
            return False
        if part["kind"] == "product":
            elements = all_of["rows"] * all_of["columns"]
            ranks = self.group if part["scatter"] else 1
            if sums not in self.sum_sizes(all_of) or (
                    part["behind_bytes"] % (elements // ranks)):
                return False
        return not band or (rows > 0 and band % self.group == 0 and
                            sums % band == 0 and rows % band == 0)

    def time_ps(self, batch):
        launch = self.m["launch"]
        if self.group == 1:
            return mean_ps(self.m, self.whole, batch, launch)
        behind = ({"kind": "map", "bytes": s["behind_bytes"]} for s in self.steps
                  if s["behind_bytes"])
        return sum(step_ps(self.m, s, batch, launch)
                   for s in (*self.steps, *behind))

    def check_batches(self, n_matrices):
        sizes = [1]
        while sizes[-1] * 2 <= min(n_matrices, MOST_BATCH):
            sizes.append(sizes[-1] * 2)
        yield from equal("batches", [b["batch"] for b in self.form["batches"]],
                         sizes)
        for b in self.form["batches"]:
            if not b["measured"]:
                yield from equal(f"time_ps of {b['batch']}", b["time_ps"],
                                 self.time_ps(b["batch"]))

    def check(self, plan, n_matrices):
        form = self.form
        if form["why"]:
            yield from equal("what is impossible", form, {
                "strategy": "gram", "dealt": False, "group_size": self.of["shards"],
                "admitted": False, "why": form["why"], "steps": [], "batches": [],
                "link_ps": 0, "bytes": 0, "staging_bytes": 0})
            return
        yield from equal("strategy, admitted", [form["strategy"], form["admitted"]],
                         ["gram" if self.group > 1 else "owner",
                          is_admitted(plan, self.of, self.group)])
        yield from self.check_steps()
        yield from self.check_batches(n_matrices)
        if not any(b["measured"] for b in form["batches"][:1]):
            yield from equal("link_ps", form["link_ps"], self.link_ps())
        yield from equal("bytes", form["bytes"], self.bytes())
        yield from equal("staging_bytes", form["staging_bytes"], self.staging())


def check_class(plan, m, of):
    first = plan.params[of["parameter"]]
    members = [p for p in plan.params if is_of(plan, of, p)]
    yield from equal("parameter", first, members[0])
    yield from equal("rule, matrices, shards, near",
                     [of[k] for k in ("rule", "matrices", "shards", "near")],
                     [first["rule"], sum(map(count, members)), plan.shards(first),
                      near(plan, m, first)])
    n_matrices = sum(count(p) for p in plan.params if p["rule"] == first["rule"])
    kinds = [(f["group_size"], f["strategy"], f["dealt"]) for f in of["forms"]]
    impossible = [f["why"] for f in of["forms"] if f["why"]]
    yield from equal("forms in order", kinds, sorted(set(kinds), key=lambda k: (
        k[0], k[1] != "owner", k[2])))
    yield from equal("an owner is possible, one reason if no group is",
                     [kinds[0], len(impossible)],
                     [(1, "owner", False), len(kinds) == 1 + len(impossible)])
    if impossible:
        yield from equal("nothing shards it", impossible == ["nothing shards it"],
                         of["shards"] == 1)
    yield from equal("dim", of["dim"] in (0, 1), not impossible)
    for i, form in enumerate(of["forms"]):
        if of["shards"] % form["group_size"]:
            yield f"forms[{i}] is no group of the shards"
        for message in Form(plan, m, of, form).check(plan, n_matrices):
            yield f"forms[{i}]: {message}"
    yield from check_executed(plan, of)


# ---- the other ways ----

def spare_bytes(plan):
    """What all matrices together may send besides."""
    metrics, policy = plan.data["metrics"], plan.data["policy"]
    if policy["tp_strategy"] != "auto":
        return float("inf")
    return (int(metrics["gathered_gradient_bytes"] * float(policy["wire"])) -
            sum(sum(metrics["sent_bytes"][kind]) for kind in ("transfer", "group_sum")))


def why_not(plan, form, time, chosen):
    # What an owner of the largest matrix gathers and scatters is there anyway.
    largest = max(of["forms"][0]["staging_bytes"] or 0 for of in plan.data["classes"])
    cap = plan.data["policy"]["micro_group_bytes"] or max(CAP, 2 * largest)
    group, own_time, own_link, own_bytes, at_shards = chosen
    if not form["admitted"]:
        return "the schedule asks for another"
    if at_shards and form["bytes"] > own_bytes:
        return "more would travel"
    if form["staging_bytes"] > cap:
        return "its buffers are beyond the cap"
    if time + form["link_ps"] >= own_time + own_link:
        return "slower by itself"
    if form["bytes"] - own_bytes > spare_bytes(plan):
        return "`wire` does not let matrices send as much"
    if form["group_size"] * time > group * own_time:
        return "more work in all"
    return "no better for the whole plan"


def keeps_shards(plan, of):
    """Whether ranks would share as their shards lie: there is no product."""
    whole = plan.stages[of["rule"], "whole"]
    cut = [d for d, axes in enumerate(plan.params[of["parameter"]]["shard"]) if axes]
    return (all(s["kind"] == "map" for s in whole["steps"]) and
            of["dim"] is not None and cut == [of["dim"]])


def why_not_local(plan, of):
    """Of what can be shared."""
    last = of["forms"][-1]
    if not keeps_shards(plan, of):
        return "the update needs the whole matrix"
    if plan.params[of["parameter"]]["bounds"] is not None:
        return "its shards are of unequal length"
    if any(s["sum_bytes"] for s in last["steps"]):
        return "it needs sums over other shards"
    return "the schedule asks for another"


def candidates(plan, of, matrix):
    whole = plan.stages[of["rule"], "whole"]
    reason = why_not_local(plan, of)
    if of["dim"] is None:
        # Whether it is for the shards that it cannot, the forms do not say.
        given = matrix["candidates"][:1]
        reason = given[0]["why"] if given and given[0]["why"] in (
            of["forms"][-1]["why"], "its shards are of unequal length") else reason
    if matrix["strategy"] != "local":
        yield {"strategy": "local", "group_size": 1, "time_ps": None,
               "measured": False, "bytes": None, "why": reason}
    open_forms = [f for f in of["forms"] if not f["why"]]
    executed = {f["group_size"]: f for f in open_forms}  # dealt where possible
    own = executed[matrix["group_size"]]
    at_shards = (matrix["group_size"] == of["shards"] > 1 and
                 keeps_shards(plan, of))
    chosen = (matrix["group_size"], matrix["cost"]["time_ps"], own["link_ps"],
              own["bytes"], at_shards)
    for group, form in executed.items():
        time, measured = form["batches"][0]["time_ps"], form["batches"][0]["measured"]
        if group == 1:
            time, measured = whole["time_ps"], whole["measured"]
        if group != matrix["group_size"]:
            yield {"strategy": form["strategy"], "group_size": group,
                   "time_ps": time, "measured": measured, "bytes": form["bytes"],
                   "why": why_not(plan, form, time, chosen)}
    for form in of["forms"]:
        if form["why"]:
            yield {"strategy": "gram", "group_size": form["group_size"],
                   "time_ps": None, "measured": False, "bytes": None,
                   "why": form["why"]}


def check_candidates(plan):
    classes, known = plan.data["classes"], {}
    for i, matrix in enumerate(plan.data["matrices"]):
        if not classes:
            yield from equal(f"matrices[{i}] without a machine",
                             [matrix["class"], matrix["candidates"]], [None, []])
            continue
        of = classes[matrix["class"]]
        if not is_of(plan, of, plan.params[matrix["parameter"]]):
            yield f"matrices[{i}].class: of others"
        key = matrix["class"], matrix["group_size"], matrix["cost"]["time_ps"]
        if key not in known:
            known[key] = list(candidates(plan, of, matrix))
        yield from equal(f"matrices[{i}].candidates", matrix["candidates"],
                         known[key])


# ---- bounds ----

def n_of_rule(plan, rule):
    return sum(count(p) for p in plan.params if p["rule"] == rule)


def owner_batches(plan, of, n):
    """Sizes and times of an owner's, with so many matrices."""
    times = plan.stages[of["rule"], "whole"]["batch_ps"]
    return list(enumerate(times[:n], 1))


def least_work(plan, of):
    found = [f["group_size"] * b["time_ps"] // b["batch"]
             for f in of["forms"] if f["admitted"] and f["group_size"] > 1
             for b in f["batches"]]
    if of["forms"][0]["admitted"]:
        found += [time // batch for batch, time in
                  owner_batches(plan, of, n_of_rule(plan, of["rule"]))]
    return min(found)


def least_time(plan, of):
    """And how many ranks take it."""
    found = [(f["batches"][0]["time_ps"], f["group_size"])
             for f in of["forms"] if f["admitted"] and f["group_size"] > 1]
    if of["forms"][0]["admitted"]:
        found[:0] = [(time, 1) for _, time in
                     owner_batches(plan, of, n_of_rule(plan, of["rule"]))]
    return min(found, key=lambda both: both[0])


def owner_pieces(plan, of, n):
    """Of n matrices of the class: whole batches, where the rule has no others."""
    in_all = n_of_rule(plan, of["rule"])
    if in_all == of["matrices"]:
        return owner_batches(plan, of, n)
    return [(1, min(time // batch
                    for batch, time in owner_batches(plan, of, in_all)))]


class Family:
    """Parameters of one class, or of one rule, at one home; `n` of them."""

    def __init__(self, plan, p):
        self.p, self.n = p, 0
        self.of = next((c for c in plan.data["classes"] if is_of(plan, c, p)), None)


def families(plan):
    found = {}
    for p in plan.params:
        key = json.dumps([p[k] for k in ("rule", "shape", "shard", "home")])
        if key not in found:
            found[key] = Family(plan, p)
        found[key].n += count(p)
    return list(found.values())


def full_matrix_ps(plan, some):
    return sum(least_work(plan, f.of) * f.n for f in some if f.of)


def elements_ps(plan, some):
    elements = {}
    for family in some:
        for where in ("before", "after") if family.of else ("local",):
            key = family.p["rule"], where
            elements[key] = (elements.get(key, 0) +
                             family.p["element_count"] * family.n)
    return sum(n * plan.stages[key]["time_ps"] // ELEMENTS
               for key, n in elements.items() if key in plan.stages)


def places(plan, every):
    """All families and all ranks; then those of each home and its ranks."""
    yield every, len(plan.ranks)
    homes = {}
    for family in every:
        homes.setdefault(str(plan.home(family.p)), []).append(family)
    for some in homes.values():
        yield some, sum(plan.is_home(some[0].p, r) for r in plan.ranks)


def first_most(bounds):
    return max(bounds, key=lambda bound: bound[0])


class Wire:
    """Bytes that all ranks send at least, between nodes or in all."""

    def __init__(self, plan, m):
        self.plan, self.m, self.groups = plan, m, {}

    def sizes(self, axes):
        """First rank, ranks and nodes of each communicator."""
        key = tuple(axes)
        if key not in self.groups:
            self.groups[key] = [
                (ranks[0], len(ranks), len({r // self.m["gpus_per_node"]
                                            for r in ranks}))
                for ranks in self.plan.communicators(axes)]
        return self.groups[key]

    def of_param(self, p):
        reduction, node, network = self.plan.reduction(p), 0, 0
        for axes, unit in ((reduction["reduce_axes"], BYTES[reduction["dtype"]]),
                           (reduction["split_axes"], BYTES[p["dtype"]])):
            for first, n, nodes in self.sizes(axes):
                size = self.plan.elements(p, first) * unit
                node += size * (n - 1)
                network += size * (nodes - 1)
        return node, network

    def all(self):
        known, node, network = {}, 0, 0
        for p in self.plan.params:
            key = json.dumps([p[k] for k in ("dtype", "shard", "bounds", "reduction",
                                             "home", "local_elements", "shape")])
            if key not in known:
                known[key] = self.of_param(p)
            node, network = node + known[key][0], network + known[key][1]
        return node, network


def kernel_bounds(plan, every, fit, busiest):
    mean = first_most((ceil_div(full_matrix_ps(plan, some) + elements_ps(plan, some),
                                ranks), ranks) for some, ranks in places(plan, every))
    item = first_most([(0, 0), *(least_time(plan, of)
                                 for of in plan.data["classes"])])
    yield "mean", mean[0], mean[1], busiest
    yield "item", item[0], item[1], busiest
    yield "fit", fit["value"], fit["ranks"], busiest


def place_of_fit(plan, every, bound):
    """Families and ranks that it is of: those at home where its witness is, or
    all."""
    home = plan.home(plan.params[bound["witness"] or 0])
    return next((place for place in places(plan, every)
                 if place[1] == bound["ranks"] and
                 any(plan.home(f.p) == home for f in place[0])), (every, None))


def check_fit_of(plan, every, fit, found):
    witness, classes = fit["witness"], plan.data["classes"]
    some, ranks = place_of_fit(plan, every, fit)
    yield from equal("ranks of the bound by fit", fit["ranks"], ranks)
    counts = [sum(f.n for f in some if f.of is of) for of in classes]
    yield from check_fit(
        fit, classes, counts,
        [owner_pieces(plan, of, n) for of, n in zip(classes, counts)],
        elements_ps(plan, some),
        plan.matrix_of.get(witness, {}).get("class"),
        max(b["value"] for b in found if b["name"] in ("mean", "item")))


def check_bounds(plan):
    m, metrics = constants(plan), plan.data["metrics"]
    found, n = metrics["bounds"], len(plan.ranks)
    if not m:
        yield from equal("bounds without a machine", found, [])
        return
    groups = sorted({f["group_size"] for of in plan.data["classes"]
                     for f in of["forms"] if f["admitted"]})
    wire = Wire(plan, m).all()
    sent = sum(map(sum, metrics["sent_bytes"].values()))
    own = ceil_div(ceil_div(sent, n) * PS, m["node_rate"])
    every, fit = families(plan), next(b for b in found if b["name"] == "fit")
    expected = [[name, "kernels", value, busiest, ranks, 0, groups]
                for name, value, ranks, busiest in kernel_bounds(
                    plan, every, fit, max(metrics["time_ps"]))]
    for name, size, its_own in zip(("node", "network"), wire, (own, None)):
        value = ceil_div(ceil_div(size, n) * PS, m[f"{name}_rate"])
        expected.append([name, "links", value, its_own, n, size, []])
    keys = ("name", "of", "value", "plan", "ranks", "bytes", "admits")
    yield from equal("metrics.bounds", [[b[k] for k in keys] for b in found],
                     expected)
    for b in found:
        if b["plan"] is not None and b["plan"] < b["value"]:
            yield f"the plan is below the bound {b['name']}"
        if (b["witness"] is None) != (b["value"] == 0) and b["name"] != "mean":
            yield f"witness of the bound {b['name']}"
    yield from check_fit_of(plan, every, fit, found)
    longest = next(b for b in found if b["name"] == "item")
    if longest["witness"] is not None:
        of = plan.data["classes"][plan.matrix_of[longest["witness"]]["class"]]
        yield from equal("the item bound's witness", least_time(plan, of)[0],
                         longest["value"])


def check_classes(plan):
    m, classes = constants(plan), plan.data["classes"]
    for c, of in enumerate(classes):
        yield from (f"classes[{c}]: {text}" for text in check_class(plan, m, of))
    keys = [(plan.params[of["parameter"]]["rule"],
             str(plan.params[of["parameter"]]["shard"])) for of in classes]
    owned = {(plan.params[i]["rule"], str(plan.params[i]["shard"]))
             for i in plan.matrix_of}
    if m:
        yield from equal("classes of all matrices", sorted(keys), sorted(owned))
        yield from check_candidates(plan)
