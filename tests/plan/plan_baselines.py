"""What public optimizers would make of a plan's parameters, computed again:
owners, slices, state, and time of each split coordinate.  Written from the
schema and the published formula."""
import collections
import sys

import plan_megatron
from plan_groupings import Matrix, check_groupings, link_of
from plan_numbers import BYTES, equal, round_up, wire_bytes
from plan_times import ceil_div, matrices_ps, work_ps

ALIGN = 16
LEGACY = "Megatron layer-wise, legacy"
SIZES = (40000000, 100000000, 200000000, 400000000)


def owned_axes(plan, p):
    """Axes of the shards of a matrix that is gathered; none for others."""
    if (p["rule"], "whole") not in plan.stages:
        return ()
    return tuple(a for a in plan.shard_axes(p) if plan.sizes[a] > 1)


def gradient_order(plan):
    """Parameter numbers as gradients come: layers, which are the first number
    in a name, one after the other, backwards."""
    blocks, keys = {}, []
    for number, p in enumerate(plan.params):
        name = (p["names"] or [p["name"]])[0].split(".")
        at = next((i for i, word in enumerate(name) if word.isdigit()), None)
        if at is None:
            keys.append((number, 0, number))
        else:
            block = blocks.setdefault(".".join(name[:at]), number)
            keys.append((block, int(name[at]), number))
    return [key[2] for key in sorted(keys, reverse=True)]


class Domain:
    """Parameters that the same ranks own: split axes, home, shard axes of
    matrices, where they have any."""

    def __init__(self, plan, first):
        self.plan, self.first = plan, first
        self.split = plan.reduction(first)["split_axes"]
        self.axes, self.members = (), []

    def takes(self, p):
        axes = owned_axes(self.plan, p)
        return (self.plan.reduction(p)["split_axes"] == self.split and
                self.plan.home(p) == self.plan.home(self.first) and
                (not axes or not self.axes or axes == self.axes))

    def add(self, number, p):
        self.axes = self.axes or owned_axes(self.plan, p)
        self.members.append(number)

    def buckets(self, order, most):
        """As gradients come, one reduction after the other; a bucket that
        holds `most` is closed, which at the end is half of what is left."""
        plan, found, mine = self.plan, [], set(self.members)
        for name in plan.reductions:
            members = [n for n in order
                       if n in mine and plan.params[n]["reduction"] == name]
            sizes = [plan.params[n]["local_elements"] for n in members]
            enough, filled, left = 0, 0, sum(sizes)
            for i, (number, size) in enumerate(zip(members, sizes)):
                if i == 0 or filled >= enough:
                    found.append([])
                    filled, enough = 0, min(most, max(left // 2, most // 16))
                found[-1].append(number)
                filled, left = filled + size, left - size
        return found


def domains(plan):
    found = []
    for number, p in enumerate(plan.params):
        home = next((d for d in found if d.takes(p)), None)
        if home is None:
            home = Domain(plan, p)
            found.append(home)
        home.add(number, p)
    return found


def ends_of(plan, bucket):
    """Ends of items, one behind the other, aligned."""
    ends = [0]
    for number in bucket:
        ends.append(round_up(ends[-1] + plan.params[number]["local_elements"], ALIGN))
    return ends


# ---- owners: a list per bucket ----

def dealt_longest_first(plan, buckets, n):
    items = [(b, i) for b, bucket in enumerate(buckets) for i in range(len(bucket))]
    size = {(b, i): plan.params[buckets[b][i]]["local_elements"] for b, i in items}
    load, owner = [0] * n, {}
    for item in sorted(items, key=lambda it: -size[it]):
        best = load.index(min(load))
        owner[item] = best
        load[best] += size[item]
    return [[owner[b, i] for i in range(len(bucket))]
            for b, bucket in enumerate(buckets)]


def dealt_by_start(plan, buckets, n):
    result = []
    for bucket in buckets:
        ends = ends_of(plan, bucket)
        result.append([n * start // ends[-1] for start in ends[:-1]])
    return result


def greedy_cuts(ends, n, lack):
    """Counts of items per rank: the end nearest to the running target."""
    total, base, so_far, at, cuts = ends[-1], sum(lack), 0, 0, []
    for r in range(n):
        so_far += lack[r]
        target, unit = ((total * so_far, base) if base else (total * (r + 1), n))
        if r == n - 1:
            nearest = len(ends) - 1
        else:
            nearest = min(range(at, len(ends)),
                          key=lambda k: (abs(ends[k] * unit - target), k))
        cuts.append((at, nearest))
        at = nearest
    return cuts


def dealt_greedily(plan, buckets, n):
    """alpha = 1: the shortfall of each rank, in decreasing bucket length."""
    ends = [ends_of(plan, b) for b in buckets]
    every, load = sum(e[-1] for e in ends), [0] * n
    owners = [None] * len(buckets)
    for b in sorted(range(len(buckets)), key=lambda b: -ends[b][-1]):
        cuts = greedy_cuts(ends[b], n, [max(0, every - n * x) for x in load])
        owners[b] = [r for r, (a, z) in enumerate(cuts) for _ in range(a, z)]
        for r, (a, z) in enumerate(cuts):
            load[r] += ends[b][z] - ends[b][a]
    return owners


DEALERS = {LEGACY: dealt_longest_first,
           "equal slices": dealt_by_start,
           "published greedy": dealt_greedily}


# ---- figures ----

def near_ps(plan, p):
    found = 0
    for where in ("local", "before", "after"):
        stage = plan.stages.get((p["rule"], where))
        found += work_ps(stage, 0, p["local_elements"]) if stage else 0
    return found


def launches(plan, owned, cut):
    """Element-wise kernels: of matrices that nothing shards batch by batch, of all
    else 64 rows together; of what is cut at least one row of a rule is there."""
    rows = collections.Counter((p["rule"], plan.shards(p) > 1) for p in owned)
    for p in cut:
        key = p["rule"], plan.shards(p) > 1
        rows[key] = max(rows[key], 1)
    found = 0
    for (rule, is_sharded), n in rows.items():
        whole = plan.stages.get((rule, "whole"))
        most = 64 if is_sharded or not whole else len(whole["batch_ps"]) or 1
        stages = (plan.stages.get((rule, where)) for where in ("local", "before",
                                                               "after"))
        found += ceil_div(n, most) * sum(len(s["steps"]) for s in stages if s)
    return found


def operation_ps(plan, rules):
    """Of an operation with a matrix of each of these rules."""
    return sum(matrices_ps(plan.stages[rule, "whole"], rules.count(rule))
               for rule in set(rules))


def longest_to_hosts(plan, params, n):
    """Rules of what each host has: the least loaded, the longest first."""
    load, found = [0] * n, [[] for _ in range(n)]
    for p in sorted(params, key=lambda p: -plan.stages[p["rule"], "whole"]["time_ps"]):
        host = load.index(min(load))
        load[host] += plan.stages[p["rule"], "whole"]["time_ps"]
        found[host].append(p["rule"])
    return found


def shard_bytes(plan, p):
    """Master and states of an element, those apart that are whole."""
    master = BYTES[plan.data["policy"]["master_dtype"]]
    each = master if master > BYTES[p["dtype"]] else 0
    return each + sum(plan.widths.get(p["rule"], []))


def whole_bytes(plan, p):
    """Of whole states, in the mean of the ranks that shard the parameter."""
    return ceil_div(plan.whole_states.get(p["rule"], 0), plan.shards(p))


def state_bytes(plan, p):
    return shard_bytes(plan, p) * p["local_elements"] + whole_bytes(plan, p)


class Expected:
    """Of one baseline: time of each shard coordinate of each split coordinate,
    state of each, slices."""

    def __init__(self, plan, domain, name, most, sizes):
        self.plan, self.domain, self.name, self.sizes = plan, domain, name, sizes
        self.n = plan.extent(domain.split)
        self.hosts = plan.extent(domain.axes)
        self.updated, self.cut = ([[] for _ in range(self.n)] for _ in range(2))
        self.state, self.messages = [0] * self.n, []
        self.time = [[0] * self.hosts for _ in range(self.n)]
        self.others, self.rows = [0] * self.n, [[] for _ in range(self.n)]
        # Of a split coordinate, what all hosts compute, what one does, and what
        # of it nothing shards.
        self.near = [0] * self.n
        self.alike, self.owned, self.alone = (
            [[] for _ in range(self.n)] for _ in range(3))
        buckets = domain.buckets(gradient_order(plan), most)
        owners = (DEALERS[name](plan, buckets, self.n) if name in DEALERS
                  else [[None] * len(b) for b in buckets])
        for bucket, owned in zip(buckets, owners):
            self.add_bucket(bucket, owned)
        for r in range(self.n):
            self.add_matrices(r)

    def add_matrices(self, r):
        hosts = longest_to_hosts(self.plan, self.owned[r], self.hosts)
        for h, rules in enumerate(hosts):
            self.time[r][h] += self.near[r] + operation_ps(
                self.plan, self.alike[r] + rules)
        self.others[r] += operation_ps(self.plan, self.alone[r])

    def add_bucket(self, bucket, owned):
        ends, slices = ends_of(self.plan, bucket), [0] * self.n
        for number, owner in zip(bucket, owned):
            p = self.plan.params[number]
            for r in range(self.n) if owner is None else [owner]:
                self.near[r] += self.time_of(p)
                cut = owner is None and (p["rule"], "whole") not in self.plan.stages
                (self.cut if cut else self.updated)[r].append(p)
                self.put_matrix(p, r)
                self.group(number, p, r)
                self.state[r] += state_bytes(self.plan, p)
            if owner is not None:
                slices[owner] += round_up(p["local_elements"], ALIGN)
        if None in owned:
            step = round_up(ceil_div(ends[-1], self.n), ALIGN)
            slices = [min(ends[-1], step * (r + 1)) - min(ends[-1], step * r)
                      for r in range(self.n)]
        params = [self.plan.params[number] for number in bucket]
        self.messages.append({
            "reduction": params[0]["reduction"], "order": bucket,
            "elements": ends[-1], "slices": slices,
            "bytes": sum(round_up(p["local_elements"], ALIGN) * BYTES[p["dtype"]]
                         for p in params)})

    def put_matrix(self, p, r):
        if (p["rule"], "whole") not in self.plan.stages:
            return
        if not owned_axes(self.plan, p):
            self.alone[r].append(p["rule"])
        if not owned_axes(self.plan, p) or self.name in (LEGACY, "replicated"):
            self.alike[r].append(p["rule"])
        else:
            self.owned[r].append(p)

    def group(self, number, p, r):
        """Gathered, in order of definition, or among what every host does."""
        if owned_axes(self.plan, p):
            self.rows[r].append(number)
        self.others[r] += near_ps(self.plan, p)

    def grouped(self):
        """As check_groupings() wants it."""
        rows = [[self.plan.params[n] for n in sorted(row)] for row in self.rows]
        return (self.domain.split, self.domain.axes, self.domain.first,
                self.others, rows)

    def time_of(self, p):
        """On each of a split coordinate's shards' ranks, but for matrices."""
        gather = 0
        if self.name == LEGACY and owned_axes(self.plan, p):
            rate, latency = link_of(self.plan, self.domain.axes)
            gather = latency + Matrix(self.plan, p, self.sizes(p)[0], rate).gather[0]
        return near_ps(self.plan, p) + gather


def places(plan, domain):
    """Of each rank at home its split and shard coordinates."""
    for rank in plan.ranks:
        if plan.is_home(domain.first, rank):
            yield (rank, plan.over(rank, domain.split),
                   plan.over(rank, domain.axes))


def rank_times(plan, found):
    times = [0] * len(plan.ranks)
    for expected in found:
        for rank, split, shard in places(plan, expected.domain):
            times[rank] += expected.time[split][shard]
    return times


def check_sums(plan, found, baseline):
    state, launched = [0] * len(plan.ranks), [0] * len(plan.ranks)
    for expected in found:
        for rank, split, _ in places(plan, expected.domain):
            state[rank] += expected.state[split]
            launched[rank] += launches(plan, expected.updated[split],
                                       expected.cut[split])
    yield from equal("time_ps", baseline["time_ps"], rank_times(plan, found))
    yield from equal("state_bytes", baseline["state_bytes"], state)
    yield from equal("launches", baseline["launches"], launched)


def shard_sizes(plan, p):
    """The smallest and the largest of its shards."""
    sizes = {plan.elements(p, r) for r in plan.ranks if plan.is_home(p, r)}
    return min(sizes), max(sizes)


class ShardSizes:
    """shard_sizes() of each parameter; alike ones are looked at once."""

    def __init__(self, plan):
        self.plan, self.known = plan, {}

    def __call__(self, p):
        key = str([p[k] for k in ("shape", "shard", "bounds", "home")])
        if key not in self.known:
            self.known[key] = shard_sizes(self.plan, p)
        return self.known[key]


def check_transfers(plan, baseline, sizes):
    """What is sent is received, and is all but the shards that owners have:
    which these are is known where shards are equal."""
    sent, received = baseline["sent_bytes"], baseline["received_bytes"]
    yield from equal("bytes received", sum(received), sum(sent))
    yield from equal("ranks", [len(sent), len(received)], [len(plan.ranks)] * 2)
    least, most = 0, 0
    for p in plan.params:
        if (not owned_axes(plan, p) or plan.shards(p) == 1 or
                baseline["name"] in (LEGACY, "replicated") or
                baseline["name"] in plan_megatron.NAMES[:3]):
            continue
        axes, coordinates = plan.home(p)
        copies = (len(plan.ranks) // plan.shards(p) // plan.n_split(p) //
                  plan.extent(axes) * (len(coordinates) or 1))
        whole = plan.stages[p["rule"], "whole"]
        each = copies * wire_bytes(whole["gather"] + whole["scatter"])
        low, high = sizes(p)
        least += each * (p["element_count"] - high)
        most += each * (p["element_count"] - low)
    if not least <= sum(sent) <= most:
        yield f"sent {sum(sent)}, not {least} to {most}"


def expected_of(plan, domain, name, most, sizes):
    if name not in plan_megatron.NAMES:
        return Expected(plan, domain, name, most, sizes)
    return plan_megatron.Megatron(plan, domain, name, most, sys.modules[__name__],
                                  gradient_order(plan), sizes)


def lengths(plan, domain, name, most):
    """Of its buckets."""
    order = gradient_order(plan)
    if name in plan_megatron.NAMES:
        members = set(domain.members)
        mine = [k for k in order if k in members]
        layout = plan_megatron.Layout(plan, mine, plan.extent(domain.split), most)
        return [len(bucket) for bucket, _ in layout.buckets]
    return [len(bucket) for bucket in domain.buckets(order, most)]


def expected_variants(plan, every):
    """Names and sizes of buckets, which are the source's where it says one: no two
    of a name have equal buckets."""
    gathers = any(owned_axes(plan, p) and plan.shards(p) > 1 for p in plan.params)
    policy = plan.data["policy"]
    megatron = plan_megatron.NAMES[1:] if gathers else plan_megatron.NAMES[:1]
    for name in ("replicated", LEGACY) + megatron + ("equal slices",
                                                     "published greedy"):
        seen = []
        for most in (policy["bucket_elements"],) + SIZES * policy["bucket_is_free"]:
            buckets = [lengths(plan, d, name, most) for d in every]
            if buckets not in seen:
                seen.append(buckets)
                yield [name, most]


def times_of(plan, baseline):
    """Of each rank."""
    every, sizes = domains(plan), ShardSizes(plan)
    return rank_times(plan, [expected_of(plan, d, baseline["name"],
                                         baseline["bucket_elements"], sizes)
                             for d in every])


def check_baselines(plan):
    every, sizes = domains(plan), ShardSizes(plan)
    baselines = plan.data["baselines"]
    if baselines:
        yield from equal("baselines", [[b["name"], b["bucket_elements"]]
                                       for b in baselines],
                         list(expected_variants(plan, every)))
    for b, baseline in enumerate(baselines):
        name = baseline["name"]
        found = [expected_of(plan, d, name, baseline["bucket_elements"], sizes)
                 for d in every]
        messages = list(check_sums(plan, found, baseline))
        messages += equal("messages", baseline["messages"],
                          [m for e in found for m in e.messages])
        flags = [baseline[k] for k in ("all_reduces", "gathers", "exposed")]
        messages += equal("all_reduces, gathers, exposed", flags,
                          [name in (LEGACY, "replicated"),
                           name != "replicated", name == LEGACY])
        messages += check_transfers(plan, baseline, sizes)
        if name not in ("published greedy", "equal slices"):
            messages += equal("groupings", baseline["groupings"], [])
        else:
            messages += check_groupings(plan, baseline,
                                        [e.grouped() for e in found],
                                        lambda p: sizes(p)[0])
        yield from (f"baselines[{b}], {name}: {m}" for m in messages)
