#!/usr/bin/python3
"""Plan JSON from an enemy: `canzona simulate` answers with exit status 1 and
one error, or simulates what is still a plan, within 5 seconds and 512 MB; and
so does `canzona diff` of it and itself.

    simulate_hostile.py CANZONA FILE.cz [simulate|diff]
"""
import copy
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

from plan_schema import parse
from simulate_inputs import make_up

MAX_SECONDS, MAX_BYTES, CHANGES, SEED = 5, 512 << 20, 250, 20261122
DEPTH = 100_000
FILES = {"simulate": 1, "diff": 2}  # that a command takes
MESSAGE = ("reduction", "order", "elements", "bytes", "slices")  # of a baseline
HUGE = (-1, 0, 1, 2**31, 2**40, 2**62, 2**63 - 1)
TEXTS = {
    "empty object": "{}",
    "another schema": '{"schema":"canzona.plan/3","header":{},"mesh":{}}',
    "cut off": '{"schema":"canzona.plan/3",',
    "a key twice": '{"a":1,"a":2}',
    "nested": '{"a":' * DEPTH + "1" + "}" * DEPTH,
    "brackets": '{"a":' + "[" * DEPTH,
    "a number that nothing holds": '{"schema":' + "9" * 10000 + "}",
    "NUL": '{"schema":"canzona\\u0000plan"}',
    "no UTF-8": b'{"schema":"\xff\xfe"}',
    "only quotes": '{"' * 1000,
}


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    if "asan" not in sys.argv[1]:
        resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))


def answer(canzona, command, data, folder):
    path = os.path.join(folder, "plan.json")
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return subprocess.run([canzona, command, *[path] * FILES[command]],
                          preexec_fn=limit,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def judge(name, result, may_pass):
    said = result.stderr.decode(errors="replace")
    if may_pass and result.returncode == 0 and not said:
        return
    if result.returncode != 1 or said.count("error:") != 1:
        yield f"{name}: exit {result.returncode}, {said[:300]!r}"
    if result.stdout:
        yield f"{name}: an error, and output"


def paths(value, path=()):
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], path + (key,))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from paths(item, path + (i,))


def change(draw, plan, path):
    """One value of another kind, out of range, doubled or gone."""
    mutant = copy.deepcopy(plan)
    place = mutant
    for step in path[:-1]:
        place = place[step]
    kind = draw.randrange(4)
    if kind == 0:
        del place[path[-1]]
    elif kind == 1:
        place[path[-1]] = draw.choice((None, True, "x", 1.5, [], {}, [[]]))
    elif kind == 2 and isinstance(place, list):
        place.insert(path[-1], place[path[-1]])
    else:
        place[path[-1]] = draw.choice(HUGE)
    return mutant


def main(canzona, source, command="simulate"):
    text = subprocess.run([canzona, "plan", "--json", source], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    plan, draw = make_up(parse(text), 0), random.Random(SEED)
    # No command reads the data of bounds and of turns; check_plan.py does.
    known = [p for p in paths(plan) if p and p[0] not in ("classes", "families")]
    messages, refused = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, data in TEXTS.items():
            messages += judge(name, answer(canzona, command, data, folder), False)
        for key in MESSAGE:
            mutant = copy.deepcopy(plan)
            del mutant["baselines"][0]["messages"][0][key]
            result = answer(canzona, command, json.dumps(mutant), folder)
            messages += judge(key, result, False)
            if f"messages[0].{key} is missing".encode() not in result.stderr:
                messages.append(f"a message without {key} is not refused by name")
        for path in draw.sample(known, CHANGES):
            result = answer(canzona, command,
                            json.dumps(change(draw, plan, path)), folder)
            refused += result.returncode == 1
            messages += judge(path, result, True)
    if refused < CHANGES // 4:
        messages.append(f"only {refused} of {CHANGES} changes were refused")
    print("\n".join(messages[:20]) or f"{refused} of {CHANGES} changes refused")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
