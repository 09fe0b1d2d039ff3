#!/usr/bin/python3
"""One plan that keeps all caps at once: kernels at most 1.25 of every bound of
them, also of the least work that ranks could share evenly, batches of 16 included,
which no plan has; states even to 1.10, micro-groups of at most 1 GiB, and bytes on the wire,
with those that the trainer itself sends, at most 1.05 of a plan whose matrices
have one owner each, which it beats.

    plan_reach.py CANZONA FILE [OPTION...]
"""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def plan(*arguments):
    return json.loads(subprocess.run(arguments, stdout=subprocess.PIPE,
                                     check=True).stdout)


def sent(metrics):
    return (sum(map(sum, metrics["sent_bytes"].values())) +
            sum(metrics["trainer_bytes"].values()))


def figures(ours, owners):
    """(what it is, found, at most)."""
    metrics, other = ours["metrics"], owners["metrics"]
    time, memory = max(metrics["time_ps"]), metrics["memory_bytes"]
    bounds = {b["name"]: b["value"] for b in metrics["bounds"]
              if b["of"] == "kernels"}
    state = [sum(both) for both in zip(memory["state"], memory["master"])]
    yield "time over bound", time / max(bounds.values()), 1.25
    yield "time over least work", time / bounds["mean"], 1.25
    yield "time over that of owners", time / max(other["time_ps"]), 0.9
    yield "states, max over mean", max(state) * len(state) / sum(state), 1.10
    yield "GiB of a micro-group", max(
        g["peak_bytes"] for g in ours["groups"]) / 2 ** 30, 1
    yield "bytes over those of owners", sent(metrics) / sent(other), 1.05


def main(canzona, *arguments):
    command = (canzona, "plan", "--json", "--no-baselines",
               f"--allow-path={ROOT}/examples")
    found = list(figures(plan(*command, *arguments),
                         plan(*command, "-D", "tp_strategy=owner", *arguments)))
    for what, value, most in found:
        print(f"{what}: {value:.3f}, at most {most}")
    return 1 if any(value > most for _, value, most in found) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
