#!/usr/bin/python3
"""Full trainings: every optimizer, learning rate and seed; then Muon on four
ranks.  Fails unless Muon beats AdamW by the margin and meshes agree.

    train_gpt_sweep.py PROGRAM [--seeds N] [--output TABLE.md]
"""
import argparse
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

from train_gpt import Run, largest_difference

SEEDS = 3  # 1 to 3
RATES = {"muon": (0.005, 0.01, 0.02), "adamw": (0.002, 0.003, 0.005)}
MARGIN = 0.02  # nats by which Muon must be lower
DRIFT = 0.02  # nats by which meshes may differ
JOBS = 2  # one-rank runs at a time


def options(optimizer, rate, seed):
    """`rest` stays on AdamW at its usual rate when Muon has the matrices."""
    rates = {"lr_" + optimizer: rate}
    return dict(optimizer=optimizer, seed=seed, steps=300, eval_every=50,
                **rates)


def sweep(program, seeds):
    """{(optimizer, rate): [Run of each seed]}"""
    cells = [(optimizer, rate, seed) for optimizer, rates in RATES.items()
             for rate in rates for seed in seeds]
    with ThreadPoolExecutor(JOBS) as pool:
        runs = list(pool.map(lambda cell: Run(program, **options(*cell)), cells))
    table = {}
    for (optimizer, rate, _), run in zip(cells, runs):
        table.setdefault((optimizer, rate), []).append(run)
    return table


def final(runs):
    return [run.validations()[-1] for run in runs]


def best(table, optimizer):
    return min((key for key in table if key[0] == optimizer),
               key=lambda key: statistics.mean(final(table[key])))


def rows(table):
    for (optimizer, rate), runs in table.items():
        losses = " | ".join(f"{loss:.4f}" for loss in final(runs))
        mean = statistics.mean(final(runs))
        yield f"| {optimizer} | {rate} | {losses} | {mean:.4f} |"


def report(table, seeds, margin, drifts, seconds):
    heads = " | ".join(f"seed {seed}" for seed in seeds)
    yield "# The small GPT: Muon against AdamW"
    yield ""
    yield "Validation loss in nats per byte after 300 steps on one rank, by"
    yield "`make bench-train_gpt`.  Text: /usr/share/common-licenses."
    yield ""
    yield f"| optimizer | peak rate | {heads} | mean |"
    yield "|---|---|" + "---|" * (len(seeds) + 1)
    yield from rows(table)
    yield ""
    yield (f"At its best rate Muon is {margin:.4f} nats below AdamW (required:"
           f" {MARGIN}).")
    yield ("Largest difference between 1x1 and 2x2 over six evaluations, by"
           " seed: " + ", ".join(f"{drift:.4f}" for drift in drifts) +
           f" (allowed: {DRIFT}).")
    yield f"The slowest run on 2x2 took {seconds:.0f} s."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--output")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    arguments = parser.parse_args()

    seeds = range(1, arguments.seeds + 1)
    table = sweep(arguments.program, seeds)
    muon, adamw = best(table, "muon"), best(table, "adamw")
    margin = (statistics.mean(final(table[adamw])) -
              statistics.mean(final(table[muon])))
    wide = [Run(arguments.program, ranks="2x2", **options(*muon, seed))
            for seed in seeds]
    drifts = [largest_difference(a.validations(), b.validations())
              for a, b in zip(table[muon], wide)]
    seconds = max(run.seconds for run in wide)

    text = "\n".join(report(table, seeds, margin, drifts, seconds)) + "\n"
    print(text)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)
    good = (margin >= MARGIN and max(drifts) <= DRIFT and
            len(wide[0].rows) == 6)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
