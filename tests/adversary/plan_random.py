#!/usr/bin/python3
"""Random models on random meshes: each is planned and verified, or refused with
the reason; every figure is computed again; caps hold; no bound is above the
plan, and no baseline that keeps the caps below it by the prices that owners are
chosen by: which batches come of it is an operation's matter.

    plan_random.py CANZONA COUNT [SEED]     programs SEED, SEED + 1, ...
    plan_random.py CANZONA FILE...          these programs

A random program that fails is made smaller and printed.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import check_plan
import plan_baselines
import plan_random_text
import plan_schema
import plan_times
import shrink
from plan_numbers import BYTES, Plan, round_up

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 60
PLANNED, REFUSED = 0, 3
STATE_CAP = (110, 100)      # of any rank, over the mean


# ---- what a plan has to keep ----

def state_of(plan):
    """Bytes of master and state of each rank, without padding; shards that are
    shorter than others count as long, and whole states as spread over all
    shards, as they are in baselines."""
    found = [0] * len(plan.ranks)
    for bucket in plan.data["buckets"]:
        params = [plan.params[n] for n in bucket["order"]]
        own = [0] * plan.n_split(bucket)
        for r in range(len(own)):
            for i, p in enumerate(params):
                n = plan.inside(bucket, i, p["local_elements"], r)
                own[r] += n * plan_baselines.shard_bytes(plan, p) + \
                    (plan_baselines.whole_bytes(plan, p) if n else 0)
        for rank in plan.ranks:
            if plan.is_home(bucket, rank):
                found[rank] += own[plan.split(rank, bucket)]
    return found


def cap_of(state):
    return sum(state) * STATE_CAP[0] // (len(state) * STATE_CAP[1])


IN_ORDER = ("equal slices", "published greedy")


def baselines(plan):
    """Those that may be compared: in the trainer's order, the ones that keep it."""
    return [b for b in plan.data["baselines"] if b["name"] in IN_ORDER or
            plan.data["policy"]["layout"] == "engine"]


def check_state(plan):
    """Within the cap, or no more than any baseline has, but for what lies between two
    cuts at both ends of a rank's slices, where what is divisible may lie anywhere."""
    if any(b["geometry"] != "uneven" for b in plan.data["buckets"]):
        return
    ours = state_of(plan)
    cap = cap_of(ours)
    theirs = [max(b["state_bytes"]) for b in baselines(plan)]
    cut = plan_baselines.ALIGN * max(plan_baselines.shard_bytes(plan, p) for p in plan.params)
    cuts = 2 * cut * len(plan.data["buckets"])
    if max(ours) > max(cap, min(theirs, default=0)) + cuts:
        yield f"state above the cap and a baseline's: {max(ours)}, {cap}, {theirs}"


def has_room(plan):
    """Whether every matrix may be whole in a micro-group."""
    cap = plan.data["policy"]["micro_group_bytes"]
    return not cap or all(
        sum(round_up(plan.params[i]["element_count"] * BYTES[t])
            for t in m["wire"]["gather"] + m["wire"]["scatter"]) <= cap
        for i, m in plan.matrix_of.items() if m["owner"]["shard"] is not None)


def check_bounds(plan):
    for bound in plan.data["metrics"]["bounds"]:
        ours = bound["plan"]
        if ours is not None and ours < bound["value"]:
            yield f"below a bound: {ours} of {bound['name']} {bound['value']}"


def check_best(plan):
    """No baseline takes less time with as little state, or within the cap, which
    `memory` may narrow; all of them gather whole matrices, in uneven slices.  Owners of few
    matrices are chosen by batches of a bucket: a baseline's may be larger, and take less,
    but less than half never."""
    policy = plan.data["policy"]
    if (any(m["group_size"] > 1 for m in plan.data["matrices"]) or
            policy["geometry"] != "uneven" or not has_room(plan)):
        return
    state = state_of(plan)
    cap = 0 if policy["memory_bytes"] else cap_of(state)
    for baseline in baselines(plan):
        if max(baseline["state_bytes"]) > max(cap, *state):
            continue
        (ours, time), (alone, time_alone) = (
            (max(plan_times.rank_times(p)), max(plan_baselines.times_of(p, baseline)))
            for p in (plan, plan_times.priced(plan, lambda stage: stage["time_ps"])))
        rounding = plan_times.rounding(plan.data)
        if ours > time * BATCHES + rounding and alone > time_alone + rounding:
            yield f"slower than {baseline['name']}: {ours}, not {time}"


BATCHES = 2
CHECKS = (check_state, check_bounds, check_best)


def memory_of(plan):
    """Bytes of the rank that has most."""
    return max(map(sum, zip(*plan.data["metrics"]["memory_bytes"].values())))


def check_room(plan, free):
    """A cap on memory costs time only if memory is saved, but for batches, which
    it has none of.  free: the plan of the same program without the cap."""
    ours, other = (max(plan_times.times_one_by_one(p)) for p in (plan, free))
    if ours > other + plan_times.rounding(plan.data) and memory_of(plan) >= memory_of(free):
        yield f"slower with `memory` than without: {ours}, not {other}"


# ---- one program ----

def options_of(text):
    first = text.split("\n")[0]
    return first[2:].split() if first.startswith("# -D") else []


def is_reasoned(status, said):
    """Errors that say why: inputs are valid."""
    return status == REFUSED and "error: " in said


def with_room(text, said):
    """The program with the larger cap that a refusal names; or None."""
    named = re.search(r"at least `(\w+) (\d+B)`", said)
    if not named:
        return None
    return re.sub(rf"^{named[1]} \S+$", f"{named[1]} {named[2]}", text,
                  flags=re.MULTILINE)


def with_group(text, said):
    """The program with the groups that a refusal names; or None."""
    named = re.search(r"`(-D tp_strategy=\w+(?: -D tp_subgroup=\d+)?)`", said)
    if not named:
        return None
    lines = text.split("\n")
    return "\n".join([f"# {named[1]}", *lines[lines[0].startswith("# -D"):]])


def run(canzona, folder, text):
    path = os.path.join(folder, f"plan{os.getpid()}.cz")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run([canzona, "plan", "--json", *options_of(text), path],
                          capture_output=True, timeout=LIMIT_S, check=False)


def without_cap(text):
    return re.sub(r"^memory .*\n", "", text, flags=re.MULTILINE)


def complaints(canzona, folder, text, changed=()):
    """What is wrong with the plan of a program; and whether it has one, perhaps
    after the changes that are said to help, each of another clause."""
    done = run(canzona, folder, text)
    said = done.stderr.decode()
    helped = with_room(text, said) or with_group(text, said)
    word = re.search(r"`(memory|group|-D)", said)
    if helped and (helped == text or word[1] in changed):
        return [f"a change that does not help: {said[:1000]}"], False
    if helped:
        return complaints(canzona, folder, helped, (*changed, word[1]))
    if done.returncode != PLANNED:
        return ([] if is_reasoned(done.returncode, said) else
                [f"status {done.returncode}: {said[:1000]}"]), False
    found = check_plan.check_text(done.stdout.decode(), VALIDATOR)
    if not found:
        plan = Plan(plan_schema.parse(done.stdout.decode()))
        found = [m for part in CHECKS for m in part(plan)]
        if plan.data["policy"]["memory_bytes"]:
            free = run(canzona, folder, without_cap(text)).stdout.decode()
            found += check_room(plan, Plan(plan_schema.parse(free)))
    return found, True


def kind_of(messages):
    """A failure, whatever its numbers and names are."""
    return re.sub(r"'[^']*'|\d+|/\S+", "#", messages[0])[:60] if messages else ""


def examine(canzona, folder, seed):
    """(seed, is it planned, what is wrong, the smallest program)."""
    text = plan_random_text.program(seed)
    found, is_planned = complaints(canzona, folder, text)
    if not found:
        return seed, is_planned, [], ""
    kind = kind_of(found)
    least = shrink.smaller(text, lambda t: kind_of(
        complaints(canzona, folder, t)[0]) == kind)
    return seed, is_planned, complaints(canzona, folder, least)[0], least


with open(HERE.parent / "plan/plan.schema.json", encoding="utf-8") as schema:
    VALIDATOR = plan_schema.Validator(plan_schema.parse(schema.read()))


def check_files(canzona, paths):
    """Programs that have a plan; returns how many fail."""
    n_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            found, is_planned = complaints(canzona, folder,
                                           pathlib.Path(path).read_text())
            n_failed += bool(found) or not is_planned
            print(f"{path}: {'; '.join(found) or 'as told'}")
    return n_failed


def check_random(canzona, seeds):
    """Returns how many fail; too few that are planned count as one."""
    n_planned = n_failed = 0
    with (tempfile.TemporaryDirectory() as folder,
          concurrent.futures.ProcessPoolExecutor() as pool):
        work = [pool.submit(examine, canzona, folder, s) for s in seeds]
        for seed, is_planned, found, least in (w.result() for w in work):
            n_planned += is_planned
            n_failed += bool(found)
            if found:
                print(f"seed {seed}: {found[0]}\n{least}", flush=True)
    print(f"seeds {seeds[0]} to {seeds[-1]}: {n_planned} planned, "
          f"{len(seeds) - n_planned} refused with the reason; "
          f"{n_failed} failed")
    return n_failed + (4 * n_planned < 3 * len(seeds))


def main(canzona, what, *more):
    if not what.isdigit():
        return 1 if check_files(canzona, (what, *more)) else 0
    first = int(more[0]) if more else 1
    return 1 if check_random(canzona, range(first, first + int(what))) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
