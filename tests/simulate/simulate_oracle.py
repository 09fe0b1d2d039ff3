#!/usr/bin/python3
"""`canzona simulate` against a second evaluator (simulate_model.py), on plans
whose figures are made up, and their machines and options drawn.

    simulate_oracle.py CANZONA SEEDS FILE.cz [OPTION...]
    simulate_oracle.py --self-test CANZONA FILE.cz [OPTION...]
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from plan_schema import Validator, canonical, parse
from simulate_inputs import make_up
from simulate_model import even_names, simulate, times_of

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 0.01
SMALLEST = 1000  # picoseconds, of rounding


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {result.returncode}")
    return result.stdout.decode()


def options_of(seed):
    draw = random.Random(seed)
    return {"tokens": draw.choice((1000, 262144, 4000000)),
            "mfu": draw.choice((0.2, 0.45, 0.68469)),
            "active": draw.choice((1, 0.0625)),
            "e": draw.choice((None, None, 1, 0.85, 0.6)),
            "sequence": draw.choice((None, 128, 4096)),
            "contention": draw.choice((0, 0, 0.1, 0.5))}


def told(options):
    words = [f"--tokens={options['tokens']}"]
    if options["sequence"]:
        words.append(f"--sequence={options['sequence']}")
    return words + [f"--{key}={options[key] * 100:.4f}"
                    for key in ("mfu", "active", "e", "contention") if options[key] is not None]


def differences(found, expected):
    for key, value in expected.items():
        tolerance = 0 if key == "bucket_elements" else TOLERANCE * value + SMALLEST
        if abs(found[key] - value) > tolerance:
            yield f"{found['name']}: {key} is {found[key]}, not {value:.0f}"


def level_complaints(plan, constants, options, said, is_plans):
    """The best even baseline, and the e at which the plan is level with it."""
    is_even = even_names(plan)
    rows = [r for r in said["rows"][1:]
            if is_even[r["name"], r["bucket_elements"]]]
    best = min(rows, key=lambda r: r["iteration_ps"], default={"name": ""})
    if said["best_even"] != best["name"]:
        yield f"the best even one is {said['best_even']}, not {best['name']}"
    if not rows:
        return
    level = said["even_e"]

    def ours(e):
        return times_of(plan, constants, {**options, "e": e},
                        is_plans)["iteration_ps"]
    fast, slow = (1 + TOLERANCE) * best["iteration_ps"], best["iteration_ps"] / (
        1 + TOLERANCE)
    at = 1 if level is None else max(level / 1e6, 0.01)
    if level is not None and ours(at) > fast:
        yield f"slower than {best['name']} at {at}"
    if level != 0 and ours(1 if level is None else at - 0.01) < slow:
        yield f"faster than {best['name']} below {at}"


def check(canzona, plan, seed, validator, folder):
    options = options_of(seed)
    path = os.path.join(folder, "plan.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)
    constants = {c["name"]: c["value"] for c in plan["constants"]}
    is_plans = seed % 2 == 0
    extra = [] if is_plans else ["-D", "machine.sms=100"]
    if not is_plans:
        constants["sms"] = 100
    command = [canzona, "simulate", "--json"] + told(options) + extra + [path]
    text = run(command)
    messages = list(validator.validate(parse(text)))
    if canonical(parse(text)) + "\n" != text or run(command) != text:
        messages.append("not canonical, or not alike twice")
    expected = simulate(plan, constants, options, is_plans)
    if not is_plans:
        expected = expected[:1]  # baselines have the times of the plan's machine
    rows, whole = parse(text)["rows"], ("activation_bytes", "microbatches")
    for row in rows:
        row.update({key: parse(text)[key] for key in whole})
    if len(rows) != len(expected):
        messages.append(f"{len(rows)} rows, not {len(expected)}")
    for row, times in zip(rows, expected):
        messages.extend(differences(row, times))
    messages.extend(level_complaints(plan, constants, options, parse(text),
                                     is_plans))
    return messages


def self_test(canzona, plan, validator, folder):
    """A plan that is told apart from the one that was simulated."""
    made_up = make_up(plan, 0)
    if check(canzona, made_up, 0, validator, folder):
        return ["the plan as it is disagrees"]
    text = run([canzona, "simulate", "--json"] + told(options_of(0)) +
               [os.path.join(folder, "plan.json")])
    row = parse(text)["rows"][0]
    missed = []
    for key in [k for k in row if k.endswith("_ps")]:
        worse = dict(row)
        worse[key] = row[key] * 51 // 50 + 2 * SMALLEST
        if not list(differences(worse, {k: row[k] for k in row if k.endswith("_ps")})):
            missed.append(f"2 % of {key} are not noticed")
    return missed


def main(arguments):
    with open(os.path.join(HERE, "simulate.schema.json"), encoding="utf-8") as file:
        validator = Validator(parse(file.read()))
    testing = arguments[0] == "--self-test"
    canzona, seeds = arguments[1] if testing else arguments[0], arguments[1]
    plan = parse(run([canzona, "plan", "--json"] + arguments[3:] + [arguments[2]]))
    messages = []
    with tempfile.TemporaryDirectory() as folder:
        if testing:
            messages = self_test(canzona, plan, validator, folder)
        for seed in range(0 if testing else int(seeds)):
            messages += [f"seed {seed}: {m}" for m in
                         check(canzona, make_up(plan, seed), seed, validator, folder)]
    print("\n".join(messages[:20]) or "as the second evaluator has it")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
